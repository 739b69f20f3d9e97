//! The offered load of links, against long runs far from overload.

use incastle_cases::cases;
use proptest::prelude::*;

use crate::common::{leaf_spine, parse, result, text, whole};

/// The ports from one role to another.
struct Ports {
    from: &'static str,
    to: &'static str,
}

struct Measured {
    /// The mean utilization of the ports that sent anything.
    utilization: f64,
    /// The share of data packets that are retransmissions.
    retransmitted: f64,
}

fn measured(scenario: &str, ports: &Ports, seconds: f64, rate: f64) -> Measured {
    let output = result(scenario, &[]);
    let names = text(&output, "links", "port");
    let bytes = whole(&output, "links", "bytes");
    let own = names.iter().zip(bytes).filter(|(name, _)| {
        let (from, to) = name.split_once("->").expect("a port joins two nodes");
        from.starts_with(ports.from) && to.starts_with(ports.to)
    });
    let sent: Vec<u64> = own
        .map(|(_, bytes)| bytes)
        .filter(|bytes| *bytes > 0)
        .collect();
    let utilization = sent.iter().sum::<u64>() as f64 / (sent.len() as f64 * seconds * rate);
    let totals = output.totals;
    Measured {
        utilization,
        retransmitted: totals.retransmissions as f64 / totals.data_packets as f64,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(12)))]

    /// Some twenty thousand packets of 1500 B: their number is within 4 % of its mean with five standard deviations.
    #[test]
    fn a_long_run_measures_what_was_computed(
        leaves in 2..5_u32,
        spines in 1..4_u32,
        hosts in 2..5_u32,
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
        // Where only the first leaf sends data, the others send ACKs alone.
        let (from, acks) = match senders {
            1 => ("leaf", if kind == 0 { 0.0 } else { 40.0 / 3000.0 * uplinks.wire }),
            _ => ("leaf:0", 0.0),
        };
        let Measured { utilization, retransmitted } =
            measured(&text, &Ports { from, to: "spine" }, seconds, 1.25e9);
        // Reordered packets make TCP retransmit, which the offered load does not contain.
        prop_assume!(retransmitted < 0.01);
        let off = (utilization - uplinks.wire - acks).abs() / uplinks.wire;
        prop_assert!(off < 0.06, "{utilization} measured, {} computed", uplinks.wire);
    }
}
