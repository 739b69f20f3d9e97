//! What may wait in a socket to be sent.

use incastle_units::Bytes;

use crate::grammar::declare::word_or;

word_or! {
    /// What may wait in a socket.
    pub enum SendBuffer {
        /// Everything.
        "unlimited" => Unlimited,
        /// At most this.
        Limited(Bytes),
    }
}

impl SendBuffer {
    /// The bytes that may wait, unless there is no limit.
    pub(crate) fn limit(self) -> Option<Bytes> {
        match self {
            SendBuffer::Unlimited => None,
            SendBuffer::Limited(bytes) => Some(bytes),
        }
    }
}
