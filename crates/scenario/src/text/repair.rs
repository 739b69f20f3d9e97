//! A scenario without its faulty tables, so that the rest can be checked in the same pass. One
//! wrong unit must not hide a host that does not exist.
//!
//! Leaves out: a faulty network, because names of hosts could not be checked.

use crate::text::node::{Content, Entry, Node, Place};

/// The tree without the tables that have errors at `keys`; `None` where too little would remain.
pub(crate) fn without(tree: &Node, keys: &[String]) -> Option<Node> {
    let mut tree = tree.clone();
    let entries = tree.entries_mut()?;
    for key in keys {
        let mut path = key.split('.');
        match (path.next().unwrap_or_default(), path.next()) {
            ("network", _) | ("flows", None) => return None,
            ("run", _) => put_duration(entries),
            (table @ ("flows" | "switches"), Some(name)) => {
                remove_within(entries, table, &[name]);
                // These name flows, which may be the ones cut out.
                remove_within(entries, "measure", &["window", "throughput", "qcn"]);
            }
            (table, _) => entries.retain(|entry| entry.key != table),
        }
    }
    Some(tree)
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
    let entry = |key: &str, content| Entry {
        key: key.to_owned(),
        place: Place::File(0),
        node: Node {
            place: Place::File(0),
            content,
        },
        inherited: false,
    };
    let duration = entry("duration", Content::Text("100000 s".to_owned()));
    entries.push(entry("run", Content::Table(vec![duration])));
}
