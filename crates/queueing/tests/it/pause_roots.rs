//! The roots of pauses, by hand.

use incastle_queueing::PauseCause::Nic;
use incastle_queueing::{PauseCause, PauseRecord, rooted_pauses};
use incastle_units::Time;

fn pause(queue: u32, begin: u64, end: Option<u64>, cause: PauseCause<u32>) -> PauseRecord<u32> {
    PauseRecord {
        queue,
        begin: Time::from_ps(begin),
        end: end.map(Time::from_ps),
        cause: Some(cause),
    }
}

/// The cause of a pause by a queue that is not paused when the frame is sent.
fn congested(queue: u32) -> PauseCause<u32> {
    PauseCause::Congested {
        queue,
        paused: None,
    }
}

/// Pause, begin, end, root and depth of each part.
fn parts(records: &[PauseRecord<u32>]) -> Vec<(usize, u64, Option<u64>, u32, u32)> {
    let rooted = rooted_pauses(records).into_iter();
    let part = rooted.map(|one| {
        let root = one.root.expect("it has a cause");
        let end = one.end.map(Time::as_ps);
        (one.pause, one.begin.as_ps(), end, root.root, root.depth)
    });
    part.collect()
}

#[test]
fn causes_are_followed_to_a_queue_that_is_not_paused() {
    // 9 pauses 5, which pauses 2, which pauses 1.
    let records = [
        pause(5, 10, Some(40), congested(9)),
        pause(2, 20, Some(40), congested(5)),
        pause(1, 30, Some(40), congested(2)),
    ];
    let expected = [
        (0, 10, Some(40), 9, 1),
        (1, 20, Some(40), 9, 2),
        (2, 30, Some(40), 9, 3),
    ];
    assert_eq!(parts(&records), expected);
}

#[test]
fn a_root_that_is_paused_itself_hands_over() {
    // 9 pauses 5 for its own congestion, until a broken NIC pauses 9. The NIC is paused as well, and stays the root.
    let records = [
        pause(5, 10, None, congested(9)),
        pause(20, 11, None, congested(30)),
        pause(9, 12, None, Nic(20)),
        pause(2, 20, Some(50), congested(5)),
    ];
    let expected = [
        (0, 10, Some(12), 9, 1),
        (1, 11, None, 30, 1),
        (0, 12, None, 20, 2),
        (2, 12, None, 20, 1),
        (3, 20, Some(50), 20, 3),
    ];
    assert_eq!(parts(&records), expected);
}

#[test]
fn a_root_stays_while_its_data_drain() {
    // 5 sends again from 30 on, and 2 is paused until 5 has room. From 50 on, 5 is paused by another root.
    let records = [
        pause(5, 10, Some(30), congested(9)),
        pause(2, 20, Some(60), congested(5)),
        pause(1, 40, Some(60), congested(2)),
        pause(5, 50, Some(60), congested(8)),
    ];
    let expected = [
        (0, 10, Some(30), 9, 1),
        (1, 20, Some(50), 9, 2),
        // That of the pause below it, as it was before this one began.
        (2, 40, Some(50), 9, 3),
        (1, 50, Some(60), 8, 2),
        (2, 50, Some(60), 8, 3),
        (3, 50, Some(60), 8, 1),
    ];
    assert_eq!(parts(&records), expected);
    // A queue that nobody pauses when a pause begins is the root of that.
    let later = [records[0], pause(3, 35, Some(45), congested(5))];
    assert_eq!(parts(&later)[1], (1, 35, Some(45), 5, 1));
    // One that was paused when the frame was sent is not.
    let cause = PauseCause::Congested {
        queue: 5,
        paused: Some(0),
    };
    let later = [records[0], pause(3, 35, Some(45), cause)];
    assert_eq!(parts(&later)[1], (1, 35, Some(45), 9, 2));
}

#[test]
fn a_cycle_ends_at_its_first_queue() {
    let records = [
        pause(1, 1, None, congested(2)),
        pause(2, 2, None, congested(1)),
        pause(3, 3, None, congested(2)),
    ];
    let expected = [
        (0, 1, Some(2), 2, 1),
        (0, 2, None, 1, 2),
        (1, 2, None, 1, 2),
        (2, 3, None, 1, 3),
    ];
    assert_eq!(parts(&records), expected);
}

#[test]
fn pauses_without_a_cause_or_a_length_have_a_row() {
    let unknown = PauseRecord {
        cause: None,
        ..pause(4, 5, Some(9), Nic(0))
    };
    assert_eq!(rooted_pauses(&[unknown])[0].root, None);
    // The cause of a pause that ended when it began; that of one whose queue is paused for no known reason.
    let records = [pause(1, 6, Some(6), congested(4))];
    assert_eq!(parts(&records), [(0, 6, Some(6), 4, 1)]);
    let above = rooted_pauses(&[unknown, pause(1, 6, Some(8), congested(4))]);
    let root = above[1].root.expect("its cause is known");
    assert_eq!((root.root, root.depth), (4, 1));
}
