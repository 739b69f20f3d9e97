//! The rules of HPCC-ns3 that differ from InfiniBand's, together.

use incastle_congestion::Window;
use incastle_rdma::{Config, Verb};
use incastle_units::{Bytes, Rate, Span, Time};

use super::control::Fixed;
use super::net::{Fate, Net, us};

/// Ports of 10 Gbit/s and a link of 1 us.
fn net() -> Net {
    let rate = Rate::from_bits_per_second(10_000_000_000);
    let mut net = Net::controlled(&Config::hpcc_ns3(), || Fixed::rate(rate));
    net.delays = [Span::from_us(1); 2];
    net.rate = rate;
    net
}

/// The time at which B has 1 MB, which A sends over a switch at 25 Gbit/s and links of 1 us, with this window.
fn completion_over_a_switch(window: u64) -> Time {
    let rate = Rate::from_bits_per_second(25_000_000_000);
    let mut net = Net::controlled(&Config::hpcc_ns3(), || {
        let fixed = Fixed {
            window: Window::Limited(Bytes::new(window)),
            rate: Some(rate),
            ..Fixed::default()
        };
        fixed.into()
    });
    net.rate = rate;
    // Two links, and the second serialisation: 1048 bytes of data, 60 bytes of an ACK.
    net.delays = [335, 19].map(|ns| Span::from_us(2) + Span::from_ns(ns));
    net.post(0, Verb::Write, 1_000_000);
    while net.ends[1].pair.delivered() < 1_000_000 {
        assert!(net.step(us(1_000)));
    }
    net.now
}

/// HPCC-ns3's own result for a star of 25 Gbit/s with DCTCP and its window of 14,800 bytes: 337,335 ns.
#[test]
fn a_flow_alone_takes_as_long_as_in_ns3() {
    assert_eq!(
        completion_over_a_switch(14_800),
        Time::ZERO + Span::from_ns(337_335)
    );
    // By hand: 14 packets in each round of 335 + 2335 + 19 + 2019 = 4708 ns, 18 ns more than they take. The last one
    // leaves in round 72 (1000 = 71 x 14 + 6).
    let expected = 71 * 4_708 + 6 * 335 + 2_335;
    assert_eq!(
        completion_over_a_switch(14_000),
        Time::ZERO + Span::from_ns(expected)
    );
}

/// A NAK at once for each new expected packet; for the same one after 500 us.
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
    // Packets arrive each 838 ns: number 6 at 7 x 838 + 1000 = 6,866 ns. The next ones at least 500 us later arrive
    // at 604 x 838 + 1000 = 507,152 ns and at 1201 x 838 + 1000 = 1,007,438 ns.
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
