//! Pauses to the picosecond: their time, expiry, refreshes, and counters.

use incastle_cases::cases;
use incastle_queueing::PauseTransition::{Pause, Resume};
use incastle_queueing::{
    PauseChange, PauseFrame, PauseMode, PauseReceiver, PauseSender, PauseSenderConfig,
    PauseStatistics, Priority, PrioritySet, SentPauses, pause_span,
};
use incastle_units::{Rate, Span, Time};
use proptest::prelude::*;

const fn gbit(count: u64) -> Rate {
    Rate::from_bits_per_second(count * 1_000_000_000)
}

const fn ps(count: u64) -> Time {
    Time::from_ps(count)
}

fn priority(number: u8) -> Priority {
    Priority::new(number).expect("it is below 8")
}

fn set(numbers: &[u8]) -> PrioritySet {
    numbers.iter().map(|&number| priority(number)).collect()
}

fn frame(numbers: &[u8], quanta: u16) -> PauseFrame {
    PauseFrame {
        priorities: set(numbers),
        quanta,
    }
}

fn change(paused: &[u8], resumed: &[u8]) -> PauseChange {
    PauseChange {
        paused: set(paused),
        resumed: set(resumed),
    }
}

#[test]
fn a_quantum_is_512_bit_times() {
    // 65535 x 512 = 33,553,920 bits.
    assert_eq!(pause_span(u16::MAX, gbit(10)), Span::from_ns(3_355_392));
    assert_eq!(pause_span(u16::MAX, gbit(25)), Span::from_ps(1_342_156_800));
    assert_eq!(pause_span(u16::MAX, gbit(100)), Span::from_ps(335_539_200));
    assert_eq!(pause_span(1, gbit(400)), Span::from_ps(1_280));
    // 512 / 7e9 s = 73142.857 ps.
    assert_eq!(pause_span(1, gbit(7)), Span::from_ps(73_142));
    assert_eq!(pause_span(0, gbit(1)), Span::ZERO);
}

#[test]
fn pauses_end_with_their_time() {
    // 100 Gbit/s: a quantum of 5120 ps.
    let mut port = PauseReceiver::new(PauseMode::Quanta, gbit(100));
    assert_eq!(port.poll_timeout(), None);
    assert_eq!(
        port.on_frame(ps(1_000), &frame(&[3, 5], 10)),
        change(&[3, 5], &[])
    );
    assert_eq!(port.poll_timeout(), Some(ps(52_200)));
    // A later frame counts, with a longer or a shorter time; the pause stays the same one.
    assert_eq!(port.on_frame(ps(2_000), &frame(&[3], 20)), change(&[], &[]));
    assert_eq!(port.paused_since(priority(3)), Some(ps(1_000)));
    assert_eq!(port.on_frame(ps(3_000), &frame(&[5], 2)), change(&[], &[]));
    assert_eq!(port.poll_timeout(), Some(ps(13_240)));
    assert_eq!(port.on_timeout(ps(13_239)), change(&[], &[]));
    assert_eq!(port.on_timeout(ps(13_240)), change(&[], &[5]));
    assert_eq!(port.paused(), set(&[3]));
    assert_eq!(port.poll_timeout(), Some(ps(104_400)));
    // At the instant of its end it can be extended.
    assert_eq!(
        port.on_frame(ps(104_400), &frame(&[3], 1)),
        change(&[], &[])
    );
    assert_eq!(port.on_timeout(ps(104_400)), change(&[], &[]));
    assert_eq!(port.on_timeout(ps(109_520)), change(&[], &[3]));
    let expected = PauseStatistics {
        pause_frames: 3,
        resume_frames: 0,
        pauses: 1,
        expired: 1,
        paused_for: Span::from_ps(108_520),
        longest: Span::from_ps(108_520),
    };
    assert_eq!(port.statistics(priority(3), ps(200_000)), expected);
}

#[test]
fn zero_quanta_resume() {
    let mut port = PauseReceiver::new(PauseMode::Quanta, gbit(100));
    port.on_frame(ps(0), &frame(&[0, 1], u16::MAX));
    assert_eq!(
        port.on_frame(ps(700), &frame(&[1, 2], 0)),
        change(&[], &[1])
    );
    assert_eq!(port.paused(), set(&[0]));
    let one = port.statistics(priority(1), ps(900));
    assert_eq!((one.pauses, one.expired, one.resume_frames), (1, 0, 1));
    assert_eq!(one.paused_for, Span::from_ps(700));
    // Of a pause in effect its time so far counts.
    let zero = port.statistics(priority(0), ps(900));
    assert_eq!((zero.pauses, zero.paused_for), (1, Span::from_ps(900)));
    assert_eq!(port.paused_since(priority(0)), Some(ps(0)));
    let two = port.statistics(priority(2), ps(900));
    assert_eq!((two.pauses, two.resume_frames), (0, 1));
    // A second pause adds to the first.
    port.on_frame(ps(1_000), &frame(&[1], 7));
    port.on_frame(ps(1_050), &frame(&[1], 0));
    let one = port.statistics(priority(1), ps(2_000));
    assert_eq!((one.pauses, one.paused_for), (2, Span::from_ps(750)));
}

#[test]
fn on_off_pauses_do_not_expire() {
    let mut port = PauseReceiver::new(PauseMode::OnOff, gbit(100));
    assert_eq!(port.on_frame(ps(0), &frame(&[3], 5)), change(&[3], &[]));
    assert_eq!(port.poll_timeout(), None);
    assert_eq!(
        port.on_timeout(Time::ZERO + Span::from_secs(9)),
        change(&[], &[])
    );
    assert_eq!(port.reset(ps(500)), change(&[], &[3]));
    assert_eq!(
        port.statistics(priority(3), ps(900)).paused_for,
        Span::from_ps(500)
    );
    assert_eq!(port.on_frame(ps(900), &frame(&[3], 5)), change(&[3], &[]));
    assert_eq!(port.on_frame(ps(901), &frame(&[3], 0)), change(&[], &[3]));
}

#[test]
#[should_panic(expected = "a pause that has expired has ended")]
fn a_timeout_that_was_not_handled_is_a_defect() {
    let mut port = PauseReceiver::new(PauseMode::Quanta, gbit(100));
    port.on_frame(ps(0), &frame(&[3], 1));
    port.on_frame(ps(5_121), &frame(&[3], 1));
}

#[test]
fn a_new_rate_counts_for_later_frames() {
    let mut port = PauseReceiver::new(PauseMode::Quanta, gbit(100));
    port.on_frame(ps(0), &frame(&[3], 10));
    port.change_rate(gbit(10));
    port.on_frame(ps(0), &frame(&[4], 10));
    assert_eq!(port.poll_timeout(), Some(ps(51_200)));
    assert_eq!(port.on_timeout(ps(51_200)), change(&[], &[3]));
    assert_eq!(port.poll_timeout(), Some(ps(512_000)));
}

#[test]
fn pauses_are_refreshed_at_half_their_time() {
    // 65535 quanta at 100 Gbit/s: 335,539,200 ps; half: 167,769,600.
    let mut port = PauseSender::new(PauseSenderConfig::default(), gbit(100));
    assert_eq!(port.poll_timeout(), None);
    assert_eq!(
        port.on_transition(ps(5), priority(3), Pause),
        frame(&[3], u16::MAX)
    );
    assert_eq!(port.poll_timeout(), Some(ps(167_769_605)));
    assert_eq!(port.on_timeout(ps(167_769_604)), None);
    assert_eq!(
        port.on_timeout(ps(167_769_605)),
        Some(frame(&[3], u16::MAX))
    );
    assert_eq!(port.poll_timeout(), Some(ps(335_539_205)));
    // Another priority at the instant of the refresh: one frame refreshes both later.
    assert_eq!(
        port.on_transition(ps(167_769_605), priority(6), Pause),
        frame(&[6], u16::MAX)
    );
    assert_eq!(
        port.on_timeout(ps(335_539_205)),
        Some(frame(&[3, 6], u16::MAX))
    );
    assert_eq!(port.paused(), set(&[3, 6]));
    assert_eq!(
        port.on_transition(ps(335_539_300), priority(3), Resume),
        frame(&[3], 0)
    );
    assert_eq!(
        port.on_timeout(ps(503_308_805)),
        Some(frame(&[6], u16::MAX))
    );
    assert_eq!(port.frames(), 6);
    let sent = SentPauses {
        pauses: 1,
        refreshes: 2,
        resumes: 1,
    };
    assert_eq!(port.sent(priority(3)), sent);
    port.reset();
    assert_eq!(
        (port.poll_timeout(), port.paused()),
        (None, PrioritySet::EMPTY)
    );
    port.change_rate(gbit(10));
    port.on_transition(ps(0), priority(6), Pause);
    assert_eq!(port.poll_timeout(), Some(ps(1_677_696_000)));
}

#[test]
fn on_off_pauses_are_not_refreshed() {
    let config = PauseSenderConfig {
        mode: PauseMode::OnOff,
        quanta: 5,
    };
    let mut port = PauseSender::new(config, gbit(100));
    assert_eq!(
        port.on_transition(ps(0), priority(1), Pause),
        frame(&[1], 5)
    );
    assert_eq!(port.poll_timeout(), None);
    assert_eq!(
        port.on_transition(ps(9), priority(1), Resume),
        frame(&[1], 0)
    );
}

#[test]
#[should_panic(expected = "pauses and resumes alternate")]
fn a_resume_without_a_pause_is_a_defect() {
    let mut port = PauseSender::new(PauseSenderConfig::default(), gbit(100));
    port.on_transition(ps(0), priority(1), Resume);
}

/// A sender, a link that takes a constant time, a receiver.
struct Link {
    delay: Span,
    travelling: Vec<(Time, PauseFrame)>,
    sender: PauseSender,
    receiver: PauseReceiver,
}

impl Link {
    fn send(&mut self, now: Time, frame: PauseFrame) {
        self.travelling.push((now + self.delay, frame));
    }

    /// Handles all events until `end`; frames arrive before timers fire.
    fn run(&mut self, end: Time) {
        loop {
            let arrival = self.travelling.first().map(|&(at, _)| at);
            let timers = [self.sender.poll_timeout(), self.receiver.poll_timeout()];
            let next = timers.into_iter().flatten().chain(arrival).min();
            let Some(now) = next.filter(|&now| now <= end) else {
                return;
            };
            if arrival == Some(now) {
                let (_, frame) = self.travelling.remove(0);
                self.receiver.on_frame(now, &frame);
            } else if let Some(frame) = self.sender.on_timeout(now) {
                self.send(now, frame);
            } else {
                self.receiver.on_timeout(now);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(512)))]

    /// Refreshes keep a pause without a gap: the receiver has the sender's pauses, a delay of the link later, and
    /// none expires.
    #[test]
    fn the_receiver_follows_the_sender(
        quanta in 2..200_u16,
        delay in 0..3_000_000_u64,
        on_off in any::<bool>(),
        steps in prop::collection::vec((0..8_u8, 0..2_000_000_u64), 1..60),
    ) {
        let mode = if on_off { PauseMode::OnOff } else { PauseMode::Quanta };
        let mut link = Link {
            delay: Span::from_ps(delay),
            travelling: Vec::new(),
            sender: PauseSender::new(PauseSenderConfig { mode, quanta }, gbit(100)),
            receiver: PauseReceiver::new(mode, gbit(100)),
        };
        let mut now = Time::ZERO;
        let (mut paused_for, mut since) = ([Span::ZERO; 8], [None; 8]);
        for (of, wait) in steps {
            now += Span::from_ps(wait);
            link.run(now);
            let index = usize::from(of);
            let transition = if let Some(since) = since[index].take() {
                paused_for[index] += now - since;
                Resume
            } else {
                since[index] = Some(now);
                Pause
            };
            let frame = link.sender.on_transition(now, priority(of), transition);
            link.send(now, frame);
        }
        let end = now + link.delay;
        link.run(end);
        prop_assert_eq!(link.receiver.paused(), link.sender.paused());
        for one in Priority::ALL {
            let statistics = link.receiver.statistics(one, end);
            let running = since[one.index()].map_or(Span::ZERO, |since| now - since);
            prop_assert_eq!(statistics.expired, 0);
            prop_assert_eq!(statistics.paused_for, paused_for[one.index()] + running);
        }
    }
}
