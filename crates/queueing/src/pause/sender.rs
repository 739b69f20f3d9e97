//! The sender of pause frames: one when an account reaches XOFF, refreshes while it is above XON, one that resumes.
//!
//! 802.1Q leaves the times to implementations. Here a frame has the greatest time by default and is refreshed when half
//! of it has passed, so that a pause ends by expiry only where frames are lost.

use incastle_units::{Rate, Time};

use super::{PauseFrame, PauseMode, pause_span};
use crate::{PauseTransition, Priority, PrioritySet};

/// The parameters of a [`PauseSender`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PauseSenderConfig {
    /// Whether frames are refreshed.
    pub mode: PauseMode,
    /// The time of a frame, in quanta, above zero.
    pub quanta: u16,
}

impl Default for PauseSenderConfig {
    fn default() -> Self {
        Self {
            mode: PauseMode::Quanta,
            quanta: u16::MAX,
        }
    }
}

/// The pauses of one priority that were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SentPauses {
    /// Frames that began a pause.
    pub pauses: u64,
    /// Frames that refreshed it. One frame may refresh several priorities.
    pub refreshes: u64,
    /// Frames that ended it.
    pub resumes: u64,
}

/// The sender of one port.
#[derive(Debug, Clone)]
pub struct PauseSender {
    config: PauseSenderConfig,
    rate: Rate,
    paused: PrioritySet,
    /// The next refresh of each priority that is paused.
    refresh: [Time; Priority::COUNT],
    frames: u64,
    sent: [SentPauses; Priority::COUNT],
}

impl PauseSender {
    /// At a link of this rate.
    pub fn new(config: PauseSenderConfig, rate: Rate) -> Self {
        assert!(config.quanta > 0, "a pause has a time");
        Self {
            config,
            rate,
            paused: PrioritySet::EMPTY,
            refresh: [Time::NEVER; Priority::COUNT],
            frames: 0,
            sent: [SentPauses::default(); Priority::COUNT],
        }
    }

    /// The priorities that the peer was told to pause.
    pub const fn paused(&self) -> PrioritySet {
        self.paused
    }

    /// Frames sent: pauses, refreshes and resumes.
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// The pauses of a priority.
    pub const fn sent(&self, priority: Priority) -> SentPauses {
        self.sent[priority.index()]
    }

    /// An ingress account has reached XOFF or XON; returns the frame to send.
    pub fn on_transition(
        &mut self,
        now: Time,
        priority: Priority,
        transition: PauseTransition,
    ) -> PauseFrame {
        let resumes = transition == PauseTransition::Resume;
        assert_eq!(
            self.paused.contains(priority),
            resumes,
            "pauses and resumes alternate"
        );
        let only = PrioritySet::only(priority);
        let sent = &mut self.sent[priority.index()];
        if !resumes {
            sent.pauses += 1;
            self.paused.insert(priority);
            return self.pause(now, only);
        }
        sent.resumes += 1;
        self.paused.remove(priority);
        self.refresh[priority.index()] = Time::NEVER;
        self.frames += 1;
        PauseFrame {
            priorities: only,
            quanta: 0,
        }
    }

    /// The next refresh.
    pub fn poll_timeout(&self) -> Option<Time> {
        let next = self.refresh.into_iter().min();
        next.filter(|&next| next < Time::NEVER)
    }

    /// The refresh of all priorities that are due.
    pub fn on_timeout(&mut self, now: Time) -> Option<PauseFrame> {
        let due: PrioritySet = self
            .paused
            .iter()
            .filter(|priority| self.refresh[priority.index()] <= now)
            .collect();
        for priority in due.iter() {
            self.sent[priority.index()].refreshes += 1;
        }
        (!due.is_empty()).then(|| self.pause(now, due))
    }

    /// A frame that pauses, and its refresh at half its time.
    fn pause(&mut self, now: Time, priorities: PrioritySet) -> PauseFrame {
        let quanta = self.config.quanta;
        if self.config.mode == PauseMode::Quanta {
            let refresh = now + pause_span(quanta, self.rate) / 2;
            for priority in priorities.iter() {
                self.refresh[priority.index()] = refresh;
            }
        }
        self.frames += 1;
        PauseFrame { priorities, quanta }
    }

    /// The link has failed: the peer is paused no more.
    pub const fn reset(&mut self) {
        self.paused = PrioritySet::EMPTY;
        self.refresh = [Time::NEVER; Priority::COUNT];
    }

    /// The link has another rate: that of the quanta of later frames.
    pub const fn change_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }
}
