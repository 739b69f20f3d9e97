//! Quantities as strings: the units of each kind, and the one form in which each value is printed.
//!
//! Sizes follow the SI and IEC prefixes: 1 KB is 1000 bytes, 1 KiB is 1024. Rates count bits. A
//! value is printed as a whole number of the largest unit that divides it ("250 us", "64 KiB",
//! "2500 Mbit/s"). The printed form therefore parses to the same value. Leaves out: other
//! languages, digits in groups, minutes and longer.

use std::fmt::{self, Display, Formatter};

use crate::{Amount, Bytes, Packets, Rate, Span, Time};

/// The kinds of quantity that a string can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// A [`Time`].
    Instant,
    /// A [`Span`].
    Duration,
    /// [`Bytes`].
    Size,
    /// [`Packets`].
    Count,
    /// A [`Rate`].
    Rate,
    /// An [`Amount`]: packets or bytes.
    Amount,
}

/// A unit's name, and how many of the smallest unit of its kind it holds.
type Unit = (&'static str, u64);

pub(crate) const DURATIONS: [Unit; 5] = [
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
];

const SIZES: [Unit; 9] = [
    ("B", 1),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
];

const COUNTS: [Unit; 2] = [("packet", 1), ("packets", 1)];

pub(crate) const RATES: [Unit; 5] = [
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
];

/// Other spellings that mean exactly one unit. Micro is written with the sign or the Greek letter; `M`, `G` and
/// `T` alone are rates, as in "25G Ethernet".
const SYNONYMS: [(&str, &str); 13] = [
    ("\u{b5}s", "us"),
    ("\u{3bc}s", "us"),
    ("byte", "B"),
    ("bytes", "B"),
    ("kB", "KB"),
    ("bps", "bit/s"),
    ("kbps", "kbit/s"),
    ("Mbps", "Mbit/s"),
    ("Gbps", "Gbit/s"),
    ("Tbps", "Tbit/s"),
    ("M", "Mbit/s"),
    ("G", "Gbit/s"),
    ("T", "Tbit/s"),
];

impl Quantity {
    /// The simple kinds; an instant has the units of a duration, an amount those of a size or a count.
    const SIMPLE: [Self; 4] = [Self::Duration, Self::Size, Self::Count, Self::Rate];

    fn units(self) -> &'static [Unit] {
        match self {
            Self::Instant | Self::Duration => &DURATIONS,
            Self::Size => &SIZES,
            Self::Count => &COUNTS,
            Self::Rate => &RATES,
            Self::Amount => &[],
        }
    }

    /// The names of the units that are valid for this kind, the smallest first.
    pub fn valid_units(self) -> Vec<&'static str> {
        let kinds: &[Self] = match self {
            Self::Amount => &[Self::Count, Self::Size],
            _ => &[self],
        };
        let units = kinds.iter().flat_map(|kind| kind.units());
        units.map(|(name, _)| *name).collect()
    }

    /// The kind in words, with its article.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Instant => "an instant",
            Self::Duration => "a duration",
            Self::Size => "a size in bytes",
            Self::Count => "a number of packets",
            Self::Rate => "a rate",
            Self::Amount => "a number of packets or bytes",
        }
    }

    /// Values of this kind, to show how they are written.
    pub const fn examples(self) -> &'static [&'static str] {
        match self {
            Self::Instant | Self::Duration => &["25 us"],
            Self::Size => &["64 KiB"],
            Self::Count => &["20 packets"],
            Self::Rate => &["10 Gbit/s"],
            Self::Amount => &["20 packets", "64 KiB"],
        }
    }

    /// The smallest unit of this kind.
    pub(crate) const fn smallest(self) -> &'static str {
        match self {
            Self::Instant | Self::Duration => "picoseconds",
            Self::Size => "bytes",
            Self::Count => "packets",
            Self::Rate => "bits per second",
            Self::Amount => "packets or bytes",
        }
    }

    /// The greatest value, rounded down for the reader.
    pub(crate) const fn greatest(self) -> &'static str {
        match self {
            Self::Instant | Self::Duration => "18446744 s (213 days)",
            Self::Size | Self::Amount => "16777215 TiB",
            Self::Count => "18446744073709551615 packets",
            Self::Rate => "18446744 Tbit/s",
        }
    }

    /// The kind of which `name` is a misspelt unit.
    pub(crate) fn with_unit_like(name: &str) -> Option<Self> {
        let mut kinds = Self::SIMPLE.into_iter();
        kinds.find(|kind| nearest_unit(name, *kind).is_some())
    }

    /// Whether a value of the simple kind `other` is one of this kind too.
    pub(crate) fn accepts(self, other: Self) -> bool {
        match self {
            Self::Instant => other == Self::Duration,
            Self::Amount => matches!(other, Self::Count | Self::Size),
            _ => self == other,
        }
    }
}

/// The kind and the factor of a unit, by its exact name.
pub(crate) fn unit_named(name: &str) -> Option<(Quantity, u64)> {
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == name);
    let name = synonym.map_or(name, |(_, unit)| *unit);
    Quantity::SIMPLE.into_iter().find_map(|kind| {
        let unit = kind.units().iter().find(|(unit, _)| *unit == name)?;
        Some((kind, unit.1))
    })
}

/// The unit of a kind acceptable to `expected` that `name` is a common misspelling of.
pub(crate) fn nearest_unit(name: &str, expected: Quantity) -> Option<&'static str> {
    let kinds = Quantity::SIMPLE.into_iter();
    kinds
        .filter(|kind| expected.accepts(*kind))
        .find_map(|kind| {
            let meant = match kind {
                Quantity::Rate => rate_meant(name)?,
                Quantity::Duration => duration_meant(name),
                Quantity::Size => size_meant(name),
                _ => count_meant(name),
            };
            let mut units = kind.units().iter();
            units.find_map(|(unit, _)| unit.eq_ignore_ascii_case(&meant).then_some(*unit))
        })
}

/// "Mbps", "Mb/s", "gbit/s", "MBit/s", "Mbits/s", "Mbit" without case. "MB/s" are bytes: no guess.
fn rate_meant(name: &str) -> Option<String> {
    if name.contains("B/s") || name.contains("Bps") {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let endings = [
        "bit/sec", "bits/s", "bit/s", "bits", "bps", "b/s", "bit", "b",
    ];
    let prefix = endings.iter().find_map(|end| name.strip_suffix(end))?;
    Some(format!("{prefix}bit/s"))
}

/// "usec", "milliseconds", "Sec".
fn duration_meant(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let endings = ["seconds", "second", "secs", "sec"];
    let Some(prefix) = endings.iter().find_map(|end| name.strip_suffix(end)) else {
        return name;
    };
    let prefix = match prefix {
        "milli" => "m",
        "micro" | "mu" => "u",
        "nano" => "n",
        "pico" => "p",
        other => other,
    };
    format!("{prefix}s")
}

/// "k", "Mbytes", "kib".
fn size_meant(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let endings = ["bytes", "byte", "b"];
    let prefix = endings.iter().find_map(|end| name.strip_suffix(end));
    format!("{}b", prefix.unwrap_or(&name))
}

/// "pkts".
fn count_meant(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "p" | "pk" | "pkt" | "pkts" | "frame" | "frames" | "mss" | "segment" | "segments" => {
            "packets".to_owned()
        }
        _ => name,
    }
}

/// Writes `value` as a whole number of the largest unit of `kind` that divides it.
fn write_exact(value: u64, kind: Quantity, f: &mut Formatter<'_>) -> fmt::Result {
    let units = kind.units();
    let zero = if kind == Quantity::Duration {
        "s"
    } else {
        units[0].0
    };
    let largest = units
        .iter()
        .rev()
        .find(|(_, factor)| value.is_multiple_of(*factor));
    match largest {
        Some((name, factor)) if value > 0 => f.pad(&format!("{} {name}", value / factor)),
        _ => f.pad(&format!("0 {zero}")),
    }
}

/// The digits of a value in a message.
const DIGITS: u64 = 1_000;

impl Span {
    /// It for a message: three digits, rounded down, in the largest unit that it has once ("67.1 ms").
    pub fn rounded(self) -> String {
        let mut step = 1;
        while self.as_ps() / step >= DIGITS {
            step *= 10;
        }
        let ps = self.as_ps() / step * step;
        let largest = DURATIONS.iter().rev().find(|(_, factor)| ps >= *factor);
        let Some((unit, factor)) = largest else {
            return self.to_string();
        };
        let (whole, rest) = (ps / factor, ps % factor);
        let places = factor.ilog10() as usize;
        let decimals = format!("{rest:0places$}");
        match decimals.trim_end_matches('0') {
            "" => format!("{whole} {unit}"),
            decimals => format!("{whole}.{decimals} {unit}"),
        }
    }
}

impl Display for Span {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_exact(self.as_ps(), Quantity::Duration, f)
    }
}

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_exact(self.as_ps(), Quantity::Duration, f)
    }
}

impl Display for Bytes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_exact(self.count(), Quantity::Size, f)
    }
}

impl Display for Packets {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let unit = if self.count() == 1 {
            "packet"
        } else {
            "packets"
        };
        f.pad(&format!("{} {unit}", self.count()))
    }
}

impl Display for Rate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_exact(self.bits_per_second(), Quantity::Rate, f)
    }
}

impl Display for Amount {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => packets.fmt(f),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_messages_have_three_digits() {
        for (ps, text) in [
            (0, "0 s"),
            (1, "1 ps"),
            (999, "999 ps"),
            (51_200, "51.2 ns"),
            (1_050_000, "1.05 us"),
            (112_345_678, "112 us"),
            (67_108_864_000, "67.1 ms"),
            (1_000_000_000, "1 ms"),
            (1_999_999_999_999, "1.99 s"),
            (u64::MAX, "18400000 s"),
        ] {
            let rounded = Span::from_ps(ps).rounded();
            assert_eq!(rounded, text);
            assert!(rounded.parse::<Span>().expect("a span") <= Span::from_ps(ps));
        }
    }

    #[test]
    fn the_largest_exact_unit_is_printed() {
        let spans = [
            (0, "0 s"),
            (1, "1 ps"),
            (250_000_000, "250 us"),
            (1_500_000_000, "1500 us"),
            (2_000_000_000_000, "2 s"),
        ];
        for (ps, text) in spans {
            assert_eq!(Span::from_ps(ps).to_string(), text);
            assert_eq!(Time::from_ps(ps).to_string(), text);
        }
        let sizes = [
            (0, "0 B"),
            (1_500, "1500 B"),
            (64_000, "64 KB"),
            (65_536, "64 KiB"),
            (4_000_000, "4 MB"),
            // Both 1000 KiB and 1024 KB: the larger unit.
            (1_024_000, "1000 KiB"),
        ];
        for (bytes, text) in sizes {
            assert_eq!(Bytes::new(bytes).to_string(), text);
        }
        let rates = [
            (0, "0 bit/s"),
            (2_500_000_000, "2500 Mbit/s"),
            (64_000, "64 kbit/s"),
        ];
        for (bits, text) in rates {
            assert_eq!(Rate::from_bits_per_second(bits).to_string(), text);
        }
    }

    #[test]
    fn one_packet_is_singular() {
        let text = |count| Amount::Packets(Packets::new(count)).to_string();
        assert_eq!(
            [text(0), text(1), text(2)],
            ["0 packets", "1 packet", "2 packets"]
        );
        assert_eq!(Amount::Bytes(Bytes::new(1_500)).to_string(), "1500 B");
    }

    #[test]
    fn strings_can_be_padded_for_tables() {
        assert_eq!(format!("{:>8}|", Span::from_us(25)), "   25 us|");
        assert_eq!(format!("{:<11}|", Packets::new(20)), "20 packets |");
    }
}
