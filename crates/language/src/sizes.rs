//! Distributions of flow sizes: named ones that come with Incastle, files, points, one fixed size.
//!
//! A distribution is a list of points (bytes, cumulative percentage), linear between them, as the
//! simulators of the literature read it. The named ones: web search (Alizadeh et al., "Data Center
//! TCP", SIGCOMM 2010), data mining (Greenberg et al., "VL2", SIGCOMM 2009), Hadoop (Facebook).
//! Leaves out: fitted families (Pareto, log-normal), which points can follow as closely as needed.

use std::fmt::Write as _;

use incastle_units::{Bytes, random};
use rand_core::Rng;
use serde_json::json;

use crate::grammar::describe::Shape;
use crate::grammar::value::{Value, wrong};
use crate::text::context::Context;
use crate::text::node::{Content, Entry, Node, quoted};
use crate::text::suggest::{choices, near};

/// The most bytes of one transfer, so that sums of many stay countable.
pub const MAX_BYTES: Bytes = Bytes::new(1_000_000_000_000_000);

/// The distributions that come with Incastle: name, one line, text.
const NAMED: [(&str, &str, &str); 3] = [
    (
        "websearch",
        "flows of a web-search cluster (DCTCP, SIGCOMM 2010), mean 1.711 MB",
        include_str!("../data/websearch.cdf"),
    ),
    (
        "datamining",
        "flows of a data-mining cluster (VL2, SIGCOMM 2009)",
        include_str!("../data/datamining.cdf"),
    ),
    (
        "hadoop",
        "flows of a Hadoop cluster (Facebook)",
        include_str!("../data/hadoop.cdf"),
    ),
];

/// Names and one-line descriptions of the distributions that come with Incastle.
pub(crate) fn named() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMED.iter().map(|(name, about, _)| (*name, *about))
}

/// Sizes of flows.
#[derive(Debug, Clone, PartialEq)]
pub enum Sizes {
    /// All alike.
    Fixed(Bytes),
    /// A distribution that comes with Incastle, by its name.
    Named(&'static str),
    /// Points of a distribution.
    Points(Points),
}

/// Points (bytes, cumulative percentage), both ascending, from 0 % to 100 %.
#[derive(Debug, Clone, PartialEq)]
pub struct Points(Vec<(u64, f64)>);

impl Points {
    /// Checks the points; `place` returns the place of one of them, for messages.
    fn new(points: Vec<(u64, f64)>, place: impl Fn(usize) -> String) -> Result<Self, String> {
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Err("a distribution needs points".to_owned());
        };
        if points.len() < 2 {
            return Err("a distribution needs at least two points".to_owned());
        }
        if first.1 < 0.0 || first.1 >= 100.0 {
            let swapped = points.iter().all(|(size, _)| *size <= 100);
            let swapped = if swapped {
                "; bytes come first, then percentages"
            } else {
                ""
            };
            return Err(format!(
                "{}the first point must be at 0 % or above and below 100 %, not at {} %{swapped}",
                place(0),
                first.1
            ));
        }
        if last.1.to_bits() != 100.0_f64.to_bits() {
            let fractions = if last.1 <= 1.0 {
                "; percentages are expected, not fractions: multiply them by 100"
            } else {
                ""
            };
            return Err(format!(
                "{}the last point must be at 100 %, not at {} %{fractions}",
                place(points.len() - 1),
                last.1
            ));
        }
        if last.0 > MAX_BYTES.count() {
            return Err(format!(
                "{}sizes must be at most {MAX_BYTES}, found {} B",
                place(points.len() - 1),
                last.0
            ));
        }
        for (number, pair) in points.windows(2).enumerate() {
            let ((size, share), (next_size, next_share)) = (pair[0], pair[1]);
            if next_size < size || next_share < share {
                return Err(format!(
                    "{}points must ascend: {next_size} B at {next_share} % after {size} B at {share} %",
                    place(number + 1)
                ));
            }
        }
        Ok(Self(points))
    }

    /// From text: one point per line, bytes and cumulative percentage; `#` begins a comment.
    fn parse(text: &str) -> Result<Self, String> {
        let (mut points, mut lines) = (Vec::new(), Vec::new());
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let mut fields = line.split_whitespace();
            let size = fields.next().and_then(|field| field.parse().ok());
            let share = fields.next().and_then(|field| field.parse::<f64>().ok());
            match (size, share, fields.next()) {
                (Some(size), Some(share), None) if share.is_finite() => {
                    points.push((size, share));
                    lines.push(number + 1);
                }
                _ => {
                    return Err(format!(
                        "line {}: expected bytes and cumulative percentage, found {}{}",
                        number + 1,
                        quoted(line),
                        remedy(line)
                    ));
                }
            }
        }
        Self::new(points, |point| format!("line {}: ", lines[point]))
    }

    /// The largest size, where all are probably packets, as in files of web search for ns-2, which have 1 to 20,000.
    fn in_packets(&self) -> Option<u64> {
        let smallest = self
            .0
            .iter()
            .map(|(size, _)| *size)
            .find(|size| *size > 0)?;
        let (largest, _) = *self.0.last()?;
        (smallest < 10 && (100..30_000).contains(&largest)).then_some(largest)
    }

    /// The size below which a fraction `u` of the flows lies; at least 1 byte.
    fn quantile(&self, u: f64) -> Bytes {
        let share = u * 100.0;
        let above = self
            .0
            .partition_point(|(_, cumulative)| *cumulative <= share);
        let size = match (above.checked_sub(1).map(|at| self.0[at]), self.0.get(above)) {
            (Some((low, low_share)), Some(&(high, high_share))) => {
                let part = (share - low_share) / (high_share - low_share);
                low + (part * (high - low) as f64) as u64
            }
            (Some((last, _)), None) => last,
            (None, _) => self.0[0].0,
        };
        Bytes::new(size.max(1))
    }

    /// The mean in bytes.
    fn mean(&self) -> f64 {
        let first = self.0[0].0 as f64 * self.0[0].1;
        let rest: f64 = self
            .0
            .windows(2)
            .map(|pair| (pair[1].1 - pair[0].1) * (pair[0].0 + pair[1].0) as f64 / 2.0)
            .sum();
        (first + rest) / 100.0
    }

    /// The mean number of packets with at most `payload` bytes each.
    fn mean_packets(&self, payload: u64) -> f64 {
        // A draw is at least 1 byte, and so at least a packet.
        let packets = |size: u64| size.max(1).div_ceil(payload) as f64;
        let first = packets(self.0[0].0) * self.0[0].1;
        let rest: f64 = self
            .0
            .windows(2)
            .map(|pair| {
                let ((low, share), (high, next_share)) = (pair[0], pair[1]);
                // Between two points draws are whole bytes, each as likely as any other.
                let mean = match high - low {
                    0 => packets(low),
                    count => {
                        let all = all_packets(high - 1, payload)
                            - low
                                .checked_sub(1)
                                .map_or(0, |last| all_packets(last, payload));
                        let of_nothing = u64::from(low == 0);
                        (all + u128::from(of_nothing)) as f64 / count as f64
                    }
                };
                (next_share - share) * mean
            })
            .sum();
        (first + rest) / 100.0
    }
}

/// What a line that is no point should be, where the mistake is a usual one.
fn remedy(line: &str) -> String {
    let is_number = |field: &str| field.parse::<f64>().is_ok();
    let fields: Vec<&str> = line.split([',', ';', ' ', '\t']).collect();
    let fields: Vec<&str> = fields.into_iter().filter(|one| !one.is_empty()).collect();
    match fields.as_slice() {
        _ if !fields
            .iter()
            .any(|one| one.starts_with(|c: char| c.is_ascii_digit())) =>
        {
            "; a line with names begins with #".to_owned()
        }
        [size, share] if line.contains([',', ';']) && is_number(size) && is_number(share) => {
            format!(
                "; a blank is between them: {}",
                quoted(&format!("{size} {share}"))
            )
        }
        [_, _, _, ..] if fields.iter().all(|one| is_number(one)) => {
            format!("; there are two columns, not {}", fields.len())
        }
        [size, share] if is_number(share) => match size.parse::<f64>() {
            Ok(bytes) if (1.0..1e15).contains(&bytes) => {
                format!(
                    "; bytes are whole: {}",
                    quoted(&format!("{} {share}", bytes.round()))
                )
            }
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// The packets of transfers of 1, 2 ... `largest` bytes together.
fn all_packets(largest: u64, payload: u64) -> u128 {
    let [whole, rest, payload] = [largest / payload, largest % payload, payload].map(u128::from);
    payload * whole * (whole + 1) / 2 + rest * (whole + 1)
}

impl Sizes {
    /// A draw of one flow's size.
    pub fn draw(&self, rng: &mut dyn Rng) -> Bytes {
        match self {
            Self::Fixed(size) => *size,
            Self::Named(_) | Self::Points(_) => self.points().quantile(random::uniform(rng)),
        }
    }

    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(size) => size.count() as f64,
            Self::Named(_) | Self::Points(_) => self.points().mean(),
        }
    }

    /// The mean number of packets of a flow, each with at most `payload` bytes.
    pub fn mean_packets(&self, payload: u64) -> f64 {
        self.points().mean_packets(payload)
    }

    /// The same distribution with a copy of its points, so that draws need no look-up.
    #[must_use]
    pub fn expanded(&self) -> Self {
        match self {
            Self::Named(_) => Self::Points(self.points().into_owned()),
            other => other.clone(),
        }
    }

    fn points(&self) -> std::borrow::Cow<'_, Points> {
        use std::borrow::Cow;
        match self {
            Self::Points(points) => Cow::Borrowed(points),
            Self::Fixed(size) => Cow::Owned(Points(vec![(size.count(), 100.0)])),
            Self::Named(name) => {
                let entry = NAMED.iter().find(|(known, ..)| known == name);
                let (.., text) = entry.expect("named distributions come with Incastle");
                Cow::Owned(Points::parse(text).expect("shipped distributions are right"))
            }
        }
    }
}

/// One point of a list: `[bytes, percentage]`.
fn point(node: &Node) -> Option<(u64, f64)> {
    let Content::List(pair) = &node.content else {
        return None;
    };
    let [size, share] = pair.as_slice() else {
        return None;
    };
    let Content::Integer(size) = size.content else {
        return None;
    };
    let share = match share.content {
        Content::Float(share) if share.is_finite() => share,
        Content::Integer(share) => share as f64,
        _ => return None,
    };
    Some((u64::try_from(size).ok()?, share))
}

/// A distribution within a scenario.
const POINTS: &str = "{ points = [[BYTES, PERCENTAGE], ...] }";

fn read_points(entries: &[Entry], node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Sizes> {
    let [
        Entry {
            key: name,
            node: list,
            ..
        },
    ] = entries
    else {
        wrong(node, key, &Sizes::shape().words, cx);
        return None;
    };
    let Content::List(items) = &list.content else {
        wrong(list, key, POINTS, cx);
        return None;
    };
    if name != "points" {
        wrong(node, key, POINTS, cx);
        return None;
    }
    if let Some((wrong, number)) = items.iter().zip(1..).find(|(it, _)| point(it).is_none()) {
        let problem = format!("point {number} is not [BYTES, PERCENTAGE]");
        cx.error(wrong.place, key, problem)
            .help(format!("sizes are {POINTS}, such as [1000, 50]"));
        return None;
    }
    let points = items.iter().filter_map(point).collect();
    report_points(Points::new(points, |_| String::new()), node, key, cx)
}

fn report_points(
    points: Result<Points, String>,
    node: &Node,
    key: &str,
    cx: &mut Context<'_>,
) -> Option<Sizes> {
    match points {
        Ok(points) => {
            if let Some(largest) = points.in_packets() {
                let message = format!("the largest size is {largest} B, as of sizes in packets");
                cx.warn(node.place, key, message)
                    .help("sizes are bytes: multiply packets by 1460");
            }
            Some(Sizes::Points(points))
        }
        Err(problem) => {
            let help = "points are bytes and cumulative percentages, ascending to 100".to_owned();
            cx.error(node.place, key, problem).help(help);
            None
        }
    }
}

fn read_text(text: &str, node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Sizes> {
    if let Some((name, ..)) = NAMED.iter().find(|(name, ..)| *name == text) {
        return Some(Sizes::Named(name));
    }
    if let Ok(size) = text.parse::<Bytes>()
        && (Bytes::new(1)..=MAX_BYTES).contains(&size)
    {
        return Some(Sizes::Fixed(size));
    }
    if text.contains(['.', '/', '\\']) {
        return match cx.files.read(text) {
            Ok(content) => report_points(
                Points::parse(&content).map_err(|problem| format!("{text}: {problem}")),
                node,
                key,
                cx,
            ),
            Err(problem) => {
                cx.error(node.place, key, format!("cannot read the sizes: {problem}"))
                    .help("paths are relative to the scenario");
                None
            }
        };
    }
    let names: Vec<&str> = named().map(|(name, _)| name).collect();
    let near = match text.trim().parse::<u64>() {
        Ok(number) => format!("did you mean \"{number} B\" or \"{number} KB\"? "),
        Err(_) => near(text, &names),
    };
    cx.error(node.place, key, format!("unknown sizes {}", quoted(text)))
        .help(format!(
            "{near}valid: {}, a size such as \"64 KB\", or a file such as \"my.cdf\"",
            choices(&names)
        ));
    None
}

impl Value for Sizes {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        match &node.content {
            Content::Text(text) => read_text(text, node, key, cx),
            Content::Table(entries) => read_points(entries, node, key, cx),
            _ => {
                wrong(node, key, &Self::shape().words, cx);
                None
            }
        }
    }

    fn write(&self) -> String {
        match self {
            Self::Fixed(size) => quoted(&size.to_string()),
            Self::Named(name) => quoted(name),
            Self::Points(points) => {
                let mut text = String::new();
                for (size, share) in &points.0 {
                    let separator = if text.is_empty() { "" } else { ", " };
                    write!(text, "{separator}[{size}, {share:?}]")
                        .expect("writing to a string cannot fail");
                }
                format!("{{ points = [{text}] }}")
            }
        }
    }

    fn shape() -> Shape {
        let names: Vec<&str> = named().map(|(name, _)| name).collect();
        Shape {
            words: format!(
                "{}, a size such as \"64 KB\", a file, or {{ points = [[BYTES, PERCENTAGE], ...] }}",
                names
                    .iter()
                    .map(|name| quoted(name))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            json: json!({ "anyOf": [
                { "type": "string", "examples": names },
                {
                    "type": "object",
                    "properties": { "points": { "type": "array", "items": {
                        "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2
                    } } },
                    "required": ["points"],
                    "additionalProperties": false
                }
            ] }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_a_distribution_are_counted() {
        // Half of all flows are 1 to 300 bytes (0 counts as 1), half 300 to 500: of 100 bytes each
        // packet, 0 and 1..=100, 101..=200, 201..=299 have 1, 2, 3; 300 has 3, 301..=400 4, 401..=499 5.
        let points = Points::parse("0 0\n300 50\n500 100").expect("good points");
        let below = (101.0 + 2.0 * 100.0 + 3.0 * 99.0) / 300.0;
        let above = (3.0 + 4.0 * 100.0 + 5.0 * 99.0) / 200.0;
        let expected = f64::midpoint(below, above);
        assert!((points.mean_packets(100) - expected).abs() < 1e-12);
        // 40 % are exactly 150 bytes, 60 % exactly 1000.
        let steps = Points::parse("150 40\n1000 40\n1000 100").expect("good points");
        assert!((steps.mean_packets(100) - (0.4 * 2.0 + 0.6 * 10.0)).abs() < 1e-12);
        assert!((Sizes::Fixed(Bytes::new(201)).mean_packets(100) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn quantiles_are_linear_between_points() {
        let points = Points::parse("0 0\n100 50\n300 100").expect("good points");
        assert_eq!(points.quantile(0.0), Bytes::new(1));
        assert_eq!(points.quantile(0.25), Bytes::new(50));
        assert_eq!(points.quantile(0.75), Bytes::new(200));
    }
}
