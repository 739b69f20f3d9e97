//! The messages of broken scenarios are those in their folder. After a change of messages write them anew with
//! `cargo run -p incastle-xtask fixtures`, and read the difference.

use crate::broken;

#[test]
#[allow(clippy::disallowed_methods, reason = "tests read their own files")]
fn every_broken_scenario_is_told_what_is_wrong() {
    let names = broken::names();
    assert!(names.len() >= 50, "{} broken scenarios", names.len());
    for name in names {
        let path = broken::expected(&name);
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        let found = broken::messages(&name);
        assert!(found.len() > 1, "{name}: nothing found");
        assert_eq!(
            found,
            expected,
            "{name}: other messages than in {}",
            path.display()
        );
    }
}

#[test]
fn every_error_has_a_place() {
    for name in ["unknown-keys", "wrong-units", "out-of-range", "missing"] {
        let findings = broken::diagnostics(name);
        assert!(!findings.is_empty(), "{name}");
        for finding in findings {
            assert!(finding.line > 0 && finding.column > 0, "{finding}");
        }
    }
}
