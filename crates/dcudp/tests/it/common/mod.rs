//! Two endpoints over a stream in memory, one of them a server.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use incastle_dcudp::disk::Root;
use incastle_dcudp::error::Failure;
use incastle_dcudp::places::{Limits, Place, Places};
use incastle_dcudp::protocol::{Channel, Name};
use incastle_dcudp::request::{self, Existing};
use incastle_dcudp::service::{Service, serve};
use incastle_dcudp::transfer::Moved;
use indicatif::ProgressBar;
use tempfile::TempDir;
use tokio::io::{DuplexStream, ReadHalf, WriteHalf, duplex, split};

pub(crate) type Endpoint = Channel<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

/// Long enough for the slowest machine; only tests of a silent peer wait for it, in virtual time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Two endpoints that nobody serves.
pub(crate) fn pair() -> (Endpoint, Endpoint) {
    let (a, b) = duplex(64 * 1024);
    let end = |stream| {
        let (reader, writer) = split(stream);
        Channel::new(reader, writer, PATIENCE)
    };
    (end(a), end(b))
}

pub(crate) fn files(directory: &Path) -> Service {
    Service::Files {
        root: Arc::new(Root::open(directory).unwrap()),
        writes: true,
        replaces: true,
    }
}

/// The only place of a server.
pub(crate) fn place() -> Place {
    let limits = Limits {
        connections: 1,
        per_address: 1,
        evict_after: Duration::ZERO,
    };
    let peer = "127.0.0.1:1".parse().unwrap();
    Places::new(limits).admit(peer, Instant::now()).unwrap()
}

/// A client of a server, greeted.
pub(crate) async fn client_of(service: Service) -> Endpoint {
    let (mut client, server) = pair();
    tokio::spawn(async move {
        serve(&service, server, place()).await;
    });
    client.greet().await.unwrap();
    client
}

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Bytes that repeat nowhere soon.
pub(crate) fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        // Marsaglia's xorshift64.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}

pub(crate) fn hash(bytes: &[u8]) -> [u8; 32] {
    *blake3::hash(bytes).as_bytes()
}

pub(crate) async fn put(
    client: &mut Endpoint,
    path: &Path,
    as_name: &str,
    existing: Existing,
) -> Result<Moved, Failure> {
    let file = File::open(path).unwrap();
    let hidden = |_| ProgressBar::hidden();
    request::put(client, file, &name(as_name), existing, hidden).await
}

pub(crate) async fn get(
    client: &mut Endpoint,
    into: &Path,
    what: &str,
    existing: Existing,
) -> Result<Moved, Failure> {
    let root = Root::open(into).unwrap();
    let hidden = |_| ProgressBar::hidden();
    request::get(client, &root, &name(what), existing, hidden).await
}

/// The names in a directory, sorted.
pub(crate) fn listing(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
