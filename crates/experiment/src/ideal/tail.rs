//! The tail of a long flow: once its window covers the path, it sends without a pause.
//!
//! Where no later link is slower than the sender's, packets of a flow alone never wait behind each
//! other in a switch. Nothing is marked or dropped, and no window ever shrinks. Once the sender's link has been
//! busy for some round trips, it stays so. Each further period of full packets takes the time that the link
//! needs for it. Nothing is proved for other cases; there every size is simulated.

use incastle_engine::core::{FlowIndex, HostIndex};
use incastle_engine::layout::PrefetchHints;
use incastle_engine::probe::Probe;
use incastle_engine::{Simulation, Status};
use incastle_units::{Bytes, Span, Time};

use super::path::PathCopy;
use crate::overseer::RunError;
use incastle_scenario::language::Capacity;
use incastle_scenario::language::flows::Size;
use incastle_workload::{Alone, Journal, Stack};

/// Flows of at most this number of bytes are simulated as a whole, without a search for the tail.
const SHORT: u64 = 32_768;

/// The maximum number of packets in a period; odd rates, which would need more, have no tail.
const MAX_PERIOD: u64 = 64;

/// Round trips without a pause that count as the tail.
const ROUND_TRIPS: u64 = 3;

/// Events between two checks.
const SLICE: u64 = 4_096;

/// A flow that is not steady after this number of checks (a window below the path's bandwidth-delay product, say)
/// has no tail.
const MAX_CHECKS: u32 = 256;

/// The tail of the flows of a class.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Tail {
    /// Not computed yet.
    #[default]
    Unknown,
    /// There is none.
    Absent,
    /// Beyond `from` bytes each `bytes` more take `span`.
    Periodic { from: u64, bytes: u64, span: Span },
}

/// A period of full packets: application bytes, and their time on the sender's link.
#[derive(Debug, Clone, Copy)]
struct Period {
    bytes: u64,
    span: Span,
}

impl Tail {
    /// A flow of fewer bytes, and how much longer one of `bytes` takes; absent if that is beyond all times.
    pub(super) fn reduced(
        &mut self,
        bytes: u64,
        alone: &Alone,
        path: &PathCopy,
    ) -> Result<Option<(u64, Span)>, RunError> {
        if bytes <= SHORT {
            return Ok(Some((bytes, Span::ZERO)));
        }
        if matches!(self, Self::Unknown) {
            *self = Self::of(alone, path)?;
        }
        Ok(match *self {
            Self::Periodic {
                from,
                bytes: period,
                span,
            } if bytes > from + period => {
                let periods = (bytes - from - 1) / period;
                let more = span.as_ps().checked_mul(periods);
                more.map(|more| (bytes - periods * period, Span::from_ps(more)))
            }
            _ => Some((bytes, Span::ZERO)),
        })
    }

    fn of(alone: &Alone, path: &PathCopy) -> Result<Self, RunError> {
        let Some(period) = Period::possible(alone, path) else {
            return Ok(Self::Absent);
        };
        let round_trip = 2 * path.delay().as_ps() + 4 * period.span.as_ps();
        observe(alone, path, period, Span::from_ps(ROUND_TRIPS * round_trip))
    }
}

impl Period {
    /// That of a flow which may have a tail: TCP with a window that only marks and losses shrink, no link slower than
    /// its sender's, a NIC without limit.
    fn possible(alone: &Alone, path: &PathCopy) -> Option<Self> {
        let stack = alone
            .flow()
            .filter(|stack| stack.shrinks_by_signals_alone())?;
        let own = path.rates().next()?;
        let unlimited = path.root().host.queue == Capacity::Unlimited;
        if !unlimited || path.rates().any(|rate| rate < own) {
            return None;
        }
        Self::of(stack, path)
    }

    /// The shortest that takes whole picoseconds on every link, in whole bursts.
    fn of(stack: &Stack, path: &PathCopy) -> Option<Self> {
        let wire = stack.wire_size(stack.payload());
        let burst = u64::from(path.root().host.tso_burst);
        let mut packets = burst;
        for rate in path.rates() {
            // The time of n packets is n x 8e12 x wire / rate.
            let rate = u128::from(rate.bits_per_second());
            let time = u128::from(wire) * 8_000_000_000_000;
            let own = u64::try_from(rate / gcd(rate, time)).ok()?;
            packets = lcm(packets, own).filter(|packets| *packets <= MAX_PERIOD)?;
        }
        let own = path.rates().next()?;
        Some(Self {
            bytes: packets * stack.payload(),
            span: own.span_of(Bytes::new(packets * wire)),
        })
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn lcm(a: u64, b: u64) -> Option<u64> {
    let common = gcd(u128::from(a), u128::from(b)) as u64;
    (a / common).checked_mul(b)
}

/// A delivery to the application, with the sum of bytes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Delivery {
    at: Time,
    bytes: u64,
}

/// Records the deliveries at a host.
#[derive(Default)]
struct Deliveries(Vec<Delivery>);

impl PrefetchHints for Deliveries {}

impl Probe for Deliveries {
    fn delivered(&mut self, _: FlowIndex, _: HostIndex, at: Time, bytes: Bytes) {
        let bytes = self.0.last().map_or(0, |last| last.bytes) + bytes.count();
        self.0.push(Delivery { at, bytes });
    }
}

/// Simulates a flow without end until it has sent without a pause for `busy`.
fn observe(alone: &Alone, path: &PathCopy, period: Period, busy: Span) -> Result<Tail, RunError> {
    let journal = Journal::default();
    let mut simulation = Simulation::new(path.network(), Deliveries::default());
    simulation.add_application(alone.application(Size::Unlimited, path.paths(), &journal));
    for _ in 0..MAX_CHECKS {
        let status = simulation.run(Time::NEVER, SLICE)?;
        if let Some(from) = steady_from(&simulation.probe().0, period, busy) {
            return Ok(Tail::Periodic {
                from: from + period.bytes,
                bytes: period.bytes,
                span: period.span,
            });
        }
        if status == Status::Done {
            break;
        }
    }
    Ok(Tail::Absent)
}

/// The bytes after which all deliveries are periodic, if that has lasted for `busy`.
fn steady_from(deliveries: &[Delivery], period: Period, busy: Span) -> Option<u64> {
    let last = deliveries.last()?.at;
    let mut from = None;
    let mut later = deliveries.len();
    for &delivery in deliveries.iter().rev() {
        if delivery.at.saturating_add(period.span) > last {
            continue;
        }
        let next = Delivery {
            at: delivery.at.saturating_add(period.span),
            bytes: delivery.bytes + period.bytes,
        };
        later = deliveries[..later].partition_point(|one| *one < next) + 1;
        if deliveries.get(later - 1) != Some(&next) {
            break;
        }
        from = Some(delivery);
    }
    let from = from?;
    (last.saturating_since(from.at) >= busy).then_some(from.bytes)
}
