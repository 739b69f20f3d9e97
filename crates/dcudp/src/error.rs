//! Failures of commands, with messages for users and exit statuses.

use std::io;

use thiserror::Error;

use crate::printable::{plain, reason};
use crate::protocol::{ErrorCode, ProtocolError};

/// Exit status of what was done.
pub const DONE: u8 = 0;
/// Exit status of a transfer that failed: the network, the peer, a disk.
pub const FAILED: u8 = 1;
/// Exit status of bad input, before anything was tried.
pub const BAD_INPUT: u8 = 2;
/// Exit status after Ctrl-C, as a shell counts it.
pub const INTERRUPTED: u8 = 130;

/// Why not.
#[derive(Debug, Error)]
pub enum Failure {
    /// Invalid input of the user.
    #[error("{0}")]
    Input(String),
    /// A failure of this endpoint; the code is sent to the peer.
    #[error("{message}")]
    Here {
        /// For the peer.
        code: ErrorCode,
        /// The message.
        message: String,
    },
    /// The peer reports that something failed there.
    #[error("the peer reports: {}", plain(.message))]
    There {
        /// The kind of it.
        code: ErrorCode,
        /// Its message.
        message: String,
    },
    /// The peer sends what it must not.
    #[error("the peer breaks the file protocol: {0}")]
    Protocol(String),
    /// The connection is over, or was never there.
    #[error("{0}")]
    Connection(String),
}

impl Failure {
    /// A failure here.
    pub fn here(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Here {
            code,
            message: message.into(),
        }
    }

    /// The exit status that goes with it.
    pub const fn status(&self) -> u8 {
        match self {
            Self::Input(_) => BAD_INPUT,
            _ => FAILED,
        }
    }

    /// Whether the connection can be used for the next file.
    pub const fn leaves_connection(&self) -> bool {
        matches!(self, Self::Here { .. } | Self::There { .. })
    }
}

impl From<ProtocolError> for Failure {
    fn from(error: ProtocolError) -> Self {
        match error {
            ProtocolError::Magic => Self::Connection(error.to_string()),
            other => Self::Protocol(other.to_string()),
        }
    }
}

/// An error of the disk. Whoever shows it names the file.
pub fn disk(error: &io::Error) -> Failure {
    let code = match error.kind() {
        io::ErrorKind::NotFound => ErrorCode::NotFound,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorCode::Denied,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            ErrorCode::NoSpace
        }
        _ => ErrorCode::Disk,
    };
    Failure::here(code, reason(error))
}
