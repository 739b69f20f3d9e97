//! Reads one table of a scenario: takes the declared keys, and reports missing and unknown ones and those
//! without effect.

use crate::grammar::describe::Description;
use crate::grammar::range::{Range, read_within};
use crate::grammar::value::{Value, Vocabulary, is_misspelt, read_word};
use crate::grammar::writer::Writer;
use crate::text::context::Context;
use crate::text::former;
use crate::text::node::{Content, Entry, Node, Place, is_bare_key, quoted};
use crate::text::suggest::{choices, did_you_mean};

/// A table of the language, or the part of one that a `flat` member declares.
pub(crate) trait Table: Sized {
    /// Adds this table's members to a description.
    fn describe(description: &mut Description);
    /// Takes this table's members from `reader`. `None` if a required one failed, which is then already
    /// reported.
    fn read(reader: &mut Reader<'_>, cx: &mut Context<'_>) -> Option<Self>;
    /// Writes every member.
    fn write(&self, writer: &mut Writer);

    /// The description of this table alone.
    fn description() -> Description {
        let mut description = Description::default();
        Self::describe(&mut description);
        description
    }
}

/// The keys of one table while it is read.
pub(crate) struct Reader<'a> {
    path: String,
    place: Place,
    entries: &'a [Entry],
    taken: Vec<&'a str>,
    /// A word of a choice was wrong: the valid keys of this table are then unknown.
    undecided: bool,
}

/// Reads a whole table and reports the remaining keys.
pub(crate) fn read_table<T: Table>(
    path: String,
    place: Place,
    entries: &[Entry],
    cx: &mut Context<'_>,
) -> Option<T> {
    let mut reader = Reader {
        path,
        place,
        entries,
        taken: Vec::new(),
        undecided: false,
    };
    let table = T::read(&mut reader, cx);
    reader.finish(T::description, cx);
    table
}

/// The full name of a key.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

impl<'a> Reader<'a> {
    fn take(&mut self, cx: &mut Context<'_>, name: &'static str) -> Option<&'a Entry> {
        self.taken.push(name);
        let entry = self.entries.iter().find(|entry| entry.key == name)?;
        cx.record(&join(&self.path, name), entry.node.place);
        Some(entry)
    }

    /// The value of a key, if it is given and valid.
    pub(crate) fn value<T: Value>(
        &mut self,
        cx: &mut Context<'_>,
        name: &'static str,
    ) -> Option<T> {
        let entry = self.take(cx, name)?;
        T::read(&entry.node, &join(&self.path, name), cx)
    }

    /// The value of a key, if it is given, valid and within its range.
    pub(crate) fn ranged<T: Value + PartialOrd>(
        &mut self,
        cx: &mut Context<'_>,
        name: &'static str,
        range: &Range<T>,
    ) -> Option<T> {
        let entry = self.take(cx, name)?;
        read_within(&entry.node, &join(&self.path, name), range, cx)
    }

    /// Reports a required key that is not given.
    pub(crate) fn require(&mut self, cx: &mut Context<'_>, name: &'static str) {
        if self.entries.iter().any(|entry| entry.key == name) {
            return;
        }
        self.report_missing(cx, name, format!("add `{name} = ...`"));
    }

    fn report_missing(&self, cx: &mut Context<'_>, name: &str, help: String) {
        let table = if self.path.is_empty() {
            "the scenario".to_owned()
        } else {
            format!("[{}]", self.path)
        };
        let message = format!("{table} has no {name}");
        cx.error(self.place, &join(&self.path, name), message)
            .help(help);
    }

    /// A table within this one; where it is absent, all its defaults.
    pub(crate) fn section<T: Table>(
        &mut self,
        cx: &mut Context<'_>,
        name: &'static str,
    ) -> Option<T> {
        let path = join(&self.path, name);
        let Some(entry) = self.take(cx, name) else {
            return read_table(path, self.place, &[], cx);
        };
        let entries = table_entries(&entry.node, &path, cx)?;
        read_table(path, entry.place, entries, cx)
    }

    /// A table within this one that may be absent. Outer `None`: it is wrong.
    #[allow(
        clippy::option_option,
        reason = "absent and wrong are different things"
    )]
    pub(crate) fn maybe<T: Table>(
        &mut self,
        cx: &mut Context<'_>,
        name: &'static str,
    ) -> Option<Option<T>> {
        let path = self.key(name);
        let Some(entry) = self.take(cx, name) else {
            return Some(None);
        };
        if matches!(&entry.node.content, Content::Text(text) if text == "off") {
            return Some(None);
        }
        if is_misspelt(&entry.node, &path, "off", cx) {
            return None;
        }
        let entries = table_entries(&entry.node, &path, cx)?;
        read_table(path, entry.place, entries, cx).map(Some)
    }

    /// The full name of a key of this table.
    pub(crate) fn key(&self, name: &str) -> String {
        join(&self.path, name)
    }

    /// The named tables within a table of this one.
    pub(crate) fn each<T: Table>(
        &mut self,
        cx: &mut Context<'_>,
        name: &'static str,
    ) -> Option<Vec<(String, T)>> {
        let path = join(&self.path, name);
        let Some(entry) = self.take(cx, name) else {
            return Some(Vec::new());
        };
        let mut tables = Some(Vec::new());
        for inner in table_entries(&entry.node, &path, cx)? {
            let table = read_named(&path, inner, cx);
            match (&mut tables, table) {
                (Some(tables), Some(table)) => tables.push((inner.key.clone(), table)),
                _ => tables = None,
            }
        }
        tables
    }

    /// The word of a choice.
    pub(crate) fn word(
        &mut self,
        cx: &mut Context<'_>,
        name: &'static str,
        known: Vocabulary<'_>,
        default: Option<&'static str>,
    ) -> Option<&'static str> {
        let word = match self.take(cx, name) {
            Some(entry) => read_word(&entry.node, &join(&self.path, name), known, cx),
            None if default.is_some() => default,
            None => {
                self.report_missing(
                    cx,
                    name,
                    format!("{name} is one of {}", choices(known.words)),
                );
                None
            }
        };
        self.undecided |= word.is_none();
        word
    }

    /// Reports keys that were not taken.
    fn finish(self, description: fn() -> Description, cx: &mut Context<'_>) {
        let is_left =
            |entry: &&Entry| !entry.inherited && !self.taken.contains(&entry.key.as_str());
        let left: Vec<&Entry> = self.entries.iter().filter(is_left).collect();
        if left.is_empty() {
            // A description takes many times as long as reading its table.
            return;
        }
        let all = description().all_keys();
        for entry in left {
            let key = join(&self.path, &entry.key);
            let belongs: Vec<&String> = all
                .iter()
                .filter(|(name, _)| *name == entry.key)
                .filter_map(|(_, condition)| condition.as_ref())
                .collect();
            if all.iter().any(|(name, _)| *name == entry.key) {
                if !self.undecided {
                    let owners: Vec<&str> = belongs.iter().map(|owner| owner.as_str()).collect();
                    cx.warn(
                        entry.place,
                        &key,
                        format!("{} has no effect here", entry.key),
                    )
                    .help(format!("it belongs to {}", owners.join(" or ")));
                }
                continue;
            }
            self.report_unknown(entry, &key, &all, cx);
        }
    }

    fn report_unknown(
        &self,
        entry: &Entry,
        key: &str,
        all: &[(&'static str, Option<String>)],
        cx: &mut Context<'_>,
    ) {
        let mut usable: Vec<&str> = Vec::new();
        for (name, condition) in all {
            let applies = condition.is_none() || self.taken.contains(name);
            if applies && !usable.contains(name) {
                usable.push(name);
            }
        }
        let table = if self.path.is_empty() {
            "at the top of a scenario".to_owned()
        } else {
            format!("in [{}]", self.path)
        };
        let everything: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        let near = former::valid_key(&entry.key, &usable)
            .or_else(|| did_you_mean(&entry.key, &usable))
            .or_else(|| former::valid_key(&entry.key, &everything))
            .or_else(|| did_you_mean(&entry.key, &everything));
        let help = match near {
            Some(near) => format!("did you mean {near}? valid here: {}", usable.join(", ")),
            None => format!("valid here: {}", usable.join(", ")),
        };
        cx.error(
            entry.place,
            key,
            format!("unknown key {} {table}", quoted(&entry.key)),
        )
        .help(help);
    }
}

/// The keys of a table, or an error for anything else.
fn table_entries<'a>(node: &'a Node, path: &str, cx: &mut Context<'_>) -> Option<&'a [Entry]> {
    let entries = node.entries();
    if entries.is_none() {
        cx.error(
            node.place,
            path,
            format!("{path} must be a table, found {}", node.content),
        )
        .help(format!("write it as [{path}] with its keys below"));
    }
    entries
}

fn read_named<T: Table>(path: &str, entry: &Entry, cx: &mut Context<'_>) -> Option<T> {
    let path = join(path, &entry.key);
    if !is_bare_key(&entry.key) {
        cx.error(
            entry.place,
            &path,
            format!("{} cannot be a name", quoted(&entry.key)),
        )
        .help("names have letters, digits, - and _ only");
        return None;
    }
    cx.record(&path, entry.place);
    let entries = table_entries(&entry.node, &path, cx)?;
    read_table(path, entry.place, entries, cx)
}
