//! A link with PFC, put together from its parts: a sender at line rate, a port that drains nothing, and a pause that
//! arrives as late as it may. Headroom of the formula suffices, and is no more than one frame too much.

use incastle_cases::cases;
use incastle_queueing::{
    AccountingOptions, DropCause, IngressPortConfig, LosslessLink, PAUSE_FRAME_SIZE, Passage,
    PauseMode, PauseReceiver, PauseSender, PauseSenderConfig, PauseThreshold, PauseTransition,
    Priority, PriorityMemory, PriorityMemoryConfig, PriorityQueue, PrioritySet, Queued,
    SchedulerConfig, response_quanta,
};
use incastle_units::{Bytes, Rate, Serializer, Span, Time};
use proptest::prelude::*;

#[derive(Debug, Clone, Copy)]
struct Packet(Bytes);

impl Queued for Packet {
    fn size(&self) -> Bytes {
        self.0
    }
}

const LOSSLESS: Priority = Priority::ALL[3];

/// What happens at an instant; at the same one, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet has left the sender.
    Departure,
    /// A packet of this size has arrived.
    Arrival(u64),
    /// The sender's response to the pause frame.
    Response,
}

/// 20 KB of one account: a fixed threshold, or a third of 60 KB.
fn thresholds() -> [PauseThreshold; 2] {
    [
        PauseThreshold::Static {
            xoff: Bytes::new(20_000),
            xon: Bytes::new(20_000),
        },
        PauseThreshold::Dynamic {
            alpha: 0.5,
            resume_offset: Bytes::ZERO,
        },
    ]
}

/// A memory with one port, whose packets are never sent.
fn memory(headroom: Bytes, threshold: PauseThreshold) -> PriorityMemory {
    PriorityMemory::new(&PriorityMemoryConfig {
        capacity: headroom + Bytes::new(60_000),
        lossless: PrioritySet::only(LOSSLESS),
        uncounted: PrioritySet::EMPTY,
        reserve: Bytes::ZERO,
        egress_alpha: 1.0,
        ports: vec![IngressPortConfig {
            headroom,
            threshold,
        }],
        options: AccountingOptions::default(),
    })
}

/// Sends packets of these sizes until the sender pauses; returns the headroom that they use, or the cause of a drop.
fn fill(
    link: &LosslessLink,
    threshold: PauseThreshold,
    headroom: Bytes,
    sizes: &[u64],
) -> Result<Bytes, DropCause> {
    let one_way = link.cable_delay + link.interface_delay;
    let mut memory = memory(headroom, threshold);
    let mut pauses = PauseSender::new(PauseSenderConfig::default(), link.rate);
    let mut receiver = PauseReceiver::new(PauseMode::Quanta, link.rate);
    let mut queue = PriorityQueue::new(&SchedulerConfig::Strict);
    let mut line = Serializer::new(link.rate);
    let mut frame = None;
    let mut events = Vec::new();
    for &size in sizes {
        let packet = Packet(Bytes::new(size));
        let departs = queue.push(Time::ZERO, LOSSLESS, packet, &mut line);
        events.extend(departs.map(|at| (at, Event::Departure)));
    }
    while let Some(next) = (0..events.len()).min_by_key(|&at| events[at]) {
        let (now, event) = events.swap_remove(next);
        match event {
            Event::Departure => {
                let (packet, departs) = queue.depart(now, &mut line).expect("it is due");
                let size = packet.size().count();
                events.push((now + one_way, Event::Arrival(size)));
                events.extend(departs.map(|at| (at, Event::Departure)));
            }
            Event::Arrival(size) => {
                let passage = Passage {
                    ingress: 0,
                    egress: 0,
                    priority: LOSSLESS,
                    size: Bytes::new(size),
                };
                if memory.admit(&passage)?.transition == Some(PauseTransition::Pause) {
                    // The port has just begun a frame of the greatest size.
                    let sent = now + link.rate.span_of(link.mtu + PAUSE_FRAME_SIZE);
                    let response = Bytes::new(64) * response_quanta(link.rate);
                    let effect = sent + one_way + link.rate.span_of(response);
                    frame = Some(pauses.on_transition(now, LOSSLESS, PauseTransition::Pause));
                    events.push((effect, Event::Response));
                }
            }
            Event::Response => {
                let frame = frame.take().expect("a pause frame was sent");
                queue.pause(receiver.on_frame(now, &frame).paused);
            }
        }
    }
    assert!(queue.waiting().packets.count() > 0, "the sender was paused");
    Ok(memory.max_headroom_used(0))
}

fn link(gbit: u64, cable_ns: u64, interface_ns: u64, mtu: u64) -> LosslessLink {
    LosslessLink {
        rate: Rate::from_bits_per_second(gbit * 1_000_000_000),
        cable_delay: Span::from_ns(cable_ns),
        interface_delay: Span::from_ns(interface_ns),
        mtu: Bytes::new(mtu),
    }
}

#[test]
fn headroom_of_the_formula_is_needed_up_to_a_frame() {
    for link in [
        link(10, 500, 0, 1_518),
        link(25, 1_000, 300, 1_082),
        link(100, 500, 600, 4_200),
        link(400, 50, 100, 9_216),
    ] {
        let headroom = link.headroom();
        let sizes = vec![link.mtu.count(); 500];
        for threshold in thresholds() {
            let used = fill(&link, threshold, headroom, &sizes).expect("no packet is lost");
            assert!(used + link.mtu >= headroom, "{used:?} of {headroom:?}");
            // A byte less than what was used loses the last packet.
            let lost = fill(&link, threshold, used - Bytes::new(1), &sizes);
            assert_eq!(lost, Err(DropCause::HeadroomFull));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]

    /// Packets of any sizes are never lost.
    #[test]
    fn headroom_of_the_formula_suffices(
        gbit in 1..400_u64,
        cable in 0..2_000_u64,
        interface in 0..1_000_u64,
        sizes in prop::collection::vec(64..4_200_u64, 1..50),
    ) {
        let link = link(gbit, cable, interface, 4_200);
        // Enough of them for XOFF and for everything on the link.
        let need = (link.headroom() + Bytes::new(100_000)).count();
        let mut sum = 0;
        let sizes: Vec<u64> = sizes
            .iter()
            .cycle()
            .copied()
            .take_while(|size| {
                sum += size;
                sum < need
            })
            .collect();
        for threshold in thresholds() {
            prop_assert!(fill(&link, threshold, link.headroom(), &sizes).is_ok());
        }
    }
}
