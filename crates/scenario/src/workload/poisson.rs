//! Finite flows at random instants: a Poisson process or one with heavy-tailed gaps, sizes from a
//! distribution, hosts at random.
//!
//! Each flow has a connection of its own, whose ends are freed when all of it is acknowledged.

use std::collections::BTreeMap;

use incastle_engine::{Actions, Application, FlowIndex, HostIndex, Notice, Purpose, Side};
use incastle_units::{Span, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::journal::Transfer;
use super::{Crew, Gaps, Plan, Watch, wanted};
use crate::language::flows;
use crate::language::sizes::Sizes;

/// All flows of a group.
pub(super) struct Poisson {
    /// What all flows have in common; hosts, index and start are each flow's own.
    plan: Plan,
    from: Vec<HostIndex>,
    to: Vec<HostIndex>,
    sizes: Sizes,
    deadline: Option<Span>,
    gaps: Gaps,
    arrivals_rng: Xoshiro256PlusPlus,
    sizes_rng: Xoshiro256PlusPlus,
    pairs_rng: Xoshiro256PlusPlus,
    next: Time,
    watch: Watch,
    /// Flows whose last byte has not arrived.
    open: BTreeMap<FlowIndex, Transfer>,
}

impl Poisson {
    pub(super) fn new(
        crew: &Crew<'_>,
        poisson: &flows::Poisson,
        (from, to): (&[usize], &[usize]),
        capacity: f64,
    ) -> Self {
        let sizes = poisson.sizes.expanded();
        let per_second = match (poisson.arrivals, poisson.load) {
            (Some(arrivals), _) => arrivals,
            (None, Some(load)) => load * capacity / sizes.mean(),
            (None, None) => unreachable!("a checked group has a load or arrivals"),
        };
        let mut arrivals_rng = crew.stream(0, Purpose::Arrivals);
        let gaps = Gaps::new(per_second, &poisson.gaps);
        let plan = crew.plan(0, (from[0], to[0]));
        let first = Time::ZERO
            .saturating_add(crew.group.start)
            .saturating_add(gaps.draw(&mut arrivals_rng));
        let hosts = |list: &[usize]| {
            list.iter()
                .map(|&host| HostIndex::from_index(host))
                .collect()
        };
        Self {
            plan,
            from: hosts(from),
            to: hosts(to),
            sizes,
            deadline: poisson.deadline,
            gaps,
            arrivals_rng,
            sizes_rng: crew.stream(0, Purpose::Sizes),
            pairs_rng: crew.stream(0, Purpose::Pairs),
            next: first,
            watch: crew.watch(),
            open: BTreeMap::new(),
        }
    }

    /// Two different hosts, each pair as likely as any other.
    fn draw_pair(&mut self) -> (HostIndex, HostIndex) {
        loop {
            let from = random::below(&mut self.pairs_rng, self.from.len() as u64);
            let to = random::below(&mut self.pairs_rng, self.to.len() as u64);
            let pair = (self.from[from as usize], self.to[to as usize]);
            // A checked group has two different hosts, so that this ends.
            if pair.0 != pair.1 {
                return pair;
            }
        }
    }
}

impl Application for Poisson {
    fn handle(&mut self, now: Time, notice: Notice, actions: &mut Actions) {
        match notice {
            Notice::Delivered(end) => {
                if let Some(transfer) = self.open.remove(&end.flow()) {
                    self.plan.journal.completed(transfer, now);
                }
            }
            Notice::Finished(end) if end.side() == Side::Near => actions.release(end.flow()),
            Notice::Finished(_) => {}
        }
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        (self.plan.from, self.plan.to) = self.draw_pair();
        let size = self.sizes.draw(&mut self.sizes_rng).count();
        self.plan.watched = self.watch.includes(self.plan.index);
        let flow = self.plan.open(now, actions);
        let deadline = wanted(now, self.deadline, flow.end(Side::Near), actions);
        actions.expect(flow.end(Side::Far), size);
        actions.write(flow.end(Side::Near), size);
        if self.plan.stack.has_handshake() {
            actions.close(flow.end(Side::Near));
        }
        let transfer = self.plan.begun(flow, (now, deadline), size);
        self.open.insert(flow, transfer);
        self.plan.index += 1;
        self.next = now.saturating_add(self.gaps.draw(&mut self.arrivals_rng));
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.next < self.plan.stop).then_some(self.next)
    }
}
