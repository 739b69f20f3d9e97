//! TUN devices, each in a network namespace: the packets that the namespace routes to it are read, and
//! what is written arrives in the namespace. The kernel hands over single packets: it splits what
//! senders joined, and completes checksums.
//!
//! Leaves out: Ethernet.

use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};

use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use crate::namespace::{Namespace, explained};

/// More packets than senders have under way: what waits for the switch is not dropped.
const DEVICE_QUEUE: u32 = 10_000;
/// The prefix of all addresses of a network.
const PREFIX: u8 = 16;

/// An attached device.
pub struct Tun(SyncDevice);

impl Tun {
    /// Attaches to a device, which is made where there is none.
    pub fn attach(namespace: &Namespace, device: &str) -> io::Result<Self> {
        let builder = DeviceBuilder::new().name(device).layer(Layer::L3);
        Self::open(namespace, builder.inherit_enable_state())
    }

    /// Makes a device that is up, has this address, and leads to the addresses of the whole network.
    pub fn make(
        namespace: &Namespace,
        device: &str,
        address: Ipv4Addr,
        mtu: u16,
    ) -> io::Result<Self> {
        let builder = DeviceBuilder::new().name(device).layer(Layer::L3);
        let builder = builder.ipv4(address, PREFIX, None).mtu(mtu);
        Self::open(namespace, builder.tx_queue_len(DEVICE_QUEUE))
    }

    fn open(namespace: &Namespace, builder: DeviceBuilder) -> io::Result<Self> {
        let opened = namespace.within(|| {
            let device = builder.build_sync()?;
            device.set_nonblocking(true)?;
            Ok(device)
        });
        opened
            .map(Self)
            .map_err(|error| explained("cannot open a TUN device", &error))
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
