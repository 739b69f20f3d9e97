//! The memory that the ports of a switch share, where departures have no events.
//!
//! Leaves out: thresholds, which are in incastle-queueing, and switches with priorities (`lossless`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use incastle_queueing::SharedBuffer;
use incastle_units::Time;

use crate::core::PortIndex;
use crate::network::{Arenas, Port};
use crate::probe::Probe;

/// The memory of a switch whose ports have fast queues: departed packets are released before each check of the
/// memory. A heap holds one departure of each port that stores packets, never later than its next.
pub(crate) struct SharedMemory {
    pub(super) buffer: SharedBuffer,
    departures: BinaryHeap<Reverse<(Time, PortIndex)>>,
}

impl SharedMemory {
    pub(crate) fn new(buffer: SharedBuffer) -> Self {
        Self {
            buffer,
            departures: BinaryHeap::new(),
        }
    }

    /// Releases the packets that have departed from any port by `now`.
    pub(super) fn release_departed<P: Probe>(
        &mut self,
        ports: &mut [Port],
        now: Time,
        Arenas { pool, extras }: Arenas<'_>,
        probe: &mut P,
    ) {
        while let Some(&Reverse((at, index))) = self.departures.peek()
            && at <= now
        {
            self.departures.pop();
            let port = &mut ports[index.index()];
            port.listed = false;
            self.list(port, now, Arenas { pool, extras }, probe);
        }
    }

    /// Releases the bytes that a port has freed and enters its next departure, if there is one.
    pub(super) fn list<P: Probe>(
        &mut self,
        port: &mut Port,
        now: Time,
        arenas: Arenas<'_>,
        probe: &mut P,
    ) {
        let freed = port.free(now, arenas, probe);
        self.buffer.release(freed.bytes);
        if let Some(at) = freed.next_departure
            && !port.listed
        {
            port.listed = true;
            self.departures.push(Reverse((at, port.index)));
        }
    }
}
