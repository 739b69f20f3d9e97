//! TUN devices, each in a network namespace: the packets that the namespace routes to it are read, and
//! what is written arrives in the namespace. The kernel hands over single packets: it splits what
//! senders joined, and completes checksums.
//!
//! Leaves out: creating namespaces, addresses and routes (`ip` does); Ethernet.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// Where `ip netns` keeps namespaces.
const NAMESPACES: &str = "/run/netns";

/// An attached device.
pub struct Tun(SyncDevice);

impl Tun {
    /// Attaches to a device, which is made where there is none, in a namespace of `ip netns`.
    pub fn attach(namespace: &str, device: &str) -> io::Result<Self> {
        let context = |error: io::Error| {
            let what = format!("cannot attach to {device} in namespace {namespace}: {error}");
            io::Error::new(error.kind(), what)
        };
        // Only the thread moves: the process stays where it is.
        let attached = thread::scope(|scope| {
            let moved = scope.spawn(|| attach_here(namespace, device));
            moved.join().expect("the thread does not panic")
        });
        attached.map(Self).map_err(context)
    }

    /// Reads the next packet, if there is one; gives its length.
    pub fn read(&self, out: &mut [u8]) -> io::Result<Option<usize>> {
        match self.0.recv(out) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a packet; gives whether the namespace took it.
    pub fn write(&self, packet: &[u8]) -> bool {
        self.0.send(packet).is_ok()
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn attach_here(namespace: &str, device: &str) -> io::Result<SyncDevice> {
    let handle = File::open(format!("{NAMESPACES}/{namespace}"))?;
    move_into_link_name_space(handle.as_fd(), Some(LinkNameSpaceType::Network))?;
    let attached = DeviceBuilder::new()
        .name(device)
        .layer(Layer::L3)
        .inherit_enable_state()
        .build_sync()?;
    attached.set_nonblocking(true)?;
    Ok(attached)
}
