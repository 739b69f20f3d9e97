//! A controller in Python behind the trait of all controllers.
//!
//! After each call that may change it, the window is read once and stored, with pacing rate and
//! timer where the class has them. The transport reads them far more often than they change.

use std::sync::Arc;

use incastle_congestion::foreign::{self, Outputs};
use incastle_congestion::{
    AckSample, CongestionEvent as Event, Context, ControlState, Controller, Reaction, Window,
};
use incastle_scenario as core;
use incastle_units::{Bytes, Rate, Span, Time};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

use super::context::{Ack, CongestionEvent, ControllerContext};
use super::fault::{Call, Faults, Wrong};
use super::maker::ControllerMaker;

/// The methods of a controller, each bound to it. The first three every class has.
struct Methods {
    on_ack: Py<PyAny>,
    on_congestion: Py<PyAny>,
    window: Py<PyAny>,
    on_sent: Option<Py<PyAny>>,
    pacing: Option<Py<PyAny>>,
    on_timer: Option<Py<PyAny>>,
    next_timer: Option<Py<PyAny>>,
    /// The controller object, for probes.
    itself: Py<PyAny>,
}

/// A controller in Python.
pub(super) struct PyController {
    name: String,
    /// Absent if it could not be made.
    methods: Option<Methods>,
    outputs: Outputs,
    faults: Arc<Faults>,
}

/// A fault with the method in which it was.
type Called<T> = Result<T, (&'static str, Wrong)>;

impl PyController {
    pub(super) fn new(
        maker: &ControllerMaker,
        setting: &core::ControllerSetting,
        number: u64,
        faults: &Arc<Faults>,
    ) -> Self {
        let mut new = Self {
            name: maker.name.clone(),
            methods: None,
            outputs: Outputs {
                window: Window::Limited(setting.window.initial_window),
                pacing: None,
                timer: None,
            },
            faults: Arc::clone(faults),
        };
        if new.faults.any() {
            return new;
        }
        Python::attach(|py| {
            let made = maker
                .methods(py, setting, number)
                .and_then(|methods| Methods::take(&methods));
            let begun = match made {
                Ok(methods) => methods.outputs(py, Time::ZERO).map(|outputs| {
                    new.outputs = outputs;
                    new.methods = Some(methods);
                }),
                Err(error) => Err(("__init__", Wrong::Raised(error))),
            };
            if let Err((method, wrong)) = begun {
                let call = Call {
                    controller: &maker.name,
                    method,
                    now: None,
                };
                faults.note(py, call, wrong);
            }
        });
        new
    }

    /// Calls a method, and reads back window, rate and timer. A timer before `earliest` is a fault, which ends
    /// the run.
    #[inline]
    fn call(
        &mut self,
        now: Time,
        earliest: Time,
        call: impl FnOnce(&Methods, Python<'_>) -> Called<()>,
    ) {
        if self.faults.any() {
            return;
        }
        let Some(methods) = &self.methods else {
            return;
        };
        Python::attach(|py| {
            let called = call(methods, py).and_then(|()| methods.outputs(py, earliest));
            match called {
                Ok(outputs) => self.outputs = outputs,
                Err((method, wrong)) => {
                    let call = Call {
                        controller: &self.name,
                        method,
                        now: Some(now),
                    };
                    self.faults.note(py, call, wrong);
                }
            }
        });
    }

    fn has(&self, method: impl FnOnce(&Methods) -> &Option<Py<PyAny>>) -> bool {
        self.methods
            .as_ref()
            .is_some_and(|all| method(all).is_some())
    }
}

impl Controller for PyController {
    #[inline]
    fn on_sent(&mut self, cx: &mut Context<'_>, size: Bytes) {
        if !self.has(|methods| &methods.on_sent) {
            return;
        }
        self.call(cx.now, cx.now, |methods, py| {
            let moment = new_object(Py::new(py, ControllerContext::new(cx)))?;
            let method = methods.on_sent.as_ref();
            notify(py, "on_sent", method, (moment, size.count()))
        });
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        self.call(cx.now, cx.now, |methods, py| {
            let ack = new_object(Ack::create(py, cx, ack))?;
            notify(py, "on_ack", Some(&methods.on_ack), (ack,))
        });
    }

    /// The method returns whether it reacted, so that CWR is due. If it returns None, it did if its window or rate is
    /// smaller than before. Reductions after idleness are no reaction to congestion.
    fn on_congestion(&mut self, cx: &mut Context<'_>, event: Event) -> Reaction {
        let before = self.outputs;
        let mut reaction = None;
        self.call(cx.now, cx.now, |methods, py| {
            let event = new_object(CongestionEvent::create(py, cx, event))?;
            let method = Some(&methods.on_congestion);
            let returned = invoke(py, "on_congestion", method, (event,))?;
            reaction = reaction_of(&returned)?;
            Ok(())
        });
        let reacted = reaction.unwrap_or_else(|| self.outputs.is_slower_than(&before));
        if reacted && event != Event::IdleRestart {
            Reaction::Reduced
        } else {
            Reaction::Ignored
        }
    }

    /// A timer that stays at this instant would come again and again.
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let later = cx.now.saturating_add(Span::from_ps(1));
        self.call(cx.now, later, |methods, py| {
            let moment = new_object(Py::new(py, ControllerContext::new(cx)))?;
            notify(py, "on_timer", methods.on_timer.as_ref(), (moment,))
        });
    }

    fn next_timer(&self) -> Option<Time> {
        self.outputs.timer.filter(|_| !self.faults.any())
    }

    fn window(&self) -> Window {
        self.outputs.window
    }

    fn pacing(&self) -> Option<Rate> {
        self.outputs.pacing
    }

    /// `ssthresh_bytes` and `alpha` are attributes that a controller may have.
    fn state(&self) -> ControlState {
        let mut state = ControlState {
            cwnd: match self.outputs.window {
                Window::Limited(bytes) => Some(bytes),
                Window::Unlimited => None,
            },
            rate: self.outputs.pacing,
            ..ControlState::default()
        };
        if let Some(methods) = self.methods.as_ref().filter(|_| !self.faults.any()) {
            Python::attach(|py| {
                let itself = methods.itself.bind(py);
                let ssthresh = number_at(itself, intern!(py, "ssthresh_bytes"));
                state.ssthresh = ssthresh.and_then(foreign::bytes);
                state.alpha = number_at(itself, intern!(py, "alpha"));
            });
        }
        state
    }
}

/// A finite number that an object may have as an attribute.
fn number_at(object: &Bound<'_, PyAny>, name: &Bound<'_, pyo3::types::PyString>) -> Option<f64> {
    let value = object.getattr_opt(name).ok()??;
    value
        .extract::<f64>()
        .ok()
        .filter(|number| number.is_finite())
}

impl Methods {
    /// Unpacks them in the order of Python's side.
    fn take(methods: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let (itself, on_ack, on_congestion, window, on_sent, pacing, on_timer, next_timer) =
            methods.extract()?;
        Ok(Self {
            on_ack,
            on_congestion,
            window,
            on_sent,
            pacing,
            on_timer,
            next_timer,
            itself,
        })
    }

    /// Reads window, rate and timer; the timer must not be before `earliest`.
    #[inline]
    fn outputs(&self, py: Python<'_>, earliest: Time) -> Called<Outputs> {
        let window = invoke(py, "window", Some(&self.window), ())?;
        Ok(Outputs {
            window: given(
                "window",
                &window,
                "bytes, 0 or more, or None",
                foreign::window,
            )?,
            pacing: match &self.pacing {
                None => None,
                some => {
                    let rate = invoke(py, "pacing", some.as_ref(), ())?;
                    given(
                        "pacing",
                        &rate,
                        "bits per second, 1 or more, or None",
                        foreign::rate,
                    )?
                }
            },
            timer: match &self.next_timer {
                None => None,
                some => {
                    let at = invoke(py, "next_timer", some.as_ref(), ())?;
                    let expected = "the second of an instant that lies ahead, or None";
                    given("next_timer", &at, expected, |at| {
                        foreign::instant(at, earliest)
                    })?
                }
            },
        })
    }
}

/// Calls a method that is there.
#[inline]
fn invoke<'py, A>(
    py: Python<'py>,
    name: &'static str,
    method: Option<&Py<PyAny>>,
    arguments: A,
) -> Called<Bound<'py, PyAny>>
where
    A: pyo3::call::PyCallArgs<'py>,
{
    let method = method.expect("only methods that are there are called");
    let called = method.bind(py).call1(arguments);
    called.map_err(|error| (name, Wrong::Raised(error)))
}

/// The same without a result.
#[inline]
fn notify<'py, A>(
    py: Python<'py>,
    name: &'static str,
    method: Option<&Py<PyAny>>,
    arguments: A,
) -> Called<()>
where
    A: pyo3::call::PyCallArgs<'py>,
{
    invoke(py, name, method, arguments).map(drop)
}

/// An argument that could be made; Python has no memory left otherwise.
fn new_object<T>(made: PyResult<T>) -> Called<T> {
    made.map_err(|error| ("__init__", Wrong::Raised(error)))
}

/// Reads a number that a method gave; None is none. True and False are numbers to Python, and here a
/// comparison that stands where a number was meant.
#[inline]
fn given<T>(
    name: &'static str,
    value: &Bound<'_, PyAny>,
    expected: &str,
    read: impl FnOnce(Option<f64>) -> Option<T>,
) -> Called<T> {
    let number = if value.is_none() {
        Some(None)
    } else if value.is_exact_instance_of::<PyBool>() {
        None
    } else {
        value.extract().ok().map(Some)
    };
    number.and_then(read).ok_or_else(|| {
        let found = shown(value);
        (
            name,
            Wrong::Gave(format!("gave {found}; expected {expected}")),
        )
    })
}

/// True, false, or nothing.
fn reaction_of(value: &Bound<'_, PyAny>) -> Called<Option<bool>> {
    value.extract().map_err(|_| {
        let found = shown(value);
        let message = format!("gave {found}; expected True (it slowed down), False, or None");
        ("on_congestion", Wrong::Gave(message))
    })
}

/// A value as Python shows it.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr();
    text.map_or_else(|_| "?".to_owned(), |text| text.to_string())
}
