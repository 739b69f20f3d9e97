//! Buffer occupancy of switches over time: shared memories with Dynamic Thresholds, and memories per port.

use incastle_experiment::Output;

use crate::common::{assert_near, of_port, real, result, text, whole};

/// Eight senders of 10 Gbit/s overload two receivers of 1 Gbit/s.
const PRESSURE: &str = r#"
[run]
duration = "20 ms"
[network]
topology = "star"
senders = 8
receivers = 2
rate = "10 Gbit/s"
delay = "25 us"
[network.links.receivers]
rate = "1 Gbit/s"
[switch]
buffer = { shared = "4 MB", alpha = 0.21 }
[host]
jitter = "2 us"
[transport]
handshake = false
[flows.first]
workload = "bulk"
from = "sender:0..3"
to = "receiver:0"
[flows.second]
workload = "bulk"
from = "sender:4..7"
to = "receiver:1"
start = "10 ms"
[measure]
buffer_occupancy = { every = "37 us" }
"#;

/// The rows of `memory`: (time, port, bytes, threshold).
fn rows(output: &Output) -> Vec<(f64, String, f64, f64)> {
    let times = real(output, "buffer_occupancy", "time_s");
    let ports = text(output, "buffer_occupancy", "port");
    let bytes = whole(output, "buffer_occupancy", "bytes");
    let limits = real(output, "buffer_occupancy", "threshold_bytes");
    (0..times.len())
        .map(|row| {
            (
                times[row],
                ports[row].clone(),
                bytes[row] as f64,
                limits[row],
            )
        })
        .collect()
}

#[test]
fn the_ports_of_a_shared_memory_never_hold_more_than_it_has() {
    let output = result(PRESSURE, &[]);
    let rows = rows(&output);
    assert!(output.totals.drops > 0, "the memory is under pressure");
    let mut all = rows.iter().filter(|row| row.1 == "all").peekable();
    // 540 samples, 37 us apart, until 20 ms.
    assert_eq!(all.clone().count(), 540);
    assert_near(all.peek().expect("samples").0, 37e-6, 1e-12);
    let mut max = 0.0_f64;
    for (time, _, bytes, capacity) in all {
        let at = |row: &&(f64, String, f64, f64)| row.1 != "all" && (row.0 - time).abs() <= 0.0;
        let sum: f64 = rows.iter().filter(at).map(|row| row.2).sum();
        assert_near(sum, *bytes, 0.0);
        assert_near(*capacity, 4e6, 0.0);
        assert!(bytes <= capacity);
        for (.., limit) in rows.iter().filter(at) {
            // alpha times what is free, in whole bytes.
            assert_near(*limit, (0.21 * (4e6 - bytes)).floor(), 1.0);
        }
        max = max.max(*bytes);
    }
    assert!(output.totals.max_memory_bytes as f64 >= max);
}

/// At admission a port stays within alpha times the free memory. A single port gets alpha / (1 + alpha) of the
/// memory, about 694 KB. Two ports get alpha / (1 + 2 alpha) each, and the first falls to that.
#[test]
fn busy_ports_get_their_shares_by_dynamic_thresholds() {
    let packet = 1_500.0;
    let alone = 4e6 * 0.21 / 1.21;
    let output = result(PRESSURE, &[]);
    let first = of_port(&output, "switch->receiver:0", "max_bytes");
    assert!((alone - 2.0 * packet..=alone).contains(&first), "{first}");
    let both = 4e6 * 0.21 / 1.42;
    let second = of_port(&output, "switch->receiver:1", "max_bytes");
    assert!((both - 5.0 * packet..alone).contains(&second), "{second}");
    let late: Vec<f64> = rows(&output)
        .into_iter()
        .filter(|row| row.0 > 18e-3 && row.1 == "switch->receiver:0")
        .map(|row| row.2)
        .collect();
    assert!(late.iter().all(|bytes| *bytes <= both + 5.0 * packet));
    assert!(of_port(&output, "sender:0->switch", "max_bytes").is_nan());
}

#[test]
fn memories_per_port_have_the_limit_of_the_port() {
    let sets = [
        ("switch.buffer", "100 KB"),
        (
            "measure.buffer_occupancy",
            "{ every = '1 ms', switches = 'switch' }",
        ),
    ];
    let output = result(PRESSURE, &sets);
    for (_, port, bytes, limit) in rows(&output) {
        if port == "all" {
            assert!(limit.is_nan() && bytes <= 2.0 * 100e3);
        } else {
            assert!(bytes <= limit && (limit - 100e3).abs() <= 0.0);
        }
    }
    assert_eq!(output.totals.max_memory_bytes, 0, "no memory is shared");
    let first = of_port(&output, "switch->receiver:0", "max_bytes");
    assert!((98_500.0..=100e3).contains(&first), "{first}");
}

#[test]
fn looking_changes_nothing() {
    let looked = result(PRESSURE, &[]);
    let not = result(PRESSURE, &[("measure.buffer_occupancy", "off")]);
    assert_eq!(looked.digest, not.digest);
    assert!(
        not.tables
            .iter()
            .all(|table| table.name != "buffer_occupancy")
    );
}
