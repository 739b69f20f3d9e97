//! Strings to quantities and back: the accepted forms, and the messages of errors.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use incastle_units::{
    Amount, Bytes, Packets, ParseUnitError, Quantity, Rate, Span, Time, UnitProblem,
};
use proptest::prelude::*;

fn refused<T: FromStr<Err = ParseUnitError> + Debug>(text: &str) -> ParseUnitError {
    text.parse::<T>().expect_err("this text is refused")
}

#[test]
fn durations_are_read_exactly() {
    let cases = [
        ("0 s", 0),
        ("1 ps", 1),
        ("0.1 us", 100_000),
        ("25 us", 25_000_000),
        ("25us", 25_000_000),
        ("  25   us ", 25_000_000),
        ("25 \u{b5}s", 25_000_000),
        ("25 \u{3bc}s", 25_000_000),
        ("0.25 ms", 250_000_000),
        ("2 s", 2_000_000_000_000),
        ("0.000000000001 s", 1),
        ("1.00000000000000000000000000000000000000000000 ps", 1),
        ("18446744.073709551615 s", u64::MAX),
    ];
    for (text, ps) in cases {
        assert_eq!(text.parse(), Ok(Span::from_ps(ps)), "{text}");
        assert_eq!(text.parse(), Ok(Time::from_ps(ps)), "{text}");
    }
}

#[test]
fn sizes_have_both_kilos() {
    let cases = [
        ("100 B", 100),
        ("100 bytes", 100),
        ("1 byte", 1),
        ("64 KB", 64_000),
        ("64 kB", 64_000),
        ("64 KiB", 65_536),
        ("1 MB", 1_000_000),
        ("4 MiB", 4_194_304),
        ("0.5 KiB", 512),
        ("0.0009765625 KiB", 1),
        ("3 GB", 3_000_000_000),
        ("1 GiB", 1 << 30),
        ("1 TB", 1_000_000_000_000),
        ("1.5 TiB", 3 << 39),
    ];
    for (text, bytes) in cases {
        assert_eq!(text.parse(), Ok(Bytes::new(bytes)), "{text}");
        assert_eq!(text.parse(), Ok(Amount::Bytes(Bytes::new(bytes))), "{text}");
    }
}

#[test]
fn rates_count_bits() {
    let cases = [
        ("100 Mbit/s", 100_000_000),
        ("2.5 Gbit/s", 2_500_000_000),
        ("1 bit/s", 1),
        ("64 kbit/s", 64_000),
        ("0.4Tbit/s", 400_000_000_000),
        ("100 Mbps", 100_000_000),
        ("25G", 25_000_000_000),
        ("1.6 T", 1_600_000_000_000),
    ];
    for (text, bits) in cases {
        assert_eq!(text.parse(), Ok(Rate::from_bits_per_second(bits)), "{text}");
    }
    // Elsewhere a prefix alone is no unit.
    assert_eq!(suggestion::<Bytes>("64M").as_deref(), Some("64 MB"));
}

#[test]
fn packets_are_counted() {
    for (text, packets) in [("200 packets", 200), ("1 packet", 1), ("2.0 packets", 2)] {
        assert_eq!(text.parse(), Ok(Packets::new(packets)), "{text}");
        let amount = Amount::Packets(Packets::new(packets));
        assert_eq!(text.parse(), Ok(amount), "{text}");
    }
    assert_eq!(
        refused::<Packets>("0.5 packets").problem,
        UnitProblem::NotWhole
    );
}

#[test]
fn a_missing_unit_names_the_valid_ones() {
    assert_eq!(
        refused::<Rate>("100").to_string(),
        "\"100\" has no unit; write a rate like \"10 Gbit/s\", with one of the units bit/s, kbit/s, \
         Mbit/s, Gbit/s, Tbit/s"
    );
    assert_eq!(
        refused::<Amount>("100").to_string(),
        "\"100\" has no unit; write a number of packets or bytes like \"20 packets\" or \"64 KiB\", \
         with one of the units packet, packets, B, KB, KiB, MB, MiB, GB, GiB, TB, TiB"
    );
}

#[test]
fn a_unit_of_another_kind_is_named_in_the_error() {
    let error = refused::<Rate>("25 ms");
    assert_eq!(error.problem, UnitProblem::WrongKind(Quantity::Duration));
    assert_eq!(
        error.message(),
        "\"25 ms\" is a duration, but a rate is expected"
    );
    // Misspelt units of another kind are recognised as such, too.
    let wrong = |error: ParseUnitError| match error.problem {
        UnitProblem::WrongKind(kind) => Some(kind),
        _ => None,
    };
    assert_eq!(wrong(refused::<Rate>("25 msec")), Some(Quantity::Duration));
    assert_eq!(wrong(refused::<Span>("10 Gbps")), Some(Quantity::Rate));
    assert_eq!(wrong(refused::<Time>("64 KiB")), Some(Quantity::Size));
    assert_eq!(wrong(refused::<Bytes>("20 packets")), Some(Quantity::Count));
    assert_eq!(wrong(refused::<Packets>("64 KiB")), Some(Quantity::Size));
    assert_eq!(wrong(refused::<Amount>("1 s")), Some(Quantity::Duration));
}

fn suggestion<T: FromStr<Err = ParseUnitError> + Debug>(text: &str) -> Option<String> {
    match refused::<T>(text).problem {
        UnitProblem::UnknownUnit { did_you_mean, .. } => match did_you_mean.as_slice() {
            [] => None,
            all => Some(all.join(" or ")),
        },
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn near_misses_are_recognised() {
    for near in [
        "mbps", "Mb/s", "mbit/s", "MBit/s", "MBIT/S", "Mbits/s", "Mbit", "Mb",
    ] {
        let text = format!("2.5 {near}");
        assert_eq!(
            suggestion::<Rate>(&text).as_deref(),
            Some("2.5 Mbit/s"),
            "{text}"
        );
    }
    assert_eq!(
        suggestion::<Rate>("10 gbit/s").as_deref(),
        Some("10 Gbit/s")
    );
    assert_eq!(suggestion::<Rate>("10 bits").as_deref(), Some("10 bit/s"));
    for (text, right) in [("3 sec", "3 s"), ("3 usec", "3 us"), ("3 MS", "3 ms")] {
        assert_eq!(suggestion::<Span>(text).as_deref(), Some(right));
    }
    assert_eq!(
        suggestion::<Span>("3 microseconds").as_deref(),
        Some("3 us")
    );
    for (text, right) in [("3 kib", "3 KiB"), ("3 K", "3 KB"), ("3 Mbytes", "3 MB")] {
        assert_eq!(suggestion::<Bytes>(text).as_deref(), Some(right));
    }
    assert_eq!(
        suggestion::<Packets>("3 pkts").as_deref(),
        Some("3 packets")
    );
    assert_eq!(
        suggestion::<Amount>("3 Packets").as_deref(),
        Some("3 packets")
    );
    assert_eq!(
        refused::<Rate>("100 Mb/s").to_string(),
        "\"100 Mb/s\" has the unknown unit \"Mb/s\"; did you mean \"100 Mbit/s\"? write a rate like \
         \"10 Gbit/s\", with one of the units bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s"
    );
    assert_eq!(suggestion::<Span>("3 fortnights"), None);
}

#[test]
fn values_outside_the_type_are_refused() {
    assert_eq!(
        refused::<Span>("-5 ms").to_string(),
        "\"-5 ms\" is negative, but a duration is never below zero"
    );
    assert_eq!(
        refused::<Rate>("\u{2212}1 bit/s").problem,
        UnitProblem::Negative
    );
    assert_eq!(
        refused::<Span>("0.3 ps").to_string(),
        "\"0.3 ps\" is not a whole number of picoseconds"
    );
    assert_eq!(
        refused::<Span>("18446745 s").to_string(),
        "\"18446745 s\" is too large: at most 18446744 s (213 days)"
    );
    assert_eq!(
        refused::<Span>("18446744.073709551616 s").problem,
        UnitProblem::TooLarge
    );
    assert_eq!(
        refused::<Packets>("18446744073709551616 packets").problem,
        UnitProblem::TooLarge
    );
    assert_eq!(
        refused::<Bytes>("16777216 TiB").problem,
        UnitProblem::TooLarge
    );
}

#[test]
fn units_that_are_not_used_are_converted() {
    let span = |text| suggestion::<Span>(text);
    assert_eq!(span("5 min").as_deref(), Some("300 s"));
    assert_eq!(span("1.5 h").as_deref(), Some("5400 s"));
    assert_eq!(span("5 m").as_deref(), Some("5 ms or 300 s"));
    assert_eq!(
        suggestion::<Rate>("10 GB/s").as_deref(),
        Some("80 Gbit/s"),
        "rates count bits"
    );
    assert_eq!(
        suggestion::<Rate>("1.25 MBps").as_deref(),
        Some("10 Mbit/s")
    );
}

#[test]
fn commas_and_bits_have_their_remedy() {
    let help = |error: ParseUnitError| error.help().unwrap_or_default();
    for (text, meant) in [
        ("1,5 Gbit/s", "\"1.5 Gbit/s\""),
        ("1,000 Mbit/s", "\"1000 Mbit/s\""),
        ("1,000,000bit/s", "\"1000000bit/s\""),
        ("1_000 Mbit/s", "\"1000 Mbit/s\""),
        ("1e9 bit/s", "\"1000000000 bit/s\""),
    ] {
        assert!(
            help(refused::<Rate>(text)).starts_with(&format!("did you mean {meant}?")),
            "{text}"
        );
    }
    assert!(!help(refused::<Rate>("fast")).contains("did you mean"));
    assert_eq!(suggestion::<Bytes>("256 Kbit").as_deref(), Some("32 KB"));
    assert_eq!(suggestion::<Bytes>("8 bits").as_deref(), Some("1 B"));
    assert_eq!(suggestion::<Bytes>("1.5 Mbit").as_deref(), Some("187500 B"));
    // 3 bits are no bytes.
    assert_eq!(
        refused::<Bytes>("3 bit").problem,
        UnitProblem::WrongKind(Quantity::Rate)
    );
}

#[test]
fn what_is_no_number_is_refused() {
    for text in [
        "fast",
        ".5 ms",
        "5. ms",
        "+5 ms",
        "1e9 bit/s",
        "1E-3 s",
        "1,5 s",
        "-",
        "- x",
    ] {
        assert_eq!(
            refused::<Span>(text).problem,
            UnitProblem::NotANumber,
            "{text}"
        );
    }
    for text in ["", "  "] {
        let error = refused::<Span>(text);
        assert_eq!(error.message(), "a duration is missing");
        assert_eq!(error.valid_units(), ["ps", "ns", "us", "ms", "s"]);
    }
}

fn round_trip<T>(value: T) -> Result<(), TestCaseError>
where
    T: FromStr<Err = ParseUnitError> + Display + Debug + PartialEq,
{
    prop_assert_eq!(value.to_string().parse(), Ok(value));
    Ok(())
}

/// Any number, and numbers with many trailing zeros in base 2 or 10.
fn counts() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        (0_u64..100_000, 0_u32..14).prop_map(|(n, digits)| n * 10_u64.pow(digits)),
        (0_u64..100_000, 0_u32..42).prop_map(|(n, bits)| n << bits),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(n in counts()) {
        round_trip(Time::from_ps(n))?;
        round_trip(Span::from_ps(n))?;
        round_trip(Bytes::new(n))?;
        round_trip(Packets::new(n))?;
        round_trip(Rate::from_bits_per_second(n))?;
        round_trip(Amount::Bytes(Bytes::new(n)))?;
        round_trip(Amount::Packets(Packets::new(n)))?;
    }

    #[test]
    fn decimals_of_seconds_are_exact(ps in any::<u64>()) {
        let (seconds, rest) = (ps / 1_000_000_000_000, ps % 1_000_000_000_000);
        prop_assert_eq!(format!("{seconds}.{rest:012} s").parse(), Ok(Span::from_ps(ps)));
    }

    #[test]
    fn no_string_causes_a_panic(text in "\\PC{0,12}", number in "[0-9.]{1,24}") {
        for text in [text.clone(), format!("{number}{text}"), format!("{number} Gbit/s")] {
            let _ = text.parse::<Span>();
            let _ = text.parse::<Amount>();
            if let Err(error) = text.parse::<Rate>() {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
