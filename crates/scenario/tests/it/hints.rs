//! The hint of an override: how several values, or one list, are written. Only a value of a wrong form has it.

use incastle_scenario::{Diagnostic, Files, Severity, parse_with};

/// No files.
struct Nothing;

impl Files for Nothing {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(path.to_owned())
    }
}

const SCENARIO: &str = r#"
name = "one"
run.duration = "1 ms"
network = { topology = "star", senders = 2 }
transport = { kind = "rdma" }

[switch]
buffer = { shared = "4 MiB" }
queue = { kind = "priorities" }
pfc = { priorities = [3] }

[flows.one]
workload = "bulk"
from = "senders"
to = "receiver"
"#;

/// The message and the help of the only error that this override causes.
fn error_of(key: &str, value: &str) -> (String, String) {
    let set = [(key.to_owned(), value.to_owned())];
    let findings = parse_with(SCENARIO, "one.toml", &set, &Nothing).expect_err(value);
    let is_error = |one: &&Diagnostic| one.severity == Severity::Error;
    let errors: Vec<&Diagnostic> = findings.iter().filter(is_error).collect();
    let [only] = errors.as_slice() else {
        panic!("{key}={value}: {errors:?}");
    };
    (only.message.clone(), only.help.clone().unwrap_or_default())
}

#[test]
fn lists_of_the_right_form_have_the_help_of_their_error() {
    for (value, message, help) in [
        ("[3,3]", "priority 3 twice", "name each priority once"),
        (
            "[3, 8]",
            "priorities must be a whole number from 0 to 7, found the number 8",
            "",
        ),
        (
            "[3, true]",
            "priorities must be a whole number from 0 to 7, found true",
            "",
        ),
    ] {
        let expected = (message.to_owned(), help.to_owned());
        assert_eq!(error_of("switch.pfc.priorities", value), expected);
    }
}

#[test]
fn unknown_keys_have_the_help_of_their_error() {
    let (message, help) = error_of("switch.pfc.prioritys", "3,4");
    assert!(message.starts_with("unknown key \"prioritys\""));
    assert!(help.starts_with("did you mean priorities?"), "{help}");
}

#[test]
fn values_of_a_wrong_form_may_be_several() {
    for (key, value, help) in [
        ("network.senders", "[2, 4]", "as 2,4"),
        (
            "measure.warmup",
            "[1 us, 2 us]",
            "as 1 us,2 us; one list is written [\"1 us\", \"2 us\"]",
        ),
        (
            "switch.pfc.priorities",
            "3,4",
            "as 3,4; one list is written [3, 4]",
        ),
        (
            "switch.pfc.priorities",
            "3-5",
            "as 3..5; one list is written [3, 4, 5]",
        ),
        (
            "transport.congestion",
            "dcqcn,hpcc",
            "as dcqcn,hpcc; one list is written [\"dcqcn\", \"hpcc\"]",
        ),
        ("host.jitter", "1us..10us", "as 1..10 us"),
    ] {
        let expected = format!("`incastle sweep` takes several values, each in turn, {help}");
        assert_eq!(error_of(key, value).1, expected);
    }
}
