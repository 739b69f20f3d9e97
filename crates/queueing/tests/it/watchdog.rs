//! The watchdog: when a pause becomes a storm, and when that ends.

use incastle_queueing::{
    PauseChange, Priority, PrioritySet, Watchdog, WatchdogAction, WatchdogChange, WatchdogConfig,
    WatchdogError,
};
use incastle_units::{Span, Time};

fn ms(count: u64) -> Time {
    Time::ZERO + Span::from_ms(count)
}

fn set(numbers: &[u8]) -> PrioritySet {
    numbers
        .iter()
        .map(|&number| Priority::new(number).expect("it is below 8"))
        .collect()
}

fn watchdog(action: WatchdogAction) -> Watchdog {
    Watchdog::new(WatchdogConfig {
        detection: Span::from_ms(100),
        restoration: Span::from_ms(30),
        action,
    })
}

fn paused(numbers: &[u8]) -> PauseChange {
    PauseChange {
        paused: set(numbers),
        resumed: PrioritySet::EMPTY,
    }
}

fn resumed(numbers: &[u8]) -> PauseChange {
    PauseChange {
        paused: PrioritySet::EMPTY,
        resumed: set(numbers),
    }
}

fn change(began: &[u8], ended: &[u8]) -> WatchdogChange {
    WatchdogChange {
        began: set(began),
        ended: set(ended),
    }
}

#[test]
fn a_pause_that_lasts_is_a_storm_until_it_was_away_for_a_time() {
    let mut dog = watchdog(WatchdogAction::Drop);
    assert_eq!(dog.poll_timeout(), None);
    dog.on_change(ms(10), &paused(&[3]));
    dog.on_change(ms(50), &paused(&[4]));
    assert_eq!(dog.poll_timeout(), Some(ms(110)));
    assert_eq!(dog.on_timeout(ms(109)), change(&[], &[]));
    assert!(dog.dropping().is_empty());
    assert_eq!(dog.on_timeout(ms(110)), change(&[3], &[]));
    assert_eq!(dog.dropping(), set(&[3]));
    assert!(dog.forwarding().is_empty());
    // The pause of 4 ends in time; its next one counts from its own beginning.
    dog.on_change(ms(140), &resumed(&[4]));
    assert_eq!(dog.poll_timeout(), None);
    dog.on_change(ms(141), &paused(&[4]));
    assert_eq!(dog.poll_timeout(), Some(ms(241)));
    // 3 is resumed for less than 30 ms, then for 30 ms.
    dog.on_change(ms(150), &resumed(&[3]));
    assert_eq!(dog.poll_timeout(), Some(ms(180)));
    dog.on_change(ms(179), &paused(&[3]));
    assert_eq!(dog.poll_timeout(), Some(ms(241)));
    dog.on_change(ms(200), &resumed(&[3]));
    assert_eq!(dog.dropping(), set(&[3]));
    assert_eq!(dog.on_timeout(ms(230)), change(&[], &[3]));
    assert!(dog.dropping().is_empty());
    let storms = [3, 4].map(|of| dog.storms(Priority::ALL[of]));
    assert_eq!(storms, [1, 0]);
    // It can storm again.
    dog.on_change(ms(231), &paused(&[3]));
    assert_eq!(dog.on_timeout(ms(331)), change(&[3, 4], &[]));
    assert_eq!(dog.storms(Priority::ALL[3]), 2);
}

#[test]
fn a_storm_may_be_ignored_instead() {
    let mut dog = watchdog(WatchdogAction::Forward);
    dog.on_change(ms(0), &paused(&[7]));
    assert_eq!(dog.on_timeout(ms(100)), change(&[7], &[]));
    assert_eq!((dog.forwarding(), dog.dropping()), (set(&[7]), set(&[])));
}

#[test]
fn times_are_checked() {
    let config = WatchdogConfig::default();
    assert_eq!(config.check(), Ok(()));
    let none = WatchdogConfig {
        detection: Span::ZERO,
        ..config
    };
    assert_eq!(none.check(), Err(WatchdogError::NoDetectionTime));
}
