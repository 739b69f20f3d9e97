//! Sets of hosts, switches and flows, as a scenario names them.
//!
//! `"sender:3"` is one, `"sender:0..4"` are five (both ends included), `"senders"` all of a role,
//! `"receiver"` the only one of its role, `"all"` all there are; a list joins several.

use std::fmt;

use serde_json::json;

use crate::grammar::describe::Shape;
use crate::grammar::value::{Value, name_of, wrong};
use crate::text::context::Context;
use crate::text::node::{Content, Node, quoted};
use crate::text::suggest::near;

/// The name of a host, a switch or a flow: a role, and a number where the role has several.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The role, or the whole name.
    pub role: String,
    /// The number within the role, from 0.
    pub index: Option<u32>,
}

/// A set as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection(Vec<Term>);

/// One string of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    role: String,
    indices: Option<(u32, u32)>,
}

/// The maximum number of names that one string may represent.
const MOST: u32 = 1_000_000;

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.role)?;
        match self.index {
            Some(index) => write!(f, ":{index}"),
            None => Ok(()),
        }
    }
}

impl Name {
    /// The one host, switch or flow that a string names.
    pub fn parse(text: &str) -> Option<Self> {
        let Term { role, indices } = Term::parse(text)?;
        let index = match indices {
            None => None,
            Some((first, last)) if first == last => Some(first),
            Some(_) => return None,
        };
        Some(Self { role, index })
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.role)?;
        match self.indices {
            None => Ok(()),
            Some((first, last)) if first == last => write!(f, ":{first}"),
            Some((first, last)) => write!(f, ":{first}..{last}"),
        }
    }
}

impl Term {
    fn parse(text: &str) -> Option<Self> {
        let (role, indices) = match text.split_once(':') {
            None => (text, None),
            Some((role, numbers)) => {
                let (first, last) = numbers.split_once("..").unwrap_or((numbers, numbers));
                (role, Some((first.parse().ok()?, last.parse().ok()?)))
            }
        };
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let named = !role.is_empty() && role.chars().all(plain);
        let ordered =
            indices.is_none_or(|(first, last): (u32, u32)| last.saturating_sub(first) < MOST);
        (named && ordered).then(|| Self {
            role: role.to_owned(),
            indices,
        })
    }

    fn matches(&self, name: &Name) -> bool {
        match self.indices {
            Some((first, last)) => {
                let index = name.index.unwrap_or(0);
                self.role == name.role && (first..=last).contains(&index)
            }
            None => {
                self.role == name.role
                    || self.role == "all"
                    || self.role.strip_suffix('s') == Some(&name.role)
                    || self.role == plural(&name.role)
            }
        }
    }
}

/// A name with a number as other languages write it, in our form: `sender 0`, `sender[0]`, `sender0`, `sender:0-3`.
fn numbered(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches([']', ')']);
    let end = text.find(|c: char| c.is_ascii_digit())?;
    let role = text[..end].trim_end_matches([' ', '[', '(', '-', '_', '.', ':', '#']);
    let mut numbers = text[end..]
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty());
    let (first, last) = (numbers.next()?, numbers.next());
    if role.is_empty() || numbers.next().is_some() {
        return None;
    }
    Some(match last {
        Some(last) => format!("{role}:{first}..{last}"),
        None => format!("{role}:{first}"),
    })
}

/// The help for a string that is no name: several names, all of a role, or a name as others write it.
fn meant(text: &str, key: &str) -> Option<String> {
    let names = |separator: &str| {
        let parts = text.split(separator).map(str::trim);
        let names: Option<Vec<Term>> = parts.map(Term::parse).collect();
        let is_word = |name: &Term| name.role.starts_with(char::is_alphabetic);
        names.filter(|names| names.len() > 1 && names.iter().all(is_word))
    };
    if name_of(key) == "of" && text.contains("->") {
        let mut ends = text.split("->").map(|end| end.trim_matches(['<', ' ']));
        let is_host = |end: &&str| {
            ["host", "sender", "receiver"]
                .iter()
                .any(|it| end.starts_with(it))
        };
        return Some(match ends.find(is_host) {
            Some(host) => format!("a link goes by its host: did you mean {}?", quoted(host)),
            None => {
                "links go by their host or by their group, as in of = \"leaf-spine\"".to_owned()
            }
        });
    }
    let separators = ["<->", "->", "--", ",", ";", " ", "-"];
    if let Some(several) = separators.into_iter().find_map(names) {
        let several: Vec<String> = several
            .iter()
            .map(|name| quoted(&name.to_string()))
            .collect();
        return Some(format!(
            "several names are a list: [{}]",
            several.join(", ")
        ));
    }
    if let Some(role) = text.strip_suffix(":*").or(text.strip_suffix("[*]")) {
        return Some(format!(
            "did you mean {}? all of them",
            quoted(&plural(role))
        ));
    }
    let meant = numbered(text).filter(|it| Term::parse(it).is_some())?;
    Some(format!("did you mean {}?", quoted(&meant)))
}

/// The word for all of a role.
fn plural(role: &str) -> String {
    match role.strip_suffix("leaf") {
        Some(before) => format!("{before}leaves"),
        None if role.ends_with("ch") || role.ends_with('x') => format!("{role}es"),
        None => format!("{role}s"),
    }
}

impl Selection {
    /// `"all"`.
    pub fn everything() -> Self {
        Self::named("all")
    }

    /// The set that a bare name represents.
    pub fn named(name: &str) -> Self {
        Self(vec![Term {
            role: name.to_owned(),
            indices: None,
        }])
    }

    /// The strings of the set.
    pub fn terms(&self) -> Vec<String> {
        self.0.iter().map(Term::to_string).collect()
    }

    /// The set without the strings that name one of these roles.
    #[must_use]
    pub fn without(&self, roles: &[&str]) -> Self {
        let kept = |term: &&Term| !roles.contains(&term.role.as_str());
        Self(self.0.iter().filter(kept).cloned().collect())
    }

    /// Whether a name is in the set.
    pub fn contains(&self, name: &Name) -> bool {
        self.0.iter().any(|term| term.matches(name))
    }

    /// The names that this set declares (hosts and switches of a graph).
    pub fn declared(&self) -> Vec<Name> {
        let mut names = Vec::new();
        for term in &self.0 {
            let role = || term.role.clone();
            match term.indices {
                None => names.push(Name {
                    role: role(),
                    index: None,
                }),
                Some((first, last)) => names.extend((first..=last).map(|index| Name {
                    role: role(),
                    index: Some(index),
                })),
            }
        }
        names
    }

    /// The positions of the selected names, in the order of the selection, each once. Reports
    /// what matches nothing, or could be one as well as several.
    pub fn resolve(
        &self,
        names: &[Name],
        what: &str,
        key: &str,
        cx: &mut Context<'_>,
    ) -> Option<Vec<usize>> {
        let mut chosen = Vec::new();
        let mut taken = vec![false; names.len()];
        for term in &self.0 {
            let before = chosen.len();
            let mut matched = 0;
            for (position, name) in names.iter().enumerate() {
                if term.matches(name) {
                    matched += 1;
                    if !std::mem::replace(&mut taken[position], true) {
                        chosen.push(position);
                    }
                }
            }
            let missing = term
                .indices
                .is_some_and(|(first, last)| matched < (last - first + 1) as usize);
            if matched == 0 || missing {
                cx.error_at(key, format!("no {what} {}", quoted(&term.to_string())))
                    .help(names_help(&term.role, names, what));
                return None;
            }
            if chosen.len() > before + 1 && is_ambiguous(term, names, what) {
                cx.error_at(
                    key,
                    format!("{} could be any of {matched} {what}", quoted(&term.role)),
                )
                .help(format!(
                    "say \"{}\" for all of them, or \"{}:0\" for the first",
                    plural(&term.role),
                    term.role
                ));
                return None;
            }
        }
        Some(chosen)
    }
}

/// A role without a number, where the role has several; flows are meant as a whole group.
fn is_ambiguous(term: &Term, names: &[Name], what: &str) -> bool {
    what != "flows" && term.indices.is_none() && names.iter().any(|name| name.role == term.role)
}

/// The help for a name with a role that matches none of `names`.
pub fn names_help(found: &str, names: &[Name], what: &str) -> String {
    let mut roles: Vec<(&str, u32, bool)> = Vec::new();
    for name in names {
        match roles.iter_mut().find(|(role, ..)| *role == name.role) {
            Some((_, last, _)) => *last = name.index.unwrap_or(0),
            None => roles.push((&name.role, name.index.unwrap_or(0), name.index.is_some())),
        }
    }
    let valid: Vec<String> = roles
        .iter()
        .map(|(role, last, numbered)| match (numbered, last) {
            (true, 0) => quoted(&format!("{role}:0")),
            (true, last) => quoted(&format!("{role}:0..{last}")),
            (false, _) => quoted(role),
        })
        .collect();
    let plural: Vec<String> = roles.iter().map(|(role, ..)| plural(role)).collect();
    let words: Vec<&str> = roles
        .iter()
        .map(|(role, ..)| *role)
        .chain(plural.iter().map(String::as_str))
        .collect();
    if valid.is_empty() {
        return format!("there are no {what}");
    }
    let meant = numbered(found).filter(|meant| {
        roles
            .iter()
            .any(|(role, ..)| meant.starts_with(&format!("{role}:")))
    });
    let near = match meant {
        Some(meant) => format!("did you mean {}? ", quoted(&meant)),
        None => near(found, &words),
    };
    format!("{near}the {what} are {}", valid.join(", "))
}

impl Value for Selection {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        let single = std::slice::from_ref(node);
        let items = match &node.content {
            Content::List(items) => items.as_slice(),
            _ => single,
        };
        let mut terms = Some(Vec::new());
        for item in items {
            let term = match &item.content {
                Content::Text(text) => Term::parse(text),
                _ => None,
            };
            if let Some(Term {
                role,
                indices: Some((first, last)),
            }) = &term
                && first > last
            {
                cx.error(
                    item.place,
                    key,
                    format!("the range of \"{role}:{first}..{last}\" descends"),
                )
                .help(format!("ranges ascend: \"{role}:{last}..{first}\""));
                return None;
            }
            if term.is_none() {
                let expected = "a name such as \"senders\" or \"sender:0..4\"";
                let help = match &item.content {
                    Content::Text(text) => meant(text, key),
                    _ => None,
                };
                match help {
                    Some(help) => {
                        let (name, found) = (name_of(key), &item.content);
                        let message = format!("{name} must be {expected}, found {found}");
                        cx.error(item.place, key, message).help(help);
                    }
                    None => wrong(item, key, expected, cx),
                }
            }
            match (&mut terms, term) {
                (Some(terms), Some(term)) => terms.push(term),
                _ => terms = None,
            }
        }
        if terms.as_ref().is_some_and(Vec::is_empty) {
            let message = format!(
                "{} must be at least one name, found an empty list",
                name_of(key)
            );
            cx.error(node.place, key, message);
            return None;
        }
        terms.map(Self)
    }

    fn write(&self) -> String {
        match self.0.as_slice() {
            [only] => quoted(&only.to_string()),
            terms => {
                let terms: Vec<String> =
                    terms.iter().map(|term| quoted(&term.to_string())).collect();
                format!("[{}]", terms.join(", "))
            }
        }
    }

    fn shape() -> Shape {
        let text = json!({ "type": "string" });
        Shape {
            words: "names such as \"senders\" or \"sender:0..4\", one or a list".to_owned(),
            json: json!({ "anyOf": [text, { "type": "array", "items": text, "minItems": 1 }] }),
        }
    }
}
