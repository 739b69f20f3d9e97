//! A receiver of pause frames with its watchdog: the priorities that a port stops, and those whose packets it drops.
//!
//! Without a watchdog every pause has its effect. Leaves out: the queues, which carry the effects out.

use incastle_units::{Rate, Time};

use super::{
    PauseChange, PauseFrame, PauseMode, PauseReceiver, PauseStatistics, StormStatistics, Watchdog,
    WatchdogConfig,
};
use crate::{Priority, PrioritySet};

/// The effect of a frame, or of time, on the queues of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PauseEffect {
    /// These send no further packet.
    pub stopped: PrioritySet,
    /// These send again.
    pub released: PrioritySet,
    /// A storm has begun: the packets of these that wait are dropped.
    pub flushed: PrioritySet,
}

/// The receiver of one port.
#[derive(Debug, Clone)]
pub struct GuardedReceiver {
    receiver: PauseReceiver,
    watchdog: Option<Box<Watchdog>>,
    stopped: PrioritySet,
    dropping: PrioritySet,
    /// Packets dropped in storms.
    dropped: [u64; Priority::COUNT],
}

impl GuardedReceiver {
    /// At a link of this rate, with nothing paused and no watchdog.
    pub fn new(mode: PauseMode, rate: Rate) -> Self {
        Self {
            receiver: PauseReceiver::new(mode, rate),
            watchdog: None,
            stopped: PrioritySet::EMPTY,
            dropping: PrioritySet::EMPTY,
            dropped: [0; Priority::COUNT],
        }
    }

    /// Adds a watchdog while nothing is paused. Its configuration must pass [`WatchdogConfig::check`].
    pub fn watch(&mut self, config: WatchdogConfig) {
        assert!(
            self.receiver.paused().is_empty(),
            "a watchdog watches from the beginning"
        );
        self.watchdog = Some(Box::new(Watchdog::new(config)));
    }

    /// Whether nothing is paused, and no storm lasts.
    pub fn is_at_rest(&self) -> bool {
        self.receiver.paused().is_empty() && self.dropping.is_empty()
    }

    /// Priorities that send no packet.
    pub const fn stopped(&self) -> PrioritySet {
        self.stopped
    }

    /// Priorities whose packets are dropped when they arrive.
    pub const fn dropping(&self) -> PrioritySet {
        self.dropping
    }

    /// Counts packets of a priority that were dropped in a storm.
    pub const fn count_dropped(&mut self, priority: Priority) {
        self.dropped[priority.index()] += 1;
    }

    /// The packets of a priority that were dropped in storms.
    pub const fn dropped(&self, priority: Priority) -> u64 {
        self.dropped[priority.index()]
    }

    /// The pauses of a priority until `now`.
    pub fn pauses(&self, priority: Priority, now: Time) -> PauseStatistics {
        self.receiver.statistics(priority, now)
    }

    /// The storms of a priority until `now`.
    pub fn storms(&self, priority: Priority, now: Time) -> StormStatistics {
        let watchdog = self.watchdog.as_ref();
        watchdog.map_or_else(StormStatistics::default, |watchdog| {
            watchdog.storms(priority, now)
        })
    }

    /// The beginning of a pause that stops a priority.
    pub fn stopped_since(&self, priority: Priority) -> Option<Time> {
        let stopped = self.stopped.contains(priority);
        stopped.then(|| self.receiver.paused_since(priority))?
    }

    /// A frame has arrived. Timeouts before now were handled.
    pub fn on_frame(&mut self, now: Time, frame: &PauseFrame) -> PauseEffect {
        let change = self.receiver.on_frame(now, frame);
        self.follow(now, change, PrioritySet::EMPTY)
    }

    /// The next change, if no frame arrives.
    pub fn poll_timeout(&self) -> Option<Time> {
        let watchdog = self.watchdog.as_ref();
        let ends = [
            self.receiver.poll_timeout(),
            watchdog.and_then(|watchdog| watchdog.poll_timeout()),
        ];
        ends.into_iter().flatten().min()
    }

    /// Ends the pauses that have expired, then begins and ends the storms that are due.
    pub fn on_timeout(&mut self, now: Time) -> PauseEffect {
        let change = self.receiver.on_timeout(now);
        let Some(watchdog) = &mut self.watchdog else {
            return self.follow(now, change, PrioritySet::EMPTY);
        };
        watchdog.on_change(now, &change);
        let began = watchdog.on_timeout(now).began;
        self.follow(now, PauseChange::default(), began)
    }

    /// The link has failed: nothing is paused any more. Storms end in their time.
    pub fn reset(&mut self, now: Time) -> PauseEffect {
        let change = self.receiver.reset(now);
        self.follow(now, change, PrioritySet::EMPTY)
    }

    /// The link has another rate: that of the quanta of later frames.
    pub const fn change_rate(&mut self, rate: Rate) {
        self.receiver.change_rate(rate);
    }

    /// The effect of a change of the pauses, and of storms that have begun.
    fn follow(&mut self, now: Time, change: PauseChange, began: PrioritySet) -> PauseEffect {
        let before = self.stopped;
        self.stopped = self.receiver.paused();
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.on_change(now, &change);
            self.stopped = self.stopped.without(watchdog.forwarding());
            self.dropping = watchdog.dropping();
        }
        PauseEffect {
            stopped: self.stopped.without(before),
            released: before.without(self.stopped),
            flushed: began.intersection(self.dropping),
        }
    }
}
