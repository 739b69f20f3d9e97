//! Packets that no queue pair of this model sends: whatever arrives, in whatever order, a queue pair keeps its
//! invariants, which it asserts, and delivers no more than it was asked for.

use std::sync::Arc;

use incastle_cases::cases;
use incastle_congestion::Window;
use incastle_rdma::{
    Arrival, Config, Duplicates, MAX_PSN, Opcode, Packet, Place, QueuePair, Recovery, Verb,
};
use incastle_units::{Bytes, Ecn, Rate, Span, Time};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::control::Fixed;
use super::net::config;

#[derive(Debug, Clone)]
enum Op {
    Arrive(Packet, Ecn),
    Post(Verb, u64),
    Send,
    Wait(u64),
}

fn opcode() -> impl Strategy<Value = Opcode> {
    let places = [Place::First, Place::Middle, Place::Last, Place::Only];
    let place = prop::sample::select(places.to_vec());
    (0..7, place).prop_map(|(kind, place)| match kind {
        0 => Opcode::Send(place),
        1 => Opcode::Write(place),
        2 => Opcode::ReadRequest,
        3 => Opcode::ReadResponse(place),
        4 => Opcode::Ack,
        5 => Opcode::Nak,
        _ => Opcode::Cnp,
    })
}

/// Mostly near the first PSN.
fn psn() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 0_u32..30, 1 => MAX_PSN - 10..=MAX_PSN, 1 => 0..=MAX_PSN]
}

fn op() -> impl Strategy<Value = Op> {
    let length = prop_oneof![8 => 0_u32..6_000, 1 => any::<u32>()];
    let time = prop_oneof![4 => 0_u64..200, 1 => Just(u64::MAX)];
    let packet = (
        opcode(),
        psn(),
        length,
        0_u16..1100,
        time,
        any::<[bool; 3]>(),
    );
    let arrival = packet.prop_map(
        |(opcode, psn, length, payload, time, [ack_req, echo, ce])| {
            let packet = Packet {
                timestamp: Time::from_ps(time.saturating_mul(1_000_000)),
                psn,
                length,
                msn: 0,
                payload,
                opcode,
                ack_req,
                echo,
                retransmission: false,
            };
            Op::Arrive(packet, if ce { Ecn::Ce } else { Ecn::Ect0 })
        },
    );
    let verb = prop::sample::select(vec![Verb::Write, Verb::Send, Verb::Read]);
    prop_oneof![
        6 => arrival,
        1 => (verb, 1_u64..8_000).prop_map(|(verb, bytes)| Op::Post(verb, bytes)),
        3 => Just(Op::Send),
        1 => (0_u64..150).prop_map(Op::Wait),
    ]
}

fn settings() -> impl Strategy<Value = Config> {
    let recovery = prop::sample::select(vec![
        Recovery::GoBackN,
        Recovery::GoBackToZero,
        Recovery::Chunks(3),
    ]);
    let duplicates = prop::sample::select(vec![Duplicates::Acknowledged, Duplicates::Ignored]);
    (recovery, duplicates, 1_u8..4, 1_u16..4).prop_map(
        |(recovery, duplicates, max_reads, ack_every)| Config {
            recovery,
            duplicates,
            max_reads,
            ack_every,
            nak_interval: Some(Span::from_us(20)),
            ..config()
        },
    )
}

fn throw(config: Config, ops: Vec<Op>) {
    let control = Fixed {
        window: Window::Limited(Bytes::new(5_000)),
        rate: Some(Rate::from_bits_per_second(8_000_000_000)),
        ..Fixed::default()
    };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut pair = QueuePair::new(Arc::new(config), control.into());
    let (mut now, mut read) = (Time::ZERO, 0);
    let mut written = 0;
    for op in ops {
        match op {
            Op::Arrive(packet, ecn) => {
                let arrival = Arrival {
                    packet: &packet,
                    ecn,
                    hops: &[],
                    hop_count: None,
                };
                if packet.opcode.is_request() {
                    written += u64::from(packet.payload);
                }
                pair.handle(now, &arrival, &mut rng);
            }
            Op::Post(verb, bytes) => {
                pair.post(verb, bytes);
                if verb == Verb::Read {
                    read += bytes;
                }
            }
            Op::Send => {
                for _ in 0..3 {
                    let _ = pair.poll_data(now, &mut rng);
                }
            }
            Op::Wait(micros) => {
                now += Span::from_us(micros);
                pair.handle_timeout(now, &mut rng);
            }
        }
        // Few control packets answer one packet.
        let answers = std::iter::from_fn(|| pair.poll_control()).take(10).count();
        assert!(answers <= 3, "{answers} answers");
        while pair.poll_event().is_some() {}
        assert!(pair.delivered() <= read + written);
    }
}

/// A pair at which these packets have arrived; gives the bytes delivered and the PSNs of its responses.
fn after(packets: &[(Opcode, u32, u32, u16)]) -> (u64, Vec<u32>) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut pair = QueuePair::new(Arc::new(config()), Fixed::default().into());
    for (opcode, psn, length, payload) in packets {
        let packet = Packet {
            timestamp: Time::ZERO,
            psn: *psn,
            length: *length,
            msn: 0,
            payload: *payload,
            opcode: *opcode,
            ack_req: true,
            echo: false,
            retransmission: false,
        };
        let arrival = Arrival {
            packet: &packet,
            ecn: Ecn::Ect0,
            hops: &[],
            hop_count: None,
        };
        pair.handle(Time::ZERO, &arrival, &mut rng);
    }
    let responses = std::iter::from_fn(|| pair.poll_data(Time::ZERO, &mut rng));
    let psns = responses.map(|packet| packet.psn).collect();
    (pair.delivered(), psns)
}

/// A message begins with its first packet, and a READ's request comes between messages.
#[test]
fn packets_in_the_wrong_place_are_ignored() {
    let middle = (Opcode::Write(Place::Middle), 0, 0, 1000);
    assert_eq!(after(&[middle]).0, 0);
    let first = |psn| (Opcode::Write(Place::First), psn, 2000, 1000);
    assert_eq!(after(&[first(0), first(1)]).0, 1000);
    let read = (Opcode::ReadRequest, 1, 1000, 0);
    assert_eq!(after(&[first(0), read]), (1000, vec![]));
}

/// A repeated request that asks for more than was ever asked is not served, and the next one is.
#[test]
fn repeated_requests_beyond_what_is_expected_are_ignored() {
    let read = |psn, length| (Opcode::ReadRequest, psn, length, 0);
    let (_, psns) = after(&[read(0, 2000), read(0, 4000), read(2, 1000)]);
    assert_eq!(psns, [0, 1, 2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(4_000)))]

    #[test]
    fn forged_packets_do_no_harm(
        config in settings(),
        ops in prop::collection::vec(op(), 0..120),
    ) {
        throw(config, ops);
    }
}
