//! Congestion notification in whole networks, and its tables.

use incastle_experiment::Output;

use crate::common::{STAR, assert_near, of_port, real, result, run, scenario, text, whole};

/// Four sources of 400 Mbit/s into one port of 1 Gbit/s.
fn sources(qcn: &str) -> String {
    let star = STAR.replace("buffer = \"unlimited\"", "buffer = \"150 KB\"");
    star.replace("[switch]", "[host]\njitter = \"2 us\"\n[switch]")
        + qcn
        + "[flows.sources]\nworkload = \"cbr\"\nfrom = \"senders\"\nto = \"receiver\"\n\
           rate = \"400 Mbit/s\"\ntransport = { kind = \"udp\" }\n\
           [measure]\nqcn = \"all\"\n"
}

const LONGER: (&str, &str) = ("run.duration", "100 ms");

fn table_names(output: &Output) -> Vec<&str> {
    let tables = output.tables.iter();
    tables.map(|table| table.name.as_str()).collect()
}

#[test]
fn a_congestion_point_keeps_the_queue_and_loses_nothing() {
    let without = result(&sources(""), &[LONGER]);
    assert!(without.totals.drops > 0 && without.totals.cnms == 0);
    let with = result(&sources("[switch.qcn]\ncp_q_eq = \"20 %\"\n"), &[LONGER]);
    assert!(with.totals.cnms > 0 && with.totals.drops < without.totals.drops / 10);
    // Only the port to the receiver is congested.
    let ports = text(&with, "links", "port");
    for (port, cnms) in ports.iter().zip(whole(&with, "links", "cnms")) {
        assert_eq!(cnms > 0, port == "switch->receiver", "{cnms} at {port}");
    }
    let sent: u64 = whole(&with, "links", "cnms").iter().sum();
    let received: u64 = whole(&with, "flows", "cnms").iter().sum();
    assert_eq!(sent, with.totals.cnms);
    assert!(
        received <= sent && sent <= received + 4,
        "{received} of {sent}"
    );
}

#[test]
fn samples_and_rates_are_told() {
    let output = result(&sources("[switch.qcn]\n"), &[LONGER]);
    let psi = whole(&output, "cnms", "psi");
    let notified = psi.iter().filter(|psi| **psi > 0).count() as u64;
    assert_eq!(notified, output.totals.cnms);
    // Q_eq is 30 KB: psi = 63 |F_b| / (30,000 (2 x 2 + 1)), rounded down.
    let feedback = real(&output, "cnms", "feedback_bytes");
    for (psi, feedback) in psi.iter().zip(&feedback) {
        assert_eq!(*psi, (63.0 * -feedback / 150_000.0).floor() as u64);
    }
    // By the table: 150 KB at psi = 0, 18.5 KB at the worst, each by 0.85 to 1.15.
    let intervals = whole(&output, "cnms", "interval_bytes");
    for (psi, interval) in psi.iter().zip(intervals) {
        let table = [150.0, 75.0, 50.0, 37.5, 30.0, 25.0, 21.5, 18.5];
        let ratio = interval as f64 / (1000.0 * table[(*psi >> 3) as usize]);
        assert!((0.849..1.151).contains(&ratio), "{interval} at psi {psi}");
    }
    let current = real(&output, "rates", "current_bit_s");
    assert!(current.iter().all(|rate| (5e6..=1e9).contains(rate)));
    assert!(
        current.iter().any(|rate| *rate < 4e8),
        "sources are limited"
    );
    let mut flows = whole(&output, "rates", "flow");
    flows.dedup();
    assert!(flows.len() > 4, "each of the four at several times");
}

#[test]
fn what_is_measured_is_what_was_asked_for() {
    let with = result(&sources("[switch.qcn]\n"), &[]);
    let without = result(&sources("[switch.qcn]\n"), &[("measure.qcn", "off")]);
    assert_eq!(with.digest, without.digest);
    assert!(table_names(&with).ends_with(&["rates", "cnms"]));
    assert!(!table_names(&without).contains(&"rates"));
    let sampled = "{ flows = 'sources:2', ports = 'switch->sender:0' }";
    let some = result(
        &sources("[switch.qcn]\n"),
        &[("measure.qcn", sampled), LONGER],
    );
    let flows = whole(&some, "rates", "flow");
    assert!(!flows.is_empty() && flows.iter().all(|flow| *flow == 2));
    assert!(whole(&some, "cnms", "psi").is_empty(), "no data go there");
}

#[test]
fn hosts_obey_unless_they_do_not() {
    let output = result(
        &sources("[switch.qcn]\n"),
        &[("host.qcn.obey", "false"), LONGER],
    );
    assert!(output.totals.cnms > 0);
    assert!(whole(&output, "flows", "cnms").iter().all(|cnms| *cnms > 0));
    assert!(real(&output, "rates", "time_s").is_empty());
    assert!(of_port(&output, "switch->receiver", "utilisation") > 0.99);
}

#[test]
fn congestion_points_are_where_they_were_asked_for() {
    let elsewhere = "[switch.qcn]\nports = \"switch->sender:0\"\n";
    let output = result(&sources(elsewhere), &[LONGER]);
    assert_eq!(output.totals.cnms, 0);
    let here = "[switch.qcn]\nports = [\"switch->sender:0\", \"switch->receiver\"]\n";
    assert!(result(&sources(here), &[LONGER]).totals.cnms > 0);
    let off = [("switches.switch.qcn", "off"), LONGER];
    assert_eq!(result(&sources("[switch.qcn]\n"), &off).totals.cnms, 0);
}

#[test]
fn every_variant_and_rule_is_another_run_and_the_same_again() {
    let mut digests = Vec::new();
    let settings = [
        ("switch.qcn.variant", "I"),
        ("switch.qcn.variant", "II"),
        ("switch.qcn.variant", "III"),
        ("switch.qcn.variant", "IV"),
        ("switch.qcn.variant", "V"),
        ("switch.qcn.variant", "VI"),
        ("switch.qcn.sampling", "2007-11"),
        ("switch.qcn.sampling", "every-packet"),
        ("switch.qcn.cp_q_eq", "20 KB"),
        ("switch.qcn.cp_w", "0.5"),
        ("switch.qcn.cp_sample_base", "30 KB"),
        ("switch.qcn.jitter", "0"),
        ("host.qcn.rpg_min_rate", "300 Mbit/s"),
        ("host.qcn.rpg_gd", "0.001"),
        ("host.qcn.rpg_min_dec_fac", "0.9"),
        ("host.qcn.rpg_byte_reset", "10 KB"),
        ("host.qcn.rpg_time_reset", "1 ms"),
    ];
    // A buffer that the four overflow together, so that II and III find heavy congestion.
    let small = [
        ("switch.buffer", "40 KB"),
        ("flows.sources.rate", "900 Mbit/s"),
    ];
    for setting in settings {
        let sets = [small[0], small[1], LONGER, setting];
        let one = scenario(&sources("[switch.qcn]\n"), &sets);
        let once = run(&one).expect("runs");
        let again = run(&one).expect("runs");
        assert_eq!(once.digest, again.digest, "{setting:?}");
        assert!(
            !digests.contains(&once.digest),
            "{setting:?} changes nothing"
        );
        digests.push(once.digest);
    }
}

/// Where packets wait makes no difference to datagrams, but for those that find no room.
#[test]
fn a_longer_limiter_holds_more_of_what_would_be_refused() {
    let sets = |queue| {
        [
            ("host.qcn.queue", queue),
            ("flows.sources.rate", "900 Mbit/s"),
            ("flows.sources.transport.send_buffer", "14720 B"),
            LONGER,
        ]
    };
    let refused = |queue| {
        let output = result(&sources("[switch.qcn]\n"), &sets(queue));
        output.totals.send_buffer_drops
    };
    assert!(refused("2 packets") >= refused("20 packets") + 4 * 17);
}

#[test]
fn a_full_send_buffer_refuses() {
    let flows = "[flows.fast]\nworkload = \"cbr\"\nfrom = \"sender:0\"\nto = \"receiver\"\n\
                 rate = \"2 Gbit/s\"\nmessage = \"1222 B\"\nstart_spread = \"0 s\"\n\
                 transport = { kind = \"udp\", send_buffer = \"12220 B\" }\n";
    let output = result(&format!("{STAR}{flows}"), &[]);
    // In 10 ms 2045 messages are written and 1000 of 1250 B leave; ten wait.
    let refused = whole(&output, "flows", "send_buffer_drops")[0];
    assert_near(refused as f64, 2045.0 - 1010.0, 3.0);
    assert_eq!(output.totals.send_buffer_drops, refused);
    let patient = [("flows.fast.transport.send_buffer", "unlimited")];
    let output = result(&format!("{STAR}{flows}"), &patient);
    assert_eq!(output.totals.send_buffer_drops, 0);
}
