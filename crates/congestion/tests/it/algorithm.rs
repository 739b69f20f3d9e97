//! The list of algorithms passes every call to the one inside.

use std::sync::{Arc, Mutex};

use incastle_congestion::{
    AckSample, Algorithm, CongestionEvent, Context, ControlState, Controller, Cubic, CubicConfig,
    Echo, Reaction, Udt, UdtConfig, Window,
};
use incastle_units::{Bytes, Rate, Time};

use crate::support::{Sender, sample};

/// Records which of its methods are called, and returns values unlike the defaults.
struct Spy(Arc<Mutex<Vec<&'static str>>>);

impl Spy {
    fn note(&self, call: &'static str) {
        self.0.lock().expect("nobody panics").push(call);
    }
}

impl Controller for Spy {
    fn on_sent(&mut self, _: &mut Context<'_>, _: Bytes) {
        self.note("on_sent");
    }

    fn on_ack(&mut self, _: &mut Context<'_>, _: &AckSample<'_>) {
        self.note("on_ack");
    }

    fn on_congestion(&mut self, _: &mut Context<'_>, _: CongestionEvent) -> Reaction {
        self.note("on_congestion");
        Reaction::Reduced
    }

    fn on_timer(&mut self, _: &mut Context<'_>) {
        self.note("on_timer");
    }

    fn next_timer(&self) -> Option<Time> {
        Some(Time::from_ps(7))
    }

    fn window(&self) -> Window {
        Window::Limited(Bytes::new(11))
    }

    fn pacing(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(13))
    }

    fn state(&self) -> ControlState {
        ControlState {
            alpha: Some(0.25),
            ..ControlState::default()
        }
    }
}

#[test]
fn every_call_reaches_the_controller_inside() {
    let calls = Arc::default();
    let mut algorithm = Algorithm::Custom(Box::new(Spy(Arc::clone(&calls))));
    let mut sender = Sender::default();
    algorithm.on_sent(&mut sender.cx(), Bytes::new(1));
    algorithm.on_ack(&mut sender.cx(), &sample(1, Echo::Clear));
    let reaction = algorithm.on_congestion(&mut sender.cx(), CongestionEvent::Ecn);
    algorithm.on_timer(&mut sender.cx());
    assert_eq!(reaction, Reaction::Reduced);
    let calls = calls.lock().expect("nobody panics");
    assert_eq!(*calls, ["on_sent", "on_ack", "on_congestion", "on_timer"]);
    assert_eq!(algorithm.next_timer(), Some(Time::from_ps(7)));
    assert_eq!(algorithm.window(), Window::Limited(Bytes::new(11)));
    assert_eq!(algorithm.pacing(), Some(Rate::from_bits_per_second(13)));
    assert_eq!(algorithm.state().alpha, Some(0.25));
}

#[test]
fn controllers_without_on_sent_are_not_called_when_packets_leave() {
    let spy = Algorithm::Custom(Box::new(Spy(Arc::default())));
    assert!(spy.uses_on_sent(), "a custom controller may use it");
    let cubic = Algorithm::from(Cubic::new(CubicConfig::new(Bytes::new(1460))));
    assert!(
        cubic.uses_on_sent(),
        "it counts the time in which it could send"
    );
    let udt = Algorithm::Udt(Udt::new(UdtConfig {
        packet: Bytes::new(1500),
    }));
    assert!(!udt.uses_on_sent());
}
