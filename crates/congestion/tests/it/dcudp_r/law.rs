//! The law of docs/models/dcudp-r.md, number by number.

use incastle_congestion::{
    AckSample, CongestionEvent, Controller, DcudpR, DcudpRConfig, Echo, LimitedBy, Reaction,
    TransmissionMode, Window,
};
use incastle_units::{Bytes, Rate, Span, Time};

use crate::support::{Sender, sample};

const PACKET: u64 = 1456;
const RTT: Span = Span::from_us(100);

/// A sender at 10 Gbit/s that counts packets, as UDT does.
struct Connection {
    sender: Sender,
    control: DcudpR,
}

impl Connection {
    fn new() -> Self {
        let sender = Sender {
            capacity: Some(Rate::from_bits_per_second(10_000_000_000)),
            ..Sender::default()
        };
        let control = DcudpR::new(DcudpRConfig::new(Bytes::new(PACKET)));
        Self { sender, control }
    }

    fn send(&mut self, packets: u64) {
        self.sender.snd_nxt += packets;
        self.count();
        self.control
            .on_sent(&mut self.sender.cx(), Bytes::new(packets * PACKET));
    }

    fn count(&mut self) {
        let outstanding = self.sender.snd_nxt - self.sender.snd_una;
        self.sender.in_flight = Bytes::new(outstanding * PACKET);
    }

    fn ack_with(&mut self, packets: u64, ack: AckSample<'_>) {
        self.sender.snd_una += packets;
        self.count();
        self.control.on_ack(&mut self.sender.cx(), &ack);
    }

    fn ack(&mut self, packets: u64, echo: Echo, rtt: Span) {
        let mut ack = sample(packets * PACKET, echo);
        ack.rtt = Some(rtt);
        self.ack_with(packets, ack);
    }

    /// The window in packets.
    fn w(&self) -> f64 {
        self.control.state().cwnd.expect("a window").count() as f64 / PACKET as f64
    }

    fn mode(&self) -> Option<TransmissionMode> {
        self.control.state().mode
    }

    fn lose(&mut self, count: u32) {
        let largest = self.sender.snd_una;
        let loss = CongestionEvent::Loss { count, largest };
        let reaction = self.control.on_congestion(&mut self.sender.cx(), loss);
        assert_eq!(reaction, Reaction::Ignored, "no CWR for a loss");
    }
}

fn near(value: f64, expected: f64) {
    // A byte of the packet: the state is in whole bytes.
    assert!((value - expected).abs() < 0.001, "{value} for {expected}");
}

/// In congestion mode with a window of 16 packets: 32 packets came at twice the round trip of an empty link.
fn congested() -> Connection {
    let mut connection = Connection::new();
    connection.send(33);
    connection.ack(1, Echo::Clear, RTT);
    // 32 outstanding, one of them is marked; the window is 33.
    connection.ack(1, Echo::Congestion, RTT * 2);
    assert_eq!(connection.mode(), Some(TransmissionMode::Congestion));
    // min(33, 31 + 1) x 100 / 200 = 16.
    near(connection.w(), 16.0);
    // The rest of the round, and the data that left in it, change nothing.
    connection.ack(31, Echo::Congestion, RTT * 2);
    connection.send(4);
    connection.ack(4, Echo::Congestion, RTT * 2);
    near(connection.w(), 16.0);
    connection
}

#[test]
fn it_starts_at_the_interfaces_rate_with_32_packets() {
    let mut connection = Connection::new();
    assert_eq!(
        connection.control.window(),
        Window::Limited(Bytes::new(33 * PACKET))
    );
    assert_eq!(connection.control.pacing(), None);
    connection.send(1);
    // 10 Gbit/s of packets of 1500 B, their payload: 9.70667 Gbit/s.
    assert_eq!(
        connection.control.pacing(),
        Some(Rate::from_bits_per_second(9_706_666_666))
    );
    assert_eq!(connection.mode(), Some(TransmissionMode::Udp));
}

#[test]
fn udp_mode_grows_by_each_packet_up_to_what_the_interface_fills() {
    let mut connection = Connection::new();
    connection.send(32);
    connection.ack(32, Echo::Clear, RTT);
    near(connection.w(), 64.0);
    connection.send(300);
    connection.ack(300, Echo::Clear, RTT);
    // 10^10 / 12,000 packets/s x (1.25 x 100 us + 1 ms / 4) = 312.5.
    near(connection.w(), 312.5);
}

#[test]
fn the_first_mark_leaves_the_part_of_the_link_without_its_queue() {
    congested();
}

#[test]
fn a_sender_with_hardly_anything_to_send_keeps_a_packet() {
    let mut connection = Connection::new();
    connection.send(1);
    connection.ack(1, Echo::Clear, RTT);
    connection.send(1);
    connection.ack(1, Echo::Congestion, RTT * 50);
    near(connection.w(), 1.0);
}

#[test]
fn an_unmarked_packet_adds_kappa_over_the_root_of_w() {
    let mut connection = congested();
    // The smoothed round trip after samples of 100 and 3 x 200: 100, 112.5, 123.4375, 133.0078 us.
    // A round trip of 200 us more: 141.3818 us. w = 16 x 1000 / 141.3818 = 113.169; 2 / sqrt(w) = 0.188004;
    // x 0.1413818 = 0.026580.
    connection.send(10);
    connection.ack(1, Echo::Clear, RTT * 2);
    near(connection.w(), 16.0266);
}

#[test]
fn a_marked_packet_takes_half_a_packet_per_interval() {
    let mut connection = congested();
    connection.send(10);
    // 16 - 0.5 x 3 x 0.1413818 = 15.78793.
    connection.ack(3, Echo::Congestion, RTT * 2);
    near(connection.w(), 15.7879);
    // Marks on more packets than a window in one ACK take no more than those of a window would: 5 RTT more, T = 1 ms.
    connection.send(1000);
    let before = connection.w();
    connection.ack(1000, Echo::Congestion, RTT * 2);
    // RTT 148.7091 us: 15.78793 x (1 - 0.5 x 0.1487091) = 14.61402.
    near(connection.w(), before * (1.0 - 0.5 * 0.148_709_1));
}

#[test]
fn long_round_trips_have_an_interval_of_four_of_them() {
    let mut connection = Connection::new();
    connection.send(33);
    let far = Span::from_ms(10);
    connection.ack(1, Echo::Clear, far);
    connection.ack(32, Echo::Congestion, far);
    connection.send(1);
    connection.ack(1, Echo::Clear, far);
    // min(33, 0 + 32) = 32, RTT / T = 1/4.
    near(connection.w(), 32.0);
    connection.send(10);
    connection.ack(4, Echo::Congestion, far);
    near(connection.w(), 31.5);
    // w = 126; 2 / sqrt(126) / 4 = 0.044544.
    connection.ack(1, Echo::Clear, far);
    near(connection.w(), 31.5445);
}

#[test]
fn without_the_window_as_limit_it_does_not_grow() {
    let mut connection = Connection::new();
    connection.send(10);
    let idle = AckSample {
        limited_by: LimitedBy::Application,
        rtt: Some(RTT),
        ..sample(10 * PACKET, Echo::Clear)
    };
    connection.ack_with(10, idle);
    near(connection.w(), 32.0);
}

#[test]
fn a_calm_of_an_interval_doubles_the_gain_until_the_interface_is_full() {
    let mut connection = congested();
    // Once the estimate has come down to the path's: 60 samples.
    for _ in 0..60 {
        connection.send(1);
        connection.ack(1, Echo::Clear, RTT);
    }
    let mut growth = vec![];
    for _ in 0..40 {
        let before = connection.w();
        connection.sender.now += RTT;
        connection.send(1);
        connection.ack(1, Echo::Clear, RTT);
        growth.push(connection.w() - before);
    }
    // 2 / sqrt(10 W) / 10 at first, at most 1/4 per packet, which is a quarter of W per round.
    let first = 0.2 / (10.0 * (connection.w() - growth.iter().sum::<f64>())).sqrt();
    assert!((growth[0] - first).abs() < 0.001, "{growth:?}");
    near(growth[39], 0.25);
    let doubled = growth
        .windows(2)
        .filter(|pair| pair[1] > 1.8 * pair[0])
        .count();
    assert!((3..=5).contains(&doubled), "{growth:?}");
    // A mark ends it: the plain law again.
    connection.send(2);
    connection.ack(1, Echo::Congestion, RTT);
    let before = connection.w();
    connection.ack(1, Echo::Clear, RTT);
    assert!(connection.w() - before < 0.02);
}

#[test]
fn a_window_that_fills_the_interface_is_udp_mode_again() {
    let mut connection = congested();
    for _ in 0..2000 {
        connection.sender.now += RTT;
        connection.send(1);
        connection.ack(1, Echo::Clear, RTT);
    }
    // 10^10 / 12,000 x 100 us = 83.3 packets and more.
    assert_eq!(connection.mode(), Some(TransmissionMode::Udp));
    assert!(connection.w() > 83.0);
}

#[test]
fn losses_up_to_a_twentieth_are_random() {
    let mut connection = congested();
    connection.sender.now += RTT * 10;
    connection.lose(6);
    near(connection.w(), 16.0);
    // More than 0.05 x 128 = 6.4.
    connection.lose(1);
    near(connection.w(), 8.0);
    // Once per round trip.
    connection.lose(100);
    near(connection.w(), 8.0);
    connection.sender.now += RTT * 10;
    connection.lose(1);
    near(connection.w(), 4.0);
}

#[test]
fn few_losses_are_forgotten_with_their_packets() {
    let mut connection = congested();
    connection.sender.now += RTT * 10;
    for _ in 0..10 {
        connection.send(200);
        connection.lose(6);
        let before = connection.w();
        connection.ack(200, Echo::Clear, RTT * 2);
        assert!(connection.w() >= before);
    }
}

#[test]
fn without_ecn_each_round_with_a_loss_halves() {
    let mut connection = congested();
    connection.sender.now += RTT * 10;
    connection.control.on_ecn_lost();
    connection.lose(1);
    near(connection.w(), 8.0);
    connection.lose(1);
    near(connection.w(), 8.0);
}

#[test]
fn a_second_timeout_halves_and_a_pause_leaves_the_first_window() {
    let mut connection = congested();
    let reaction = connection.sender.time_out(&mut connection.control, 0);
    assert_eq!(reaction, Reaction::Ignored);
    near(connection.w(), 16.0);
    let reaction = connection.sender.time_out(&mut connection.control, 1);
    assert_eq!(reaction, Reaction::Reduced);
    near(connection.w(), 8.0);
    let mut connection = Connection::new();
    connection.send(32);
    connection.ack(32, Echo::Clear, RTT);
    let reaction = connection
        .control
        .on_congestion(&mut connection.sender.cx(), CongestionEvent::IdleRestart);
    assert_eq!(reaction, Reaction::Ignored);
    near(connection.w(), 32.0);
}

#[test]
fn the_pacer_exceeds_the_window_by_a_quarter_and_for_small_windows_less() {
    let mut connection = congested();
    connection.send(1);
    connection.sender.now += Span::from_us(1);
    connection.ack(1, Echo::Clear, RTT * 2);
    // 1.25 x 16.0266 x 1456 x 8 bit / 200 us.
    let paced = connection
        .control
        .pacing()
        .expect("a rate")
        .bits_per_second() as f64;
    assert!((paced / 1.166_74e9 - 1.0).abs() < 1e-4, "{paced}");
    for _ in 0..3 {
        let _ = connection.sender.time_out(&mut connection.control, 1);
    }
    // W = 2.0033: 1 + 0.25 x 2.0033 / 16 = 1.0313.
    let paced = connection
        .control
        .pacing()
        .expect("a rate")
        .bits_per_second() as f64;
    assert!((paced / 1.203_3e8 - 1.0).abs() < 1e-3, "{paced}");
    assert_eq!(connection.sender.now, Time::ZERO + Span::from_us(1));
}
