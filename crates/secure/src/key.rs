//! The key that both endpoints hold before they meet.

use std::fmt;

use zeroize::Zeroizing;

/// 32 secret bytes, as a handshake's result or a step of a chain of keys. Wiped when dropped.
pub(crate) type Secret = Zeroizing<[u8; 32]>;

/// A pre-shared key: 32 bytes from a source of randomness, never a password. Wiped when dropped, and not
/// shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Secret);

impl Key {
    /// The key of those bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Key::new([7; 32])), "Key(secret)");
    }
}
