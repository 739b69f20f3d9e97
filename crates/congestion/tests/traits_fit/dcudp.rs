//! DCUDP's control law (Ye, Mhamdi, Hamdi, figure 4), in the default reading of the damaged listing,
//! with its two modes. Sequence numbers count packets.

use incastle_congestion::{
    AckSample, CongestionEvent, Context, ControlState, Controller, Echo, Reaction, Window,
};
use incastle_units::{Bytes, Rate, Span};

use crate::support::{Sender, sample};

const PS: f64 = 1500.0;

/// Congestion mode; rates in packets per second.
struct Congested {
    data: f64,
    max: f64,
    n_ack: f64,
    n_ecn: f64,
    freeze: bool,
}

struct Dcudp {
    /// The interface's rate: the sending rate of UDP mode here.
    interface: Rate,
    /// The latest round-trip time in seconds, from the handshake on.
    rtt: f64,
    congested: Option<Congested>,
}

impl Dcudp {
    fn new(interface: Rate) -> Self {
        Self {
            interface,
            rtt: 0.0,
            congested: None,
        }
    }

    fn enter(&self) -> Congested {
        let rate = self.interface.bytes_per_second_lossy() / PS;
        Congested {
            data: rate,
            max: rate,
            n_ack: 0.0,
            n_ecn: 0.0,
            freeze: false,
        }
    }
}

impl Congested {
    fn on_clear(&mut self) {
        if self.data < self.max {
            self.data = (2.0 * self.data).min(self.max);
        } else {
            self.max += 1.0;
            self.data = self.max;
        }
    }

    fn on_ecn(&mut self, rtt: f64) -> Reaction {
        self.n_ecn += 1.0;
        if self.freeze {
            return Reaction::Ignored;
        }
        let p = self.n_ecn / self.n_ack;
        let divisor = 1.0 + p / (self.data * rtt);
        self.data = (self.data / divisor).max(1.0 / rtt);
        self.max = (self.max / divisor).max(1.0 / rtt);
        self.freeze = true;
        Reaction::Reduced
    }

    fn on_nak(&mut self, rtt: f64) -> Reaction {
        self.n_ack += 1.0;
        self.n_ecn += 1.0;
        if self.freeze {
            return Reaction::Ignored;
        }
        self.data = 1.0 / rtt;
        self.max = (self.max / 2.0).max(1.0 / rtt);
        self.freeze = true;
        Reaction::Reduced
    }
}

impl Controller for Dcudp {
    fn on_sent(&mut self, _cx: &mut Context<'_>, _size: Bytes) {
        if let Some(congested) = &mut self.congested {
            congested.freeze = false;
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample) {
        if let Some(rtt) = ack.rtt.or(cx.smoothed_rtt.filter(|_| self.rtt == 0.0)) {
            self.rtt = rtt.as_secs_lossy();
        }
        if self.congested.is_none() && ack.echo == Echo::Congestion {
            self.congested = Some(self.enter());
        }
        if let Some(congested) = &mut self.congested {
            congested.n_ack += 1.0;
            if ack.echo == Echo::Clear {
                congested.on_clear();
            }
        }
    }

    fn on_congestion(&mut self, _cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        let rtt = self.rtt;
        match (&mut self.congested, event) {
            (Some(congested), CongestionEvent::Ecn) => congested.on_ecn(rtt),
            (Some(congested), CongestionEvent::Loss { .. }) => congested.on_nak(rtt),
            (congested, CongestionEvent::Over) => {
                *congested = None;
                Reaction::Ignored
            }
            _ => Reaction::Ignored,
        }
    }

    fn window(&self) -> Window {
        Window::Unlimited
    }

    fn pacing(&self) -> Option<Rate> {
        Some(self.congested.as_ref().map_or(self.interface, |congested| {
            Rate::from_bits_per_second((congested.data * PS * 8.0) as u64)
        }))
    }

    fn state(&self) -> ControlState {
        ControlState {
            rate: self.pacing(),
            ..ControlState::default()
        }
    }
}

fn rates(control: &Dcudp) -> (f64, f64) {
    let congested = control.congested.as_ref().expect("congestion mode");
    (congested.data.round(), congested.max.round())
}

/// 1.2 Gbit/s, 100,000 packets/s; the handshake took 100 us, a window of W = 10 packets.
fn connection() -> (Sender, Dcudp) {
    let sender = Sender {
        smoothed_rtt: Some(Span::from_us(100)),
        ..Sender::default()
    };
    (
        sender,
        Dcudp::new(Rate::from_bits_per_second(1_200_000_000)),
    )
}

#[test]
fn marks_divide_the_rate_once_per_packet_sent() {
    let (mut sender, mut control) = connection();
    let mut cx = |echo, control: &mut Dcudp| sender.ack_with(control, sample(0, echo));
    // UDP mode: clear ACKs change nothing.
    assert_eq!(cx(Echo::Clear, &mut control), Reaction::Ignored);
    assert_eq!(control.pacing(), Some(control.interface));
    // The first echo enters congestion mode: p = 1/1, d = 1 + 1/10: 100,000 / 1.1 = 90,909.
    assert_eq!(cx(Echo::Congestion, &mut control), Reaction::Reduced);
    assert_eq!(rates(&control), (90_909.0, 90_909.0));
    // Frozen until a packet leaves, but the echo is counted.
    assert_eq!(cx(Echo::Congestion, &mut control), Reaction::Ignored);
    assert_eq!(rates(&control), (90_909.0, 90_909.0));
    // Without a mark at the maximum: one packet per second more.
    cx(Echo::Clear, &mut control);
    assert_eq!(rates(&control), (90_910.0, 90_910.0));
    // Sending thaws. 3 of 4 ACKs were marked: W = 9.0910, d = 1 + 0.75 / 9.0910: 83,982.
    control.on_sent(&mut sender.cx(), Bytes::new(1500));
    assert_eq!(
        sender.ack(&mut control, 0, Echo::Congestion),
        Reaction::Reduced
    );
    assert_eq!(rates(&control), (83_982.0, 83_982.0));
}

#[test]
fn a_nak_starts_over_and_the_receiver_ends_the_mode() {
    let (mut sender, mut control) = connection();
    let _ = sender.ack(&mut control, 0, Echo::Congestion);
    control.on_sent(&mut sender.cx(), Bytes::new(1500));
    // A NAK: one packet per round trip, and half the maximum: 10,000 and 45,455.
    let nak = CongestionEvent::Loss {
        count: 2,
        largest: 7,
    };
    assert_eq!(
        control.on_congestion(&mut sender.cx(), nak),
        Reaction::Reduced
    );
    assert_eq!(rates(&control), (10_000.0, 45_455.0));
    // Three clear ACKs double, up to the maximum: 20,000, 40,000, 45,455.
    for expected in [20_000.0, 40_000.0, 45_455.0] {
        sender.ack(&mut control, 0, Echo::Clear);
        assert_eq!(rates(&control), (expected, 45_455.0));
    }
    // OBS = 0: back to UDP mode, at the interface's rate.
    let _ = control.on_congestion(&mut sender.cx(), CongestionEvent::Over);
    assert_eq!(control.pacing(), Some(control.interface));
}
