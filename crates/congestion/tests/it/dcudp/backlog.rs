//! The release of the backlog after the return to UDP mode.

use incastle_congestion::{CongestionEvent, Controller, DcudpBacklog, DcudpConfig, Echo};
use incastle_units::{Bytes, Rate, Span, Time};

use super::{Connection, PS, config, packets};

/// A connection whose application has written `written` packets, and writes one more each `gap`.
struct Writer {
    connection: Connection,
    written: u64,
    gap: Option<Span>,
    sent: u64,
}

impl Writer {
    fn new(backlog: DcudpBacklog, written: u64, gap: Option<Span>) -> Self {
        let config = DcudpConfig {
            backlog,
            ..config()
        };
        Self {
            connection: Connection::new(config),
            written,
            gap,
            sent: 0,
        }
    }

    /// Sends a packet every `every`, `count` times; nothing is in flight for long.
    fn send(&mut self, every: Span, count: u64) {
        for _ in 0..count {
            let now = self.connection.sender.now;
            let more = self.gap.map_or(0, |gap| now.as_ps() / gap.as_ps());
            self.sent += 1;
            let sender = &mut self.connection.sender;
            sender.snd_nxt = self.sent;
            sender.remaining = Some(Bytes::new((self.written + more + 1 - self.sent) * PS));
            sender.in_flight = Bytes::new(PS);
            self.connection.send();
            self.connection.sender.now = now + every;
        }
    }

    /// Congestion mode, with a packet every `every`, and back; gives the pacing rate after it.
    fn congested(&mut self, every: Span, count: u64) -> Rate {
        self.connection.frozen_ack(Echo::Congestion);
        self.send(every, count);
        let _ = self.connection.report(CongestionEvent::Over);
        self.connection
            .control
            .pacing()
            .expect("a paced controller")
    }
}

#[test]
fn a_backlog_leaves_at_the_interface_s_rate_or_at_the_application_s() {
    // 50,000 packets per second are written; in congestion mode half of them leave.
    let (gap, twice) = (Span::from_us(20), Span::from_us(40));
    for (backlog, expected) in [
        (DcudpBacklog::Interface, 100_000),
        (DcudpBacklog::AppRate, 50_000),
    ] {
        let mut writer = Writer::new(backlog, 0, Some(gap));
        writer.send(gap, 1000);
        // Before any congestion it is the interface's under both.
        assert_eq!(writer.connection.control.pacing(), Some(packets(100_000)));
        let rate = writer.congested(twice, 1000);
        assert_eq!(rate, packets(expected));
    }
}

#[test]
fn what_was_written_at_the_start_has_no_rate() {
    let mut writer = Writer::new(DcudpBacklog::AppRate, 1_000_000, None);
    writer.send(Span::from_us(20), 1000);
    let rate = writer.congested(Span::from_us(40), 1000);
    assert_eq!(rate, packets(100_000));
}

#[test]
fn an_application_that_pauses_keeps_the_rate_that_it_had() {
    let gap = Span::from_us(20);
    let mut writer = Writer::new(DcudpBacklog::AppRate, 2000, Some(gap));
    writer.send(gap, 1000);
    // Nothing more is written while the backlog of 2000 leaves.
    let written = writer.connection.sender.now.as_ps() / gap.as_ps();
    (writer.written, writer.gap) = (writer.written + written, None);
    let rate = writer.congested(Span::from_us(40), 1000);
    let written = rate.bits_per_second() as f64 / packets(1).bits_per_second() as f64;
    // The look that spans the pause sees a part of it: 10 ms at most of two looks.
    assert!(written > 0.0 && written <= 50_001.0, "{written}");
    assert_eq!(writer.congested(Span::from_us(40), 500), rate);
}

#[test]
fn the_application_s_rate_is_that_of_the_last_10_ms() {
    let mut connection = Connection::new(DcudpConfig {
        backlog: DcudpBacklog::AppRate,
        ..config()
    });
    connection.frozen_ack(Echo::Congestion);
    let _ = connection.report(CongestionEvent::Over);
    // When a packet leaves, and what has been written by then; the packets before it are acknowledged.
    for (number, (ms, written)) in (1..).zip([(0, 1), (5, 101), (10, 401), (15, 901)]) {
        let sender = &mut connection.sender;
        sender.now = Time::ZERO + Span::from_ms(ms);
        sender.snd_nxt = number;
        sender.remaining = Some(Bytes::new((written - (number - 1)) * PS));
        sender.in_flight = Bytes::new(PS);
        connection.send();
        // 400 packets between the samples at 0 and at 10 ms; at 5 and at 15 ms there is none.
        let expected = if ms < 10 { 100_000 } else { 40_000 };
        assert_eq!(connection.control.pacing(), Some(packets(expected)));
    }
}
