//! Lists of transfers: when each begins, between which hosts, and how many bytes it has.
//!
//! From a file of comma-separated values under a line that names the columns, or from the list that a
//! resolved scenario holds. So traces, and the flows of other simulators, can be replayed, also where
//! transfers wait for others (`dependence`). Leaves out: quoted fields, columns in another order.

use std::fmt::Write as _;

use incastle_units::{Bytes, Span};
use serde_json::json;

use crate::dependence::{Counts, Dependence};
use crate::grammar::describe::Shape;
use crate::grammar::value::{Value, wrong};
use crate::selection::Name;
use crate::sizes::MAX_BYTES;
use crate::text::context::Context;
use crate::text::node::{Content, Entry, Node, quoted};

/// The first line of a file.
const HEADER: &str = "start_s,source,destination,bytes";

/// The first line of a file with dependences.
const DEPENDENT: &str = "start_s,source,destination,bytes,after,acknowledged,arrived";

/// Transfers. Those that wait for no other are in the order of their starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrivals {
    list: Vec<Arrival>,
    /// The names of the event counts, by their numbers.
    counts: Vec<String>,
    /// The file that they come from, as the scenario names it.
    file: Option<String>,
}

/// One transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrival {
    /// When it begins, after the start of its group, or after what it waits for.
    pub start: Span,
    /// The host that sends.
    pub source: Name,
    /// The host that receives.
    pub destination: Name,
    /// Application bytes.
    pub bytes: Bytes,
    /// Its dependences.
    pub dependence: Option<Box<Dependence>>,
    /// The line of the file, or the place in the list, from 1.
    line: usize,
}

impl Arrivals {
    /// The transfers.
    pub fn list(&self) -> &[Arrival] {
        &self.list
    }

    /// The names of the event counts, by their numbers.
    pub fn counts(&self) -> &[String] {
        &self.counts
    }

    /// The place of one of them, for messages.
    pub fn place(&self, arrival: &Arrival) -> String {
        match &self.file {
            Some(file) => format!("{file}: line {}", arrival.line),
            None => format!("transfer {}", arrival.line),
        }
    }

    /// From text: a line of [`HEADER`] or [`DEPENDENT`], then one transfer per line.
    fn parse(text: &str, file: &str) -> Result<Self, String> {
        let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.is_empty());
        let Some((header @ (HEADER | DEPENDENT), _)) = lines.next() else {
            let commas = text.lines().next().is_some_and(|first| first.contains(','));
            let commas = if commas { "" } else { ", separated by commas" };
            return Err(format!(
                "{file}: line 1: expected the columns {HEADER}, or with dependences {DEPENDENT}{commas}"
            ));
        };
        let mut counts = Counts::default();
        let list = lines
            .map(|(line, number)| {
                Arrival::of_line(line, header, number, &mut counts)
                    .map_err(|problem| format!("{file}: line {number}: {problem}"))
            })
            .collect::<Result<_, _>>()?;
        Self {
            list,
            counts: counts.into_names(),
            file: Some(file.to_owned()),
        }
        .ascending()
    }

    /// From `list = [[START, SOURCE, DESTINATION, BYTES], ...]`, with AFTER, ACKNOWLEDGED and ARRIVED
    /// behind where they depend on each other.
    fn from_items(items: &[Node]) -> Result<Self, String> {
        let mut counts = Counts::default();
        let list = items.iter().zip(1..).map(|(item, number)| {
            row(item)
                .and_then(|fields| Arrival::new(fields, number, &mut counts))
                .map_err(|problem| format!("transfer {number}: {problem}"))
        });
        let list = list.collect::<Result<_, _>>()?;
        Self {
            list,
            counts: counts.into_names(),
            file: None,
        }
        .ascending()
    }

    fn ascending(self) -> Result<Self, String> {
        if self.list.is_empty() {
            let file = self
                .file
                .map(|file| format!("{file}: "))
                .unwrap_or_default();
            return Err(format!("{file}no transfers"));
        }
        let mut before: Option<&Arrival> = None;
        for one in self.list.iter().filter(|one| !one.waits()) {
            if let Some(before) = before.filter(|before| one.start < before.start) {
                return Err(format!(
                    "{}: starts must ascend: {} after {}",
                    self.place(one),
                    one.start,
                    before.start
                ));
            }
            before = Some(one);
        }
        Ok(self)
    }
}

impl Arrival {
    /// From a line under a header.
    fn of_line(
        line: &str,
        header: &str,
        number: usize,
        counts: &mut Counts,
    ) -> Result<Self, String> {
        if line.contains('"') {
            return Err(format!("fields have no quotes, found {line}"));
        }
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let (start, source, destination, bytes, dependence) = match *fields.as_slice() {
            [start, from, to, bytes] if header == HEADER => (start, from, to, bytes, [""; 3]),
            [start, from, to, bytes, after, acknowledged, arrived] if header == DEPENDENT => {
                (start, from, to, bytes, [after, acknowledged, arrived])
            }
            _ => return Err(format!("expected {header}, found {}", quoted(line))),
        };
        // Without its unit, which the column names.
        let start = format!("{start} s");
        let fields = Fields {
            hosts: [source, destination],
            start: &start,
            bytes: Some(whole(bytes)?),
            dependence,
        };
        Self::new(fields, number, counts)
    }

    fn new(fields: Fields<'_>, line: usize, counts: &mut Counts) -> Result<Self, String> {
        let Fields {
            start,
            hosts: [source, destination],
            bytes,
            dependence,
        } = fields;
        let host = |text: &str| {
            Name::parse(text).ok_or_else(|| {
                format!(
                    "{} is no host; hosts are named like \"sender:0\" or \"receiver\"",
                    quoted(text)
                )
            })
        };
        let bytes = bytes
            .map(Bytes::new)
            .filter(|bytes| (Bytes::new(1)..=MAX_BYTES).contains(bytes));
        Ok(Self {
            start: start
                .parse()
                .map_err(|error: incastle_units::ParseUnitError| error.message())?,
            source: host(source)?,
            destination: host(destination)?,
            bytes: bytes.ok_or_else(bytes_words)?,
            dependence: Dependence::read(dependence, counts)?,
            line,
        })
    }

    /// Whether it waits for others.
    pub fn waits(&self) -> bool {
        let after = self.dependence.as_ref().map(|one| &one.after);
        after.is_some_and(|after| !after.is_empty())
    }
}

/// The bytes of a line.
fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        let number = || text.parse().ok().filter(|one: &f64| one.fract() == 0.0);
        let size = text.parse::<Bytes>().ok().map(Bytes::count);
        let meant = match size.or_else(|| number().map(|one| one as u64)) {
            Some(bytes) => format!("; did you mean {bytes}?"),
            None => String::new(),
        };
        format!("{}, found {}{meant}", bytes_words(), quoted(text))
    })
}

/// The range of bytes.
fn bytes_words() -> String {
    format!(
        "bytes must be a whole number from 1 to {}",
        MAX_BYTES.count()
    )
}

/// A transfer as it is written.
#[derive(Clone, Copy)]
struct Fields<'a> {
    start: &'a str,
    hosts: [&'a str; 2],
    bytes: Option<u64>,
    /// After, acknowledged, arrived.
    dependence: [&'a str; 3],
}

/// `[START, SOURCE, DESTINATION, BYTES]`, or that with `AFTER, ACKNOWLEDGED, ARRIVED`.
fn row(node: &Node) -> Result<Fields<'_>, String> {
    let shape = || {
        let found = match &node.content {
            Content::List(fields) => format!("a list of {}", fields.len()),
            other => other.to_string(),
        };
        format!(
            "it must be [START, SOURCE, DESTINATION, BYTES], such as \
             [\"5 us\", \"sender:0\", \"receiver\", 2000], with AFTER, ACKNOWLEDGED, ARRIVED behind \
             where transfers depend on each other, found {found}"
        )
    };
    let Content::List(fields) = &node.content else {
        return Err(shape());
    };
    let Some(([start, source, destination, bytes], dependence)) = fields.split_first_chunk() else {
        return Err(shape());
    };
    let start = text(start, "START", "5 us")?;
    let hosts = [
        text(source, "SOURCE", "sender:0")?,
        text(destination, "DESTINATION", "receiver")?,
    ];
    let Content::Integer(count) = bytes.content else {
        return Err(format!(
            "BYTES must be a whole number, found {}",
            bytes.content
        ));
    };
    let dependence = match dependence {
        [] => [""; 3],
        [after, acknowledged, arrived] => [
            text(after, "AFTER", "first:2")?,
            text(acknowledged, "ACKNOWLEDGED", "first")?,
            text(arrived, "ARRIVED", "first")?,
        ],
        _ => return Err(shape()),
    };
    Ok(Fields {
        start,
        hosts,
        bytes: u64::try_from(count).ok(),
        dependence,
    })
}

/// The string of a field of a row, with an example for where it is none.
fn text<'a>(node: &'a Node, field: &str, example: &str) -> Result<&'a str, String> {
    match &node.content {
        Content::Text(text) => Ok(text),
        other => Err(format!(
            "{field} must be a string such as {}, found {other}",
            quoted(example)
        )),
    }
}

/// The transfers of a value, or why there are none; absent where it is of the wrong kind.
fn read(node: &Node, cx: &Context<'_>) -> Option<Result<Arrivals, String>> {
    match &node.content {
        Content::Text(file) => Some(
            cx.files
                .read(file)
                .map_err(|problem| format!("cannot read the transfers: {problem}"))
                .and_then(|text| Arrivals::parse(&text, file)),
        ),
        Content::Table(entries) => match entries.as_slice() {
            [Entry { key, node, .. }] if key == "list" => match &node.content {
                Content::List(items) => Some(Arrivals::from_items(items)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

impl Value for Arrivals {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        let Some(arrivals) = read(node, cx) else {
            wrong(node, key, &Self::shape().words, cx);
            return None;
        };
        arrivals
            .map_err(|problem| {
                let help = "transfers are start, source, destination and bytes, ordered by start, \
                            and what they wait for; paths are relative to the scenario";
                cx.error(node.place, key, problem).help(help.to_owned());
            })
            .ok()
    }

    fn write(&self) -> String {
        let mut text = String::new();
        for arrival in &self.list {
            let separator = if text.is_empty() { "" } else { ", " };
            write!(
                text,
                "{separator}[{}, {}, {}, {}",
                quoted(&arrival.start.to_string()),
                quoted(&arrival.source.to_string()),
                quoted(&arrival.destination.to_string()),
                arrival.bytes.count()
            )
            .expect("writing to a string cannot fail");
            for depends in arrival
                .dependence
                .iter()
                .flat_map(|one| one.strings(&self.counts))
            {
                write!(text, ", {}", quoted(&depends)).expect("writing to a string cannot fail");
            }
            text.push(']');
        }
        format!("{{ list = [{text}] }}")
    }

    fn shape() -> Shape {
        Shape {
            words: "a file such as \"arrivals.csv\", or { list = [[START, SOURCE, DESTINATION, BYTES], ...] } \
                    with AFTER, ACKNOWLEDGED, ARRIVED behind where transfers depend on each other"
                .to_owned(),
            json: json!({ "anyOf": [
                { "type": "string", "examples": ["arrivals.csv"] },
                {
                    "type": "object",
                    "properties": { "list": { "type": "array", "items": {
                        "type": "array",
                        "prefixItems": [
                            { "type": "string" },
                            { "type": "string" },
                            { "type": "string" },
                            { "type": "integer" },
                            { "type": "string" },
                            { "type": "string" },
                            { "type": "string" }
                        ],
                        "minItems": 4,
                        "maxItems": 7
                    } } },
                    "required": ["list"],
                    "additionalProperties": false
                }
            ] }),
        }
    }
}
