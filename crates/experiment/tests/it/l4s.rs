//! Prague and CUBIC over DualPI2, in whole networks.

use incastle_experiment::Output;

use crate::common::{assert_near, of_port, real, result, text, whole};

/// 100 Mbit/s and 10 ms, which both groups share for 30 s; queues and windows from 10 s on.
const SHARED: &str = r#"
[run]
duration = "30 s"
[network]
topology = "star"
senders = 2
rate = "100 Mbit/s"
delay = "2500 us"
[network.links.senders]
rate = "1 Gbit/s"
[switch]
buffer = "3 MB"
[switch.queue]
kind = "dualpi2"
[measure]
warmup = "10 s"
window = { every = "10 ms" }
[flows.l4s]
workload = "bulk"
from = "sender:0"
to = "receiver"
transport = { congestion = "prague" }
"#;

const CLASSIC: &str = r#"
[flows.classic]
workload = "bulk"
from = "sender:1"
to = "receiver"
transport = { congestion = "cubic" }
"#;

/// Mean round-trip time of the flows of a group from 10 s on, in ms.
fn mean_rtt(output: &Output, flow: u64) -> f64 {
    let flows = whole(output, "windows", "flow");
    let times = real(output, "windows", "time_s");
    let rtts = real(output, "windows", "rtt_s");
    let rows = (0..flows.len()).filter(|&row| flows[row] == flow && times[row] > 10.0);
    let rtts: Vec<f64> = rows
        .map(|row| rtts[row])
        .filter(|rtt| !rtt.is_nan())
        .collect();
    rtts.iter().sum::<f64>() / rtts.len() as f64 * 1e3
}

#[test]
fn prague_alone_fills_the_link_with_a_queue_of_a_millisecond() {
    let output = result(SHARED, &[]);
    // 1460 of 1500 bytes are data: 97.3 Mbit/s.
    let goodput = real(&output, "flows", "goodput_bit_s")[0];
    assert!(goodput > 0.98 * 97.33e6, "{goodput}");
    // 10 ms and 0.13 ms of transmissions, then the ramp from 0.8 to 1.2 ms.
    let delay = mean_rtt(&output, 0) - 10.13;
    assert!((0.3..1.2).contains(&delay), "{delay}");
    assert_eq!(whole(&output, "flows", "drops"), [0]);
}

/// RFC 9332, section 1: the classic queue at its target does not delay the L4S queue, and the coupling
/// gives flows of both kinds about equal shares.
#[test]
fn prague_and_cubic_share_the_link_and_not_the_delay() {
    let output = result(&format!("{SHARED}{CLASSIC}"), &[]);
    let goodput = real(&output, "flows", "goodput_bit_s");
    let ratio = goodput[0] / goodput[1];
    assert!((0.5..2.0).contains(&ratio), "{goodput:?}");
    assert!(goodput[0] + goodput[1] > 0.95 * 97.33e6, "{goodput:?}");
    let (l4s, classic) = (mean_rtt(&output, 0) - 10.13, mean_rtt(&output, 1) - 10.13);
    assert!(l4s < 1.0, "{l4s}");
    // The target of 15 ms.
    assert!((10.0..20.0).contains(&classic), "{classic}");
    let (drops, marks) = (
        whole(&output, "flows", "drops"),
        whole(&output, "flows", "marks"),
    );
    assert!(drops[0] == 0 && drops[1] > 0, "{drops:?}");
    assert!(marks[0] > 0 && marks[1] == 0, "{marks:?}");
    // They are the port's, judged as packets leave it.
    assert_near(
        of_port(&output, "switch->receiver", "mean_queue_packets"),
        49.0,
        10.0,
    );
    let port = text(&output, "links", "port");
    let port = port.iter().position(|name| name == "switch->receiver");
    let port = port.expect("a port of that name");
    assert_eq!(whole(&output, "links", "drops")[port], drops[1]);
    assert_eq!(whole(&output, "links", "marks")[port], marks[0]);
}
