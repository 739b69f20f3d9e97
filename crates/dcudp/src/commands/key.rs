//! `dcudp key`: a new key on standard output.

use std::io::{Write, stdout};

use rustix::fs::{FileType, Mode, fchmod, fstat};

use crate::error::{DONE, Failure};
use crate::key::Key;
use crate::printable::reason;

/// Where the output goes to a file, that file is for its owner alone before the key is in it.
pub(super) fn run() -> Result<u8, Failure> {
    let key = Key::generate()?;
    let mut out = stdout().lock();
    let failed = |error: std::io::Error| Failure::Input(format!("the key: {}", reason(&error)));
    let stat = fstat(&out).map_err(|error| failed(error.into()))?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
        fchmod(&out, Mode::RUSR | Mode::WUSR).map_err(|error| failed(error.into()))?;
    }
    writeln!(out, "{}", key.to_text())
        .and_then(|()| out.flush())
        .map_err(failed)?;
    Ok(DONE)
}
