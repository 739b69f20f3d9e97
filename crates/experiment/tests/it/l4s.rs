//! Prague and CUBIC over DualPI2, in whole networks.

use incastle_experiment::Output;

use crate::common::{
    LONG_PATH_GOODPUT, assert_near, count_of_port, long_flow, long_path, of_port, real, result,
    whole,
};

/// The link that both groups share, with Prague alone; queues and windows from 10 s on.
fn shared() -> String {
    let switch = "buffer = '3 MB'\nqueue = { kind = 'dualpi2' }";
    long_path("10 s", switch) + &long_flow("l4s", 0, "prague")
}

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
    let output = result(&shared(), &[]);
    let goodput = real(&output, "flows", "goodput_bit_s")[0];
    assert!(goodput > 0.98 * LONG_PATH_GOODPUT, "{goodput}");
    // 10 ms and 0.13 ms of transmissions, then the ramp from 0.8 to 1.2 ms.
    let delay = mean_rtt(&output, 0) - 10.13;
    assert!((0.3..1.2).contains(&delay), "{delay}");
    assert_eq!(whole(&output, "flows", "drops"), [0]);
}

/// RFC 9332, section 1: the classic queue at its target does not delay the L4S queue, and the coupling
/// gives flows of both kinds about equal shares.
#[test]
fn prague_and_cubic_share_the_link_and_not_the_delay() {
    let output = result(&(shared() + &long_flow("classic", 1, "cubic")), &[]);
    let goodput = real(&output, "flows", "goodput_bit_s");
    let ratio = goodput[0] / goodput[1];
    assert!((0.5..2.0).contains(&ratio), "{goodput:?}");
    assert!(
        goodput[0] + goodput[1] > 0.95 * LONG_PATH_GOODPUT,
        "{goodput:?}"
    );
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
    let at_port = |column| count_of_port(&output, "switch->receiver", column);
    assert_eq!((at_port("drops"), at_port("marks")), (drops[1], marks[0]));
}
