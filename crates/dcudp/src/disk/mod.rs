//! Files on this machine: a directory that nothing leads out of, a file that arrives, one that leaves.
//!
//! Everything here waits for the disk, so it is called from threads that may wait. Leaves out what a
//! file has beside its bytes: times, owners, permissions, holes.

mod arriving;
mod leaving;
mod root;

pub use arriving::{Arriving, Clash, Destination, Found};
pub use leaving::Leaving;
pub use root::Root;

use std::io::{self, Read};

/// How much is read at once where nothing is sent.
const BLOCK: usize = 256 * 1024;

/// Hashes the next `bytes` of a file. Gives how many there were.
fn hash_prefix(mut file: impl Read, bytes: u64, hasher: &mut blake3::Hasher) -> io::Result<u64> {
    let mut block = vec![0; BLOCK];
    let mut done = 0;
    while done < bytes {
        let most = block
            .len()
            .min(usize::try_from(bytes - done).unwrap_or(usize::MAX));
        match file.read(&mut block[..most]) {
            Ok(0) => break,
            Ok(count) => {
                hasher.update(&block[..count]);
                done += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
