//! AIMD with constants of one's own: the window grows by `increase` segments a round trip, and keeps
//! the share `keep` at a loss or a mark.
//!
//! After Chiu and Jain, "Analysis of the increase and decrease algorithms for congestion avoidance in
//! computer networks" (1989); how far such a flow takes more or less than one of TCP's tells the rule
//! of Floyd, Handley and Padhye (2000): increase = 3 (1 - keep) / (1 + keep) is as aggressive as TCP.
//! Leaves out: slow start, and the shorter window after idleness.

use incastle_congestion::{
    AckSample, CongestionEvent, Context, ControlState, Controller, LimitedBy, Phase, Reaction,
    Window,
};
use incastle_scenario::ControllerSetting;
use incastle_units::Bytes;

/// The controller: sizes in bytes.
pub struct Aimd {
    mss: f64,
    increase: f64,
    keep: f64,
    cwnd: f64,
    /// SND.NXT at the last decrease: what was sent before it is answered.
    answered: u64,
}

impl Aimd {
    /// A controller at the beginning of a connection.
    pub fn new(setting: &ControllerSetting) -> Self {
        let parameter = |name, default| setting.parameters.number(name).unwrap_or(default);
        Self {
            mss: setting.window.mss.count() as f64,
            increase: parameter("increase", 1.0),
            keep: parameter("keep", 0.5),
            cwnd: setting.window.initial_window.count() as f64,
            answered: 0,
        }
    }

    fn bytes(&self) -> Bytes {
        Bytes::new(self.cwnd as u64)
    }
}

impl Controller for Aimd {
    fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &AckSample<'_>) {
        if ack.phase != Phase::Recovery && ack.limited_by == LimitedBy::Window {
            self.cwnd += self.increase * self.mss * ack.acked.count() as f64 / self.cwnd;
        }
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        match event {
            CongestionEvent::Timeout { .. } => self.cwnd = self.mss,
            // Once in a window of data.
            CongestionEvent::Ecn | CongestionEvent::Loss { .. } if cx.snd_una >= self.answered => {
                self.cwnd = (self.keep * self.cwnd).max(2.0 * self.mss);
            }
            _ => return Reaction::Ignored,
        }
        self.answered = cx.snd_nxt;
        Reaction::Reduced
    }

    fn window(&self) -> Window {
        Window::Limited(self.bytes())
    }

    fn state(&self) -> ControlState {
        ControlState {
            cwnd: Some(self.bytes()),
            ..ControlState::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incastle_driver::{Control, parse, run};
    use incastle_experiment::Output;
    use incastle_scenario::Controllers;

    fn output(parameters: &str) -> Output {
        let sets = [(
            "flows.own.transport.parameters".to_owned(),
            parameters.to_owned(),
        )];
        let text = include_str!("../versus.toml");
        let (scenario, _) = parse(text, "versus.toml", &sets).expect("the example is correct");
        let controllers =
            Controllers::default().with("aimd", |setting| Box::new(Aimd::new(setting)));
        run(
            &scenario.with_controllers(&controllers),
            &Control::default(),
        )
        .expect("a result")
    }

    /// With TCP's own constants both share the port evenly; 4 segments a round trip take more.
    #[test]
    fn constants_decide_the_share() {
        let share = |parameters| {
            let goodput = crate::goodput(&output(parameters));
            goodput["own"] / goodput["reno"]
        };
        let (even, greedy) = (share("{ }"), share("{ increase = 4 }"));
        assert!((0.67..1.5).contains(&even), "{even}");
        assert!(greedy > 1.5 * even, "{greedy} beside {even}");
    }
}
