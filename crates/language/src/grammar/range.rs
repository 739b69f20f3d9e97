//! Ranges of parameters: the check, its text for messages, its bounds for the schema.

use incastle_units::Span;

use crate::grammar::describe::Bounds;
use crate::grammar::value::{Value, name_of, wrong};
use crate::text::context::Context;
use crate::text::node::Node;

/// Seconds. Spans within a scenario are bounded so that no instant ever lies beyond the 213 days that
/// simulated time can count.
pub(crate) const DAY: u64 = 86_400;

/// A range of values; either bound may be open.
#[derive(Debug, Clone)]
pub struct Range<T> {
    /// The limit, and whether it is itself allowed.
    low: Option<(T, bool)>,
    high: Option<(T, bool)>,
}

/// More than `low`.
pub(crate) fn above<T>(low: T) -> Range<T> {
    Range {
        low: Some((low, false)),
        high: None,
    }
}

/// `low` or more.
pub(crate) fn at_least<T>(low: T) -> Range<T> {
    Range {
        low: Some((low, true)),
        high: None,
    }
}

/// More than `low`, at most `high`.
pub(crate) fn above_to<T>(low: T, high: T) -> Range<T> {
    Range {
        low: Some((low, false)),
        high: Some((high, true)),
    }
}

/// From `low` to `high`, both allowed.
pub(crate) fn between<T>(low: T, high: T) -> Range<T> {
    Range {
        low: Some((low, true)),
        high: Some((high, true)),
    }
}

/// More than 0, at most a day.
pub(crate) fn within_a_day() -> Range<Span> {
    above_to(Span::ZERO, Span::from_secs(DAY))
}

/// More than 0, at most 1.
pub(crate) fn fraction() -> Range<f64> {
    above_to(0.0, 1.0)
}

/// From 0 to less than 1.
pub(crate) fn below_one() -> Range<f64> {
    Range {
        low: Some((0.0, true)),
        high: Some((1.0, false)),
    }
}

/// More than 0, less than 1.
pub(crate) fn proper_fraction() -> Range<f64> {
    Range {
        low: Some((0.0, false)),
        high: Some((1.0, false)),
    }
}

impl<T: PartialOrd> Range<T> {
    /// Whether a value lies in it.
    pub fn contains(&self, value: &T) -> bool {
        let low = self
            .low
            .as_ref()
            .is_none_or(|(low, closed)| value > low || (*closed && value == low));
        let high = self
            .high
            .as_ref()
            .is_none_or(|(high, closed)| value < high || (*closed && value == high));
        low && high
    }
}

impl<T: Value> Range<T> {
    /// "above 0 and at most 1".
    pub fn words(&self) -> String {
        let low = self.low.as_ref().map(|(low, closed)| {
            let words = if *closed { "at least" } else { "above" };
            format!("{words} {}", low.write())
        });
        let high = self.high.as_ref().map(|(high, closed)| {
            let words = if *closed { "at most" } else { "below" };
            format!("{words} {}", high.write())
        });
        low.into_iter()
            .chain(high)
            .collect::<Vec<_>>()
            .join(" and ")
    }

    pub(crate) fn bounds(&self) -> Bounds {
        let number = |limit: &Option<(T, bool)>| {
            limit
                .as_ref()
                .and_then(|(value, closed)| Some((value.number()?, *closed)))
        };
        Bounds {
            low: number(&self.low),
            high: number(&self.high),
        }
    }
}

/// Reads a value that must be within a range. A number of another type (-1 or 2.5
/// where a count is expected) gets the message of the range.
pub(crate) fn read_within<T: Value + PartialOrd>(
    node: &Node,
    key: &str,
    range: &Range<T>,
    cx: &mut Context<'_>,
) -> Option<T> {
    let expected = format!("{}{}", T::KIND, range.words());
    if !T::KIND.is_empty() && !is_readable::<T>(node, cx) {
        wrong(node, key, &expected, cx);
        return None;
    }
    let value = T::read(node, key, cx)?;
    if range.contains(&value) {
        return Some(value);
    }
    let name = name_of(key);
    let message = format!("{name} must be {expected}, found {}", value.write());
    cx.error(node.place, key, message)
        .help_if(share_meant(&value, range));
    None
}

/// The help for a percentage where a fraction is expected.
fn share_meant<T: Value>(value: &T, range: &Range<T>) -> Option<String> {
    let (most, number) = (range.bounds().high?.0, value.number()?);
    let is_percentage = most.total_cmp(&1.0).is_eq() && (5.0..=100.0).contains(&number);
    is_percentage.then(|| format!("a fraction: {} for {number} %", number / 100.0))
}

/// Whether a value can be read, within its range or not.
fn is_readable<T: Value>(node: &Node, cx: &Context<'_>) -> bool {
    T::read(node, "", &mut Context::new(cx.files)).is_some()
}
