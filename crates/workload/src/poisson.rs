//! Finite flows at random instants: a Poisson process or one with heavy-tailed gaps, sizes from a
//! distribution, hosts at random.

use incastle_engine::core::{HostIndex, Purpose};
use incastle_engine::flow::{Actions, Application, Notice};
use incastle_units::{Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::group::GroupContext;
use crate::hosts::{HostPair, indices};
use crate::interarrival::Arrivals;
use crate::open_loop::{OpenLoop, Start};
use crate::transfers::Transfers;
use incastle_scenario::language::flows;
use incastle_scenario::language::sizes::Sizes;
use incastle_scenario::topology::pairs::GroupHosts;

/// All flows of a group.
pub(super) struct Poisson {
    transfers: Transfers,
    from: Vec<HostIndex>,
    to: Vec<HostIndex>,
    sizes: Sizes,
    arrivals: Arrivals,
    sizes_rng: Xoshiro256PlusPlus,
    pairs_rng: Xoshiro256PlusPlus,
    /// Flows begun.
    begun: u64,
}

impl Poisson {
    pub(super) fn new(
        context: &GroupContext<'_>,
        poisson: &flows::Poisson,
        group_hosts: &GroupHosts,
        capacity: f64,
    ) -> Self {
        let sizes = poisson.sizes.expanded();
        let per_second = match (poisson.flow_rate, poisson.load) {
            (Some(arrivals), _) => arrivals,
            (None, Some(load)) => load * capacity / sizes.mean(),
            (None, None) => unreachable!("a checked group has a load or arrivals"),
        };
        Self {
            transfers: Transfers::new(context, group_hosts.first(), poisson.deadline),
            from: indices(&group_hosts.from),
            to: indices(&group_hosts.to),
            sizes,
            arrivals: Arrivals::new(context, per_second, &poisson.interarrival),
            sizes_rng: context.stream(0, Purpose::Sizes),
            pairs_rng: context.stream(0, Purpose::Pairs),
            begun: 0,
        }
    }

    /// Two different hosts, each pair as likely as any other.
    fn draw_pair(&mut self) -> HostPair {
        loop {
            let from = random::below(&mut self.pairs_rng, self.from.len() as u64);
            let to = random::below(&mut self.pairs_rng, self.to.len() as u64);
            let pair = HostPair {
                from: self.from[from as usize],
                to: self.to[to as usize],
            };
            // A checked group has two different hosts, so that this ends.
            if pair.from != pair.to {
                return pair;
            }
        }
    }
}

impl OpenLoop for Poisson {
    fn take_next(&mut self) -> Option<Start> {
        let at = self.poll_timeout()?;
        let pair = self.draw_pair();
        let bytes = self.sizes.draw(&mut self.sizes_rng);
        self.arrivals.advance(at);
        Some(Start { at, pair, bytes })
    }
}

impl Application for Poisson {
    fn handle(&mut self, now: Time, notice: Notice, actions: &mut Actions) {
        self.transfers.handle(now, notice, actions);
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        if let Some(Start { pair, bytes, .. }) = self.take_next() {
            self.transfers.begin(now, self.begun, pair, bytes, actions);
            self.begun += 1;
        }
    }

    fn is_over(&self) -> bool {
        self.arrivals.next() >= self.transfers.stop() && self.transfers.are_complete()
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.arrivals.next()).filter(|at| *at < self.transfers.stop())
    }
}
