//! A file that arrives: under a separate name until it is whole, and then under its name at once.
//!
//! `NAME.dcudp-part` is in the directory of its final name. It stays there when a transfer is interrupted, and
//! the next one resumes from it. Its writer holds a lock (flock). A whole file has the announced length and
//! hash. It is on the disk (fsync) before it is renamed; then the directory is synchronised.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, RenameFlags, flock, fstat, fstatvfs, fsync, openat,
    renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::hash_prefix;
use super::root::{Root, refused, regular};
use crate::error::{Failure, disk};
use crate::protocol::{ErrorCode, Hash, Name, PART_SUFFIX};
use crate::terminal::bytes_lossy;

/// Where a file shall go.
pub struct Destination {
    directory: OwnedFd,
    name: Name,
    clash: Clash,
}

/// The treatment of an existing file of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clash {
    /// The new file takes its place.
    Replace,
    /// It stays; the message names the option that would replace it.
    Refuse(&'static str),
}

/// A file under the final name.
struct Existing {
    file: File,
    length: u64,
}

/// The file found at a destination.
pub enum Found {
    /// A file of the same length, under the final name: perhaps the very same.
    Whole(Hash),
    /// An unfinished one, perhaps of no bytes yet.
    Part(Arriving),
}

impl Destination {
    /// In the directory of the name, which must be there.
    pub fn new(root: &Root, name: Name, clash: Clash) -> Result<Self, Failure> {
        Ok(Self {
            directory: root.parent(&name)?,
            name,
            clash,
        })
    }

    /// Looks what is there of a file of `size` bytes already, and hashes it. What an earlier transfer
    /// left goes before a file that may be replaced: it is likely the beginning of the new one.
    pub fn look(&self, size: u64) -> Result<Found, Failure> {
        let replace = self.clash == Clash::Replace;
        match self.existing()? {
            Some(file) if file.length == size && !(replace && self.begun()) => {
                whole(&file.file, size)
            }
            Some(_) if !replace => Err(self.in_the_way()),
            _ => self.arriving(size).map(Found::Part),
        }
    }

    /// A file of the same length was there, and is another one. Gives where to write the new one.
    pub fn replace(&self, size: u64) -> Result<Arriving, Failure> {
        match self.clash {
            Clash::Replace => self.arriving(size),
            Clash::Refuse(_) => Err(self.in_the_way()),
        }
    }

    /// Another file has this name, and stays.
    pub fn in_the_way(&self) -> Failure {
        let message = "another file of this name is there";
        let message = match self.clash {
            Clash::Replace => message.to_owned(),
            Clash::Refuse(needed) => format!("{message}; {needed}"),
        };
        Failure::here(ErrorCode::Exists, message)
    }

    /// Whether an earlier transfer left something.
    fn begun(&self) -> bool {
        !absent(&self.directory, &part_name(&self.name))
    }

    /// The file under the final name.
    fn existing(&self) -> Result<Option<Existing>, Failure> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let base = self.name.base();
        let file = match openat(&self.directory, base, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(refused(&error.into())),
        };
        Ok(Some(Existing {
            length: regular(&file)?,
            file: file.into(),
        }))
    }

    fn arriving(&self, size: u64) -> Result<Arriving, Failure> {
        let mut arriving = Arriving::open(self, size)?;
        arriving.measure()?;
        arriving.check_room()?;
        Ok(arriving)
    }
}

fn whole(file: &File, size: u64) -> Result<Found, Failure> {
    let mut hasher = blake3::Hasher::new();
    let read = hash_prefix(file, size, &mut hasher);
    read.map_err(|error| disk(&error))?;
    Ok(Found::Whole(*hasher.finalize().as_bytes()))
}

/// The name of an unfinished file.
fn part_name(name: &Name) -> String {
    format!("{}{PART_SUFFIX}", name.base())
}

/// An unfinished file, locked.
pub struct Arriving {
    directory: OwnedFd,
    name: Name,
    part: String,
    file: File,
    size: u64,
    replace: bool,
    hasher: Box<blake3::Hasher>,
    written: u64,
    /// It has its name, or was thrown away: the unfinished name is another's from now on.
    over: bool,
}

impl Arriving {
    fn open(to: &Destination, size: u64) -> Result<Self, Failure> {
        let part = part_name(&to.name);
        let directory = to.directory.try_clone().map_err(|error| disk(&error))?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mode = Mode::from_raw_mode(0o666);
        // Again, where another transfer finished with the file between our opening and locking it.
        loop {
            let file = openat(&directory, &part, flags | OFlags::CLOEXEC, mode);
            let file = file.map_err(|error| refused(&error.into()))?;
            regular(&file)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Err(taken()),
                Err(error) => return Err(disk(&error.into())),
            }
            if still_there(&directory, &part, &file) {
                return Ok(Self {
                    directory,
                    name: to.name.clone(),
                    part,
                    file: file.into(),
                    size,
                    replace: to.clash == Clash::Replace,
                    hasher: Box::default(),
                    written: 0,
                    over: false,
                });
            }
        }
    }

    /// Takes in what an earlier transfer left. What is longer than the file cannot be its beginning.
    fn measure(&mut self) -> Result<(), Failure> {
        let length = self.file.metadata().map_err(|e| disk(&e))?.len();
        if length <= self.size {
            let read = hash_prefix(&self.file, length, &mut self.hasher);
            self.written = read.map_err(|error| disk(&error))?;
        }
        Ok(())
    }

    fn check_room(&self) -> Result<(), Failure> {
        let Ok(disk) = fstatvfs(&self.directory) else {
            return Ok(());
        };
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let needed = self.size - self.written;
        if needed <= free {
            return Ok(());
        }
        let (needed, free) = (bytes_lossy(needed), bytes_lossy(free));
        let message = format!("it needs {needed} more, the disk has {free}");
        Err(Failure::here(ErrorCode::NoSpace, message))
    }

    /// How many bytes are there.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Their hash.
    pub fn hash(&self) -> Hash {
        *self.hasher.finalize().as_bytes()
    }

    /// The sender begins here: where [`Self::written`] ended, or at 0.
    pub fn begin(&mut self, offset: u64) -> Result<(), Failure> {
        if offset == 0 {
            self.hasher.reset();
            self.written = 0;
        } else if offset != self.written {
            let message = "it begins where this endpoint does not stand";
            return Err(Failure::Protocol(message.to_owned()));
        }
        let placed = self.file.set_len(offset);
        placed
            .and_then(|()| self.file.seek(SeekFrom::Start(offset)))
            .map_err(|error| disk(&error))?;
        Ok(())
    }

    /// Adds bytes, never more than the file has.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let after = self.written + bytes.len() as u64;
        if after > self.size {
            let message = format!("more than the {} bytes that it announced", self.size);
            return Err(Failure::Protocol(message));
        }
        self.file.write_all(bytes).map_err(|e| disk(&e))?;
        self.hasher.update(bytes);
        self.written = after;
        Ok(())
    }

    /// The end: the file gets its name if it is whole.
    pub fn finish(mut self, hash: &Hash) -> Result<(), Failure> {
        if self.written < self.size {
            let (had, size) = (self.written, self.size);
            let message = format!("an end after {had} of the {size} bytes that it announced");
            return Err(Failure::Protocol(message));
        }
        if self.hasher.finalize() != *hash {
            // Nothing can be built on these bytes.
            self.discard();
            let message = "what arrived is not what was sent";
            return Err(Failure::here(ErrorCode::Corrupt, message));
        }
        self.file.sync_all().map_err(|error| disk(&error))?;
        self.rename()?;
        self.over = true;
        fsync(&self.directory).map_err(|error| disk(&error.into()))
    }

    fn rename(&self) -> Result<(), Failure> {
        let (from, to) = (&self.part, self.name.base());
        let (old, new) = (&self.directory, &self.directory);
        let renamed = if self.replace {
            renameat(old, from, new, to)
        } else {
            match renameat_with(old, from, new, to, RenameFlags::NOREPLACE) {
                // File systems without this flag (NFS): whoever makes the name now loses it.
                Err(Errno::INVAL | Errno::NOSYS) if absent(new, to) => renameat(old, from, new, to),
                done => done,
            }
        };
        renamed.map_err(|error| match error {
            Errno::NOENT => {
                let message = format!("{from} was removed while the file arrived");
                Failure::here(ErrorCode::NotFound, message)
            }
            Errno::EXIST => {
                let message = "another file got this name meanwhile";
                Failure::here(ErrorCode::Exists, message)
            }
            other => disk(&other.into()),
        })
    }

    fn discard(&mut self) {
        // Where it cannot be removed it stays, and is not the beginning of anything.
        unlinkat(&self.directory, &self.part, AtFlags::empty()).ok();
        self.over = true;
    }
}

impl Drop for Arriving {
    /// An unfinished file stays for the next transfer, which resumes it; an empty one is removed.
    fn drop(&mut self) {
        let empty = self.file.metadata().is_ok_and(|file| file.len() == 0);
        if empty && !self.over {
            self.discard();
        }
    }
}

/// Whether a name stands for nothing.
fn absent(directory: &OwnedFd, name: &str) -> bool {
    let named = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    matches!(named, Err(Errno::NOENT))
}

/// Whether a name still stands for the file that was opened by it.
fn still_there(directory: &OwnedFd, name: &str, file: &OwnedFd) -> bool {
    let named = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    matches!((named, fstat(file)), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}

fn taken() -> Failure {
    let message = "another transfer writes to it now; one whose sender died is given up after 10 s";
    Failure::here(ErrorCode::Busy, message)
}
