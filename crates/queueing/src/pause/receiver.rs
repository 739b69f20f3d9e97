//! The receiver of pause frames: which priorities of a port are paused, and until when.
//!
//! A pause stops the next frame, not the one being sent: see `priority_queue`. A port without PFC does not pass it frames.

use incastle_units::{Rate, Span, Time};

use super::{PauseFrame, PauseMode, pause_span};
use crate::{Priority, PrioritySet};

/// Priorities whose state has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PauseChange {
    /// Paused from now on.
    pub paused: PrioritySet,
    /// Paused no more.
    pub resumed: PrioritySet,
}

/// The pauses of one priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PauseStatistics {
    /// Frames that paused it, refreshes included.
    pub pause_frames: u64,
    /// Frames that resumed it, without effect where it was not paused.
    pub resume_frames: u64,
    /// Intervals in which it was paused.
    pub pauses: u64,
    /// Of these, those that ended with their time.
    pub expired: u64,
    /// Their sum.
    pub paused_for: Span,
    /// The longest of them.
    pub longest: Span,
}

/// A pause in effect.
#[derive(Debug, Clone, Copy)]
struct Pause {
    since: Time,
    /// `NEVER` without expiry.
    until: Time,
}

#[derive(Debug, Clone, Copy, Default)]
struct Lane {
    pause: Option<Pause>,
    /// Of pauses that have ended.
    statistics: PauseStatistics,
}

impl Lane {
    /// Ends the pause, if there is one.
    fn end(&mut self, now: Time) -> bool {
        let Some(pause) = self.pause.take() else {
            return false;
        };
        let length = now - pause.since;
        self.statistics.pauses += 1;
        self.statistics.paused_for += length;
        self.statistics.longest = self.statistics.longest.max(length);
        true
    }
}

/// The receiver of one port.
#[derive(Debug, Clone)]
pub struct PauseReceiver {
    mode: PauseMode,
    rate: Rate,
    lanes: [Lane; Priority::COUNT],
}

impl PauseReceiver {
    /// At a link of this rate, with nothing paused.
    pub fn new(mode: PauseMode, rate: Rate) -> Self {
        Self {
            mode,
            rate,
            lanes: [Lane::default(); Priority::COUNT],
        }
    }

    /// The priorities that are paused.
    pub fn paused(&self) -> PrioritySet {
        self.those(|lane| lane.pause.is_some())
    }

    /// The beginning of a pause that is in effect.
    pub fn paused_since(&self, priority: Priority) -> Option<Time> {
        self.lanes[priority.index()].pause.map(|pause| pause.since)
    }

    /// The pauses of a priority until `now`, the one in effect included.
    pub fn statistics(&self, priority: Priority, now: Time) -> PauseStatistics {
        let mut lane = self.lanes[priority.index()];
        lane.end(now);
        lane.statistics
    }

    /// A frame has arrived. The last one counts, whether its time is longer or shorter (802.3, annex 31B.3). Timeouts
    /// before now were handled.
    pub fn on_frame(&mut self, now: Time, frame: &PauseFrame) -> PauseChange {
        assert!(
            self.poll_timeout().is_none_or(|due| now <= due),
            "a pause that has expired has ended"
        );
        let mut change = PauseChange::default();
        let until = match self.mode {
            PauseMode::Quanta => now + pause_span(frame.quanta, self.rate),
            PauseMode::OnOff => Time::NEVER,
            PauseMode::Ignored => unreachable!("frames that are ignored are not handed over"),
        };
        for priority in frame.priorities.iter() {
            let lane = &mut self.lanes[priority.index()];
            if frame.quanta == 0 {
                lane.statistics.resume_frames += 1;
                if lane.end(now) {
                    change.resumed.insert(priority);
                }
            } else {
                lane.statistics.pause_frames += 1;
                let since = lane.pause.map_or(now, |pause| pause.since);
                if lane.pause.replace(Pause { since, until }).is_none() {
                    change.paused.insert(priority);
                }
            }
        }
        change
    }

    /// The end of the pause that expires first.
    pub fn poll_timeout(&self) -> Option<Time> {
        let ends = self.lanes.iter().filter_map(|lane| lane.pause);
        ends.map(|pause| pause.until)
            .filter(|&until| until < Time::NEVER)
            .min()
    }

    /// Ends the pauses that have expired.
    pub fn on_timeout(&mut self, now: Time) -> PauseChange {
        let expired = self.those(|lane| lane.pause.is_some_and(|pause| pause.until <= now));
        for priority in expired.iter() {
            let lane = &mut self.lanes[priority.index()];
            lane.end(now);
            lane.statistics.expired += 1;
        }
        PauseChange {
            paused: PrioritySet::EMPTY,
            resumed: expired,
        }
    }

    /// The link has failed: nothing is paused any more.
    pub fn reset(&mut self, now: Time) -> PauseChange {
        let resumed = self.paused();
        for priority in resumed.iter() {
            self.lanes[priority.index()].end(now);
        }
        PauseChange {
            paused: PrioritySet::EMPTY,
            resumed,
        }
    }

    /// The link has another rate: that of the quanta of later frames.
    pub const fn change_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn those(&self, has: impl Fn(&Lane) -> bool) -> PrioritySet {
        Priority::ALL
            .into_iter()
            .filter(|priority| has(&self.lanes[priority.index()]))
            .collect()
    }
}
