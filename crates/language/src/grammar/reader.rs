//! Reads one table of a scenario: takes the declared keys, and reports missing and unknown ones and those
//! without effect.

use crate::grammar::describe::Description;
use crate::grammar::range::{Range, read_within};
use crate::grammar::value::{Value, Vocabulary, is_misspelt, read_word};
use crate::grammar::writer::Writer;
use crate::text::context::Context;
use crate::text::node::{Content, Entry, Node, Place, is_bare_key, quoted};
use crate::text::suggest::{choices, nearly};
use crate::text::synonyms::{self, NOT_MODELLED};

/// A table of the language, or the part of one that a `flat` member declares.
pub trait Table: Sized {
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
pub struct Reader<'a> {
    path: String,
    place: Place,
    entries: &'a [Entry],
    taken: Vec<&'a str>,
    /// Required keys that are not given.
    missing: Vec<Missing>,
    /// A word of a choice was wrong: the valid keys of this table are then unknown.
    undecided: bool,
}

/// A required key that is not given.
struct Missing {
    name: &'static str,
    /// The remedy.
    help: String,
}

/// Reads a whole table and reports the remaining keys.
pub fn read_table<T: Table>(
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
        missing: Vec::new(),
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
        let key = join(&self.path, name);
        read_form(&entry.node, cx, |cx| T::read(&entry.node, &key, cx))
    }

    /// The value of a key, if it is given, valid and within its range.
    pub(crate) fn ranged<T: Value + PartialOrd>(
        &mut self,
        cx: &mut Context<'_>,
        name: &'static str,
        range: &Range<T>,
    ) -> Option<T> {
        let entry = self.take(cx, name)?;
        let key = join(&self.path, name);
        read_form(&entry.node, cx, |cx| {
            read_within(&entry.node, &key, range, cx)
        })
    }

    /// Notes a required key that is not given; it is reported unless another key was meant to be it.
    pub(crate) fn require(&mut self, name: &'static str) {
        if !self.entries.iter().any(|entry| entry.key == name) {
            let help = format!("add `{name} = ...`");
            self.missing.push(Missing { name, help });
        }
    }

    /// `others` are the choices of keys that have no effect, after a semicolon each.
    fn report_missing(&self, missing: &Missing, others: &str, cx: &mut Context<'_>) {
        let table = if self.path.is_empty() {
            "the scenario".to_owned()
        } else {
            format!("[{}]", self.path)
        };
        let Missing { name, help } = missing;
        let message = format!("{table} has no {name}");
        cx.error(self.place, &join(&self.path, name), message)
            .help(format!("{help}{others}"));
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
        let Some(entries) = entry.node.entries() else {
            cx.error(
                entry.node.place,
                &path,
                format!(
                    "{path} must be a table or \"off\", found {}",
                    entry.node.content
                ),
            )
            .help(format!("write it as [{path}] with its keys below"));
            return None;
        };
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
        let entries = named_entries(entry, &path, cx)?;
        let mut tables = Some(Vec::new());
        for inner in entries {
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
            Some(entry) => {
                let key = join(&self.path, name);
                read_form(&entry.node, cx, |cx| {
                    read_word(&entry.node, &key, known, cx)
                })
            }
            None if default.is_some() => default,
            None => {
                let help = format!("{name} is one of {}", choices(known.words));
                self.missing.push(Missing { name, help });
                None
            }
        };
        self.undecided |= word.is_none();
        word
    }

    /// Reports keys that were not taken, and those that are missing.
    fn finish(self, description: fn() -> Description, cx: &mut Context<'_>) {
        let is_left =
            |entry: &&Entry| !entry.inherited && !self.taken.contains(&entry.key.as_str());
        let left: Vec<&Entry> = self.entries.iter().filter(is_left).collect();
        let mut missing: Vec<&Missing> = self.missing.iter().collect();
        let mut others = String::new();
        if !left.is_empty() {
            // A description takes many times as long as reading its table.
            let known = Known::new(&description(), &self.taken);
            let (idle, unknown): (Vec<&Entry>, Vec<&Entry>) = left
                .into_iter()
                .partition(|entry| known.everything.contains(&entry.key.as_str()));
            let mut undecided = self.undecided;
            let given = self.entries.iter().filter(|entry| !entry.inherited);
            if unknown.len() == given.count() && unknown.iter().all(|one| known.fits(one)) {
                // The keys of this table are one table too deep.
                missing.clear();
            }
            for entry in unknown {
                let meant = self.report_unknown(entry, &known, cx);
                missing.retain(|one| meant != Some(one.name));
                // The word of a choice under another key: its default is not what was meant.
                undecided |= meant.is_some_and(|meant| known.is_choice(meant));
            }
            if !undecided {
                others = self.report_without_effect(&idle, &mut missing, &known, cx);
            }
        }
        for missing in missing {
            self.report_missing(missing, &others, cx);
        }
    }

    /// Reports keys of other choices. Those that were meant to be missing ones are removed from `missing`; where any of these
    /// remain, returns the choices of the other keys for the messages about them.
    fn report_without_effect(
        &self,
        idle: &[&Entry],
        missing: &mut Vec<&Missing>,
        known: &Known,
        cx: &mut Context<'_>,
    ) -> String {
        let mut others = Vec::new();
        for entry in idle {
            let names: Vec<&'static str> = missing.iter().map(|one| one.name).collect();
            let owners = known.owners(&entry.key);
            let misspelt = || names.iter().find(|name| nearly(&entry.key, name)).copied();
            match synonyms::valid_key(&entry.key, &names).or_else(misspelt) {
                Some(meant) => {
                    missing.retain(|one| one.name != meant);
                    let message = format!("{} has no effect here", entry.key);
                    cx.error(entry.place, &self.key(&entry.key), message)
                        .help(format!("did you mean {meant}? it belongs to {owners}"));
                }
                None => others.push((*entry, owners)),
            }
        }
        if missing.is_empty() {
            for (entry, owners) in others {
                let message = format!("{} has no effect here", entry.key);
                cx.warn(entry.place, &self.key(&entry.key), message)
                    .help(format!("it belongs to {owners}"));
            }
            return String::new();
        }
        let mut by_owners: Vec<(String, Vec<&str>)> = Vec::new();
        for (entry, owners) in others {
            match by_owners.iter_mut().find(|(known, _)| *known == owners) {
                Some((_, keys)) => keys.push(&entry.key),
                None => by_owners.push((owners, vec![&entry.key])),
            }
        }
        let others = by_owners
            .into_iter()
            .map(|(owners, keys)| match keys.as_slice() {
                [key] => format!("; {key} belongs to {owners}"),
                keys => format!("; {} belong to {owners}", keys.join(", ")),
            });
        others.collect::<Vec<String>>().concat()
    }

    /// Whether this is the whole scenario, and `name` one of its groups of flows.
    fn is_group(&self, name: &str) -> bool {
        let flows = self.entries.iter().filter(|entry| entry.key == "flows");
        let mut groups = flows.flat_map(|flows| flows.node.entries().into_iter().flatten());
        self.path.is_empty() && groups.any(|group| group.key == name)
    }

    /// Reports a key that no choice of the table has; returns the key that it was meant to be.
    fn report_unknown(
        &self,
        entry: &Entry,
        known: &Known,
        cx: &mut Context<'_>,
    ) -> Option<&'static str> {
        let found = &entry.key;
        let place = if self.path.is_empty() {
            "at the top of a scenario".to_owned()
        } else {
            format!("in [{}]", self.path)
        };
        let mut message = format!("unknown key {} {place}", quoted(found));
        let mut help = format!("valid here: {}", known.usable.join(", "));
        let absent = synonyms::absent(found);
        let tables = (cx.tables_with)(found);
        let near = known.other_word(found).or_else(|| {
            let fits_elsewhere = absent.is_some() || !tables.is_empty();
            (!fits_elsewhere).then(|| known.nearest(found)).flatten()
        });
        // A key that is there already is not the one that was meant, where another table has that name.
        let is_given = |key: &&str| self.entries.iter().any(|entry| entry.key == **key);
        let near = near.filter(|near| tables.is_empty() || !is_given(near));
        if let Some(near) = near {
            let whose = if known.is_usable(near) {
                String::new()
            } else {
                format!(", of {}", known.owners(near))
            };
            help = format!("did you mean {near}{whose}? {help}");
        } else if let Some(absent) = absent {
            message = format!("{message}: {absent} is not modelled");
            help = format!("{help}; {NOT_MODELLED}");
        } else if !tables.is_empty() {
            help = format!("it is a key of {}; {help}", tables.join(" and "));
        } else if known.fits(entry) {
            help = format!("its keys belong in [{}]; {help}", self.path);
        } else if self.is_group(found) {
            help = format!("did you mean flows.{found}? {help}");
        } else if let Some((meant, table)) = elsewhere(found, cx) {
            help = format!("did you mean {meant} of {table}? {help}");
        }
        cx.error(entry.place, &self.key(found), message).help(help);
        near
    }
}

/// The key of another table for which `found` is another word, and this table.
fn elsewhere(found: &str, cx: &Context<'_>) -> Option<(&'static str, String)> {
    synonyms::keys_for(found).find_map(|key| {
        let first = (cx.tables_with)(key).into_iter().next();
        first.map(|table| (key, table))
    })
}

/// The keys that a table may have.
struct Known {
    /// Under the choices made.
    usable: Vec<&'static str>,
    /// Under any.
    everything: Vec<&'static str>,
    /// Each with the choice that it belongs to.
    conditions: Vec<(&'static str, Option<String>)>,
}

impl Known {
    fn new(description: &Description, taken: &[&str]) -> Self {
        let conditions = description.all_keys();
        let mut usable: Vec<&'static str> = Vec::new();
        for (name, condition) in &conditions {
            let applies = condition.is_none() || taken.contains(name);
            if applies && !usable.contains(name) {
                usable.push(name);
            }
        }
        Self {
            usable,
            everything: conditions.iter().map(|(name, _)| *name).collect(),
            conditions,
        }
    }

    /// Whether an unknown table has keys that belong in the table around it.
    fn fits(&self, entry: &Entry) -> bool {
        let mut inner = entry.node.entries().into_iter().flatten();
        inner.any(|one| self.everything.contains(&one.key.as_str()))
    }

    /// The key for which `found` is another word, if possible one that is valid now.
    fn other_word(&self, found: &str) -> Option<&'static str> {
        synonyms::valid_key(found, &self.usable)
            .or_else(|| synonyms::valid_key(found, &self.everything))
    }

    /// The key of which `found` is probably a misspelling, if possible one that is valid now.
    fn nearest(&self, found: &str) -> Option<&'static str> {
        synonyms::nearest_key(found, &self.usable)
            .or_else(|| synonyms::nearest_key(found, &self.everything))
    }

    /// Whether a key, or the table before its point, is valid now.
    fn is_usable(&self, key: &str) -> bool {
        let table = key.split('.').next().unwrap_or(key);
        self.usable.contains(&table)
    }

    /// Whether the word of this key decides on further keys.
    fn is_choice(&self, key: &str) -> bool {
        let mut owners = self
            .conditions
            .iter()
            .filter_map(|(_, owner)| owner.as_deref());
        owners.any(|owner| owner.split(" = ").next() == Some(key))
    }

    /// The choices that a key belongs to.
    fn owners(&self, key: &str) -> String {
        let of_key = self.conditions.iter().filter(|(name, _)| *name == key);
        let mut owners: Vec<&str> = Vec::new();
        for owner in of_key.filter_map(|(_, owner)| owner.as_deref()) {
            // TCP's controls are UDT's too.
            if !owners.contains(&owner) {
                owners.push(owner);
            }
        }
        owners.join(" or ")
    }
}

/// Reads a value. The errors of one that is no list are about its form; those of a list may be about one of its members.
fn read_form<T>(
    node: &Node,
    cx: &mut Context<'_>,
    read: impl FnOnce(&mut Context<'_>) -> Option<T>,
) -> Option<T> {
    let known = cx.count();
    let value = read(cx);
    if value.is_none() && !matches!(node.content, Content::List(_)) {
        cx.are_forms(known);
    }
    value
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

/// The named tables of a table that has nothing else, or an error.
fn named_entries<'a>(entry: &'a Entry, path: &str, cx: &mut Context<'_>) -> Option<&'a [Entry]> {
    if let Content::List(_) = &entry.node.content {
        cx.error(
            entry.place,
            path,
            format!("{path} must be a table, found a list"),
        )
        .help(format!("name each of its tables: [{path}.NAME]"));
        return None;
    }
    let entries = table_entries(&entry.node, path, cx)?;
    let keys = entries
        .iter()
        .filter(|entry| entry.node.entries().is_none());
    let names: Vec<&str> = keys.clone().map(|entry| entry.key.as_str()).collect();
    let Some(first) = keys.clone().next() else {
        return Some(entries);
    };
    let message = format!("directly in [{path}]: {}", names.join(", "));
    cx.error(first.place, path, message)
        .help(format!("keys belong in a table with a name: [{path}.NAME]"));
    None
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
