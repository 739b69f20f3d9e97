//! Checks for deadlocks: when they come, and what counts.

use incastle_queueing::{Deadlock, Holding, PauseRecorder, PausedQueue};
use incastle_units::{Bytes, Span, Time};

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// A queue that is paused since an instant and waits for 5000 bytes in another, where 3000 would do.
fn paused(queue: u32, since: u64, waits_for: u32) -> PausedQueue<u32> {
    PausedQueue {
        queue,
        since: us(since),
        resume_level: Bytes::new(3_000),
        waits_for: vec![Holding {
            queue: waits_for,
            bytes: Bytes::new(5_000),
        }],
    }
}

#[test]
fn checks_come_while_anything_is_paused() {
    let mut recorder = PauseRecorder::new(0, Some(Span::from_us(10)));
    assert_eq!(recorder.next_check(us(3)), None);
    recorder.follow(us(14), 1, true);
    assert_eq!(recorder.next_check(us(14)), Some(us(20)));
    assert_eq!(recorder.next_check(us(15)), None, "it is entered");
    recorder.check(us(20), &[]);
    assert_eq!(recorder.next_check(us(20)), Some(us(30)));
    recorder.follow(us(25), 1, false);
    recorder.check(us(30), &[]);
    assert_eq!(recorder.next_check(us(30)), None);
    let mut without = PauseRecorder::new(5, None);
    without.follow(us(1), 1, true);
    assert_eq!(without.next_check(us(1)), None);
}

#[test]
fn a_cycle_counts_when_it_is_the_same_at_two_checks() {
    let mut recorder = PauseRecorder::new(0, Some(Span::from_us(10)));
    let both = [paused(1, 2, 2), paused(2, 3, 1)];
    recorder.check(us(10), &both);
    assert_eq!(recorder.deadlocks(), []);
    // Queue 2 was resumed in between, and is paused again.
    let again = [paused(1, 2, 2), paused(2, 15, 1)];
    recorder.check(us(20), &again);
    assert_eq!(recorder.deadlocks(), []);
    recorder.check(us(30), &again);
    let first = Deadlock {
        found: us(20),
        cycle: vec![1, 2],
    };
    assert_eq!(recorder.deadlocks(), std::slice::from_ref(&first));
    // It lasts, and counts once. A watchdog dissolves it, and another one forms.
    recorder.check(us(40), &again);
    recorder.check(us(50), &[paused(1, 2, 2)]);
    let next = [paused(5, 48, 6), paused(6, 49, 5)];
    recorder.check(us(60), &next);
    recorder.check(us(70), &next);
    let second = Deadlock {
        found: us(60),
        cycle: vec![5, 6],
    };
    assert_eq!(recorder.deadlocks(), [first, second]);
}
