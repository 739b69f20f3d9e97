//! The choice of the next priority: strict, weighted, mixed, and the round robin of HPCC's simulator.

use incastle_cases::cases;
use incastle_queueing::{
    Heads, Priority, PrioritySet, Quanta, Scheduler, SchedulerConfig, SchedulerError,
};
use incastle_units::Bytes;
use proptest::prelude::*;

fn priority(number: u8) -> Priority {
    Priority::new(number).expect("it is below 8")
}

/// First packets of one size in these priorities.
fn heads(waiting: &[u8], size: u64) -> Heads {
    let mut heads = [None; 8];
    for &number in waiting {
        heads[usize::from(number)] = Some(Bytes::new(size));
    }
    heads
}

/// The numbers that the scheduler serves while the same priorities wait.
fn served(scheduler: &mut Scheduler, heads: &Heads, count: usize) -> Vec<u8> {
    let mut next = || scheduler.next(heads).map(Priority::number);
    (0..count).map_while(|_| next()).collect()
}

fn quanta(bytes: u64) -> Quanta {
    [Bytes::new(bytes); 8]
}

#[test]
fn strict_priority_serves_the_highest_number() {
    let mut scheduler = Scheduler::new(&SchedulerConfig::Strict);
    assert_eq!(
        served(&mut scheduler, &heads(&[0, 3, 6], 9_000), 3),
        [6, 6, 6]
    );
    assert_eq!(served(&mut scheduler, &heads(&[0, 3], 1), 2), [3, 3]);
    assert_eq!(scheduler.next(&heads(&[], 1)), None);
    assert!(scheduler.never_paused().is_empty());
}

#[test]
fn quanta_follow_weights() {
    // The smallest weight, 2, gives the packet of 1500 B; 3/2 x 1500 = 2250, 7/2 x 1500 = 5250.
    let quanta = SchedulerConfig::quanta([2, 3, 7, 2, 2, 2, 2, 4], Bytes::new(1_500));
    let bytes = quanta.map(Bytes::count);
    assert_eq!(
        bytes,
        [1_500, 2_250, 5_250, 1_500, 1_500, 1_500, 1_500, 3_000]
    );
}

#[test]
fn deficits_carry_what_a_packet_does_not_use() {
    // Quanta of 1000 and 500 B, packets of 600 B. Priority 0: 1000, sends to 400; its turn ends.
    // 1: 500. 0: 1400, sends two to 200. 1: 1000, sends one to 400. 0: 1200, two to 0. 1: 900, one to 300.
    // 0: 1000, one to 400. 1: 800, one to 200.
    let mut quanta = quanta(1_000);
    quanta[1] = Bytes::new(500);
    let mut scheduler = Scheduler::new(&SchedulerConfig::Dwrr { quanta });
    let order = served(&mut scheduler, &heads(&[0, 1], 600), 9);
    assert_eq!(order, [0, 0, 0, 1, 0, 0, 1, 0, 1]);
}

#[test]
fn a_priority_that_may_not_send_has_no_deficit() {
    let mut scheduler = Scheduler::new(&SchedulerConfig::Dwrr {
        quanta: quanta(1_000),
    });
    // Priority 5 keeps 900 of 1000 B, and is paused or empty when its turn continues.
    assert_eq!(served(&mut scheduler, &heads(&[5], 100), 1), [5]);
    assert_eq!(served(&mut scheduler, &heads(&[6], 1_000), 1), [6]);
    // With its 900 B it would pass with the first quantum of its next turn; so it needs a second, after 6 has sent.
    let both = {
        let mut both = heads(&[5, 6], 1_000);
        both[5] = Some(Bytes::new(1_900));
        both
    };
    assert_eq!(served(&mut scheduler, &both, 3), [6, 5, 6]);
}

#[test]
fn strict_priorities_are_above_the_weighted_ones() {
    let strict: PrioritySet = [priority(2), priority(6)].into_iter().collect();
    let mut quanta = quanta(1_000);
    quanta[2] = Bytes::ZERO;
    let mut scheduler = Scheduler::new(&SchedulerConfig::Mixed { strict, quanta });
    assert_eq!(
        served(&mut scheduler, &heads(&[0, 2, 6, 7], 1_000), 2),
        [6, 6]
    );
    assert_eq!(served(&mut scheduler, &heads(&[0, 2, 7], 1_000), 1), [2]);
    // 7 is not strict: it shares with 0.
    assert_eq!(
        served(&mut scheduler, &heads(&[0, 7], 1_000), 4),
        [0, 7, 0, 7]
    );
}

#[test]
fn round_robin_serves_queue_0_first_and_the_others_in_turn() {
    let mut scheduler = Scheduler::new(&SchedulerConfig::RoundRobin);
    assert_eq!(scheduler.never_paused(), PrioritySet::only(priority(0)));
    assert_eq!(
        served(&mut scheduler, &heads(&[1, 3, 4], 9_000), 5),
        [1, 3, 4, 1, 3]
    );
    // Queue 0 leaves the turn where it was: after 3.
    assert_eq!(served(&mut scheduler, &heads(&[0, 1, 4], 9_000), 2), [0, 0]);
    assert_eq!(served(&mut scheduler, &heads(&[1, 4], 64), 2), [4, 1]);
    assert_eq!(served(&mut scheduler, &heads(&[1], 64), 2), [1, 1]);
}

#[test]
fn a_priority_without_quantum_is_refused() {
    let mut quanta = quanta(1);
    quanta[4] = Bytes::ZERO;
    let error = Err(SchedulerError::NoQuantum(priority(4)));
    assert_eq!(SchedulerConfig::Dwrr { quanta }.check(), error);
    let strict = PrioritySet::only(priority(3));
    assert_eq!(SchedulerConfig::Mixed { strict, quanta }.check(), error);
    let strict = PrioritySet::only(priority(4));
    assert_eq!(SchedulerConfig::Mixed { strict, quanta }.check(), Ok(()));
    assert_eq!(SchedulerConfig::RoundRobin.check(), Ok(()));
}

/// The largest packet of the random sequences.
const LARGEST: u64 = 2_000;

/// Serves packets of these sizes from the priorities of a set that always wait; returns the order and the bytes sent
/// so far after each packet.
fn backlogged(
    scheduler: &mut Scheduler,
    waiting: PrioritySet,
    sizes: &[u64],
) -> Vec<(Priority, [u64; 8])> {
    let mut sizes = sizes.iter().cycle().copied().map(Bytes::new);
    let mut draw = || sizes.next().expect("a cycle never ends");
    let mut heads = Priority::ALL.map(|one| waiting.contains(one).then(&mut draw));
    let mut sent = [0; 8];
    (0..400)
        .map(|_| {
            let next = scheduler.next(&heads).expect("packets wait");
            let head = heads[next.index()].replace(draw());
            sent[next.index()] += head.expect("a packet waits").count();
            (next, sent)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(512)))]

    /// At any time two priorities that always wait have sent the same number of quanta, up to one quantum and one
    /// largest packet each. None waits for longer than the rounds that its packet needs.
    #[test]
    fn shares_follow_quanta(
        bits in 1..=u8::MAX,
        quanta in prop::array::uniform8(200..6_000_u64),
        sizes in prop::collection::vec(40..=LARGEST, 1..64),
        strict in any::<bool>(),
    ) {
        let waiting = PrioritySet::from_bits(bits);
        // Strict priorities that never wait change nothing.
        let config = if strict {
            SchedulerConfig::Mixed {
                strict: PrioritySet::ALL.without(waiting),
                quanta: quanta.map(Bytes::new),
            }
        } else {
            SchedulerConfig::Dwrr { quanta: quanta.map(Bytes::new) }
        };
        let mut last = [0; 8];
        for (step, (next, sent)) in
            backlogged(&mut Scheduler::new(&config), waiting, &sizes).into_iter().enumerate()
        {
            for (i, j) in waiting.iter().flat_map(|i| waiting.iter().map(move |j| (i.index(), j.index()))) {
                let (crossed, tolerance) = (
                    (sent[i] * quanta[j]).abs_diff(sent[j] * quanta[i]),
                    quanta[i] * quanta[j] + LARGEST * (quanta[i] + quanta[j]),
                );
                prop_assert!(crossed <= tolerance, "{i} {j}: {sent:?}");
            }
            last[next.index()] = step;
            for one in waiting.iter() {
                let rounds = LARGEST.div_ceil(quanta[one.index()]) + 1;
                let round: u64 = waiting.iter().map(|i| (quanta[i.index()] + LARGEST) / 40).sum();
                prop_assert!((step - last[one.index()]) as u64 <= rounds * round, "{one} starves");
            }
        }
    }

    /// Whatever may send, the scheduler serves one of it; nothing below a strict priority that waits.
    #[test]
    fn what_may_not_send_is_not_served(
        kind in 0..4_u8,
        strict in any::<u8>(),
        quanta in prop::array::uniform8(1..3_000_u64),
        steps in prop::collection::vec((any::<u8>(), 1..9_000_u64), 1..200),
    ) {
        let quanta = quanta.map(Bytes::new);
        let strict = PrioritySet::from_bits(strict);
        let (config, first) = match kind {
            0 => (SchedulerConfig::Strict, PrioritySet::ALL),
            1 => (SchedulerConfig::Dwrr { quanta }, PrioritySet::EMPTY),
            2 => (SchedulerConfig::Mixed { strict, quanta }, strict),
            _ => (SchedulerConfig::RoundRobin, PrioritySet::only(priority(0))),
        };
        let mut scheduler = Scheduler::new(&config);
        for (bits, size) in steps {
            let may_send = PrioritySet::from_bits(bits);
            let heads = Priority::ALL.map(|one| may_send.contains(one).then(|| Bytes::new(size)));
            let next = scheduler.next(&heads);
            prop_assert_eq!(next.is_none(), may_send.is_empty());
            let Some(next) = next else { continue };
            prop_assert!(may_send.contains(next));
            if let Some(best) = may_send.intersection(first).highest() {
                prop_assert_eq!(next, best);
            }
        }
    }
}
