//! One long flow through a degraded link, under every control: slower than the link, farther, and with random losses.

use incastle_experiment::Output;
use incastle_scenario::catalog;

use crate::common::{real, result, whole};

/// The link to the receiver has a twentieth of its rate, 5 ms more, and loses 1 %: RTT 12.5 ms in all.
const LINK: &str = r#"
[run]
duration = "40 s"
[network]
topology = "star"
senders = 1
rate = "1 Gbit/s"
delay = "2500 us"
[network.degraded.bad]
between = ["switch", "receiver"]
direction = "forward"
rate = "50 Mbit/s"
delay = "5 ms"
loss = "1 %"
[switch]
buffer = "1 MB"
[flows.one]
workload = "bulk"
from = "sender:0"
to = "receiver"
"#;

/// The degraded rate less the headers: 1460 of 1500 bytes are data.
const GOODPUT: f64 = 50e6 * 1460.0 / 1500.0;

/// The goodput of a window of 1.31 / sqrt(p) packets (Mathis et al. 1997, random losses and an ACK for each packet).
fn law() -> f64 {
    1.31 / 0.01_f64.sqrt() * 1460.0 * 8.0 / 12.5e-3
}

fn goodput(output: &Output) -> f64 {
    let goodput = real(output, "flows", "goodput_bit_s")[0];
    // UDT's headers are larger than TCP's.
    assert!(goodput < GOODPUT, "no more than the link's rate: {goodput}");
    goodput
}

/// The goodput of a control of TCP over that of the law.
fn share(control: &str, preset: &str, more: &[(&str, &str)]) -> f64 {
    let mut sets = vec![
        ("transport.congestion", control),
        ("transport.preset", preset),
        ("transport.delayed_ack_count", "1"),
    ];
    sets.extend(more);
    let output = result(LINK, &sets);
    // Some 300 losses. Without RACK-TLP each retransmission that is lost waits for the timer.
    let timeouts = whole(&output, "flows", "timeouts")[0];
    let most = if preset == "ns-2-2010" { 15 } else { 1 };
    assert!(timeouts <= most, "{control} {preset}: {timeouts}");
    goodput(&output) / law()
}

/// Each control halves its window for a loss, and grows by one segment per round trip.
const LIKE_RENO: [&str; 5] = ["new-reno", "reno", "dctcp", "d2tcp", "dt-cwa"];

#[test]
fn controls_that_halve_their_windows_follow_the_law() {
    for preset in ["linux", "rfc", "ns-2-2010"] {
        let new_reno = share("new-reno", preset, &[]);
        // Linux counts segments under Reno alone, of these five.
        let in_bytes = share("new-reno", preset, &[("transport.window_rule", "rfc")]);
        for control in LIKE_RENO {
            let found = share(control, preset, &[]);
            // Reno's own recovery ends with the first new ACK: each of its timeouts costs 200 ms.
            let least = if control == "reno" && preset == "ns-2-2010" {
                0.8
            } else {
                0.85
            };
            assert!(
                (least..1.15).contains(&found),
                "{control} {preset}: {found}"
            );
            // No packet is marked: with one recovery they are one control.
            if preset != "ns-2-2010" {
                let reno = ["new-reno", "reno"].contains(&control);
                let same = if reno { new_reno } else { in_bytes };
                assert!((found - same).abs() < 1e-9, "{control}: {found}");
            }
        }
        // RFC 9438, section 4.3: at this round trip CUBIC is as Reno.
        let cubic = share("cubic", preset, &[("transport.window_rule", "rfc")]);
        assert!((0.85..1.15).contains(&cubic), "{preset}: {cubic}");
        // It grows by a segment, too, and a loss takes half, as long as its target is far away.
        let swift = share("swift", preset, &[("transport.base_target", "20 ms")]);
        assert!((0.85..1.15).contains(&swift), "{preset}: {swift}");
    }
}

/// After each loss the window of Linux's CUBIC rests for 1/32 s, 2.5 of these round trips, of eight between losses.
#[test]
fn the_rests_of_linux_slow_cubic() {
    let found = share("cubic", "linux", &[]);
    let rfc = share("cubic", "linux", &[("transport.window_rule", "rfc")]);
    assert!((0.7..0.9).contains(&(found / rfc)), "{found} of {rfc}");
}

/// Where a window grows by a segments per round trip, that of the law is larger by sqrt(a). Prague's grows by
/// (12.5 / 25)^2 with its default target.
#[test]
fn prague_follows_the_law_of_its_growth() {
    for (target, expected) in [("0 s", 1.0), ("25 ms", 0.5)] {
        let found = share("prague", "linux", &[("transport.rtt_target", target)]);
        let ratio = found / expected;
        assert!((0.85..1.15).contains(&ratio), "{target}: {found}");
    }
}

/// BBR does not take single losses for congestion.
#[test]
fn bbr_fills_most_of_the_link() {
    for preset in ["linux", "rfc", "ns-2-2010"] {
        let found = share("bbr", preset, &[]) * law() / GOODPUT;
        assert!(found > 0.8, "{preset}: {found}");
    }
}

/// No law is known for UDT under random losses; DCUDP ignores them in its mode without congestion.
#[test]
fn udt_and_dcudp_make_progress() {
    for kind in ["udt", "dcudp"] {
        let output = result(LINK, &[("transport.kind", kind)]);
        let found = goodput(&output) / GOODPUT;
        assert!(found > 0.1, "{kind}: {found}");
    }
}

/// A new control needs a place above.
#[test]
fn every_control_is_tested() {
    let elsewhere = ["cubic", "prague", "swift", "bbr", "custom"];
    let lists = catalog();
    let algorithms = lists.iter().find(|list| list.name == "algorithms");
    for entry in &algorithms.expect("a list of algorithms").entries {
        let set = [("transport.congestion".to_owned(), entry.name.to_owned())];
        let is_tcp = crate::common::parse(LINK, "link.toml", &set).is_ok();
        let known = LIKE_RENO.contains(&entry.name) || elsewhere.contains(&entry.name);
        assert!(known || !is_tcp, "{}", entry.name);
    }
}
