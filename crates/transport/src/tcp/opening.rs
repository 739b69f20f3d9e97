//! The segments of the three-way handshake (RFC 9293, section 3.5; ECN's part of it: RFC 3168, section
//! 6.1.1), simultaneous open included. SYN and SYN-ACK are sent again after timeouts.
//!
//! Leaves out: RST, data on SYN, window scale and SACK negotiation (both endpoints share one
//! configuration). Also left out is the smaller initial window after a lost SYN (RFC 5681, section
//! 3.1), which Linux ignores for one loss too.

use incastle_units::Time;
use rand_core::Rng;

use super::config::EcnMode;
use super::connection::{Connection, Departure, Event};
use super::handshake::State;
use super::segment::{Flags, Segment};
use super::sequence::{SYN, wire};
use super::timeout::TimeoutKind;

impl Connection {
    /// A segment during the handshake; gives whether the rest of it is still to be handled.
    pub(super) fn handle_handshake(&mut self, now: Time, segment: &Segment) -> bool {
        let syn = segment.flags.contains(Flags::SYN);
        let acked = segment.flags.contains(Flags::ACK) && segment.ack != SYN;
        match self.handshake.state {
            State::Listen if syn && !acked => {
                self.take_syn(segment, Flags::ECE.with(Flags::CWR));
                self.handshake.received();
            }
            State::SynSent if syn && acked => {
                self.take_syn(segment, Flags::ECE);
                self.establish(now, segment);
                self.receiver.require_ack();
            }
            State::SynSent if syn => {
                // Simultaneous open: RFC 9293, section 3.5, figure 7.
                self.take_syn(segment, Flags::ECE);
                self.handshake.received();
            }
            State::SynReceived if acked => {
                self.establish(now, segment);
                return !syn;
            }
            State::SynReceived if syn => self.handshake.syn_due = true,
            _ => {}
        }
        false
    }

    /// Reads the fields of a SYN: timestamp, window, and ECN where it has those flags.
    fn take_syn(&mut self, segment: &Segment, ecn: Flags) {
        self.receiver.note_timestamp(segment.timestamp);
        self.sender.space.begin(u64::from(segment.window));
        if !segment.flags.contains(ecn) {
            self.ecn = false;
            self.receiver.disable_ecn();
        }
    }

    fn establish(&mut self, now: Time, segment: &Segment) {
        assert!(!self.handshake.is_over(), "a connection is opened once");
        self.handshake.state = State::Established;
        self.handshake.syn_due = false;
        let again = self.handshake.sent > 1;
        let rtt = if self.config.timestamps {
            let known = segment.echo != Time::NEVER;
            known.then(|| now.saturating_since(segment.echo))
        } else {
            // Karn's rule.
            let timed = self.sender.timer.timed_round_trip(now, 0);
            timed.filter(|_| !again)
        };
        let timer = &mut self.sender.timer;
        timer.on_established(rtt, &self.config.rto);
        if again {
            timer.syn_was_lost(&self.config.rto);
        }
        self.raise(Event::Connected);
    }

    pub(super) fn handshake_timeout(&mut self, now: Time, rng: &mut dyn Rng) {
        assert!(self.handshake.sent > 0, "the timer runs from the first SYN");
        let repeated = self.handshake.sent > 1;
        let backoff = u32::try_from(self.stats.timeouts).unwrap_or(u32::MAX);
        // A SYN is a window of one segment.
        let kind = if repeated {
            TimeoutKind::LostRetransmission
        } else {
            TimeoutKind::FullWindow
        };
        self.sender.keep_report(now, &self.config, kind, backoff);
        self.stats.timeouts += 1;
        self.handshake.syn_due = true;
        self.sender.timer.on_syn_timeout(now, &self.config.rto, rng);
    }

    /// The SYN or SYN-ACK that leaves now.
    pub(super) fn poll_handshake(
        &mut self,
        now: Time,
        rng: &mut dyn Rng,
        out: &mut Segment,
    ) -> Option<Departure> {
        if !std::mem::take(&mut self.handshake.syn_due) {
            return None;
        }
        let again = self.handshake.sent > 0;
        self.handshake.sent = self.handshake.sent.saturating_add(1);
        self.stats.retransmissions += u64::from(again);
        self.sender.timer.on_syn_sent(now, &self.config.rto, rng);
        *out = self.syn(now);
        Some(Departure {
            ecn: self.control_ecn(),
            retransmission: again,
        })
    }

    /// The SYN, or the SYN-ACK where a SYN was received.
    fn syn(&mut self, now: Time) -> Segment {
        let answer = self.handshake.state == State::SynReceived;
        let ack = self.receiver.acknowledge(&self.config);
        let mut flags = Flags::SYN;
        if answer {
            flags = flags.with(Flags::ACK);
        }
        if self.ecn && self.config.ecn != EcnMode::Off {
            // RFC 3168, section 6.1.1: ECE and CWR on a SYN, ECE alone on a SYN-ACK.
            flags = flags.with(Flags::ECE);
            if !answer {
                flags = flags.with(Flags::CWR);
            }
        }
        Segment {
            timestamp: now,
            echo: if answer && self.config.timestamps {
                ack.timestamp
            } else {
                Time::NEVER
            },
            seq: SYN,
            ack: if answer { wire(0) } else { SYN },
            window: self.receiver.window(0, &self.config),
            payload: 0,
            flags,
            sacks: 0,
        }
    }
}
