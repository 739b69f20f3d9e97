//! The record of pauses: causes and the limit by hand. Roots are in `pause_roots`.

use incastle_queueing::{Holding, PauseCause, PauseLog, PauseRecord};
use incastle_units::{Bytes, Time};

fn at(ps: u64) -> Time {
    Time::from_ps(ps)
}

fn holdings(all: &[(u32, u64)]) -> Vec<Holding<u32>> {
    let holding = |&(queue, bytes)| Holding {
        queue,
        bytes: Bytes::new(bytes),
    };
    all.iter().map(holding).collect()
}

#[test]
fn a_pause_has_the_queue_that_stores_most_as_its_cause() {
    let mut log = PauseLog::new(10);
    // Queue 9 is congested and pauses 5; of the account that pauses 2, most is in 5; 6 is not paused.
    log.send(5, &holdings(&[(8, 100), (9, 3_000)]));
    assert!(!log.has_open());
    log.follow(at(10), 5, true);
    log.send(2, &holdings(&[(6, 2_000), (5, 2_001)]));
    log.follow(at(20), 2, true);
    // A refresh changes nothing, nor do the packets that have moved meanwhile.
    log.send(2, &holdings(&[(6, 2_000)]));
    log.follow(at(25), 2, true);
    log.follow(at(30), 5, false);
    log.follow(at(35), 5, false);
    // On a tie the first queue counts.
    log.send(3, &holdings(&[(5, 700), (7, 700)]));
    log.follow(at(40), 3, true);
    let record = |queue, begin, end: Option<u64>, cause| PauseRecord {
        queue,
        begin: at(begin),
        end: end.map(at),
        cause: Some(cause),
    };
    let congested = |queue, paused| PauseCause::Congested { queue, paused };
    let expected = [
        record(5, 10, Some(30), congested(9, None)),
        record(2, 20, None, congested(5, Some(0))),
        record(3, 40, None, congested(5, None)),
    ];
    assert_eq!(log.records(), expected);
    assert!(log.has_open());
}

#[test]
fn a_pause_without_packets_has_no_cause() {
    let mut log = PauseLog::new(10);
    // The cause of an earlier pause does not count.
    log.send(1, &holdings(&[(4, 1)]));
    log.send(1, &holdings(&[(4, 0)]));
    log.follow(at(1), 1, true);
    assert_eq!(log.records()[0].cause, None);
}

#[test]
fn pauses_beyond_the_limit_are_counted() {
    let mut log = PauseLog::new(1);
    log.send(1, &holdings(&[(9, 1)]));
    log.follow(at(1), 1, true);
    log.send(2, &holdings(&[(1, 1)]));
    log.follow(at(2), 2, true);
    log.follow(at(3), 1, false);
    assert_eq!((log.records().len(), log.unrecorded()), (1, 1));
    assert_eq!(log.records()[0].end, Some(at(3)));
    assert!(log.has_open(), "the second pause lasts");
}
