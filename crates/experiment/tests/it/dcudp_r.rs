//! The revised DCUDP in whole networks: the gates of docs/models/dcudp-r.md over UDT's packets with accurate ACKs.

#![allow(clippy::print_stdout, reason = "the figures are for the documentation")]

use incastle_experiment::Output;

use crate::common::{of_port, real, result, whole};

/// Long flows through a star: a round trip of 100 us is four links of 25 us.
const LONG: &str = r#"
[run]
duration = "200 ms"
[network]
topology = "star"
senders = 2
rate = "10 Gbit/s"
delay = "25 us"
[switch]
buffer = "1000 packets"
[switch.queue]
kind = "threshold"
marking_threshold = "65 packets"
[measure]
warmup = "100 ms"
[transport]
kind = "udt"
congestion = "dcudp-r"
[flows.long]
workload = "bulk"
from = "senders"
to = "receiver"
"#;

struct Measured {
    goodput: Vec<f64>,
    utilisation: f64,
    queue: f64,
    output: Output,
}

fn measured(sets: &[(&str, &str)]) -> Measured {
    let output = result(LONG, sets);
    let measured = Measured {
        goodput: real(&output, "flows", "goodput_bit_s"),
        utilisation: of_port(&output, "switch->receiver", "utilisation"),
        queue: of_port(&output, "switch->receiver", "mean_queue_packets"),
        output,
    };
    println!(
        "{sets:?}: use {:.4}, queue {:.1}, index {:.4}, retransmissions {}, drops {}, timeouts {}",
        measured.utilisation,
        measured.queue,
        measured.index(),
        measured.total("retransmissions"),
        measured.output.totals.drops,
        measured.total("timeouts"),
    );
    measured
}

impl Measured {
    fn index(&self) -> f64 {
        let sum: f64 = self.goodput.iter().sum();
        let squares: f64 = self.goodput.iter().map(|rate| rate * rate).sum();
        sum * sum / (squares * self.goodput.len() as f64)
    }

    fn total(&self, column: &str) -> u64 {
        whole(&self.output, "flows", column).iter().sum()
    }

    /// Claims 1, 9 and 10 of the page.
    fn assert_gates(&self, threshold: f64) {
        assert!(self.utilisation >= 0.95, "{}", self.utilisation);
        assert!(self.queue < 2.0 * threshold, "{}", self.queue);
        assert!(self.index() > 0.95, "{:?}", self.goodput);
    }
}

#[test]
fn two_and_four_flows_share_a_full_link_with_a_short_queue() {
    for senders in ["2", "4"] {
        let measured = measured(&[("network.senders", senders)]);
        measured.assert_gates(65.0);
        assert_eq!(measured.output.totals.drops, 0);
    }
}

#[test]
fn a_hundred_gigabit() {
    for senders in ["2", "4"] {
        let sets = [
            ("network.senders", senders),
            ("network.rate", "100 Gbit/s"),
            ("switch.queue.marking_threshold", "200 packets"),
            ("switch.buffer", "4000 packets"),
            // The peer's room is known every 10 ms, in full ACKs: 83,333 packets.
            ("transport.flow_window", "262144 packets"),
        ];
        measured(&sets).assert_gates(200.0);
    }
}

#[test]
fn a_hundred_megabit() {
    for senders in ["2", "4"] {
        let sets = [
            ("network.senders", senders),
            ("network.rate", "100 Mbit/s"),
            ("network.delay", "250 us"),
            ("switch.queue.marking_threshold", "20 packets"),
            ("switch.buffer", "200 packets"),
            ("run.duration", "4 s"),
            ("measure.warmup", "2 s"),
        ];
        measured(&sets).assert_gates(20.0);
    }
}

#[test]
fn one_and_twenty_flows_fill_the_link() {
    for senders in ["1", "20"] {
        measured(&[("network.senders", senders)]).assert_gates(65.0);
    }
}

#[test]
fn random_loss_is_no_congestion() {
    for senders in ["1", "2"] {
        let sets = [
            ("network.senders", senders),
            ("network.degraded.bad.between", "['switch', 'receiver']"),
            ("network.degraded.bad.loss", "1 %"),
        ];
        let measured = measured(&sets);
        assert!(measured.total("retransmissions") > 500);
        let goodput: f64 = measured.goodput.iter().sum();
        assert!(goodput > 0.9 * 9.7e9, "{goodput}");
    }
}

/// 50 us and 200 us. Without any jitter the packets of one flow arrive in the same places of the other's pattern, and one
/// packet more or less in the queue decides on their marks: an artefact, as on DCTCP's page.
#[test]
fn rates_do_not_follow_the_round_trips() {
    for (jitter, ratios) in [
        ("0 s", 1.4..2.2),
        ("1200 ns", 0.8..1.25),
        ("5 us", 0.8..1.25),
    ] {
        let sets = [
            ("run.duration", "400 ms"),
            ("measure.warmup", "200 ms"),
            ("host.jitter", jitter),
            ("network.delay", "12500 ns"),
            ("network.degraded.far.between", "['sender:1', 'switch']"),
            ("network.degraded.far.delay", "87500 ns"),
        ];
        let measured = measured(&sets);
        let ratio = measured.goodput[0] / measured.goodput[1];
        println!("near to far {ratio:.3}");
        assert!(ratios.contains(&ratio), "{ratio}");
        assert!(measured.utilisation > 0.95 && measured.queue < 130.0);
    }
}
