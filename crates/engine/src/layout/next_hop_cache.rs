//! What routes said before: by the endpoint that a packet is for and by the switch where it is, the port
//! that it takes there.
//!
//! A table, a group of equal ports and a hash are half a dozen places in memory; the next hops of a flow's
//! packets lie here in one cache line. A record is overwritten when another end needs its place, and all are
//! forgotten when routes change. Each answer names its switch: the number of ports that a packet has passed
//! only says where to look first.

use crate::core::{EndpointIndex, PortIndex, SwitchIndex};

/// Hops that a record holds.
const STEPS: usize = 7;
/// The fewest records, 64 KB of them, and the most, 1 MB.
const COUNTS: (usize, usize) = (1 << 10, 1 << 14);

/// A packet on its path: the endpoint that it is for, and the number of ports that it has passed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hop {
    pub(crate) to: EndpointIndex,
    pub(crate) passed: usize,
}

/// The port that a switch takes.
#[derive(Debug, Clone, Copy)]
struct Step {
    switch: SwitchIndex,
    port: PortIndex,
}

impl Step {
    /// Of no switch.
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
    /// To nowhere.
    const EMPTY: Self = Self {
        steps: [Step::NONE; STEPS],
        to: EndpointIndex(u32::MAX),
    };
}

const _: () = assert!(size_of::<Record>() == 64);

/// The records: a power of two, or none where nothing may be remembered.
#[derive(Debug)]
pub(crate) struct NextHopCache {
    records: Vec<Record>,
}

impl NextHopCache {
    /// Room for the paths of twice as many flows as there are hosts.
    pub(crate) fn of_hosts(hosts: usize) -> Self {
        let (fewest, most) = COUNTS;
        let count = (4 * hosts).next_power_of_two().clamp(fewest, most);
        Self {
            records: vec![Record::EMPTY; count],
        }
    }

    /// It remembers nothing.
    pub(crate) fn none() -> Self {
        Self {
            records: Vec::new(),
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.records.fill(Record::EMPTY);
    }

    /// The port that a switch takes to an endpoint, if it is known.
    #[inline(always)]
    pub(crate) fn port(&self, switch: SwitchIndex, Hop { to, passed }: Hop) -> Option<PortIndex> {
        let record = self.records.get(self.place(to))?;
        let step = record.steps.get(passed)?;
        (record.to == to && step.switch == switch).then_some(step.port)
    }

    /// The port that some switch takes to an endpoint, perhaps the one that a packet comes to next, which has passed so
    /// many; beyond all ports where nothing is known.
    #[inline(always)]
    pub(crate) fn guess(&self, Hop { to, passed }: Hop) -> PortIndex {
        let record = self.records.get(self.place(to));
        let step = record.and_then(|record| record.steps.get(passed));
        step.map_or(PortIndex::NONE, |step| step.port)
    }

    /// Prefetches the record of an endpoint.
    #[inline(always)]
    pub(crate) fn prefetch(&self, to: EndpointIndex) {
        incastle_prefetch::element(&self.records, self.place(to));
    }

    /// Remembers it.
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
