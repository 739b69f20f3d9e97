//! Samples of queues and memories at an interval, and the measured interval, as events of the probe.

use incastle_units::{Bytes, Span, Time};

use super::fabric::Fabric;
use crate::core::{Clock, Event, Kind, Node, PortIndex, SwitchIndex};
use crate::network::Network;
use crate::probe::{Boundary, Probe};

/// The sources of probe events.
const QUEUES: u32 = 0;
const MEASURE_FROM: u32 = 1;
const MEASURE_TO: u32 = 2;
const MEMORIES: u32 = 3;

/// The objects sampled, and the interval.
#[derive(Debug, Default)]
pub(super) struct Sampling {
    queues: Vec<PortIndex>,
    queue_interval: Span,
    memories: Vec<Memory>,
    memory_interval: Span,
}

/// The memory of a switch, with its ports.
#[derive(Debug)]
struct Memory {
    switch: SwitchIndex,
    ports: Vec<PortIndex>,
}

impl Sampling {
    /// Samples the queues of `ports` at an interval, from its first multiple on.
    pub(super) fn sample_queues(
        &mut self,
        ports: Vec<PortIndex>,
        interval: Span,
        clock: &mut Clock,
    ) {
        self.queues = ports;
        self.queue_interval = interval;
        enter(QUEUES, interval, clock);
    }

    /// Samples the memories of `switches` at an interval, from its first multiple on.
    pub(super) fn sample_memories(
        &mut self,
        switches: &[SwitchIndex],
        interval: Span,
        network: &Network,
        clock: &mut Clock,
    ) {
        let memory = |&switch: &SwitchIndex| {
            let own = |port: &PortIndex| network.owner(*port) == Node::Switch(switch);
            let ports = network.ports().filter(own).collect();
            Memory { switch, ports }
        };
        self.memories = switches.iter().map(memory).collect();
        self.memory_interval = interval;
        enter(MEMORIES, interval, clock);
    }

    /// A probe event has come.
    pub(super) fn sample<P: Probe>(&self, source: u32, fabric: &mut Fabric<P>) {
        match source {
            QUEUES => {
                self.queues(fabric);
                enter(QUEUES, self.queue_interval, &mut fabric.clock);
            }
            MEMORIES => {
                self.memories(fabric);
                enter(MEMORIES, self.memory_interval, &mut fabric.clock);
            }
            _ => {
                fabric.settle();
                let boundary = match source {
                    MEASURE_FROM => Boundary::Begin,
                    _ => Boundary::End,
                };
                fabric.probe.measuring(fabric.clock.now(), boundary);
            }
        }
    }

    fn queues<P: Probe>(&self, fabric: &mut Fabric<P>) {
        let now = fabric.clock.now();
        for &port in &self.queues {
            let backlog = fabric.network.backlog(port, now, &mut fabric.probe);
            let bytes = Bytes::new(backlog.waiting_bytes);
            fabric
                .probe
                .sampled(port, now, backlog.waiting_packets, bytes);
        }
    }

    fn memories<P: Probe>(&self, fabric: &mut Fabric<P>) {
        let now = fabric.clock.now();
        for Memory { switch, ports } in &self.memories {
            let (network, probe) = (&mut fabric.network, &mut fabric.probe);
            for sample in network.occupancy(*switch, ports, now, probe) {
                probe.memory_sampled(&sample);
            }
        }
    }
}

/// Enters the events of the measured interval.
pub(super) fn enter_interval(from: Time, to: Time, clock: &mut Clock) {
    for (at, source) in [(from, MEASURE_FROM), (to, MEASURE_TO)] {
        clock.events.push(Event::new(at, Kind::Probe, source));
    }
}

/// Enters the next sample.
fn enter(source: u32, interval: Span, clock: &mut Clock) {
    assert!(interval > Span::ZERO, "a sampling interval is positive");
    let at = clock.now() + interval;
    clock.events.push(Event::new(at, Kind::Probe, source));
}
