//! Degraded links: packets that are lost, corrupted or delayed on the wire, at random, for a time.
//!
//! A packet's fate is drawn when its last bit has left the port, from substreams of the link's direction. Every packet
//! takes one draw of each kind, so that a change of one law leaves the others' draws as they are. A corrupted packet
//! occupies the wire like any other until its receiver discards it. Nothing depends on that, because packets on the wire
//! do not meet: it is counted as soon as it has left. Leaves out: rates (`rate_schedule`), packets that are duplicated.

use incastle_queueing::DropCause;
use incastle_units::random::{self, Purpose, Source, substream};
use incastle_units::{Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::delay::Jitter;
use crate::loss::{Loss, LossProcess, corruption};

/// Losses and delays of the packets whose last bit leaves a port within a period: after its first instant, until
/// its last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Degradation {
    /// The first instant.
    pub from: Time,
    /// The last instant ([`Time::NEVER`] for none).
    pub until: Time,
    /// A delay in addition to the link's.
    pub extra_delay: Span,
    /// A random delay in addition to that.
    pub jitter: Option<Jitter>,
    /// Whether packets may overtake each other; else a packet arrives no earlier than the one before it.
    pub reorder: bool,
    /// Losses.
    pub loss: Option<Loss>,
    /// The probability of each bit to be wrong.
    pub bit_error_rate: f64,
}

impl Degradation {
    /// A period without any effect.
    pub const fn none(from: Time, until: Time) -> Self {
        Self {
            from,
            until,
            extra_delay: Span::ZERO,
            jitter: None,
            reorder: false,
            loss: None,
            bit_error_rate: 0.0,
        }
    }
}

/// Packets that a direction of a link has lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WireCounters {
    /// Packets lost on the wire.
    pub lost: u64,
    /// Packets corrupted, which their receiver discards.
    pub corrupted: u64,
}

/// The fate of a packet that has left its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives at this instant; later where the packet before it does and may not be overtaken.
    Arrives {
        /// The instant.
        at: Time,
        /// Whether it may overtake others.
        overtakes: bool,
    },
    /// It is lost.
    Lost(DropCause),
}

/// A degraded direction of a link.
#[derive(Debug)]
pub struct DegradedLink {
    /// In order of time.
    periods: Vec<Degradation>,
    /// The number of past periods.
    past: usize,
    process: LossProcess,
    counters: WireCounters,
    losses: Xoshiro256PlusPlus,
    corruptions: Xoshiro256PlusPlus,
    delays: Xoshiro256PlusPlus,
}

impl DegradedLink {
    /// The link behind the port of this index. Each period must begin no earlier than the one before it ends.
    pub fn new(seed: u64, port: u32, periods: Vec<Degradation>) -> Self {
        let follow = periods.windows(2).all(|pair| pair[0].until <= pair[1].from);
        let last = periods.iter().all(|period| period.from < period.until);
        assert!(follow && last, "the periods of a link follow each other");
        let rng = |purpose| substream(seed, Source::Port, u64::from(port), purpose);
        Self {
            periods,
            past: 0,
            process: LossProcess::default(),
            counters: WireCounters::default(),
            losses: rng(Purpose::Loss),
            corruptions: rng(Purpose::Corruption),
            delays: rng(Purpose::Delay),
        }
    }

    /// The packets that it has lost.
    pub const fn counters(&self) -> WireCounters {
        self.counters
    }

    /// The delay at `now` in addition to the link's, without the random one.
    pub fn extra_delay(&self, now: Time) -> Span {
        let mut periods = self.periods.iter();
        let present = periods.find(|period| period.from < now && now <= period.until);
        present.map_or(Span::ZERO, |period| period.extra_delay)
    }

    /// The present period.
    fn present(&mut self, now: Time) -> Option<Degradation> {
        while let Some(period) = self.periods.get(self.past)
            && period.until < now
        {
            self.past += 1;
            self.process = LossProcess::default();
        }
        let period = self.periods.get(self.past)?;
        (period.from < now).then_some(*period)
    }

    /// Draws the fate of a packet that has left its port at `now`, on a link with this delay.
    pub fn fate(&mut self, now: Time, delay: Span, bytes: u16) -> Fate {
        let at = now + delay;
        let Some(period) = self.present(now) else {
            return Fate::Arrives {
                at,
                overtakes: false,
            };
        };
        let jitter = period.jitter.map(|jitter| jitter.draw(&mut self.delays));
        let loss = period.loss.as_ref();
        let lost = loss.is_some_and(|loss| self.process.loses(loss, &mut self.losses));
        let corrupted = period.bit_error_rate > 0.0
            && random::uniform(&mut self.corruptions) < corruption(period.bit_error_rate, bytes);
        if lost {
            self.counters.lost += 1;
            return Fate::Lost(DropCause::LostOnWire);
        }
        if corrupted {
            self.counters.corrupted += 1;
            return Fate::Lost(DropCause::Corrupted);
        }
        Fate::Arrives {
            at: at + period.extra_delay + jitter.unwrap_or_default(),
            overtakes: period.reorder,
        }
    }
}
