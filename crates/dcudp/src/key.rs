//! The pre-shared key: 32 bytes from the system's randomness, in a file as one line of base64 or of
//! hexadecimal digits.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use data_encoding::{BASE64, HEXLOWER_PERMISSIVE};

use crate::error::Failure;
use crate::printable::reason;
use crate::terminal::warn;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
/// Beyond this, a file is none of ours.
const MAX_FILE: u64 = 4096;

/// A key. Its text is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; KEY_BYTES]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// A new one.
    pub fn generate() -> Result<Self, Failure> {
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|error| Failure::Input(format!("no randomness from the system: {error}")))?;
        Ok(Self(bytes))
    }

    /// As it stands in a file.
    pub fn to_text(&self) -> String {
        BASE64.encode(&self.0)
    }

    /// For the cipher.
    pub const fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// Reads a file, and warns of one that others can read.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |message: &str| Failure::Input(format!("{}: {message}", path.display()));
        let file = File::open(path).map_err(|error| wrong(&reason(&error)))?;
        let about = file.metadata().map_err(|error| wrong(&reason(&error)))?;
        let mut text = Vec::new();
        let read = file.take(MAX_FILE).read_to_end(&mut text);
        read.map_err(|error| wrong(&reason(&error)))?;
        let key = Self::parse(&text).ok_or_else(|| {
            wrong(
                "not a key: it must hold 32 bytes as base64 or as 64 hexadecimal digits, \
                 such as dcudp key prints",
            )
        })?;
        warn_of_readers(path, &about);
        Ok(key)
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let text = text.trim_ascii();
        let bytes = if text.len() == 2 * KEY_BYTES {
            HEXLOWER_PERMISSIVE.decode(text).ok()?
        } else {
            BASE64.decode(text).ok()?
        };
        Some(Self(bytes.try_into().ok()?))
    }
}

fn warn_of_readers(path: &Path, about: &Metadata) {
    let mode = about.mode() & 0o777;
    if about.is_file() && mode & 0o077 != 0 {
        let name = path.display();
        warn(format_args!(
            "{name}: others on this machine may read this key (mode {mode:03o}); chmod 600 {name}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_its_text() {
        let key = Key::generate().unwrap();
        assert_eq!(
            Key::parse(format!("{}\n", key.to_text()).as_bytes()),
            Some(key.clone())
        );
        let hex = data_encoding::HEXUPPER.encode(key.bytes());
        assert_eq!(Key::parse(hex.as_bytes()), Some(key.clone()));
        assert_ne!(Key::generate().unwrap(), key);
        assert_eq!(format!("{key:?}"), "Key(..)");
    }

    #[test]
    fn other_texts_are_no_keys() {
        let key = Key([7; KEY_BYTES]).to_text();
        let short = BASE64.encode(&[7; KEY_BYTES - 1]);
        let long = BASE64.encode(&[7; KEY_BYTES + 1]);
        let digits = "g".repeat(64);
        for text in ["", "password", &key[1..], &short, &long, &digits] {
            assert_eq!(Key::parse(text.as_bytes()), None, "{text}");
        }
        // The very bytes, which are no text.
        assert_eq!(Key::parse(&[0xFF; KEY_BYTES]), None);
    }
}
