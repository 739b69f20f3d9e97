//! Tail loss probes (RFC 8985, section 7): when a probe is due, and what its acknowledgement shows.
//!
//! Leaves out: the timer and the choice of the segment, which are the sender's.

use incastle_units::Span;

/// Section 7.2: the probe timeout without a round trip.
const WITHOUT_SAMPLE: Span = Span::from_secs(1);

/// TLP_calc_PTO, without its end at the retransmission timeout. `beyond` is the time on top of two round trips,
/// in the RFC TLP.max_ack_delay where the acknowledgement of what is outstanding may be delayed.
pub fn probe_timeout(srtt: Option<Span>, beyond: Span) -> Span {
    srtt.map_or(WITHOUT_SAMPLE, |srtt| srtt * 2 + beyond)
}

/// A probe that is outstanding.
#[derive(Debug, Clone, Copy)]
struct Probe {
    /// TLP.end_seq.
    end: u64,
    /// TLP.is_retrans.
    repeats: bool,
}

/// An acknowledgement, as section 7.4 reads it.
#[derive(Debug, Clone, Copy)]
pub struct ProbeAck {
    /// The cumulative acknowledgement.
    pub ack: u64,
    /// The end of the segment that it reports as a duplicate.
    pub dsack_end: Option<u64>,
    /// It acknowledges nothing new and reports nothing.
    pub plain_duplicate: bool,
}

/// The state of one sender.
#[derive(Debug, Clone, Default)]
pub struct TailLossProbe {
    probe: Option<Probe>,
    /// A probe leaves with the next poll.
    pub due: bool,
    /// There was no round trip since the last probe.
    unsampled: bool,
}

impl TailLossProbe {
    /// Section 7.3: whether a probe may leave.
    pub fn may_probe(&self) -> bool {
        self.probe.is_none() && !self.unsampled
    }

    /// Whether none is due or outstanding.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.probe.is_none() && !self.due
    }

    /// There was a round trip.
    pub fn note_sample(&mut self) {
        self.unsampled = false;
    }

    /// A probe left; `end` is SND.NXT.
    pub fn on_sent(&mut self, end: u64, repeats: bool) {
        assert!(self.due, "a probe was due");
        self.due = false;
        self.unsampled = true;
        self.probe = Some(Probe { end, repeats });
    }

    /// A recovery or a timeout takes its place.
    pub fn cancel(&mut self) {
        self.due = false;
        self.probe = None;
    }

    /// TLP_process_ack; gives whether the probe repaired a loss, which the controller must learn.
    pub fn on_ack(&mut self, ack: ProbeAck) -> bool {
        let Some(probe) = self.probe.filter(|probe| ack.ack >= probe.end) else {
            return false;
        };
        let both_arrived = ack.dsack_end == Some(probe.end) || ack.plain_duplicate;
        let repaired = probe.repeats && !both_arrived && ack.ack > probe.end;
        if !probe.repeats || both_arrived || repaired {
            self.probe = None;
        }
        repaired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_is_two_round_trips() {
        let (srtt, delay) = (Some(Span::from_ms(20)), Span::from_ms(40));
        assert_eq!(probe_timeout(srtt, Span::ZERO), Span::from_ms(40));
        // A single segment: 2 * 20 ms + 40 ms.
        assert_eq!(probe_timeout(srtt, delay), Span::from_ms(80));
        assert_eq!(probe_timeout(None, delay), Span::from_secs(1));
    }

    /// What remains after this acknowledgement of a probe that ends at 5000: the conclusion, and whether
    /// the probe is still outstanding.
    fn after(repeats: bool, ack: u64, dsack_end: Option<u64>, plain: bool) -> (bool, bool) {
        let mut tlp = TailLossProbe {
            due: true,
            ..TailLossProbe::default()
        };
        tlp.on_sent(5000, repeats);
        let repaired = tlp.on_ack(ProbeAck {
            ack,
            dsack_end,
            plain_duplicate: plain,
        });
        (repaired, tlp.probe.is_some())
    }

    #[test]
    fn every_case_of_the_acknowledgement() {
        // New data arrived.
        assert_eq!(after(false, 5000, None, false), (false, false));
        // The original and the repetition arrived: case 1, and case 2 without a duplicate report.
        assert_eq!(after(true, 5000, Some(5000), false), (false, false));
        assert_eq!(after(true, 5000, None, true), (false, false));
        // One of them arrived: unknown until data beyond are acknowledged.
        assert_eq!(after(true, 5000, None, false), (false, true));
        assert_eq!(after(true, 6000, None, false), (true, false));
        // A duplicate of another segment shows nothing.
        assert_eq!(after(true, 6000, Some(3000), false), (true, false));
        // Not there yet.
        assert_eq!(after(true, 4000, None, false), (false, true));
    }
}
