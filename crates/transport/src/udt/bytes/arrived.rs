//! The data that arrived and were not taken: the payload of each packet in a separate buffer. Buffers
//! that were taken are used again while data come, the last one first: it is still in the processor's
//! caches.

use std::collections::VecDeque;

/// Buffers that are kept for later packets.
const SPARE: usize = 256;

/// Payloads of packets, counted as the receiver counts them.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    packets: VecDeque<Option<Vec<u8>>>,
    /// The number of the first.
    first: u64,
    /// The number of packets stored.
    stored: usize,
    spare: Vec<Vec<u8>>,
}

impl Arrived {
    /// Packets that are kept.
    pub(super) const fn stored(&self) -> usize {
        self.stored
    }

    /// Keeps a packet, unless it lies behind.
    pub(super) fn store(&mut self, packet: u64, payload: &[u8]) {
        let Some(index) = packet.checked_sub(self.first) else {
            return;
        };
        let index = index as usize;
        if index >= self.packets.len() {
            self.packets.resize_with(index + 1, || None);
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(payload);
        if self.packets[index].replace(buffer).is_none() {
            self.stored += 1;
        }
        assert!(
            self.stored <= self.packets.len(),
            "each packet is stored once"
        );
    }

    /// A packet that arrived.
    pub(super) fn payload(&self, packet: u64) -> &[u8] {
        let index = (packet - self.first) as usize;
        self.packets[index]
            .as_deref()
            .expect("a packet that arrived")
    }

    /// Data before `base` will not be read again.
    pub(super) fn release(&mut self, base: u64) {
        while self.first < base {
            self.first += 1;
            if let Some(Some(buffer)) = self.packets.pop_front() {
                assert!(self.stored > 0, "what is released was stored");
                self.stored -= 1;
                if self.spare.len() < SPARE {
                    self.spare.push(buffer);
                }
            }
        }
    }

    /// Gives back memory that waits to be used.
    pub(super) fn trim(&mut self) {
        self.spare = Vec::new();
        self.packets.shrink_to(0);
    }
}
