//! D2TCP's reaction (Vamanan et al., SIGCOMM 2012): cwnd (1 - p / 2) with p = alpha^d, where
//! d = T_c / D, T_c = B / (3/4 W) round trips for the rest of the data, D the time to the deadline.

use incastle_congestion::{
    AckSample, CongestionEvent, Context, ControlState, Controller, Reaction, Window,
};
use incastle_units::{Bytes, Span, Time};

use crate::support::{Sender, cwnd};

struct D2tcp {
    cwnd: u64,
    alpha: f64,
}

impl D2tcp {
    fn urgency(&self, cx: &Context<'_>) -> Option<f64> {
        let (rest, rtt) = (cx.remaining?, cx.smoothed_rtt?.as_secs_lossy());
        let left = cx.deadline?.saturating_since(cx.now).as_secs_lossy();
        let needed = rest.count() as f64 / (0.75 * self.cwnd as f64) * rtt;
        Some((needed / left).clamp(0.5, 2.0))
    }
}

impl Controller for D2tcp {
    fn on_ack(&mut self, _cx: &mut Context<'_>, _ack: &AckSample) {}

    fn on_congestion(&mut self, cx: &mut Context<'_>, _event: CongestionEvent) -> Reaction {
        let p = libm::pow(self.alpha, self.urgency(cx).unwrap_or(1.0));
        self.cwnd = (self.cwnd as f64 * (1.0 - p / 2.0)) as u64;
        Reaction::Reduced
    }

    fn window(&self) -> Window {
        Window::Limited(Bytes::new(self.cwnd))
    }

    fn state(&self) -> ControlState {
        ControlState::default()
    }
}

/// alpha = 1/2, W = 20 kB, RTT = 100 us, 300 kB to go: T_c = 300 / 15 x 100 us = 2 ms.
fn window_with(deadline: Option<Time>) -> u64 {
    let mut control = D2tcp {
        cwnd: 20_000,
        alpha: 0.5,
    };
    let mut sender = Sender {
        smoothed_rtt: Some(Span::from_us(100)),
        remaining: Some(Bytes::new(300_000)),
        deadline,
        ..Sender::default()
    };
    let _ = control.on_congestion(&mut sender.cx(), CongestionEvent::Ecn);
    cwnd(&control)
}

#[test]
fn a_near_deadline_backs_off_less_and_a_far_one_more() {
    let at = |ms| Some(Time::ZERO + Span::from_ms(ms));
    // Without a deadline this is DCTCP: p = 1/2, 20 x 3/4 = 15.
    assert_eq!(window_with(None), 15_000);
    // 1 ms left: d = 2, p = 1/4, 20 x 7/8 = 17.5.
    assert_eq!(window_with(at(1)), 17_500);
    // 4 ms left: d = 1/2, p = 0.70711, 20 x 0.64645 = 12.929.
    assert_eq!(window_with(at(4)), 12_928);
}
