//! Why one flow took its time, with everything in words.

use serde::Serialize;

use crate::columns::{Malformed, picoseconds, seconds};
use crate::headline::Headline;
use crate::path::{Part, Path, Piece, Waiting};
use crate::pending::{Pending, pending};
use crate::record::{Packet, Record};
use crate::run::{Flow, Run};
use crate::story::story;
use crate::timeouts::{Chain, Step, Timer, chains};
use crate::trace::Trace;
use crate::transport::Transport;
use crate::turns::{NicWait, nic_waits};
use crate::waits::{PauseWait, pause_waits};
use crate::words;

/// Why one flow took its time. Instants and spans are in picoseconds but for names that end in `_s`.
#[derive(Serialize)]
pub struct Explanation<'a> {
    flow: u64,
    /// GROUP:INDEX.
    name: String,
    /// The sender of the data and the receiver.
    hosts: [String; 2],
    /// As in the table of transfers; "open" where the flow has no end.
    kind: String,
    complete: bool,
    bytes: Option<u64>,
    began_s: f64,
    ended_s: Option<f64>,
    /// The instant of its beginning in words.
    began: String,
    /// The kind in words, bytes, begin, end and state.
    extent: String,
    headline: String,
    path: Parts<'a>,
    /// The causes behind each timeout.
    chains: Vec<Chain>,
    /// Everything in order.
    story: Vec<Step>,
    pending: Option<Pending>,
    pauses: Vec<PauseWait<'a>>,
    turns: Vec<NicWait<'a>>,
}

/// The critical path.
#[derive(Serialize)]
struct Parts<'a> {
    pieces: Vec<Piece<'a>>,
    by_kind: Vec<(Part, i64)>,
    /// Each kind in words: part, time, share, the port with most of it.
    rows: Vec<[String; 4]>,
    timers: Vec<Timer>,
    flights: Vec<Flight>,
}

/// A packet that the flow waited for.
#[derive(Serialize)]
struct Flight {
    number: i64,
    repeated: bool,
}

/// The transfer that is explained.
struct Subject<'x> {
    flow: &'x Flow,
    kind: &'x str,
    bytes: Option<u64>,
    began_s: f64,
    done_s: Option<f64>,
}

impl<'x> Subject<'x> {
    /// The slowest transfer of a flow, or everything that it did.
    fn of(run: &'x Run, number: u64) -> Result<Self, Malformed> {
        let flow = run
            .flows
            .get(number as usize)
            .ok_or(Malformed::Flow(number))?;
        Ok(match run.slowest(number) {
            Some(one) => Self {
                flow,
                kind: &one.kind,
                bytes: Some(one.bytes),
                began_s: one.started_s,
                done_s: one.completed_s,
            },
            None => Self {
                flow,
                kind: "open",
                bytes: None,
                began_s: flow.started_s,
                done_s: None,
            },
        })
    }

    /// Where its data wait, if their sender was ever paused.
    fn waiting<'a>(&self, trace: &'a Trace, transport: &Transport) -> Option<Waiting<'a>> {
        let priority = transport.whole("traffic_class");
        let port = trace.pauses.port_of(&self.flow.hosts[0], priority)?;
        Some(Waiting { port, priority })
    }

    fn extent(&self, ended: Option<i64>) -> String {
        let subject = match self.kind {
            "flow" => "all of it",
            "response" => "its slowest response",
            "step" => "its slowest step",
            _ => "it has no end",
        };
        let bytes = self
            .bytes
            .map(|bytes| format!(", {} B", words::number(bytes)));
        let until = ended.map(|at| format!(" to {}", words::instant(at)));
        let is_cut = self.done_s.is_none() && self.kind != "open";
        format!(
            "{subject}{}, from {}{}{}",
            bytes.unwrap_or_default(),
            words::instant(picoseconds(self.began_s)),
            until.unwrap_or_default(),
            if is_cut {
                ", not complete when the run ended"
            } else {
                ""
            },
        )
    }
}

impl<'a> Explanation<'a> {
    pub(crate) fn new(
        run: &'a Run,
        trace: &'a Trace,
        flow: u64,
        all_timeouts: bool,
    ) -> Result<Self, Malformed> {
        let (subject, record) = (Subject::of(run, flow)?, trace.record(flow, &run.outages)?);
        let (begins, last) = (
            picoseconds(subject.began_s),
            picoseconds(run.instants.simulated_s),
        );
        let done = subject.done_s.map_or(last, picoseconds);
        let is_complete = subject.done_s.is_some();
        let ends = record.delivered_at(begins, done);
        let transport = Transport::of(&run.scenario, &subject.flow.group)?;
        let pending = if is_complete {
            None
        } else {
            pending(&record, &transport, last)
        };
        let mut path =
            ends.map_or_else(Path::default, |ends| Path::critical(&record, begins, ends));
        if subject.kind != "open" && !is_complete {
            let waiting = pending
                .is_none()
                .then(|| subject.waiting(trace, &transport));
            path.stall(&record, (ends.unwrap_or(begins), last), waiting.flatten());
        }
        let pauses = pause_waits(&path, &subject.flow.hosts[1]);
        let turns = nic_waits(&path, &trace.sendings, flow, &|other| run.name(other));
        // The sender of a flow's only transfer goes on until everything is acknowledged.
        let until = if matches!(subject.kind, "response" | "step") {
            done
        } else {
            last
        };
        let mut steps = story(&record, begins, until);
        steps.extend(pauses.iter().map(PauseWait::step));
        steps.extend(turns.iter().map(NicWait::step));
        steps.extend(ends.and_then(|ends| last_byte(&path.flights(&record), ends, is_complete)));
        steps.extend(pending.iter().map(|one| Step::new(last, one.text.clone())));
        steps.sort_by_key(|step| step.at);
        let within = if all_timeouts {
            (0, last)
        } else {
            (begins, until)
        };
        let headline = Headline {
            record: &record,
            path: &path,
            pauses: &pauses,
            pending: pending.as_ref(),
        };
        Ok(Self {
            flow,
            name: run.name(flow),
            hosts: subject.flow.hosts.clone(),
            kind: subject.kind.to_owned(),
            complete: is_complete,
            bytes: subject.bytes,
            began_s: subject.began_s,
            ended_s: ends.map(seconds),
            began: words::instant(begins),
            extent: subject.extent(ends),
            headline: headline.text(),
            chains: chains(&record, within.0, within.1),
            story: steps,
            pending,
            pauses,
            turns,
            path: Parts::new(path, &record),
        })
    }
}

impl<'a> Parts<'a> {
    fn new(path: Path<'a>, record: &Record<'a>) -> Self {
        let (by_kind, whole) = (path.by_kind(), path.span());
        let rows = by_kind.iter().map(|&(kind, span)| {
            let share = format!("{:.1} %", (100 * span) as f64 / whole as f64);
            let port = path.port_of(kind).map_or("", |(port, _)| port);
            [
                kind.words().to_owned(),
                words::span(span),
                share,
                port.to_owned(),
            ]
        });
        let flights = path.flights(record).into_iter().map(|one| Flight {
            number: one.number(),
            repeated: one.is_repeated(),
        });
        Self {
            rows: rows.collect(),
            timers: path.timers().map(Timer::from).collect(),
            flights: flights.collect(),
            by_kind,
            pieces: path.pieces,
        }
    }
}

/// The arrival of the last byte.
fn last_byte(flights: &[&Packet<'_>], ends: i64, is_complete: bool) -> Option<Step> {
    let last = words::packet(flights.last()?);
    let end = if is_complete {
        "brings the last byte"
    } else {
        "is the last that arrives in order"
    };
    Some(Step::new(ends, format!("{last} {end}")))
}
