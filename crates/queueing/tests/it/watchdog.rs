//! The watchdog: when a pause becomes a storm, and when that ends.

use incastle_queueing::{
    GuardedReceiver, PauseChange, PauseEffect, PauseFrame, PauseMode, Priority, PrioritySet,
    StormStatistics, Watchdog, WatchdogAction, WatchdogChange, WatchdogConfig, WatchdogError,
};
use incastle_units::{Rate, Span, Time};

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
    let storms = [3, 4].map(|of| dog.storms(Priority::ALL[of], ms(230)).storms);
    assert_eq!(storms, [1, 0]);
    // From 110 to 230 ms.
    let of_three = |now| dog.storms(Priority::ALL[3], ms(now)).storm_time;
    assert_eq!(of_three(500), Span::from_ms(120));
    // It can storm again.
    dog.on_change(ms(231), &paused(&[3]));
    assert_eq!(dog.on_timeout(ms(331)), change(&[3, 4], &[]));
    let both = StormStatistics {
        storms: 2,
        storm_time: Span::from_ms(120 + 9),
    };
    assert_eq!(dog.storms(Priority::ALL[3], ms(340)), both);
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

/// Pauses of 655.35 us (65535 quanta at 51.2 Gbit/s) from a frame, and a watchdog that acts after 1 ms.
fn guarded(action: WatchdogAction) -> GuardedReceiver {
    let rate = Rate::from_bits_per_second(51_200_000_000);
    let mut receiver = GuardedReceiver::new(PauseMode::Quanta, rate);
    receiver.watch(WatchdogConfig {
        detection: Span::from_ms(1),
        restoration: Span::from_ms(2),
        action,
    });
    receiver
}

fn pause(quanta: u16) -> PauseFrame {
    PauseFrame {
        priorities: set(&[3, 5]),
        quanta,
    }
}

fn us(count: u64) -> Time {
    Time::ZERO + Span::from_us(count)
}

#[test]
fn a_storm_flushes_its_queues_or_releases_them() {
    for action in [WatchdogAction::Drop, WatchdogAction::Forward] {
        let (drops, both) = (action == WatchdogAction::Drop, set(&[3, 5]));
        let only_if = |yes, set: PrioritySet| if yes { set } else { PrioritySet::EMPTY };
        let mut receiver = guarded(action);
        let stopped = PauseEffect {
            stopped: both,
            ..PauseEffect::default()
        };
        assert_eq!(receiver.on_frame(us(10), &pause(u16::MAX)), stopped);
        assert_eq!(
            receiver.on_frame(us(500), &pause(u16::MAX)),
            PauseEffect::default()
        );
        // The watchdog comes first, then the end of the pause.
        assert_eq!(receiver.poll_timeout(), Some(us(1_010)));
        let storm = PauseEffect {
            stopped: PrioritySet::EMPTY,
            released: only_if(!drops, both),
            flushed: only_if(drops, both),
        };
        assert_eq!(receiver.on_timeout(us(1_010)), storm);
        assert_eq!(receiver.dropping(), only_if(drops, both));
        assert_eq!(receiver.stopped(), only_if(drops, both));
        let end = us(500) + Span::from_ns(655_350);
        assert_eq!(receiver.poll_timeout(), Some(end));
        let released = PauseEffect {
            released: only_if(drops, both),
            ..PauseEffect::default()
        };
        assert_eq!(receiver.on_timeout(end), released);
        assert_eq!(receiver.pauses(Priority::ALL[3], end).expired, 1);
        // Calm 2 ms later; until then a pause changes nothing for those that forward.
        let calm = end + Span::from_ms(2);
        assert_eq!(receiver.poll_timeout(), Some(calm));
        assert_eq!(receiver.on_timeout(calm), PauseEffect::default());
        assert!(receiver.dropping().is_empty() && receiver.poll_timeout().is_none());
        let storms = receiver.storms(Priority::ALL[5], us(9_000));
        assert_eq!((storms.storms, storms.storm_time), (1, calm - us(1_010)));
        assert_eq!(receiver.on_frame(us(9_000), &pause(1)), stopped);
        assert_eq!(receiver.stopped_since(Priority::ALL[3]), Some(us(9_000)));
    }
}

#[test]
fn a_pause_in_a_forwarding_storm_has_no_effect() {
    let mut receiver = guarded(WatchdogAction::Forward);
    receiver.on_frame(us(0), &pause(u16::MAX));
    receiver.on_frame(us(600), &pause(u16::MAX));
    receiver.on_timeout(us(1_000));
    receiver.on_frame(us(1_100), &pause(0));
    assert_eq!(
        receiver.on_frame(us(1_200), &pause(u16::MAX)),
        PauseEffect::default()
    );
    assert_eq!(receiver.stopped_since(Priority::ALL[3]), None);
    assert_eq!(receiver.pauses(Priority::ALL[3], us(1_200)).pauses, 2);
}
