//! One record from those of the partitions of a network: of each port and host the one that saw it.

use super::{Recorder, Series};

/// Whose record counts: by port and by host, the partition that it belongs to.
#[derive(Debug)]
pub struct Owners {
    /// By port.
    pub ports: Vec<usize>,
    /// By host.
    pub hosts: Vec<usize>,
}

impl Recorder {
    /// Joins the records of all partitions, in their order. What a port or a host did is in the record of its
    /// partition, what reached a flow in that of either endpoint. Lists of what happened anywhere are left out, but
    /// for samples, whose order is known: they must not have been asked for.
    pub fn join(mut partitions: Vec<Self>, owners: &Owners) -> Self {
        let mut joined = partitions.remove(0);
        for (partition, mut other) in (1..).zip(partitions) {
            assert!(
                other.windows.is_empty()
                    && other.modes.is_empty()
                    && other.rates.is_empty()
                    && other.samples.is_empty()
                    && other.timeouts.is_empty()
                    && other.silences.is_empty(),
                "what happens anywhere has no order in partitions"
            );
            for (port, owner) in owners.ports.iter().enumerate() {
                if *owner == partition {
                    joined.queues.take(port, &mut other.queues);
                }
            }
            for (host, theirs) in other.hosts.into_iter().enumerate() {
                if owners.hosts[host] == partition {
                    joined.hosts[host] = theirs;
                }
            }
            if joined.flows.len() < other.flows.len() {
                joined.flows.resize(other.flows.len(), Series::default());
            }
            for (series, theirs) in joined.flows.iter_mut().zip(&other.flows) {
                series.add(theirs);
            }
            joined.bins += other.bins;
            joined.queue_samples.extend(other.queue_samples);
            joined.memory_samples.extend(other.memory_samples);
        }
        // As they are taken: at one instant port by port, switch by switch.
        joined.queue_samples.sort_by_key(|one| (one.at, one.port));
        let key = |one: &super::MemorySample| (one.at, one.switch, one.port);
        joined.memory_samples.sort_by_key(key);
        joined
    }
}
