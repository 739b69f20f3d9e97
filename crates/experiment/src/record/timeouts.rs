//! The retransmission timeouts of a finished run, with the losses before each and its cost.
//!
//! The kind is the sender's view. The network's view adds the port that dropped the last transmission of the
//! first missing segment, and the number of outstanding segments that were dropped. A segment that was
//! dropped, retransmitted and reported by SACK counts as dropped.

use std::collections::BTreeMap;

use incastle_engine::core::{EndpointIndex, PortIndex};
use incastle_recorder::{Loss, Recorder, Timeout};
use incastle_transport::tcp::TimeoutReport;
use incastle_units::Time;

use super::flows::Flows;
use super::idle::{Idle, Period};
use super::rounds::Rounds;

/// The timeouts of a run, in order of time.
pub(crate) struct Timeouts {
    rows: Vec<Row>,
}

/// One of them.
pub(crate) struct Row {
    /// Its index in the recorder's timeouts.
    pub(crate) place: usize,
    pub(crate) cause: Cause,
    /// The index of the round in its table.
    pub(crate) round: Option<usize>,
    /// Absent where it was not measured.
    pub(crate) idle_s: Option<f64>,
}

/// The losses of a sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cause {
    /// The port that dropped the last transmission of the first missing segment, if one did.
    pub(crate) port: Option<PortIndex>,
    /// Outstanding segments that were dropped.
    pub(crate) dropped: u64,
}

impl Timeouts {
    pub(crate) fn new(
        recorder: &Recorder,
        flows: &Flows,
        rounds: Option<&Rounds>,
        idle: Option<&[Idle]>,
    ) -> Self {
        let causes = causes(recorder);
        let shares = match idle {
            Some(idle) => idle_shares(recorder, flows, idle),
            None => vec![None; recorder.timeouts.len()],
        };
        assert_eq!(causes.len(), recorder.timeouts.len(), "a cause of each");
        assert_eq!(shares.len(), recorder.timeouts.len(), "a share of each");
        let timeouts = recorder.timeouts.iter().enumerate();
        let rows = timeouts.zip(causes).zip(shares);
        let rows = rows.map(|(((place, timeout), cause), idle_s)| Row {
            place,
            cause,
            round: rounds.and_then(|rounds| rounds.at(&flows.row(timeout.flow), timeout.at)),
            idle_s,
        });
        Self {
            rows: rows.collect(),
        }
    }

    /// The timeouts, row by row.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The number of timeouts in each of `rounds` rounds.
    pub(crate) fn by_round(&self, rounds: usize) -> Vec<u64> {
        let mut counts = vec![0; rounds];
        for round in self.rows.iter().filter_map(|row| row.round) {
            counts[round] += 1;
        }
        let all: u64 = counts.iter().sum();
        assert!(
            all <= self.rows.len() as u64,
            "a timeout is in one round at most"
        );
        counts
    }
}

/// The cause of each timeout.
fn causes(recorder: &Recorder) -> Vec<Cause> {
    assert!(recorder.losses.is_sorted_by_key(|loss| loss.at));
    assert!(recorder.timeouts.is_sorted_by_key(|timeout| timeout.at));
    // Losses of each sending endpoint, those that may still be outstanding.
    let mut open: BTreeMap<EndpointIndex, Vec<&Loss>> = BTreeMap::new();
    let mut losses = recorder.losses.iter().peekable();
    let mut causes = Vec::with_capacity(recorder.timeouts.len());
    for timeout in &recorder.timeouts {
        while let Some(loss) = losses.next_if(|loss| loss.at <= timeout.at) {
            let end = loss.lost.flow.endpoint(loss.lost.from);
            open.entry(end).or_default().push(loss);
        }
        let own = open.entry(timeout.flow.endpoint(timeout.side)).or_default();
        causes.push(cause(&timeout.report, own));
    }
    causes
}

/// The cause of one timeout, from the losses of its endpoint; repaired losses are removed.
fn cause(report: &TimeoutReport, losses: &mut Vec<&Loss>) -> Cause {
    if report.max == 0 {
        // A SYN, which lies before the first byte.
        return Cause {
            port: losses.last().map(|loss| loss.port),
            dropped: u64::from(!losses.is_empty()),
        };
    }
    // By offset the port of the last loss; retransmissions keep the boundaries of segments.
    let mut outstanding = BTreeMap::new();
    losses.retain(|loss| {
        let place = report.outstanding(loss.lost.seq as u32);
        if let Some(place) = place
            && (place != report.una || is_last(report, loss))
        {
            outstanding.insert(place, loss.port);
        }
        place.is_some()
    });
    assert!(
        outstanding.len() <= losses.len(),
        "only losses that are kept count"
    );
    Cause {
        port: outstanding.get(&report.una).copied(),
        dropped: outstanding.len() as u64,
    }
}

/// Whether the last transmission of the first missing segment was lost. If it was not,
/// the segment was in flight, and the timeout spurious.
fn is_last(report: &TimeoutReport, loss: &Loss) -> bool {
    report
        .head_repeated
        .is_none_or(|repeated| loss.lost.sent == repeated)
}

/// The part of each timeout's wait in which the link to the data's receiver was idle.
fn idle_shares(recorder: &Recorder, flows: &Flows, idle: &[Idle]) -> Vec<Option<f64>> {
    let mut by_host: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, timeout) in recorder.timeouts.iter().enumerate() {
        let host = flows.row(timeout.flow).receiver_host();
        by_host.entry(host.index()).or_default().push(place);
    }
    let mut shares = vec![None; recorder.timeouts.len()];
    for (host, places) in by_host {
        let wait = |place: &usize| {
            let Timeout { at, report, .. } = &recorder.timeouts[*place];
            let waited = report.waited.min(*at - Time::ZERO);
            Period {
                from: *at - waited,
                to: *at,
            }
        };
        let waits: Vec<Period> = places.iter().map(wait).collect();
        for (place, share) in places.into_iter().zip(idle[host].shared(&waits)) {
            shares[place] = Some(share);
        }
    }
    shares
}
