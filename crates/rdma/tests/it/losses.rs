//! Lost packets: NAKs, the modes of recovery, timeouts, and the retry limit.

use incastle_rdma::{Config, Event, Recovery, Verb};
use incastle_units::Span;

use super::control::Fixed;
use super::net::{Fate, Net, config, us};
use super::script::{play, play_on};

/// Go-back-N: everything from the lost packet on comes again. One NAK, although three packets are out of
/// sequence.
#[test]
fn go_back_n() {
    let net = play(
        &config(),
        &[(0, Verb::Write, 5000)],
        "0 A write 0 first
         1 A write 1 middle lost
         2..=3 A write 2..=3 middle
         4 A write 4 last req
         11 B ack 0
         13 B nak 1
         23 A write 1 middle again
         24..=25 A write 2..=3 middle again
         26 A write 4 last req again
         34..=36 B ack 1..=3
         37 B ack 4",
    );
    let [a, b] = [0, 1].map(|i| *net.ends[i].pair.stats());
    assert_eq!((b.out_of_sequence, b.naks_sent, a.naks_received), (3, 1, 1));
    assert_eq!(
        (a.retransmitted, a.retransmitted_bytes, a.timeouts),
        (4, 4000, 0)
    );
    assert_eq!(net.ends[1].pair.delivered(), 5000);
}

/// Go-back-0: the message comes again as a whole, and the one before it does not.
#[test]
fn go_back_to_zero() {
    let config = Config {
        recovery: Recovery::GoBackToZero,
        ..config()
    };
    let net = play(
        &config,
        &[(0, Verb::Write, 1000), (0, Verb::Write, 4000)],
        "0 A write 0 only req
         1 A write 1 first
         2 A write 2 middle
         3 A write 3 middle lost
         4 A write 4 last req
         11 B ack 0
         12..=13 B ack 1..=2
         15 B nak 1
         25 A write 1 first again
         26..=27 A write 2..=3 middle again
         28 A write 4 last req again
         36..=38 B ack 1..=3
         39 B ack 4",
    );
    assert_eq!(net.ends[1].pair.delivered(), 5000);
}

/// One NAK for one loss, however many packets are behind it; and another one where the message is hit again.
#[test]
fn go_back_to_zero_twice() {
    let config = Config {
        recovery: Recovery::GoBackToZero,
        ..config()
    };
    let net = play(
        &config,
        &[(0, Verb::Write, 5000)],
        "0 A write 0 first
         1 A write 1 middle lost
         2..=3 A write 2..=3 middle
         4 A write 4 last req
         11 B ack 0
         13 B nak 0
         23 A write 0 first again
         24..=25 A write 1..=2 middle again
         26 A write 3 middle again lost
         27 A write 4 last req again
         34..=36 B ack 0..=2
         38 B nak 0
         48 A write 0 first again
         49..=51 A write 1..=3 middle again
         52 A write 4 last req again
         59..=62 B ack 0..=3
         63 B ack 4",
    );
    assert_eq!(net.ends[1].pair.delivered(), 5000);
    assert_eq!(net.ends[1].pair.stats().naks_sent, 2);
}

/// A late copy of a NAK is not followed.
#[test]
fn an_old_nak() {
    let net = play(
        &config(),
        &[(0, Verb::Write, 5000)],
        "0 A write 0 first lost
         1..=3 A write 1..=3 middle
         4 A write 4 last req
         12 B nak 0 twice 25
         22 A write 0 first again
         23..=25 A write 1..=3 middle again
         26 A write 4 last req again
         33 B ack 0
         34..=36 B ack 1..=3
         37 B ack 4",
    );
    assert_eq!(net.ends[0].pair.stats().naks_received, 1);
}

/// Chunks of two packets: packet 3 is lost, chunk 2..4 comes again. A second NAK follows for the PSN that is expected
/// then (HPCC-ns3, `ReceiverCheckSeq`).
#[test]
fn go_back_to_the_chunk() {
    let config = Config {
        recovery: Recovery::Chunks(2),
        ..config()
    };
    let net = play(
        &config,
        &[(0, Verb::Write, 6000)],
        "0 A write 0 first
         1..=2 A write 1..=2 middle
         3 A write 3 middle lost
         4 A write 4 middle
         5 A write 5 last req
         11..=13 B ack 0..=2
         15 B nak 2
         16 B nak 2
         25 A write 2 middle again
         26 A write 2 middle again
         27..=28 A write 3..=4 middle again
         29 A write 5 last req again
         36 B ack 2
         37 B ack 2
         38..=40 B ack 3..=5",
    );
    assert_eq!(net.ends[1].pair.delivered(), 6000);
}

/// The NAK is lost. IB: nothing until the timer; with an interval of 30 us: again at the next packet.
#[test]
fn a_lost_nak() {
    let posts = [(0, Verb::Write, 40_000)];
    let slow = || Fixed::rate(incastle_units::Rate::from_bits_per_second(800_000_000));
    let mut net = Net::controlled(&config(), slow);
    let lost = |sent: &super::net::Sent| {
        let line = sent.line(Fate::Pass);
        if line == "10 A write 1 middle" || line.contains("nak 1") && sent.at < us(50) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    };
    net.judge = Box::new(lost);
    net.post(0, posts[0].1, posts[0].2);
    net.run(us(3000));
    // The timer started again with the ACK of packet 0 at 21 us and fires 100 us later, between two departures.
    assert!(
        net.trace
            .contains(&"130 A write 1 middle again".to_string()),
        "{:#?}",
        net.trace
    );
    assert_eq!(net.ends[0].pair.stats().timeouts, 1);

    let config = Config {
        nak_interval: Some(Span::from_us(30)),
        ..config()
    };
    let mut net = Net::controlled(&config, slow);
    net.judge = Box::new(lost);
    net.post(0, posts[0].1, posts[0].2);
    net.run(us(3000));
    // Packets out of sequence arrive each 10 us from 31 us on: the second NAK leaves at 61 us.
    assert!(
        net.trace.contains(&"61 B nak 1".to_string()),
        "{:#?}",
        net.trace
    );
    assert!(
        net.trace.contains(&"80 A write 1 middle again".to_string()),
        "{:#?}",
        net.trace
    );
    assert_eq!(net.ends[0].pair.stats().timeouts, 0);
}

/// The last packet is lost: nobody sees a gap.
#[test]
fn a_timeout() {
    play(
        &config(),
        &[(0, Verb::Write, 2000)],
        "0 A write 0 first
         1 A write 1 last req lost
         11 B ack 0
         121 A write 1 last req again
         132 B ack 1",
    );
}

/// An ACK is lost, and the timer repeats what has arrived: the responder acknowledges it again.
#[test]
fn a_lost_ack() {
    play(
        &config(),
        &[(0, Verb::Write, 1000)],
        "0 A write 0 only req
         11 B ack 0 lost
         100 A write 0 only req again
         111 B ack 0",
    );
}

/// Two retries without an answer, then the queue pair fails, and is silent.
#[test]
fn the_retry_limit() {
    let config = Config {
        retry_limit: Some(2),
        ..config()
    };
    let net = play(
        &config,
        &[(0, Verb::Write, 1000)],
        "0 A write 0 only req lost
         100 A write 0 only req again lost
         200 A write 0 only req again lost",
    );
    let a = &net.ends[0];
    assert_eq!(a.events, [Event::Failed]);
    assert_eq!(a.pair.stats().timeouts, 3);
    assert!(a.pair.has_failed() && !a.pair.is_finished());
}

/// Progress starts the counter again: five losses in a row of different packets are no failure.
#[test]
fn progress_resets_the_retry_counter() {
    let config = Config {
        retry_limit: Some(1),
        ..config()
    };
    let mut net = Net::controlled(&config, || Fixed::window(1));
    net.judge = Box::new(|sent| {
        if sent.from == 0 && !sent.packet.retransmission {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    net.post(0, Verb::Write, 5000);
    net.run(us(10_000));
    assert!(net.ends[0].pair.is_finished());
    assert_eq!(net.ends[0].pair.stats().timeouts, 5);
}

/// Without a timer, a lost last packet is lost for ever (HPCC-ns3).
#[test]
fn no_timer() {
    let config = Config {
        ack_timeout: None,
        ..config()
    };
    let net = play(
        &config,
        &[(0, Verb::Write, 1000)],
        "0 A write 0 only req lost",
    );
    assert!(!net.ends[0].pair.is_finished());
}

/// A packet that was delayed arrives after its repetition, and is a duplicate.
#[test]
fn reordering_is_taken_for_loss() {
    let net = play_on(
        Net::new(&config()),
        &[(0, Verb::Write, 3000)],
        "0 A write 0 first
         1 A write 1 middle late 30
         2 A write 2 last req
         11 B ack 0
         13 B nak 1
         23 A write 1 middle again
         24 A write 2 last req again
         34 B ack 1
         35 B ack 2
         42 B ack 2",
    );
    assert_eq!(net.ends[1].pair.delivered(), 3000);
}
