//! When the links of a run were down: `[network.failures]` of its complete scenario.
//!
//! Leaves out: names of sets other than one node, a range, all of a role, and `all`.

use incastle_units::Span;
use toml::Value;

/// An instant after every other.
const NEVER: i64 = i64::MAX;

/// A link, or several, between two instants.
#[derive(Debug)]
struct Outage {
    between: [Vec<String>; 2],
    /// The one of parallel links, from 1 on.
    number: Option<i64>,
    down: i64,
    up: i64,
}

/// All of them, by their beginning.
#[derive(Debug, Default)]
pub(crate) struct Outages(Vec<Outage>);

impl Outages {
    /// Reads them from the complete scenario.
    pub(crate) fn of(scenario: &str) -> Self {
        let scenario = scenario.parse::<toml::Table>().ok();
        let network = scenario.as_ref().and_then(|table| table.get("network"));
        let failures = network.and_then(|network| network.get("failures")?.as_table());
        let mut found: Vec<Outage> = failures
            .into_iter()
            .flat_map(|failures| failures.values().filter_map(Outage::of))
            .collect();
        found.sort_by_key(|one| one.down);
        Self(found)
    }

    /// The parts of an interval in which the link of a port was down, in order.
    pub(crate) fn within(&self, port: &str, begins: i64, ends: i64) -> Vec<(i64, i64)> {
        let mut parts = Vec::new();
        let mut at = begins;
        for outage in self.0.iter().filter(|one| one.concerns(port)) {
            let (down, up) = (outage.down.max(at), outage.up.min(ends));
            if down < up {
                parts.push((down, up));
                at = up;
            }
        }
        parts
    }
}

impl Outage {
    fn of(failure: &Value) -> Option<Self> {
        let [one, other] = failure.get("between")?.as_array()?.as_slice() else {
            return None;
        };
        let at = |key: &str| {
            let span: Span = failure.get(key)?.as_str()?.parse().ok()?;
            Some(span.as_ps().cast_signed())
        };
        Some(Self {
            between: [names(one), names(other)],
            number: failure.get("number").and_then(Value::as_integer),
            down: at("down").unwrap_or(0),
            up: at("up").unwrap_or(NEVER),
        })
    }

    /// Whether the link of a port is one of these, in either direction.
    fn concerns(&self, port: &str) -> bool {
        let (link, number) = match port.split_once('#') {
            Some((link, number)) => (link, number.parse().unwrap_or(1)),
            None => (port, 1),
        };
        let Some((from, to)) = link.split_once("->") else {
            return false;
        };
        let [one, other] = &self.between;
        let has = |set: &[String], node| set.iter().any(|name| is_of(node, name));
        self.number.is_none_or(|own| own == number)
            && (has(one, from) && has(other, to) || has(one, to) && has(other, from))
    }
}

/// A set: a name, or a list of them.
fn names(set: &Value) -> Vec<String> {
    let one = |value: &Value| value.as_str().map(str::to_owned);
    match set {
        Value::Array(all) => all.iter().filter_map(one).collect(),
        value => one(value).into_iter().collect(),
    }
}

/// Whether a name of a set means this node.
fn is_of(node: &str, name: &str) -> bool {
    if name == node || name == "all" {
        return true;
    }
    let (role, index) = node.split_once(':').unwrap_or((node, ""));
    let Some((of, range)) = name.split_once(':') else {
        return name.strip_suffix('s') == Some(role);
    };
    let ends = range.split_once("..");
    let ends =
        ends.and_then(|(first, last)| Some((first.parse::<u32>().ok()?, last.parse().ok()?)));
    let index = index.parse::<u32>().ok();
    of == role
        && ends
            .zip(index)
            .is_some_and(|((first, last), index)| (first..=last).contains(&index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_down_between_their_instants() {
        let outages = Outages::of(
            "[network.failures.second]
             between = [[\"host:3\", \"host:0..1\"], \"leaf:0\"]
             down = \"4 us\"
             [network.failures.first]
             between = [\"leafs\", \"host:1\"]
             down = \"1 us\"
             up = \"2 us\"
             [network.failures.parallel]
             between = [\"leaf:0\", \"spine:0\"]
             number = 2",
        );
        let within = |port| outages.within(port, 500_000, 5_000_000);
        let expected = vec![(1_000_000, 2_000_000), (4_000_000, 5_000_000)];
        assert_eq!(within("host:1->leaf:0"), expected);
        assert_eq!(within("leaf:0->host:3"), expected[1..]);
        assert!(within("host:2->leaf:0").is_empty());
        assert_eq!(within("spine:0->leaf:0#2"), [(500_000, 5_000_000)]);
        assert!(within("spine:0->leaf:0").is_empty());
        assert!(Outages::of("").within("a->b", 0, 1).is_empty());
    }
}
