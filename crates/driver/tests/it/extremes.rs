//! Random scenarios of extreme values: whatever the language accepts can be built and run.
//!
//! Some keys of the scenarios in `examples` and of the papers are changed, as the language's description
//! lists them. They become 0, 1, the limits of their range or just beyond, the largest numbers, empty
//! lists, other strings. A scenario that is refused has a message. One that is accepted is built and runs
//! for some events, without a panic. More of them, with overflow checks:
//! `INCASTLE_TESTS=100000 CARGO_PROFILE_DEV_OPT_LEVEL=3 cargo test -p incastle-driver --test it extremes`.
//!
//! Leaves out: networks and groups that are valid and take long (`SMALL`), files in a scenario's folder,
//! user-defined controllers.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use incastle_cases::cases;
use incastle_driver::Folder;
use incastle_experiment::{Overseer, simulate};
use incastle_scenario::check::static_flows;
use incastle_scenario::language::grammar::{Description, Key, Member};
use incastle_scenario::language::network::MAX_HOSTS;
use incastle_scenario::{Diagnostic, Scenario, Severity, description, parse_with};
use incastle_units::{Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use toml::de::{DeTable, DeValue};

/// Scenarios, where all are requested.
const CASES: u32 = 2_000;
/// Events of each run.
const EVENTS: u64 = 4_000;
/// More hosts, switches, links or flows are accepted, and not built here.
const SMALL: usize = 600;

/// A change of one key, as `--set` takes it.
type Change = (String, String);

/// A scenario to begin with.
struct Base {
    path: PathBuf,
    text: String,
    /// Changes that make it small.
    smaller: Vec<Change>,
}

/// Stops a run after some calls.
struct Soon(Cell<u32>);

impl Overseer for Soon {
    fn continues(&self, _: Time) -> bool {
        self.0.set(self.0.get() + 1);
        self.0.get() < 3
    }

    fn slice(&self) -> u64 {
        EVENTS / 4
    }
}

/// A key that a scenario may have.
struct Place {
    path: String,
    kind: Kind,
}

enum Kind {
    Value(Key),
    /// The alternatives of a choice.
    Choice(Vec<&'static str>),
}

#[test]
fn whatever_is_accepted_can_run() {
    let bases = bases();
    assert!(bases.len() > 40, "a base worth the name");
    let description = description();
    let mut accepted = 0;
    let mut found: Vec<String> = Vec::new();
    let cases = cases(CASES);
    for number in 0..cases {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(number.into());
        let base = &bases[random::below(&mut rng, bases.len() as u64) as usize];
        let changes = changes(base, &description, cases > CASES, &mut rng);
        match catch_unwind(AssertUnwindSafe(|| outcome(base, &changes))) {
            Ok(was_accepted) => accepted += u32::from(was_accepted),
            Err(panic) => found.push(report(number, base, &changes, panic.as_ref())),
        }
    }
    assert!(
        found.is_empty(),
        "{} of {cases}:\n{}",
        found.len(),
        found.join("\n")
    );
    println!("{accepted} of {cases} were accepted");
    assert!(
        accepted > cases / 2,
        "only {accepted} of {cases} were accepted"
    );
}

fn report(number: u32, base: &Base, changes: &[Change], panic: &dyn std::any::Any) -> String {
    let message = panic.downcast_ref::<String>().cloned();
    let message = message.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
    let message = message.unwrap_or_default();
    format!(
        "case {number}: {} {changes:?}: {message}",
        base.path.display()
    )
}

/// Checks a scenario and runs it if it is accepted.
fn outcome(base: &Base, changes: &[Change]) -> bool {
    let Ok(scenario) = parsed(base, changes) else {
        return false;
    };
    if is_large(&scenario) {
        return true;
    }
    // A scenario that is written with all its defaults is the same.
    let again = parse_with(&scenario.resolved(), "resolved.toml", &[], &Folder::of(""))
        .map_err(|found| joined(&found));
    assert_eq!(
        again.map(|(again, _)| again.resolved()),
        Ok(scenario.resolved())
    );
    let output = simulate(&scenario, &Soon(Cell::new(0)));
    assert!(output.is_ok(), "{:?}", output.err());
    true
}

/// Whether it takes long to be built, however right it is.
fn is_large(scenario: &Scenario) -> bool {
    let layout = scenario.layout();
    let nodes = layout.hosts.len() + layout.switches.len();
    nodes.max(layout.links.len()) > SMALL || static_flows(scenario.tables(), layout).len() > SMALL
}

fn joined(diagnostics: &[Diagnostic]) -> String {
    let lines: Vec<_> = diagnostics.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn parsed(base: &Base, changes: &[Change]) -> Result<Scenario, ()> {
    let path = base.path.to_string_lossy();
    let mut all = base.smaller.clone();
    all.extend(changes.iter().cloned());
    match parse_with(&base.text, &path, &all, &Folder::of(&path)) {
        Ok((scenario, _)) => Ok(scenario),
        Err(mistakes) => {
            let has_error = mistakes.iter().any(|one| one.severity == Severity::Error);
            assert!(has_error, "a scenario that is refused has a mistake");
            Err(())
        }
    }
}

// Where it begins.

#[expect(clippy::disallowed_methods, reason = "examples are files")]
fn bases() -> Vec<Base> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("examples")];
    let papers = root.join("python/incastle/papers");
    let papers = std::fs::read_dir(papers).expect("papers");
    folders.extend(papers.map(|entry| entry.expect("an entry").path().join("scenarios")));
    let mut paths: Vec<PathBuf> = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        paths.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "toml")
    });
    paths.sort();
    let read = |path: PathBuf| Base {
        text: std::fs::read_to_string(&path).expect("a scenario"),
        path,
        smaller: Vec::new(),
    };
    let mut bases: Vec<_> = paths.into_iter().map(read).collect();
    bases.retain_mut(smaller);
    bases
}

/// Makes a base small enough to be built many times; returns whether it is.
fn smaller(base: &mut Base) -> bool {
    base.smaller
        .push(("run.duration".to_owned(), "\"20 ms\"".to_owned()));
    for key in ["measure.warmup", "measure.until"] {
        let value = if key == "measure.until" {
            "\"end\""
        } else {
            "\"0 s\""
        };
        base.smaller.push((key.to_owned(), value.to_owned()));
    }
    parsed(base, &[]).is_ok_and(|scenario| !is_large(&scenario))
}

// Changes.

/// Changes of some keys of a base, each to a value of its kind or of none. Most refused changes are taken
/// back, so that extremes combine. Networks with the maximum number of hosts take seconds to read: they are
/// tried in a long test alone.
fn changes(
    base: &Base,
    description: &Description,
    is_long: bool,
    rng: &mut impl Rng,
) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    let mut scenario = parsed(base, &changes).expect("a base is right");
    for _ in 0..2 + random::below(rng, 8) {
        let resolved = scenario.resolved();
        let document = DeTable::parse(&resolved).expect("it is TOML");
        let mut places = Vec::new();
        collect(description, "", Some(document.get_ref()), &mut places);
        // Choices bring further keys, so that they change more often than by their share.
        if random::below(rng, 4) == 0 {
            places.retain(|place| matches!(place.kind, Kind::Choice(_)));
        }
        let place = &places[random::below(rng, places.len() as u64) as usize];
        let mut values = values(&place.kind);
        values.retain(|value| is_long || *value != MAX_HOSTS.to_string());
        let value = &values[random::below(rng, values.len() as u64) as usize];
        changes.push((place.path.clone(), value.clone()));
        match parsed(base, &changes) {
            Ok(changed) if is_large(&changed) => return changes,
            Ok(changed) => scenario = changed,
            Err(()) if random::below(rng, 50) == 0 => return changes,
            Err(()) => _ = changes.pop(),
        }
    }
    changes
}

/// The keys that a table of a scenario has or may have.
fn collect(
    description: &Description,
    path: &str,
    table: Option<&DeTable<'_>>,
    places: &mut Vec<Place>,
) {
    let full = |name: &str| join(path, name);
    let value = |name: &str| Some(table?.get(name)?.get_ref());
    let tables = |name: &str| value(name).and_then(DeValue::as_table);
    for member in &description.members {
        match member {
            Member::Value(key) => places.push(Place {
                path: full(key.name),
                kind: Kind::Value(key.clone()),
            }),
            Member::Section {
                name, table: inner, ..
            } => {
                collect(inner, &full(name), tables(name), places);
            }
            Member::Each {
                name, table: inner, ..
            } => {
                for (key, value) in in_order(tables(name)) {
                    collect(inner, &join(&full(name), key), value.as_table(), places);
                }
            }
            Member::Choice(choice) => {
                let alternatives = choice.alternatives.iter().map(|one| one.word).collect();
                places.push(Place {
                    path: full(choice.key),
                    kind: Kind::Choice(alternatives),
                });
                let written = value(choice.key).and_then(DeValue::as_str);
                let chosen = written.or(choice.default);
                let mut alternatives = choice.alternatives.iter();
                if let Some(chosen) = alternatives.find(|one| chosen == Some(one.word)) {
                    collect(&chosen.table, path, table, places);
                }
            }
        }
    }
}

/// The entries of a table as they were written.
fn in_order<'a>(table: Option<&'a DeTable<'_>>) -> Vec<(&'a str, &'a DeValue<'a>)> {
    let mut entries: Vec<_> = table.into_iter().flatten().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let entries = entries.into_iter();
    entries
        .map(|(key, value)| (key.get_ref().as_ref(), value.get_ref()))
        .collect()
}

/// The full name of a key.
fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

const NUMBERS: &[&str] = &[
    "-1",
    "0",
    "1",
    "2",
    "3",
    "7",
    "64",
    "1000",
    "65535",
    "1000000",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
];
const REALS: &[&str] = &[
    "-1.0",
    "-0.0",
    "0.0",
    "5e-324",
    "1e-300",
    "1e-9",
    "0.5",
    "0.9999999999999999",
    "1.0",
    "1.0000000000000002",
    "1e9",
    "1e19",
    "1e300",
    "1.7976931348623157e308",
    "inf",
    "nan",
];
const TIMES: &[&str] = &[
    "0 s",
    "1 ps",
    "2 ps",
    "1 ns",
    "1 us",
    "1 ms",
    "19 ms",
    "20 ms",
    "1 s",
    "1000 s",
    "86400 s",
    "9223372036854775807 ps",
    "18446744073709551615 ps",
    "-1 s",
];
const SIZES: &[&str] = &[
    "0 B",
    "1 B",
    "40 B",
    "41 B",
    "1500 B",
    "64 KB",
    "65535 B",
    "65536 B",
    "1 GB",
    "4294967295 B",
    "4 GiB",
    "1000 TB",
    "9223372036854775807 B",
    "18446744073709551615 B",
    "1.5 B",
];
const PACKETS: &[&str] = &[
    "0 packets",
    "1 packets",
    "2 packets",
    "1000 packets",
    "4294967295 packets",
    "4294967296 packets",
    "9223372036854775807 packets",
    "18446744073709551615 packets",
];
const RATES: &[&str] = &[
    "0 bit/s",
    "1 bit/s",
    "1 kbit/s",
    "1 Mbit/s",
    "10 Gbit/s",
    "100 Tbit/s",
    "18446744073709551615 bit/s",
];

/// Values to try in a place: of its kind and range, and some that nothing takes.
fn values(kind: &Kind) -> Vec<String> {
    let key = match kind {
        Kind::Choice(alternatives) => return alternatives.iter().map(|one| quote(one)).collect(),
        Kind::Value(key) => key,
    };
    let shape = key.shape.words.as_str();
    let mut values: Vec<String> = Vec::new();
    let quoted = |texts: &[&str]| texts.iter().map(|text| quote(text)).collect::<Vec<_>>();
    let plain = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| (*text).to_owned())
            .collect::<Vec<_>>()
    };
    if shape.contains("number") {
        values.extend(plain(NUMBERS));
        if !shape.contains("whole") {
            values.extend(plain(REALS));
        }
    }
    for (mark, texts) in [
        ("25 us", TIMES),
        ("64 KiB", SIZES),
        ("20 packets", PACKETS),
        ("10 Gbit/s", RATES),
    ] {
        if shape.contains(mark) {
            values.extend(quoted(texts));
        }
    }
    if shape.contains("true or false") {
        values.extend(plain(&["true", "false"]));
    }
    if let Some((range, _)) = &key.range {
        values.extend(limits(range));
    }
    // Strings and examples that the description contains.
    values.extend(shape.split('"').skip(1).step_by(2).map(quote));
    values.extend(plain(&["[]", "\"\"", "{}"]));
    values
}

fn quote(text: &str) -> String {
    format!("\"{text}\"")
}

/// The limits of a range, as it is described: `at least "1 B" and at most 7`.
fn limits(range: &str) -> impl Iterator<Item = String> {
    let limits = range.split(" and ");
    limits.filter_map(|limit| {
        let at = limit.find(|c: char| c == '"' || c.is_ascii_digit())?;
        Some(limit[at..].to_owned())
    })
}
