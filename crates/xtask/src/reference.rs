//! The key tables of docs/scenario-reference.md, from the declarations of the language.

use std::fmt::Write as _;

use incastle_scenario::language::grammar::{Choice, Description, Key, Member, Presence};
use incastle_scenario::{description, synonyms};

/// All tables of the language in Markdown.
pub(crate) fn reference() -> String {
    let mut out = String::new();
    let root = description();
    section("Top level", "", &root, &mut out);
    for member in &root.members {
        nested("", member, &mut out);
    }
    other_words(&mut out);
    out
}

/// The words that messages answer with valid ones, and what is not modelled.
fn other_words(out: &mut String) {
    line(out, "## Other words\n");
    line(
        out,
        "Words of papers, of other simulators and of earlier versions. They are not accepted: the message has the \
         valid word. Case, `-` and `_` make no difference.\n",
    );
    let all = |words| {
        let quoted: Vec<String> = synonyms::listed(words)
            .map(|word| format!("`{word}`"))
            .collect();
        quoted.join(", ")
    };
    line(out, "| other words | key here |\n|---|---|");
    for (keys, words) in synonyms::keys() {
        line(out, &format!("| {} | {} |", all(words), all(keys)));
    }
    line(out, "\n| key | other words | value here |\n|---|---|---|");
    for of_key in synonyms::Values::all() {
        for (value, words) in of_key.lines() {
            let (key, words) = (of_key.key, all(words));
            line(out, &format!("| `{key}` | {words} | `{value}` |"));
        }
    }
    line(
        out,
        "\nNot modelled: these words get a message that says so.\n",
    );
    line(out, "| not modelled | words |\n|---|---|");
    for (name, words) in synonyms::not_modelled() {
        line(out, &format!("| {name} | {} |", all(words)));
    }
    out.push('\n');
}

/// A table and the tables within it.
fn nested(path: &str, member: &Member, out: &mut String) {
    let (full, about, table) = match member {
        Member::Section {
            name, about, table, ..
        } => (join(path, name), about, table),
        Member::Each { name, about, table } => (format!("{}.NAME", join(path, name)), about, table),
        Member::Value(_) | Member::Choice(_) => return,
    };
    // These have the keys of [transport], [switch.queue] and [switch.qcn], listed there.
    let elsewhere = [
        "flows.NAME.transport",
        "switch.ports.NAME.queue",
        "switches.NAME.queue",
        "switches.NAME.ports.NAME",
        "switches.NAME.pfc",
        "switches.NAME.qcn",
    ];
    if elsewhere.contains(&full.as_str()) {
        return;
    }
    section(&format!("`[{full}]`"), about, table, out);
    for inner in &table.members {
        nested(&full, inner, out);
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn section(title: &str, about: &str, table: &Description, out: &mut String) {
    line(out, &format!("## {title}\n"));
    if !about.is_empty() {
        line(out, &format!("{about}\n"));
    }
    keys(table, out);
    for member in &table.members {
        if let Member::Choice(choice) = member {
            alternatives(choice, out);
        }
    }
}

/// One table per alternative with keys.
fn alternatives(choice: &Choice, out: &mut String) {
    for alternative in &choice.alternatives {
        if alternative.table.members.is_empty() {
            continue;
        }
        let (key, word) = (choice.key, alternative.word);
        line(out, &format!("With `{key} = \"{word}\"`:\n"));
        keys(&alternative.table, out);
        for member in &alternative.table.members {
            match member {
                Member::Choice(inner) => alternatives(inner, out),
                Member::Section { name, table, .. } => {
                    line(
                        out,
                        &format!("With `{key} = \"{word}\"`, in the table `{name}`:\n"),
                    );
                    keys(table, out);
                }
                Member::Each { name, table, .. } => {
                    line(
                        out,
                        &format!("With `{key} = \"{word}\"`, in the tables `{name}.NAME`:\n"),
                    );
                    keys(table, out);
                    for member in &table.members {
                        if let Member::Choice(inner) = member {
                            alternatives(inner, out);
                        }
                    }
                }
                Member::Value(_) => {}
            }
        }
    }
}

/// The keys of a table, with the sources of their defaults where any has one.
fn keys(table: &Description, out: &mut String) {
    let has_source = |member: &Member| matches!(member, Member::Value(key) if key.source.is_some());
    let sourced = table.members.iter().any(has_source);
    let (title, rule, none) = if sourced {
        (" source |", "---|", " |")
    } else {
        ("", "", "")
    };
    line(out, &format!("| key | value | default | meaning |{title}"));
    line(out, &format!("|---|---|---|---|{rule}"));
    for member in &table.members {
        match member {
            Member::Value(key) => line(out, &row(key, sourced)),
            Member::Choice(choice) => line(out, &(choice_row(choice) + none)),
            Member::Section {
                name,
                about,
                optional,
                ..
            } => {
                let (value, default) = if *optional {
                    ("a table, or \"off\"", "`\"off\"`")
                } else {
                    ("a table", "")
                };
                let about = cell(about);
                line(
                    out,
                    &format!("| `{name}` | {value} | {default} | {about} |{none}"),
                );
            }
            Member::Each { name, about, .. } => {
                line(
                    out,
                    &format!("| `{name}.NAME` | a table | | {} |{none}", cell(about)),
                );
            }
        }
    }
    line(out, "");
}

fn row(key: &Key, sourced: bool) -> String {
    let mut value = key.shape.words.clone();
    if let Some((range, _)) = &key.range {
        write!(value, ", {range}").expect("writing to a string cannot fail");
    }
    let default = match &key.presence {
        Presence::Required => "required".to_owned(),
        Presence::Optional => "absent".to_owned(),
        Presence::Default(text) => format!("`{text}`"),
        Presence::Depends(words) => (*words).to_owned(),
    };
    let source = match (sourced, key.source) {
        (false, _) => String::new(),
        (true, source) => format!(" {} |", cell(source.unwrap_or_default())),
    };
    format!(
        "| `{}` | {} | {} | {} |{source}",
        key.name,
        cell(&value),
        cell(&default),
        cell(&key.about)
    )
}

fn choice_row(choice: &Choice) -> String {
    let words: Vec<String> = choice
        .alternatives
        .iter()
        .map(|one| format!("`\"{}\"`: {}", one.word, one.about))
        .collect();
    let default = choice
        .default
        .map_or_else(|| "required".to_owned(), |word| format!("`\"{word}\"`"));
    format!(
        "| `{}` | {} | {default} | {} |",
        choice.key,
        cell(&words.join("<br>")), // a list: a cell has no lines
        cell(&choice.about)
    )
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}
