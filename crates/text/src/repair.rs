//! A scenario without its faulty tables, so that the rest can be checked in the same pass. One
//! wrong unit must not hide a host that does not exist.
//!
//! Leaves out: a faulty network, because names of hosts could not be checked.

use crate::node::{Content, Entry, Node, Place};

/// The tree without the tables that have errors at `keys`, of groups of flows with their hosts; `None` where too little would remain.
pub fn without(tree: &Node, keys: &[String]) -> Option<Node> {
    let mut tree = tree.clone();
    let entries = tree.entries_mut()?;
    for key in keys {
        let mut path = key.split('.');
        match (path.next().unwrap_or_default(), path.next()) {
            ("network", _) | ("flows", None) => return None,
            ("run", _) => put_duration(entries),
            (table @ ("flows" | "switches"), Some(name)) => {
                let hosts = hosts_alone(entries, name, keys).filter(|_| table == "flows");
                remove_within(entries, table, &[name]);
                add_within(entries, table, hosts.as_ref());
                // These name flows, which may be the ones cut out.
                remove_within(entries, "measure", &["window", "throughput", "qcn"]);
            }
            (table, _) => entries.retain(|entry| entry.key != table),
        }
    }
    Some(tree)
}

/// A group of flows with its hosts alone, so that these are checked; `None` where they are the error.
fn hosts_alone(entries: &[Entry], name: &str, keys: &[String]) -> Option<Entry> {
    let flows = entries.iter().find(|entry| entry.key == "flows")?;
    let mut group = flows
        .node
        .entries()?
        .iter()
        .find(|entry| entry.key == name)?
        .clone();
    let is_wrong = |key: &str| keys.contains(&format!("flows.{name}.{key}"));
    let members = group.node.entries_mut()?;
    members.retain(|entry| matches!(entry.key.as_str(), "from" | "to"));
    if members.len() < 2 || is_wrong("from") || is_wrong("to") {
        return None;
    }
    let place = group.place;
    members.push(text("workload", "bulk", place));
    // Datagrams have an end.
    members.push(text("size", "1 B", place));
    Some(group)
}

fn add_within(entries: &mut [Entry], table: &str, added: Option<&Entry>) {
    for entry in entries.iter_mut().filter(|entry| entry.key == table) {
        entry
            .node
            .entries_mut()
            .into_iter()
            .for_each(|inner| inner.extend(added.cloned()));
    }
}

fn remove_within(entries: &mut [Entry], table: &str, names: &[&str]) {
    for entry in entries.iter_mut().filter(|entry| entry.key == table) {
        if let Some(inner) = entry.node.entries_mut() {
            inner.retain(|entry| !names.contains(&entry.key.as_str()));
        }
    }
}

/// A run of the maximum length: nothing in it comes too late.
fn put_duration(entries: &mut Vec<Entry>) {
    entries.retain(|entry| entry.key != "run");
    let place = Place::File(0);
    entries.push(Entry {
        key: "run".to_owned(),
        place,
        node: Node {
            place,
            content: Content::Table(vec![text("duration", "100000 s", place)]),
        },
        inherited: false,
    });
}

/// A key with a string.
fn text(key: &str, value: &str, place: Place) -> Entry {
    Entry {
        key: key.to_owned(),
        place,
        node: Node {
            place,
            content: Content::Text(value.to_owned()),
        },
        inherited: false,
    }
}
