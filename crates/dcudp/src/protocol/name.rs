//! The names that files have between two endpoints: relative paths of plain parts, on every system the same.
//!
//! Ambiguous names are refused, from users and peers alike:
//!
//! - No component is empty, `.` or `..`, so a name is never absolute and never leaves its directory.
//! - No backslash, which other systems take for a separator.
//! - No control character, which a terminal would execute.
//! - No invisible character, such as a mark of direction or a line separator: it makes a name look like
//!   another one.
//! - No name of an unfinished file.
//!
//! Leaves out: names that are not UTF-8, and names that look alike in two alphabets.

use std::fmt;
use std::ops::RangeInclusive;

use thiserror::Error;

/// The maximum bytes of a name.
pub const MAX_NAME: usize = 1024;
/// The suffix of an unfinished file's name.
pub const PART_SUFFIX: &str = ".dcudp-part";
/// The maximum length of a path component in bytes, on common file systems.
const MAX_PART: usize = 255;

/// The code points of the general categories Cf (format, all marks of direction among them), Zl and Zp
/// (line and paragraph separator). Source: Unicode 16.0, `extracted/DerivedGeneralCategory.txt`, sections
/// 4.5 and 23.2, and UAX #9.
const INVISIBLE: [RangeInclusive<char>; 21] = [
    '\u{ad}'..='\u{ad}',
    '\u{600}'..='\u{605}',
    '\u{61c}'..='\u{61c}',
    '\u{6dd}'..='\u{6dd}',
    '\u{70f}'..='\u{70f}',
    '\u{890}'..='\u{891}',
    '\u{8e2}'..='\u{8e2}',
    '\u{180e}'..='\u{180e}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{2064}',
    '\u{2066}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
    '\u{fff9}'..='\u{fffb}',
    '\u{110bd}'..='\u{110bd}',
    '\u{110cd}'..='\u{110cd}',
    '\u{13430}'..='\u{1343f}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0001}'..='\u{e0001}',
    '\u{e0020}'..='\u{e007f}',
];

/// Whether a character cannot be seen, and may change how others are seen.
pub fn is_invisible(c: char) -> bool {
    INVISIBLE.iter().any(|range| range.contains(&c))
}

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
    /// A format character or separator: U+202E, U+2028.
    #[error("the name {:?} has an invisible character in it: U+{:04X}", .0, u32::from(*.1))]
    Invisible(String, char),
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
        if let Some(found) = text.chars().find(|&c| is_invisible(c)) {
            return Err(NameError::Invisible(owned(), found));
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

    /// The last part as a separate name.
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
