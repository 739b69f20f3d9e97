//! The limits of the sender: slow start, limits of the window, the peer's window, bursts, idleness,
//! pacing, and an application that stops.

use incastle_congestion::{
    AckSample, Algorithm, CongestionEvent, Context, ControlState, Controller, PacingRatio,
    Reaction, Swift, SwiftConfig, Window,
};
use incastle_transport::tcp::{Config, Connection, Event, Role};
use incastle_units::{Bytes, Rate, Span};

use super::script::write;
use super::wire::{Fate, Wire, assert_trace, config, ms, new_reno};

/// The number of A's segments that leave at each multiple of 20 ms.
fn flights(wire: &Wire, count: u64) -> Vec<usize> {
    (0..count)
        .map(|round| {
            let sent = |p: &&crate::tcp::wire::Packet| {
                p.from == 0 && p.at >= ms(20 * round) && p.at < ms(20 * (round + 1))
            };
            wire.record.iter().filter(sent).count()
        })
        .collect()
}

/// A transfer without an end, until that millisecond.
fn endless(config: &Config, until: u64) -> Wire {
    let mut wire = Wire::symmetric(config, |_| Fate::Pass);
    write(u64::MAX / 2, until)(&mut wire);
    wire
}

#[test]
fn slow_start_doubles() {
    let wire = endless(&config(), 100);
    assert_eq!(flights(&wire, 5), [4, 8, 16, 32, 64]);
}

#[test]
fn slow_start_with_delayed_acks_doubles_by_counted_bytes() {
    let config = Config {
        delayed_ack_count: 2,
        ..config()
    };
    let wire = endless(&config, 100);
    assert_eq!(flights(&wire, 5), [4, 8, 16, 32, 64]);
}

#[test]
fn max_cwnd_limits_the_flight() {
    let config = Config {
        max_cwnd: Some(Bytes::new(10_500)),
        ..config()
    };
    let wire = endless(&config, 200);
    assert_eq!(flights(&wire, 5), [4, 8, 10, 10, 10]);
    // The controller's window does not run away.
    let cwnd = wire.endpoints[0]
        .control_state()
        .cwnd
        .expect("a window")
        .count();
    assert!(cwnd < 14_000, "{cwnd}");
}

#[test]
fn the_receive_window_limits_the_flight() {
    let config = Config {
        receive_window: Bytes::new(6000),
        ..config()
    };
    let wire = endless(&config, 200);
    assert_eq!(flights(&wire, 5), [4, 6, 6, 6, 6]);
}

#[test]
fn zero_window_and_probe() {
    let config = Config {
        receive_window: Bytes::new(2000),
        ..config()
    };
    let mut wire = Wire::symmetric(&config, |_| Fate::Pass);
    wire.endpoints[1].set_reading(false);
    wire.endpoints[0].write(5000);
    wire.run(ms(900));
    assert_eq!(wire.endpoints[1].delivered(), 0);
    assert_eq!(wire.endpoints[0].stats().probes, 2);
    assert_eq!(wire.record[3].sent.segment.window, 0);
    wire.endpoints[1].set_reading(true);
    wire.run(ms(2000));
    assert_eq!(wire.endpoints[1].delivered(), 5000);
    assert_eq!(wire.endpoints[0].stats().timeouts, 0);
    assert_trace(
        &wire.trace,
        "0 A 0+1000
         0 A 1000+1000
         10 B ack 1000
         10 B ack 2000
         220 A ack 0 seq 1999
         230 B ack 2000
         620 A ack 0 seq 1999
         630 B ack 2000
         900 B ack 2000
         910 A 2000+1000
         910 A 3000+1000
         920 B ack 3000
         920 B ack 4000
         930 A 4000+1000
         940 B ack 5000",
    );
}

#[test]
fn a_lost_window_update_is_repaired_by_the_probe() {
    let config = Config {
        receive_window: Bytes::new(2000),
        ..config()
    };
    let mut wire = Wire::symmetric(&config, |packet| {
        if packet.from == 1 && packet.at == ms(100) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    wire.endpoints[1].set_reading(false);
    wire.endpoints[0].write(4000);
    wire.run(ms(100));
    wire.endpoints[1].set_reading(true);
    wire.run(ms(2000));
    assert_eq!(wire.endpoints[1].delivered(), 4000);
    assert_trace(
        &wire.trace,
        "0 A 0+1000
         0 A 1000+1000
         10 B ack 1000
         10 B ack 2000
         100 B ack 2000 lost
         220 A ack 0 seq 1999
         230 B ack 2000
         240 A 2000+1000
         240 A 3000+1000
         250 B ack 3000
         250 B ack 4000",
    );
}

#[test]
fn a_slow_reader_opens_the_window_in_large_steps() {
    let config = Config {
        receive_window: Bytes::new(2000),
        ..config()
    };
    let mut wire = Wire::symmetric(&config, |_| Fate::Pass);
    wire.endpoints[1].set_reading(false);
    wire.endpoints[0].write(3000);
    wire.run(ms(50));
    let sent = wire.record.len();
    assert_eq!(wire.endpoints[1].read(999), 999);
    wire.run(ms(60));
    assert_eq!(wire.record.len(), sent, "999 B are a silly window");
    // The response to a probe does not offer it either.
    wire.run(ms(300));
    let answer = wire.record.last().expect("a probe was answered");
    assert_eq!((answer.from, answer.sent.segment.window), (1, 0));
    assert_eq!(wire.endpoints[1].read(1), 1);
    wire.run(ms(400));
    assert_eq!(wire.endpoints[1].read(u64::MAX), 2000);
    assert_eq!(wire.endpoints[1].delivered(), 3000);
}

#[test]
fn idle_restart_goes_back_to_the_initial_window() {
    for (slow_start_after_idle, expected) in [(true, 4), (false, 16)] {
        let config = Config {
            slow_start_after_idle,
            ..config()
        };
        let mut wire = Wire::symmetric(&config, |_| Fate::Pass);
        wire.endpoints[0].write(28_000);
        wire.run(ms(400));
        assert_eq!(flights(&wire, 4), [4, 8, 16, 0]);
        let before = wire.record.len();
        wire.endpoints[0].write(28_000);
        wire.pump();
        let burst = wire.record.len() - before;
        assert!(burst >= expected && burst <= 2 * expected, "{burst}");
        assert_eq!(burst == 4, slow_start_after_idle);
    }
}

#[test]
fn a_short_pause_restarts_nothing() {
    let mut wire = Wire::symmetric(&config(), |_| Fate::Pass);
    wire.endpoints[0].write(28_000);
    // 150 ms after the last data: less than the 200 ms of the timeout.
    wire.run(ms(190));
    let before = wire.record.len();
    wire.endpoints[0].write(28_000);
    wire.pump();
    assert!(wire.record.len() - before >= 16);
}

/// The departures of 19 segments in a window of 8, when ACKs come one millisecond after the other.
fn departures(burst: u32) -> Vec<String> {
    let config = Config {
        burst,
        max_cwnd: Some(Bytes::new(8000)),
        initial_window: Bytes::new(8000),
        ..config()
    };
    let mut wire = Wire::symmetric(&config, |packet| {
        if packet.from == 0 {
            return Fate::Pass;
        }
        let number = u64::from(
            packet
                .sent
                .segment
                .ack
                .wrapping_sub(crate::tcp::wire::FIRST),
        ) / 1000;
        Fate::Delay(Span::from_ms((number - 1) % 8))
    });
    wire.endpoints[0].write(19_000);
    wire.run(ms(100));
    wire.lines("A")
        .iter()
        .map(|line| (*line).to_string())
        .collect()
}

#[test]
fn bursts_leave_together() {
    assert_trace(
        &departures(4),
        "0 A 0..=7000+1000
         23 A 8000..=11000+1000
         27 A 12000..=15000+1000
         45 A 16000..=18000+1000",
    );
    // Never more than half a window waits.
    assert_eq!(departures(64), departures(4));
}

#[test]
fn a_stopped_application_sends_nothing_more() {
    let mut wire = endless(&config(), 25);
    wire.endpoints[0].stop();
    wire.run(ms(1000));
    assert_eq!(wire.endpoints[1].delivered(), 12_000);
    assert_eq!(wire.endpoints[0].written(), 12_000);
    assert_eq!(wire.events.last(), Some(&(ms(40), 0, Event::Finished)));
    assert_eq!(wire.endpoints[0].poll_timeout(), None);
}

/// A controller without a window that sends at a fixed rate.
struct Paced;

impl Controller for Paced {
    fn on_ack(&mut self, _cx: &mut Context<'_>, _ack: &AckSample<'_>) {}

    fn on_congestion(&mut self, _cx: &mut Context<'_>, _event: CongestionEvent) -> Reaction {
        Reaction::Ignored
    }

    fn window(&self) -> Window {
        Window::Unlimited
    }

    fn pacing(&self) -> Option<Rate> {
        // 1000 B each 4 ms.
        Some(Rate::from_bits_per_second(2_000_000))
    }

    fn state(&self) -> ControlState {
        ControlState::default()
    }
}

#[test]
fn a_pacing_rate_spaces_segments() {
    let config = config();
    let endpoints = [
        Connection::new(&config, Algorithm::Custom(Box::new(Paced)), Role::Active),
        Connection::new(&config, new_reno(&config), Role::Passive),
    ];
    let mut wire = Wire::new(endpoints, |_| Fate::Pass);
    wire.endpoints[0].write(4500);
    wire.run(ms(100));
    let departures: Vec<String> = wire.lines("A").iter().map(|l| (*l).to_string()).collect();
    assert_trace(
        &departures,
        "0 A 0+1000
         4 A 1000+1000
         8 A 2000+1000
         12 A 3000+1000
         16 A 4000+500",
    );
}

/// Swift over a round trip of 20 ms, with a target of 10 ms: each ACK makes the window 0.6 of itself, by
/// 0.8 (20 - 10) / 20. Below a window of one each segment leaves RTT / cwnd after the one before.
#[test]
fn a_window_below_one_segment_spaces_segments_by_more_than_a_round_trip() {
    let config = config();
    let swift = SwiftConfig {
        initial_window: Bytes::new(1_000),
        base_target: Span::from_ms(10),
        fs_range: Span::ZERO,
        ..SwiftConfig::new(Bytes::new(1_000))
    };
    let endpoints = [
        Connection::new(&config, Algorithm::from(Swift::new(swift)), Role::Active),
        Connection::new(&config, new_reno(&config), Role::Passive),
    ];
    let mut wire = Wire::new(endpoints, |_| Fate::Pass);
    wire.endpoints[0].write(u64::MAX / 2);
    wire.run(ms(250));
    let departures = wire.record.iter().filter(|packet| packet.from == 0);
    let us: Vec<u64> = departures.map(|p| p.at.as_ps() / 1_000_000).collect();
    // cwnd = 0.6 at 20 ms: 20 / 0.6 = 33.333 ms; 0.36 at 53.333 ms: 55.556 ms; 0.216 at 86.667 ms: 92.593 ms.
    assert_eq!(us, [0, 33_333, 66_666, 122_222, 214_814]);
    assert_eq!(wire.endpoints[0].stats().timeouts, 0);
}

/// Linux's internal pacing, with a window of 4 segments at first and a round-trip time of 20 ms: the
/// first ten segments leave as the window allows.
#[test]
fn internal_pacing_spaces_segments_from_the_tenth_on() {
    let config = Config {
        pacing: Some(PacingRatio::LINUX),
        ..config()
    };
    let wire = endless(&config, 42);
    let departures = wire.record.iter().filter(|packet| packet.from == 0);
    let us: Vec<u64> = departures.map(|p| p.at.as_ps() / 1_000_000).collect();
    let unpaced = [[0; 4].as_slice(), &[20_000; 6]].concat();
    assert_eq!(us[..10], unpaced);
    // 7 segments at the tenth: 1,000 B at 2 x 7,000 B / 20 ms take 1,428 us, half of that after the pause
    // since 0. 8 segments at the next: 1,250 us.
    assert_eq!(us[10..12], [20_714, 21_964]);
    // 9 segments with the ACK at 40 ms: 1,111 us, half of that after the pause. Then 14: 714 us, and 15
    // with the ACK at 40.714 ms: 667 us.
    assert_eq!(us[12..], [40_000, 40_555, 41_269, 41_936]);
}
