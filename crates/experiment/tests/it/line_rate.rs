//! The ideal FCT by line rate: right to the picosecond where a sender never stops, and never above an FCT.

use incastle_cases::cases;
use incastle_experiment::Output;

use crate::common::{ONE_FLOW, STAR, assert_near, real, result, text};
use proptest::prelude::*;

/// Every complete transfer of a run has a slowdown of at least 1; returns their number.
fn assert_at_least_one(output: &Output) -> Result<usize, TestCaseError> {
    let fct = real(output, "transfers", "fct_s");
    let ideal = real(output, "transfers", "ideal_fct_s");
    let slowdown = real(output, "transfers", "slowdown");
    let kinds = text(output, "transfers", "kind");
    let mut complete = 0;
    for row in (0..fct.len()).filter(|&row| kinds[row] != "round") {
        prop_assert!(ideal[row] > 0.0, "row {row} has an ideal FCT");
        if !fct[row].is_nan() {
            complete += 1;
            prop_assert!(
                slowdown[row] >= 1.0,
                "row {row}: {} s, ideally {} s",
                fct[row],
                ideal[row]
            );
        }
    }
    Ok(complete)
}

const SLOWDOWN: &str = "[measure]\nslowdown = true\n";

#[test]
fn an_ideal_fct_is_that_of_the_wire() {
    let alone = |sets: &[(&str, &str)]| {
        let output = result(&format!("{STAR}{ONE_FLOW}{SLOWDOWN}"), sets);
        real(&output, "transfers", "ideal_fct_s")[0]
    };
    // Two links of 25 us, and twice 12 us for 1500 B at 1 Gbit/s.
    assert_near(alone(&[("flows.one.size", "1460 B")]), 74e-6, 1e-15);
    // Ten such packets leave in 120 us, the last one crosses one link more.
    assert_near(alone(&[("flows.one.size", "14600 B")]), 182e-6, 1e-15);
    // The tenth packet has 1 B: 41 B on the wire. It waits at the second link for the ninth. 25 us of delay,
    // 9 x 12 us, 12 us and 0.328 us at the second link, 25 us of delay.
    assert_near(alone(&[("flows.one.size", "13141 B")]), 170.328e-6, 1e-15);
    // Ethernet adds 38 B to each packet: 10 x 12.304 us + 12.304 us + 50 us.
    let framed = [
        ("flows.one.size", "14600 B"),
        ("transport.framing", "ethernet"),
    ];
    assert_near(alone(&framed), 185.344e-6, 1e-15);
    // A slower last link: 1.2 us to it, then 10 x 12 us.
    let slower = [
        ("flows.one.size", "14600 B"),
        ("network.links.senders.rate", "10 Gbit/s"),
    ];
    assert_near(alone(&slower), 171.2e-6, 1e-15);
}

#[test]
fn the_ideal_fct_is_the_same_for_every_controller() {
    let ideals = ["new-reno", "cubic", "dctcp"].map(|congestion| {
        let sets = [
            ("flows.one.size", "172760 B"),
            ("transport.congestion", congestion),
            ("run.duration", "1 s"),
        ];
        let output = result(&format!("{STAR}{ONE_FLOW}{SLOWDOWN}"), &sets);
        real(&output, "transfers", "ideal_fct_s")[0].to_bits()
    });
    assert!(ideals.iter().all(|ideal| *ideal == ideals[0]), "{ideals:?}");
}

#[test]
fn a_request_adds_its_way_out() {
    let query = "[flows.query]\nworkload = 'query'\nfrom = 'sender:0'\nto = 'receiver'\nrate = 100\n\
                 request = '2000 B'\nresponse_size = '1460 B'\n[measure]\nslowdown = true\n";
    let output = result(&format!("{STAR}{query}"), &[("run.duration", "1 s")]);
    let kinds = text(&output, "transfers", "kind");
    let ideals = real(&output, "transfers", "ideal_fct_s");
    let response = kinds
        .iter()
        .position(|kind| kind == "response")
        .expect("a response");
    // The response takes 74 us. The request is 1500 B and 580 B back to back: 12 + 12 us for the first, 4.64 us
    // for the second at the second link, and 50 us of delay.
    assert_near(ideals[response], 74e-6 + 78.64e-6, 1e-15);
    let round = kinds
        .iter()
        .position(|kind| kind == "round")
        .expect("a round");
    assert!(ideals[round].is_nan(), "a round has no ideal time");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(200)))]
    /// Datagrams have no window: alone they take the ideal FCT, at rates at which a byte takes whole
    /// picoseconds.
    #[test]
    fn who_never_stops_takes_the_ideal_fct(
        size in 1..400_000_u64,
        near in prop_oneof![Just("1 Gbit/s"), Just("10 Gbit/s"), Just("25 Gbit/s")],
        trunk in prop_oneof![Just("1 Gbit/s"), Just("10 Gbit/s"), Just("40 Gbit/s")],
        far in prop_oneof![Just("1 Gbit/s"), Just("10 Gbit/s"), Just("100 Gbit/s")],
        framing in prop_oneof![Just("ip"), Just("ethernet")],
    ) {
        let text = format!(r#"
[run]
duration = "1 s"
[network]
topology = "dumbbell"
senders = 1
receivers = 1
rate = "1 Gbit/s"
delay = "3 us"
[network.links.senders]
rate = "{near}"
[network.links.bottleneck]
rate = "{trunk}"
[network.links.receivers]
rate = "{far}"
[switch]
buffer = "unlimited"
[transport]
kind = "udp"
framing = "{framing}"
[flows.one]
workload = "bulk"
from = "senders"
to = "receivers"
size = "{size} B"
[measure]
slowdown = true
"#);
        let output = result(&text, &[]);
        let (fct, ideal) = (real(&output, "transfers", "fct_s"), real(&output, "transfers", "ideal_fct_s"));
        assert_near(fct[0], ideal[0], 0.4e-12);
        prop_assert!(real(&output, "transfers", "slowdown")[0] >= 1.0);
    }
}

const RATES: [&str; 6] = [
    "1 Gbit/s",
    "2.5 Gbit/s",
    "7 Gbit/s",
    "10 Gbit/s",
    "25 Gbit/s",
    "40 Gbit/s",
];
const DELAYS: [&str; 5] = ["0 s", "0.3 us", "1 us", "9 us", "40 us"];

struct Network {
    /// Lines of `[network]`, with `#0` to `#4` for rates and `@0`, `@1` for delays.
    lines: &'static str,
    from: &'static str,
    to: &'static str,
}

const NETWORKS: [Network; 7] = [
    Network {
        lines: "topology = 'star'\nsenders = 5\n[network.links.receivers]\nrate = '#1'\n",
        from: "senders",
        to: "receiver",
    },
    Network {
        lines: "topology = 'star'\nsenders = 3\n[network.links.receivers]\n\
         schedule = [{ at = '1 ms', rate = '#1' }, { at = '4 ms', rate = '#2' }]\n",
        from: "senders",
        to: "receiver",
    },
    Network {
        lines: "topology = 'dumbbell'\nsenders = 3\nreceivers = 2\n[network.links.bottleneck]\nrate = '#1'\n\
         delay = '@1'\n[network.links.receivers]\nrate = '#2'\n",
        from: "senders",
        to: "receivers",
    },
    Network {
        lines: "topology = 'leaf-spine'\nleaves = 3\nspines = 2\nhosts_per_leaf = 2\necmp = '%'\n\
         [network.links.leaf-spine]\nrate = '#1'\ndelay = '@1'\n",
        from: "hosts",
        to: "hosts",
    },
    Network {
        lines: "topology = 'leaf-spine'\nleaves = 2\nspines = 3\nhosts_per_leaf = 2\necmp = '%'\nreconvergence_delay = '50 us'\n\
         [network.links.slow]\nof = 'leaf-spine'\nrate = '#1'\n\
         [network.failures.one]\nbetween = ['leaf:0', 'spine:1']\ndown = '1 ms'\nup = '3 ms'\n",
        from: "hosts",
        to: "hosts",
    },
    Network {
        lines: "topology = 'fat-tree'\nk = 4\necmp = '%'\n[network.links.edge-aggregation]\nrate = '#1'\n\
         [network.links.aggregation-core]\nrate = '#2'\ndelay = '@1'\n",
        from: "hosts",
        to: "hosts",
    },
    Network {
        lines: "topology = 'graph'\nhosts = ['a:0..1', 'b:0..1']\nswitches = ['s:0..4']\necmp = '%'\n\
         [network.links.left]\nbetween = ['as', 's:0']\n[network.links.right]\nbetween = ['bs', 's:4']\nrate = '#4'\n\
         [network.links.p]\nbetween = ['s:0', 's:1']\nrate = '#1'\ndelay = '@1'\n\
         [network.links.q]\nbetween = ['s:1', 's:4']\nrate = '#2'\n\
         [network.links.r]\nbetween = ['s:0', 's:2']\nrate = '#3'\n\
         [network.links.t]\nbetween = ['s:2', 's:4']\nrate = '#1'\n\
         [network.links.u]\nbetween = ['s:0', 's:3']\nrate = '#2'\ndelay = '@1'\n\
         [network.links.v]\nbetween = ['s:3', 's:4']\nrate = '#3'\n",
        from: "as",
        to: "bs",
    },
];

const TRANSPORTS: [&str; 6] = [
    "kind = 'tcp'",
    "kind = 'tcp'\ncongestion = 'dctcp'\nhandshake = false",
    "kind = 'tcp'\ncongestion = 'cubic'\nhandshake = false\ndelayed_ack_count = 1\ninitial_window = '100 KB'",
    "kind = 'tcp'\nframing = 'ethernet'\nhandshake = false",
    "kind = 'udt'",
    "kind = 'dcudp'\nhandshake = false",
];

prop_compose! {
    /// A network with transfers of every kind.
    fn scenario()(
        rates in proptest::collection::vec(0..RATES.len(), 5),
        delays in proptest::collection::vec(0..DELAYS.len(), 2),
        ecmp in prop_oneof![Just("flow"), Just("packet"), Just("flowlet")],
        network in 0..NETWORKS.len(),
        transport in 0..TRANSPORTS.len(),
        seed in 1..1_000_u64,
        burst in prop_oneof![Just(1), Just(4)],
    ) -> String {
        let Network { lines, from, to } = NETWORKS[network];
        let mut network = format!("rate = '#0'\ndelay = '@0'\n{lines}").replace('%', ecmp);
        for (place, rate) in rates.iter().enumerate() {
            network = network.replace(&format!("#{place}"), RATES[*rate]);
        }
        for (place, delay) in delays.iter().enumerate() {
            network = network.replace(&format!("@{place}"), DELAYS[*delay]);
        }
        let transport = TRANSPORTS[transport];
        let requests = format!(
            "[flows.query]\nworkload = 'query'\nfrom = '{from}'\nto = '{to}'\nrate = 2000\n\
             request = '300 B'\nresponse_size = '7 KB'\ncount = 1\n\
             [flows.barrier]\nworkload = 'barrier-incast'\nfrom = '{from}'\nto = '{to}'\nsru = '5 KB'\n\
             count = 1\nthink_time = '100 us'\n"
        );
        let requests = if transport.contains("tcp") { &*requests } else { "" };
        format!(
            "[run]\nduration = '8 ms'\nseed = {seed}\n[host]\ntso_burst = {burst}\n\
             [switch]\nbuffer = '100 KB'\n\
             queue = {{ kind = 'threshold', marking_threshold = '20 packets' }}\n\
             [transport]\n{transport}\n[measure]\nslowdown = true\n[network]\n{network}\
             [flows.short]\nworkload = 'poisson'\nfrom = '{from}'\nto = '{to}'\n\
             sizes = {{ points = [[1, 0], [2000, 40], [60000, 100]] }}\nload = 0.4\n{requests}"
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(100)))]
    #[test]
    fn no_transfer_is_faster_than_its_ideal(text in scenario()) {
        let output = result(&text, &[]);
        prop_assert!(assert_at_least_one(&output)? > 0, "some are complete");
    }
}
