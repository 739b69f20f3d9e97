//! The record of a finished run: the input of its totals, tables, notes and captures.
//!
//! `flows`, `rounds`, `timeouts`, `idle` and `ideals` are computed once, for several tables.

pub(crate) mod flows;
pub(crate) mod ideals;
mod idle;
pub(crate) mod rounds;
pub(crate) mod timeouts;

use incastle_engine::core::PortIndex;
use incastle_engine::flow::FlowRecord;
use incastle_engine::network::Network;
use incastle_engine::probe::{Boundary, Probe};
use incastle_engine::{Simulation, finish};
use incastle_recorder::Recorder;
use incastle_scenario::Scenario;
use incastle_scenario::language::flows::Stop;
use incastle_scenario::language::measure::Measure;
use incastle_units::{Bytes, Span, Time};
use incastle_workload::{Notes, TransferNote};

use crate::overseer::Overseer;
use crate::silence::full_packets;
use flows::Flows;
use ideals::IdealTimes;
use idle::Idle;
use rounds::Rounds;
use timeouts::Timeouts;

/// The measured interval.
#[derive(Debug, Clone, Copy)]
pub struct Interval {
    /// Its start.
    pub from: Time,
    /// Its end.
    pub to: Time,
}

impl Interval {
    /// From a start to an end, or to that of the run.
    pub fn of(from: Span, to: Stop, end: Time) -> Self {
        Self {
            from: Time::ZERO + from,
            to: match to {
                Stop::End => end,
                Stop::At(to) => Time::ZERO + to,
            },
        }
    }
}

/// The outcome of a run's stages.
pub struct Passed {
    /// The measured interval.
    pub interval: Interval,
    /// Bytes that each port had accepted at the beginning and the end of the interval.
    pub accepted: [Vec<Bytes>; 2],
    /// Whether the overseer ended it.
    pub interrupted: bool,
    /// Whether it should end with its work, and reached the limit instead.
    pub met_limit: bool,
}

/// The engine's records at the end.
pub(crate) struct Finished {
    digest: u64,
    now: Time,
    counted: incastle_engine::Totals,
    network: Network,
    recorder: Recorder,
    flows: Vec<FlowRecord>,
}

impl Finished {
    /// The joined records of all partitions.
    pub(crate) fn new(
        parts: Vec<Simulation<Recorder>>,
        join: impl FnOnce(Vec<Recorder>, &Network) -> Recorder,
    ) -> Self {
        assert!(!parts.is_empty(), "a run has a simulation");
        let incastle_engine::Finished {
            digest,
            now,
            totals: counted,
            network,
            probes,
            flows,
        } = finish(parts);
        let mut recorder = join(probes, &network);
        recorder.end_silences(now);
        Self {
            digest,
            now,
            counted,
            network,
            recorder,
            flows,
        }
    }
}

/// Ends the measured interval of a run that ended before it. Every queue has kept its last length until then.
fn end_interval(recorder: &mut Recorder, interval: Interval, now: Time) {
    if now < interval.from {
        recorder.measuring(now, Boundary::Begin);
    }
    if now <= interval.to {
        recorder.measuring(now, Boundary::End);
    }
}

/// A finished run.
pub(crate) struct Record<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) digest: u64,
    /// The end of the run.
    pub(crate) now: Time,
    /// The measured interval, as far as the run came.
    pub(crate) interval: Interval,
    /// Bytes that each port had accepted at the beginning and the end of the interval.
    pub(crate) accepted: [Vec<Bytes>; 2],
    pub(crate) interrupted: bool,
    /// Whether it should end with its work, and reached the limit instead.
    pub(crate) met_limit: bool,
    pub(crate) counted: incastle_engine::Totals,
    pub(crate) network: Network,
    pub(crate) recorder: Recorder,
    pub(crate) flows: Flows,
    pub(crate) transfers: Vec<TransferNote>,
    /// Absent without rounds.
    pub(crate) rounds: Option<Rounds>,
    /// By host; absent where it was not measured.
    pub(crate) idle: Option<Vec<Idle>>,
    /// Absent where they were not measured.
    pub(crate) timeouts: Option<Timeouts>,
    /// Absent where they are not requested.
    pub(crate) ideals: Option<IdealTimes>,
}

impl<'a> Record<'a> {
    /// The record of a run after its stages.
    pub(crate) fn new(
        scenario: &'a Scenario,
        passed: Passed,
        finished: Finished,
        mut notes: Notes,
    ) -> Self {
        let Finished {
            digest,
            now,
            counted,
            network,
            mut recorder,
            flows,
        } = finished;
        end_interval(&mut recorder, passed.interval, now);
        let of_ports = |count: fn(&Network, PortIndex) -> u64| -> u64 {
            network.ports().map(|port| count(&network, port)).sum()
        };
        let drops = of_ports(|network, port| network.counters(port).dropped);
        let dropped = counted.drops + counted.cnms_dropped;
        assert_eq!(drops, dropped, "every drop is one port's");
        let marks = of_ports(|network, port| network.counters(port).marked);
        assert_eq!(marks, counted.marks, "every mark is one port's");
        let cnms = of_ports(Network::cnms);
        assert_eq!(cnms, counted.cnms_sent, "every CNM is one port's");
        let lost = of_ports(|network, port| network.wire_counters(port).lost);
        let corrupted = of_ports(|network, port| network.wire_counters(port).corrupted);
        assert!(
            counted.failure_drops + lost + corrupted <= dropped,
            "a packet is lost once"
        );
        assert!(
            counted.lost_on_wire <= lost && counted.corrupted <= corrupted,
            "every packet lost on the wire is one link's"
        );
        assert!(
            counted.data_packets <= counted.packet_hops,
            "data that a host received crossed a link"
        );
        for accepted in &passed.accepted {
            assert_eq!(accepted.len(), network.ports().count());
        }
        let measure = &scenario.tables().measure;
        let flows = Flows::new(scenario, &network, flows, &mut notes);
        let rounds = Rounds::new(scenario, &flows, &notes.transfers);
        let idle = (measure.timeouts && measure.receiver_idle)
            .then(|| Idle::of_hosts(&full_packets(scenario), &recorder.silences));
        let timeouts = measure
            .timeouts
            .then(|| Timeouts::new(&recorder, &flows, rounds.as_ref(), idle.as_deref()));
        Self {
            scenario,
            digest,
            now,
            interval: Interval {
                from: passed.interval.from.min(now),
                to: passed.interval.to.min(now),
            },
            accepted: passed.accepted,
            interrupted: passed.interrupted,
            met_limit: passed.met_limit,
            counted,
            network,
            recorder,
            flows,
            transfers: notes.transfers,
            rounds,
            idle,
            timeouts,
            ideals: None,
        }
    }

    /// The same with ideal FCTs, where they are requested. The overseer may end the search.
    pub(crate) fn with_ideals(mut self, overseer: &dyn Overseer) -> Self {
        let continues = || !self.interrupted && overseer.continues(self.now);
        self.ideals = self
            .measure()
            .slowdown
            .then(|| IdealTimes::new(self.scenario, &self.flows, &self.transfers, continues));
        self
    }

    /// The settings of the records.
    pub(crate) fn measure(&self) -> &'a Measure {
        &self.scenario.tables().measure
    }
}
