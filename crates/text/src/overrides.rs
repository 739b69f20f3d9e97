//! Overrides (`--set a.b.c=value`) and inheritance, both on the tree before it is read.
//!
//! A value is TOML; anything else is a string, so that `10 ms` and `dctcp` need no quotes.

use toml::de::DeTable;

use crate::context::Context;
use crate::node::{Content, Entry, Node, Place, entries_from_toml, quoted};
use crate::suggest::near;

/// Applies the overrides to the tree, in their order.
pub fn apply(root: &mut Node, overrides: &[(String, String)], cx: &mut Context<'_>) {
    for (index, (key, value)) in overrides.iter().enumerate() {
        let place = Place::Override(index);
        let path: Vec<&str> = key.split('.').map(str::trim).collect();
        if path.iter().any(|part| part.is_empty()) {
            cx.error(place, key, format!("{key:?} is not a key"))
                .help("keys are names with dots between them: --set flows.storage.count=40");
            continue;
        }
        if let ["flows", group, _, ..] = path.as_slice()
            && let Some(groups) = other_groups(root, group, overrides)
        {
            let near = near(
                group,
                &groups.iter().map(String::as_str).collect::<Vec<_>>(),
            );
            cx.error(place, key, format!("no group of flows {}", quoted(group)))
                .help(format!("{near}the groups are {}", groups.join(", ")));
            continue;
        }
        let value = parse_value(value, place);
        if let Err(table) = set(root, &path, place, value) {
            cx.error(
                place,
                key,
                format!("{table} is not a table, so that it has no keys"),
            );
        }
    }
}

/// The groups of flows there are, where an override sets a key of another one that no override makes.
fn other_groups(root: &Node, group: &str, overrides: &[(String, String)]) -> Option<Vec<String>> {
    let flows = root.entries()?.iter().find(|entry| entry.key == "flows")?;
    let groups: Vec<String> = flows
        .node
        .entries()?
        .iter()
        .map(|entry| entry.key.clone())
        .collect();
    let workload = format!("flows.{group}.workload");
    let is_made = || {
        overrides
            .iter()
            .any(|(key, _)| key.replace(' ', "") == workload)
    };
    let is_new = !groups.is_empty() && !groups.iter().any(|name| name == group);
    (is_new && !is_made()).then_some(groups)
}

/// The beginning of a remedy that writes a value as a list.
pub const ONE_LIST: &str = "one list is written";

/// The remedy for a value that was meant for a sweep, or has quotes of a word processor; else `known`, which it joins if
/// that writes a list.
pub fn hint(value: &str, known: Option<String>) -> Option<String> {
    let Some(hint) = hint_of(value) else {
        return known;
    };
    Some(match known {
        Some(list) if list.starts_with(ONE_LIST) && !hint.contains(ONE_LIST) => {
            format!("{hint}; {list}")
        }
        _ => hint,
    })
}

fn hint_of(value: &str) -> Option<String> {
    if value.contains(['\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}']) {
        return Some("quotes are straight: \" or '".to_owned());
    }
    if let Some(range) = range(value).or_else(|| range_with_unit(value)) {
        return Some(format!(
            "`incastle sweep` takes several values, each in turn, as {range}"
        ));
    }
    let is_several = value.contains(',') && !value.contains(['"', '\'', '{', '(']);
    is_several.then(|| several(value))
}

/// The remedy for values with commas between them; for a list there is no other form of a list.
fn several(value: &str) -> String {
    let items = value.trim().trim_matches(['[', ']']).split(',');
    let items: Vec<&str> = items.map(str::trim).collect();
    let sweep = format!(
        "`incastle sweep` takes several values, each in turn, as {}",
        items.join(",")
    );
    let read = parse_value(value, Place::Override(0));
    if matches!(read.content, Content::List(_)) {
        return sweep;
    }
    let are_numbers = items.iter().all(|item| item.parse::<f64>().is_ok());
    let members = if are_numbers {
        items.join(", ")
    } else {
        let texts: Vec<String> = items.iter().map(|item| quoted(item)).collect();
        texts.join(", ")
    };
    format!("{sweep}; {ONE_LIST} [{members}]")
}

/// As sweeps have it: several numbers as shells and other programs write them, `1-10`, `2:10:2`, `2..10/2`, `0.1 0.2`.
fn range(value: &str) -> Option<String> {
    let value = value.trim().replace("..", ":");
    let parts = value.split(['-', ':', ' ', '/']);
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    if parts.len() < 2 || parts.iter().any(|part| part.parse::<f64>().is_err()) {
        return None;
    }
    let whole: Option<Vec<u64>> = parts.iter().map(|part| part.parse().ok()).collect();
    match whole.unwrap_or_default().as_slice() {
        [first, last] if !value.contains([' ', '/']) => Some(format!("{first}..{last}")),
        &[first, last, step] if step > 0 && first < last && !value.contains(' ') => {
            let all = (first..=last).step_by(usize::try_from(step).ok()?);
            let texts = all.take(MOST_LISTED).map(|one| one.to_string());
            Some(texts.collect::<Vec<String>>().join(","))
        }
        _ => Some(parts.join(",")),
    }
}

/// Values of a range with a step that a message lists.
const MOST_LISTED: usize = 20;

/// `1..10 ms` for `1ms..10ms`
fn range_with_unit(value: &str) -> Option<String> {
    let split = |end: &str| {
        let end = end.trim().to_owned();
        let at = end.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = end.split_at(at);
        (at > 0).then(|| (number.to_owned(), unit.trim().to_owned()))
    };
    let (first, last) = value.split_once("..")?;
    let ((first, one), (last, other)) = (split(first)?, split(last)?);
    (one == other).then(|| format!("{first}..{last} {one}"))
}

/// A TOML value, or else the string itself.
fn parse_value(text: &str, place: Place) -> Node {
    let as_text = || Node {
        place,
        content: Content::Text(text.trim().to_owned()),
    };
    // A second line could smuggle in a second key.
    if text.contains(['\n', '\r']) {
        return as_text();
    }
    let document = format!("value = {text}");
    let Ok(table) = DeTable::parse(&document) else {
        return as_text();
    };
    match entries_from_toml(table.get_ref(), &|_| place).pop() {
        Some(entry) => entry.node,
        None => as_text(),
    }
}

/// Sets `value` at `path`, and makes the tables on it that are missing. An error names an element that is no table.
fn set(table: &mut Node, path: &[&str], place: Place, value: Node) -> Result<(), String> {
    let (name, rest) = path.split_first().expect("a key has a name");
    let entries = table.entries_mut().ok_or_else(String::new)?;
    let known = entries.iter().position(|entry| entry.key == *name);
    let position = known.unwrap_or_else(|| {
        entries.push(Entry {
            key: (*name).to_owned(),
            place,
            node: Node::empty_table(place),
            inherited: false,
        });
        entries.len() - 1
    });
    let entry = &mut entries[position];
    if rest.is_empty() {
        entry.place = place;
        entry.node = value;
        return Ok(());
    }
    set(&mut entry.node, rest, place, value).map_err(|below| match below.as_str() {
        "" => (*name).to_owned(),
        below => format!("{name}.{below}"),
    })
}

/// Adds the keys that a group does not have itself: to groups of flows those of `[transport]`, to groups of
/// switches those of `[switch]`, to groups of ports those of their switch's `queue`.
pub fn inherit(root: &mut Node) {
    let Some(entries) = root.entries_mut() else {
        return;
    };
    let find = |name: &str| {
        let entry = entries.iter().find(|entry| entry.key == name)?;
        Some((entry.place, entry.node.entries()?.to_vec()))
    };
    let (transport, switch) = (find("transport"), find("switch"));
    for entry in entries {
        let groups = entry.node.entries_mut().into_iter().flatten();
        match entry.key.as_str() {
            "flows" => {
                for group in groups {
                    let place = group.place;
                    if let (Some(keys), Some((_, base))) = (group.node.entries_mut(), &transport) {
                        let own = keys.iter().find(|entry| entry.key == "transport");
                        let own = own.and_then(|entry| entry.node.entries());
                        let base = meant_for(own.unwrap_or_default(), base);
                        merge(
                            keys,
                            &[Entry {
                                key: "transport".to_owned(),
                                place,
                                node: Node {
                                    place,
                                    content: Content::Table(base),
                                },
                                inherited: true,
                            }],
                        );
                    }
                }
            }
            "switches" => {
                for group in groups {
                    if let (Some(keys), Some((_, base))) = (group.node.entries_mut(), &switch) {
                        merge(keys, base);
                    }
                    inherit_queue(&mut group.node);
                }
            }
            "switch" => inherit_queue(&mut entry.node),
            _ => {}
        }
    }
}

/// The keys of `[transport]` for a group with these keys: `congestion` and `preset` have other words for another `kind`,
/// and `preset` of queue pairs for another `congestion`.
fn meant_for(own: &[Entry], base: &[Entry]) -> Vec<Entry> {
    let word = |entries: &[Entry], key: &str| {
        let entry = entries.iter().find(|entry| entry.key == key)?;
        match &entry.node.content {
            Content::Text(text) => Some(text.clone()),
            _ => None,
        }
    };
    let kind = word(base, "kind");
    let own_kind = word(own, "kind").or_else(|| kind.clone());
    let of_pairs = kind.as_deref() == Some("rdma");
    let left_out: &[&str] =
        if own_kind.as_deref().unwrap_or("tcp") != kind.as_deref().unwrap_or("tcp") {
            &["congestion", "preset"]
        } else if of_pairs && word(own, "congestion").is_some() {
            &["preset"]
        } else {
            &[]
        };
    let kept = base
        .iter()
        .filter(|entry| !left_out.contains(&entry.key.as_str()));
    kept.cloned().collect()
}

/// Adds the keys of the switch's `queue` to each of its groups of ports.
fn inherit_queue(switch: &mut Node) {
    let entries = switch.entries_mut().into_iter().flatten();
    let (mut queue, mut ports) = (None, None);
    for entry in entries {
        match entry.key.as_str() {
            "queue" => queue = Some(entry.clone()),
            "ports" => ports = entry.node.entries_mut(),
            _ => {}
        }
    }
    let Some(queue) = queue else { return };
    for group in ports.into_iter().flatten() {
        if let Some(keys) = group.node.entries_mut() {
            merge(keys, std::slice::from_ref(&queue));
        }
    }
}

/// Alternative keys of one table: a table with one of them does not inherit the other.
const ALTERNATIVES: [[&str; 2]; 6] = [
    ["variant", "modifications"],
    ["modifications", "variant"],
    ["readings", "k1"],
    ["readings", "k2"],
    ["k1", "readings"],
    ["k2", "readings"],
];

/// Adds the entries of `base` that `own` lacks, table by table.
fn merge(own: &mut Vec<Entry>, base: &[Entry]) {
    let given = |name: &str| own.iter().any(|entry| entry.key == name);
    let replaced: Vec<&str> = ALTERNATIVES
        .iter()
        .filter_map(|[key, other]| given(key).then_some(*other))
        .collect();
    for entry in base
        .iter()
        .filter(|base| !replaced.contains(&base.key.as_str()))
    {
        let Some(mine) = own.iter_mut().find(|mine| mine.key == entry.key) else {
            let mut entry = entry.clone();
            mark_inherited(&mut entry);
            own.push(entry);
            continue;
        };
        if let (Some(mine), Some(base)) = (mine.node.entries_mut(), entry.node.entries()) {
            merge(mine, base);
        }
    }
}

fn mark_inherited(entry: &mut Entry) {
    entry.inherited = true;
    for inner in entry.node.entries_mut().into_iter().flatten() {
        mark_inherited(inner);
    }
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn several_numbers_are_written_as_sweeps_have_them() {
        for (typed, meant) in [
            ("1-10", Some("1..10")),
            ("2:10:4", Some("2,6,10")),
            ("2..10/4", Some("2,6,10")),
            ("1 2 4", Some("1,2,4")),
            ("0.1..0.5", Some("0.1,0.5")),
            ("0.1 0.25", Some("0.1,0.25")),
            ("-3", None),
            ("2.5", None),
            ("1e-3", None),
            ("10 ms", None),
        ] {
            assert_eq!(range(typed).as_deref(), meant, "{typed}");
        }
    }
}
