//! ProbeRTT: little data in flight for 200 ms, so that the queue drains and the round trip is that of the path
//! (section 5.3.4).

use incastle_units::{Span, Time};

use super::{Bbr, State};
use crate::Context;

/// BBR.ProbeRTTDuration.
const DURATION: Span = Span::from_ms(200);

impl Bbr {
    /// CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, cx: &mut Context<'_>) {
        if self.state != State::ProbeRtt && self.min_rtt.is_expired() && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_end = None;
            self.cycle.stop_probe();
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.hold_probe_rtt(cx);
        }
    }

    /// HandleProbeRTT; the sender marks its samples as limited by the application.
    fn hold_probe_rtt(&mut self, cx: &mut Context<'_>) {
        if self.probe_rtt_end.is_some() {
            self.probe_rtt_round |= self.rounds.start;
            if self.probe_rtt_round {
                self.check_probe_rtt_done(cx);
            }
        } else if self.in_flight <= self.probe_rtt_cwnd() {
            self.probe_rtt_end = Some(cx.now.saturating_add(DURATION));
            self.probe_rtt_round = false;
            self.start_round();
        }
    }

    /// CheckProbeRTTDone.
    pub(super) fn check_probe_rtt_done(&mut self, cx: &mut Context<'_>) {
        let over = |end: Time| cx.now > end;
        if self.probe_rtt_end.is_some_and(over) {
            self.min_rtt.schedule_probe(cx.now);
            self.restore_cwnd();
            self.signals.forget_bounds();
            if self.full.reached {
                self.start_down(cx);
                self.start_cruise();
            } else {
                self.state = State::Startup;
            }
        }
    }
}
