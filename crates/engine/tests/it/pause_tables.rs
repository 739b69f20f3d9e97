//! The table of pauses, and the watchdog of switches, in whole networks.

use crate::common::lossless::{DELAY, Lossless};
use crate::common::{Algo, Bulk, Datagrams, Gap};
use incastle_engine::core::{Node, PortIndex};
use incastle_engine::flow::Application;
use incastle_engine::network::PortPauses;
use incastle_engine::probe::NoProbe;
use incastle_engine::{Finished, Simulation, Totals, finish};
use incastle_queueing::{PauseThreshold, Priority, WatchdogAction, WatchdogConfig};
use incastle_units::{Bytes, Rate, Span, Time};

const LOSSLESS: u8 = 3;
const END: Time = Time::from_ps(20_000_000_000);

/// Four hosts at a switch, a trunk of 100 Gbit/s to another switch, and a receiver at 1 Gbit/s there.
fn fabric() -> Lossless {
    Lossless {
        senders: 4,
        last_rate: Rate::from_bits_per_second(1_000_000_000),
        ..Lossless::default()
    }
}

/// Datagrams of each host to the receiver during 2 ms, and TCP of the first one in another priority.
fn applications() -> Vec<Box<dyn Application>> {
    let stop = Time::ZERO + Span::from_ms(2);
    let datagrams = |from| -> Box<dyn Application> {
        let gap = Gap::Constant(Span::from_us(1));
        let mut app = Datagrams::new((from, 4), 1_472, gap, stop);
        app.class = LOSSLESS;
        Box::new(app)
    };
    let tcp = Bulk::new((0, 4), Time::ZERO, 100_000, Algo::NewReno);
    let mut all: Vec<_> = (0..4).map(datagrams).collect();
    all.push(Box::new(tcp));
    all
}

fn run(
    network: Lossless,
    watchdog: Option<WatchdogConfig>,
) -> (Finished<NoProbe>, Totals, PortIndex) {
    let (network, trunk) = network.behind_a_trunk_with(|builder| {
        if let Some(config) = watchdog {
            builder.watchdog(config);
        }
    });
    let mut simulation = Simulation::new(network, NoProbe);
    for application in applications() {
        simulation.add_application(application);
    }
    for step in 1..=50 {
        simulation
            .run(Time::ZERO + (END - Time::ZERO) / 50 * step, u64::MAX)
            .expect("time goes on");
        simulation.check_conservation();
    }
    let totals = simulation.totals();
    (finish(vec![simulation]), totals, trunk)
}

fn sum(table: &[PortPauses], of: impl Fn(&PortPauses) -> u64) -> u64 {
    table.iter().map(of).sum()
}

#[test]
fn every_frame_that_was_sent_is_received_at_the_other_end() {
    let (finished, totals, trunk) = run(fabric(), None);
    assert_eq!(totals.drops, 0);
    let network = finished.network;
    let table = network.pause_table(END);
    assert!(table.iter().all(|row| row.priority.number() == LOSSLESS));
    // The trunk and the four hosts are paused, by the ports that lead to them.
    let paused: Vec<PortIndex> = table
        .iter()
        .filter(|row| row.received.pauses > 0)
        .map(|row| row.port)
        .collect();
    assert_eq!(paused.len(), 5);
    for row in &table {
        let other = PortIndex(row.port.0 ^ 1);
        let received = network.pauses(other, row.priority, END).unwrap_or_default();
        assert_eq!(row.sent.pauses + row.sent.refreshes, received.pause_frames);
        assert_eq!(row.sent.resumes, received.resume_frames);
        assert!(row.received.longest <= row.received.paused_for);
        assert!(
            row.received.pauses == 0
                || row.received.longest * row.received.pauses >= row.received.paused_for
        );
    }
    // Headroom was in use behind every port that paused a peer, and suffices.
    let sent = table.iter().filter(|row| row.sent.pauses > 0);
    for row in sent {
        let used = network
            .max_headroom_used(row.port)
            .expect("a switch with priorities");
        assert!(used > Bytes::ZERO && used <= Bytes::new(50_000), "{used:?}");
        assert!(matches!(network.owner(row.port), Node::Switch(_)));
    }
    assert_eq!(
        sum(&table, |row| row.headroom_drops
            + row.storms.storms
            + row.storm_drops),
        0
    );
    assert_eq!(
        network.max_headroom_used(PortIndex(trunk.0 + 2)),
        None,
        "a host has none"
    );
}

#[test]
fn drops_for_want_of_headroom_are_counted_where_the_packets_came_in() {
    let tight = Lossless {
        headroom: Bytes::new(1_000),
        ..fabric()
    };
    let (finished, totals, trunk) = run(tight, None);
    let table = finished.network.pause_table(END);
    assert!(totals.drops > 0);
    assert_eq!(sum(&table, |row| row.headroom_drops), totals.drops);
    let at_second = table
        .iter()
        .find(|row| row.port.0 == trunk.0 ^ 1)
        .expect("it has a row");
    assert!(at_second.headroom_drops > 0);
}

fn watchdog(action: WatchdogAction) -> WatchdogConfig {
    WatchdogConfig {
        detection: Span::from_us(300),
        restoration: Span::from_us(500),
        action,
    }
}

/// A receiver that is so slow that the second switch pauses the trunk for milliseconds.
fn stuck() -> Lossless {
    Lossless {
        last_rate: Rate::from_bits_per_second(50_000_000),
        threshold: PauseThreshold::Static {
            xoff: Bytes::new(30_000),
            xon: Bytes::new(3_000),
        },
        headroom: Bytes::new(60_000),
        ..fabric()
    }
}

#[test]
fn a_watchdog_drops_the_packets_of_a_storm_until_it_is_over() {
    let (finished, totals, trunk) = run(stuck(), Some(watchdog(WatchdogAction::Drop)));
    let table = finished.network.pause_table(END);
    let row = table
        .iter()
        .find(|row| row.port == trunk)
        .expect("the trunk was paused");
    // 30 KB and what was on its way leave in about 10 ms: one pause, and one storm in it, which lasts 500 us longer.
    assert_eq!((row.received.pauses, row.storms.storms), (1, 1));
    let length = row.received.longest - Span::from_us(300) + Span::from_us(500);
    assert_eq!(row.storms.storm_time, length);
    assert!(
        row.storm_drops > 1_000 && row.storm_drops == totals.drops,
        "{row:?}"
    );
    assert_eq!(sum(&table, |row| row.headroom_drops), 0);
    // The hosts are paused no longer than the trunk is before the storm.
    let hosts = table
        .iter()
        .filter(|row| matches!(finished.network.owner(row.port), Node::Host(_)));
    let longest = hosts
        .map(|row| row.received.longest)
        .max()
        .expect("hosts were paused");
    assert!(longest <= Span::from_us(300) + DELAY * 2, "{longest:?}");
}

#[test]
fn a_watchdog_that_forwards_overflows_the_next_switch() {
    let (finished, totals, trunk) = run(stuck(), Some(watchdog(WatchdogAction::Forward)));
    let table = finished.network.pause_table(END);
    let row = table
        .iter()
        .find(|row| row.port == trunk)
        .expect("the trunk was paused");
    assert_eq!((row.storms.storms, row.storm_drops), (1, 0));
    assert!(totals.drops > 0);
    let lost = table
        .iter()
        .find(|row| row.port.0 == trunk.0 ^ 1)
        .map_or(0, |row| row.headroom_drops);
    assert_eq!(lost, totals.drops);
}

#[test]
fn without_a_watchdog_the_trunk_waits() {
    let (finished, totals, trunk) = run(stuck(), None);
    assert_eq!(totals.drops, 0);
    let priority = Priority::new(LOSSLESS).expect("it is one of eight");
    let pauses = finished
        .network
        .pauses(trunk, priority, END)
        .expect("the trunk was paused");
    assert!(pauses.paused_for > Span::from_ms(15), "{pauses:?}");
}
