//! Each workload on a small network, against what can be worked out by hand.

use crate::common::{ONE_SEGMENT, STAR, assert_near, of_port, real, result, text, whole};

fn star(flows: &str) -> String {
    format!("{STAR}{flows}")
}

#[test]
fn one_segment_takes_its_ideal_time() {
    let output = result(&star(ONE_SEGMENT), &[]);
    // Two links: 25 us each, and 1500 B at 1 Gbit/s, 12 us, each.
    assert_near(real(&output, "transfers", "started_s")[0], 1e-3, 1e-15);
    assert_near(
        real(&output, "transfers", "completed_s")[0],
        1e-3 + 74e-6,
        1e-15,
    );
    assert_eq!(
        real(&output, "flows", "completed_s"),
        real(&output, "transfers", "completed_s")
    );
    assert_eq!(whole(&output, "flows", "delivered_bytes"), [1460]);
}

#[test]
fn a_handshake_and_ethernet_add_their_time() {
    let output = result(
        &star(ONE_SEGMENT),
        &[
            ("transport.handshake", "true"),
            ("transport.framing", "ethernet"),
        ],
    );
    // SYN and SYN-ACK, 84 B with framing: 2 x 2 x (25 us + 0.672 us); the segment, 1538 B:
    // 2 x (25 us + 12.304 us).
    let expected = 4.0 * 25.672e-6 + 2.0 * 37.304e-6;
    assert_near(
        real(&output, "transfers", "completed_s")[0] - 1e-3,
        expected,
        1e-12,
    );
}

#[test]
fn starts_are_spread_over_one_idle_round_trip() {
    let flows = r#"
[flows.many]
workload = "bulk"
from = "senders"
to = "receiver"
count = 400
"#;
    let output = result(&star(flows), &[]);
    let starts = real(&output, "flows", "started_s");
    // 100 us of delay, 2 x 12 us for the segment, 2 x 0.32 us for the ACK.
    let rtt = 124.64e-6;
    assert_eq!(starts.len(), 400);
    assert!(starts.iter().all(|start| (0.0..rtt).contains(start)));
    let mean = starts.iter().sum::<f64>() / 400.0;
    // The mean of 400 uniform draws: 4 standard deviations of rtt / sqrt(12 x 400).
    assert_near(mean, rtt / 2.0, 4.0 * rtt / 4800.0_f64.sqrt());
}

#[test]
fn other_groups_do_not_move_the_draws_of_a_group() {
    let first = "[flows.first]\nworkload = \"bulk\"\nfrom = \"senders\"\nto = \"receiver\"\n";
    let alone = result(&star(first), &[]);
    let other = "[flows.earlier]\nworkload = \"bulk\"\nfrom = \"sender:3\"\nto = \"sender:0\"\n";
    let both = result(&star(&format!("{other}{first}")), &[]);
    let starts = |output, group: &str| {
        let groups = text(output, "flows", "group");
        let starts = real(output, "flows", "started_s");
        let of_group = groups
            .into_iter()
            .zip(starts)
            .filter(|(name, _)| name == group);
        of_group.map(|(_, start)| start).collect::<Vec<f64>>()
    };
    assert_eq!(starts(&alone, "first"), starts(&both, "first"));
}

#[test]
fn a_bulk_flow_stops_when_it_should() {
    let flows = "[flows.long]\nworkload = \"bulk\"\nfrom = \"sender:0\"\nto = \"receiver\"\n\
                 stop = \"5 ms\"\n";
    let output = result(&star(flows), &[("transport.max_cwnd", "64 KB")]);
    let bytes = whole(&output, "goodput", "bytes");
    let hosts = text(&output, "goodput", "host");
    let late: u64 = real(&output, "goodput", "time_s")
        .iter()
        .zip(hosts.iter().zip(bytes))
        .filter(|(time, (host, _))| **time > 5.5e-3 && *host == "receiver")
        .map(|(_, (_, bytes))| bytes)
        .sum();
    assert_eq!(late, 0, "nothing arrives long after the stop");
}

#[test]
fn cbr_keeps_its_rate_over_datagrams_and_tcp() {
    let flows = |kind: &str| {
        star(&format!(
            "[flows.steady]\nworkload = \"cbr\"\nfrom = \"sender:0\"\nto = \"receiver\"\n\
             rate = \"100 Mbit/s\"\nmessage = \"1250 B\"\nstart_spread = \"0 s\"\n\
             transport = {{ kind = \"{kind}\" }}\n"
        ))
    };
    for kind in ["udp", "tcp"] {
        let output = result(&flows(kind), &[]);
        // A message of 10,000 bits every 100 us, the first at 0. Those of the last 100 us are still in
        // flight (70 us and more) or just written.
        let delivered = whole(&output, "flows", "delivered_bytes")[0];
        assert!(
            (99 * 1250..=100 * 1250).contains(&delivered),
            "{kind}: {delivered}"
        );
    }
}

#[test]
fn on_off_is_silent_in_between() {
    let flows = "[flows.bursts]\nworkload = \"on-off\"\nfrom = \"sender:0\"\nto = \"receiver\"\n\
                 rate = \"100 Mbit/s\"\nmessage = \"1250 B\"\non = \"1 ms\"\noff = \"3 ms\"\n\
                 start_spread = \"0 s\"\ntransport = { kind = \"udp\" }\n";
    let output = result(&star(flows), &[]);
    // Periods at 0, 4 and 8 ms, of 10 messages each.
    assert_eq!(whole(&output, "flows", "delivered_bytes"), [30 * 1250]);
}

const BARRIER: &str = r#"
[flows.read]
workload = "barrier-incast"
from = "sender:0..2"
to = "receiver"
total_size = "10 KB"
rounds = 3
think_time = "1 ms"
start_spread = "0 s"
"#;

#[test]
fn a_barrier_waits_for_the_last_answer() {
    let output = result(&star(BARRIER), &[]);
    let kinds = text(&output, "transfers", "kind");
    let started = real(&output, "transfers", "started_s");
    let completed = real(&output, "transfers", "completed_s");
    let bytes = whole(&output, "transfers", "bytes");
    // Three responses and one round, three times; 10,000 B split as 3334 + 3333 + 3333.
    assert_eq!(kinds.len(), 12);
    for round in 0..3 {
        let rows = 4 * round..4 * round + 4;
        assert_eq!(
            &kinds[rows.clone()],
            ["response", "response", "response", "round"]
        );
        assert_eq!(&bytes[rows.clone()], [3334, 3333, 3333, 10_000]);
        let last = completed[rows.clone()].iter().copied().fold(0.0, f64::max);
        assert_near(completed[rows.end - 1], last, 0.0);
        if round > 0 {
            assert_near(started[rows.start] - completed[rows.start - 1], 1e-3, 1e-12);
        }
    }
    assert_eq!(text(&output, "flows", "from")[0], "sender:0");
    assert_eq!(text(&output, "flows", "to")[0], "receiver");
    assert_eq!(whole(&output, "rounds", "round"), [0, 1, 2]);
    assert_eq!(whole(&output, "rounds", "bytes"), [10_000; 3]);
    for (round, goodput) in real(&output, "rounds", "goodput_bit_s")
        .into_iter()
        .enumerate()
    {
        let row = 4 * round + 3;
        assert_near(
            real(&output, "rounds", "started_s")[round],
            started[row],
            0.0,
        );
        assert_near(
            real(&output, "rounds", "completed_s")[round],
            completed[row],
            0.0,
        );
        let expected = 80_000.0 / (completed[row] - started[row]);
        assert_near(goodput, expected, 1e-3);
    }
}

#[test]
fn staggered_servers_are_asked_at_random_within_the_round() {
    let sets = [
        ("flows.read.request_jitter", "200 us"),
        ("flows.read.rounds", "30"),
        ("run.duration", "100 ms"),
    ];
    let output = result(&star(BARRIER), &sets);
    let kinds = text(&output, "transfers", "kind");
    let started = real(&output, "transfers", "started_s");
    let completed = real(&output, "transfers", "completed_s");
    let of =
        |kind: &str| -> Vec<usize> { (0..kinds.len()).filter(|&row| kinds[row] == kind).collect() };
    let (rounds, responses) = (of("round"), of("response"));
    assert_eq!((rounds.len(), responses.len()), (30, 90));
    let mut late = Vec::new();
    for (number, &round) in rounds.iter().enumerate() {
        let requested = &responses[3 * number..3 * number + 3];
        late.extend(requested.iter().map(|&row| started[row] - started[round]));
        let last = requested
            .iter()
            .map(|&row| completed[row])
            .fold(0.0, f64::max);
        assert_near(completed[round], last, 0.0);
    }
    assert!(late.iter().all(|late| (0.0..200e-6).contains(late)));
    // The mean of 90 uniform draws: 4 standard deviations of 200 us / sqrt(12 x 90).
    let mean = late.iter().sum::<f64>() / 90.0;
    assert_near(mean, 100e-6, 4.0 * 200e-6 / 1080.0_f64.sqrt());
}

#[test]
fn every_client_of_a_barrier_asks_all_others() {
    let output = result(
        &star(BARRIER),
        &[
            ("flows.read.from", "all"),
            ("flows.read.to", "all"),
            ("network.receivers", "0"),
        ],
    );
    // Four hosts, each with three servers; each pair has its own connection.
    assert_eq!(whole(&output, "flows", "flow").len(), 12);
    let rounds = text(&output, "transfers", "kind");
    assert_eq!(rounds.iter().filter(|kind| *kind == "round").count(), 12);
}

#[test]
fn poisson_flows_offer_their_load() {
    let flows = "[flows.short]\nworkload = \"poisson\"\nfrom = \"senders\"\nto = \"receiver\"\n\
                 sizes = \"10 KB\"\nload = 0.4\n";
    let output = result(&star(flows), &[("run.duration", "1 s")]);
    let sizes = whole(&output, "transfers", "bytes");
    // 0.4 x 125 MB/s / 10 KB = 5000 flows in the mean; 4 standard deviations of sqrt(5000).
    assert_near(sizes.len() as f64, 5000.0, 4.0 * 5000.0_f64.sqrt());
    let open = real(&output, "transfers", "completed_s")
        .iter()
        .filter(|at| at.is_nan())
        .count();
    assert!(open < 20, "{open} of the flows are not complete");
}

#[test]
fn poisson_flows_draw_sizes_and_hosts() {
    let flows = "[flows.short]\nworkload = \"poisson\"\nfrom = \"all\"\nto = \"all\"\n\
                 sizes = { points = [[1000, 0], [3000, 100]] }\nflow_rate = 20000\n";
    let output = result(&star(flows), &[("run.duration", "100 ms")]);
    let sizes = whole(&output, "transfers", "bytes");
    let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
    // Uniform from 1000 to 3000 B: deviation 577 B, over about 2000 draws.
    assert_near(mean, 2000.0, 4.0 * 577.0 / (sizes.len() as f64).sqrt());
    let (from, to) = (text(&output, "flows", "from"), text(&output, "flows", "to"));
    assert!(from.iter().zip(&to).all(|(from, to)| from != to));
    assert!(from.iter().any(|host| host == "receiver"));
}

/// The queue of an M/D/1 system at load rho: rho^2 / (2 (1 - rho)) customers wait in the mean.
#[test]
fn poisson_datagrams_queue_as_theory_says() {
    let flows = "[flows.arrivals]\nworkload = \"poisson-datagrams\"\nfrom = \"senders\"\n\
                 to = \"receiver\"\nload = 0.7\ntransport = { kind = \"udp\" }\n\
                 [measure]\nwarmup = \"100 ms\"\n";
    // Senders a hundred times as fast, so that what arrives at the switch is still Poisson.
    let sets = [
        ("run.duration", "10 s"),
        ("network.rate", "100 Gbit/s"),
        ("network.links.receivers.rate", "1 Gbit/s"),
    ];
    let output = result(&star(flows), &sets);
    let rho: f64 = 0.7;
    let mean = of_port(&output, "switch->receiver", "mean_queue_packets");
    assert_near(mean, rho * rho / (2.0 * (1.0 - rho)), 0.03);
    assert_near(
        of_port(&output, "switch->receiver", "utilisation"),
        rho,
        0.005,
    );
}

/// 1 Gbit/s until 2 ms, then 100 Mbit/s, then 500 Mbit/s.
#[test]
fn a_link_changes_its_rate_when_it_should() {
    let flows = "[flows.steady]\nworkload = \"cbr\"\nfrom = \"sender:0\"\nto = \"receiver\"\n\
                 rate = \"900 Mbit/s\"\nmessage = \"1222 B\"\nstart_spread = \"0 s\"\n\
                 transport = { kind = \"udp\" }\n";
    let schedule = "[{ at = '2 ms', rate = '100 Mbit/s' }, { at = '6 ms', rate = '500 Mbit/s' }]";
    let sets = [("network.links.receivers.schedule", schedule)];
    let output = result(&star(flows), &sets);
    let hosts = text(&output, "goodput", "host");
    let times = real(&output, "goodput", "time_s");
    let bytes = whole(&output, "goodput", "ip_bytes");
    let of_bin = |bin: usize| -> f64 {
        let row = (0..hosts.len())
            .find(|&row| hosts[row] == "receiver" && (times[row] * 1e3).round() as usize == bin);
        row.map_or(0.0, |row| bytes[row] as f64 * 8.0 / 1e-3)
    };
    // In each bin of 1 ms, to within two packets of 1250 B.
    let two_packets = 2.0 * 1250.0 * 8.0 / 1e-3;
    for bin in [3, 4, 5] {
        assert_near(of_bin(bin), 100e6, two_packets);
    }
    for bin in [7, 8, 9] {
        assert_near(of_bin(bin), 500e6, two_packets);
    }
    // 900 Mbit/s of payload are 920.6 Mbit/s of IP.
    assert_near(of_bin(1), 920.6e6, two_packets);
    // 2 ms at 1000, 4 ms at 100 and 4 ms at 500 Mbit/s are 440 in the mean, of which 51.1 are used.
    let slow = [sets[0], ("flows.steady.rate", "50 Mbit/s")];
    let used = of_port(
        &result(&star(flows), &slow),
        "switch->receiver",
        "utilisation",
    );
    assert_near(used, 51.1 / 440.0, 0.003);
}

/// Three flows of 2:1 offered rates at one port: fair queueing gives each its share, FIFO does not.
#[test]
fn fair_queueing_gives_each_flow_its_share() {
    let flow = |index: u32, rate: &str| {
        format!(
            "[flows.f{index}]\nworkload = \"cbr\"\nfrom = \"sender:{index}\"\n\
             to = \"receiver\"\nrate = \"{rate}\"\nmessage = \"1222 B\"\n\
             transport = {{ kind = \"udp\" }}\n"
        )
    };
    let flows = flow(0, "800 Mbit/s") + &flow(1, "800 Mbit/s") + &flow(2, "100 Mbit/s");
    let delivered = |kind: &str| {
        let sets = [
            ("run.duration", "100 ms"),
            ("switch.buffer", "64 KB"),
            ("switch.queue.kind", kind),
        ];
        whole(&result(&star(&flows), &sets), "flows", "delivered_bytes")
    };
    let mbit = |bytes: u64| bytes as f64 * 8.0 / 0.1 / 1e6;
    // Of 1 Gbit/s 977.6 Mbit/s are payload (1222 of 1250 B): 100 for the modest flow, half of the
    // rest for each of the others.
    let fair = delivered("drr");
    assert_near(mbit(fair[2]), 100.0, 1.0);
    assert_near(mbit(fair[0]), 438.8, 5.0);
    assert_near(mbit(fair[1]), 438.8, 5.0);
    let first_come = delivered("drop-tail");
    assert!(mbit(first_come[2]) < 90.0, "{first_come:?}");
}

/// DCTCP and CUBIC at one port, which each has for itself in one case: the shares, the marks, and whose
/// queue is long.
#[test]
fn classes_have_a_queue_each_and_marks_of_their_own() {
    let flow = |name: &str, sender: u32, transport: &str| {
        format!(
            "[flows.{name}]\nworkload = \"bulk\"\nfrom = \"sender:{sender}\"\nto = \"receiver\"\n\
             transport = {{ {transport}, receive_window = \"200 KB\" }}\n"
        )
    };
    let flows = flow("dctcp", 0, "congestion = \"dctcp\", traffic_class = 1")
        + &flow("cubic", 1, "congestion = \"cubic\"")
        + &flow("more", 2, "congestion = \"cubic\"");
    let of = |queue: &str| {
        let sets = [
            ("run.duration", "500 ms"),
            // Room for both windows of CUBIC: no packet is lost.
            ("switch.buffer", "500 KB"),
            ("switch.queue", queue),
        ];
        let result = result(&star(&flows), &sets);
        (
            whole(&result, "flows", "delivered_bytes"),
            whole(&result, "flows", "marks"),
        )
    };
    let share = |bytes: &[u64]| bytes[0] as f64 / bytes.iter().sum::<u64>() as f64;
    // By traffic class half of the line is DCTCP's, with any number of flows on the other half; by flow a third.
    let (bytes, marks) =
        of("{ kind = 'drr', classify_by = 'traffic-class', marking_threshold = '5 packets' }");
    assert_near(share(&bytes), 0.5, 0.01);
    assert!(marks[0] > 0 && marks[1] == 0 && marks[2] == 0, "{marks:?}");
    let (bytes, _) = of("{ kind = 'drr', marking_threshold = '5 packets' }");
    assert_near(share(&bytes), 1.0 / 3.0, 0.01);
    // In one queue all of DCTCP's packets wait behind CUBIC's and are marked.
    let (bytes, marks) = of("{ kind = 'threshold', marking_threshold = '5 packets' }");
    assert!(share(&bytes) < 0.1, "{bytes:?}");
    assert!(marks[0] > 0, "{marks:?}");
    // Without `marking_threshold` fair queueing marks nothing.
    let (_, marks) = of("{ kind = 'drr', classify_by = 'traffic-class' }");
    assert_eq!(marks, [0, 0, 0]);
}
