//! The sets of TCP's defaults: `transport.preset`.

use incastle_congestion::SlowStart;
use incastle_scenario::language::tcp::Tcp;
use incastle_transport::tcp::{Config, Recovery};
use incastle_units::Span;

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
fn the_default_is_that_of_ns_2() {
    let plain = tcp(&[]);
    assert_eq!(plain, tcp(&[("transport.preset", "ns-2-2010")]));
    let config = plain.to_config(1);
    assert_eq!(config.recovery, Recovery::NewReno);
    assert_eq!(mechanisms(&config), [false; 4]);
    assert_eq!(config.rto, Config::default().rto);
}

#[test]
fn linux_and_the_rfcs() {
    let cubic = ("transport.congestion", "cubic");
    for (preset, slow_start, min, max, delay) in [
        ("linux", SlowStart::Hystart, 200, 120_000, 40),
        ("rfc", SlowStart::HystartPlusPlus, 1000, 60_000, 500),
    ] {
        let tcp = tcp(&[("transport.preset", preset), cubic]);
        assert_eq!(tcp.slow_start, slow_start);
        let config = tcp.to_config(1);
        assert_eq!(config.recovery, Recovery::RackTlp);
        assert_eq!(mechanisms(&config), [true; 4]);
        assert_eq!(config.rto.min, Span::from_ms(min));
        assert_eq!(config.rto.max, Span::from_ms(max));
        assert_eq!(config.delayed_ack_timeout, Span::from_ms(delay));
    }
}

#[test]
fn a_key_that_is_written_has_its_value() {
    let linux = ("transport.preset", "linux");
    let sack = tcp(&[linux, ("transport.recovery", "sack")]);
    let config = sack.to_config(1);
    assert_eq!(config.recovery, Recovery::Sack);
    assert_eq!(mechanisms(&config), [false; 4]);
    let held = tcp(&[linux, ("transport.prr", "false")]);
    assert_eq!(mechanisms(&held.to_config(1)), [true, true, false, true]);
}

#[test]
fn every_control_has_each_preset() {
    for preset in ["linux", "rfc", "ns-2-2010"] {
        for control in [
            "new-reno", "reno", "cubic", "dctcp", "d2tcp", "dt-cwa", "prague",
        ] {
            tcp(&[
                ("transport.preset", preset),
                ("transport.congestion", control),
            ]);
        }
    }
}
