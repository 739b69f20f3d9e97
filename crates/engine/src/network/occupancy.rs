//! The occupancy of memories and queues, for samples and records.

use incastle_units::{Amount, Bytes, Time};

use super::{Arenas, Backlog, Network};
use crate::core::{Node, PortIndex, SwitchIndex};
use crate::probe::{MemorySample, Probe, QueueSeen};

impl Network {
    /// The occupancy and the limit of a port's memory at `now`.
    pub(crate) fn queue_seen<P: Probe>(
        &mut self,
        at: PortIndex,
        now: Time,
        probe: &mut P,
    ) -> QueueSeen {
        self.settle(at, now, probe);
        let Self {
            ports,
            pool,
            extras,
            ..
        } = self;
        let memory = match self.owners[at.index()] {
            Node::Switch(switch) => self.switches[switch.index()].memory.as_mut(),
            Node::Host(_) => None,
        };
        let threshold = memory.map(|memory| {
            memory.release_departed(ports, now, Arenas { pool, extras }, probe);
            Amount::Bytes(memory.buffer.threshold())
        });
        let port = &mut ports[at.index()];
        let backlog = port.advance(now, Arenas { pool, extras }, probe);
        QueueSeen {
            packets: backlog.stored_packets,
            bytes: Bytes::new(backlog.stored_bytes),
            limit: threshold.or_else(|| port.gate.limit()),
        }
    }

    /// The backlog of a port at `now`.
    pub(crate) fn backlog<P: Probe>(
        &mut self,
        port: PortIndex,
        now: Time,
        probe: &mut P,
    ) -> Backlog {
        self.settle(port, now, probe);
        let (pool, extras) = (&mut self.pool, &mut self.extras);
        self.ports[port.index()].advance(now, Arenas { pool, extras }, probe)
    }

    /// The occupancy of a switch at `now`: the whole switch first, then each port that stores anything.
    pub(crate) fn occupancy<P: Probe>(
        &mut self,
        switch: SwitchIndex,
        ports: &[PortIndex],
        now: Time,
        probe: &mut P,
    ) -> Vec<MemorySample> {
        self.settle_switch(switch, now, probe);
        let Self {
            ports: all,
            pool,
            extras,
            ..
        } = self;
        let mut memory = self.switches[switch.index()].memory.as_mut();
        if let Some(memory) = &mut memory {
            memory.release_departed(all, now, Arenas { pool, extras }, probe);
        }
        let threshold = memory.as_ref().map(|memory| memory.buffer.threshold());
        let sample = |port, stored, limit| MemorySample {
            at: now,
            switch,
            port,
            stored: Bytes::new(stored),
            limit,
        };
        let mut of_ports = Vec::new();
        let mut sum = 0;
        for &index in ports {
            let port = &mut all[index.index()];
            let stored = port
                .advance(now, Arenas { pool, extras }, probe)
                .stored_bytes;
            sum += stored;
            if stored > 0 {
                let limit = threshold.or_else(|| port.gate.capacity());
                of_ports.push(sample(Some(index), stored, limit));
            }
        }
        let capacity = memory.map(|memory| {
            let stored = memory.buffer.stored().count();
            assert_eq!(stored, sum, "a shared memory stores what its ports store");
            memory.buffer.capacity()
        });
        of_ports.insert(0, sample(None, sum, capacity));
        of_ports
    }
}
