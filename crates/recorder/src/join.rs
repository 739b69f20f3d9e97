//! Joins the records of the partitions of a network: for each port and host that of its partition.

use incastle_engine::parallel::Owners;
use incastle_engine::probe::MemorySample;

use super::{Recorder, Series};

impl Recorder {
    /// Joins the records of all partitions, in their order. Ports and hosts are in the record of their partition, the
    /// bytes of a flow in those of its endpoints. Lists over the whole network, except samples, whose order is known,
    /// must not have been requested.
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
                "lists over the whole network have no order in partitions"
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
        // At one instant port by port, switch by switch, as they are taken.
        joined.queue_samples.sort_by_key(|one| (one.at, one.port));
        let key = |one: &MemorySample| (one.at, one.switch, one.port);
        joined.memory_samples.sort_by_key(key);
        joined
    }
}
