//! The written data that may have to be sent or resent, in the layout of the wire: consecutive packets,
//! each behind room for its header. So a packet is sent without a copy, and full packets that leave
//! together are contiguous, as segmentation offload requires.
//!
//! The layout follows the sender's rule: a packet is filled as long as it has not left.

use std::collections::VecDeque;

use super::super::wire::{HEADER_BYTES, SocketKind};

/// Bytes of a chunk: the maximum of one system call, and a packet of any size.
const CHUNK: usize = 65_507;
/// Chunks that are kept for later data.
const SPARE: usize = 4;

/// A packet.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// The beginning of its payload in the application's data.
    offset: u64,
    /// Its chunk, counted from the beginning, and where its header begins there.
    chunk: u64,
    start: u32,
    length: u16,
    /// Whether it ends its message.
    ends: bool,
}

/// Where a packet lies: its chunk and its bytes there, header included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) chunk: u64,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Packets that are not acknowledged, and packets that never left.
#[derive(Debug, Default)]
pub(super) struct Written {
    chunks: VecDeque<Vec<u8>>,
    /// The number of the first chunk.
    first: u64,
    slots: VecDeque<Slot>,
    /// The first slot that never left.
    unsent: usize,
    /// Bytes of payload in all slots, and the beginning of the next in the application's data.
    bytes: usize,
    end: u64,
    /// Payload of a full packet.
    payload: usize,
    spare: Vec<Vec<u8>>,
}

impl Written {
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds to the stream: first to the last packet, if it has not left and has room.
    pub(super) fn write(&mut self, payload: u16, mut bytes: &[u8]) {
        self.lay_out(payload);
        if self.unsent < self.slots.len()
            && let (Some(slot), Some(chunk)) = (self.slots.back_mut(), self.chunks.back_mut())
        {
            let room = self.payload - usize::from(slot.length);
            let (more, rest) = bytes.split_at(room.min(bytes.len()));
            chunk.extend_from_slice(more);
            slot.length += more.len() as u16;
            self.bytes += more.len();
            self.end += more.len() as u64;
            bytes = rest;
        }
        self.push(bytes, SocketKind::Stream);
    }

    /// Adds a message, which begins a new packet.
    pub(super) fn write_message(&mut self, payload: u16, bytes: &[u8]) {
        self.lay_out(payload);
        self.push(bytes, SocketKind::Message);
    }

    fn push(&mut self, bytes: &[u8], kind: SocketKind) {
        let mut left = bytes.len();
        for part in bytes.chunks(self.payload) {
            self.make_room(left);
            let index = self.first + self.chunks.len() as u64 - 1;
            let chunk = self.chunks.back_mut().expect("room was made");
            let start = chunk.len();
            chunk.extend_from_slice(&[0; HEADER_BYTES]);
            chunk.extend_from_slice(part);
            left -= part.len();
            self.slots.push_back(Slot {
                offset: self.end,
                chunk: index,
                start: start as u32,
                length: part.len() as u16,
                ends: kind == SocketKind::Message && left == 0,
            });
            self.bytes += part.len();
            self.end += part.len() as u64;
        }
    }

    /// The last chunk has room for a full packet, or a new one is added. `coming` bytes are to be
    /// written in all. If all data before have left, the new bytes begin a new chunk, so that they are
    /// not split.
    fn make_room(&mut self, coming: usize) {
        let full = HEADER_BYTES + self.payload;
        let packets = coming.div_ceil(self.payload);
        let bytes = (coming + packets * HEADER_BYTES).min(CHUNK / full * full);
        let needed = if self.unsent == self.slots.len() {
            bytes.max(full)
        } else {
            full
        };
        let has_room = |chunk: &Vec<u8>| chunk.len() + needed <= CHUNK;
        if !self.chunks.back().is_some_and(has_room) {
            let mut chunk = self.spare.pop().unwrap_or_default();
            chunk.reserve(bytes);
            self.chunks.push_back(chunk);
        }
    }

    /// The packet size was agreed after something was written: it is laid out anew.
    fn lay_out(&mut self, payload: u16) {
        let before = std::mem::replace(&mut self.payload, usize::from(payload));
        if before == self.payload || self.slots.is_empty() {
            return;
        }
        assert_eq!(self.unsent, 0, "sizes are agreed before anything leaves");
        let old = std::mem::take(self);
        self.payload = old.payload;
        self.end = old.end - old.bytes as u64;
        let mut part = Vec::new();
        for slot in &old.slots {
            let location = slot.location();
            part.extend_from_slice(&old.packet(location)[HEADER_BYTES..]);
            if slot.ends {
                self.push(&part, SocketKind::Message);
                part.clear();
            }
        }
        self.push(&part, SocketKind::Stream);
    }

    /// Everything below that offset will never be sent again.
    pub(super) fn release(&mut self, acknowledged: u64) {
        while let Some(slot) = self.slots.front()
            && slot.offset + u64::from(slot.length) <= acknowledged
        {
            self.bytes -= usize::from(slot.length);
            self.unsent = self.unsent.saturating_sub(1);
            self.slots.pop_front();
        }
        assert!(
            !self.slots.is_empty() || self.bytes == 0,
            "no bytes are kept without a packet"
        );
        let next = self.first + self.chunks.len() as u64;
        let needed = self.slots.front().map_or(next, |slot| slot.chunk);
        while self.first < needed {
            self.first += 1;
            // The newest is in the caches.
            if let Some(mut chunk) = self.chunks.pop_front()
                && self.spare.len() < SPARE
            {
                chunk.clear();
                self.spare.push(chunk);
            }
        }
    }

    /// Gives back memory that waits to be used.
    pub(super) fn trim(&mut self) {
        self.spare = Vec::new();
    }

    /// The location of the packet that begins at that offset and leaves for the first time.
    pub(super) fn first_time(&mut self, payload: u16, offset: u64) -> Location {
        self.lay_out(payload);
        // Messages that grew too old were never numbered.
        while self.slots[self.unsent].offset < offset {
            self.unsent += 1;
        }
        self.unsent += 1;
        let slot = &self.slots[self.unsent - 1];
        assert_eq!(slot.offset, offset, "packets leave as they were laid out");
        slot.location()
    }

    /// The location of the packet that begins at that offset and has left before.
    pub(super) fn again(&self, offset: u64) -> Location {
        let slot = self
            .slots
            .binary_search_by_key(&offset, |slot| slot.offset)
            .expect("what may be sent again is kept");
        self.slots[slot].location()
    }

    /// Whether the next packet that leaves for the first time lies right behind that one.
    pub(super) fn follows(&self, location: Location) -> bool {
        let next = self.slots.get(self.unsent);
        next.is_some_and(|slot| slot.chunk == location.chunk && slot.start as usize == location.end)
    }

    /// A packet, or several that lie in one piece.
    pub(super) fn packet(&self, location: Location) -> &[u8] {
        let chunk = (location.chunk - self.first) as usize;
        &self.chunks[chunk][location.start..location.end]
    }

    /// Writes a packet's header.
    pub(super) fn put_header(&mut self, location: Location, header: [u8; HEADER_BYTES]) {
        let chunk = (location.chunk - self.first) as usize;
        let end = location.start + HEADER_BYTES;
        self.chunks[chunk][location.start..end].copy_from_slice(&header);
    }
}

impl Slot {
    const fn location(&self) -> Location {
        let start = self.start as usize;
        Location {
            chunk: self.chunk,
            start,
            end: start + HEADER_BYTES + self.length as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Payload of a full packet in these tests.
    const FULL: u16 = 100;

    fn payload(written: &Written, location: Location) -> &[u8] {
        &written.packet(location)[HEADER_BYTES..]
    }

    #[test]
    fn a_packet_is_filled_until_it_leaves() {
        let mut written = Written::default();
        written.write(FULL, &[1; 30]);
        written.write(FULL, &[2; 90]);
        // 30 + 70 of the second write, then its other 20.
        let first = written.first_time(FULL, 0);
        assert_eq!(
            payload(&written, first),
            [[1; 30].as_slice(), &[2; 70]].concat()
        );
        let second = written.first_time(FULL, 100);
        assert_eq!(payload(&written, second), [2; 20]);
        // It has left: the next bytes begin another.
        written.write(FULL, &[3; 5]);
        let third = written.first_time(FULL, 120);
        assert_eq!(payload(&written, third), [3; 5]);
        assert_eq!(written.again(100), second);
        assert_eq!(written.bytes(), 125);
    }

    #[test]
    fn full_packets_lie_in_one_piece() {
        let mut written = Written::default();
        let bytes: Vec<u8> = (0..1000).map(|byte| byte as u8).collect();
        written.write(FULL, &bytes);
        let mut all = written.first_time(FULL, 0);
        for packet in 1..10 {
            assert!(written.follows(all));
            all.end = written.first_time(FULL, packet * 100).end;
        }
        assert!(!written.follows(all), "nothing is left");
        let stride = HEADER_BYTES + 100;
        assert_eq!(written.packet(all).len(), 10 * stride);
        let parts: Vec<u8> = written
            .packet(all)
            .chunks(stride)
            .flat_map(|packet| packet[HEADER_BYTES..].to_vec())
            .collect();
        assert_eq!(parts, bytes);
    }

    #[test]
    fn a_chunk_holds_what_one_call_takes() {
        let mut written = Written::default();
        // 564 packets of 116 bytes are 65,424; one more would be 65,540.
        written.write(FULL, &vec![7; 600 * 100]);
        let mut all = written.first_time(FULL, 0);
        let mut count = 1;
        while written.follows(all) {
            all.end = written.first_time(FULL, count * 100).end;
            count += 1;
        }
        assert_eq!((count, all.end), (564, 65_424));
        assert_eq!(written.first_time(FULL, 56_400).chunk, 1);
    }

    #[test]
    fn what_would_be_torn_begins_a_chunk_once_all_before_has_left() {
        let mut written = Written::default();
        written.write(FULL, &[1; 500]);
        for packet in 0..5 {
            written.first_time(FULL, packet * 100);
        }
        written.write(FULL, &vec![2; 56_400]);
        assert_eq!(written.first_time(FULL, 500).chunk, 1);
        // Bytes that fit are added to the same chunk.
        let mut written = Written::default();
        written.write(FULL, &[1; 500]);
        written.first_time(FULL, 0);
        written.write(FULL, &vec![2; 56_400]);
        written.release(100);
        for packet in 1..5 {
            assert_eq!(written.first_time(FULL, packet * 100).chunk, 0);
        }
    }

    #[test]
    fn what_is_acknowledged_is_given_back() {
        let mut written = Written::default();
        written.write(FULL, &[1; 250]);
        for offset in [0, 100, 200] {
            written.first_time(FULL, offset);
        }
        written.release(200);
        assert_eq!((written.bytes(), written.slots.len()), (50, 1));
        written.release(250);
        assert_eq!((written.bytes(), written.chunks.len()), (0, 0));
        assert_eq!(written.spare.len(), 1);
        written.trim();
        assert_eq!(written.spare.len(), 0);
        written.write(FULL, &[9; 10]);
        let location = written.first_time(FULL, 250);
        assert_eq!(payload(&written, location), [9; 10]);
    }

    #[test]
    fn messages_begin_packets_and_old_ones_are_passed_over() {
        let mut written = Written::default();
        written.write_message(FULL, &[1; 150]);
        written.write_message(FULL, &[2; 10]);
        written.write_message(FULL, &[3; 20]);
        let first = written.first_time(FULL, 0);
        assert_eq!(payload(&written, first), [1; 100]);
        assert_eq!(payload(&written, written.slots[1].location()), [1; 50]);
        written.first_time(FULL, 100);
        // The second grew too old before it was numbered.
        let third = written.first_time(FULL, 160);
        assert_eq!(payload(&written, third), [3; 20]);
        written.release(180);
        assert_eq!(written.bytes(), 0);
    }

    #[test]
    fn a_smaller_packet_that_is_agreed_later_lays_everything_out_anew() {
        let mut written = Written::default();
        written.write(FULL, &[1; 130]);
        written.write(60, &[2; 10]);
        // 140 bytes in packets of 60: the last has 20.
        let first = written.first_time(60, 0);
        let second = written.first_time(60, 60);
        let third = written.first_time(60, 120);
        assert_eq!(payload(&written, first), [1; 60]);
        assert_eq!(payload(&written, second), [1; 60]);
        assert_eq!(payload(&written, third), [[1; 10], [2; 10]].concat());

        let mut written = Written::default();
        written.write_message(FULL, &[1; 70]);
        written.write_message(FULL, &[2; 10]);
        let first = written.first_time(60, 0);
        assert_eq!(payload(&written, first), [1; 60]);
        let rest = written.first_time(60, 60);
        assert_eq!(payload(&written, rest), [1; 10]);
        let message = written.first_time(60, 70);
        assert_eq!(payload(&written, message), [2; 10]);
        assert_eq!(written.bytes(), 80);
    }
}
