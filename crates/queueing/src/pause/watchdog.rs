//! The PFC watchdog: a priority that is paused for too long is a storm, in which its packets are dropped or sent
//! nevertheless, until it has not been paused for a time.
//!
//! Source: SONiC's PFC watchdog (sonic-net/sonic-mgmt, docs/pfcwd/PFCWD_MMU_Change.md): a storm is a pause for longer
//! than the detection time, whether packets wait or not. Leaves out: the interval of its polling; that in a storm the
//! packets that come in at the port are dropped, too.

use incastle_units::{Span, Time};

use super::PauseChange;
use crate::{Priority, PrioritySet};

/// The treatment of the packets of a storm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WatchdogAction {
    /// Those that wait and those that arrive are dropped.
    #[default]
    Drop,
    /// They are sent, whatever is paused.
    Forward,
}

/// The parameters of a [`Watchdog`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchdogConfig {
    /// A pause of this length is a storm.
    pub detection: Span,
    /// The storm ends when the priority was not paused for this time.
    pub restoration: Span,
    /// The treatment of packets.
    pub action: WatchdogAction,
}

/// The defaults of SONiC's test plan of the watchdog: 400 ms, 2 s.
impl Default for WatchdogConfig {
    fn default() -> Self {
        Self {
            detection: Span::from_ms(400),
            restoration: Span::from_secs(2),
            action: WatchdogAction::Drop,
        }
    }
}

/// An error in a [`WatchdogConfig`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WatchdogError {
    /// Every pause would be a storm.
    #[error("the detection time of a watchdog must be longer than 0")]
    NoDetectionTime,
}

impl WatchdogConfig {
    /// Whether the parameters make sense.
    pub fn check(&self) -> Result<(), WatchdogError> {
        if self.detection == Span::ZERO {
            return Err(WatchdogError::NoDetectionTime);
        }
        Ok(())
    }
}

/// The state of one priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Calm,
    /// Paused; a storm from then on.
    Paused(Time),
    /// A storm since then, paused.
    Storm(Time),
    /// A storm since then, not paused; calm from `until` on.
    Recovering {
        since: Time,
        until: Time,
    },
}

/// The storms of one priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StormStatistics {
    /// Storms that have begun.
    pub storms: u64,
    /// The time in storms, until calm was restored.
    pub storm_time: Span,
}

/// Storms that have begun or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WatchdogChange {
    /// The packets of these are dropped or sent from now on.
    pub began: PrioritySet,
    /// Pauses of these have effect again.
    pub ended: PrioritySet,
}

/// The watchdog of one port.
#[derive(Debug, Clone)]
pub struct Watchdog {
    config: WatchdogConfig,
    states: [State; Priority::COUNT],
    storms: [StormStatistics; Priority::COUNT],
}

impl Watchdog {
    /// The configuration must pass [`WatchdogConfig::check`].
    pub fn new(config: WatchdogConfig) -> Self {
        assert_eq!(config.check(), Ok(()), "the watchdog's times were checked");
        Self {
            config,
            states: [State::Calm; Priority::COUNT],
            storms: [StormStatistics::default(); Priority::COUNT],
        }
    }

    /// The storms of a priority until `now`, the present one included.
    pub fn storms(&self, priority: Priority, now: Time) -> StormStatistics {
        let mut storms = self.storms[priority.index()];
        if let State::Storm(since) | State::Recovering { since, .. } = self.states[priority.index()]
        {
            storms.storm_time += now - since;
        }
        storms
    }

    /// Priorities whose packets are dropped.
    pub fn dropping(&self) -> PrioritySet {
        self.storming(WatchdogAction::Drop)
    }

    /// Priorities whose pauses have no effect.
    pub fn forwarding(&self) -> PrioritySet {
        self.storming(WatchdogAction::Forward)
    }

    fn storming(&self, action: WatchdogAction) -> PrioritySet {
        let storms = |priority: &Priority| {
            let state = self.states[priority.index()];
            matches!(state, State::Storm(_) | State::Recovering { .. })
        };
        if action == self.config.action {
            Priority::ALL.into_iter().filter(storms).collect()
        } else {
            PrioritySet::EMPTY
        }
    }

    /// The receiver of pause frames has changed.
    pub fn on_change(&mut self, now: Time, change: &PauseChange) {
        for priority in change.paused.iter() {
            let state = &mut self.states[priority.index()];
            *state = match *state {
                State::Calm => State::Paused(now + self.config.detection),
                State::Recovering { since, .. } => State::Storm(since),
                State::Paused(_) | State::Storm(_) => unreachable!("a pause begins once"),
            };
        }
        for priority in change.resumed.iter() {
            let state = &mut self.states[priority.index()];
            *state = match *state {
                State::Paused(_) => State::Calm,
                State::Storm(since) => State::Recovering {
                    since,
                    until: now + self.config.restoration,
                },
                State::Calm | State::Recovering { .. } => unreachable!("a pause has begun"),
            };
        }
    }

    /// The next begin or end of a storm, if nothing else happens.
    pub fn poll_timeout(&self) -> Option<Time> {
        let deadlines = self.states.iter().filter_map(|state| match state {
            State::Calm | State::Storm(_) => None,
            State::Paused(until) | State::Recovering { until, .. } => Some(*until),
        });
        deadlines.min()
    }

    /// Begins and ends the storms that are due.
    pub fn on_timeout(&mut self, now: Time) -> WatchdogChange {
        let mut change = WatchdogChange::default();
        for priority in Priority::ALL {
            let state = &mut self.states[priority.index()];
            match *state {
                State::Paused(deadline) if deadline <= now => {
                    *state = State::Storm(now);
                    self.storms[priority.index()].storms += 1;
                    change.began.insert(priority);
                }
                State::Recovering { since, until } if until <= now => {
                    *state = State::Calm;
                    self.storms[priority.index()].storm_time += now - since;
                    change.ended.insert(priority);
                }
                _ => {}
            }
        }
        change
    }
}
