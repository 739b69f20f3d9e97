//! The fuzz target `scenario`: any string, read as a scenario that names no files. The same function runs
//! under libFuzzer and in the ordinary tests of `incastle-scenario`.

use incastle_scenario::{Files, Severity, parse_with};

/// No file is there.
struct Nothing;

impl Files for Nothing {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!("{path}: not here"))
    }
}

/// Any string is a scenario, or its mistakes are reported, each with its line. A scenario written with all
/// defaults reads back the same.
pub(crate) fn scenario(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if is_large(&text) {
        return;
    }
    let found = match parse_with(&text, "fuzz.toml", &[], &Nothing) {
        Ok((scenario, warnings)) => {
            let resolved = scenario.resolved();
            let again = parse_with(&resolved, "resolved.toml", &[], &Nothing);
            let (again, _) = again.expect("a resolved scenario is a scenario");
            assert_eq!(again.resolved(), resolved);
            warnings
        }
        Err(mistakes) => {
            let refused = mistakes.iter().any(|one| one.severity == Severity::Error);
            assert!(refused, "a scenario that is refused has a mistake");
            mistakes
        }
    };
    let lines = text.lines().count() as u32 + 1;
    for one in found {
        assert!(!one.message.is_empty());
        assert!(one.line <= lines, "line {} of {lines}", one.line);
    }
}

/// Whether a number may be above 9999: a network of a million hosts is valid, and slow.
fn is_large(text: &str) -> bool {
    let digit = |c: &u8| c.is_ascii_digit() || *c == b'_';
    text.as_bytes()
        .windows(5)
        .any(|five| five.iter().all(digit))
        || text.contains("0x")
}
