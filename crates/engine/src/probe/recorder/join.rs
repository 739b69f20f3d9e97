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
    /// part, what reached a flow in that of either endpoint. Lists of what happened anywhere are left out, but
    /// for samples, whose order is known: they must not have been asked for.
    pub fn join(mut parts: Vec<Self>, owners: &Owners) -> Self {
        let mut whole = parts.remove(0);
        for (part, mut other) in (1..).zip(parts) {
            assert!(
                other.windows.is_empty()
                    && other.modes.is_empty()
                    && other.rates.is_empty()
                    && other.samples.is_empty()
                    && other.timeouts.is_empty()
                    && other.silences.is_empty(),
                "what happens anywhere has no order in parts"
            );
            for (port, owner) in owners.ports.iter().enumerate() {
                if *owner == part {
                    whole.queues.take(port, &mut other.queues);
                }
            }
            for (host, theirs) in other.hosts.into_iter().enumerate() {
                if owners.hosts[host] == part {
                    whole.hosts[host] = theirs;
                }
            }
            if whole.flows.len() < other.flows.len() {
                whole.flows.resize(other.flows.len(), Series::default());
            }
            for (series, theirs) in whole.flows.iter_mut().zip(&other.flows) {
                series.add(theirs);
            }
            whole.bins += other.bins;
            whole.queue_samples.extend(other.queue_samples);
            whole.memory_samples.extend(other.memory_samples);
        }
        // As they are taken: at one instant port by port, switch by switch.
        whole.queue_samples.sort_by_key(|one| (one.at, one.port));
        let key = |one: &super::MemorySample| (one.at, one.switch, one.port);
        whole.memory_samples.sort_by_key(key);
        whole
    }
}
