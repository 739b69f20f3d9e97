//! The buffers into which one system call receives many datagrams (recvmmsg, GRO).

use std::io::{self, IoSliceMut};

use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSocketState};

use crate::port::Port;

/// The maximum bytes that GRO coalesces.
const JOINED: usize = 65_536;
/// One datagram, where it joins nothing: the longest that UDP has.
const SINGLE: usize = 65_536;
/// Without this the beginnings of all buffers would fall into the same sets of the caches.
const STAGGER: usize = 1_664;

/// Buffers that are offered while the kernel joins datagrams: what they hold stays in the caches until
/// it is looked at.
const JOINED_BATCH: usize = 4;

/// The result of one receive system call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filled {
    /// Buffers.
    pub(crate) count: usize,
    /// Nothing was left.
    pub(crate) drained: bool,
}

/// Room for [`BATCH_SIZE`] joined datagrams.
pub(crate) struct Buffers {
    bytes: Vec<u8>,
    length: usize,
    metas: [RecvMeta; BATCH_SIZE],
    /// How many are offered to the next call.
    offered: usize,
}

impl Buffers {
    pub(crate) fn new(udp: &UdpSocketState) -> Self {
        let room = if udp.gro_segments() > 1 {
            JOINED
        } else {
            SINGLE
        };
        let length = room + STAGGER;
        Self {
            bytes: vec![0; length * BATCH_SIZE],
            length,
            metas: [RecvMeta::default(); BATCH_SIZE],
            offered: BATCH_SIZE,
        }
    }

    /// One system call.
    pub(crate) fn receive(&mut self, port: &Port) -> io::Result<Filled> {
        let mut rooms = self.bytes.chunks_mut(self.length);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(rooms.next().unwrap_or_default()));
        let slices = &mut slices[..self.offered];
        let socket = (&port.socket).into();
        let count = port.udp.recv(socket, slices, &mut self.metas)?;
        assert!(count <= self.offered, "the kernel fills what it is offered");
        let joins = |meta: &RecvMeta| meta.len > 4 * meta.stride;
        let joined = self.metas[..count].iter().any(joins);
        let drained = count < self.offered;
        self.offered = if joined { JOINED_BATCH } else { BATCH_SIZE };
        Ok(Filled { count, drained })
    }

    /// The datagrams of the last call.
    pub(crate) fn received(
        &mut self,
        count: usize,
    ) -> impl Iterator<Item = (&RecvMeta, &mut [u8])> {
        let rooms = self.bytes.chunks_mut(self.length);
        let filled = self.metas.iter().zip(rooms).take(count);
        filled.map(|(meta, room)| {
            assert!(meta.len <= room.len(), "datagrams lie in their buffer");
            (meta, &mut room[..meta.len])
        })
    }
}
