//! The offered load of links, against long runs far from overload.

use incastle_cases::cases;
use proptest::prelude::*;

use crate::common::{leaf_spine, parse, result, text, whole};

/// The mean utilization of the ports from one role to another, without silent ports; and the share of
/// retransmitted data packets.
fn measured(scenario: &str, ports: (&str, &str), seconds: f64, rate: f64) -> (f64, f64) {
    let output = result(scenario, &[]);
    let names = text(&output, "links", "port");
    let bytes = whole(&output, "links", "bytes");
    let own = names.iter().zip(bytes).filter(|(name, _)| {
        let (from, to) = name.split_once("->").expect("a port joins two nodes");
        from.starts_with(ports.0) && to.starts_with(ports.1)
    });
    let sent: Vec<u64> = own
        .map(|(_, bytes)| bytes)
        .filter(|bytes| *bytes > 0)
        .collect();
    let used = sent.iter().sum::<u64>() as f64 / (sent.len() as f64 * seconds * rate);
    let totals = output.totals;
    (
        used,
        totals.retransmissions as f64 / totals.data_packets as f64,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(12)))]

    /// Some twenty thousand packets of 1500 B: their number is within 4 % of its mean with five standard deviations.
    #[test]
    fn a_long_run_measures_what_was_computed(
        (leaves, spines, hosts) in (2..5_u32, 1..4_u32, 2..5_u32),
        load in 0.05..0.4_f64,
        senders in 1..3_u32,
        kind in 0..3_u32,
    ) {
        let all = leaves * hosts;
        // From some hosts of the first leaf to all, or from all to all.
        let from = if senders == 1 { "\"all\"".to_owned() } else { format!("\"host:0..{}\"", hosts - 1) };
        let seconds = 20_000.0 * 1500.0 / (load * f64::from(all) * 1.25e9);
        let flows = match kind {
            0 => format!("workload = \"poisson-datagrams\"\npairs = \"all\"\nload = {load}\ntransport = {{ kind = \"udp\" }}"),
            1 => format!("workload = \"poisson\"\nsizes = \"14600 B\"\nload = {load}"),
            _ => format!("workload = \"random-incast\"\ncount = 1\nsru = \"29200 B\"\nload = {load}"),
        };
        let seconds = if kind == 0 { seconds } else { 10.0 * seconds };
        let text = leaf_spine(leaves, spines, hosts)
            .replace("10 ms", &format!("{:.0} us", seconds * 1e6))
            .replace("rate =", "ecmp = \"packet\"\nrate =")
            + "[switch]\nbuffer = \"unlimited\"\n[transport]\nhandshake = false\n"
            + &format!("[flows.all]\nfrom = {from}\nto = \"all\"\n{flows}\n");
        let (read, found) = parse(&text, "test.toml", &[]).expect("a right scenario");
        // Leaves out: hosts without a receiver, and links with few senders.
        prop_assume!(found.is_empty());
        let offered = read.offered_load();
        let uplinks = offered.together.iter().find(|row| row.tier == "uplinks" && row.direction != "down");
        let uplinks = uplinks.expect("a leaf-spine has uplinks");
        prop_assume!(uplinks.links > 0 && uplinks.wire < 0.8);
        // Where only the first leaf sends data, the others send ACKs of them, and nothing else.
        let (leaves, acks) = match senders {
            1 => ("leaf", if kind == 0 { 0.0 } else { 40.0 / 3000.0 * uplinks.wire }),
            _ => ("leaf:0", 0.0),
        };
        let (found, resent) = measured(&text, (leaves, "spine"), seconds, 1.25e9);
        // Packets that overtake each other make TCP send again, which no load has in it.
        prop_assume!(resent < 0.01);
        let off = (found - uplinks.wire - acks).abs() / uplinks.wire;
        prop_assert!(off < 0.06, "{found} measured, {} computed", uplinks.wire);
    }
}
