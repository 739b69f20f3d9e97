//! Ports of a switch whose queue discipline differs from the others'.

use crate::common::{assert_near, of_port, real, result, scenario};
/// Two long DCTCP flows to each of two receivers, all ports with K = 20.
const TWO: &str = r#"
[run]
duration = "200 ms"
[network]
topology = "star"
senders = 4
receivers = 2
[switch]
buffer = "unlimited"
[switch.queue]
kind = "threshold"
marking_threshold = "20 packets"
[transport]
congestion = "dctcp"
handshake = false
delayed_ack_count = 1
[flows.first]
workload = "bulk"
from = "sender:0..1"
to = "receiver:0"
[flows.second]
workload = "bulk"
from = "sender:2..3"
to = "receiver:1"
[measure]
warmup = "50 ms"
"#;

const OWN: [(&str, &str); 2] = [
    ("switch.ports.fast.to", "receiver:1"),
    ("switch.ports.fast.queue.marking_threshold", "65 packets"),
];

#[test]
fn each_port_has_the_queue_of_its_own_threshold() {
    let output = result(TWO, &OWN);
    let queue = |port: &str| of_port(&output, port, "mean_queue_packets");
    // Two flows overshoot K by one packet each, and fall back by less than a quarter of K + BDP.
    assert_near(queue("switch->receiver:0"), 20.0, 6.0);
    assert_near(queue("switch->receiver:1"), 65.0, 8.0);
}

#[test]
fn a_group_of_all_ports_is_the_switch() {
    let digest = |sets: &[(&str, &str)]| result(TWO, sets).digest;
    let whole = digest(&[("switch.queue.marking_threshold", "65 packets")]);
    let all = [
        ("switch.ports.all.queue.marking_threshold", "65 packets"),
        ("switch.ports.all.to", "all"),
    ];
    assert_eq!(digest(&all), whole);
    assert_ne!(digest(&[]), whole);
    // Both receivers by the label alone; no other queue ever exceeds a threshold.
    let both = [(
        "switch.ports.receivers.queue.marking_threshold",
        "65 packets",
    )];
    assert_eq!(digest(&both), whole);
    // If several groups have a port, the last one counts, as with links and switches.
    let last = [
        ("switch.ports.none.to", "receivers"),
        ("switch.ports.none.queue.kind", "drop-tail"),
        both[0],
    ];
    assert_eq!(digest(&last), whole);
}

#[test]
fn a_group_inherits_what_it_does_not_say() {
    let resolved = scenario(TWO, &OWN).resolved();
    let own = resolved.split("[switch.ports.fast.queue]").nth(1);
    assert!(
        own.is_some_and(|own| own.starts_with(
            "\nkind = \"threshold\"\nmarking_threshold = \"65 packets\"\nnot_ect = \"admit\"\n"
        )),
        "{resolved}"
    );
    let again = scenario(&resolved, &[]);
    assert_eq!(again.resolved(), resolved);
    // The ports of a group of switches have that group's queue.
    let sets = [OWN[0], OWN[1], ("switches.switch.queue.not_ect", "drop")];
    let resolved = scenario(TWO, &sets).resolved();
    let own = resolved.split("[switches.switch.ports.fast.queue]").nth(1);
    assert!(
        own.is_some_and(
            |own| own.contains("marking_threshold = \"65 packets\"\nnot_ect = \"drop\"")
        ),
        "{resolved}"
    );
}

#[test]
fn ideal_times_know_the_port() {
    // A receiver's link ten times slower than the senders': even a flow alone meets its K.
    let flow = |to: &str| {
        let start = if to == "receiver:0" { "0 s" } else { "500 ms" };
        format!(
            "[flows.{}]\nworkload = \"bulk\"\nsize = \"300 KB\"\nfrom = \"sender:0\"\n\
             to = \"{to}\"\nstart = \"{start}\"\nstart_spread = \"0 s\"\n",
            to.replace(':', "-")
        )
    };
    let (head, _) = TWO.split_once("[flows.first]").expect("it has flows");
    let text = format!("{head}{}{}", flow("receiver:0"), flow("receiver:1"));
    let mut sets = OWN.to_vec();
    sets.extend([
        ("run.duration", "1 s"),
        // 10 packets in flight, so that the link becomes idle under K = 1.
        ("network.delay", "250 us"),
        ("switch.queue.marking_threshold", "1 packets"),
        ("network.links.receivers.rate", "100 Mbit/s"),
        ("measure.slowdown", "true"),
        ("measure.ideal", "own-transport"),
    ]);
    let output = result(&text, &sets);
    let column = |name: &str| real(&output, "transfers", name);
    let (started, completed) = (column("started_s"), column("completed_s"));
    let ideal = column("ideal_fct_s");
    assert_eq!(ideal.len(), 2);
    for row in 0..2 {
        assert_near(completed[row] - started[row], ideal[row], 0.4e-12);
    }
    assert!((ideal[0] - ideal[1]).abs() > 1e-6, "{ideal:?}");
}
