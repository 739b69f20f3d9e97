//! A directory that nothing leads out of.
//!
//! The directory is opened once. Each component of a name is opened relative to the previous one and never
//! through a symbolic link (POSIX openat with O_NOFOLLOW). So neither a name nor a concurrent change of the
//! tree leads outside. Hard links are treated as files.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

use crate::error::{Failure, disk};
use crate::protocol::{ErrorCode, Name};

/// An open directory.
#[derive(Debug)]
pub struct Root {
    directory: OwnedFd,
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

impl Root {
    /// Opens a directory of the user's; here a symbolic link is as good as any.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            directory: openat(CWD, path, DIRECTORY, Mode::empty())?,
        })
    }

    /// Opens the directory in which a name stands.
    pub(super) fn parent(&self, name: &Name) -> Result<OwnedFd, Failure> {
        let mut directory = self.directory.try_clone().map_err(|e| refused(&e))?;
        for part in name.directories() {
            let flags = DIRECTORY | OFlags::NOFOLLOW;
            let next = openat(&directory, part, flags, Mode::empty());
            directory = next.map_err(|error| refused(&error.into()))?;
        }
        Ok(directory)
    }

    /// Opens a file to read.
    pub fn read(&self, name: &Name) -> Result<File, Failure> {
        let directory = self.parent(name)?;
        // A pipe without a writer would have us wait; it is refused below.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&directory, name.base(), flags, Mode::empty());
        let file = file.map_err(|error| refused(&error.into()))?;
        regular(&file)?;
        Ok(file.into())
    }
}

/// The length of what must be a regular file.
pub(super) fn regular(file: &OwnedFd) -> Result<u64, Failure> {
    let stat = fstat(file).map_err(|error| refused(&error.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Failure::here(ErrorCode::Denied, "not a regular file"));
    }
    Ok(u64::try_from(stat.st_size).unwrap_or(0))
}

/// The failure for a name that cannot be opened, with a message for the symbolic link that `O_NOFOLLOW` met.
pub(super) fn refused(error: &io::Error) -> Failure {
    let raw = error
        .raw_os_error()
        .map(rustix::io::Errno::from_raw_os_error);
    match raw {
        Some(rustix::io::Errno::LOOP) => {
            let message = "symbolic links are not followed";
            Failure::here(ErrorCode::Denied, message)
        }
        Some(rustix::io::Errno::NOTDIR) => {
            let message = "one of its directories is none, or a symbolic link";
            Failure::here(ErrorCode::Denied, message)
        }
        _ => disk(error),
    }
}
