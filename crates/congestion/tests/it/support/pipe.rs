//! One sender over one bottleneck: the smallest network in which a controller shows its trajectory.
//!
//! The link sends one packet per `service`; a packet that finds more than `marking_threshold` packets
//! waiting is marked, one that finds `capacity` waiting is lost. Every packet is acknowledged one
//! round-trip time after its transmission ends. A loss is detected at that time, and its data count
//! as repaired when the window of the loss is over. No delayed ACKs, no timeouts.

use std::collections::VecDeque;

use incastle_congestion::{AckSample, Algorithm, Controller, Echo, LimitedBy, Phase};
use incastle_units::{Bytes, Span, Time};

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
            while self.sender.in_flight.count() + MSS <= cwnd(&self.control).max(MSS) {
                rows.push(self.send());
            }
            self.acknowledge();
        }
        rows
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
        self.packets.push_back(Packet {
            sent: now,
            acked: self.busy_until + self.link.rtt,
            fate,
        });
        self.sender.send(&mut self.control, MSS);
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
        if packet.fate == Fate::Lost && self.recover.is_none() {
            self.recover = Some(self.sender.snd_nxt);
            let _ = self.sender.lose(&mut self.control);
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
        };
        let _ = self.sender.ack_with(&mut self.control, ack);
    }
}
