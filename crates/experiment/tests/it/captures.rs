//! Captures: looking on changes nothing, every frame is there once, and the files follow from the scenario.
//! tests/interop has tshark read the frames.

use incastle_experiment::Output;

use crate::common::{WORLDS, blocks, count_of_port, result, star_with, whole};

/// TCP with marks and losses, datagrams, UDT and DCUDP, all through one small port.
const TRAFFIC: &str = r#"
[host]
jitter = "1 us"
[flows.long]
workload = "bulk"
from = "senders"
to = "receiver"
size = "300 KB"
transport = { congestion = "dctcp", handshake = true, traffic_class = 3 }
[flows.noise]
workload = "cbr"
from = "sender:1"
to = "receiver"
rate = "200 Mbit/s"
stop = "4 ms"
transport = { kind = "udp" }
[flows.udt]
workload = "bulk"
from = "sender:2"
to = "receiver"
size = "50 KB"
transport = { kind = "udt" }
[flows.dcudp]
workload = "bulk"
from = "sender:3"
to = "sender:0"
size = "50 KB"
transport = { kind = "dcudp" }
"#;

const SWITCH: &str = r#"
[switch]
buffer = "60 KB"
[switch.queue]
kind = "threshold"
marking_threshold = "20 packets"
[switch.qcn]
cp_q_eq = "12 KB"
"#;

fn all_kinds() -> String {
    star_with(SWITCH).replace("10 ms", "200 ms") + TRAFFIC
}

/// The tables without the counters of events, which are higher with captured ports. As text, because NaN equals
/// nothing.
fn without_events(output: &Output) -> String {
    let mut tables = output.tables.clone();
    for table in &mut tables {
        table.columns.retain(|(name, _)| name != "events");
    }
    format!("{tables:?}")
}

#[test]
fn who_looks_on_changes_nothing() {
    let plain = result(&all_kinds(), &[]);
    let totals = &plain.totals;
    assert!(
        totals.drops > 0 && totals.marks > 0 && totals.cnms > 0,
        "{totals:?}"
    );
    for pcap in ["all", "switch->receiver", "sender:0->switch"] {
        let seen = result(&all_kinds(), &[("measure.pcap", pcap)]);
        assert_eq!(seen.digest, plain.digest, "{pcap}");
        assert!(without_events(&seen) == without_events(&plain), "{pcap}");
        assert!(seen.totals.events > plain.totals.events, "{pcap}");
    }
}

#[test]
fn shared_memory_sees_the_same() {
    let shared = all_kinds().replace("\"60 KB\"", "{ shared = \"60 KB\" }");
    let plain = result(&shared, &[]);
    let seen = result(&shared, &[("measure.pcap", "all")]);
    assert!(plain.totals.drops > 0);
    assert_eq!(seen.digest, plain.digest);
    assert!(without_events(&seen) == without_events(&plain));
}

#[test]
fn every_frame_that_leaves_is_there_once() {
    let output = result(&all_kinds(), &[("measure.pcap", "all")]);
    // All transfers are over: what was not dropped has left.
    let ports = whole(&output, "links", "packets").len();
    assert_eq!(ports, 10);
    let mut captured = 0;
    for capture in &output.captures {
        let (kinds, frames) = blocks(&capture.bytes);
        assert_eq!(
            kinds.iter().filter(|kind| **kind == 1).count(),
            2,
            "both ways"
        );
        captured += frames.len() as u64;
        assert!(frames.iter().all(|(kept, length)| kept == length.min(&128)));
        assert!(frames.iter().any(|(kept, length)| kept < length));
    }
    assert_eq!(output.captures.len(), 5);
    assert_eq!(captured, output.totals.packet_hops);
}

#[test]
fn one_way_both_ways_and_for_a_while() {
    let one_way = result(&all_kinds(), &[("measure.pcap", "switch->receiver")]);
    let both = result(&all_kinds(), &[("measure.pcap", "receiver<->switch")]);
    let names = |output: &Output| -> Vec<String> {
        let names = output.captures.iter().map(|capture| capture.name.clone());
        names.collect()
    };
    assert_eq!(names(&one_way), ["switch-receiver"]);
    assert_eq!(names(&both), ["switch-receiver"]);
    let count = |output: &Output| blocks(&output.captures[0].bytes).1.len() as u64;
    let sent = |port| count_of_port(&one_way, port, "packets");
    assert_eq!(count(&one_way), sent("switch->receiver"));
    assert_eq!(
        count(&both),
        sent("switch->receiver") + sent("receiver->switch")
    );
    let table = "{ ports = 'switch->receiver', from = '1 ms', until = '2 ms', snaplen = '1600 B' }";
    let part = result(&all_kinds(), &[("measure.pcap", table)]);
    // A full link of 1 Gbit/s sends 83 packets of 1500 bytes in a millisecond, more of smaller ones.
    assert!((80..200).contains(&count(&part)), "{}", count(&part));
    let (_, frames) = blocks(&part.captures[0].bytes);
    assert!(frames.iter().all(|(kept, length)| kept == length));
}

#[test]
fn a_capture_follows_from_its_scenario() {
    let run = || result(&all_kinds(), &[("measure.pcap", "all")]).captures;
    assert!(run() == run());
}

/// All of it is over at the end: a frame for each packet that was sent, those lost on the wire included.
#[test]
fn controls_of_today_are_captured_without_a_change() {
    let plain = result(WORLDS, &[]);
    let seen = result(WORLDS, &[("measure.pcap", "all")]);
    assert_eq!(seen.digest, plain.digest);
    assert!(without_events(&seen) == without_events(&plain));
    let frames = seen
        .captures
        .iter()
        .map(|one| blocks(&one.bytes).1.len() as u64);
    let lost = plain.totals.lost_on_wire + plain.totals.corrupted;
    assert!(lost > 0);
    assert_eq!(frames.sum::<u64>(), plain.totals.packet_hops + lost);
}

/// RDMA over lossless Ethernet, with and without telemetry, and TCP.
const LOSSLESS: &str = r#"
[run]
duration = "20 ms"
[network]
topology = "star"
senders = 5
rate = "10 Gbit/s"
delay = "1 us"
[switch]
buffer = { shared = "1 MB" }
[switch.queue]
kind = "priorities"
marks.data = { priorities = [3], marking = "step", marking_threshold = "10 KB" }
[switch.pfc]
priorities = [3]
xoff = "20 KB"
xon = "10 KB"
[transport]
kind = "rdma"
traffic_class = 3
control_class = 6
mtu = "1024 B"
[flows.write]
workload = "bulk"
from = "sender:0..1"
to = "receiver"
size = "200 KB"
[flows.read]
workload = "bulk"
from = "sender:2"
to = "receiver"
size = "200 KB"
transport = { verb = "read" }
[flows.hpcc]
workload = "bulk"
from = "sender:3"
to = "receiver"
size = "200 KB"
transport = { congestion = "hpcc" }
[flows.tcp]
workload = "bulk"
from = "sender:4"
to = "receiver"
size = "200 KB"
transport = { kind = "tcp", traffic_class = 0 }
"#;

/// The numbers of pause frames, and of others.
fn pauses(output: &Output) -> (u64, u64) {
    let (mut pauses, mut others) = (0, 0);
    for capture in &output.captures {
        // EtherType and opcode of MAC control.
        let count = capture.bytes.windows(4);
        let count = count.filter(|bytes| *bytes == [0x88, 0x08, 0x01, 0x01]);
        let count = count.count() as u64;
        pauses += count;
        others += blocks(&capture.bytes).1.len() as u64 - count;
    }
    (pauses, others)
}

#[test]
fn queue_pairs_and_pauses_are_captured_without_a_change() {
    let as_hpcc_ns3 = [
        ("flows.tcp.transport.kind", "rdma"),
        ("run.compat", "hpcc-ns3"),
    ];
    for changes in [&[][..], &as_hpcc_ns3] {
        let plain = result(LOSSLESS, changes);
        assert!(plain.totals.marks > 0);
        let seen = result(LOSSLESS, &[changes, &[("measure.pcap", "all")]].concat());
        assert_eq!(seen.digest, plain.digest);
        assert!(without_events(&seen) == without_events(&plain));
        let (pauses, others) = pauses(&seen);
        assert_eq!(pauses + others, plain.totals.packet_hops);
        assert!(pauses > 0 && pauses.is_multiple_of(2), "each pause ends");
    }
}
