//! Parking lots of RDMA: one flow over two bottlenecks, and one flow over each of them. Each control shares by the law
//! of its fixed point, and only HPCC's is max-min. Rates are in bytes on the wire, as the controls count them.
//!
//! Leaves out DCQCN in Mellanox's form, which has no published fixed point.

use incastle_experiment::Output;

use crate::common::{assert_near, real, result, whole};

const GBIT: f64 = 1e9;

/// `source:0` sends over both trunks, `source:1` over the first, `source:2` over the second.
const LOT: &str = r#"
[network]
topology = "graph"
hosts = ["source:0..2", "sink:0..2"]
switches = ["hop:0..2"]
rate = "40 Gbit/s"
delay = "1 us"
[network.links.begin]
between = [["source:0", "source:1"], "hop:0"]
[network.links.middle]
between = [["source:2", "sink:1"], "hop:1"]
[network.links.end]
between = [["sink:0", "sink:2"], "hop:2"]
[network.links.first]
between = ["hop:0", "hop:1"]
rate = "10 Gbit/s"
[network.links.second]
between = ["hop:1", "hop:2"]
[run]
duration = "1 s"
[switch]
buffer = { shared = "32 MB", alpha = 16.0 }
[switch.queue]
kind = "priorities"
[transport]
kind = "rdma"
traffic_class = 3
mtu = "1 KiB"
max_rate = "25 Gbit/s"
min_rate = "10 Mbit/s"
[flows.long]
workload = "bulk"
from = "source:0"
to = "sink:0"
[flows.first]
workload = "bulk"
from = "source:1"
to = "sink:1"
[flows.second]
workload = "bulk"
from = "source:2"
to = "sink:2"
[measure]
throughput = { flows = "all", every = "10 ms" }
window = { flows = "all", every = "100 us" }
"#;

/// The rates of the second trunk: in one lot max-min shares are equal, in the other they are not.
const SECOND: [f64; 2] = [10.0, 20.0];

/// The lot in its steady state, after a warm-up in milliseconds.
struct Rest {
    output: Output,
    from_s: f64,
    /// Rates on the wire of the long, the first and the second flow.
    rates: [f64; 3],
}

impl Rest {
    /// Runs the lot with a second trunk of `second` Gbit/s and packets of `packet` bytes on the wire.
    fn new(second: f64, packet: f64, ms: [u32; 2], sets: &[(&str, &str)]) -> Self {
        let [warmup, end] = ms;
        let trunk = format!("{second} Gbit/s");
        let duration = format!("{end} ms");
        let own = [
            ("network.links.second.rate", trunk.as_str()),
            ("run.duration", duration.as_str()),
        ];
        let output = result(LOT, &[&own, sets].concat());
        assert_eq!(output.totals.drops, 0);
        let from_s = f64::from(warmup) / 1e3;
        let (times, flows) = (
            real(&output, "throughput", "time_s"),
            whole(&output, "throughput", "flow"),
        );
        let bytes = whole(&output, "throughput", "bytes");
        let mut rates = [0.0; 3];
        for ((time, flow), bytes) in times.iter().zip(flows).zip(bytes) {
            if *time > from_s - 1e-6 {
                rates[flow as usize] += 8.0 * bytes as f64 * packet / 1024.0;
            }
        }
        let rates = rates.map(|bits| bits / (f64::from(end - warmup) / 1e3));
        Self {
            output,
            from_s,
            rates,
        }
    }

    /// The samples of a flow's `rtt_s` or `alpha`.
    fn samples(&self, column: &str, flow: u64) -> Vec<f64> {
        let [times, values] = ["time_s", column].map(|name| real(&self.output, "windows", name));
        let flows = whole(&self.output, "windows", "flow");
        let samples = times.iter().zip(flows).zip(values);
        let chosen = samples.filter(|((time, of), _)| **time > self.from_s && *of == flow);
        chosen.map(|(_, value)| value).collect()
    }
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// The long flow's rate, at which a function that falls with it is zero: the short flows have the rest of both trunks.
fn balance(second: f64, excess: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0 * GBIT);
    for _ in 0..100 {
        let long = f64::midpoint(low, high);
        if excess(long, 10.0 * GBIT - long, second * GBIT - long) > 0.0 {
            low = long;
        } else {
            high = long;
        }
    }
    low
}

/// 1024 bytes of payload and 44 of headers; INT has 42 more.
const PACKET: f64 = 1068.0;
const INT_PACKET: f64 = 1110.0;

/// Zhu et al. (2016), section 3: a flow's rate at the fixed point depends on the probability p of a mark alone. Over
/// one decade of p it falls from 16.43 to 2.67 Gbit/s (crates/congestion/tests/it/rdma/dcqcn_theory.rs, which holds
/// the controller to it): R ~ p^-0.789, and p ~ R^-1.267. Small probabilities of two queues add up. So
///
///     R_long^-1.267 = R_first^-1.267 + R_second^-1.267,
///
/// which lies between proportional fairness (exponent 1) and TCP's law (2): 0.366 of a trunk if both are equal, where
/// these have 0.333 and 0.414. Less than that distance is allowed. Max-min would be 0.5.
#[test]
fn dcqcn_adds_up_the_marks_of_both_queues() {
    let marks = [
        ("switch.queue.marks.rdma.priorities", "[3]"),
        ("switch.queue.marks.rdma.k_min", "5 KB"),
        ("switch.queue.marks.rdma.k_max", "400 KB"),
        ("switch.queue.marks.rdma.p_max", "0.2"),
        ("transport.preset", "dcqcn-sigcomm15"),
    ];
    let probability = |rate: f64| libm::pow(rate / GBIT, -1.267);
    for second in SECOND {
        let expected = balance(second, |long, first, second| {
            probability(long) - probability(first) - probability(second)
        });
        let Rest { rates, .. } = Rest::new(second, PACKET, [100, 400], &marks);
        assert_near(rates[0], expected, 0.06 * expected);
        let full = (rates[0] + rates[1]) / (10.0 * GBIT);
        assert!(full > 0.97, "{full}");
    }
}

/// Zhu et al. (2016), algorithm 2: without a gradient a round trip leaves the rate unchanged where
/// R (rtt - t_low) = R_AI t_low / beta. The long flow's round-trip time is the sum of the others', less the part that
/// they share: two links in both directions, with a packet of 1068 B and an ACK of 48 B on two links of 40 Gbit/s.
#[test]
fn patched_timely_subtracts_its_threshold_from_each_round_trip() {
    let sets = [
        ("transport.congestion", "timely"),
        ("transport.preset", "timely-patched"),
        // From above, but near: Patched TIMELY drains slowly what it fills at its start.
        ("flows.long.transport.max_rate", "2 Gbit/s"),
        ("flows.first.transport.max_rate", "9.5 Gbit/s"),
    ];
    let t_low = 50e-6;
    let product = 10e6 * t_low / 0.008;
    let twice = 4e-6 + 2.0 * (1068.0 + 48.0) * 8.0 / (40.0 * GBIT);
    for second in SECOND {
        let expected = balance(second, |long, first, second| {
            // rtt - t_low of each.
            let [long, first, second] = [long, first, second].map(|rate| product / rate);
            long - (first + second + t_low - twice)
        });
        let start = format!("{} Gbit/s", second - 0.5);
        let sets = [&sets[..], &[("flows.second.transport.max_rate", &start)]].concat();
        let Rest { rates, .. } = Rest::new(second, PACKET, [130, 160], &sets);
        assert_near(rates[0], expected, 0.01 * expected);
        assert_near(rates[0] + rates[1], 10.0 * GBIT, 0.001 * 10.0 * GBIT);
        assert_near(rates[0] + rates[2], second * GBIT, 0.001 * second * GBIT);
    }
}

/// Zhu et al. (2016), section 4: TIMELY has no unique fixed point, and no shares follow from its law. Two things
/// do. Below `t_low` every flow grows, above it rising delays cut: round-trip times stay far from `t_high`. The long
/// flow's contains those of both queues: it is in the range of cuts whenever a short flow is, and gets less.
#[test]
fn timely_gives_the_long_flow_less_and_stays_below_t_high() {
    let sets = [("transport.congestion", "timely")];
    for second in SECOND {
        let rest = Rest::new(second, PACKET, [50, 150], &sets);
        let [long, first, other] = rest.rates;
        assert!(long < first && long < other, "{:?}", rest.rates);
        for flow in 0..3 {
            let longest = rest.samples("rtt_s", flow).into_iter().fold(0.0, f64::max);
            assert!((50e-6..250e-6).contains(&longest), "{flow}: {longest}");
        }
    }
}

const ETA: f64 = 0.95;
const R_AI: f64 = 0.2 * GBIT;

/// One packet is 0.1 % of the bandwidth-delay product of a trunk of 10 Gbit/s: a load is as exact as that.
const HPCC: [(&str, &str); 4] = [
    ("transport.congestion", "hpcc"),
    ("transport.ai_rate", "200 Mbit/s"),
    ("network.delay", "100 us"),
    ("transport.base_rtt", "path"),
];

/// HPCC, SIGCOMM 2019, algorithm 1: R = R / (U / eta) + R_AI at rest, hence R (1 - eta / U) = R_AI, with the load U of
/// the busiest hop. Flows with the same busiest hop are equal: shares are max-min, of trunks with the loads
///
///     U_1 = eta + 2 R_AI / C_1,   and U_2 from the one flow that has its busiest hop there.
///
/// That is so where each hop's load is smoothed (`multi_rate`). An error of 0.1 % in U is 2.5 % of U - eta, and of a rate.
#[test]
fn hpcc_with_a_rate_for_each_hop_is_max_min() {
    let sets = [&HPCC[..], &[("transport.multi_rate", "true")]].concat();
    for second in SECOND {
        let Rest { rates, .. } = Rest::new(second, INT_PACKET, [100, 150], &sets);
        let fair = ETA * 5.0 * GBIT + R_AI;
        assert_near(rates[0], fair, 0.025 * fair);
        assert_near(rates[1], fair, 0.025 * fair);
        // R_2 (1 - eta C_2 / (fair + R_2)) = R_AI is quadratic in R_2.
        let half = (ETA * second * GBIT + R_AI - fair) / 2.0;
        let rest = half + (half * half + R_AI * fair).sqrt();
        assert_near(rates[2], rest, 0.025 * rest);
    }
}

/// R (1 - eta / U) = R_AI = W_AI / T: with `w_ai` flows share a hop in inverse proportion to their base round-trip times.
#[test]
fn hpcc_with_w_ai_is_biased_by_the_round_trip_time() {
    let sets = [
        &HPCC[..],
        &[
            ("transport.ai_rate", "w-ai"),
            // 200 Mbit/s for the short flows.
            ("transport.w_ai", "15 KB"),
            ("transport.multi_rate", "true"),
        ],
    ]
    .concat();
    // Six and eight links of 100 us; packets take 2 us at most.
    let Rest { rates, .. } = Rest::new(10.0, INT_PACKET, [100, 150], &sets);
    assert_near(rates[0] / rates[1], 6.0 / 8.0, 0.025);
    assert_near(rates[0] / rates[2], 6.0 / 8.0, 0.025);
}

/// The paper's control smooths the largest of the hops' loads. The mean of the larger of two varying loads is above
/// the larger mean (Jensen), so that a flow with two busy hops gets less than its max-min share. A port sends for at
/// most the whole interval between two readings, and queues hold two packets at most: that load is below 1.002. Flows
/// with one busy hop have their fixed point.
#[test]
fn hpcc_of_the_paper_takes_the_larger_of_two_loads_before_it_smooths() {
    for second in SECOND {
        let Rest { rates, .. } = Rest::new(second, INT_PACKET, [100, 150], &HPCC);
        let fair = ETA * 5.0 * GBIT + R_AI;
        let least = R_AI / (1.0 - ETA / 1.002);
        assert!((least..1.001 * fair).contains(&rates[0]), "{rates:?}");
        for (short, capacity) in [(rates[1], 10.0 * GBIT), (rates[2], second * GBIT)] {
            let load = (rates[0] + short) / capacity;
            assert_near(short * (1.0 - ETA / load), R_AI, 0.025 * R_AI);
        }
    }
}

/// No theory of its shares is published, and they depend on how the bursts of marks of two queues coincide. One thing
/// follows from its law: packets of the long flow are marked by either queue, so that its alpha is above that of
/// both short flows, and its cuts are no fewer. It gets less than they do, and less than its max-min share.
#[test]
fn rate_dctcp_has_the_marks_of_both_queues() {
    let sets = [
        ("transport.congestion", "rate-dctcp"),
        ("transport.ai_rate", "40 Mbit/s"),
        ("switch.queue.marks.rdma.priorities", "[3]"),
        ("switch.queue.marks.rdma.marking", "step"),
        ("switch.queue.marks.rdma.marking_threshold", "60 KB"),
    ];
    for second in SECOND {
        let rest = Rest::new(second, PACKET, [50, 150], &sets);
        let [long, first, other] = rest.rates;
        assert!(long < first && long < other, "{:?}", rest.rates);
        let alpha = [0, 1, 2].map(|flow| mean(&rest.samples("alpha", flow)));
        assert!(alpha[0] > alpha[1] && alpha[0] > alpha[2], "{alpha:?}");
    }
}
