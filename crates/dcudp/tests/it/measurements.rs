//! `dcudp bench` and `dcudp ping` on this machine's own address: what they count and print.

use crate::common::folder;
use crate::running::{Server, dcudp};

/// Runs to the end; gives status, standard output and standard error.
fn run(arguments: &[&str]) -> (i32, String, String) {
    crate::running::finish(dcudp(arguments).spawn().unwrap())
}

#[test]
fn pings_come_back() {
    let there = folder();
    for server in [Server::files(there.path(), &[]), Server::measurements()] {
        let (_, out, _) = run(&["ping", &server.address, "--count", "1"]);
        assert!(out.contains("\n1 round trip: min "), "{out}");
        let arguments = [
            "ping",
            &server.address,
            "--count",
            "3",
            "--interval",
            "1 ms",
        ];
        let (status, out, err) = run(&arguments);
        assert_eq!((status, err.as_str()), (0, ""));
        assert_eq!(out.lines().count(), 4, "{out}");
        assert!(out.starts_with("64 B from 127.0.0.1:"), "{out}");
        for size in ["0 B", "65536 B"] {
            let arguments = ["ping", &server.address, "--count", "20", "--interval", "0"];
            let (status, out, err) = run(&[&arguments[..], &["--size", size, "--json"]].concat());
            assert_eq!((status, err.as_str()), (0, ""));
            let found: serde_json::Value = serde_json::from_str(&out).unwrap();
            assert_eq!(found["count"], 20);
            let order =
                ["min_us", "p50_us", "p99_us", "max_us"].map(|key| found[key].as_f64().unwrap());
            assert!(order[0] > 0.0 && order.is_sorted(), "{out}");
        }
    }
}

#[test]
fn a_measurement_counts_the_same_at_both_endpoints() {
    let server = Server::measurements();
    for reverse in [false, true] {
        for cc in ["udt", "dcudp", "dctcp", "bbr"] {
            let mut arguments = vec!["bench", &server.address, "--cc", cc, "--json"];
            arguments.extend([
                "--time",
                "500 ms",
                "--interval",
                "100 ms",
                "--rate",
                "100 Mbit/s",
            ]);
            if reverse {
                arguments.push("--reverse");
            }
            let (status, out, err) = run(&arguments);
            assert_eq!(status, 0, "{err}");
            let found: serde_json::Value = serde_json::from_str(&out).unwrap();
            assert_eq!(found["direction"], if reverse { "down" } else { "up" });
            let number = |end: &str, key: &str| found[end][key].as_f64().unwrap();
            let bytes = number("sender", "bytes");
            assert!((bytes - number("receiver", "bytes")).abs() < 0.5, "{out}");
            // 100 Mbit/s for 0.5 s are 6.25 MB; not more, however late the machine is.
            assert!(bytes > 0.0 && bytes <= 6.25e6 + 25e3, "{out}");
            let intervals = found["intervals"].as_array().unwrap();
            let sum: u64 = intervals.iter().map(|i| i["bytes"].as_u64().unwrap()).sum();
            assert_eq!(Some(sum), found["receiver"]["bytes"].as_u64(), "{out}");
            // None so short that its rate says nothing, and nothing between them.
            let edge = |at: usize, key: &str| intervals[at][key].as_f64().unwrap();
            for at in 0..intervals.len() {
                let start = if at > 0 { edge(at - 1, "end_s") } else { 0.0 };
                assert!((edge(at, "start_s") - start).abs() < 1e-9, "{out}");
                assert!(edge(at, "end_s") - start > 0.01, "{out}");
            }
        }
    }
    let arguments = [
        "bench",
        &server.address,
        "--time",
        "300 ms",
        "--interval",
        "100 ms",
    ];
    let (status, out, err) = run(&arguments);
    assert_eq!(status, 0, "{err}");
    assert!(
        out.contains("interval") && out.contains("\nreceived  "),
        "{out}"
    );
}

#[test]
fn a_measurement_that_is_cut_short_shows_what_there_is() {
    let server = Server::measurements();
    let bench = ["bench", &server.address, "--interval", "10 ms", "--json"];
    // Nothing tells from outside that it has begun: it is given more time until it has.
    for millis in (0..).map(|doubled| 100 << doubled) {
        let running = crate::running::Running::new(dcudp(&bench).spawn().unwrap());
        std::thread::sleep(std::time::Duration::from_millis(millis));
        let (status, out, err) = running.interrupt();
        if status != 130 || out.is_empty() {
            // Not yet at work, or not yet listening to signals.
            assert!(
                [130, -1].contains(&status) && millis < 60_000,
                "{status} {err}"
            );
            continue;
        }
        // A busy machine may have had a path without ECN.
        assert!(
            err.ends_with("interrupted: what was measured so far is above\n"),
            "{err}"
        );
        let found: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(!found["intervals"].as_array().unwrap().is_empty(), "{out}");
        assert_eq!(found["direction"], "up");
        assert!(found.get("sender").is_none() && found.get("receiver").is_none());
        break;
    }

    let mut client = crate::running::Running::new(dcudp(&bench[..4]).spawn().unwrap());
    assert!(client.first_line().contains("interval"));
    let (_, _, log) = server.interrupt();
    assert!(
        log.contains("open connection; measurements were cut short"),
        "{log}"
    );
    let (status, out, err) = client.finish();
    assert_eq!(status, 1, "{err}");
    assert!(
        out.lines().count() > 1 && !out.contains("received"),
        "{out}"
    );
    assert!(err.starts_with("error: "), "{err}");
}
