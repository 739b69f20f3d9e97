//! Accurate ACKs: their agreement, their times, and counts that lost ACKs do not change.

use std::sync::{Arc, Mutex};

use incastle_congestion::{
    AckSample, Algorithm, CongestionEvent, Context, ControlState, Controller, Echo,
    NamedController, Phase, Reaction, TransmissionMode, Window,
};
use incastle_transport::udt::wire::{AccurateAck, AckCounts, AckRate, Control, Dialect};
use incastle_transport::udt::{Accurate, Config, Event};
use incastle_units::{Bytes, Ecn, Span};
use proptest::prelude::*;

use super::hand::{Hand, number, udt};
use super::net::{
    Net, Path, Side, accurate_config, dcudp_config, mbit, pattern, transfer, udt_config,
};

/// What a controller was told.
#[derive(Debug, Clone, Default)]
struct Told {
    acked: u64,
    marked: u64,
    segments: u64,
    marked_segments: u64,
    echoes: u32,
    losses: Vec<u64>,
    timeouts: u32,
    phases: Vec<Phase>,
    rtts: Vec<Span>,
}

/// A fixed window that records.
struct Recorder {
    told: Arc<Mutex<Told>>,
    window: u64,
}

impl Controller for Recorder {
    fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &AckSample<'_>) {
        let mut told = self.told.lock().expect("one thread");
        let packets = if ack.acked > Bytes::ZERO {
            u64::from(ack.segments)
        } else {
            0
        };
        told.acked += ack.acked.count();
        told.segments += packets;
        if ack.echo == Echo::Congestion {
            told.marked += ack.acked.count();
            told.marked_segments += packets;
        }
        told.phases.push(ack.phase);
        told.rtts.extend(ack.rtt);
    }

    fn on_congestion(&mut self, _cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        let mut told = self.told.lock().expect("one thread");
        match event {
            CongestionEvent::Ecn => told.echoes += 1,
            CongestionEvent::Loss { largest, .. } => told.losses.push(largest),
            CongestionEvent::Timeout { .. } => told.timeouts += 1,
            CongestionEvent::IdleRestart | CongestionEvent::Over => {}
        }
        Reaction::Ignored
    }

    fn window(&self) -> Window {
        Window::Limited(Bytes::new(self.window))
    }

    fn state(&self) -> ControlState {
        ControlState::default()
    }
}

fn rate(packets: u8, per_rtt: u8) -> Accurate {
    Accurate {
        rate: AckRate { packets, per_rtt },
        ..Accurate::default()
    }
}

/// A simulated endpoint with accurate ACKs.
fn simulated(accurate: Accurate) -> Config {
    Config {
        accurate: Some(accurate),
        ..udt()
    }
}

fn recording(config: &Config, packets: u64) -> (Hand, Arc<Mutex<Told>>) {
    let told = Arc::new(Mutex::new(Told::default()));
    let recorder = Recorder {
        told: Arc::clone(&told),
        window: packets * u64::from(Config::payload_of(config.packet_size)),
    };
    let hand = Hand::with(config, Algorithm::Custom(Box::new(recorder)));
    (hand, told)
}

fn accurate_ack(next: u32, newest: u32, [arrived, ce, lost]: [u32; 3]) -> Control {
    Control::AccurateAck(AccurateAck {
        next: number(next),
        newest: number(newest),
        delay_us: 10,
        counts: AckCounts {
            arrived,
            ce,
            ect: arrived - ce,
            lost,
        },
    })
}

/// Each pair of endpoints, the dialect that both use, and whether each falls back.
#[test]
fn only_two_endpoints_that_have_them_agree_on_accurate_acks() {
    let server = Config {
        accurate: Some(Accurate::default()),
        ..dcudp_config()
    };
    let cases = [
        (
            accurate_config(),
            accurate_config(),
            Dialect::Accurate,
            [false, false],
        ),
        (accurate_config(), udt_config(), Dialect::Udt, [true, false]),
        (udt_config(), accurate_config(), Dialect::Udt, [false, true]),
        (
            accurate_config(),
            dcudp_config(),
            Dialect::Udt,
            [true, true],
        ),
        (
            dcudp_config(),
            accurate_config(),
            Dialect::Udt,
            [true, true],
        ),
        // A DCUDP server answers both offers; with accurate ACKs it sends under UDT's control.
        (dcudp_config(), server, Dialect::Dcudp, [false, false]),
        (accurate_config(), server, Dialect::Accurate, [false, true]),
    ];
    for (a, b, dialect, falls_back) in cases {
        let mut net = Net::client_server(1, Path::default(), &a, &b);
        transfer(&mut net, 300_000, Span::from_secs(20));
        for (side, fallen) in [Side::A, Side::B].into_iter().zip(falls_back) {
            let end = net.end(side);
            assert_eq!(end.core().dialect(), dialect);
            assert_eq!(end.has(Event::Fallback), fallen, "{side:?} {a:?} {b:?}");
            let alpha = end.core().control_state().alpha;
            let dctcp = end.core().is_established() && !fallen && dialect == Dialect::Accurate;
            assert_eq!(
                alpha.is_some(),
                dctcp,
                "a fallen endpoint has UDT's control"
            );
        }
    }
}

#[test]
fn a_rendezvous_agrees_on_accurate_acks() {
    let config = accurate_config();
    let mut net = Net::rendezvous(3, Path::default(), &config, &config);
    transfer(&mut net, 300_000, Span::from_secs(5));
    assert_eq!(net.a.core().dialect(), Dialect::Accurate);
    assert_eq!(net.b.core().dialect(), Dialect::Accurate);
}

/// Connections of a path of 100 us each way; the peer's first packet has number 100.
#[test]
fn every_third_packet_has_an_ack_and_a_lone_one_after_a_quarter_of_the_round_trip() {
    let mut hand = Hand::new(&simulated(rate(3, 4)));
    for sequence in 100..103 {
        hand.arrive(sequence, Ecn::Ect0);
        let due = hand
            .controls()
            .iter()
            .any(|it| matches!(it, Control::AccurateAck(_)));
        assert_eq!(due, sequence == 102);
    }
    hand.go(1).arrive(103, Ecn::Ce);
    assert_eq!(hand.controls(), []);
    // The round trip of the request that was answered: 100 us / 4.
    assert_eq!(hand.timer_us(), 26);
    hand.go(26);
    let ack = Control::AccurateAck(AccurateAck {
        next: number(104),
        newest: number(103),
        delay_us: 25,
        counts: AckCounts {
            arrived: 4,
            ce: 1,
            ect: 3,
            lost: 0,
        },
    });
    assert_eq!(hand.controls(), [ack]);
}

#[test]
fn gaps_duplicates_and_late_packets_are_counted_once() {
    let mut hand = Hand::new(&simulated(rate(1, 1)));
    for (sequence, ecn) in [
        (100, Ecn::Ect0),
        (104, Ecn::Ce),
        (104, Ecn::Ce),
        (102, Ecn::Ect1),
        (102, Ecn::Ce),
    ] {
        hand.arrive(sequence, ecn);
        hand.poll();
    }
    let counts = AckCounts {
        arrived: 3,
        ce: 1,
        ect: 2,
        lost: 3,
    };
    assert_eq!(hand.connection.received_counts(), counts);
}

#[test]
fn an_ack_of_marked_and_other_packets_is_two_samples() {
    let (mut hand, told) = recording(&simulated(rate(2, 4)), 20);
    hand.connection.write(100 * 1456);
    assert_eq!(hand.data().len(), 20);
    hand.go(300).control(accurate_ack(110, 109, [10, 3, 0]));
    let first = told.lock().expect("one thread").clone();
    assert_eq!((first.segments, first.marked_segments), (10, 3));
    assert_eq!((first.acked, first.marked), (14_560, 3 * 1456));
    assert_eq!(first.echoes, 1);
    // 300 us, without the 10 us for which the ACK waited; once.
    assert_eq!(first.rtts, [Span::from_us(290)]);
    // Ten more may leave, and an older ACK changes nothing.
    assert_eq!(hand.data().len(), 10);
    hand.control(accurate_ack(108, 107, [8, 2, 0]));
    assert_eq!(told.lock().expect("one thread").marked_segments, 3);
}

#[test]
fn impossible_counts_are_refused() {
    let (mut hand, told) = recording(&simulated(rate(2, 4)), 20);
    hand.connection.write(100 * 1456);
    hand.data();
    // Of 20 packets 21 arrived; two marks of one packet; a packet that was never sent is expected.
    for (refused, (next, counts)) in [(102, [21, 1, 0]), (130, [2, 1, 0])]
        .into_iter()
        .enumerate()
    {
        hand.control(accurate_ack(next, 101, counts));
        assert_eq!(hand.connection.stats().refused.acks, refused as u64 + 1);
    }
    hand.control(Control::AccurateAck(AccurateAck {
        next: number(101),
        newest: number(100),
        delay_us: 0,
        counts: AckCounts {
            arrived: 1,
            ce: 2,
            ect: 0,
            lost: 0,
        },
    }));
    assert_eq!(hand.connection.stats().refused.acks, 3);
    assert_eq!(told.lock().expect("one thread").segments, 0);
    assert_eq!(hand.connection.unacknowledged(), 100 * 1456);
}

#[test]
fn a_recovery_has_one_loss_and_new_data_leave_as_others_arrive() {
    let (mut hand, told) = recording(&simulated(rate(1, 4)), 20);
    hand.connection.write(1000 * 1456);
    assert_eq!(hand.data().len(), 20);
    // Packets 100 and 105 are missing; 20 others would be in the network without the seven that arrived.
    hand.go(300).nak(&[100..=100]);
    assert_eq!(hand.data(), [100]);
    hand.control(accurate_ack(100, 108, [7, 0, 2]));
    hand.nak(&[105..=105]);
    assert_eq!(hand.data(), [vec![105], (120..127).collect()].concat());
    assert_eq!(told.lock().expect("one thread").losses, [0]);
    // The loss of a packet that was sent afterwards is another one.
    hand.nak(&[123..=123]);
    let told = told.lock().expect("one thread");
    assert_eq!(told.losses, [0, 23]);
    assert_eq!(told.phases, [Phase::Recovery]);
}

#[test]
fn after_a_timeout_the_window_limits_what_is_sent_again() {
    let (mut hand, told) = recording(&simulated(rate(1, 4)), 4);
    hand.connection.write(1000 * 1456);
    assert_eq!(hand.data(), [100, 101, 102, 103]);
    hand.go(2_000_000);
    assert_eq!(told.lock().expect("one thread").timeouts, 1);
    assert_eq!(hand.data(), [100, 101, 102, 103]);
    hand.control(accurate_ack(102, 101, [2, 0, 0]));
    assert_eq!(hand.data(), [104, 105]);
    // A packet that was sent twice gives no round trip.
    assert_eq!(told.lock().expect("one thread").rtts, []);
}

#[test]
fn a_path_that_clears_ect_ends_ecn_and_not_the_control() {
    let path = Path {
        bleaches: true,
        ..Path::default()
    };
    let config = accurate_config();
    let mut net = Net::client_server(5, path, &config, &config);
    transfer(&mut net, 300_000, Span::from_secs(5));
    assert!(net.a.has(Event::NoEcn));
    assert!(!net.a.core().carries_ect());
    assert!(net.a.core().control_state().alpha.is_some());
}

/// DCTCP at 1 Gbit/s, 100 us: the queue's threshold of 15 packets is above C x RTT / 7 (Alizadeh et al., equation
/// 13), so the link is always busy. 20 MB take 165 ms.
#[test]
fn dctcp_fills_the_link() {
    let config = accurate_config();
    let mut net = Net::client_server(7, Path::default(), &config, &config);
    let took = transfer(&mut net, 20_000_000, Span::from_secs(2));
    assert!(took < Span::from_ms(185), "{took:?}");
    assert_eq!(net.a.core().stats().retransmissions, 0);
    assert!(net.a.core().stats().ecn_reductions > 10);
}

/// Accurate ACKs at 1 Gbit/s, for the revised DCUDP: it begins at its interface's rate.
fn interface_config() -> Config {
    Config {
        interface: Some(mbit(1_000)),
        packet_pairs: false,
        ..accurate_config()
    }
}

/// 20 MB take 165 ms. Random loss is no congestion to it where marks are the signal.
#[test]
fn the_revised_dcudp_fills_the_link_with_and_without_loss() {
    for loss in [0, 10] {
        let path = Path {
            loss,
            ..Path::default()
        };
        let config = interface_config();
        let mut net = Net::under(NamedController::DcudpR, 13, path, &config);
        let took = transfer(&mut net, 20_000_000, Span::from_secs(2));
        assert!(took < Span::from_ms(185), "{took:?}");
        assert_eq!(net.a.core().stats().retransmissions > 0, loss > 0);
        assert_eq!(net.a.core().stats().ecn_reductions, 0, "there is no CWR");
    }
}

/// At an interface ten times as fast as the link it is marked, and no packet is lost.
#[test]
fn the_revised_dcudp_finds_a_slower_link_by_its_marks() {
    let config = Config {
        interface: Some(mbit(10_000)),
        ..interface_config()
    };
    let mut net = Net::under(NamedController::DcudpR, 17, Path::default(), &config);
    let took = transfer(&mut net, 20_000_000, Span::from_secs(2));
    assert!(took < Span::from_ms(185), "{took:?}");
    assert_eq!(net.a.core().stats().retransmissions, 0);
    assert!(net.b.core().received_counts().ce > 100);
    let state = net.a.core().control_state();
    assert_eq!(state.mode, Some(TransmissionMode::Congestion));
}

/// A round trip that grows from 4 ms to 120 ms, beyond EXP (4 RTT + RTTVar + SYN): all data are repeated until EXP has
/// backed off far enough that one packet is acknowledged before, which gives a sample (Karn and Partridge 1987).
#[test]
fn a_round_trip_beyond_exp_is_learned() {
    let path = Path {
        delay: Span::from_ms(2),
        ..Path::default()
    };
    let config = interface_config();
    let mut net = Net::under(NamedController::DcudpR, 23, path, &config);
    transfer(&mut net, 100_000, Span::from_secs(1));
    net.path.delay = Span::from_ms(60);
    transfer(&mut net, 2_000_000, Span::from_secs(10));
    let timeouts = net.a.core().stats().timeouts;
    assert!((1..10).contains(&timeouts), "{timeouts} timeouts");
    assert!(net.a.core().smoothed_rtt() > Span::from_ms(100));
}

/// It learns that marks will never come, and each round with a loss halves the window. 167 packets fill the path.
#[test]
fn without_ecn_the_revised_dcudp_halves_at_losses() {
    let took = [false, true].map(|bleaches| {
        let path = Path {
            bleaches,
            loss: 10,
            delay: Span::from_ms(1),
            ..Path::default()
        };
        let config = interface_config();
        let mut net = Net::under(NamedController::DcudpR, 19, path, &config);
        let took = transfer(&mut net, 20_000_000, Span::from_secs(20));
        assert_eq!(net.a.has(Event::NoEcn), bleaches);
        took
    });
    assert!(took[0] < Span::from_ms(250), "{took:?}");
    assert!(took[1] > took[0] * 2, "{took:?}");
}

/// BBR has samples of the delivery rate. With 1 % loss a window that halves at each loss would have 1.2 / sqrt(0.01)
/// = 12 packets on average (Mathis et al. 1997).
#[test]
fn bbr_fills_the_link_under_loss() {
    let config = Config {
        accurate: Some(Accurate {
            ecn: Ecn::NotEct,
            ..Accurate::default()
        }),
        ..accurate_config()
    };
    let path = Path {
        loss: 10,
        delay: Span::from_ms(1),
        ..Path::default()
    };
    let mut net = Net::client_server(11, path, &config, &config);
    // 20 MB take 165 ms at least; NewReno would have 12 packets in 2 ms, and take 2.3 s.
    let took = transfer(&mut net, 20_000_000, Span::from_secs(5));
    assert!(took < Span::from_ms(700), "{took:?}");
    assert_eq!(net.b.core().received_counts().ect, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Random marks, and losses in both directions: at the end the sender has the receiver's counts.
    #[test]
    fn lost_acks_change_no_count(
        seed: u64, marking in 1_u64..600, loss in 0_u64..100, packets in 1_u8..40, per_rtt in 1_u8..20,
    ) {
        let path = Path { marking, loss, rate: mbit(10_000), ..Path::default() };
        let config = Config { accurate: Some(rate(packets, per_rtt)), ..accurate_config() };
        let mut net = Net::client_server(seed, path, &config, &config);
        transfer(&mut net, 400_000, Span::from_secs(60));
        // Without losses the last ACKs come.
        net.path.loss = 0;
        let data = [pattern(1, 0)];
        prop_assert_eq!(net.a.connection.as_mut().expect("a connection").write(&data), 1);
        net.run(Span::from_secs(10));
        let (sent, received) = (net.a.core(), net.b.core());
        prop_assert_eq!(sent.unacknowledged(), 0);
        let counts = received.received_counts();
        prop_assert_eq!(sent.reported_counts(), Some(counts));
        prop_assert!(u64::from(counts.arrived) > 400_000 / 1456);
        prop_assert!(counts.ce > 0 || marking < 20);
        prop_assert_eq!(counts.ce + counts.ect, counts.arrived);
    }
}
