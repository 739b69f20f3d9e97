//! The departures of data packets: pacing, windows, and changes of the rate.

use std::sync::Arc;

use incastle_congestion::Window;
use incastle_rdma::{
    Arrival, Config, DataAt, Opcode, Packet, QueuePair, RateChange, Transmission, Verb,
};
use incastle_units::{Bytes, Ecn, Rate, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::control::Fixed;
use super::net::{Net, config, us};
use super::script::play_on;

fn mbit(count: u64) -> Rate {
    Rate::from_bits_per_second(count * 1_000_000)
}

fn rng() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(1)
}

/// A pair with a message of three packets.
fn pair(config: Config, control: Fixed) -> QueuePair {
    let mut pair = QueuePair::new(Arc::new(config), control.into());
    pair.post(Verb::Write, 3 * u64::from(config.mtu));
    pair
}

fn paced(rate: Rate) -> Fixed {
    Fixed {
        rate: Some(rate),
        ..Fixed::default()
    }
}

/// 2 Gbit/s: 1000 bytes take 4 us, whatever the port could do. The request of a READ is not paced.
#[test]
fn packets_are_spaced() {
    let net = Net::controlled(&config(), || Fixed::rate(mbit(2_000)));
    play_on(
        net,
        &[(0, Verb::Write, 2000), (0, Verb::Read, 1000)],
        "0 A write 0 first
         4 A write 1 last req
         5 A read 2+1000
         11 B ack 0
         15 B ack 1
         15 B response 2 only",
    );
}

/// Default headers: 1024 + RETH 16 + 44 + 38 = 1122 bytes, then 1106, at 8 Gbit/s.
#[test]
fn pacing_counts_bytes_on_the_wire() {
    let config = Config {
        mtu: 1024,
        interframe_gap: Span::from_ns(7),
        ..Config::default()
    };
    let mut pair = pair(config, paced(mbit(8_000)));
    let mut at = Time::ZERO;
    for span in [1122, 1106, 1106] {
        assert_eq!(pair.data_at(at), DataAt::Now);
        assert!(pair.poll_data(at, &mut rng()).is_some());
        assert!(pair.poll_data(at, &mut rng()).is_none());
        let next = at + Span::from_ns(span + 7);
        let expected = if pair.unsent() > 0 {
            DataAt::At(next)
        } else {
            DataAt::Never
        };
        assert_eq!(pair.data_at(at), expected);
        at = next;
    }
}

/// A pause is not made up for.
#[test]
fn a_late_packet_delays_those_behind_it() {
    let mut pair = pair(config(), paced(mbit(8_000)));
    assert!(pair.poll_data(us(0), &mut rng()).is_some());
    assert!(pair.poll_data(us(50), &mut rng()).is_some());
    assert_eq!(pair.data_at(us(50)), DataAt::At(us(51)));
}

/// HPCC-ns3, `IsWinBound`: 1500 bytes let two packets of 1000 leave, and no third.
#[test]
fn the_last_packet_may_exceed_the_window() {
    for (window, packets) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (1500, 2), (2001, 3)] {
        let control = Fixed {
            window: Window::Limited(Bytes::new(window)),
            ..Fixed::default()
        };
        let mut pair = pair(config(), control);
        let sent = std::iter::from_fn(|| pair.poll_data(us(0), &mut rng())).count();
        assert_eq!(sent, packets, "a window of {window} bytes");
        assert_eq!(pair.data_at(us(0)), DataAt::Never);
    }
}

/// After an ACK that changes the rate from 4 Gbit/s, with two packets sent and one left.
fn pair_after_change(config: Config, then: Rate) -> QueuePair {
    let control = Fixed {
        then: Some(then),
        ..paced(mbit(4_000))
    };
    let mut pair = pair(config, control);
    let first = pair.poll_data(us(0), &mut rng()).expect("the first packet");
    let second = pair.poll_data(us(2), &mut rng());
    assert!(second.is_some());
    let ack = Packet {
        opcode: Opcode::Ack,
        payload: 0,
        ..first
    };
    let arrival = Arrival {
        packet: &ack,
        ecn: Ecn::NotEct,
        hops: &[],
        hop_count: None,
    };
    pair.handle(us(3), &arrival, &mut rng());
    pair
}

/// The instant of the next packet after that.
fn departure_after_change(rate_change: RateChange, then: Rate) -> DataAt {
    let config = Config {
        rate_change,
        ..config()
    };
    pair_after_change(config, then).data_at(us(3))
}

/// The third packet is scheduled at 4 us. At 1 Gbit/s the second takes 8 us, at 8 Gbit/s 1 us.
#[test]
fn a_new_rate_moves_the_next_departure_only_where_asked() {
    let next = RateChange::NextPacket;
    assert_eq!(departure_after_change(next, mbit(1_000)), DataAt::At(us(4)));
    assert_eq!(departure_after_change(next, mbit(8_000)), DataAt::At(us(4)));
    let moves = RateChange::MovesScheduled;
    assert_eq!(
        departure_after_change(moves, mbit(1_000)),
        DataAt::At(us(10))
    );
    assert_eq!(departure_after_change(moves, mbit(8_000)), DataAt::Now);
}

/// The third packet leaves at 4 us, and takes 8 us at 1 Gbit/s, 2 us at the first rate.
#[test]
fn without_the_bound_of_the_rate_the_first_one_paces() {
    for (rate_bound, next) in [(true, us(12)), (false, us(6))] {
        let config = Config {
            rate_bound,
            ..config()
        };
        let mut pair = pair_after_change(config, mbit(1_000));
        pair.post(Verb::Write, 1_000);
        assert!(pair.poll_data(us(4), &mut rng()).is_some());
        assert_eq!(pair.data_at(us(4)), DataAt::At(next));
    }
}

/// 1048 bytes at 10 Gbit/s: 838.4 ns, or 838 in ns-3.
#[test]
fn transmission_times_of_ns3() {
    for (transmission, ps) in [(Transmission::Exact, 838_400), (Transmission::Ns3, 838_000)] {
        let config = Config {
            transmission,
            ..Config::hpcc_ns3()
        };
        let mut pair = pair(config, paced(mbit(10_000)));
        assert!(pair.poll_data(us(0), &mut rng()).is_some());
        assert_eq!(pair.data_at(us(0)), DataAt::At(Time::from_ps(ps)));
    }
}
