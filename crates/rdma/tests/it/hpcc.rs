//! The rules of HPCC-ns3 that differ from InfiniBand's, together.

use incastle_rdma::{Config, Verb};
use incastle_units::{Rate, Span};

use super::control::Fixed;
use super::net::{Fate, Net, us};

fn net() -> Net {
    let rate = Rate::from_bits_per_second(10_000_000_000);
    let mut net = Net::controlled(&Config::hpcc_ns3(), || Fixed::rate(rate));
    net.delay = Span::from_us(1);
    net.rate = rate;
    net
}

/// The pacing of 838 ns is quicker than the port of the test, which takes 838.4 ns for each of 100 packets.
#[test]
fn a_flow_of_many_packets() {
    let mut net = net();
    net.post(0, Verb::Write, 100_000);
    while net.ends[1].pair.delivered() < 100_000 {
        assert!(net.step(us(1_000)));
    }
    assert_eq!(net.now.as_ps(), 100 * 838_400 + 1_000_000);
}

/// A NAK at once for each new expected packet; for the same one after 500 us. Without a timer, a lost last packet stays
/// lost.
#[test]
fn naks_repeat_after_500_us() {
    let mut net = net();
    let mut losses = 3;
    net.judge = Box::new(move |sent| {
        if sent.from == 0 && sent.packet.psn == 5 && losses > 0 {
            losses -= 1;
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    net.post(0, Verb::Write, 2_000_000);
    net.run(us(10_000));
    let naks: Vec<_> = net
        .trace
        .iter()
        .filter(|line| line.contains("nak"))
        .collect();
    // Packets arrive each 838.4 ns: number 6 at 7 x 838.4 + 1000 = 6868.8 ns. The next ones at least 500 us later arrive
    // at 604 x 838.4 + 1000 = 507,393.6 ns and at 1201 x 838.4 + 1000 = 1,007,918.4 ns.
    assert_eq!(naks, ["6 B nak 5", "507 B nak 5", "1007 B nak 5"]);
    assert_eq!(net.ends[1].pair.delivered(), 2_000_000);
}

/// Duplicates are not acknowledged.
#[test]
fn duplicates_are_ignored() {
    let mut net = net();
    net.judge = Box::new(|sent| {
        if sent.from == 0 {
            Fate::Twice(Span::from_us(3))
        } else {
            Fate::Pass
        }
    });
    net.post(0, Verb::Write, 3000);
    net.run(us(1_000));
    let acks = net.trace.iter().filter(|line| line.contains("ack")).count();
    assert_eq!(acks, 3);
    assert_eq!(net.ends[1].pair.stats().duplicates, 3);
}
