//! DT-CWA's sender (Sreekumari, "Multiple Congestion Points and Congestion Reaction Mechanisms for
//! Improving DCTCP Performance in Data Center Networks", Future Internet 2018, section 2.2). The
//! window falls in steps while marks come back, and is raised once after the reaction to the last of
//! them.
//!
//! The printed formula is negative for every ordinary window; [`CwaReaction`] has the readings. An
//! *episode* begins with the first ACK with ECE and ends when the data that was outstanding then is
//! acknowledged. Growth, loss and timeout are NewReno's; a loss ends an episode without equation 2.
//! DCTCP's estimate alpha is kept for probes: nothing here reads it. Leaves out: the switch with its
//! two thresholds (queueing).

use incastle_units::Bytes;

use crate::dctcp::DctcpConfig;
use crate::marked_fraction::MarkedFraction;
use crate::reno_window::RenoWindow;
use crate::{
    AckSample, CongestionEvent, Context, ControlState, Controller, Echo, Reaction, Window,
};

/// The readings of equation 1: CW_start = (1/a) (CW_max - CW_min) - CW_current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CwaReaction {
    /// CW <- CW_current - (CW_max - CW_min) / a for each segment that was echoed: over one window
    /// of data the marked fraction of CW_max - CW_min.
    Subtract,
    /// CW <- |(CW_max - CW_min) / a - CW_current|, likewise.
    Absolute,
    /// The equation as printed, on each ACK; a negative value becomes the floor.
    Printed,
}

/// Over which time CW_max and CW_min are the extremes of the window. A loss, a timeout and idleness
/// always begin a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CwaExtremes {
    /// Since the last episode ended: the spread is the window's growth since.
    Episode,
    /// Since the first notification of the last episode: its steps count too.
    Notification,
    /// Since the last loss.
    Loss,
}

/// Parameters of DT-CWA's sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DtCwaConfig {
    /// The part that remains of DCTCP: the window rule with its floor, and the estimate.
    pub dctcp: DctcpConfig,
    /// The reading of equation 1.
    pub reaction: CwaReaction,
    /// Over which time the extremes are taken.
    pub extremes: CwaExtremes,
    /// b of equation 2, from 0 to 1: the share of CW_max - CW_min that the end of an episode gives
    /// back.
    pub b: f64,
}

impl DtCwaConfig {
    /// The defaults for a segment size: b = 0.2 (section 2.2 and figure 4) and DCTCP's. Among these
    /// is a floor of two segments (the paper criticises windows of one).
    pub const fn new(mss: Bytes) -> Self {
        Self {
            dctcp: DctcpConfig::new(mss),
            reaction: CwaReaction::Subtract,
            extremes: CwaExtremes::Episode,
            b: 0.2,
        }
    }
}

/// The state at the first notification.
#[derive(Debug, Clone, Copy)]
struct Episode {
    /// SND.NXT then: the data outstanding ended here.
    until: u64,
    /// Bytes outstanding when that ACK came: a, in bytes.
    outstanding: u64,
    /// CW_max - CW_min before it.
    spread: u64,
}

/// The controller.
#[derive(Debug, Clone)]
pub struct DtCwa {
    window: RenoWindow,
    estimate: MarkedFraction,
    reaction: CwaReaction,
    extremes: CwaExtremes,
    b: f64,
    /// CW_min and CW_max.
    least: u64,
    greatest: u64,
    /// Segments of the current ACK.
    segments: u32,
    episode: Option<Episode>,
}

impl DtCwa {
    /// A controller at the beginning of a connection. Before the first episode CW_min is the initial
    /// window.
    pub fn new(config: DtCwaConfig) -> Self {
        assert!((0.0..=1.0).contains(&config.b), "0 <= b <= 1");
        let window = RenoWindow::new(config.dctcp.window);
        Self {
            least: window.cwnd(),
            greatest: window.cwnd(),
            window,
            estimate: MarkedFraction::new(config.dctcp.g, config.dctcp.initial_alpha),
            reaction: config.reaction,
            extremes: config.extremes,
            b: config.b,
            segments: 1,
            episode: None,
        }
    }

    /// Reacts to an ACK with ECE; `Reduced` for the first of an episode.
    fn on_mark(&mut self, cx: &Context<'_>) -> Reaction {
        let (episode, reaction) = match self.episode {
            Some(episode) => (episode, Reaction::Ignored),
            // The window of data with a reaction to a loss.
            None if self.window.reacted(cx) => return Reaction::Ignored,
            None => (self.begin(cx), Reaction::Reduced),
        };
        self.window.move_to(self.target(&episode));
        self.collect();
        if cx.snd_una >= episode.until {
            self.end(&episode);
        }
        reaction
    }

    fn begin(&mut self, cx: &Context<'_>) -> Episode {
        self.window.remember_mark(cx);
        let outstanding = cx.in_flight.count() + self.window.just_acked();
        let episode = Episode {
            until: cx.snd_nxt,
            outstanding: outstanding.max(self.window.mss()),
            spread: self.greatest - self.least,
        };
        self.episode = Some(episode);
        if self.extremes == CwaExtremes::Notification {
            self.restart();
        }
        episode
    }

    /// Equation 1, in bytes: CW_start. A negative value becomes 0 here; the floor lies above it.
    fn target(&self, episode: &Episode) -> u64 {
        let cwnd = self.window.cwnd();
        let step = |segments: u64| {
            let share = u128::from(episode.spread) * u128::from(segments * self.window.mss());
            (share / u128::from(episode.outstanding)) as u64
        };
        let covered = u64::from(self.segments);
        match self.reaction {
            CwaReaction::Subtract => cwnd.saturating_sub(step(covered)),
            CwaReaction::Absolute => cwnd.abs_diff(step(covered)),
            CwaReaction::Printed => step(1).saturating_sub(cwnd),
        }
    }

    /// Equation 2: CW_end = CW_current + b (CW_max - CW_min).
    fn end(&mut self, episode: &Episode) {
        let back = (self.b * episode.spread as f64) as u64;
        self.window.grow_to(self.window.cwnd().saturating_add(back));
        self.episode = None;
        match self.extremes {
            CwaExtremes::Episode => self.restart(),
            CwaExtremes::Notification | CwaExtremes::Loss => self.collect(),
        }
    }

    /// The window has changed.
    #[inline]
    fn collect(&mut self) {
        let cwnd = self.window.cwnd();
        self.least = self.least.min(cwnd);
        self.greatest = self.greatest.max(cwnd);
    }

    /// The extremes begin anew.
    fn restart(&mut self) {
        self.least = self.window.cwnd();
        self.greatest = self.least;
    }
}

impl Controller for DtCwa {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        self.segments = ack.segments;
        // If the last ACK of an episode has ECE, the reaction to that comes first: see `on_mark`.
        if let Some(episode) = self.episode
            && ack.echo == Echo::Clear
            && cx.snd_una >= episode.until
        {
            self.end(&episode);
        }
        self.window.on_ack(cx, ack);
        self.collect();
        self.estimate.on_ack(cx, ack);
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        if event == CongestionEvent::Ecn {
            return self.on_mark(cx);
        }
        let reaction = self
            .window
            .on_congestion(cx, event, |_| unreachable!("marks are handled above"));
        if event != CongestionEvent::Over {
            self.episode = None;
            self.restart();
        }
        reaction
    }

    fn restore(&mut self, before: &ControlState) {
        self.window.restore(before);
        self.restart();
    }

    #[inline]
    fn window(&self) -> Window {
        self.window.limit()
    }

    fn state(&self) -> ControlState {
        ControlState {
            alpha: Some(self.estimate.alpha()),
            ..self.window.state()
        }
    }
}
