//! Other words for keys and values: those of papers and other simulators, and of earlier versions;
//! and the names of what is not modelled. The lists are in `synonyms.txt`.
//!
//! They are not accepted; a message has the valid word. Words are compared without case, blanks,
//! `-` and `_`. Leaves out: misspellings (`suggest`), algorithms of other layers (`elsewhere`).

use crate::suggest::{did_you_mean, fold, nearly};

const LISTS: &str = include_str!("synonyms.txt");
const KEYS: &str = "== keys";
const VALUES: &str = "== values of ";
const ABSENT: &str = "== not modelled";

/// The end of a help about something that is not modelled.
pub const NOT_MODELLED: &str = "docs/modelled.md lists what is modelled";

/// One line: the valid words, or what else to write, and the other words for it.
pub type Line = (&'static str, &'static str);

/// The lines below a title.
fn section(title: &str) -> impl Iterator<Item = Line> {
    let mut lines = LISTS.lines().skip_while(move |line| *line != title);
    lines.next();
    lines
        .take_while(|line| !line.starts_with("== "))
        .filter_map(|line| line.split_once(" <- "))
}

/// The valid keys, each with other words.
pub fn keys() -> impl Iterator<Item = Line> {
    section(KEYS)
}

/// The names of what is not modelled, each with the words for it.
pub fn not_modelled() -> impl Iterator<Item = Line> {
    section(ABSENT)
}

/// Other words for the values of one key.
#[derive(Debug)]
pub struct Values {
    /// The key, as it is written in full.
    pub key: &'static str,
    /// A valid value, which no other key has.
    marker: &'static str,
    title: &'static str,
}

impl Values {
    /// Those of each key.
    pub fn all() -> impl Iterator<Item = Self> {
        LISTS.lines().filter_map(|title| {
            let (key, marker) = title.strip_prefix(VALUES)?.split_once(", with ")?;
            Some(Self { key, marker, title })
        })
    }

    /// The valid values, each with other words.
    pub fn lines(&self) -> impl Iterator<Item = Line> {
        section(self.title)
    }
}

/// The members of a list in one string.
pub fn listed(words: &str) -> impl Iterator<Item = &str> {
    words.split(", ")
}

/// Whether a list has this word, which is folded.
fn has(words: &str, found: &str) -> bool {
    listed(words).any(|word| fold(word) == found)
}

/// The folded name of a type of another simulator without the parts that all of its kind have: `ns3::TcpDctcp`,
/// `ns3::RedQueueDisc`, `Queue/DropTail`, `Agent/TCP/Newreno`, Linux's `tcp_cubic`.
fn type_name(found: &str) -> String {
    let last = found.rsplit([':', '/']).next().unwrap_or(found);
    let mut name = fold(last);
    for ending in ["queuedisc", "queue", "socketfactory", "application"] {
        name.truncate(name.strip_suffix(ending).map_or(name.len(), str::len));
    }
    match name.strip_prefix("tcp") {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ if name.is_empty() => fold(found),
        _ => name,
    }
}

/// The keys of all tables for which `found` is another word.
pub fn keys_for(found: &str) -> impl Iterator<Item = &'static str> {
    let found = fold(found);
    let lines = keys().filter(move |(_, words)| has(words, &found));
    lines.flat_map(|(keys, _)| listed(keys))
}

/// The valid key for the other word `found`, if there is one in `valid`.
pub fn valid_key(found: &str, valid: &[&str]) -> Option<&'static str> {
    keys_for(found).find(|key| is_among(key, valid))
}

/// The valid key for a misspelt other word.
pub fn nearly_valid_key(found: &str, valid: &[&str]) -> Option<&'static str> {
    keys()
        .filter(|(_, words)| listed(words).any(|word| nearly(found, word)))
        .flat_map(|(keys, _)| listed(keys))
        .find(|key| is_among(key, valid))
}

/// Whether a key, or the table before its point, is in `valid`.
fn is_among(key: &str, valid: &[&str]) -> bool {
    key.split('.').next().is_some_and(|it| valid.contains(&it))
}

/// The value for the other word `found` of a key with these valid words: in quotes, or what else to write.
pub fn value(found: &str, valid: &[&str]) -> Option<String> {
    let found = type_name(found);
    if let Some(word) = valid.iter().find(|word| fold(word) == found) {
        return Some(format!("\"{word}\""));
    }
    let of_key = Values::all().find(|all| valid.contains(&all.marker))?;
    let (value, _) = of_key.lines().find(|(_, words)| has(words, &found))?;
    Some(value.to_owned())
}

/// The name of a thing that is not modelled, if `found` is one of its words.
pub fn absent(found: &str) -> Option<&'static str> {
    let found = type_name(found);
    let (name, _) = not_modelled().find(|(_, words)| has(words, &found))?;
    Some(name)
}

/// The nearest valid key: another word for it, a misspelt one, or a misspelt other word.
pub fn nearest_key(found: &str, valid: &[&'static str]) -> Option<&'static str> {
    valid_key(found, valid)
        .or_else(|| did_you_mean(found, valid))
        .or_else(|| nearly_valid_key(found, valid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_the_table_is_named() {
        let query = ["request", "response_size", "total_size"];
        assert_eq!(valid_key("unit", &query), Some("response_size"));
        assert_eq!(valid_key("unit", &["sru"]), Some("sru"));
        assert_eq!(valid_key("unit", &["sizes"]), None);
        assert_eq!(
            valid_key("law", &["readings"]),
            Some("readings.control_law")
        );
        assert_eq!(valid_key("size", &["size"]), None);
        assert_eq!(
            valid_key("stop_time", &["duration", "stop"]),
            Some("duration")
        );
        assert_eq!(valid_key("stop_time", &["start", "stop"]), Some("stop"));
        assert_eq!(nearest_key("bandwith", &["rate", "delay"]), Some("rate"));
    }

    #[test]
    fn other_words_for_values() {
        let congestion = ["new-reno", "reno", "cubic"];
        let value_of = |word| value(word, &congestion);
        assert_eq!(value_of("TcpCubic").as_deref(), Some("\"cubic\""));
        assert_eq!(value_of("TcpNewReno").as_deref(), Some("\"new-reno\""));
        assert_eq!(
            value_of("udp").as_deref(),
            Some("[transport] kind = \"udp\"")
        );
        assert_eq!(value_of("cubik"), None);
        assert_eq!(value_of("ns3::TcpCubic").as_deref(), Some("\"cubic\""));
        assert_eq!(
            value_of("Agent/TCP/Newreno").as_deref(),
            Some("\"new-reno\"")
        );
        let queues = ["drop-tail", "red", "threshold"];
        for (found, valid) in [
            ("ns3::RedQueueDisc", "\"red\""),
            ("ns3::PfifoFastQueueDisc", "\"drop-tail\""),
            ("Queue/DropTail", "\"drop-tail\""),
            ("DropTailQueue", "\"drop-tail\""),
        ] {
            assert_eq!(value(found, &queues).as_deref(), Some(valid), "{found}");
        }
        assert_eq!(absent("ns3::FqCoDelQueueDisc"), Some("CoDel"));
        assert_eq!(absent("DCTCP+"), Some("DCTCP+"));
        assert_eq!(absent("dctcp"), None);
        assert_eq!(absent("FQ_CoDel"), Some("CoDel"));
    }

    #[test]
    fn no_word_is_listed_twice() {
        let mut absent: Vec<String> = not_modelled()
            .flat_map(|(_, words)| listed(words).map(fold))
            .collect();
        let all = absent.len();
        absent.sort();
        absent.dedup();
        assert_eq!(absent.len(), all);
    }

    #[test]
    fn every_line_is_in_a_section() {
        let lines = LISTS.lines().filter(|line| line.contains(" <- ")).count();
        let values: usize = Values::all().map(|all| all.lines().count()).sum();
        assert_eq!(keys().count() + values + not_modelled().count(), lines);
        let titles = LISTS.lines().filter(|line| line.starts_with("==")).count();
        assert_eq!(Values::all().count() + 2, titles);
    }
}
