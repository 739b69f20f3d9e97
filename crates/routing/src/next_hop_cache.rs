//! Cached next hops: by destination endpoint and switch, the port.
//!
//! A lookup in table, group and hash reads half a dozen places in memory. Here the next hops of a flow's packets are in
//! one cache line. A record is overwritten when another endpoint needs its place, and all are cleared when routes
//! change. Each step has its switch: the number of ports that a packet has passed is only a hint.

use crate::{EndpointIndex, PortIndex, SwitchIndex};

/// Hops that a record holds.
const STEPS: usize = 7;
/// The minimum number of records, 64 KB, and the maximum, 1 MB.
const MIN_RECORDS: usize = 1 << 10;
const MAX_RECORDS: usize = 1 << 14;

/// The place of a packet on its path: its destination, and the number of ports passed.
#[derive(Debug, Clone, Copy)]
pub struct Hop {
    /// The endpoint that it is for.
    pub to: EndpointIndex,
    /// A hint only: the switch is compared too.
    pub passed: usize,
}

/// The port of a switch on the path.
#[derive(Debug, Clone, Copy)]
struct Step {
    switch: SwitchIndex,
    port: PortIndex,
}

impl Step {
    /// A step of no switch.
    const NONE: Self = Self {
        switch: SwitchIndex(u32::MAX),
        port: PortIndex::NONE,
    };
}

/// The path to an endpoint.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Record {
    steps: [Step; STEPS],
    to: EndpointIndex,
}

impl Record {
    /// A path to nowhere.
    const EMPTY: Self = Self {
        steps: [Step::NONE; STEPS],
        to: EndpointIndex(u32::MAX),
    };
}

const _: () = assert!(size_of::<Record>() == 64);

/// The records: a power of two, or none where nothing may be cached.
#[derive(Debug)]
pub(crate) struct NextHopCache {
    records: Vec<Record>,
}

impl NextHopCache {
    /// Room for the paths of twice as many flows as there are hosts.
    pub(crate) fn of_hosts(hosts: usize) -> Self {
        let count = (4 * hosts).next_power_of_two();
        let count = count.clamp(MIN_RECORDS, MAX_RECORDS);
        Self {
            records: vec![Record::EMPTY; count],
        }
    }

    /// It caches nothing.
    pub(crate) fn disabled() -> Self {
        Self {
            records: Vec::new(),
        }
    }

    /// Clears all records.
    pub(crate) fn clear(&mut self) {
        self.records.fill(Record::EMPTY);
    }

    /// The port of a switch on the path to an endpoint, if it is cached.
    #[inline(always)]
    pub(crate) fn port(&self, switch: SwitchIndex, Hop { to, passed }: Hop) -> Option<PortIndex> {
        let record = self.records.get(self.place(to))?;
        let step = record.steps.get(passed)?;
        (record.to == to && step.switch == switch).then_some(step.port)
    }

    /// A guess of the next port of a packet, without a check of the switch; beyond all ports where nothing is cached.
    #[inline(always)]
    pub(crate) fn guess(&self, Hop { to, passed }: Hop) -> PortIndex {
        let record = self.records.get(self.place(to));
        let step = record.and_then(|record| record.steps.get(passed));
        step.map_or(PortIndex::NONE, |step| step.port)
    }

    /// Prefetches the record of an endpoint.
    #[inline(always)]
    pub(crate) fn prefetch(&self, to: EndpointIndex) {
        incastle_memory::prefetch::element(&self.records, self.place(to));
    }

    /// Caches a port.
    pub(crate) fn note(&mut self, switch: SwitchIndex, Hop { to, passed }: Hop, port: PortIndex) {
        let place = self.place(to);
        let Some(record) = self.records.get_mut(place) else {
            return;
        };
        if record.to != to {
            *record = Record {
                to,
                ..Record::EMPTY
            };
        }
        if let Some(step) = record.steps.get_mut(passed) {
            *step = Step { switch, port };
        }
    }

    /// The number of records.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    #[inline(always)]
    fn place(&self, to: EndpointIndex) -> usize {
        to.index() & self.records.len().wrapping_sub(1)
    }
}
