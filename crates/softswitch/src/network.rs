//! A network of ports, switches and hosts in virtual time: packets come in at hosts and are delivered to hosts.
//! Time comes in as an argument.
//!
//! Call `arrive` for each packet that a host sends, and `deliver` until it returns nothing; `next_event` is the
//! instant of the next call. Each hop happens at its exact instant, however late the machine is: only the delivery
//! to a host waits for the machine.
//!
//! Leaves out: several paths between two hosts; addresses (see `address`).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use incastle_units::{Span, Time};
use rand_core::Rng;

use crate::graph::Graph;
use crate::ip::{self, FlowKey};
use crate::port::{Outcome, Port};
use crate::samples::Lateness;

/// A packet that has reached its host.
#[derive(Debug)]
pub struct Delivery {
    /// The host.
    pub host: usize,
    /// The port that it came from.
    pub port: usize,
    /// When it was due.
    pub due: Time,
    /// The packet.
    pub packet: Vec<u8>,
}

/// Marks and drops of the packets of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Signals {
    /// Packets that were marked; at each port counted.
    pub marks: u64,
    /// Packets that were dropped.
    pub drops: u64,
}

/// A port's queue at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSample {
    /// The instant.
    pub at: Time,
    /// The port.
    pub port: usize,
    /// Packets that wait.
    pub packets: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// Queue samples at regular instants.
#[derive(Debug)]
struct Sampling {
    every: Span,
    next: Time,
    ports: Vec<usize>,
    taken: Vec<QueueSample>,
}

/// A packet and its destination in the network.
struct Travel {
    to: usize,
    packet: Vec<u8>,
}

/// The network.
pub struct Network {
    graph: Graph,
    ports: Vec<Port>,
    /// By port: the destinations of the packets that it holds, in their order.
    destinations: Vec<VecDeque<usize>>,
    lateness: Vec<Lateness>,
    /// The next departure of each port that holds a packet.
    heads: BinaryHeap<Reverse<(Time, usize)>>,
    signals: BTreeMap<FlowKey, Signals>,
    sampling: Option<Sampling>,
}

impl Network {
    /// An idle network.
    pub fn new(graph: Graph) -> Self {
        let ports: Vec<Port> = graph.ports().map(Port::new).collect();
        Self {
            destinations: vec![VecDeque::new(); ports.len()],
            lateness: vec![Lateness::default(); ports.len()],
            heads: BinaryHeap::new(),
            signals: BTreeMap::new(),
            sampling: None,
            graph,
            ports,
        }
    }

    /// Samples the queues of these ports at regular instants after `from`.
    pub fn sample(&mut self, from: Time, every: Span, ports: Vec<usize>) {
        assert!(every > Span::ZERO, "an interval");
        self.sampling = Some(Sampling {
            every,
            next: from + every,
            ports,
            taken: Vec::new(),
        });
    }

    /// A packet of `host` for `destination` arrived at `now`, not before anything that `deliver` has handled.
    pub fn arrive(
        &mut self,
        now: Time,
        host: usize,
        to: usize,
        packet: Vec<u8>,
        rng: &mut dyn Rng,
    ) {
        self.sample_until(now);
        self.enter(now, host, Travel { to, packet }, rng);
    }

    /// The packet enters the egress port of `node` on its path.
    fn enter(&mut self, now: Time, node: usize, travel: Travel, rng: &mut dyn Rng) {
        let Some(port) = self.graph.next_port(node, travel.to) else {
            return;
        };
        let was_idle = self.ports[port].next_departure().is_none();
        let flow = ip::flow(&travel.packet);
        match self.ports[port].arrive(now, travel.packet, rng) {
            Outcome::Stored => {}
            Outcome::Marked => self.signals.entry(flow).or_default().marks += 1,
            Outcome::DroppedFull | Outcome::DroppedEarly => {
                self.signals.entry(flow).or_default().drops += 1;
                return;
            }
        }
        self.destinations[port].push_back(travel.to);
        if was_idle {
            self.note_head(port);
        }
    }

    fn note_head(&mut self, port: usize) {
        if let Some(due) = self.ports[port].next_departure() {
            self.heads.push(Reverse((due, port)));
        }
    }

    /// When the next packet reaches the end of a link.
    pub fn next_event(&self) -> Option<Time> {
        self.heads.peek().map(|Reverse((due, _))| *due)
    }

    /// The next packet that has reached its host by `now`; forwards those in between.
    pub fn deliver(&mut self, now: Time, rng: &mut dyn Rng) -> Option<Delivery> {
        while let Some(Reverse((due, port))) = self.heads.peek().copied() {
            if due > now {
                break;
            }
            self.sample_until(due);
            self.heads.pop();
            let (_, packet) = self.ports[port].depart(due)?;
            let to = self.destinations[port].pop_front()?;
            self.note_head(port);
            let node = self.graph.end_of(port);
            if node == to {
                self.lateness[port].add(now.saturating_since(due));
                return Some(Delivery {
                    host: to,
                    port,
                    due,
                    packet,
                });
            }
            self.enter(due, node, Travel { to, packet }, rng);
        }
        None
    }

    /// Takes the samples that are due by `now`.
    fn sample_until(&mut self, now: Time) {
        let Some(sampling) = &mut self.sampling else {
            return;
        };
        while sampling.next <= now {
            for &port in &sampling.ports {
                self.ports[port].advance(sampling.next);
                sampling.taken.push(QueueSample {
                    at: sampling.next,
                    port,
                    packets: self.ports[port].waiting(),
                    bytes: self.ports[port].waiting_bytes(),
                });
            }
            sampling.next += sampling.every;
        }
    }

    /// The samples up to `now`.
    pub fn samples(&mut self, now: Time) -> &[QueueSample] {
        self.sample_until(now);
        self.sampling.as_ref().map_or(&[], |all| &all.taken)
    }

    /// Forgets what was measured, not what is held.
    pub fn restart(&mut self, now: Time) {
        for port in &mut self.ports {
            port.restart(now);
        }
        self.lateness.fill(Lateness::default());
    }

    /// How late packets left towards hosts, by port.
    pub fn lateness(&self, port: usize) -> &Lateness {
        &self.lateness[port]
    }

    /// A port.
    pub fn port(&mut self, port: usize) -> &mut Port {
        &mut self.ports[port]
    }

    /// Hosts, switches and routes.
    pub const fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Marks and drops by flow, since the beginning.
    pub const fn signals(&self) -> &BTreeMap<FlowKey, Signals> {
        &self.signals
    }
}
