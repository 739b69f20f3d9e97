//! The packet-hops that are expected of a run, by hand and compared with runs.

use incastle_experiment::expected_packet_hops;

use crate::common::{ONE_FLOW, STAR, assert_near, leaf_spine, mixed, result, scenario};

/// 100 segments of a flow over two links, and 100 acknowledgements.
#[test]
fn a_flow_over_a_star() {
    let text = format!("{STAR}{ONE_FLOW}size = \"146000 B\"\n");
    assert_near(expected_packet_hops(&scenario(&text, &[])), 400.0, 1e-9);
    let each = [("transport.delayed_ack_count", "1")];
    let ran = result(&text, &each).totals.packet_hops;
    assert_eq!(ran, 400);
}

/// Within a rack 2 links, between racks 4: the mean of the pairs that are looked up. A flow without end sends as much as
/// the receiver's link carries: 10 Gbit/s x 10 ms / 1500 B = 8333 packets.
#[test]
fn flows_over_a_leaf_spine() {
    let group = |to: &str| {
        format!(
            "[flows.one]\nworkload = \"bulk\"\nfrom = \"host:0\"\nto = \"{to}\"\nstart_spread = \"0 s\"\n"
        )
    };
    let hops = |to: &str| {
        let text = leaf_spine(2, 2, 2) + &group(to) + "size = \"1460 KB\"\n";
        expected_packet_hops(&scenario(&text, &[]))
    };
    assert_near(hops("host:1"), 2.0 * 2.0 * 1000.0, 1e-9);
    assert_near(hops("host:2"), 2.0 * 4.0 * 1000.0, 1e-9);
    let endless = leaf_spine(2, 2, 2) + &group("host:3");
    let expected = expected_packet_hops(&scenario(&endless, &[]));
    assert!((60_000.0..72_000.0).contains(&expected), "{expected}");
}

/// Groups that share a link count with all of it each, so the estimate is an upper one.
#[test]
fn mixed_traffic_has_at_most_five_times_less() {
    let text = mixed();
    let expected = expected_packet_hops(&scenario(&text, &[]));
    let ran = result(&text, &[]).totals.packet_hops as f64;
    assert!(
        (1.0..5.0).contains(&(expected / ran)),
        "{expected} for {ran}"
    );
}
