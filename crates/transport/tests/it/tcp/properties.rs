//! Properties over networks that lose, reorder, repeat and mark. Every byte arrives once and in
//! order in both directions, the transfer ends, and the connection closes.

use incastle_cases::cases;
use incastle_congestion::{Algorithm, Dctcp, DctcpConfig, PacingRatio};
use incastle_transport::tcp::{
    CeChange, Config, Connection, EcnMode, Event, Flags, LossDetection, Recovery, Role, TimeoutKind,
};
use incastle_units::{Bytes, Span, Time, random};
use proptest::prelude::*;

use super::wire::{FIRST, Fate, Gathering, Packet, SplitMix, Timeout, Wire, config, ms, new_reno};

/// How the wire misbehaves, in percent of all packets.
#[derive(Debug, Clone)]
pub(super) struct Weather {
    seed: u64,
    loss: u64,
    reordering: u64,
    duplication: u64,
    marks: u64,
}

pub(super) fn weather() -> impl Strategy<Value = Weather> {
    (any::<u64>(), 0..30_u64, 0..30_u64, 0..10_u64, 0..30_u64).prop_map(
        |(seed, loss, reordering, duplication, marks)| Weather {
            seed,
            loss,
            reordering,
            duplication,
            marks,
        },
    )
}

impl Weather {
    pub(super) fn judge(&self) -> impl FnMut(&Packet) -> Fate + 'static {
        let mut rng = SplitMix(self.seed);
        let weather = self.clone();
        move |_| {
            let mut draw = random::below(&mut rng, 100);
            let extra = Span::from_us(random::below(&mut rng, 30_000));
            for (share, fate) in [
                (weather.loss, Fate::Drop),
                (weather.reordering, Fate::Delay(extra)),
                (weather.duplication, Fate::Twice(extra)),
                (weather.marks, Fate::Mark),
            ] {
                if draw < share {
                    return fate;
                }
                draw -= share;
            }
            Fate::Pass
        }
    }
}

fn ecn_mode() -> impl Strategy<Value = EcnMode> {
    prop_oneof![
        Just(EcnMode::Off),
        Just(EcnMode::Classic),
        Just(EcnMode::Dctcp(CeChange::Linux)),
        Just(EcnMode::Dctcp(CeChange::Figure10)),
    ]
}

fn recovery() -> impl Strategy<Value = Recovery> {
    prop_oneof![
        Just(Recovery::Reno),
        Just(Recovery::NewReno),
        Just(Recovery::Sack),
        Just(Recovery::RackTlp),
    ]
}

prop_compose! {
    pub(super) fn any_config()(
        recovery in recovery(),
        ecn in ecn_mode(),
        switches in any::<[bool; 7]>(),
        mss in 1_u16..2000,
        delayed_ack_count in 1_u32..5,
        burst in 1_u32..8,
        window in 1_u64..40_000,
        initial in 1_u64..20,
        mechanisms in any::<[bool; 4]>(),
    ) -> Config {
        let [handshake, timestamps, limited, idle, ect, randomized, paced] = switches;
        let mut config = Config {
            mss,
            recovery,
            ecn,
            handshake,
            timestamps,
            delayed_ack_count,
            burst,
            limited_transmit: limited,
            slow_start_after_idle: idle,
            pacing: paced.then_some(PacingRatio::LINUX),
            ect_on_control: ect,
            receive_window: Bytes::new(window.max(u64::from(mss) / 2)),
            initial_window: Bytes::new(initial * u64::from(mss)),
            ..config()
        };
        if recovery == Recovery::RackTlp {
            [config.tail_loss_probe, config.dsack, config.prr, config.f_rto] = mechanisms;
            // Not drawn, so that the stored regressions remain the same cases.
            if initial % 2 == 0 {
                config.loss_detection = LossDetection::Linux;
            }
        }
        config.rto.randomized = randomized;
        config.rto.max = Span::from_secs(2);
        config
    }
}

pub(super) fn controller(config: &Config, dctcp: bool) -> Algorithm {
    if !dctcp {
        return new_reno(config);
    }
    let mut control = DctcpConfig::new(Bytes::new(u64::from(config.mss)));
    control.window.initial_window = config.initial_window;
    Algorithm::Dctcp(Dctcp::new(control))
}

/// All data have arrived and are acknowledged, and no event is left.
pub(super) fn assert_complete(wire: &mut Wire, sizes: [u64; 2]) {
    for (end, size) in sizes.into_iter().enumerate() {
        assert_eq!(wire.endpoints[1 - end].delivered(), size);
        assert_eq!(wire.endpoints[end].acknowledged(), size);
        let finished = (end, Event::PeerFinished);
        let reported = wire
            .events
            .iter()
            .filter(|(_, e, event)| (*e, *event) == finished);
        assert_eq!(reported.count(), 1);
        assert!(wire.endpoints[end].is_closed());
        assert_eq!(wire.endpoints[end].poll_timeout(), None);
    }
}

/// The number of transmissions of the octet at SND.UNA (or the SYN) when the timer fired.
fn times_sent(wire: &Wire, timeout: &Timeout) -> usize {
    let una = timeout.report.una;
    let covers = |packet: &&Packet| {
        let is_syn = packet.has(Flags::SYN);
        if packet.from != timeout.from || timeout.report.max == 0 || is_syn {
            return packet.from == timeout.from && timeout.report.max == 0 && is_syn;
        }
        let octets = u64::from(packet.sent.segment.payload) + u64::from(packet.has(Flags::FIN));
        (packet.seq()..packet.seq() + octets).contains(&una)
    };
    wire.record[..timeout.before].iter().filter(covers).count()
}

/// Whether an ACK that had come by then reported something above SND.UNA.
fn is_reported(wire: &Wire, timeout: &Timeout) -> bool {
    let report = &timeout.report;
    let acks = wire.heard.iter().filter(|heard| {
        let (at, packet) = heard;
        *at <= timeout.at && packet.from != timeout.from
    });
    let mut blocks = acks.flat_map(|(_, packet)| &packet.sacks);
    blocks.any(|block| block.end.wrapping_sub(FIRST) > report.una as u32)
}

/// Every timeout has its report, of the kind that the packets on the wire show; the waits of one
/// end do not overlap.
fn assert_timeouts(wire: &Wire, sizes: [u64; 2], mss: u16) {
    let mut waited_until = [Time::ZERO; 2];
    let mut reported = [0, 0];
    for timeout in &wire.timeouts {
        let (at, end, report) = (timeout.at, timeout.from, &timeout.report);
        let all_sent = report.max == sizes[end] + 1;
        let expected = if times_sent(wire, timeout) > 1 {
            TimeoutKind::LostRetransmission
        } else if all_sent && report.max - report.una <= 3 * u64::from(mss) {
            TimeoutKind::LastPacket
        } else if report.dup_acks == 0 && !is_reported(wire, timeout) {
            TimeoutKind::FullWindow
        } else {
            TimeoutKind::FewDuplicates
        };
        assert_eq!(report.kind, expected, "{timeout:?}");
        assert!(at - report.waited >= waited_until[end], "{timeout:?}");
        waited_until[end] = at;
        reported[end] += 1;
    }
    let counted = [0, 1].map(|end: usize| wire.endpoints[end].stats().timeouts);
    assert_eq!(reported, counted);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(400)))]

    #[test]
    fn every_byte_arrives_once_and_in_order(
        config in any_config(),
        weather in weather(),
        dctcp in any::<bool>(),
        batching in any::<bool>(),
        segments in (0_u64..120, 0_u64..60),
        odd in (0_u64..1000, 0_u64..1000),
    ) {
        let sizes = [
            segments.0 * u64::from(config.mss) + odd.0 % u64::from(config.mss),
            segments.1 * u64::from(config.mss) + odd.1 % u64::from(config.mss),
        ];
        let end = |role| Connection::new(&config, controller(&config, dctcp), role);
        let mut wire = Wire::new([end(Role::Active), end(Role::Passive)], weather.judge());
        wire.gathering = if batching { Gathering::Batch } else { Gathering::Off };
        wire.endpoints[0].open(ms(0));
        for (end, size) in sizes.into_iter().enumerate() {
            // The application writes twice.
            wire.endpoints[end].write(size / 3);
            wire.endpoints[end].write(size - size / 3);
            wire.endpoints[end].close();
        }
        // In-order delivery never runs ahead of what was sent; time is bounded.
        let mut before = [0, 0];
        let limit = ms(4_000_000);
        let mut steps = 0_u64;
        while wire.step(limit) {
            steps += 1;
            assert!(steps < 2_000_000, "the transfer ends");
            for (end, before) in before.iter_mut().enumerate() {
                let delivered = wire.endpoints[end].delivered();
                let peer = &wire.endpoints[1 - end];
                assert!(delivered >= *before);
                assert!(delivered <= peer.snd_max() && delivered <= peer.written());
                assert!(peer.acknowledged() <= delivered);
                *before = delivered;
            }
        }
        assert_complete(&mut wire, sizes);
        assert_timeouts(&wire, sizes, config.mss);
    }

    #[test]
    fn a_reader_that_pauses_loses_nothing(
        config in any_config(),
        weather in weather(),
        pauses in prop::collection::vec((1_u64..500, 1_u64..5000), 1..20),
        size in 1_u64..60_000,
    ) {
        let config = Config { mss: config.mss.max(200), initial_window: Bytes::new(8000), ..config };
        let mut wire = Wire::symmetric(&config, weather.judge());
        wire.endpoints[0].open(ms(0));
        wire.endpoints[0].write(size);
        wire.endpoints[0].close();
        wire.endpoints[1].close();
        wire.endpoints[1].set_reading(false);
        for (wait, bytes) in pauses {
            let until = wire.now + Span::from_ms(wait);
            wire.run(until);
            wire.endpoints[1].read(bytes);
        }
        wire.endpoints[1].set_reading(true);
        wire.run(ms(4_000_000));
        assert_complete(&mut wire, [size, 0]);
    }

    #[test]
    fn without_loss_nothing_is_sent_twice(mut config in any_config(), segments in 1_u64..200) {
        if config.loss_detection == LossDetection::Linux {
            // Linux's probe timer expects an ACK for two segments.
            config.delayed_ack_count = config.delayed_ack_count.min(2);
        }
        let size = segments * u64::from(config.mss);
        let mut wire = Wire::symmetric(&config, |_| Fate::Pass);
        wire.endpoints[0].open(ms(0));
        wire.endpoints[0].write(size);
        wire.run(ms(4_000_000));
        prop_assert_eq!(wire.endpoints[1].delivered(), size);
        prop_assert_eq!(wire.endpoints[0].stats().retransmissions, 0);
        prop_assert_eq!(wire.endpoints[0].stats().payload_sent, size);
        prop_assert_eq!(wire.endpoints[0].stats().timeouts, 0);
    }
}
