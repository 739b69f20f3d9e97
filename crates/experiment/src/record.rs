//! What a finished run leaves: the engine's records, and how the run went.

use incastle_engine::{FlowRecord, Network, Recorder, Simulation, Whole, finish};
use incastle_scenario::language::flows::Stop;
use incastle_units::{Bytes, Span, Time};

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

/// How a run went through its stages.
pub struct Passed {
    /// The measured interval.
    pub interval: Interval,
    /// Bytes that each port had accepted at the beginning and the end of the interval.
    pub accepted: [Vec<Bytes>; 2],
    /// Whether the overseer ended it.
    pub interrupted: bool,
    /// Whether it was to end with its work, and met the limit instead.
    pub met_limit: bool,
}

/// What the engine knows in the end.
pub(crate) struct Finished {
    pub(crate) digest: u64,
    pub(crate) now: Time,
    pub(crate) counted: incastle_engine::Totals,
    pub(crate) network: Network,
    pub(crate) recorder: Recorder,
    pub(crate) flows: Vec<FlowRecord>,
}

impl Finished {
    /// Of the simulations of all parts, whose records are joined.
    pub(crate) fn new(
        parts: Vec<Simulation<Recorder>>,
        join: impl FnOnce(Vec<Recorder>, &Network) -> Recorder,
    ) -> Self {
        let whole = Whole::new(&parts);
        let (digest, now, counted) = (whole.digest(), whole.now(), whole.totals());
        let (network, recorders, flows) = finish(parts);
        let mut recorder = join(recorders, &network);
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
