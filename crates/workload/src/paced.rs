//! Messages at a constant rate, all the time (CBR) or in periods with silence between them (on-off).
//!
//! A message is written at the beginning of its interval. A period begins with a message. While far more waits than the
//! NIC can take, messages are written late, many at once: nothing but the number of events depends on it.

use incastle_engine::core::{FlowIndex, Side};
use incastle_engine::flow::{Actions, Application, Notice};
use incastle_units::{Bytes, Rate, Serializer, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::interarrival::exponential_span;
use crate::plan::Plan;
use incastle_scenario::language::flows::{self, Message, Periods};

/// One paced flow.
pub(super) struct Paced {
    plan: Plan,
    message: u64,
    /// Computes the intervals of messages, without rounding in the long run.
    pace: Serializer,
    silence: Option<Silence>,
    /// When the current period ends.
    period_ends: Time,
    next: Time,
    /// Messages before this instant may be written then.
    rests_until: Time,
    flow: Option<FlowIndex>,
    /// Whether it has stopped writing.
    stopped: bool,
    /// Whether all its data have left.
    over: bool,
}

/// Periods and the silence between them.
struct Silence {
    on: Span,
    off: Span,
    /// Draws the lengths; absent where they are constant.
    rng: Option<Xoshiro256PlusPlus>,
}

impl Silence {
    fn length(&mut self, mean: Span) -> Span {
        match &mut self.rng {
            Some(rng) => exponential_span(mean, rng),
            None => mean,
        }
    }
}

impl Paced {
    pub(super) fn cbr(plan: Plan, cbr: &flows::Cbr) -> Self {
        Self::new(plan, cbr.rate, cbr.message, None)
    }

    pub(super) fn on_off(plan: Plan, on_off: &flows::OnOff, rng: Xoshiro256PlusPlus) -> Self {
        let silence = Silence {
            on: on_off.on,
            off: on_off.off,
            rng: (on_off.periods == Periods::Exponential).then_some(rng),
        };
        Self::new(plan, on_off.rate, on_off.message, Some(silence))
    }

    fn new(plan: Plan, rate: Rate, message: Message, silence: Option<Silence>) -> Self {
        Self {
            message: plan.message(message),
            pace: Serializer::new(rate),
            silence,
            // The first period begins with the first message.
            period_ends: Time::ZERO,
            next: plan.start,
            rests_until: Time::ZERO,
            flow: None,
            stopped: false,
            over: false,
            plan,
        }
    }

    /// Writes the messages that are due: one, or all since its rest began.
    fn send(&mut self, now: Time, actions: &mut Actions) {
        let mut bytes = 0;
        while self.next <= now && self.next < self.plan.stop {
            bytes += self.message;
            self.pass(self.next);
        }
        if bytes == 0 {
            return;
        }
        let flow = *self
            .flow
            .get_or_insert_with(|| self.plan.open(now, actions));
        actions.write_on(flow.endpoint(Side::Initiator), bytes);
    }

    /// The message of `now` is written: computes the instant of the next one.
    fn pass(&mut self, now: Time) {
        let gap = self.pace.span(Bytes::new(self.message));
        let next = now.saturating_add(gap.max(Span::from_ps(1)));
        self.next = match &mut self.silence {
            None => next,
            Some(silence) => {
                if now >= self.period_ends {
                    self.period_ends = now.saturating_add(silence.length(silence.on));
                }
                if next < self.period_ends {
                    next
                } else {
                    let off = silence.length(silence.off);
                    let ends = self.period_ends.max(now.saturating_add(Span::from_ps(1)));
                    ends.saturating_add(off)
                }
            }
        };
    }
}

impl Application for Paced {
    fn handle(&mut self, _: Time, notice: Notice, _: &mut Actions) {
        self.over |= matches!(notice, Notice::Drained(_));
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        self.send(now, actions);
        if now < self.plan.stop {
            return;
        }
        match self.flow {
            Some(flow) => {
                actions.stop(flow.endpoint(Side::Initiator));
                actions.drain(flow.endpoint(Side::Initiator));
            }
            None => self.over = true,
        }
        self.stopped = true;
    }

    fn may_rest(&mut self, until: Time) {
        self.rests_until = until;
    }

    fn poll_timeout(&self) -> Option<Time> {
        (!self.stopped).then(|| self.next.max(self.rests_until).min(self.plan.stop))
    }

    fn is_over(&self) -> bool {
        self.over
    }
}

impl Plan {
    /// The bytes of a message.
    pub(super) fn message(&self, message: Message) -> u64 {
        match message {
            Message::Packet => self.stack.payload(),
            Message::Of(size) => size.count(),
        }
    }
}
