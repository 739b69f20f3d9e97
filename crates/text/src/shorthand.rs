//! `congestion = "delay.py:Delay"` is short for `congestion = "custom"` with that `controller`, in the
//! scenario's `[transport]` and in that of each group.

use crate::node::{Content, Entry, Node};

/// Expands the short form in a tree, before groups inherit from it.
pub fn expand(root: &mut Node) {
    for entry in root.entries_mut().into_iter().flatten() {
        match entry.key.as_str() {
            "transport" => expand_transport(&mut entry.node),
            "flows" => {
                for group in entry.node.entries_mut().into_iter().flatten() {
                    let own = group.node.entries_mut().into_iter().flatten();
                    own.filter(|entry| entry.key == "transport")
                        .for_each(|entry| expand_transport(&mut entry.node));
                }
            }
            _ => {}
        }
    }
}

fn expand_transport(transport: &mut Node) {
    let Some(entries) = transport.entries_mut() else {
        return;
    };
    let congestion = entries.iter_mut().find(|entry| entry.key == "congestion");
    let Some(Entry { place, node, .. }) = congestion else {
        return;
    };
    if !matches!(&node.content, Content::Text(text) if is_in_file(text)) {
        return;
    }
    let word = Node {
        place: node.place,
        content: Content::Text("custom".to_owned()),
    };
    let controller = Entry {
        key: "controller".to_owned(),
        place: *place,
        node: std::mem::replace(node, word),
        inherited: false,
    };
    // It overrides `controller`, as the last override does.
    entries.retain(|entry| entry.key != "controller");
    entries.push(controller);
}

/// Whether a string names a file of Python, with or without a class in it.
fn is_in_file(text: &str) -> bool {
    text.contains(".py:") || text.strip_suffix(".py").is_some()
}
