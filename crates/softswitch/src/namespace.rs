//! Network namespaces without a name: each lives as long as somebody holds it open, so that nothing is left
//! after the process, however it ended. `nsenter --net=PATH` runs a program in one.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::thread;

use nix::sched::{CloneFlags, unshare};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Where `ip netns` keeps namespaces.
const NAMED: &str = "/run/netns";

/// A network namespace that is held open.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// Makes a namespace.
    pub fn new() -> io::Result<Self> {
        let made = thread::scope(|scope| {
            let maker = scope.spawn(|| {
                unshare(CloneFlags::CLONE_NEWNET)?;
                File::open("/proc/thread-self/ns/net")
            });
            maker.join().expect("the thread does not panic")
        });
        made.map(Self)
            .map_err(|error| explained("cannot make a network namespace", &error))
    }

    /// Opens a namespace of `ip netns`.
    pub fn named(name: &str) -> io::Result<Self> {
        File::open(Path::new(NAMED).join(name)).map(Self)
    }

    /// Does something in the namespace. Only a thread moves: the process stays where it is. Devices and sockets that
    /// are opened there belong to the namespace for good.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let moved = scope.spawn(|| {
                move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))?;
                work()
            });
            moved.join().expect("the thread does not panic")
        })
    }

    /// The path by which other processes enter it, as long as this one runs.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}

/// An error with what failed before it.
pub(crate) fn explained(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
