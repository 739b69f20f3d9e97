//! One sender over one bottleneck: the smallest network in which a controller shows its trajectory.
//!
//! The link sends one packet per `service`; a packet that finds more than `marking_threshold` packets
//! waiting is marked, one that finds `capacity` waiting is lost. Every packet is acknowledged one
//! round-trip time after its transmission ends. A loss is detected at that time, and its data count
//! as repaired when the window of the loss is over. No delayed ACKs, no timeouts. A controller that takes
//! samples of the delivery rate has them, and is paced.

use std::collections::VecDeque;

use incastle_congestion::{
    AckSample, Algorithm, Controller, Echo, LimitedBy, LostPacket, Phase, RateSample,
};
use incastle_units::{Bytes, Rate, Span, Time};

use crate::support::{Sender, cwnd};

/// Bytes of a segment.
pub(crate) const MSS: u64 = 1460;

/// The bottleneck.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    pub(crate) service: Span,
    /// The round-trip time of an empty link, without the service time.
    pub(crate) rtt: Span,
    pub(crate) marking_threshold: u64,
    pub(crate) capacity: u64,
}

/// One packet in flight: when its ACK arrives, and what happened to it.
struct Packet {
    sent: Time,
    acked: Time,
    fate: Fate,
    at: Counts,
}

/// The counters of a sender that samples the delivery rate (draft-ietf-ccwg-bbr-06, section 4.1.2), in bytes.
#[derive(Clone, Copy, Default)]
struct Counts {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u64,
    in_flight: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Passed,
    Marked,
    Lost,
}

/// The state at a packet's departure from the sender.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) time: Time,
    /// Packets acknowledged.
    pub(crate) acked: u64,
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: Option<u64>,
    pub(crate) alpha: Option<f64>,
    /// Packets waiting when it arrived.
    pub(crate) queue: u64,
}

/// The sender, its link and the packets between.
pub(crate) struct Pipe {
    link: Link,
    sender: Sender,
    control: Algorithm,
    packets: VecDeque<Packet>,
    busy_until: Time,
    counts: Counts,
    /// The next departure, where the controller is paced.
    next_send: Time,
    /// SND.NXT at the loss that is being repaired.
    recover: Option<u64>,
    /// The data to send, where they have an end. The pipe itself never runs dry.
    size: Option<u64>,
}

impl Pipe {
    pub(crate) fn new(link: Link, control: Algorithm) -> Self {
        Self {
            link,
            sender: Sender::default(),
            control,
            packets: VecDeque::new(),
            busy_until: Time::ZERO,
            counts: Counts::default(),
            next_send: Time::ZERO,
            recover: None,
            size: None,
        }
    }

    /// Gives the controller a size and a deadline.
    pub(crate) fn with_deadline(mut self, bytes: u64, deadline: Time) -> Self {
        self.size = Some(bytes);
        self.sender.deadline = Some(deadline);
        self
    }

    /// Runs to `end` and gives one row per packet sent.
    pub(crate) fn run(mut self, end: Time) -> Vec<Row> {
        let mut rows = Vec::new();
        while self.sender.now < end {
            while self.has_room() && self.next_send <= self.sender.now {
                rows.push(self.send());
            }
            let acked = self.packets.front().map_or(Time::NEVER, |it| it.acked);
            if self.has_room() && self.next_send < acked {
                self.sender.now = self.next_send;
            } else {
                self.acknowledge();
            }
        }
        rows
    }

    fn has_room(&self) -> bool {
        self.sender.in_flight.count() + MSS <= cwnd(&self.control).max(MSS)
    }

    fn send(&mut self) -> Row {
        let now = self.sender.now;
        let backlog = self.busy_until.saturating_since(now).as_ps();
        // Those that wait, without the one being sent.
        let queue = backlog
            .div_ceil(self.link.service.as_ps())
            .saturating_sub(1);
        let fate = match queue {
            q if q >= self.link.capacity => Fate::Lost,
            q if q > self.link.marking_threshold => Fate::Marked,
            _ => Fate::Passed,
        };
        if fate != Fate::Lost {
            self.busy_until = self.busy_until.max(now) + self.link.service;
        }
        if self.packets.is_empty() {
            (self.counts.first_sent, self.counts.delivered_at) = (now, now);
        }
        self.sender.send(&mut self.control, MSS);
        self.counts.in_flight = self.sender.in_flight.count();
        self.packets.push_back(Packet {
            sent: now,
            acked: self.busy_until + self.link.rtt,
            fate,
            at: self.counts,
        });
        let paced = self.control.samples_rate().then(|| self.control.pacing());
        if let Some(rate) = paced.flatten() {
            self.next_send = self.next_send.max(now) + rate.span_of(Bytes::new(MSS));
        }
        let state = self.control.state();
        Row {
            time: now,
            acked: self.sender.snd_una / MSS,
            cwnd: cwnd(&self.control),
            ssthresh: state.ssthresh.map(Bytes::count),
            alpha: state.alpha,
            queue,
        }
    }

    fn acknowledge(&mut self) {
        let packet = self
            .packets
            .pop_front()
            .expect("a window is at least one packet");
        self.sender.now = packet.acked;
        let rtt = packet.acked - packet.sent;
        self.sender.remaining = self
            .size
            .map(|size| Bytes::new(size.saturating_sub(self.sender.snd_una)));
        self.sender.smoothed_rtt = Some(rtt);
        if packet.fate == Fate::Lost {
            self.report_loss(&packet);
            if self.recover.is_none() {
                self.recover = Some(self.sender.snd_nxt);
                let _ = self.sender.lose(&mut self.control);
            }
        }
        if self
            .recover
            .is_some_and(|until| self.sender.snd_una + MSS >= until)
        {
            self.recover = None;
        }
        let ack = AckSample {
            acked: Bytes::new(MSS),
            segments: 1,
            echo: match packet.fate {
                Fate::Marked => Echo::Congestion,
                Fate::Passed | Fate::Lost => Echo::Clear,
            },
            rtt: Some(rtt),
            limited_by: LimitedBy::Window,
            phase: self.recover.map_or(Phase::Open, |_| Phase::Recovery),
            hops: &[],
            hop_count: None,
            remote_delay: None,
        };
        let _ = self.sender.ack_with(&mut self.control, ack);
        if packet.fate != Fate::Lost {
            self.report_rate(&packet);
        }
    }

    fn report_loss(&mut self, packet: &Packet) {
        self.counts.lost += MSS;
        let lost = LostPacket {
            seq: self.sender.snd_una,
            size: Bytes::new(MSS),
            tx_in_flight: Bytes::new(packet.at.in_flight),
            lost: Bytes::new(self.counts.lost - packet.at.lost),
            total_delivered: self.counts.delivered,
            in_flight: self.sender.in_flight.saturating_sub(Bytes::new(MSS)),
            is_app_limited: false,
        };
        self.control.on_lost(&mut self.sender.cx(), &lost);
    }

    fn report_rate(&mut self, packet: &Packet) {
        let (now, at) = (self.sender.now, packet.at);
        self.counts.delivered += MSS;
        self.counts.delivered_at = now;
        self.counts.first_sent = packet.sent;
        let interval = (packet.sent - at.first_sent).max(now - at.delivered_at);
        let delivered = Bytes::new(self.counts.delivered - at.delivered);
        let sample = RateSample {
            total_delivered: self.counts.delivered,
            prior_delivered: at.delivered,
            rate: Some(Rate::of(delivered, interval)),
            rtt: Some(now - packet.sent),
            newly_acked: Bytes::new(MSS),
            lost: Bytes::new(self.counts.lost - at.lost),
            tx_in_flight: Bytes::new(at.in_flight),
            in_flight: self.sender.in_flight,
            is_app_limited: false,
            is_cwnd_limited: !self.has_room(),
        };
        self.control.on_rate(&mut self.sender.cx(), &sample);
    }
}
