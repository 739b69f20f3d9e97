//! The sender's part in samples of the delivery rate (draft-ietf-ccwg-bbr-06, section 4.1): what limits it, and
//! reports to the controller. All of it does nothing where the controller takes no samples.

use incastle_congestion::{Algorithm, Controller};

use super::config::Config;
use super::io::{Io, send_window};
use super::sender::Sender;

impl Sender {
    #[inline]
    fn samples_rate(&self) -> bool {
        self.rack.as_ref().is_some_and(|it| it.flight.is_sampled())
    }

    /// CheckIfApplicationLimited (section 4.1.2.4): before data are written, at an acknowledgement, and at the
    /// timer.
    #[inline]
    pub(super) fn check_app_limited(&mut self, algorithm: &Algorithm, config: &Config) {
        if self.samples_rate() {
            self.mark_app_limited(algorithm, config);
        }
    }

    fn mark_app_limited(&mut self, algorithm: &Algorithm, config: &Config) {
        let Some(rack) = &mut self.rack else {
            return;
        };
        let sent_all = self.space.nxt() == self.stream.end() && rack.flight.lost_segments() == 0;
        if sent_all && rack.flight.pipe() < send_window(algorithm, config).cwnd {
            rack.flight.mark_app_limited();
        }
    }

    /// C.is_cwnd_limited: a segment has left, and the next one would not fit into the window.
    pub(super) fn check_cwnd_limited(&mut self, io: &Io<'_>) {
        let Some(rack) = self.rack.as_mut().filter(|it| it.flight.is_sampled()) else {
            return;
        };
        // With segmentation offload as many as leave together.
        let next = u64::from(io.config.mss) * u64::from(io.config.burst);
        if rack.flight.pipe() + next > io.window().cwnd {
            rack.flight.mark_cwnd_limited();
        }
    }

    /// Reports the segments found lost.
    #[inline]
    pub(super) fn report_losses(&mut self, io: &mut Io<'_>) {
        if self.samples_rate() {
            self.report_sampled_losses(io);
        }
    }

    fn report_sampled_losses(&mut self, io: &mut Io<'_>) {
        let Some(rack) = &mut self.rack else {
            return;
        };
        for lost in rack.flight.take_losses() {
            io.algorithm
                .on_lost(&mut self.context(io.now, io.rng), &lost);
        }
    }

    /// Reports the sample of an acknowledgement.
    #[inline]
    pub(super) fn report_rate(&mut self, io: &mut Io<'_>) {
        if self.samples_rate() {
            self.report_sample(io);
        }
    }

    fn report_sample(&mut self, io: &mut Io<'_>) {
        let flight = self.rack.as_mut().map(|rack| &mut rack.flight);
        let Some(sample) = flight.and_then(|flight| flight.rate_sample(io.now)) else {
            return;
        };
        io.algorithm
            .on_rate(&mut self.context(io.now, io.rng), &sample);
        if io.algorithm.is_probing_rtt()
            && let Some(rack) = &mut self.rack
        {
            rack.flight.mark_app_limited();
        }
    }
}
