//! Estimates link by link against the simulation of the whole network.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use incastle_driver::{EstimateWatcher, estimate, take_apart};
use incastle_estimate::{Delays, EstimateError, Estimation};
use incastle_experiment::Output;

use crate::common::{real, result, scenario, text, whole};

/// Ten senders and one receiver: what flows wait for is their own host's link and one that all share.
const INCAST: &str = r#"
[run]
duration = "1 s"
[network]
topology = "star"
senders = 10
rate = "10 Gbit/s"
delay = "5 us"
[switch]
buffer = "1 MB"
queue = { kind = "threshold", marking_threshold = "65 packets" }
[transport]
congestion = "dctcp"
[flows.web]
workload = "poisson"
sizes = "websearch"
load = 0.7
from = "senders"
to = "receiver"
stop = "200 ms"
[measure]
slowdown = true
"#;

/// Four leaves of eight hosts, oversubscribed 2 to 1.
const FABRIC: &str = r#"
[run]
duration = "100 ms"
[network]
topology = "leaf-spine"
leaves = 4
spines = 4
hosts_per_leaf = 8
rate = "10 Gbit/s"
delay = "1 us"
[switch]
buffer = "1 MB"
queue = { kind = "threshold", marking_threshold = "65 packets" }
[transport]
congestion = "dctcp"
[flows.web]
workload = "poisson"
sizes = "hadoop"
load = 0.3
from = "hosts"
to = "hosts"
stop = "15 ms"
[measure]
slowdown = true
"#;

/// Stores the delays of links.
#[derive(Default)]
struct Keeper(BTreeMap<usize, Delays>);

impl EstimateWatcher for Keeper {
    fn link(&mut self, link: usize, delays: &Delays) {
        self.0.insert(link, delays.clone());
    }

    fn tick(&mut self, done: f64) {
        assert!((0.0..=1.0).contains(&done));
    }
}

fn apart(text: &str, sets: &[(&str, &str)], per_class: Option<usize>) -> Estimation {
    take_apart(&scenario(text, sets), per_class, 2).expect("it is suited")
}

fn estimated(
    estimation: &Estimation,
    threads: usize,
    known: &BTreeMap<usize, Delays>,
) -> (Output, Keeper) {
    let mut keeper = Keeper::default();
    let cancel = AtomicBool::new(false);
    let output = estimate(estimation, threads, known.clone(), &cancel, &mut keeper);
    let output = output.expect("no link fails").expect("nobody stops it");
    (output, keeper)
}

/// Compares each time of at least `min_flows` flows with that of the whole network.
fn assert_exact(text: &str, sets: &[(&str, &str)], min_flows: usize) {
    assert_close(text, sets, min_flows, 0.0);
}

/// The same, with differences below `tolerance_s`.
fn assert_close(text: &str, sets: &[(&str, &str)], min_flows: usize, tolerance_s: f64) {
    let (found, _) = estimated(&apart(text, sets, None), 2, &BTreeMap::new());
    let run = result(text, sets);
    for column in ["started_s", "completed_s", "ideal_fct_s"] {
        let [found, run] = [&found, &run].map(|output| real(output, "transfers", column));
        assert!(
            found.len() >= min_flows,
            "{} flows with {sets:?}",
            found.len()
        );
        assert_eq!(found.len(), run.len());
        for (one, other) in found.iter().zip(&run) {
            let same = one.to_bits() == other.to_bits() || (one - other).abs() < tolerance_s;
            assert!(same, "{column}: {one} instead of {other} with {sets:?}");
        }
    }
}

#[test]
fn one_link_shared_by_hosts_is_exact() {
    assert_exact(INCAST, &[], 60);
    let handshake = [("transport.handshake", "false"), ("network.senders", "3")];
    assert_exact(INCAST, &handshake, 60);
    let losses = [
        ("transport.congestion", "new-reno"),
        ("switch.queue.kind", "drop-tail"),
        ("switch.buffer", "30 KB"),
    ];
    assert_exact(INCAST, &losses, 60);
    let messages = [
        ("flows.web.sizes", "2 KB"),
        ("flows.web.load", "0.9"),
        ("flows.web.stop", "1 ms"),
    ];
    assert_exact(INCAST, &messages, 400);
    // Marks and queues also where a flow is alone.
    let slower = [
        ("network.links.receivers.rate", "4 Gbit/s"),
        ("flows.web.load", "0.6"),
    ];
    assert_exact(INCAST, &slower, 20);
    // Flows that do not complete before the end do not complete in the estimate either.
    let cut = [("run.duration", "20 ms"), ("flows.web.stop", "end")];
    assert_exact(INCAST, &cut, 5);
}

#[test]
fn controls_of_today_are_exact_on_one_link() {
    assert_exact(INCAST, &[("transport.congestion", "prague")], 60);
    // Its draws are those of a flow's number, which an estimate counts per link.
    assert_close(INCAST, &[("transport.congestion", "bbr")], 60, 5e-6);
    for slow_start in ["hystart", "hystart++"] {
        let sets = [
            ("transport.congestion", "cubic"),
            ("transport.slow_start", slow_start),
            ("transport.pacing", "true"),
            ("transport.prr", "true"),
            ("switch.buffer", "30 KB"),
        ];
        assert_exact(INCAST, &sets, 60);
    }
}

#[test]
fn one_link_shared_between_switches_is_exact() {
    let rows = (0..12).map(|row| {
        let (host, us) = (row % 4, 40 * (row % 4) + 5_000 * (row / 4));
        format!("[\"{us} us\", \"sender:{host}\", \"receiver:{host}\", 300000],")
    });
    let text = INCAST
        .replace(
            "topology = \"star\"",
            "topology = \"dumbbell\"\nreceivers = 10",
        )
        .replace("to = \"receiver\"", "to = \"receivers\"")
        .replace(
            "workload = \"poisson\"\nsizes = \"websearch\"\nload = 0.7",
            &format!(
                "workload = \"flow-list\"\ntransfers = {{ list = [{}] }}",
                rows.collect::<String>()
            ),
        );
    // A pace is no whole number of picoseconds per packet.
    assert_close(&text, &[], 12, 1e-9);
}

#[test]
fn flows_that_nothing_simulated_is_like_are_estimated() {
    // The one link of three that is simulated has flows that are timed at the receiver's; the short one
    // comes over another.
    let list = "[\"0 s\", \"sender:0\", \"receiver\", 1000000], \
        [\"0 s\", \"sender:1\", \"receiver\", 1000000], \
        [\"100 ms\", \"sender:2\", \"receiver\", 1000]";
    let text = INCAST.replace(
        "workload = \"poisson\"\nsizes = \"websearch\"\nload = 0.7",
        &format!("workload = \"flow-list\"\ntransfers = {{ list = [{list}] }}"),
    );
    let text = text.replace("stop = \"200 ms\"\n", "");
    let sets = [("network.senders", "3")];
    for links in 1..3 {
        let (found, _) = estimated(&apart(&text, &sets, Some(links)), 1, &BTreeMap::new());
        let completed = real(&found, "transfers", "completed_s");
        assert!(completed.iter().all(|at| at.is_finite()), "{completed:?}");
    }
}

#[test]
fn neither_threads_nor_interruptions_matter() {
    let estimation = apart(FABRIC, &[], Some(6));
    assert!(estimation.links().len() < estimation.crossed());
    let (first, all) = estimated(&estimation, 1, &BTreeMap::new());
    let simulations = estimation.links().len();
    assert_eq!(all.0.len(), simulations);
    let (second, _) = estimated(&estimation, 3, &BTreeMap::new());
    let half: BTreeMap<_, _> = all.0.into_iter().step_by(2).collect();
    let (third, rest) = estimated(&estimation, 2, &half);
    assert_eq!(rest.0.len() + half.len(), simulations);
    assert_eq!(first, second);
    assert_eq!(first, third);
}

#[test]
fn a_stopped_estimate_gives_nothing() {
    let estimation = apart(FABRIC, &[], None);
    let mut keeper = Keeper::default();
    let cancel = AtomicBool::new(true);
    let output = estimate(&estimation, 2, BTreeMap::new(), &cancel, &mut keeper);
    assert_eq!(output, Ok(None));
    assert!(keeper.0.is_empty());
}

#[test]
fn flows_take_the_paths_of_the_engine() {
    let (found, _) = estimated(&apart(FABRIC, &[], Some(1)), 2, &BTreeMap::new());
    let run = result(FABRIC, &[]);
    let ports = text(&run, "links", "port");
    let carried: BTreeMap<_, _> = ports.iter().zip(whole(&run, "links", "bytes")).collect();
    let (mut data, mut all) = (0, 0);
    let bytes = [
        whole(&found, "crossed_links", "bytes_forth"),
        whole(&found, "crossed_links", "bytes_back"),
    ];
    for (row, link) in text(&found, "crossed_links", "link").iter().enumerate() {
        let (near, far) = link.split_once("->").expect("a link has two ends");
        for (port, bytes) in [link.clone(), format!("{far}->{near}")].iter().zip(&bytes) {
            assert!(
                bytes[row] <= carried[port],
                "{port}: {} of {}",
                bytes[row],
                carried[port]
            );
            data += bytes[row];
            all += carried[port];
        }
    }
    // Headers, and an ACK of 40 bytes for each packet: 1540 to 1460.
    assert!(data * 110 > all * 100, "{data} of {all}");
}

#[test]
fn a_fabric_is_estimated_within_limits() {
    let slowdowns = |output: &Output| {
        let mut all = real(output, "transfers", "slowdown");
        all.sort_by(f64::total_cmp);
        [all[all.len() * 9 / 10], all[all.len() * 99 / 100]]
    };
    let (found, _) = estimated(&apart(FABRIC, &[], None), 2, &BTreeMap::new());
    let run = slowdowns(&result(FABRIC, &[]));
    for (found, run) in slowdowns(&found).into_iter().zip(run) {
        assert!((found / run - 1.0).abs() < 0.2, "{found} instead of {run}");
    }
}

#[test]
fn what_single_links_cannot_show_is_refused() {
    for (set, key) in [
        (("network.ecmp", "packet"), "network.ecmp"),
        (("switch.queue.kind", "dualpi2"), "switch.queue.kind"),
        (
            (
                "network.degraded.bad",
                "{ between = [\"leaf:0\", \"spine:1\"], loss = \"1 %\" }",
            ),
            "network.degraded.bad",
        ),
        (
            ("flows.web.transport.congestion", "swift"),
            "flows.web.transport.congestion",
        ),
        (("flows.web.workload", "permutation"), "flows.web.workload"),
        (
            ("flows.web.transport.kind", "udt"),
            "flows.web.transport.kind",
        ),
        (
            ("network.failures.one.between", "[\"leaf:0\", \"spine:1\"]"),
            "network.failures",
        ),
        (
            (
                "network.links.hosts.schedule",
                "[{ at = \"1 ms\", rate = \"5 Gbit/s\" }]",
            ),
            "network.links",
        ),
    ] {
        let mut sets = vec![set];
        if key == "flows.web.workload" {
            sets.extend([("flows.web.size", "1 MB")]);
        }
        match take_apart(&scenario(&without_poisson(key), &sets), None, 1) {
            Err(EstimateError::Unsuited(found)) => assert_eq!(found.key, key),
            _ => panic!("{key} was taken"),
        }
    }
}

/// The fabric, without the keys of Poisson flows where another workload is requested.
fn without_poisson(key: &str) -> String {
    if key == "flows.web.workload" {
        FABRIC.replace("sizes = \"hadoop\"\nload = 0.3\n", "")
    } else {
        FABRIC.to_owned()
    }
}
