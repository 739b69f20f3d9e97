//! How long flows take over a link when nobody else is there, within the surroundings of that link.
//!
//! Each is simulated, but for long ones: once a flow alone sends at the rate of the slowest link on its
//! way, it goes on so, and more packets take so much longer. That is not assumed but looked for: two
//! sizes, the second twice the first, must differ by just that.

use std::collections::BTreeMap;

use incastle_units::{Bytes, Rate, Span, Time};

use super::surroundings::{Passage, Sharing, Stretch, Visit, Whole};
use crate::simulate::{Overseer, RunError};

/// Flows of at most so many packets are simulated without a look for more.
const SHORT: u64 = 64;

/// A flow that is not steady after so many packets is taken never to be.
const LATE: u64 = 16_384;

/// Two times that should be equal may differ by the rounding of a packet's time per link.
const ROUNDING_PS: u64 = 100;

/// Paces of flows that are alone are told apart by so many steps per factor of two.
const STEPS: u8 = 4;

/// No pace is lower than the rate by more steps than this: a factor of 64.
const LOWEST: u8 = 6 * STEPS;

/// What makes flows alike when they are alone at the link: direction, links around it, group, and by how
/// many steps they come more slowly.
type Class = (usize, Option<Stretch>, Option<Stretch>, usize, u8);

/// Times by class and size.
pub(super) struct Alone<'a> {
    whole: &'a Whole<'a>,
    link: usize,
    times: BTreeMap<(Class, u64), Option<Span>>,
    /// By class: the packets from which on it is steady, if it ever is.
    steady: BTreeMap<Class, Option<u64>>,
}

impl<'a> Alone<'a> {
    pub(super) fn new(whole: &'a Whole<'a>, link: usize) -> Self {
        Self {
            whole,
            link,
            times: BTreeMap::new(),
            steady: BTreeMap::new(),
        }
    }

    /// The time of a flow; absent if it would not be complete before the end of the scenario, and if
    /// the overseer ended it.
    pub(super) fn time(
        &mut self,
        visit: &Visit<'_>,
        overseer: &impl Overseer,
    ) -> Result<Option<Span>, RunError> {
        let visit = &Visit {
            pace: None,
            ..*visit
        };
        let passage = self.whole.passage(visit, self.link);
        let flow = visit.flow;
        let class = (
            passage.direction,
            passage.before,
            passage.behind,
            self.whole.flows[flow].group,
            0,
        );
        let bytes = visit.bytes;
        let packets = self.batch(flow);
        let steady = if bytes > SHORT * packets.bytes {
            self.steady_from(class, visit, overseer)?
        } else {
            None
        };
        let (bytes, more) = match steady {
            Some(from) if bytes > (from + 1) * packets.bytes => {
                let periods = (bytes - from * packets.bytes - 1) / packets.bytes;
                (bytes - periods * packets.bytes, periods)
            }
            _ => (bytes, 0),
        };
        let time = self.simulated((class, bytes), visit, overseer)?;
        let more = self
            .slowest(&passage)
            .span_of(Bytes::new(more * packets.wire));
        Ok(time.map(|time| time + more))
    }

    /// By how much a flow takes longer alone at its pace than the fluid says, which knows no slow start: a
    /// flow that waits for ACKs does not mind a pace. Less than zero. The pace at which it begins counts.
    pub(super) fn start(
        &mut self,
        visit: &Visit<'_>,
        overseer: &impl Overseer,
    ) -> Result<i64, RunError> {
        let Some([(_, pace), ..]) = visit.pace else {
            return Ok(0);
        };
        let passage = self.whole.passage(visit, self.link);
        let slowest = self.slowest(&passage);
        let step = steps(slowest, *pace);
        if step == 0 {
            return Ok(0);
        }
        let batch = self.batch(visit.flow);
        let packets = visit.bytes.div_ceil(batch.bytes).min(SHORT);
        let group = self.whole.flows[visit.flow].group;
        let class = |step| {
            (
                passage.direction,
                passage.before,
                passage.behind,
                group,
                step,
            )
        };
        let visit = &Visit {
            pace: None,
            ..*visit
        };
        let bytes = packets * batch.bytes;
        let paced = self.simulated((class(step), bytes), visit, overseer)?;
        let full = self.simulated((class(0), bytes), visit, overseer)?;
        let wire = Bytes::new(packets * batch.wire);
        let more = slower(slowest, step).span_of(wire).as_ps() - slowest.span_of(wire).as_ps();
        let both = paced.zip(full);
        Ok(both.map_or(0, |(paced, full)| {
            paced.as_ps().cast_signed() - full.as_ps().cast_signed() - more.cast_signed()
        }))
    }

    fn simulated(
        &mut self,
        (class, bytes): (Class, u64),
        visit: &Visit<'_>,
        overseer: &impl Overseer,
    ) -> Result<Option<Span>, RunError> {
        if let Some(&time) = self.times.get(&(class, bytes)) {
            return Ok(time);
        }
        let visit = Visit {
            at: Time::ZERO,
            bytes,
            ..*visit
        };
        let pace;
        let visit = if class.4 == 0 {
            visit
        } else {
            let rate = self.slowest(&self.whole.passage(&visit, self.link));
            pace = [(Time::ZERO, slower(rate, class.4))];
            Visit {
                pace: Some(&pace),
                ..visit
            }
        };
        let visits = (&[visit][..], Sharing::Shared);
        let ran = self.whole.run(self.link, visits, overseer)?;
        let arrived = ran.and_then(|ran| ran.arrived[0]);
        let time = arrived.map(|at| at - Time::ZERO);
        self.times.insert((class, bytes), time);
        Ok(time)
    }

    fn steady_from(
        &mut self,
        class: Class,
        visit: &Visit<'_>,
        overseer: &impl Overseer,
    ) -> Result<Option<u64>, RunError> {
        if let Some(&from) = self.steady.get(&class) {
            return Ok(from);
        }
        let batch = self.batch(visit.flow);
        let rate = self.slowest(&self.whole.passage(visit, self.link));
        let mut packets = SHORT / 2;
        let mut found = None;
        while packets <= LATE && found.is_none() {
            let mut time =
                |packets| self.simulated((class, packets * batch.bytes), visit, overseer);
            let (Some(once), Some(twice)) = (time(packets)?, time(2 * packets)?) else {
                break;
            };
            let more = rate.span_of(Bytes::new(packets * batch.wire));
            let found_more = twice.saturating_sub(once);
            let off = found_more.as_ps().abs_diff(more.as_ps());
            found = (off <= ROUNDING_PS).then_some(packets);
            packets *= 2;
        }
        self.steady.insert(class, found);
        Ok(found)
    }

    /// What a host sends together.
    fn batch(&self, flow: usize) -> Batch {
        let stack = self.whole.stack(flow);
        let burst = u64::from(self.whole.scenario.tables().host.burst);
        Batch {
            bytes: burst * stack.payload(),
            wire: burst * stack.wire_size(stack.payload()),
        }
    }

    fn slowest(&self, passage: &Passage<'_>) -> Rate {
        let own = self.whole.scenario.layout().links[self.link].rate;
        let others = [passage.before, passage.behind].into_iter().flatten();
        others.map(|stretch| stretch.rate).fold(own, Rate::min)
    }
}

/// Full packets that leave together: application bytes, and bytes on the wire.
struct Batch {
    bytes: u64,
    wire: u64,
}

/// The steps by which a pace is below a rate.
fn steps(rate: Rate, pace: Rate) -> u8 {
    let ratio = rate.bits_per_second() as f64 / pace.bits_per_second().max(1) as f64;
    let (mut steps, mut factor) = (0, step().sqrt());
    while ratio >= factor && steps < LOWEST {
        steps += 1;
        factor *= step();
    }
    steps
}

/// A rate that is lower by so many steps.
fn slower(rate: Rate, steps: u8) -> Rate {
    let share = (0..steps).fold(1.0, |share, _| share / step());
    Rate::from_bits_per_second(((rate.bits_per_second() as f64 * share) as u64).max(1))
}

/// The fourth root of two.
fn step() -> f64 {
    2.0_f64.sqrt().sqrt()
}
