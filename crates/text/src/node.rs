//! The tree of a scenario as it was written: every key and value with its place.
//!
//! The file's text and the overrides become one tree, so that later stages need not distinguish
//! them, and messages can still name the place.

use std::fmt::{self, Write as _};

use toml::de::{DeTable, DeValue};

/// The place of a key or value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// At this byte of the file.
    File(usize),
    /// In the override of this number.
    Override(usize),
}

/// A value and its place.
#[derive(Debug, Clone)]
pub struct Node {
    /// The place of the value.
    pub place: Place,
    /// The value.
    pub content: Content,
}

/// A value.
#[derive(Debug, Clone)]
pub enum Content {
    /// A string.
    Text(String),
    /// A whole number.
    Integer(i128),
    /// A number with a point or exponent.
    Float(f64),
    /// `true` or `false`.
    Flag(bool),
    /// Dates and integers beyond 128 bits, which are valid for no key: as they were written.
    Other(String),
    /// A list.
    List(Vec<Node>),
    /// A table, in the order of the file.
    Table(Vec<Entry>),
}

/// A key of a table, with its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key, without its table.
    pub key: String,
    /// The place of the key.
    pub place: Place,
    /// The value.
    pub node: Node,
    /// Whether it was inherited from a table of defaults: then it may have no effect here.
    pub inherited: bool,
}

impl Node {
    /// A table without keys.
    pub fn empty_table(place: Place) -> Self {
        Self {
            place,
            content: Content::Table(Vec::new()),
        }
    }

    /// The keys of a table; `None` for anything else.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.content {
            Content::Table(entries) => Some(entries),
            _ => None,
        }
    }

    /// The keys of a table, to change them.
    pub fn entries_mut(&mut self) -> Option<&mut Vec<Entry>> {
        match &mut self.content {
            Content::Table(entries) => Some(entries),
            _ => None,
        }
    }

    /// The tree of a parsed document. `place` returns the place of a byte of its text.
    pub fn from_toml(value: &DeValue<'_>, start: usize, place: &dyn Fn(usize) -> Place) -> Self {
        let content = match value {
            DeValue::String(text) => Content::Text(text.to_string()),
            DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix())
                .map_or_else(|_| Content::Other(integer.to_string()), Content::Integer),
            DeValue::Float(float) => float
                .as_str()
                .parse()
                .map_or_else(|_| Content::Other(float.to_string()), Content::Float),
            DeValue::Boolean(flag) => Content::Flag(*flag),
            DeValue::Datetime(moment) => Content::Other(moment.to_string()),
            DeValue::Array(items) => Content::List(
                items
                    .iter()
                    .map(|item| Self::from_toml(item.get_ref(), item.span().start, place))
                    .collect(),
            ),
            DeValue::Table(table) => Content::Table(entries_from_toml(table, place)),
        };
        Self {
            place: place(start),
            content,
        }
    }
}

/// The keys of a parsed table, in the order of the file.
pub fn entries_from_toml(table: &DeTable<'_>, place: &dyn Fn(usize) -> Place) -> Vec<Entry> {
    let mut keys: Vec<_> = table.iter().collect();
    keys.sort_by_key(|(key, _)| key.span().start);
    keys.into_iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            place: place(key.span().start),
            node: Node::from_toml(value.get_ref(), value.span().start, place),
            inherited: false,
        })
        .collect()
}

/// The value in a message: `the string "fast"`, `the number 3`, `a table`.
impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "the string {}", quoted(text)),
            Self::Integer(integer) => write!(f, "the number {integer}"),
            Self::Float(float) => write!(f, "the number {float:?}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Other(text) => f.write_str(text),
            Self::List(_) => f.write_str("a list"),
            Self::Table(_) => f.write_str("a table"),
        }
    }
}

/// A string as TOML writes it.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => {
                write!(out, "\\u{:04X}", u32::from(c)).expect("writing to a string cannot fail");
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A key as TOML writes it.
pub fn quoted_key(key: &str) -> String {
    if is_bare_key(key) {
        key.to_owned()
    } else {
        quoted(key)
    }
}

/// Whether TOML accepts `key` without quotes.
pub fn is_bare_key(key: &str) -> bool {
    !key.is_empty()
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
