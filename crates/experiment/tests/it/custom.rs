//! Controllers that are not ours: how scenarios name them, and how a program binds the names.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use incastle_congestion::{
    AckSample, CongestionEvent, Context, ControlState, Controller, Reaction, Window,
};
use incastle_experiment::RunError;
use incastle_scenario::{
    ControllerSetting, ControllerSource, Controllers, Files, Mistake, Parameter, Scenario,
    parse_with,
};

use crate::common::run;
use incastle_units::Bytes;

const SCENARIO: &str = r#"
[run]
duration = "10 ms"
[network]
topology = "star"
senders = 2
rate = "1 Gbit/s"
delay = "20 us"
[transport]
congestion = "custom"
controller = "fixed"
parameters = { segments = 4 }
[flows.long]
workload = "bulk"
from = "senders"
to = "receiver"
[flows.short]
workload = "bulk"
from = "sender:0"
to = "receiver"
size = "64 KB"
transport = { parameters = { segments = 2.0, why = "it is short" } }
[host]
jitter = "2 us"
"#;

/// Files with one source.
struct Known(&'static str);

impl Files for Known {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!("{path}: no such file"))
    }

    fn controller(&self, name: &str) -> Result<Option<ControllerSource>, Mistake> {
        match name {
            "fixed" => Ok(None),
            "fixed.py:Fixed" => Ok(Some(ControllerSource {
                hash: self.0.to_owned(),
                parameters: Some(vec!["segments".to_owned(), "why".to_owned()]),
            })),
            other => Err(Mistake {
                message: format!("{other} is unknown"),
                help: Some("fixed is known".to_owned()),
            }),
        }
    }
}

/// A window that never changes.
struct Fixed(Bytes);

fn fixed(setting: &ControllerSetting) -> Box<dyn Controller> {
    let segments = setting.parameters.number("segments").unwrap();
    let bytes = segments * setting.window.mss.count() as f64;
    Box::new(Fixed(Bytes::new(bytes as u64)))
}

impl Controller for Fixed {
    fn on_ack(&mut self, _cx: &mut Context<'_>, _ack: &AckSample<'_>) {}

    fn on_congestion(&mut self, _cx: &mut Context<'_>, _event: CongestionEvent) -> Reaction {
        Reaction::Ignored
    }

    fn window(&self) -> Window {
        Window::Limited(self.0)
    }

    fn state(&self) -> ControlState {
        ControlState::default()
    }
}

fn scenario(text: &str) -> Scenario {
    parse_with(text, "own.toml", &[], &Known("5011ce"))
        .unwrap()
        .0
}

fn mistakes(text: &str) -> Vec<String> {
    let found = parse_with(text, "own.toml", &[], &Known("5011ce")).unwrap_err();
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn a_program_binds_names_to_controllers_of_its_own() {
    let bound = scenario(SCENARIO).with_controllers(&Controllers::default().with("fixed", fixed));
    let output = run(&bound).unwrap();
    let flows = output
        .tables
        .iter()
        .find(|table| table.name == "flows")
        .unwrap();
    let (_, packets) = flows
        .columns
        .iter()
        .find(|(name, _)| *name == "packets")
        .unwrap();
    let incastle_experiment::Column::U64(packets) = packets else {
        panic!("packets are counted")
    };
    // Four segments per round trip. A round trip takes 80 us and a segment's 12 us on two links: 10 ms /
    // 104 us = 96 at most, the handshake included.
    let (min, max) = (4 * 80, 4 * 96);
    assert!((min..=max).contains(&packets[0]), "{packets:?}");
    let again = run(&bound).unwrap();
    assert_eq!(output.digest, again.digest);
}

#[test]
fn a_name_without_a_controller_is_told_before_the_run() {
    let unbound = scenario(SCENARIO);
    assert_eq!(unbound.custom_controllers(), ["fixed"]);
    let error = run(&unbound).unwrap_err();
    assert_eq!(error, RunError::UnknownController("fixed".to_owned()));
}

#[test]
fn parameters_come_through_and_are_written_back() {
    let resolved = scenario(SCENARIO).resolved();
    assert!(
        resolved.contains("parameters = { segments = 4 }"),
        "{resolved}"
    );
    let short = "parameters = { segments = 2.0, why = \"it is short\" }";
    assert!(resolved.contains(short), "{resolved}");
    assert_eq!(scenario(&resolved).resolved(), resolved);
    let seen = Controllers::default().with("fixed", |setting| {
        for (name, value) in setting.parameters.entries() {
            match value {
                Parameter::Integer(4) => assert_eq!(name, "segments"),
                Parameter::Number(segments) => assert_eq!((name, *segments), ("segments", 2.0)),
                Parameter::Text(why) => assert_eq!((name, why.as_str()), ("why", "it is short")),
                other => panic!("{name} = {other:?}"),
            }
        }
        fixed(setting)
    });
    run(&scenario(SCENARIO).with_controllers(&seen)).unwrap();
}

#[test]
fn the_hash_of_a_source_is_written_and_held_to() {
    let short = SCENARIO
        .replace("\"custom\"", "\"fixed.py:Fixed\"")
        .replace("controller = \"fixed\"\n", "");
    let resolved = scenario(&short).resolved();
    for line in [
        "congestion = \"custom\"",
        "controller = \"fixed.py:Fixed\"",
        "controller_source = \"5011ce\"",
    ] {
        assert!(resolved.contains(line), "{line} in\n{resolved}");
    }
    let other = resolved.replace("5011ce", "01d");
    let found = mistakes(&other).join("\n");
    assert!(found.contains("has the hash 5011ce, not 01d"), "{found}");
}

#[test]
fn what_is_wrong_with_a_controller_is_told_with_its_place() {
    let unknown = mistakes(&SCENARIO.replace("\"fixed\"", "\"fxied\""));
    assert_eq!(
        unknown,
        ["own.toml:11:14: fxied is unknown\n  fixed is known"]
    );
    let wrong = mistakes(&SCENARIO.replace("segments = 4", "segments = [4]"));
    assert!(
        wrong[0].contains("segments must be a number, a string, true or false, found a list"),
        "{wrong:?}"
    );
}

#[test]
fn a_parameter_that_the_controller_does_not_take_is_told_with_its_place() {
    let short = SCENARIO
        .replace("\"custom\"", "\"fixed.py:Fixed\"")
        .replace("controller = \"fixed\"\n", "");
    assert_eq!(
        mistakes(&short.replace("segments = 4", "segmets = 4")),
        [
            "own.toml:11:16: the controller \"fixed.py:Fixed\" has no parameter segmets\n  \
             did you mean segments? it has segments, why"
        ]
    );
    assert_eq!(
        mistakes(&short.replace("why =", "reason =")),
        [
            "own.toml:21:46: the controller \"fixed.py:Fixed\" has no parameter reason\n  \
             it has segments, why"
        ]
    );
}
