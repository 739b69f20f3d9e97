//! The times of flows that are alone on a link, within the network around it.
//!
//! Each is simulated, but for long ones. Once a flow alone sends at the rate of the slowest link on its
//! path, it continues at that rate. Each further packet then adds its time on that link. This is verified: the
//! times of two sizes, the second twice the first, must differ by exactly that. Where more than marks and losses
//! make a flow send less (BBR), every size is simulated.

use std::collections::BTreeMap;

use incastle_units::{Bytes, Rate, Span, Time};

use crate::surroundings::{Passage, Sharing, Stretch, Visit, Whole};
use incastle_experiment::{Overseer, RunError};

/// Flows of at most this number of bursts are simulated without a search for a steady state.
const SHORT: u64 = 64;

/// A flow that is not steady after this number of bursts is assumed never to become so.
const LATE: u64 = 16_384;

/// Two times that should be equal may differ by the rounding of a packet's time per link.
const ROUNDING_PS: u64 = 100;

/// The class of a flow that is alone on the link: direction, links around it, group. One time per class and size.
type Class = (usize, Option<Stretch>, Option<Stretch>, usize);

/// Times by class and size.
pub(super) struct Alone<'a> {
    whole: &'a Whole<'a>,
    link: usize,
    times: BTreeMap<(Class, u64), Option<Span>>,
    /// By class: the bursts after which it is steady, if it ever is.
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

    /// The time of a flow; absent if it would not be complete before the end of the scenario, or if
    /// the overseer ended it.
    pub(super) fn time(
        &mut self,
        visit: &Visit<'_>,
        overseer: &impl Overseer,
    ) -> Result<Option<Span>, RunError> {
        let visit = &visit.alone();
        let passage = self.whole.passage(visit, self.link);
        let flow = visit.flow;
        let class = (
            passage.direction,
            passage.before,
            passage.behind,
            self.whole.flows[flow].group,
        );
        let bytes = visit.bytes;
        let packets = self.batch(flow);
        let settles = self.whole.stack(flow).shrinks_by_signals_alone();
        let steady = if settles && bytes > SHORT * packets.bytes {
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
        let time = self.simulated(class, bytes, visit, overseer)?;
        let more = self
            .slowest(&passage)
            .span_of(Bytes::new(more * packets.wire));
        Ok(time.map(|time| time + more))
    }

    fn simulated(
        &mut self,
        class: Class,
        bytes: u64,
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
        let ran = (self.whole).run(self.link, &[visit], Sharing::Shared, overseer)?;
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
            let mut time = |packets| self.simulated(class, packets * batch.bytes, visit, overseer);
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

    /// The burst of a host.
    fn batch(&self, flow: usize) -> Batch {
        let stack = self.whole.stack(flow);
        let burst = u64::from(self.whole.scenario.tables().host.tso_burst);
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
