//! The event record: nothing is different with it, and it is complete.

use std::collections::BTreeMap;

use crate::common::{Algo, Bulk, Datagrams, Gap, Star};
use incastle_congestion::ReactionPointConfig;
use incastle_engine::core::{EndpointIndex, FlowIndex, Side};
use incastle_engine::flow::Application;
use incastle_engine::network::ReactionPointSettings;
use incastle_engine::{Simulation, Status};
use incastle_queueing::{CongestionPointConfig, PortBuffer};
use incastle_recorder::{EventKind, Measurements, RecordedEvent, Recorder};
use incastle_transport::tcp::{Recovery, TimeoutKind};
use incastle_units::{Amount, Bytes, Packets, Rate, Span, Time};

/// Runs applications with a record.
fn run(star: Star, apps: Vec<Box<dyn Application>>) -> Simulation<Recorder> {
    let network = star.build();
    let measurements = Measurements {
        events: 1_000_000,
        ..Measurements::default()
    };
    let recorder = Recorder::new(measurements, network.ports().count(), network.host_count());
    let mut simulation = Simulation::new(network, recorder);
    for app in apps {
        simulation.add_application(app);
    }
    let end = Time::ZERO + Span::from_ms(300);
    assert_eq!(simulation.run(end, u64::MAX), Ok(Status::Done));
    simulation.check_conservation();
    simulation
}

fn bulks(senders: usize, bytes: u64, algo: Algo, recorded: usize) -> Vec<Box<dyn Application>> {
    (0..senders)
        .map(|from| {
            let mut bulk = Bulk::new((from, senders), Time::ZERO, bytes, algo);
            bulk.recorded = from < recorded;
            Box::new(bulk) as Box<dyn Application>
        })
        .collect()
}

fn shallow(senders: usize, packets: u64) -> Star {
    Star {
        senders,
        buffer: PortBuffer::Limited(Amount::Packets(Packets::new(packets))),
        ..Star::default()
    }
}

/// With QCN, where frames pass limiters.
fn limited() -> Star {
    let buffer = Bytes::new(150_000);
    Star {
        senders: 4,
        buffer: PortBuffer::Limited(Amount::Bytes(buffer)),
        congestion_point: Some(CongestionPointConfig::new(buffer)),
        reaction_point: Some(ReactionPointSettings {
            template: ReactionPointConfig::new(Rate::from_bits_per_second(1_000_000_000)),
            queue: 4,
        }),
        ..Star::default()
    }
}

/// Each packet is sent once, taken by one port of the switch, then received or dropped once. Or it is still
/// in flight at the end. The counters agree.
fn check_packets(simulation: &Simulation<Recorder>, flow: FlowIndex) -> usize {
    let mut seen: BTreeMap<(EndpointIndex, u64), Vec<&RecordedEvent>> = BTreeMap::new();
    for event in &simulation.probe().record.events {
        if let Some(packet) = &event.packet
            && event.endpoint.flow() == flow
        {
            let place = seen.entry((event.endpoint, packet.number)).or_default();
            place.push(event);
        }
    }
    let mut under_way = 0;
    let (mut dropped, mut received) = (0, [0, 0]);
    for ((end, _), events) in &seen {
        let is_sent = |event: &&&RecordedEvent| matches!(event.kind, EventKind::Sent { .. });
        assert!(is_sent(&&events[0]), "{events:?}");
        assert_eq!(events.iter().filter(is_sent).count(), 1, "{events:?}");
        assert!(events.is_sorted_by_key(|event| event.at), "{events:?}");
        let is_queued = |event: &&&RecordedEvent| matches!(event.kind, EventKind::Queued { .. });
        let ports = events.iter().filter(is_queued).count();
        assert!(ports <= 1, "a star has one switch: {events:?}");
        match events[events.len() - 1].kind {
            EventKind::Received if ports == 0 => panic!("it passed no port: {events:?}"),
            EventKind::Received => received[end.side() as usize] += 1,
            EventKind::Dropped { .. } => dropped += 1,
            _ => under_way += 1,
        }
    }
    let record = simulation.flow(flow);
    assert_eq!(record.dropped, dropped);
    let sent = [record.initiator.packets_sent, record.responder.packets_sent];
    assert_eq!(sent.iter().sum::<u64>() as usize, seen.len());
    let arrived = [
        record.responder.packets_received,
        record.initiator.packets_received,
    ];
    assert_eq!(arrived, received, "near to far, far to near");
    under_way
}

#[test]
fn nothing_is_different_with_a_record() {
    type Case = (fn() -> Star, fn(usize) -> Vec<Box<dyn Application>>);
    let cases: [Case; 4] = [
        (
            || shallow(8, 16),
            |recorded| bulks(8, 400_000, Algo::NewReno, recorded),
        ),
        (
            || shallow(8, 64),
            |recorded| bulks(8, 400_000, Algo::DCTCP, recorded),
        ),
        (limited, |recorded| {
            bulks(4, 3_000_000, Algo::NewReno, recorded)
        }),
        (limited, |recorded| {
            let mut apps = bulks(3, 1_000_000, Algo::Cubic, recorded);
            let gap = Gap::Constant(Span::from_us(13));
            let stop = Time::ZERO + Span::from_ms(100);
            apps.push(Box::new(Datagrams::new((3, 4), 1472, gap, stop)));
            apps
        }),
    ];
    for (star, apps) in cases {
        let plain = run(star(), apps(0));
        assert!(plain.probe().record.events.is_empty());
        for recorded in [1, 3] {
            let recording = run(star(), apps(recorded));
            assert_eq!(recording.digest(), plain.digest());
            assert_eq!(recording.totals().events, plain.totals().events);
            for flow in 0..recorded {
                check_packets(&recording, FlowIndex::from_index(flow));
            }
        }
    }
}

#[test]
fn frames_that_a_limiter_held_back_have_their_release_time() {
    let simulation = run(limited(), bulks(4, 3_000_000, Algo::NewReno, 1));
    let events = &simulation.probe().record.events;
    let count = |kind: fn(&EventKind) -> bool| events.iter().filter(|one| kind(&one.kind)).count();
    assert!(count(|kind| matches!(kind, EventKind::Notified(psi) if *psi > Some(0))) > 0);
    assert!(count(|kind| matches!(kind, EventKind::Limited(_))) > 0);
    assert!(count(|kind| matches!(kind, EventKind::Released)) > 10);
}

#[test]
fn a_lost_tail_is_recorded_from_the_drop_to_the_repair() {
    // Two senders of two segments each, at one instant, to a port that stores two packets.
    let simulation = run(shallow(2, 2), bulks(2, 2 * 1_460, Algo::NewReno, 2));
    let events = &simulation.probe().record.events;
    let dropped: Vec<&RecordedEvent> = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Dropped { .. }))
        .collect();
    assert!(!dropped.is_empty());
    for loss in dropped {
        let EventKind::Dropped { queue, .. } = loss.kind else {
            continue;
        };
        assert_eq!(queue.packets, 2);
        assert_eq!(queue.limit, Some(Amount::Packets(Packets::new(2))));
        let lost = loss.packet.expect("a drop has a packet");
        let timeout = events.iter().find(|event| {
            matches!(event.kind, EventKind::Timeout(report)
                if report.kind == TimeoutKind::LastPacket || report.kind == TimeoutKind::FullWindow)
                && event.endpoint == loss.endpoint
                && event.at > loss.at
        });
        let timeout = timeout.expect("a lost tail ends in a timeout");
        let again = events.iter().find(|event| {
            let same = event.packet.is_some_and(|packet| packet.seq == lost.seq);
            let repeated = matches!(event.kind, EventKind::Sent { repeated: true, .. });
            same && repeated && event.endpoint == loss.endpoint
        });
        assert_eq!(again.expect("it is repaired").at, timeout.at);
    }
}

#[test]
fn probes_and_losses_of_the_reordering_timer_are_recorded_where_they_are_repaired() {
    let apps = (0..8).map(|from| {
        let mut bulk = Bulk::new((from, 8), Time::ZERO, 20_000, Algo::NewReno);
        bulk.recorded = true;
        bulk.config.recovery = Recovery::RackTlp;
        bulk.config.tail_loss_probe = true;
        Box::new(bulk) as Box<dyn Application>
    });
    let simulation = run(shallow(8, 8), apps.collect());
    let events = &simulation.probe().record.events;
    // Whether each segment that the endpoint sent then was a retransmission.
    let sent = |event: &RecordedEvent| -> Vec<bool> {
        let same =
            |other: &&RecordedEvent| (other.at, other.endpoint) == (event.at, event.endpoint);
        let repeated = |other: &RecordedEvent| match other.kind {
            EventKind::Sent { repeated, .. } => Some(repeated),
            _ => None,
        };
        events.iter().filter(same).filter_map(repeated).collect()
    };
    let (mut probes, mut losses) = (0, 0);
    for event in events {
        match event.kind {
            EventKind::TailLossProbe => {
                probes += 1;
                assert!(!sent(event).is_empty(), "{event:?}");
            }
            EventKind::ReorderingTimeout(lost) => {
                losses += lost;
                assert!(sent(event).contains(&true), "{event:?}");
            }
            _ => {}
        }
    }
    assert!(probes > 0 && losses > 0, "{probes} {losses}");
}

#[test]
fn sequence_numbers_are_offsets_in_both_directions() {
    let simulation = run(shallow(1, 100), bulks(1, 100_000, Algo::NewReno, 1));
    let events = &simulation.probe().record.events;
    let near = FlowIndex::from_index(0).endpoint(Side::Initiator);
    let data: Vec<u64> = events
        .iter()
        .filter(|event| event.endpoint == near && matches!(event.kind, EventKind::Sent { .. }))
        .filter_map(|event| event.packet.filter(|packet| packet.payload > 0)?.seq)
        .collect();
    // 100,000 bytes in segments of 1460, across the wrap at 65,536: 0, 1460, ..., 99,280.
    let expected: Vec<u64> = (0..=68).map(|segment| segment * 1_460).collect();
    assert_eq!(data, expected);
    let greatest = events.iter().filter_map(|event| event.packet?.ack).max();
    assert_eq!(greatest, Some(100_000));
    let delivered = events.iter().rev().find_map(|event| match event.kind {
        EventKind::Delivered(bytes) => Some(bytes),
        _ => None,
    });
    assert_eq!(delivered, Some(100_000));
}
