//! The telemetry of a packet on its path (INT), as the network keeps it: one record per switch.
//!
//! Leaves out: the records of more switches than [`Telemetry::MAX_HOPS`].

use incastle_congestion::HopTelemetry;
use incastle_units::{Bytes, Rate, Time};

/// The records, in the order of the path.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Telemetry {
    /// Of `hops`; the others are those of an earlier packet.
    count: u8,
    hops: [HopTelemetry; Self::MAX_HOPS],
}

impl Telemetry {
    /// Switches whose records a packet has room for.
    pub const MAX_HOPS: usize = 8;

    /// Of a packet that has passed no switch.
    pub const EMPTY: Self = Self {
        hops: [HopTelemetry {
            rate: Rate::from_bits_per_second(0),
            at: Time::ZERO,
            sent: Bytes::ZERO,
            queue: Bytes::ZERO,
        }; Self::MAX_HOPS],
        count: 0,
    };

    /// Forgets all records, which costs less than writing [`Self::EMPTY`].
    pub const fn clear(&mut self) {
        self.count = 0;
    }

    /// The records.
    pub fn hops(&self) -> &[HopTelemetry] {
        &self.hops[..usize::from(self.count)]
    }

    /// Adds a record, if there is room.
    pub fn push(&mut self, hop: HopTelemetry) {
        if let Some(free) = self.hops.get_mut(usize::from(self.count)) {
            *free = hop;
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_beyond_its_room_are_left_out() {
        let mut telemetry = Telemetry::EMPTY;
        for round in 0..2 {
            telemetry.clear();
            for hop in 1..12 {
                telemetry.push(HopTelemetry {
                    queue: Bytes::new(round * 100 + hop),
                    ..Telemetry::EMPTY.hops[0]
                });
            }
            let queues = telemetry.hops().iter().map(|hop| hop.queue.count());
            assert!(queues.eq((1..9).map(|hop| round * 100 + hop)));
        }
    }
}
