//! The sets of TCP's defaults: `transport.preset`.

use incastle_congestion::{
    AckSample, Context, Controller as _, Echo, LimitedBy, Phase, SlowStart, Window, WindowRule,
};
use incastle_scenario::language::tcp::{AbcLimit, Tcp};
use incastle_transport::tcp::{Config, LossDetection, Recovery};
use incastle_units::{Bytes, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use crate::common::{ONE_FLOW, STAR, scenario};

/// TCP's parameters on the star with these values.
fn tcp(sets: &[(&str, &str)]) -> Tcp {
    let text = format!("{STAR}{ONE_FLOW}size = \"1 KB\"\n");
    let transport = &scenario(&text, sets).tables().transport.clone();
    transport.tcp().expect("it is TCP").clone()
}

fn mechanisms(config: &Config) -> [bool; 4] {
    [
        config.tail_loss_probe,
        config.dsack,
        config.prr,
        config.f_rto,
    ]
}

#[test]
fn the_default_is_linux() {
    assert_eq!(tcp(&[]), tcp(&[("transport.preset", "linux")]));
}

#[test]
fn that_of_ns_2_has_the_recovery_of_its_control() {
    let plain = tcp(&[("transport.preset", "ns-2-2010")]);
    assert_eq!(plain.abc_limit, AbcLimit::Segments(2));
    let config = plain.to_config(1);
    assert_eq!(config.recovery, Recovery::NewReno);
    assert_eq!(mechanisms(&config), [false; 4]);
    assert_eq!(config.loss_detection, LossDetection::Rfc);
    assert_eq!(config.rto, Config::default().rto);
}

#[test]
fn linux_and_the_rfcs() {
    let cubic = ("transport.congestion", "cubic");
    let (hystart, plus_plus) = (SlowStart::Hystart, SlowStart::HystartPlusPlus);
    for (preset, slow_start, abc_limit, min, max, delay) in [
        ("linux", hystart, AbcLimit::Unlimited, 200, 120_000, 40),
        ("rfc", plus_plus, AbcLimit::Segments(8), 1000, 60_000, 500),
    ] {
        let tcp = tcp(&[("transport.preset", preset), cubic]);
        assert_eq!((tcp.slow_start, tcp.abc_limit), (slow_start, abc_limit));
        let config = tcp.to_config(1);
        assert_eq!(config.recovery, Recovery::RackTlp);
        assert_eq!(mechanisms(&config), [true; 4]);
        assert_eq!(config.rto.min, Span::from_ms(min));
        assert_eq!(config.rto.max, Span::from_ms(max));
        assert_eq!(config.delayed_ack_timeout, Span::from_ms(delay));
    }
}

#[test]
fn after_a_mark_reno_and_cubic_lower_the_window_as_in_linux() {
    let mark = |preset, control| {
        let sets = [
            ("transport.preset", preset),
            ("transport.congestion", control),
        ];
        tcp(&sets).to_config(1).prr_on_ecn
    };
    for control in ["new-reno", "reno", "cubic"] {
        assert!(mark("linux", control), "{control}");
        assert!(!mark("rfc", control) && !mark("ns-2-2010", control));
    }
    for control in ["dctcp", "prague", "swift", "bbr"] {
        assert!(!mark("linux", control), "{control}");
    }
    assert!(
        !tcp(&[("transport.recovery", "sack")])
            .to_config(1)
            .prr_on_ecn
    );
}

#[test]
fn linux_counts_whole_segments_and_acknowledges_marks_at_once() {
    let of = |preset, control| {
        let sets = [
            ("transport.preset", preset),
            ("transport.congestion", control),
            ("transport.ecn", "classic"),
        ];
        let config = tcp(&sets).to_config(1);
        (config.window_rule, config.quick_acks_on_ecn)
    };
    for control in ["new-reno", "reno", "cubic"] {
        assert_eq!(of("linux", control), (WindowRule::Linux, true), "{control}");
        assert_eq!(of("rfc", control), (WindowRule::Rfc, false), "{control}");
    }
    for control in ["dctcp", "prague", "swift", "bbr"] {
        let config = tcp(&[("transport.congestion", control)]).to_config(1);
        assert_eq!(config.window_rule, WindowRule::Rfc, "{control}");
    }
    let sack = tcp(&[("transport.recovery", "sack")]).to_config(1);
    assert_eq!(sack.window_rule, WindowRule::Rfc);
    let dctcp = tcp(&[("transport.congestion", "dctcp")]).to_config(1);
    assert!(!dctcp.quick_acks_on_ecn, "RFC 8257 has no CWR");
}

#[test]
fn a_key_that_is_written_has_its_value() {
    let linux = ("transport.preset", "linux");
    let sack = tcp(&[linux, ("transport.recovery", "sack")]);
    let config = sack.to_config(1);
    assert_eq!(config.recovery, Recovery::Sack);
    assert_eq!(mechanisms(&config), [false; 4]);
    assert_eq!(config.loss_detection, LossDetection::Rfc);
    let held = tcp(&[linux, ("transport.prr", "false")]);
    assert_eq!(mechanisms(&held.to_config(1)), [true, true, false, true]);
    let detection = |sets: &[(&str, &str)]| tcp(sets).to_config(1).loss_detection;
    let (rfc, ns2) = (
        ("transport.preset", "rfc"),
        ("transport.preset", "ns-2-2010"),
    );
    assert_eq!(detection(&[linux]), LossDetection::Linux);
    assert_eq!(detection(&[rfc]), LossDetection::Rfc);
    assert_eq!(
        detection(&[linux, ("transport.loss_detection", "rfc")]),
        LossDetection::Rfc
    );
    let rack = ("transport.recovery", "rack-tlp");
    assert_eq!(detection(&[ns2, rack]), LossDetection::Rfc);
    assert_eq!(
        detection(&[ns2, rack, ("transport.loss_detection", "linux")]),
        LossDetection::Linux
    );
}

#[test]
fn linux_counts_all_that_is_acknowledged_in_slow_start() {
    let linux = ("transport.preset", "linux");
    let limit = |sets: &[(&str, &str)]| tcp(sets).abc_limit;
    assert_eq!(limit(&[linux]), AbcLimit::Unlimited);
    let plus_plus = ("transport.slow_start", "hystart++");
    assert_eq!(limit(&[linux, plus_plus]), AbcLimit::Segments(8));
    let two = ("transport.abc_limit", "2");
    assert_eq!(limit(&[linux, two]), AbcLimit::Segments(2));
    assert_eq!(window_after(&tcp(&[linux]), 20), Bytes::new(30 * 1460));
    assert_eq!(window_after(&tcp(&[linux, two]), 20), Bytes::new(12 * 1460));
}

/// The window after one ACK of that many segments in slow start.
fn window_after(tcp: &Tcp, segments: u32) -> Bytes {
    let mut controller = tcp.controller(1, 1);
    let acked = Bytes::new(u64::from(segments) * 1460);
    let mut cx = Context {
        now: Time::ZERO,
        snd_una: acked.count(),
        snd_nxt: acked.count(),
        in_flight: Bytes::ZERO,
        smoothed_rtt: None,
        remaining: None,
        deadline: None,
        receiving_rate: None,
        capacity: None,
        rng: &mut Xoshiro256PlusPlus::seed_from_u64(1),
    };
    let ack = AckSample {
        acked,
        segments,
        echo: Echo::Clear,
        rtt: None,
        limited_by: LimitedBy::Window,
        phase: Phase::Open,
        hops: &[],
        hop_count: None,
        remote_delay: None,
    };
    controller.on_ack(&mut cx, &ack);
    match controller.window() {
        Window::Limited(bytes) => bytes,
        Window::Unlimited => panic!("NewReno has a window"),
    }
}

#[test]
fn resolved_texts_hold_what_the_preset_sets_and_say_so() {
    let text = format!("{STAR}{ONE_FLOW}size = \"1 KB\"\n");
    let linux = scenario(&text, &[("transport.preset", "linux")]);
    let resolved = linux.resolved();
    assert!(
        resolved.starts_with("# Every key has its value below"),
        "{resolved}"
    );
    let again = scenario(&resolved, &[]);
    assert_eq!(again, linux);
    assert_eq!(again.resolved(), resolved);
    // As the remark has it.
    let other = scenario(&resolved, &[("transport.preset", "rfc")]);
    let back = other
        .resolved()
        .replace("preset = \"rfc\"", "preset = \"linux\"");
    assert_eq!(back, resolved);
    let udp = scenario(&text, &[("transport.kind", "udt")]).resolved();
    assert!(!udp.contains('#'), "{udp}");
}

#[test]
fn every_control_has_each_preset() {
    for preset in ["linux", "rfc", "ns-2-2010"] {
        for control in [
            "new-reno", "reno", "cubic", "dctcp", "d2tcp", "dt-cwa", "prague", "swift", "bbr",
        ] {
            tcp(&[
                ("transport.preset", preset),
                ("transport.congestion", control),
            ]);
        }
    }
}
