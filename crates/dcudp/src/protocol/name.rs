//! The names that files have between two ends: relative paths of plain parts, on every system the same.
//!
//! What could be read in two ways is refused, here for what a user types as for what a peer sends: no
//! part is empty, `.` or `..`, so a name is never absolute and never climbs; no backslash, which other
//! systems take for a separator; no control character, which a terminal would obey. The name of an
//! unfinished file is not one either. Leaves out names that are not UTF-8.

use std::fmt;

use thiserror::Error;

use super::MAX_NAME;

/// What the name of a file ends in that is not whole yet.
pub const PART_SUFFIX: &str = ".dcudp-part";
/// What file systems take for one part of a path.
const MAX_PART: usize = 255;

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// Nothing at all.
    #[error("a name is empty")]
    Empty,
    /// Beyond the protocol's limit, or the file systems'.
    #[error(
        "a name is too long: the most are {MAX_NAME} bytes in all, and {} in one part",
        MAX_PART - PART_SUFFIX.len()
    )]
    Long,
    /// A control character, NUL among them.
    #[error("the name {0:?} has a control character in it")]
    Control(String),
    /// A Windows separator.
    #[error("the name {0:?} has a backslash in it")]
    Backslash(String),
    /// `/etc/passwd`.
    #[error("the name {0:?} is absolute; names count from the served directory")]
    Absolute(String),
    /// `a//b`, `./a`, `../a`, `a/`.
    #[error("the name {0:?} has an empty part, or '.' or '..'; they could lead elsewhere")]
    Part(String),
    /// The name of an unfinished file.
    #[error("names that end in {PART_SUFFIX} belong to unfinished files: {0:?}")]
    Unfinished(String),
}

/// A checked name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// Checks a text.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let owned = || text.to_owned();
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.len() > MAX_NAME {
            return Err(NameError::Long);
        }
        if text.chars().any(char::is_control) {
            return Err(NameError::Control(owned()));
        }
        if text.contains('\\') {
            return Err(NameError::Backslash(owned()));
        }
        if text.starts_with('/') {
            return Err(NameError::Absolute(owned()));
        }
        for part in text.split('/') {
            if matches!(part, "" | "." | "..") {
                return Err(NameError::Part(owned()));
            }
            // With room for the suffix of its unfinished form.
            if part.len() > MAX_PART - PART_SUFFIX.len() {
                return Err(NameError::Long);
            }
        }
        if text.ends_with(PART_SUFFIX) {
            return Err(NameError::Unfinished(owned()));
        }
        Ok(Self(owned()))
    }

    /// The whole of it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The directories that lead to the file, in order.
    pub fn directories(&self) -> impl Iterator<Item = &str> {
        let (directories, _) = self.0.rsplit_once('/').unwrap_or_default();
        directories.split('/').filter(|part| !part.is_empty())
    }

    /// The last part.
    pub fn base(&self) -> &str {
        self.0
            .rsplit_once('/')
            .map_or(self.0.as_str(), |(_, base)| base)
    }

    /// The last part as a name of its own.
    #[must_use]
    pub fn to_base(&self) -> Self {
        Self(self.base().to_owned())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
