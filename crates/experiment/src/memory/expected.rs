//! The expected memory of a run, from the scenario alone. It is the offered load that the receivers' links can
//! carry, times the records of each packet, flow and sample. Flows of random sizes count with the mean.
//!
//! Leaves out: losses (fewer or more packets), timeouts, notifications of QCN.

use incastle_units::Bytes;

use super::{Kept, Memory};
use incastle_scenario::Scenario;
use incastle_scenario::check::{Over, over_time};
use incastle_scenario::language::flows::{Group, Message, Query, Size, Stop, Workload};
use incastle_scenario::language::limits::Rounds;
use incastle_scenario::language::measure::{Capture, Sampling};
use incastle_scenario::topology::layout::Layout;
use incastle_scenario::topology::pairs::GroupHosts;

/// Ports that a packet and its acknowledgement cross in a star.
const CROSSED: f64 = 4.0;
/// Events recorded for a packet and its acknowledgement.
const EVENTS: f64 = 8.0;

/// The memory that a run will take by the time its tables are made.
pub fn expected(scenario: &Scenario) -> Memory {
    let (root, layout) = (scenario.tables(), scenario.layout());
    let measure = &root.measure;
    let offers: Vec<Offer> = offers(scenario).collect();
    let sum = |of: fn(&Offer) -> f64| offers.iter().map(of).sum::<f64>();
    let packets = sum(|offer| offer.packets);
    let mut memory = of_network(scenario, 1);
    let mut add = |kept, count: f64, further| memory.add(kept, count as u64, further);
    add(Kept::Flows, sum(|offer| offer.flows), 0);
    add(Kept::Transfers, sum(|offer| offer.transfers), 0);
    if measure.goodput {
        add(Kept::Bins, sum(|offer| offer.bins), 0);
    }
    for table in over_time(root, layout) {
        let rows = table.rows(scenario.duration()) as f64;
        match kept(&table) {
            clocked @ (Kept::Queue | Kept::Occupancy) => add(clocked, rows, 0),
            // A row needs a packet.
            other => add(other, rows.min(packets), 0),
        }
    }
    if let Sampling::On(events) = &measure.events {
        add(
            Kept::Events,
            (packets * EVENTS).min(f64::from(events.max_events)),
            0,
        );
    }
    if let Sampling::On(capture) = &measure.pcap {
        let crossed = captured(capture).min(CROSSED);
        add(Kept::Captures, packets * crossed, capture.snaplen.count());
    }
    memory
}

/// The data packets that a group of flows will have: those that it offers, as far as access links carry them. ACKs and
/// repetitions are left out.
pub(crate) fn offered_packets(group: &Group, scenario: &Scenario) -> f64 {
    Offer::of(group, scenario).packets
}

fn offers(scenario: &Scenario) -> impl Iterator<Item = Offer> {
    let groups = scenario.tables().flows.iter().map(|(_, group)| group);
    groups.map(|group| Offer::of(group, scenario))
}

/// The minimum memory of a run: the network and the flows that are not random, in each of `parts` partitions.
pub fn at_start(scenario: &Scenario, parts: usize) -> Memory {
    let mut memory = of_network(scenario, parts);
    let groups = scenario.tables().flows.iter().map(|(_, group)| group);
    let certain = groups.filter(|group| !group.workload.is_drawn());
    let flows: f64 = certain.map(|group| Offer::of(group, scenario).flows).sum();
    memory.add(Kept::Flows, flows as u64 * parts as u64, 0);
    memory
}

fn of_network(scenario: &Scenario, parts: usize) -> Memory {
    let mut memory = Memory::default();
    let layout = scenario.layout();
    let ends = layout.hosts.len().max(layout.links.len());
    memory.add(Kept::Hosts, (ends * parts) as u64, 0);
    memory
}

fn kept(table: &Over) -> Kept {
    match table.key {
        "queue" => Kept::Queue,
        "buffer_occupancy" => Kept::Occupancy,
        "throughput" => Kept::Bins,
        "dcudp" => Kept::Dcudp,
        _ => Kept::Windows,
    }
}

fn captured(capture: &Capture) -> f64 {
    let names = capture.port_names();
    if names.contains("all") {
        CROSSED
    } else {
        names.len() as f64
    }
}

/// The offered load of a group of flows.
struct Offer {
    flows: f64,
    transfers: f64,
    packets: f64,
    /// Bins of a millisecond in which a host receives something.
    bins: f64,
}

impl Offer {
    fn of(group: &Group, scenario: &Scenario) -> Self {
        let bounds = Bounds::new(group, scenario);
        let Work {
            flows,
            transfers,
            bytes,
        } = bounds.work(group);
        let payload = group.transport.payload().count().max(1) as f64;
        let bytes = bytes.min(bounds.carried);
        // A transfer has one packet at least.
        let packets = (bytes / payload).max(transfers);
        let milliseconds = bounds.seconds * 1e3 * bounds.receivers;
        Self {
            flows,
            transfers,
            packets,
            bins: packets.min(milliseconds),
        }
    }
}

/// The expected work of a group.
struct Work {
    flows: f64,
    transfers: f64,
    bytes: f64,
}

/// The bounds of a group's work.
struct Bounds {
    /// Its duration.
    seconds: f64,
    senders: f64,
    receivers: f64,
    pairs: f64,
    /// Bytes that the access links of its receivers carry in a second, and in all that time.
    capacity: f64,
    carried: f64,
    /// Whether each response is stored.
    responses: bool,
}

impl Bounds {
    fn new(group: &Group, scenario: &Scenario) -> Self {
        let (root, layout) = (scenario.tables(), scenario.layout());
        let hosts = GroupHosts::of(group, layout);
        let end = match group.stop {
            Stop::End => root.run.duration,
            Stop::At(at) => at.min(root.run.duration),
        };
        let seconds = end.saturating_sub(group.start).as_secs_lossy();
        let capacity = capacity(layout, &hosts.to);
        Self {
            seconds,
            senders: hosts.from.len() as f64,
            receivers: hosts.to.len() as f64,
            pairs: hosts.pairs(group).len() as f64,
            capacity,
            carried: capacity * seconds,
            responses: root.measure.responses,
        }
    }

    /// A group's flows, transfers and bytes.
    fn work(&self, group: &Group) -> Work {
        let pairs = self.pairs;
        let payload = group.transport.payload();
        let streams = |bytes| Work {
            flows: pairs,
            transfers: 0.0,
            bytes,
        };
        let sized = |size: &Size| match size {
            Size::Unlimited => streams(f64::INFINITY),
            Size::Of(bytes) => Work {
                transfers: pairs,
                ..streams(pairs * bytes.count() as f64)
            },
        };
        let of_rate = |rate, mean: f64, each: f64| {
            let arrivals = rate * self.seconds;
            Work {
                flows: arrivals * each,
                transfers: arrivals * each,
                bytes: arrivals * mean,
            }
        };
        match &group.workload {
            Workload::Bulk(bulk) => sized(&bulk.size),
            Workload::Permutation(permutation) => sized(&permutation.size),
            Workload::Cbr(cbr) => {
                let bytes = cbr.rate.bytes_per_second_lossy() * self.seconds * pairs;
                streams(bytes * padding(cbr.message, payload))
            }
            Workload::OnOff(one) => {
                let (on, off) = (one.on.as_secs_lossy(), one.off.as_secs_lossy());
                let bytes = one.rate.bytes_per_second_lossy() * self.seconds * pairs;
                streams(bytes * on / (on + off) * padding(one.message, payload))
            }
            Workload::PoissonDatagrams(one) => {
                let offered = match (one.datagram_rate, one.load) {
                    (Some(arrivals), _) => arrivals * payload.count() as f64,
                    (None, load) => load.unwrap_or(1.0) * self.capacity,
                };
                streams(offered * self.seconds)
            }
            Workload::Poisson(one) => {
                let mean = one.sizes.mean();
                let offered = one.load.unwrap_or(1.0) * self.capacity / mean;
                of_rate(one.flow_rate.unwrap_or(offered), mean, 1.0)
            }
            Workload::RandomIncast(one) => {
                let senders = match group.count {
                    incastle_scenario::language::flows::Count::Number(count) => f64::from(count),
                    incastle_scenario::language::flows::Count::Each => self.senders,
                };
                let mean = one.bytes(senders as usize).max(1) as f64;
                let offered = one.load.unwrap_or(1.0) * self.capacity / mean;
                of_rate(one.incast_rate.unwrap_or(offered), mean, senders)
            }
            Workload::FlowList(list) => {
                let all = list.transfers.list();
                let bytes: u64 = all.iter().map(|one| one.bytes.count()).sum();
                Work {
                    flows: all.len() as f64,
                    transfers: all.len() as f64,
                    bytes: bytes as f64,
                }
            }
            Workload::BarrierIncast(_)
            | Workload::Query(_)
            | Workload::AllToAll(_)
            | Workload::AllReduce(_) => self.closed_loop(&group.workload),
        }
    }

    /// The same for workloads that continue after an arrival.
    fn closed_loop(&self, workload: &Workload) -> Work {
        match workload {
            Workload::BarrierIncast(one) => {
                let think = one.think_time.as_secs_lossy();
                self.rounds(
                    self.response_bytes(one.sru, one.total_size),
                    think,
                    one.rounds,
                    None,
                )
            }
            Workload::AllToAll(one) => {
                let think = one.think_time.as_secs_lossy();
                self.rounds(
                    self.response_bytes(one.response_size, one.total_size),
                    think,
                    one.rounds,
                    None,
                )
            }
            Workload::Query(one) => {
                let unit = one.response_size.unwrap_or(Query::UNIT);
                let think = one.think_time.as_secs_lossy();
                self.rounds(
                    self.response_bytes(Some(unit), one.total_size),
                    think,
                    one.rounds,
                    one.rate,
                )
            }
            Workload::AllReduce(all) => {
                let size = all.size.count() as f64;
                let parts = all.parts(self.senders as usize) as f64;
                let steps = 2.0 * self.senders * parts;
                let rounds = self.max_rounds(
                    2.0 * size * self.senders,
                    all.think_time.as_secs_lossy(),
                    all.rounds,
                );
                let kept = if self.responses {
                    rounds * steps
                } else {
                    rounds
                };
                Work {
                    flows: self.pairs,
                    transfers: kept,
                    bytes: rounds * 2.0 * size * self.senders,
                }
            }
            _ => unreachable!("the transfers of other workloads are known beforehand"),
        }
    }

    /// Application bytes of one server's response.
    fn response_bytes(&self, unit: Option<Bytes>, total: Option<Bytes>) -> f64 {
        let servers = (self.pairs / self.receivers).max(1.0);
        match (unit, total) {
            (_, Some(total)) => total.count() as f64 / servers,
            (unit, None) => unit.map_or(1.0, |unit| unit.count() as f64),
        }
    }

    /// Requests of all clients, each with its responses, in rounds or at a rate per client.
    fn rounds(&self, response_bytes: f64, think: f64, rounds: Rounds, rate: Option<f64>) -> Work {
        let bytes = response_bytes * self.pairs;
        let mut rounds = self.max_rounds(bytes, think, rounds);
        if let Some(rate) = rate {
            rounds = rounds.min(rate * self.seconds);
        }
        let responses = if self.responses { self.pairs } else { 0.0 };
        Work {
            flows: self.pairs,
            transfers: rounds * (responses + self.receivers),
            bytes: rounds * bytes,
        }
    }

    fn max_rounds(&self, bytes: f64, think: f64, rounds: Rounds) -> f64 {
        let by_time = self.seconds / (bytes / self.capacity + think);
        match rounds {
            Rounds::Unlimited => by_time,
            Rounds::Number(count) => by_time.min(count as f64),
        }
    }
}

/// Bytes per second that the access links of some hosts carry.
fn capacity(layout: &Layout, hosts: &[usize]) -> f64 {
    let links = hosts.iter().filter_map(|&host| layout.access(host));
    links.map(|link| link.rate.bytes_per_second_lossy()).sum()
}

/// The number of packets over the number of full ones that the same data would need.
fn padding(message: Message, payload: Bytes) -> f64 {
    match message {
        Message::Packet => 1.0,
        Message::Of(bytes) => (payload.count() as f64 / bytes.count().max(1) as f64).max(1.0),
    }
}
