//! Controllers in JavaScript, as the transport sees them.
//!
//! The worker that runs the engine defines `incastle_controllers` in its global scope: functions that make such a
//! controller and call its methods, by its number. Numbers go there and back in arrays, in the order of [`moment`],
//! [`OnAck`] and `Answer`; NaN is none. A fault (an exception, an invalid window) ends the run: the first fault is
//! stored, and no controller of that run is called again.
//! Leaves out: telemetry of hops.

use std::sync::{Arc, Mutex, PoisonError};

use incastle_congestion::foreign::{self, Outputs};
use incastle_congestion::{
    AckSample, CongestionEvent, Context, ControlState, Controller, Echo, LimitedBy, Phase,
    Reaction, Window,
};
use incastle_scenario::{ControllerSetting, Controllers, Parameter};
use incastle_units::{Bytes, Span, Time};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(js_namespace = incastle_controllers)]
extern "C" {
    /// Makes the controller of a name; returns its number. `connection` is JSON.
    #[wasm_bindgen(catch)]
    fn make(name: &str, connection: &str, answer: &mut [f64]) -> Result<u32, JsValue>;
    #[wasm_bindgen(catch, js_name = onSent)]
    fn on_sent(number: u32, moment: &[f64], bytes: f64, answer: &mut [f64]) -> Result<(), JsValue>;
    #[wasm_bindgen(catch, js_name = onAck)]
    fn on_ack(number: u32, moment: &[f64], ack: &[f64], answer: &mut [f64]) -> Result<(), JsValue>;
    /// Returns 1 if it slowed down, 0 if not, NaN if its window and rate say it.
    #[wasm_bindgen(catch, js_name = onCongestion)]
    fn on_congestion(
        number: u32,
        moment: &[f64],
        kind: &str,
        event: &[f64],
        answer: &mut [f64],
    ) -> Result<f64, JsValue>;
    #[wasm_bindgen(catch, js_name = onTimer)]
    fn on_timer(number: u32, moment: &[f64], answer: &mut [f64]) -> Result<(), JsValue>;
}

/// Window, pacing rate and timer.
type Answer = [f64; 3];

/// The faults of one run, of which the first counts.
#[derive(Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<Option<String>>>);

impl Faults {
    /// The first one.
    pub(crate) fn first(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn any(&self) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    fn note(&self, fault: String) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(fault);
    }
}

/// The makers of the controllers of these names.
pub(crate) fn controllers(names: &[&str], faults: &Faults) -> Controllers {
    let mut all = Controllers::default();
    for name in names {
        let (own, faults) = ((*name).to_owned(), faults.clone());
        all = all.with(name, move |setting| {
            Box::new(Foreign::new(&own, setting, &faults))
        });
    }
    all
}

/// A controller in JavaScript.
struct Foreign {
    name: String,
    /// Absent if it could not be made.
    number: Option<u32>,
    outputs: Outputs,
    faults: Faults,
}

impl Foreign {
    fn new(name: &str, setting: &ControllerSetting, faults: &Faults) -> Self {
        let mut new = Self {
            name: name.to_owned(),
            number: None,
            outputs: Outputs {
                window: Window::Limited(setting.window.initial_window),
                pacing: None,
                timer: None,
            },
            faults: faults.clone(),
        };
        if faults.any() {
            return new;
        }
        let mut answer = [f64::NAN; 3];
        match make(name, &connection(setting), &mut answer) {
            Ok(number) => {
                new.number = Some(number);
                new.read(answer, Time::ZERO, "the constructor");
            }
            Err(error) => new.fault("the constructor", &text(&error)),
        }
        new
    }

    /// Calls a method, and reads back window, rate and timer. A timer before `earliest` is a fault, which ends the run.
    fn call<T>(
        &mut self,
        method: &str,
        earliest: Time,
        call: impl FnOnce(u32, &mut Answer) -> Result<T, JsValue>,
    ) -> Option<T> {
        let number = self.number.filter(|_| !self.faults.any())?;
        let mut answer = [f64::NAN; 3];
        match call(number, &mut answer) {
            Ok(value) => {
                self.read(answer, earliest, method);
                Some(value)
            }
            Err(error) => {
                self.fault(method, &text(&error));
                None
            }
        }
    }

    fn read(&mut self, answer: Answer, earliest: Time, method: &str) {
        let [window, pacing, timer] = answer.map(|value| (!value.is_nan()).then_some(value));
        let given = |what: &str, value: Option<f64>, expected: &str| {
            let found = value.map_or("NaN".to_owned(), |value| value.to_string());
            format!("{what} gave {found} after {method}; expected {expected}, or null")
        };
        let outputs = foreign::window(window)
            .ok_or_else(|| given("window", window, "bytes, 0 or more"))
            .and_then(|window| {
                let pacing = foreign::rate(pacing)
                    .ok_or_else(|| given("pacing", pacing, "bits per second, 1 or more"))?;
                let timer = foreign::instant(timer, earliest).ok_or_else(|| {
                    given(
                        "next_timer",
                        timer,
                        "the second of an instant that lies ahead",
                    )
                })?;
                Ok(Outputs {
                    window,
                    pacing,
                    timer,
                })
            });
        match outputs {
            Ok(outputs) => self.outputs = outputs,
            Err(fault) => self.faults.note(format!("{}: {fault}", self.name)),
        }
    }

    fn fault(&self, method: &str, error: &str) {
        self.faults
            .note(format!("{}: {method} threw {error}", self.name));
    }
}

impl Controller for Foreign {
    fn on_sent(&mut self, cx: &mut Context<'_>, size: Bytes) {
        let moment = moment(cx);
        self.call("on_sent", cx.now, |number, answer| {
            on_sent(number, &moment, size.count() as f64, answer)
        });
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        let (moment, ack) = (moment(cx), numbers(ack));
        self.call("on_ack", cx.now, |number, answer| {
            on_ack(number, &moment, &ack, answer)
        });
    }

    /// Reductions after idleness are no reaction to congestion.
    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        let (moment, (kind, numbers)) = (moment(cx), kind(event));
        let before = self.outputs;
        let said = self.call("on_congestion", cx.now, |number, answer| {
            on_congestion(number, &moment, kind, &numbers, answer)
        });
        let said = said.filter(|said| !said.is_nan());
        let reacted = said.map_or_else(|| self.outputs.is_slower_than(&before), |said| said > 0.0);
        if reacted && event != CongestionEvent::IdleRestart {
            Reaction::Reduced
        } else {
            Reaction::Ignored
        }
    }

    /// A timer that stays at this instant would come again and again.
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let later = cx.now.saturating_add(Span::from_ps(1));
        let moment = moment(cx);
        self.call("on_timer", later, |number, answer| {
            on_timer(number, &moment, answer)
        });
    }

    fn next_timer(&self) -> Option<Time> {
        self.outputs.timer.filter(|_| !self.faults.any())
    }

    fn window(&self) -> Window {
        self.outputs.window
    }

    fn pacing(&self) -> Option<incastle_units::Rate> {
        self.outputs.pacing
    }

    fn state(&self) -> ControlState {
        ControlState {
            cwnd: match self.outputs.window {
                Window::Limited(bytes) => Some(bytes),
                Window::Unlimited => None,
            },
            rate: self.outputs.pacing,
            ..ControlState::default()
        }
    }
}

/// JSON of the parameters of a connection.
fn connection(setting: &ControllerSetting) -> String {
    let parameters = setting.parameters.entries().map(|(name, value)| {
        let value = match value {
            Parameter::Integer(value) => (*value).into(),
            Parameter::Number(value) => (*value).into(),
            Parameter::Flag(value) => (*value).into(),
            Parameter::Text(value) => value.as_str().into(),
        };
        (name.to_owned(), value)
    });
    let parameters: serde_json::Map<String, serde_json::Value> = parameters.collect();
    crate::json(&serde_json::json!({
        "mss_bytes": setting.window.mss.count(),
        "initial_window_bytes": setting.window.initial_window.count(),
        "min_cwnd_bytes": setting.window.min_cwnd.count(),
        "parameters": parameters,
    }))
}

/// `now_s, snd_una, snd_nxt, in_flight_bytes, smoothed_rtt_s, remaining_bytes, deadline_s`.
fn moment(cx: &Context<'_>) -> [f64; 7] {
    [
        cx.now.as_secs_lossy(),
        cx.snd_una as f64,
        cx.snd_nxt as f64,
        cx.in_flight.count() as f64,
        cx.smoothed_rtt.map_or(f64::NAN, Span::as_secs_lossy),
        cx.remaining.map_or(f64::NAN, |bytes| bytes.count() as f64),
        cx.deadline.map_or(f64::NAN, Time::as_secs_lossy),
    ]
}

/// `acked_bytes, segments, ecn_echo, rtt_s, window_limited, in_recovery, after_timeout`.
type OnAck = [f64; 7];

fn numbers(ack: &AckSample<'_>) -> OnAck {
    let flag = |is: bool| f64::from(u8::from(is));
    [
        ack.acked.count() as f64,
        f64::from(ack.segments),
        flag(ack.echo == Echo::Congestion),
        ack.rtt.map_or(f64::NAN, Span::as_secs_lossy),
        flag(ack.limited_by == LimitedBy::Window),
        flag(ack.phase == Phase::Recovery),
        flag(ack.phase == Phase::AfterTimeout),
    ]
}

/// The kind, and `lost_segments, largest_lost, backoff`.
fn kind(event: CongestionEvent) -> (&'static str, [f64; 3]) {
    match event {
        CongestionEvent::Ecn => ("ecn", [0.0; 3]),
        CongestionEvent::Loss { count, largest } => {
            ("loss", [f64::from(count), largest as f64, 0.0])
        }
        CongestionEvent::Timeout { backoff } => ("timeout", [0.0, 0.0, f64::from(backoff)]),
        CongestionEvent::IdleRestart => ("idle", [0.0; 3]),
        CongestionEvent::Over => ("over", [0.0; 3]),
    }
}

/// The message of an exception.
fn text(error: &JsValue) -> String {
    error.as_string().unwrap_or_else(|| format!("{error:?}"))
}
