//! The rate-based controls of RDMA: each against its source, number by number; against a second computation that
//! is written differently; under any operations; and over one port, against theory.

mod dcqcn;
mod dcqcn_theory;
mod hop;
mod hpcc;
mod hpcc_words;
mod limits;
mod rate_dctcp;
mod theory;
mod timely;

use incastle_congestion::{AckSample, CongestionEvent, Controller, Echo, HopTelemetry, Window};
use incastle_units::{Bytes, Rate, Span, Time};

use crate::support::{Sender, sample};

const MBIT: u64 = 1_000_000;
const GBIT: u64 = 1_000_000_000;

const fn bits(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate)
}

fn at_ns(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

/// The rate in bits per second.
fn rate(control: &impl Controller) -> u64 {
    let pacing = control.pacing().expect("these controls always pace");
    pacing.bits_per_second()
}

/// The window in bytes; none is 0.
fn window(control: &impl Controller) -> u64 {
    match control.window() {
        Window::Limited(bytes) => bytes.count(),
        Window::Unlimited => 0,
    }
}

/// The rate up to which DCQCN may grow without a step.
fn target(control: &impl Controller) -> u64 {
    let target = control.state().max_rate.expect("it has a target");
    target.bits_per_second()
}

fn alpha(control: &impl Controller) -> f64 {
    control.state().alpha.expect("it has an alpha")
}

/// A CNP now.
fn cnp(sender: &mut Sender, control: &mut impl Controller) {
    control.on_congestion(&mut sender.cx(), CongestionEvent::Ecn);
}

/// Calls the timer until `now`.
fn run_timers(sender: &mut Sender, control: &mut impl Controller, now: Time) {
    while let Some(at) = control.next_timer().filter(|at| *at <= now) {
        sender.now = at;
        control.on_timer(&mut sender.cx());
    }
    sender.now = now;
}

/// The congestion signals of one acknowledgement.
#[derive(Debug, Clone, Copy, Default)]
struct Feedback<'a> {
    marked: bool,
    rtt: Option<Span>,
    hops: &'a [HopTelemetry],
}

/// The acknowledgement of `bytes`.
fn acknowledge(
    sender: &mut Sender,
    control: &mut impl Controller,
    bytes: u64,
    feedback: Feedback<'_>,
) {
    let echo = if feedback.marked {
        Echo::Congestion
    } else {
        Echo::Clear
    };
    let ack = AckSample {
        rtt: feedback.rtt,
        hops: feedback.hops,
        ..sample(bytes, echo)
    };
    sender.ack_with(control, ack);
}

/// The exact value of a port at an instant.
fn telemetry(rate: Rate, at: Time, sent: u64, queue: u64) -> HopTelemetry {
    HopTelemetry {
        rate,
        at,
        sent: Bytes::new(sent),
        queue: Bytes::new(queue),
    }
}
