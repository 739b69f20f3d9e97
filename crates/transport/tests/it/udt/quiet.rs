//! The cheap checks of simulated worlds. An endpoint that is polled only if it may have a packet to
//! send behaves like one that is polled after everything.

use incastle_transport::udt::Config;
use incastle_transport::udt::wire::Control;
use incastle_units::Ecn;
use proptest::prelude::*;

use super::hand::{FIRST, Hand, Sent, ack_with, dcudp, number, udt};

/// A step of both endpoints, with a number that selects its details.
#[derive(Debug, Clone, Copy)]
enum Step {
    Write(u64),
    Arrive(u32, bool),
    Ack(u32, bool),
    Nak(u32, u32),
    Ack2(u32),
    Observed(bool),
    Stop,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u64..20_000).prop_map(Step::Write),
        3 => (0_u32..40, any::<bool>()).prop_map(|(ahead, ce)| Step::Arrive(ahead, ce)),
        3 => (0_u32..60, any::<bool>()).prop_map(|(next, ece)| Step::Ack(next, ece)),
        1 => (0_u32..60, 0_u32..8).prop_map(|(first, more)| Step::Nak(first, more)),
        1 => (0_u32..6).prop_map(Step::Ack2),
        1 => any::<bool>().prop_map(Step::Observed),
        1 => Just(Step::Stop),
        6 => (0_u64..400).prop_map(Step::Wait),
    ]
}

/// One of the two endpoints.
struct Endpoint {
    hand: Hand,
    checks: bool,
    us: u64,
    acks: u32,
}

impl Endpoint {
    fn new(config: &Config, checks: bool) -> Self {
        let hand = Hand::new(config);
        Self {
            hand,
            checks,
            us: 0,
            acks: 0,
        }
    }

    /// Gives what leaves after a step.
    fn take(&mut self, step: Step) -> Vec<Sent> {
        match step {
            Step::Write(bytes) => {
                let timeout = self.hand.connection.poll_timeout();
                self.hand.connection.write(bytes);
                let now = self.hand.now;
                if self.checks && self.hand.connection.is_waiting(now) {
                    assert_eq!(self.hand.connection.poll_timeout(), timeout);
                    return Vec::new();
                }
            }
            Step::Arrive(ahead, ce) => {
                let ecn = if ce { Ecn::Ce } else { Ecn::Ect0 };
                self.hand.arrive(FIRST + ahead, ecn);
            }
            Step::Ack(next, ece) => {
                self.acks += 1;
                self.hand
                    .control(ack_with(self.acks, FIRST + next, 50, ece));
            }
            Step::Nak(first, more) => self.hand.nak(&[FIRST + first..=FIRST + first + more]),
            Step::Ack2(ack) => self.hand.control(Control::Ack2 {
                number: number(ack),
            }),
            Step::Observed(observe) => {
                self.acks += 1;
                let ack = ack_with(self.acks, FIRST, 50, false);
                self.hand.observing(ack, observe);
            }
            Step::Stop => self.hand.connection.forget_unsent(),
            Step::Wait(us) => {
                self.us += us;
                self.hand.go(self.us);
            }
        }
        if self.checks {
            self.hand.poll_unless_quiet()
        } else {
            self.hand.poll()
        }
    }
}

proptest! {
    #[test]
    fn checking_first_gives_the_same_as_polling_always(
        plain in any::<bool>(),
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let config = if plain { udt() } else { dcudp() };
        let mut polls = Endpoint::new(&config, false);
        let mut checks = Endpoint::new(&config, true);
        for step in steps {
            prop_assert_eq!(polls.take(step), checks.take(step));
            let (polls, checks) = (&mut polls.hand, &mut checks.hand);
            prop_assert_eq!(polls.connection.poll_timeout(), checks.connection.poll_timeout());
            prop_assert_eq!(polls.events(), checks.events());
            prop_assert_eq!(polls.connection.stats(), checks.connection.stats());
        }
    }
}
