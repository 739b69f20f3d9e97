//! What probes are shown on request: samples of queues and memories, what ports send, the measured
//! interval.

use incastle_units::{Bytes, Span, Time};

use super::Simulation;
use crate::core::{Event, Kind, Node, PortIndex, SwitchIndex};
use crate::network::Occupancy;
use crate::probe::{MemorySample, Probe};

/// What a probe event is for.
const SAMPLE: u32 = 0;
const MEASURE_FROM: u32 = 1;
const MEASURE_TO: u32 = 2;
const MEMORY: u32 = 3;

/// Queue samples at an interval.
#[derive(Debug, Clone, Default)]
struct Sampling {
    every: Span,
    ports: Vec<PortIndex>,
}

/// Samples of the memories of switches, each with its ports, at an interval.
#[derive(Debug, Clone, Default)]
struct MemorySampling {
    every: Span,
    switches: Vec<(SwitchIndex, Vec<PortIndex>)>,
}

/// The probe, and what it is shown on request.
pub(super) struct Observer<P> {
    pub(super) probe: P,
    /// Whether any flow is recorded.
    pub(super) recording: bool,
    sampling: Sampling,
    memory_sampling: MemorySampling,
}

impl<P> Observer<P> {
    pub(super) fn new(probe: P) -> Self {
        Self {
            probe,
            recording: false,
            sampling: Sampling::default(),
            memory_sampling: MemorySampling::default(),
        }
    }
}

impl<P: Probe> Simulation<P> {
    /// Samples the queues of `ports` every `every`, from the first multiple of it on.
    pub fn sample_queues(&mut self, ports: Vec<PortIndex>, every: Span) {
        assert!(
            every > Span::ZERO,
            "a sampling interval is longer than nothing"
        );
        self.observer.sampling = Sampling { every, ports };
        self.enter(Event::new(self.clock.now() + every, Kind::Probe, SAMPLE));
    }

    /// Samples what `switches` store every `every`, from the first multiple of it on.
    pub fn sample_memories(&mut self, switches: &[SwitchIndex], every: Span) {
        assert!(
            every > Span::ZERO,
            "a sampling interval is longer than nothing"
        );
        let ports_of = |switch: SwitchIndex| {
            let own = |port: &PortIndex| self.network.ends(*port).0 == Node::Switch(switch);
            (switch, self.network.ports().filter(own).collect())
        };
        let switches = switches.iter().map(|&switch| ports_of(switch)).collect();
        self.observer.memory_sampling = MemorySampling { every, switches };
        self.enter(Event::new(self.clock.now() + every, Kind::Probe, MEMORY));
    }

    /// Shows the probe every packet that leaves these ports, from now on, which must be the beginning.
    /// They have departure events then, whatever their kind: nothing else is different but the number
    /// of events.
    pub fn capture(&mut self, ports: &[PortIndex]) {
        for port in ports {
            self.network.capture(*port);
        }
    }

    /// Tells the probe when the measured interval begins and ends.
    pub fn measure_between(&mut self, from: Time, to: Time) {
        self.enter(Event::new(from, Kind::Probe, MEASURE_FROM));
        self.enter(Event::new(to, Kind::Probe, MEASURE_TO));
    }

    pub(super) fn look(&mut self, what: u32) {
        let now = self.clock.now();
        if what == SAMPLE {
            for &port in &self.observer.sampling.ports {
                let backlog = self.network.backlog(port, now, &mut self.observer.probe);
                let bytes = Bytes::new(backlog.waiting_bytes);
                self.observer
                    .probe
                    .sampled(port, now, backlog.waiting_packets, bytes);
            }
            let at = now + self.observer.sampling.every;
            self.enter(Event::new(at, Kind::Probe, SAMPLE));
            return;
        }
        if what == MEMORY {
            self.look_at_memories();
            let at = now + self.observer.memory_sampling.every;
            self.enter(Event::new(at, Kind::Probe, MEMORY));
            return;
        }
        self.settle();
        self.observer.probe.measuring(now, what == MEASURE_FROM);
    }

    fn look_at_memories(&mut self) {
        let now = self.clock.now();
        for (switch, ports) in &self.observer.memory_sampling.switches {
            let (network, probe) = (&mut self.network, &mut self.observer.probe);
            let Occupancy { all, of_ports } = network.occupancy(*switch, ports, now, probe);
            let sample = |port, stored, limit| MemorySample {
                at: now,
                switch: *switch,
                port,
                stored,
                limit,
            };
            probe.memory_sampled(&sample(None, all.0, all.1));
            for (port, stored, limit) in of_ports {
                probe.memory_sampled(&sample(Some(port), stored, limit));
            }
        }
    }

    /// Lets every port tell the probe of its departures until now.
    pub(crate) fn settle(&mut self) {
        for port in self.network.ports() {
            self.network
                .backlog(port, self.clock.now(), &mut self.observer.probe);
        }
    }
}
