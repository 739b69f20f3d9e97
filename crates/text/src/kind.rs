//! Files that are no scenario, by their text: empty ones, JSON, YAML, INI files, XML, C++, tables.
//!
//! Leaves out: files that are no UTF-8 (`incastle.scenario` in Python).

/// A file of another kind: the finding, and the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The finding.
    pub message: &'static str,
    /// The remedy.
    pub help: &'static str,
}

/// The form of a scenario.
const TOML: &str = "a scenario is TOML, as in duration = \"2 s\" below [run]";

const EMPTY: Kind = Kind {
    message: "the file is empty",
    help: "a scenario has the tables [run], [network] and [flows.NAME] at least",
};

/// Whether a text is of a kind.
type Test = fn(&str) -> bool;

/// The tests of other kinds, for texts that are not TOML; the first that holds.
const KINDS: [(Test, Kind); 10] = [
    (
        |text| text.contains('\0'),
        Kind {
            message: "this is no text in UTF-8: it has NUL characters",
            help: "a file in UTF-16 must be saved as UTF-8",
        },
    ),
    (
        is_json,
        Kind {
            message: "this is JSON, not a scenario",
            help: "a scenario is TOML, as in duration = \"2 s\" below [run]; incastle.Scenario.from_dict takes what json.load returns",
        },
    ),
    (
        |text| text.starts_with('<'),
        Kind {
            message: "this is XML, not a scenario",
            help: TOML,
        },
    ),
    (
        is_omnet,
        Kind {
            message: "this is an ini file of OMNeT++, not a scenario",
            help: TOML,
        },
    ),
    (
        |text| text.contains("using namespace") || text.contains("int main"),
        Kind {
            message: "this is a program in C++, not a scenario",
            help: TOML,
        },
    ),
    (
        |text| text.contains("[new Simulator]"),
        Kind {
            message: "this is a script of ns-2, not a scenario",
            help: TOML,
        },
    ),
    (
        |text| {
            lines(text)
                .next()
                .is_some_and(|line| line.starts_with("Nodes "))
        },
        Kind {
            message: "this is a file of htsim, not a scenario",
            help: "`incastle import` makes a scenario of it",
        },
    ),
    (
        |text| {
            lines(text).next().is_some_and(|line| {
                line.starts_with("import ")
                    || (line.starts_with("from ") && line.contains(" import "))
            })
        },
        Kind {
            message: "this is a program in Python, not a scenario",
            help: TOML,
        },
    ),
    (
        is_yaml,
        Kind {
            message: "this is YAML, not a scenario",
            help: "a scenario is TOML: [run], then duration = \"2 s\", in place of run: and duration: 2 s",
        },
    ),
    (
        is_csv,
        Kind {
            message: "this is a table (CSV), not a scenario",
            help: "a list of flows is named in a scenario: workload = \"flow-list\", transfers = \"my.csv\"",
        },
    ),
];

/// The kind of a text without any key.
pub fn of_nothing(text: &str) -> Option<Kind> {
    lines(text).next().is_none().then_some(EMPTY)
}

/// The kind of a text that is not TOML, where it is another one that is known.
pub fn of_others(text: &str) -> Option<Kind> {
    let found = KINDS.iter().find(|(is_it, _)| is_it(text.trim_start()));
    found.map(|(_, kind)| *kind)
}

/// The lines with more than a comment.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// A table or a list of tables; a table of TOML may begin with `[[` or `["`.
fn is_json(text: &str) -> bool {
    let begins = |with: &str, next: &[char]| {
        text.strip_prefix(with)
            .is_some_and(|rest| rest.trim_start().starts_with(next))
    };
    begins("{", &['"', '}']) || begins("[", &['{'])
}

fn is_omnet(text: &str) -> bool {
    lines(text).any(|line| {
        line.starts_with("[General]") || line.starts_with("[Config ") || line.starts_with("**.")
    })
}

/// `key: value` or `- item` in the first line, and `=` in none.
fn is_yaml(text: &str) -> bool {
    let is_key = |line: &str| {
        let key = line.split(':').next().unwrap_or_default();
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ');
        line.contains(':') && key.chars().all(plain)
    };
    let first = lines(text).next().unwrap_or_default();
    let is_first = first.starts_with("---") || first.starts_with("- ") || is_key(first);
    is_first && !lines(text).any(|line| line.contains('='))
}

/// Several columns in each of the first lines, and `=` in none.
fn is_csv(text: &str) -> bool {
    let columns = |line: &str| line.matches(',').count();
    let first = columns(lines(text).next().unwrap_or_default());
    let mut some = lines(text).take(5);
    first > 1 && some.all(|line| columns(line) == first && !line.contains(['=', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Option<&'static str> {
        of_others(text).map(|kind| kind.message)
    }

    #[test]
    fn other_files_are_named() {
        for (text, kind) in [
            ("{\"run\": {\"duration\": \"2 s\"}}", "JSON"),
            ("[\n {\"a\": 1}]", "JSON"),
            ("---\nrun:\n", "YAML"),
            ("run:\n  duration: 2 s\n", "YAML"),
            ("[General]\nnetwork = Incast\n", "ini file"),
            ("Nodes 16\nConnections 2\n1->2 start 0 size 1000\n", "htsim"),
            ("set ns [new Simulator]\n", "ns-2"),
            ("from math import pi\n", "Python"),
            ("<?xml version=\"1.0\"?>", "XML"),
            (
                "#include \"ns3/core-module.h\"\nusing namespace ns3;\n",
                "C++",
            ),
            ("r\0u\0n\0", "UTF-16"),
            (
                "0.0,sender:0,receiver,1000\n0.1,sender:1,receiver,1000\n",
                "CSV",
            ),
        ] {
            let found = of_others(text).unwrap_or_else(|| panic!("{text}"));
            let words = format!("{} {}", found.message, found.help);
            assert!(words.contains(kind), "{text}: {words}");
        }
    }

    #[test]
    fn broken_scenarios_are_no_other_kind() {
        for text in [
            "[run]\nduration = 2 s\n",
            "[run]\nduration: 2 s\n[network]\nrate = \"1 Gbit/s\"\n",
            "[[flows]\n",
            "name = x\n",
            "",
        ] {
            assert_eq!(message(text), None, "{text}");
        }
    }

    #[test]
    fn comments_alone_are_nothing() {
        assert_eq!(of_nothing("# a comment\n\n"), Some(EMPTY));
        assert_eq!(of_nothing("name = \"a\""), None);
    }
}
