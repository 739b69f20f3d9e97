//! A file that leaves: read in order, hashed whole.
//!
//! The length is read when the file is opened. The transfer fails if the file becomes shorter, or if its
//! length or modification time has changed at the end. Its bytes would be of two versions. Files of /proc
//! fail too, as their length is wrong.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};

use super::hash_prefix;
use crate::error::{Failure, disk};
use crate::protocol::{Chunk, ErrorCode, Hash};

/// An open file that leaves.
pub struct Leaving {
    file: File,
    opened: Metadata,
    hasher: Box<blake3::Hasher>,
    offset: u64,
}

impl Leaving {
    /// A file that was just opened.
    pub fn new(file: File) -> Result<Self, Failure> {
        let opened = file.metadata().map_err(|error| disk(&error))?;
        let beyond = file.read_at(&mut [0], opened.len());
        if beyond.map_err(|error| disk(&error))? > 0 {
            let message = "it has more bytes than the system reports; send a copy of it";
            return Err(Failure::here(ErrorCode::Changed, message));
        }
        Ok(Self {
            file,
            opened,
            hasher: Box::default(),
            offset: 0,
        })
    }

    /// Its length.
    pub fn size(&self) -> u64 {
        self.opened.len()
    }

    /// Goes to where the receiver stands, if what it has is the beginning of this file; else to the
    /// beginning. Gives the place.
    pub fn skip(&mut self, bytes: u64, hash: &Hash) -> Result<u64, Failure> {
        if bytes > 0 && bytes <= self.size() {
            let mut hasher = Box::<blake3::Hasher>::default();
            let read = hash_prefix(&self.file, bytes, &mut hasher);
            let read = read.map_err(|error| disk(&error))?;
            if read == bytes && hasher.finalize() == *hash {
                (self.hasher, self.offset) = (hasher, bytes);
                return Ok(bytes);
            }
        }
        self.file
            .seek(SeekFrom::Start(0))
            .map_err(|error| disk(&error))?;
        Ok(0)
    }

    /// The next part, or `None` at the end.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>, Failure> {
        let rest = self.size() - self.offset;
        let chunk = Chunk::fill(|space| {
            let most = space.len().min(usize::try_from(rest).unwrap_or(usize::MAX));
            let count = read_some(&mut self.file, &mut space[..most])?;
            self.hasher.update(&space[..count]);
            self.offset += count as u64;
            Ok(count)
        });
        let chunk = chunk.map_err(|error| disk(&error))?;
        if chunk.is_none() && rest > 0 {
            return Err(changed());
        }
        Ok(chunk)
    }

    /// The hash of the whole, once all was read.
    pub fn finish(&self) -> Result<Hash, Failure> {
        let now = self.file.metadata();
        let now = now.map_err(|error| disk(&error))?;
        let same = |a: &Metadata| (a.len(), a.mtime(), a.mtime_nsec());
        if same(&now) != same(&self.opened) {
            return Err(changed());
        }
        Ok(*self.hasher.finalize().as_bytes())
    }
}

fn changed() -> Failure {
    Failure::here(ErrorCode::Changed, "it changed while it was sent")
}

fn read_some(file: &mut File, space: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(space) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
