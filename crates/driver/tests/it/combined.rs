//! Loss recovery by time with every law of losses, with reordering, corruption and slower links, in every
//! combination: all bytes arrive, and threads change nothing. Each run asserts conservation at its end.

use incastle_driver::{Control, run_in_parts};
use incastle_experiment::{Output, alone_because};

use crate::common::{comparable, scenario};

const FABRIC: &str = r#"
[run]
duration = "10 s"
[network]
topology = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
rate = "1 Gbit/s"
delay = "2 us"
[switch]
buffer = "30 KB"
[transport]
congestion = "cubic"
preset = "linux"
min_rto = "1 ms"
initial_rto = "2 ms"
rto_granularity = "10 us"
delayed_ack_timeout = "60 us"
[flows.across]
workload = "permutation"
from = "all"
to = "all"
size = "60 KB"
[flows.incast]
workload = "bulk"
from = "host:1..3"
to = "host:0"
count = 6
size = "20 KB"
"#;

/// Keys of the degraded links: a law of losses, delays, corruption, and a slower link.
fn links(bits: u32, loss: Option<&'static str>) -> Vec<(String, String)> {
    let path = "network.degraded.bad";
    let mut keys = vec![("between", "['leaf:0', 'spine:0']"), ("until", "50 ms")];
    keys.extend(loss.map(|loss| ("loss", loss)));
    let (jitter, reorder) = (bits & 1 != 0, bits & 2 != 0);
    if jitter || reorder {
        keys.extend([("jitter", "20 us"), ("jitter_distribution", "exponential")]);
        keys.push(("reorder", if reorder { "true" } else { "false" }));
    }
    if bits & 4 != 0 {
        keys.push(("bit_error_rate", "2e-6"));
    }
    if bits & 8 != 0 || keys.len() == 2 {
        keys.extend([("rate", "300 Mbit/s"), ("delay", "12 us")]);
    }
    let keys = keys.into_iter();
    keys.map(|(key, value)| (format!("{path}.{key}"), value.to_owned()))
        .collect()
}

fn run(sets: &[(String, String)], threads: usize) -> Output {
    let sets: Vec<(&str, &str)> = sets
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    let scenario = scenario(FABRIC, &sets);
    assert_eq!(alone_because(&scenario), None, "threads divide it");
    let output = run_in_parts(&scenario, &Control::default(), threads);
    output.expect("the network can be built")
}

#[test]
fn every_combination_delivers_all_and_is_the_same_on_two_threads() {
    let laws = [
        None,
        Some("2 %"),
        Some("{ good_to_bad = '1 %', bad_to_good = '30 %' }"),
        Some(
            "{ good_to_bad = '2 %', bad_to_good = '20 %', loss_in_bad = '50 %', loss_in_good = '0.5 %' }",
        ),
    ];
    let mechanisms = ["tail_loss_probe", "dsack", "prr", "f_rto"];
    let (mut lost, mut corrupted, mut timeouts) = (0, 0, 0);
    for (law, loss) in laws.into_iter().enumerate() {
        for bits in 0..16 {
            for on in 0..16_u32 {
                let mut sets = links(bits, loss);
                for (bit, key) in mechanisms.iter().enumerate() {
                    let value = on & (1 << bit) != 0;
                    sets.push((format!("transport.{key}"), value.to_string()));
                }
                let alone = run(&sets, 1);
                let bytes = 4 * 60_000 + 6 * 20_000;
                assert_eq!(alone.totals.delivered_bytes, bytes, "{sets:?}");
                lost += alone.totals.lost_on_wire;
                corrupted += alone.totals.corrupted;
                timeouts += alone.totals.timeouts;
                // An eighth of them on threads, each mechanism and each law among them.
                if (law as u32 + bits + on).is_multiple_of(8) {
                    assert!(comparable(run(&sets, 2)) == comparable(alone), "{sets:?}");
                }
            }
        }
    }
    assert!(lost > 0 && corrupted > 0 && timeouts > 0);
}

#[test]
fn the_resolved_text_of_each_preset_gives_its_digest() {
    let mut digests = Vec::new();
    for preset in ["linux", "rfc", "ns-2-2010"] {
        let mut sets = links(15, Some("2 %"));
        sets.push(("transport.preset".to_owned(), preset.to_owned()));
        let digest = run(&sets, 1).digest;
        let sets: Vec<(&str, &str)> = sets
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        let resolved = scenario(&scenario(FABRIC, &sets).resolved(), &[]);
        let again = run_in_parts(&resolved, &Control::default(), 1);
        assert_eq!(again.expect("the network can be built").digest, digest);
        digests.push(digest);
    }
    assert_ne!(digests[0], digests[2], "the presets differ");
}
