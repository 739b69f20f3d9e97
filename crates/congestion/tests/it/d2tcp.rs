//! D2TCP's sender against Vamanan et al. 2012, number by number.

use incastle_congestion::{
    AckSample, CongestionEvent, Controller, D2tcp, D2tcpConfig, Dctcp, DctcpConfig, Echo, Reaction,
};
use incastle_units::{Bytes, Span, Time};
use proptest::prelude::*;

use crate::support::{Sender, cwnd, sample, ssthresh};

const MSS: u64 = 1000;

/// A window of 20 kB and alpha = 1/2, of which 300 kB remain, at a round trip of 100 us.
fn config() -> D2tcpConfig {
    let mut config = D2tcpConfig::new(Bytes::new(MSS));
    config.dctcp.initial_alpha = 0.5;
    config.dctcp.window.initial_window = Bytes::new(20 * MSS);
    config
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// The window after a mark. T_c = 300 / (3/4 x 20) x 100 us = 20 round trips = 2 ms.
fn window_after_a_mark(config: D2tcpConfig, change: impl FnOnce(&mut Sender)) -> u64 {
    let mut control = D2tcp::new(config);
    let mut sender = Sender {
        smoothed_rtt: Some(Span::from_us(100)),
        remaining: Some(Bytes::new(300_000)),
        ..Sender::default()
    };
    change(&mut sender);
    let reaction = control.on_congestion(&mut sender.cx(), CongestionEvent::Ecn);
    assert_eq!(reaction, Reaction::Reduced);
    cwnd(&control)
}

fn window_with(deadline: impl Into<Option<Time>>) -> u64 {
    window_after_a_mark(config(), |sender| sender.deadline = deadline.into())
}

#[test]
fn the_defaults_are_those_of_the_paper() {
    let defaults = D2tcpConfig::new(Bytes::new(MSS));
    assert!((defaults.min_urgency - 0.5).abs() < 1e-15);
    assert!((defaults.max_urgency - 2.0).abs() < 1e-15);
    assert_eq!(defaults.dctcp, DctcpConfig::new(Bytes::new(MSS)));
}

#[test]
fn a_near_deadline_backs_off_less_and_a_far_one_more() {
    // Without a deadline this is DCTCP: p = 1/2, 20 x 3/4 = 15.
    assert_eq!(window_with(None), 15_000);
    // 2 ms left, just enough: d = 1, the same.
    assert_eq!(window_with(at(2000)), 15_000);
    // 1.6 ms left: d = 1.25, p = 2^-1.25 = 0.420448, 20 x 0.789776 = 15.79552.
    assert_eq!(window_with(at(1600)), 15_795);
    // 2.5 ms left: d = 0.8, p = 2^-0.8 = 0.574349, 20 x 0.712825 = 14.2565.
    assert_eq!(window_with(at(2500)), 14_256);
}

#[test]
fn urgency_stays_between_its_bounds() {
    // 1 ms left: d = 2, p = 1/4, 20 x 7/8 = 17.5.
    assert_eq!(window_with(at(1000)), 17_500);
    // Half of it would be d = 4; none at all, or a deadline that has passed, the greatest too.
    assert_eq!(window_with(at(500)), 17_500);
    assert_eq!(window_with(at(0)), 17_500);
    let overdue = window_after_a_mark(config(), |sender| {
        sender.now += Span::from_ms(7);
        sender.deadline = Some(at(2000));
    });
    assert_eq!(overdue, 17_500);
    // 4 ms left: d = 1/2, p = 0.70711, 20 x 0.64645 = 12.929; so with all the time of the world.
    assert_eq!(window_with(at(4000)), 12_928);
    assert_eq!(window_with(at(4_000_000)), 12_928);
}

#[test]
fn the_bounds_are_settings() {
    let wide = D2tcpConfig {
        min_urgency: 0.25,
        max_urgency: 4.0,
        ..config()
    };
    // 0.5 ms left: d = 4, p = 1/16, 20 x 31/32 = 19.375.
    let near = window_after_a_mark(wide, |sender| sender.deadline = Some(at(500)));
    assert_eq!(near, 19_375);
    // 8 ms left: d = 1/4, p = 2^-0.25 = 0.840896, 20 x 0.579552 = 11.59104.
    let far = window_after_a_mark(wide, |sender| sender.deadline = Some(at(8000)));
    assert_eq!(far, 11_591);
}

#[test]
fn what_is_unknown_makes_it_dctcp() {
    let without_end = window_after_a_mark(config(), |sender| {
        sender.deadline = Some(at(500));
        sender.remaining = None;
    });
    assert_eq!(without_end, 15_000);
    let without_rtt = window_after_a_mark(config(), |sender| {
        sender.deadline = Some(at(500));
        sender.smoothed_rtt = None;
    });
    assert_eq!(without_rtt, 15_000);
}

#[test]
fn full_and_no_marking_leave_nothing_to_correct() {
    // 1^d = 1 and 0^d = 0: a deadline changes neither the half nor the nothing.
    for (alpha, window) in [(1.0, 10_000), (0.0, 20_000)] {
        for deadline in [None, Some(at(500)), Some(at(8000))] {
            let mut config = config();
            config.dctcp.initial_alpha = alpha;
            let after = window_after_a_mark(config, |sender| sender.deadline = deadline);
            assert_eq!(after, window);
        }
    }
}

#[test]
fn marks_count_once_per_window_and_a_loss_halves() {
    let mut control = D2tcp::new(config());
    let mut sender = Sender {
        smoothed_rtt: Some(Span::from_us(100)),
        remaining: Some(Bytes::new(300_000)),
        deadline: Some(at(500)),
        ..Sender::default()
    };
    sender.send(&mut control, 20 * MSS);
    // The first ACK ends the first window with F = 1: alpha = 15/16 x 0.5 + 1/16 = 0.53125; d = 2:
    // p = 0.282227, 20,000 x 0.858887 = 17177.7.
    let first = sender.ack(&mut control, MSS, Echo::Congestion);
    assert_eq!((first, cwnd(&control)), (Reaction::Reduced, 17_177));
    let second = sender.ack(&mut control, MSS, Echo::Congestion);
    assert_eq!((second, cwnd(&control)), (Reaction::Ignored, 17_177));
    // The loss completes the halving of the 20 segments in flight before the cut.
    sender.lose(&mut control);
    assert_eq!(
        (cwnd(&control), ssthresh(&control)),
        (10 * MSS, Some(10 * MSS))
    );
}

/// One step of a random connection.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Segments.
    sent: u64,
    acked: u64,
    marked: bool,
    lost: bool,
    after: Span,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (
        0_u64..20,
        0_u64..20,
        any::<bool>(),
        prop::bool::weighted(0.02),
        0_u64..500,
    );
    let step = step.prop_map(|(sent, acked, marked, lost, us)| Step {
        sent,
        acked,
        marked,
        lost,
        after: Span::from_us(us),
    });
    prop::collection::vec(step, 1..200)
}

proptest! {
    /// Without a deadline every window is DCTCP's, to the byte.
    #[test]
    fn without_a_deadline_it_is_dctcp(steps in steps(), initial_alpha in 0.0..=1.0) {
        let mut config = D2tcpConfig::new(Bytes::new(MSS));
        config.dctcp.initial_alpha = initial_alpha;
        let (mut ours, mut theirs) = (D2tcp::new(config), Dctcp::new(config.dctcp));
        let mut senders = [Sender::default(), Sender::default()];
        for step in steps {
            run(&mut senders[0], &mut ours, step);
            run(&mut senders[1], &mut theirs, step);
            prop_assert_eq!(ours.window(), theirs.window());
            prop_assert_eq!(ours.state(), theirs.state());
        }
    }
}

fn run(sender: &mut Sender, control: &mut impl Controller, step: Step) {
    sender.now += step.after;
    sender.smoothed_rtt = Some(Span::from_us(100));
    sender.remaining = Some(Bytes::new(1 << 20));
    sender.send(control, step.sent * MSS);
    let bytes = (step.acked * MSS).min(sender.snd_nxt - sender.snd_una);
    let echo = if step.marked {
        Echo::Congestion
    } else {
        Echo::Clear
    };
    let ack = AckSample {
        segments: step.acked.max(1) as u32,
        ..sample(bytes, echo)
    };
    sender.ack_with(control, ack);
    if step.lost {
        sender.lose(control);
    }
}
