//! Files that are no scenario, by their text: empty ones, JSON, YAML, XML, C++, tables, files of other simulators.
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
const KINDS: [(Test, Kind); 14] = [
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
        is_cpp,
        Kind {
            message: "this is a program in C++, not a scenario",
            help: TOML,
        },
    ),
    (
        is_ned,
        Kind {
            message: "this is a network of OMNeT++ (NED), not a scenario",
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
        is_hpcc,
        Kind {
            message: "this is a file of HPCC's simulator, not a scenario",
            help: "`incastle import` makes a scenario of a topology and its flows",
        },
    ),
    (
        is_hpcc_config,
        Kind {
            message: "this is a configuration of HPCC's simulator, not a scenario",
            help: "`incastle import` reads the topology and the flows that it names; KMIN_MAP, KMAX_MAP and PMAX_MAP are min_th, max_th and max_p in [switch.queue]",
        },
    ),
    (
        is_cdf,
        Kind {
            message: "this is a table of numbers, not a scenario",
            help: "a distribution of sizes is named in a scenario: workload = \"poisson\", sizes = \"my.cdf\"",
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

/// A program, which may begin with the mode line of an editor.
fn is_cpp(text: &str) -> bool {
    let is_include = |line: &str| {
        let file = line.trim_start().strip_prefix("#include");
        file.is_some_and(|file| file.trim_start().starts_with(['"', '<']))
    };
    let words = ["using namespace", "int main", "-*- Mode: C++"];
    words.iter().any(|word| text.contains(word)) || text.lines().any(is_include)
}

fn is_ned(text: &str) -> bool {
    let parts = [
        "submodules:",
        "connections:",
        "connections allowunconnected:",
    ];
    let declares = |line: &str| line.starts_with("network ") && !line.contains('=');
    lines(text).any(|line| parts.contains(&line)) && lines(text).any(declares)
}

/// The numbers of a line of several columns.
fn numbers(line: &str) -> Option<Vec<f64>> {
    let fields = line.split_whitespace();
    fields.map(|field| field.parse().ok()).collect()
}

/// A topology (hosts, switches, links; later `0 8 25Gbps 1us 0`), or flows (their number, then six columns).
fn is_hpcc(text: &str) -> bool {
    let columns = |line: &str| numbers(line).map_or(0, |numbers| numbers.len());
    let is_link = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        matches!(fields[..], [from, to, rate, ..] if columns(from) == 1 && columns(to) == 1 && rate.ends_with("bps"))
    };
    let mut first = lines(text).map(columns);
    match (first.next(), first.next()) {
        (Some(1), Some(6)) => true,
        (Some(3), Some(_)) => lines(text).any(is_link),
        _ => false,
    }
}

/// `ENABLE_QCN 1`
fn is_hpcc_config(text: &str) -> bool {
    let is_setting = |line: &str| {
        let key = line.split_whitespace().next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        key.contains('_') && key.chars().all(plain) && !line.contains('=')
    };
    lines(text).next().is_some() && lines(text).take(3).all(is_setting)
}

/// Two numbers in each of the first lines.
fn is_cdf(text: &str) -> bool {
    let mut first = lines(text).take(5).map(numbers);
    lines(text).nth(1).is_some() && first.all(|one| one.is_some_and(|one| one.len() == 2))
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
            (
                "/* -*- Mode: C++ -*- */\nConfig::SetDefault (\"a\");\n",
                "C++",
            ),
            (
                "# include <ns3>\n#include \"ns3/core-module.h\"\nPointToPointHelper p2p;\n",
                "C++",
            ),
            (
                "network Dumbbell\n{\n  submodules:\n    n[4]: StandardHost;\n}\n",
                "NED",
            ),
            ("3 1 2\n2\n0 2 25Gbps 1us 0\n1 2 25Gbps 1us 0\n", "HPCC"),
            ("1\n0 5 3 100 20000 2.0\n", "HPCC"),
            (
                "ENABLE_QCN 1\nKMAX_MAP 1 25000000000 400\n",
                "configuration of HPCC",
            ),
            ("1000 0\n10000 100\n", "sizes"),
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
            "#include the receivers\nname = x\n",
            "1 2\nname = x\n",
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
