//! Accurate ACKs on both sides of a connection: what the receiver writes, and how the sender reports them to its
//! controller. The bookkeeping is in `accurate_sender` and `accurate_clock`.
//!
//! UDT's own control and DCUDP's get UDT's events: each NAK, and the window over what is outstanding.

use incastle_congestion::{
    AckSample, Algorithm, CongestionEvent, Controller, Echo, Phase, Reaction,
};
use incastle_units::{Bytes, Ecn, Span, Time};
use rand_core::Rng;

use super::super::accurate_sender::{AccurateSender, Parts};
use super::super::in_flight::Acked;
use super::super::sender::AckKind;
use super::super::sequence::Number;
use super::super::wire::{AccurateAck, AckCounts, AckRate, Control, Losses, NumberRange};
use super::Connection;
use super::incoming::MAX_RTT_US;
use super::outgoing::micros;

/// One of the two samples that an accurate ACK makes.
struct Half {
    acked: Acked,
    echo: Echo,
    rtt: Option<Span>,
    /// Packets and bytes that the other one acknowledges after it.
    ahead: Acked,
}

impl Connection {
    /// The counts of this endpoint as a receiver.
    pub const fn received_counts(&self) -> AckCounts {
        self.receiver.counts
    }

    /// The newest counts of the peer, where ACKs are accurate.
    pub fn reported_counts(&self) -> Option<AckCounts> {
        self.sender.accurate.as_ref().map(AccurateSender::counts)
    }

    pub(super) fn begin_accurate(&mut self, rate: AckRate) {
        self.receiver.ack.begin_accurate(rate);
        self.sender.begin_accurate();
        self.adapt();
    }

    /// The controller is settled: a window controller's window limits what is in the network, and it gets marks.
    pub(super) fn adapt(&mut self) {
        let Some(accurate) = self.accurate() else {
            return;
        };
        let capable = accurate.ecn != Ecn::NotEct;
        let udts = matches!(
            self.control.algorithm,
            Algorithm::Udt(_) | Algorithm::Dcudp(_)
        );
        self.control.ecn = capable && !udts;
        self.sender
            .adapt(!udts, self.control.algorithm.samples_rate());
    }

    /// The accurate ACK that leaves now.
    pub(super) fn accurate_ack(&self, now: Time, next: Number) -> Control {
        let newest = self.receiver.newest;
        Control::AccurateAck(AccurateAck {
            next,
            newest: newest.number,
            delay_us: micros(now.saturating_since(newest.at)),
            counts: self.receiver.counts,
        })
    }

    pub(super) fn handle_accurate_ack(
        &mut self,
        now: Time,
        ack: &AccurateAck,
        rng: &mut dyn Rng,
    ) -> bool {
        let before = self.sender.una();
        let nxt = self.sender.nxt();
        let checked = self.sender.accurate.as_ref();
        let news = checked.and_then(|accurate| accurate.check(ack.counts, nxt));
        let rtt = self.accurate_rtt(now, ack);
        let acked = news.and_then(|_| self.sender.on_ack(now, ack.next, AckKind::Late));
        let (Some(news), Some(acked)) = (news, acked) else {
            self.stats.refused.acks += 1;
            return false;
        };
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt);
            self.exp.on_sample(&self.config);
            self.set_clocks();
        }
        let una = self.sender.una();
        let accurate = self.sender.accurate.as_mut().expect("ACKs are accurate");
        let parts = accurate.on_ack(news, acked, una);
        let phase = accurate.phase();
        let bleached = accurate.is_bleached();
        self.stats.accurate_acks_received += 1;
        self.stats.ece_received += u64::from(news.ce > 0);
        if bleached && self.control.ecn {
            self.lose_ecn(now);
        }
        let marked = news.ce > 0 || parts.marked.packets > 0;
        self.report_parts(now, (parts, marked), (phase, rtt), rng);
        self.report_rate(now, rng);
        self.note_progress(now, before);
        true
    }

    /// The round trip of the newest packet, without the time for which its ACK waited.
    fn accurate_rtt(&self, now: Time, ack: &AccurateAck) -> Option<Span> {
        let trip = self.sender.round_trip_of(now, ack.newest)?;
        let delay = Span::from_us(u64::from(ack.delay_us.min(MAX_RTT_US)));
        let possible = Span::ZERO..Span::from_us(u64::from(MAX_RTT_US));
        let rtt = trip.saturating_sub(delay);
        (delay <= trip && possible.contains(&rtt)).then_some(rtt)
    }

    /// Order: `on_ack` for the packets without a mark, then for those with one, then `on_congestion(Ecn)`.
    fn report_parts(
        &mut self,
        now: Time,
        (parts, marked): (Parts, bool),
        (phase, rtt): (Phase, Option<Span>),
        rng: &mut dyn Rng,
    ) {
        let Parts {
            clear,
            marked: echoed,
        } = parts;
        if clear.packets > 0 || !marked {
            let half = Half {
                acked: clear,
                echo: Echo::Clear,
                rtt,
                ahead: echoed,
            };
            self.report_half(now, &half, phase, rng);
        }
        if !marked {
            return;
        }
        let half = Half {
            acked: echoed,
            echo: Echo::Congestion,
            rtt: rtt.filter(|_| clear.packets == 0),
            ahead: Acked::default(),
        };
        self.report_half(now, &half, phase, rng);
        if self.report(now, CongestionEvent::Ecn, rng) == Reaction::Reduced {
            self.stats.ecn_reductions += 1;
        }
    }

    fn report_half(&mut self, now: Time, half: &Half, phase: Phase, rng: &mut dyn Rng) {
        let sample = AckSample {
            acked: Bytes::new(half.acked.bytes),
            segments: half.acked.packets.max(1),
            echo: half.echo,
            rtt: half.rtt,
            limited_by: self.sender.limited_by,
            phase,
            hops: &[],
            hop_count: None,
            remote_delay: None,
        };
        let (smoothed, capacity) = (self.rtt.smoothed(), self.capacity());
        let mut cx = self.sender.context(now, smoothed, capacity, rng);
        cx.snd_una -= u64::from(half.ahead.packets);
        cx.in_flight += Bytes::new(half.ahead.bytes);
        self.control.algorithm.on_ack(&mut cx, &sample);
        self.follow_mode(now);
    }

    /// The delivery rate that an ACK shows, for a controller that takes samples.
    fn report_rate(&mut self, now: Time, rng: &mut dyn Rng) {
        let una = self.sender.una();
        let rates = self.sender.rates.as_mut();
        let Some(sample) = rates.and_then(|rates| rates.on_ack(una, now)) else {
            return;
        };
        let (smoothed, capacity) = (self.rtt.smoothed(), self.capacity());
        let mut cx = self.sender.context(now, smoothed, capacity, rng);
        self.control.algorithm.on_rate(&mut cx, &sample);
        if self.control.algorithm.is_probing_rtt()
            && let Some(rates) = &mut self.sender.rates
        {
            rates.mark_app_limited();
        }
    }

    /// The same for packets that are to be sent again.
    pub(super) fn report_lost(
        &mut self,
        now: Time,
        range: std::ops::Range<u64>,
        rng: &mut dyn Rng,
    ) {
        let Some(rates) = &mut self.sender.rates else {
            return;
        };
        for lost in rates.on_lost(range) {
            let (smoothed, capacity) = (self.rtt.smoothed(), self.capacity());
            let mut cx = self.sender.context(now, smoothed, capacity, rng);
            self.control.algorithm.on_lost(&mut cx, &lost);
        }
    }

    /// The same for the ranges of a NAK; impossible ones were counted.
    pub(super) fn report_lost_ranges(&mut self, now: Time, losses: Losses<'_>, rng: &mut dyn Rng) {
        if self.sender.rates.is_none() {
            return;
        }
        for NumberRange { first, last } in losses.ranges() {
            if let Some(range) = self.sender.outstanding(first, last) {
                self.report_lost(now, range, rng);
            }
        }
    }

    /// Packets up to `largest` are lost; whether the controller learns of it: once per window of data, unless it
    /// counts losses.
    pub(super) fn reacts_to_loss(&mut self, largest: u64) -> bool {
        let (una, nxt) = (self.sender.una(), self.sender.nxt());
        if !self.sender.counts_network {
            return true;
        }
        let counts = self.control.algorithm.counts_losses();
        let accurate = self.sender.accurate.as_mut();
        let begins = accurate.is_none_or(|accurate| accurate.on_loss(largest, una, nxt));
        begins || counts
    }

    /// EXP has expired with data outstanding.
    pub(super) fn note_timeout(&mut self, now: Time, rng: &mut dyn Rng) {
        let nxt = self.sender.nxt();
        self.report_lost(now, self.sender.una()..nxt, rng);
        if let Some(accurate) = &mut self.sender.accurate {
            accurate.on_timeout(nxt);
            self.exp.hold(&self.config);
        }
    }
}
