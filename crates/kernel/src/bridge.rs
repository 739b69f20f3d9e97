//! The bridge: controllers of `congestion` in this process decide for the kernel's connections.
//!
//! The program in the kernel (bpf/bridge.bpf.c) reports ACKs and losses through a ring buffer. For each report the
//! connection's controller is called as our transport calls it, and its window and pacing rate are written to a map. The
//! program applies them at the next ACK.
//!
//! Leaves out: deadlines and remaining data, which the kernel does not have; samples of the delivery rate (BBR), for which
//! it keeps neither flight nor losses at the sending of a packet; restarts after idleness, where the kernel shortens the
//! window itself. Departures are reported to controllers with the next ACK.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use incastle_congestion::{
    AckSample, CongestionEvent, Context, Controller, Echo, LimitedBy, Phase, Window,
};
use incastle_units::{Bytes, Rate, Span, Time};
use libbpf_rs::{MapCore as _, MapFlags, MapHandle, RingBufferBuilder};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use rustix::time::{ClockId, clock_gettime};

use crate::control::{Control, KernelError};
use crate::delays::Delays;
use crate::wire::{Answer, Kind, Report};

/// The longest time between two looks at `stop`.
const LOOK: Duration = Duration::from_millis(50);
/// Packets of a window without a limit.
const UNLIMITED: u32 = 1 << 20;
/// The kernel's threshold that is unset.
const UNSET: u32 = 0x7FFF_FFFF;
/// Headers of a packet with timestamps: a controller's rate counts payload.
const HEADERS: u64 = 52;

/// Makes the controller of a connection, by its number.
pub type Maker<'a> = dyn FnMut(u64) -> Box<dyn Controller> + 'a;

/// Measurements of the bridge.
#[derive(Debug, Clone, Default)]
pub struct Statistics {
    /// Connections that began.
    pub connections: u64,
    /// Reports that were answered.
    pub reports: u64,
    /// From a report to its answer in the map.
    pub answered: Delays,
    /// From a report to the window in the connection, at a later ACK.
    pub applied: Delays,
    /// Reports of connections that had waited too long for an answer.
    pub fallen_back: u64,
}

/// One connection.
struct Connection {
    control: Box<dyn Controller>,
    rng: Xoshiro256PlusPlus,
    /// The last report.
    last: Report,
    /// Timeouts of the same data.
    backoff: u32,
    lost: u64,
    applied: u64,
}

/// The bridge of one control.
pub struct Bridge {
    control: Control,
    answers: MapHandle,
    /// The factor by which real time is slower than the controllers'.
    dilation: u64,
    /// When the controllers' time begins.
    begun_ns: u64,
    connections: BTreeMap<u64, Connection>,
    statistics: Statistics,
}

impl Bridge {
    /// Registers `incastle_bridge`, or with `ecn` `incastle_b_ecn`, whose connections have ECN and DCTCP's echo.
    pub fn register(ecn: bool, dilation: u64) -> Result<Self, KernelError> {
        assert!(dilation > 0, "a factor");
        let control = Control::bridge(ecn)?;
        let answers = control.map("answers")?;
        Ok(Self {
            control,
            answers,
            dilation,
            begun_ns: now_ns(),
            connections: BTreeMap::new(),
            statistics: Statistics::default(),
        })
    }

    /// The measurements until now.
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Answers reports until `stop`, which is asked about twenty times a second.
    pub fn run(
        &mut self,
        make: &mut Maker<'_>,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<(), KernelError> {
        let queue = Rc::new(RefCell::new(VecDeque::new()));
        let reports = self.control.map("reports")?;
        let arrived = Rc::clone(&queue);
        let mut builder = RingBufferBuilder::new();
        let take = move |bytes: &[u8]| {
            arrived.borrow_mut().extend(Report::parse(bytes));
            0
        };
        let explained = |error: libbpf_rs::Error| self.control.refused(&error);
        builder.add(&reports, take).map_err(explained)?;
        let ring = builder.build().map_err(explained)?;
        while !stop() {
            let wait = self.next_timer().map_or(LOOK, |at| {
                let ahead = at.saturating_since(self.time(now_ns())).as_ps() * self.dilation;
                LOOK.min(Duration::from_nanos(ahead / 1000))
            });
            ring.poll_raw(wait);
            let mut batch: VecDeque<Report> = std::mem::take(&mut *queue.borrow_mut());
            while let Some(report) = batch.pop_front() {
                // The kernel reports a loss before the ACK that shows it; controllers see the ACK first.
                let of_ack = batch.front().is_some_and(|next| {
                    next.kind == Kind::Ack && next.connection == report.connection
                });
                if report.kind == Kind::Loss && of_ack {
                    let ack = batch.pop_front().expect("it is there");
                    self.take(ack, make);
                    let moved = Report {
                        snd_una: ack.snd_una,
                        number: ack.number,
                        ..report
                    };
                    self.take(moved, make);
                } else {
                    self.take(report, make);
                }
            }
            self.fire_timers();
        }
        Ok(())
    }

    /// The controllers' time of an instant.
    fn time(&self, ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns.saturating_sub(self.begun_ns)) / self.dilation
    }

    fn next_timer(&self) -> Option<Time> {
        let timers = self.connections.values();
        timers.filter_map(|one| one.control.next_timer()).min()
    }

    fn fire_timers(&mut self) {
        let now = self.time(now_ns());
        let is_due = |one: &Connection| one.control.next_timer().is_some_and(|at| at <= now);
        let due: Vec<u64> = self
            .connections
            .iter()
            .filter_map(|(&number, one)| is_due(one).then_some(number))
            .collect();
        for number in due {
            let dilation = self.dilation;
            let connection = self.connections.get_mut(&number).expect("it is there");
            connection.call(now, dilation, |control, cx| control.on_timer(cx));
            let last = connection.last;
            self.answer(&last);
        }
    }

    /// Handles one report, and answers it.
    fn take(&mut self, report: Report, make: &mut Maker<'_>) {
        if report.kind == Kind::End {
            self.connections.remove(&report.connection);
            // The program has removed the entry; an answer may have come later.
            let _ = self.answers.delete(&report.connection.to_ne_bytes());
            return;
        }
        let (now, dilation) = (self.time(report.at_ns), self.dilation);
        let begun = &mut self.statistics.connections;
        let connection = self
            .connections
            .entry(report.connection)
            .or_insert_with(|| {
                *begun += 1;
                Connection::new(make(report.connection), &report)
            });
        if report.answered > connection.applied {
            connection.applied = report.answered;
            self.statistics.applied.add(report.applied_after_ns);
        }
        self.statistics.fallen_back += u64::from(report.has_fallen_back());
        connection.report(report, now, dilation);
        self.answer(&report);
    }

    fn answer(&mut self, report: &Report) {
        let Some(connection) = self.connections.get(&report.connection) else {
            return;
        };
        let answer = connection.answer(report, self.dilation);
        let key = report.connection.to_ne_bytes();
        // More connections than the map has entries: they fall back.
        if self
            .answers
            .update(&key, &answer.to_bytes(), MapFlags::ANY)
            .is_ok()
        {
            self.statistics.reports += 1;
            let took = now_ns().saturating_sub(report.at_ns);
            self.statistics.answered.add(took);
        }
    }
}

impl Connection {
    fn new(control: Box<dyn Controller>, report: &Report) -> Self {
        Self {
            control,
            rng: Xoshiro256PlusPlus::seed_from_u64(report.connection),
            last: *report,
            backoff: 0,
            lost: report.lost,
            applied: 0,
        }
    }

    /// Calls the controller with the state of the last report.
    fn call<T>(
        &mut self,
        now: Time,
        dilation: u64,
        call: impl FnOnce(&mut dyn Controller, &mut Context<'_>) -> T,
    ) -> T {
        let last = &self.last;
        let mut cx = Context {
            now,
            snd_una: last.snd_una,
            snd_nxt: last.snd_nxt,
            in_flight: Bytes::new(last.snd_nxt.saturating_sub(last.snd_una)),
            smoothed_rtt: last.smoothed_rtt.map(|rtt| rtt / dilation),
            remaining: None,
            deadline: None,
            receiving_rate: None,
            capacity: None,
            rng: &mut self.rng,
        };
        call(&mut *self.control, &mut cx)
    }

    fn report(&mut self, report: Report, now: Time, dilation: u64) {
        let sent = report.snd_nxt.saturating_sub(self.last.snd_nxt);
        if report.snd_una > self.last.snd_una {
            self.backoff = 0;
        }
        self.last = report;
        self.report_sent(sent, now, dilation);
        match report.kind {
            Kind::Begin | Kind::End => {}
            Kind::Ack => self.report_ack(&report, now, dilation),
            Kind::Loss => {
                let count = report.lost.saturating_sub(self.lost).max(1) as u32;
                // The kernel does not tell which: the first that is outstanding is one of them.
                let largest = report.snd_una;
                let event = CongestionEvent::Loss { count, largest };
                self.call(now, dilation, |control, cx| {
                    control.on_congestion(cx, event);
                });
            }
            Kind::Timeout => {
                let event = CongestionEvent::Timeout {
                    backoff: self.backoff,
                };
                self.backoff += 1;
                self.call(now, dilation, |control, cx| {
                    control.on_congestion(cx, event);
                });
            }
        }
        self.lost = report.lost;
    }

    /// The packets that left since the last report.
    fn report_sent(&mut self, sent: u64, now: Time, dilation: u64) {
        let (mss, mut left) = (u64::from(self.last.mss.max(1)), sent);
        while left > 0 {
            let size = left.min(mss);
            left -= size;
            self.call(now, dilation, |control, cx| {
                control.on_sent(cx, Bytes::new(size));
            });
        }
    }

    fn report_ack(&mut self, report: &Report, now: Time, dilation: u64) {
        let echo = if report.is_echo() {
            Echo::Congestion
        } else {
            Echo::Clear
        };
        let sample = AckSample {
            acked: report.acked,
            segments: report.segments.max(1),
            echo,
            rtt: report.rtt.map(|rtt| rtt / dilation),
            limited_by: if report.is_window_limited() {
                LimitedBy::Window
            } else {
                LimitedBy::Application
            },
            phase: if report.is_in_recovery() {
                Phase::Recovery
            } else if report.is_after_timeout() {
                Phase::AfterTimeout
            } else {
                Phase::Open
            },
            hops: &[],
            hop_count: None,
            remote_delay: None,
        };
        self.call(now, dilation, |control, cx| {
            control.on_ack(cx, &sample);
            if echo == Echo::Congestion {
                control.on_congestion(cx, CongestionEvent::Ecn);
            }
        });
    }

    fn answer(&self, report: &Report, dilation: u64) -> Answer {
        let mss = u64::from(report.mss.max(1));
        let packets = |bytes: Bytes| u32::try_from(bytes.count() / mss).unwrap_or(u32::MAX);
        let real = |rate: Rate| {
            let payload = rate.bits_per_second() / 8 / dilation;
            payload.saturating_mul(mss + HEADERS) / mss
        };
        Answer {
            number: report.number,
            report_ns: report.at_ns,
            pacing: self.control.pacing().map_or(0, |rate| real(rate).max(1)),
            cwnd: match self.control.window() {
                Window::Limited(bytes) => packets(bytes).clamp(1, UNLIMITED),
                Window::Unlimited => UNLIMITED,
            },
            ssthresh: self.control.state().ssthresh.map_or(UNSET, packets),
        }
    }
}

/// CLOCK_MONOTONIC, which the program has too.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
