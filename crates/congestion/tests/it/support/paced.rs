//! One paced sender over one bottleneck: the smallest network in which a rate-based controller shows
//! its trajectory. It always has something to send, at most at its interface's rate.
//!
//! The link sends one packet per `service`. A packet that finds `capacity` waiting is lost; others that find
//! more than `marking_threshold` waiting are marked. The receiver reports a loss when the packet after it
//! arrives; its data counts as repaired. An ACK leaves every `delayed_ack_count`; without that, at the first
//! mark and then once per round trip. Nothing is lost on the reverse path.

use std::collections::VecDeque;

use incastle_congestion::{AckSample, Algorithm, CongestionEvent, Controller, Echo, Window};
use incastle_units::{Bytes, Rate, Span, Time};

use crate::support::{Sender, sample};

/// Bytes of a packet.
pub(crate) const PS: u64 = 1500;

#[derive(Clone, Copy)]
pub(crate) struct Link {
    pub(crate) service: Span,
    /// The round-trip time of an empty link, without the service time; half of it in each direction.
    pub(crate) rtt: Span,
    pub(crate) marking_threshold: u64,
    pub(crate) capacity: u64,
    /// The time that the sender's interface takes for a packet.
    pub(crate) interface: Span,
    pub(crate) delayed_ack_count: Option<Span>,
}

/// The receiver's feedback, and its time of arrival.
struct Feedback {
    at: Time,
    what: What,
}

enum What {
    Ack { packets: u64, echo: Echo, rtt: Span },
    Nak { largest: u64 },
}

/// A packet in flight to the receiver.
struct Packet {
    number: u64,
    sent: Time,
    at: Time,
    ce: bool,
}

/// The receiver's state since its last ACK.
#[derive(Default)]
struct Receiver {
    next: u64,
    acked: u64,
    ce: bool,
    rtt: Span,
    /// When the next ACK is due.
    due: Option<Time>,
}

/// The state at an instant.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) time: Time,
    /// Absent where nothing is paced.
    pub(crate) rate: Option<Rate>,
    pub(crate) cwnd: Option<Bytes>,
    /// Packets waiting.
    pub(crate) queue: u64,
}

/// The sender, its link and what is in flight.
pub(crate) struct Paced {
    link: Link,
    sender: Sender,
    control: Algorithm,
    /// When the pacer lets the next packet leave.
    next_send: Time,
    /// When the interface has sent the last one.
    free_at: Time,
    busy_until: Time,
    packets: VecDeque<Packet>,
    receiver: Receiver,
    feedback: VecDeque<Feedback>,
}

impl Paced {
    pub(crate) fn new(link: Link, control: Algorithm) -> Self {
        let capacity = 8 * PS * (Span::from_secs(1).as_ps() / link.service.as_ps());
        Self {
            link,
            sender: Sender {
                smoothed_rtt: Some(link.rtt + link.service),
                capacity: Some(Rate::from_bits_per_second(capacity)),
                ..Sender::default()
            },
            control,
            next_send: Time::ZERO,
            free_at: Time::ZERO,
            busy_until: Time::ZERO,
            packets: VecDeque::new(),
            receiver: Receiver {
                due: link.delayed_ack_count.map(|span| Time::ZERO + span),
                rtt: link.rtt + link.service,
                ..Receiver::default()
            },
            feedback: VecDeque::new(),
        }
    }

    /// Runs to `end` and gives the state at a fixed interval.
    pub(crate) fn run(mut self, end: Time, every: Span) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut next = Time::ZERO;
        while next < end {
            // The next event; at one instant in this order.
            let send = if self.may_send() {
                self.next_send
            } else {
                Time::NEVER
            };
            let feedback = self.feedback.front().map_or(Time::NEVER, |f| f.at);
            let arrival = self.packets.front().map_or(Time::NEVER, |p| p.at);
            let due = self.receiver.due.unwrap_or(Time::NEVER);
            let first = send.min(feedback).min(arrival).min(due);
            while next < end && next < first {
                rows.push(self.row(next));
                next += every;
            }
            self.sender.now = self.sender.now.max(first);
            if first == feedback {
                self.handle_feedback();
            } else if first == arrival {
                self.arrive();
            } else if first == due {
                self.acknowledge();
            } else {
                self.send();
            }
        }
        rows
    }

    fn row(&self, time: Time) -> Row {
        Row {
            time,
            rate: self.control.pacing(),
            cwnd: self.control.state().cwnd,
            queue: self.queue(time),
        }
    }

    fn queue(&self, now: Time) -> u64 {
        let backlog = self.busy_until.saturating_since(now).as_ps();
        backlog
            .div_ceil(self.link.service.as_ps())
            .saturating_sub(1)
    }

    fn may_send(&self) -> bool {
        match self.control.window() {
            Window::Unlimited => true,
            Window::Limited(bytes) => {
                (self.sender.snd_nxt - self.sender.snd_una + 1) * PS <= bytes.count()
            }
        }
    }

    fn send(&mut self) {
        let now = self.sender.now;
        let queue = self.queue(now);
        if queue < self.link.capacity {
            self.busy_until = self.busy_until.max(now) + self.link.service;
            self.packets.push_back(Packet {
                number: self.sender.snd_nxt,
                sent: now,
                at: self.busy_until + self.link.rtt / 2,
                ce: queue > self.link.marking_threshold,
            });
        }
        self.sender.snd_nxt += 1;
        self.control.on_sent(&mut self.sender.cx(), Bytes::new(PS));
        let paced = self
            .control
            .pacing()
            .map(|rate| rate.span_of(Bytes::new(PS)));
        self.free_at = now + self.link.interface;
        self.next_send = self.free_at.max(now + paced.unwrap_or(Span::ZERO));
    }

    fn arrive(&mut self) {
        let packet = self.packets.pop_front().expect("a packet arrives");
        let receiver = &mut self.receiver;
        if packet.number > receiver.next {
            self.feedback.push_back(Feedback {
                at: packet.at + self.link.rtt / 2,
                what: What::Nak {
                    largest: packet.number - 1,
                },
            });
        }
        receiver.next = packet.number + 1;
        receiver.ce |= packet.ce;
        receiver.rtt = packet.at - packet.sent + self.link.rtt / 2;
        if packet.ce && receiver.due.is_none() {
            self.acknowledge();
        }
    }

    fn acknowledge(&mut self) {
        let now = self.sender.now;
        let receiver = &mut self.receiver;
        let echo = if receiver.ce {
            Echo::Congestion
        } else {
            Echo::Clear
        };
        let packets = receiver.next - receiver.acked;
        receiver.acked = receiver.next;
        receiver.ce = false;
        receiver.due = Some(now + self.link.delayed_ack_count.unwrap_or(receiver.rtt));
        self.feedback.push_back(Feedback {
            at: now + self.link.rtt / 2,
            what: What::Ack {
                packets,
                echo,
                rtt: receiver.rtt,
            },
        });
    }

    fn handle_feedback(&mut self) {
        let feedback = self.feedback.pop_front().expect("feedback arrives");
        match feedback.what {
            What::Nak { largest } => {
                let loss = CongestionEvent::Loss { count: 1, largest };
                let _ = self.control.on_congestion(&mut self.sender.cx(), loss);
            }
            What::Ack { packets, echo, rtt } => self.handle_ack(packets, echo, rtt),
        }
        // A pacer follows the rate immediately.
        let paced = self
            .control
            .pacing()
            .map(|rate| rate.span_of(Bytes::new(PS)));
        self.next_send = self
            .next_send
            .min(self.sender.now + paced.unwrap_or(Span::ZERO));
        self.next_send = self.next_send.max(self.sender.now).max(self.free_at);
    }

    fn handle_ack(&mut self, packets: u64, echo: Echo, rtt: Span) {
        self.sender.smoothed_rtt = Some(rtt);
        if let Some(every) = self.link.delayed_ack_count.filter(|_| packets > 0) {
            let bits = packets * 8 * PS * (Span::from_secs(1).as_ps() / every.as_ps());
            self.sender.receiving_rate = Some(Rate::from_bits_per_second(bits));
        }
        self.sender.snd_una += packets;
        let ack = AckSample {
            rtt: Some(rtt),
            ..sample(packets * PS, echo)
        };
        self.control.on_ack(&mut self.sender.cx(), &ack);
        if echo == Echo::Congestion {
            let _ = self
                .control
                .on_congestion(&mut self.sender.cx(), CongestionEvent::Ecn);
        }
    }
}
