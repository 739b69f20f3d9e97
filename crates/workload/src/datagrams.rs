//! Datagrams of one size at random instants (a Poisson process), independent on each flow.

use incastle_engine::core::{FlowIndex, Side};
use incastle_engine::flow::{Actions, Application, Notice};
use incastle_units::{Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::interarrival::exponential_span;
use crate::plan::Plan;
use incastle_scenario::language::flows;

/// One flow.
pub(super) struct Datagrams {
    plan: Plan,
    message: u64,
    gap: Span,
    rng: Xoshiro256PlusPlus,
    next: Time,
    flow: Option<FlowIndex>,
    /// Whether it has stopped writing.
    stopped: bool,
    /// Whether all its data have left.
    over: bool,
}

/// The parameters that flows with a common load share.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// The bytes per second that a load of 1 means.
    pub(super) capacity: f64,
    pub(super) flows: usize,
}

impl Datagrams {
    pub(super) fn new(
        plan: Plan,
        poisson: &flows::PoissonDatagrams,
        share: Share,
        mut rng: Xoshiro256PlusPlus,
    ) -> Self {
        let message = plan.message(poisson.message);
        let all = match (poisson.datagram_rate, poisson.load) {
            (Some(arrivals), _) => arrivals,
            (None, Some(load)) => load * share.capacity / plan.stack.wire_size(message) as f64,
            (None, None) => unreachable!("a checked group has a load or arrivals"),
        };
        let gap = Span::from_secs_lossy(share.flows as f64 / all).max(Span::from_ps(1));
        let next = plan.start.saturating_add(exponential_span(gap, &mut rng));
        Self {
            plan,
            message,
            gap,
            rng,
            next,
            flow: None,
            stopped: false,
            over: false,
        }
    }
}

impl Application for Datagrams {
    fn handle(&mut self, _: Time, notice: Notice, _: &mut Actions) {
        self.over |= matches!(notice, Notice::Drained(_));
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        if now < self.plan.stop {
            let flow = *self
                .flow
                .get_or_insert_with(|| self.plan.open(now, actions));
            actions.write(flow.endpoint(Side::Initiator), self.message);
            self.next = now.saturating_add(exponential_span(self.gap, &mut self.rng));
            return;
        }
        match self.flow {
            Some(flow) => actions.drain(flow.endpoint(Side::Initiator)),
            None => self.over = true,
        }
        self.stopped = true;
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn poll_timeout(&self) -> Option<Time> {
        (!self.stopped).then(|| self.next.min(self.plan.stop))
    }
}
