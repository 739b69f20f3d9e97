//! ACKs one by one and coalesced, duplicates, and the reports of marks.

use incastle_rdma::{Config, Duplicates, Notification, Verb};
use incastle_units::Span;

use super::control::Fixed;
use super::net::{Net, config, us};
use super::script::{play, play_on};

fn coalesced(ack_every: u16) -> Config {
    Config {
        ack_every,
        ..config()
    }
}

/// One for three packets, and at the end of the message.
#[test]
fn coalesced_acks() {
    play(
        &coalesced(3),
        &[(0, Verb::Write, 7000)],
        "0 A write 0 first
         1..=5 A write 1..=5 middle
         6 A write 6 last req
         13 B ack 2
         16 B ack 5
         17 B ack 6",
    );
}

/// A window of two packets with an ACK for ten: the packet that fills it asks for one.
#[test]
fn a_full_window_asks_for_an_ack() {
    let net = Net::controlled(&coalesced(10), || Fixed::window(2000));
    play_on(
        net,
        &[(0, Verb::Write, 4000)],
        "0 A write 0 first
         1 A write 1 middle req
         12 B ack 1
         22 A write 2 middle
         23 A write 3 last req
         34 B ack 3",
    );
}

/// IB 9.7: the network repeats a packet, and the responder its ACK.
#[test]
fn duplicates_are_acknowledged_again() {
    let posts = [(0, Verb::Write, 2000)];
    let text = "0 A write 0 first twice 5
         1 A write 1 last req
         11 B ack 0
         12 B ack 1";
    let net = play(&config(), &posts, &format!("{text}\n16 B ack 1"));
    assert_eq!(net.ends[1].pair.stats().duplicates, 1);
    assert_eq!(net.ends[1].pair.delivered(), 2000);
    let config = Config {
        duplicates: Duplicates::Ignored,
        ..config()
    };
    let net = play(&config, &posts, text);
    assert_eq!(net.ends[1].pair.stats().duplicates, 1);
}

/// At most one CNP in 50 us, whatever is marked; a packet out of sequence counts, too.
#[test]
fn congestion_notification_packets() {
    let net = play(
        &coalesced(100),
        &[(0, Verb::Write, 60_000)],
        "0 A write 0 first
         1..=4 A write 1..=4 middle CE
         5..=11 A write 5..=11 middle
         12 B cnp
         12..=51 A write 12..=51 middle
         52..=58 A write 52..=58 middle CE
         59 A write 59 last req
         63 B cnp
         70 B ack 59",
    );
    assert_eq!(net.ends[1].pair.stats().cnps_sent, 2);
    assert_eq!(net.ends[0].pair.stats().notifications, 2);
}

/// A lost packet: the NAK, and a CNP for the marked packet behind it.
#[test]
fn a_marked_packet_out_of_sequence_is_notified() {
    play(
        &config(),
        &[(0, Verb::Write, 3000)],
        "0 A write 0 first lost
         1 A write 1 middle CE
         2 A write 2 last req
         12 B cnp
         12 B nak 0
         22 A write 0 first again
         23 A write 1 middle again
         24 A write 2 last req again
         33 B ack 0
         34 B ack 1
         35 B ack 2",
    );
}

/// HPCC-ns3: each ACK echoes the mark of its packet.
#[test]
fn acks_echo_marks() {
    let config = Config {
        notification: Notification::Echo,
        ..config()
    };
    play(
        &config,
        &[(0, Verb::Write, 3000)],
        "0 A write 0 first
         1 A write 1 middle CE
         2 A write 2 last req
         11 B ack 0
         12 B ack 1 echo
         13 B ack 2",
    );
    // One ACK for three packets echoes a mark of any of them.
    let config = Config {
        ack_every: 3,
        ..config
    };
    play(
        &config,
        &[(0, Verb::Write, 6000)],
        "0 A write 0 first
         1 A write 1 middle CE
         2..=4 A write 2..=4 middle
         5 A write 5 last req
         13 B ack 2 echo
         16 B ack 5",
    );
}

/// An ACK that overtakes another acknowledges what the late one would; the late one changes nothing.
#[test]
fn acks_out_of_order() {
    let net = play(
        &config(),
        &[(0, Verb::Write, 3000)],
        "0 A write 0 first
         1 A write 1 middle
         2 A write 2 last req
         11 B ack 0 late 20
         12 B ack 1
         13 B ack 2",
    );
    assert!(net.ends[0].pair.is_finished());
    assert_eq!(net.now, us(100_000));
    assert_eq!(net.ends[0].pair.smoothed_rtt(), Some(rtt(&[21, 21, 41])));
}

/// SRTT of these samples, in the order of their arrival.
fn rtt(micros: &[u64]) -> Span {
    let mut samples = micros.iter().map(|us| Span::from_us(*us));
    let first = samples.next().expect("a sample");
    samples.fold(first, |mean, rtt| mean - mean / 8 + rtt / 8)
}
