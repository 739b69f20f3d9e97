//! Quantities from strings: a decimal number and a unit, converted exactly.
//!
//! The number is digits, optionally with a point and more digits; the unit follows with or without a
//! space: "2.5 Gbit/s", "0.25 ms", "25us". The value must be a whole number of picoseconds, bytes,
//! packets or bits per second: "0.1 us" is, "0.3 ps" is not. Leaves out: signs, exponents, digit
//! groups, values without a unit.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use crate::text::{nearest_unit, unit_named};
use crate::{Amount, Bytes, Packets, Quantity, Rate, Span, Time};

/// The error of a string that is not the expected quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ParseUnitError {
    /// The expected kind.
    pub expected: Quantity,
    /// The string, without blanks around it.
    pub found: String,
    /// Its fault.
    pub problem: UnitProblem,
}

/// The fault of a quantity's string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnitProblem {
    /// It is empty.
    Empty,
    /// It does not begin with a plain decimal number.
    NotANumber,
    /// It is below zero.
    Negative,
    /// A number alone.
    MissingUnit,
    /// No kind of quantity has this unit.
    UnknownUnit {
        /// The unit found.
        unit: String,
        /// The strings that were probably meant.
        did_you_mean: Vec<String>,
    },
    /// A quantity, but of this other kind.
    WrongKind(Quantity),
    /// The value is not a whole number of the smallest unit.
    NotWhole,
    /// The value does not fit.
    TooLarge,
}

impl ParseUnitError {
    /// The fault with its reason, in one sentence without its full stop.
    pub fn message(&self) -> String {
        let (found, expected) = (&self.found, self.expected);
        let words = expected.words();
        match &self.problem {
            UnitProblem::Empty => format!("{words} is missing"),
            UnitProblem::NotANumber => {
                format!("\"{found}\" does not begin with a plain number such as 10 or 2.5")
            }
            UnitProblem::Negative => {
                format!("\"{found}\" is negative, but {words} is never below zero")
            }
            UnitProblem::MissingUnit => format!("\"{found}\" has no unit"),
            UnitProblem::UnknownUnit { unit, .. } => {
                format!("\"{found}\" has the unknown unit \"{unit}\"")
            }
            UnitProblem::WrongKind(kind) => {
                format!("\"{found}\" is {}, but {words} is expected", kind.words())
            }
            UnitProblem::NotWhole => {
                format!(
                    "\"{found}\" is not a whole number of {}",
                    expected.smallest()
                )
            }
            UnitProblem::TooLarge => {
                format!("\"{found}\" is too large: at most {}", expected.greatest())
            }
        }
    }

    /// The remedy, where the message does not name it.
    pub fn help(&self) -> Option<String> {
        match &self.problem {
            UnitProblem::NotWhole | UnitProblem::TooLarge | UnitProblem::Negative => None,
            UnitProblem::NotANumber => {
                let meant = number_meant(&self.found, self.expected)
                    .map(|it| format!("did you mean \"{it}\"? "));
                Some(format!("{}{}", meant.unwrap_or_default(), self.right()))
            }
            UnitProblem::UnknownUnit { did_you_mean, .. } if !did_you_mean.is_empty() => {
                let meant = did_you_mean.join("\" or \"");
                Some(format!("did you mean \"{meant}\"? {}", self.right()))
            }
            _ => Some(self.right()),
        }
    }

    /// The names of the units that would be valid.
    pub fn valid_units(&self) -> Vec<&'static str> {
        self.expected.valid_units()
    }

    fn right(&self) -> String {
        format!(
            "write {} like \"{}\", with one of the units {}",
            self.expected.words(),
            self.expected.examples().join("\" or \""),
            self.valid_units().join(", ")
        )
    }
}

impl Display for ParseUnitError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())?;
        match self.help() {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

/// Parses `text` as `expected`; returns its simple kind and the value in the smallest unit.
fn parse(text: &str, expected: Quantity) -> Result<(Quantity, u64), ParseUnitError> {
    let found = text.trim();
    parse_trimmed(found, expected).map_err(|problem| ParseUnitError {
        expected,
        found: found.to_owned(),
        problem,
    })
}

fn parse_trimmed(text: &str, expected: Quantity) -> Result<(Quantity, u64), UnitProblem> {
    if text.is_empty() {
        return Err(UnitProblem::Empty);
    }
    // The minus sign proper is U+2212.
    if let Some(rest) = text.strip_prefix(['-', '\u{2212}'])
        && rest.trim_start().starts_with(|c: char| c.is_ascii_digit())
    {
        return Err(UnitProblem::Negative);
    }
    let (number, unit) = Decimal::split_from(text).ok_or(UnitProblem::NotANumber)?;
    if unit.is_empty() {
        return Err(UnitProblem::MissingUnit);
    }
    // A prefix alone is a rate where one is expected: 25G; elsewhere it is probably a size.
    let named = unit_named(unit).filter(|(kind, _)| expected.accepts(*kind) || unit.len() > 1);
    let Some((kind, factor)) = named else {
        return Err(unknown_unit(&number, unit, expected));
    };
    if !expected.accepts(kind) {
        return Err(UnitProblem::WrongKind(kind));
    }
    Ok((kind, number.times(factor)?))
}

/// The unit may be a misspelt one of this kind, one that is not used here, or one of another kind.
fn unknown_unit(number: &Decimal<'_>, unit: &str, expected: Quantity) -> UnitProblem {
    let mut did_you_mean: Vec<String> = nearest_unit(unit, expected)
        .map(|near| format!("{number} {near}"))
        .into_iter()
        .collect();
    let lower = unit.to_ascii_lowercase();
    let seconds = long_time(&lower).filter(|_| expected.accepts(Quantity::Duration));
    let in_seconds = seconds.and_then(|factor| number.times(factor).ok());
    if lower == "m" && in_seconds.is_some() {
        did_you_mean.push(format!("{number} ms"));
    }
    did_you_mean.extend(in_seconds.map(|seconds| format!("{seconds} s")));
    let bytes = bits(unit).filter(|_| expected.accepts(Quantity::Size));
    let in_bytes = bytes.and_then(|factor| number.times(factor).ok());
    did_you_mean.extend(in_bytes.and_then(|bits| {
        let is_whole = bits.is_multiple_of(8);
        is_whole.then(|| Bytes::new(bits / 8).to_string())
    }));
    let bits = bits_of_bytes(unit).filter(|_| expected == Quantity::Rate);
    let in_bits = bits.and_then(|factor| number.times(factor).ok());
    did_you_mean.extend(in_bits.map(|bits| Rate::from_bits_per_second(bits).to_string()));
    if did_you_mean.is_empty()
        && let Some(kind) = Quantity::with_unit_like(unit)
    {
        return UnitProblem::WrongKind(kind);
    }
    UnitProblem::UnknownUnit {
        unit: unit.to_owned(),
        did_you_mean,
    }
}

/// The seconds of a longer unit of time.
fn long_time(unit: &str) -> Option<u64> {
    match unit {
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3_600),
        "d" | "day" | "days" => Some(86_400),
        _ => None,
    }
}

/// The bits of a unit of bits, which is no size in bytes: `Kbit`, `Mbits`, `Kb`.
fn bits(unit: &str) -> Option<u64> {
    let lower = unit.to_ascii_lowercase();
    let short = || lower.strip_suffix('b').filter(|_| unit.ends_with('b'));
    let long = lower.strip_suffix("bits").or(lower.strip_suffix("bit"));
    let prefix = long.or_else(|| short().filter(|prefix| !prefix.is_empty()))?;
    match prefix {
        "" => Some(1),
        "k" => Some(1_000),
        "m" => Some(1_000_000),
        "g" => Some(1_000_000_000),
        _ => None,
    }
}

/// A quantity whose number has a comma, groups or an exponent, without them: `1,5 s`, `1,000 B`, `1_000 B`, `1e9 bit/s`.
///
/// Without a unit it is in the smallest one, where that is usual: `1e9` of a rate.
fn number_meant(text: &str, expected: Quantity) -> Option<String> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let plain = number.replace('_', "").parse::<f64>();
    if let (true, Ok(value)) = (number.contains(['_', 'e', 'E']), plain)
        && (1e-6..1e15).contains(&value)
    {
        let whole = value as u64;
        return match expected {
            _ if !unit.is_empty() => Some(format!("{value} {unit}")),
            Quantity::Rate if whole > 0 => Some(Rate::from_bits_per_second(whole).to_string()),
            Quantity::Size if whole > 0 => Some(Bytes::new(whole).to_string()),
            _ => None,
        };
    }
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == ','))?;
    let (number, unit) = text.split_at(end);
    if unit.trim().is_empty() {
        return None;
    }
    let (whole, rest) = number.split_once(',')?;
    let groups: Vec<&str> = rest.split(',').collect();
    if whole.is_empty() || groups.iter().any(|group| group.is_empty()) {
        return None;
    }
    let is_grouped = groups.iter().all(|group| group.len() == 3);
    match groups.as_slice() {
        _ if is_grouped => Some(format!("{whole}{}{unit}", groups.concat())),
        [fraction] => Some(format!("{whole}.{fraction}{unit}")),
        _ => None,
    }
}

/// The bits per second of a unit of bytes per second.
fn bits_of_bytes(unit: &str) -> Option<u64> {
    let bytes = unit
        .strip_suffix("/s")
        .or_else(|| unit.strip_suffix("ps"))?;
    match unit_named(bytes)? {
        (Quantity::Size, factor) => factor.checked_mul(8),
        _ => None,
    }
}

/// An unsigned decimal number as it was written.
struct Decimal<'a> {
    whole: &'a str,
    fraction: &'a str,
}

impl<'a> Decimal<'a> {
    /// The number at the beginning of `text`, and the remainder after the following blanks.
    fn split_from(text: &'a str) -> Option<(Self, &'a str)> {
        let (whole, mut rest) = split_digits(text);
        let mut fraction = "";
        if let Some(behind) = rest.strip_prefix('.') {
            (fraction, rest) = split_digits(behind);
            if fraction.is_empty() {
                return None;
            }
        }
        let unit = rest.trim_start();
        let blank_or_end = unit.len() < rest.len() || rest.is_empty();
        if whole.is_empty() || !(blank_or_end || starts_like_a_unit(rest)) {
            return None;
        }
        Some((Self { whole, fraction }, unit))
    }

    /// The number times `factor`, exactly.
    fn times(&self, factor: u64) -> Result<u64, UnitProblem> {
        let whole = digits(self.whole)
            .try_fold(0_u64, |value, digit| {
                value.checked_mul(10)?.checked_add(digit)
            })
            .and_then(|value| value.checked_mul(factor))
            .ok_or(UnitProblem::TooLarge)?;
        // Schoolbook multiplication of the digits behind the point, from the right. A product digit
        // that stays behind the point must be zero; the last carry crosses it.
        let mut carry = 0;
        for digit in digits(self.fraction).rev() {
            let product = digit * factor + carry;
            if !product.is_multiple_of(10) {
                return Err(UnitProblem::NotWhole);
            }
            carry = product / 10;
        }
        whole.checked_add(carry).ok_or(UnitProblem::TooLarge)
    }
}

impl Display for Decimal<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.whole)?;
        if self.fraction.is_empty() {
            return Ok(());
        }
        write!(f, ".{}", self.fraction)
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

fn digits(text: &str) -> impl DoubleEndedIterator<Item = u64> + '_ {
    text.bytes().map(|digit| u64::from(digit - b'0'))
}

/// A letter, but not the exponent of a number ("1e9").
fn starts_like_a_unit(text: &str) -> bool {
    let mut characters = text.chars();
    let first = characters.next();
    let exponent = first.is_some_and(|c| c.eq_ignore_ascii_case(&'e'))
        && characters
            .next()
            .is_some_and(|c| c.is_ascii_digit() || "+-".contains(c));
    first.is_some_and(char::is_alphabetic) && !exponent
}

impl FromStr for Time {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        parse(text, Quantity::Instant).map(|(_, ps)| Self::from_ps(ps))
    }
}

impl FromStr for Span {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        parse(text, Quantity::Duration).map(|(_, ps)| Self::from_ps(ps))
    }
}

impl FromStr for Bytes {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        parse(text, Quantity::Size).map(|(_, bytes)| Self::new(bytes))
    }
}

impl FromStr for Packets {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        parse(text, Quantity::Count).map(|(_, packets)| Self::new(packets))
    }
}

impl FromStr for Rate {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        parse(text, Quantity::Rate).map(|(_, bits)| Self::from_bits_per_second(bits))
    }
}

impl FromStr for Amount {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        parse(text, Quantity::Amount).map(|(kind, count)| match kind {
            Quantity::Count => Self::Packets(Packets::new(count)),
            _ => Self::Bytes(Bytes::new(count)),
        })
    }
}
