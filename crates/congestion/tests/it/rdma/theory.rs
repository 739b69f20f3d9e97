//! The controls over one port, against their fixed points.

use incastle_congestion::{
    Algorithm, Dcqcn, DcqcnConfig, Hpcc, HpccConfig, RateDctcp, RateDctcpConfig, Timely,
    TimelyConfig,
};
use incastle_units::{Bytes, Rate, Span};

use super::hop::{FRAME, Hop, Measured, Port};
use super::{GBIT, MBIT, bits};

fn port(rate: Rate, one_way: Span) -> Port {
    Port {
        rate,
        one_way,
        marking: None,
        cnp_interval: None,
    }
}

/// `count` queue pairs with equal controls, measured in the second half of `length`.
fn share(port: Port, count: usize, length: Span, control: impl Fn() -> Algorithm) -> Measured {
    let controls = (0..count).map(|_| control()).collect();
    Hop::new(port, controls).run(length / 2, length / 2)
}

fn hpcc(port: Port, count: usize, change: impl Fn(HpccConfig) -> HpccConfig) -> Measured {
    let base = port.rate.span_of(Bytes::new(FRAME)) + port.one_way * 2;
    let config = change(HpccConfig::sigcomm19(port.rate, base));
    share(port, count, Span::from_ms(10), || {
        Algorithm::from(Hpcc::new(config))
    })
}

/// Without a queue u is the load, and R = R / (u / eta) + R_AI for each of N equal rates R = u C / N: hence
/// u = eta + N R_AI / C.
#[test]
fn hpcc_holds_the_port_at_eta_and_the_increase_of_its_flows() {
    let port = port(bits(25 * GBIT), Span::from_us(2));
    for count in [1, 2] {
        for eta in [0.8, 0.9, 0.95] {
            for max_stage in [0, 5] {
                let measured = hpcc(port, count, |config| HpccConfig {
                    eta,
                    max_stage,
                    ai_rate: bits(100 * MBIT),
                    ..config
                });
                let expected = eta + count as f64 * 0.1 / 25.0;
                let load = measured.busy;
                // Alone: two packets of the 15,000 measured. Two flows see each other's packets, or do not.
                let tolerance = if count == 1 { 1.4e-4 } else { 0.01 };
                assert!((load - expected).abs() < tolerance, "{count} {eta} {load}");
                assert!(measured.fairness() > 0.98, "{:?}", measured.goodput);
            }
        }
    }
}

/// Packets of several flows meet, and what a flow sees varies by a packet: the load stays below the fixed point.
#[test]
fn hpcc_of_many_flows_keeps_the_queue_near_zero() {
    let port = port(bits(25 * GBIT), Span::from_us(2));
    for count in [4, 8, 16] {
        let measured = hpcc(port, count, |config| config);
        assert!((0.9..0.98).contains(&measured.busy), "{}", measured.busy);
        assert!(measured.fairness() > 0.99, "{:?}", measured.goodput);
        // Less than one packet of each flow.
        assert!(measured.max_queue <= count as u64 * FRAME);
        assert!(measured.queue < 0.25 * (count as u64 * FRAME) as f64);
    }
}

/// Below T_low every flow grows, so that the delay comes back to it; above T_low a rising delay cuts, so that it
/// stays far from T_high.
#[test]
fn timely_turns_between_t_low_and_t_high() {
    let port = port(bits(10 * GBIT), Span::from_us(5));
    for count in [2, 4, 8] {
        let config = TimelyConfig::sigcomm15(port.rate);
        let measured = share(port, count, Span::from_ms(60), || {
            Algorithm::from(Timely::new(config))
        });
        let longest = measured.rtt(1.0);
        assert!((50.0..100.0).contains(&longest), "{count} {longest}");
        assert!(measured.busy > 0.85, "{count} {}", measured.busy);
        assert!(measured.fairness() > 0.99, "{:?}", measured.goodput);
    }
}

/// Zhu et al. (2016): the fixed point of Patched TIMELY is the fair share at RTT = T_low (1 + delta / (beta R)).
#[test]
fn patched_timely_comes_to_rest_at_its_fixed_point() {
    let port = port(bits(10 * GBIT), Span::from_us(5));
    for (count, start) in [(2, 6 * GBIT), (4, 3 * GBIT)] {
        let mut config = TimelyConfig::patched(port.rate);
        // At the line rate the flows would first fill a queue of many milliseconds.
        config.limits.max_rate = bits(start);
        let measured = share(port, count, Span::from_ms(400), || {
            Algorithm::from(Timely::new(config))
        });
        let fair = 10e9 / count as f64;
        let expected = 50.0 * (1.0 + 10e6 / (0.008 * fair));
        for quantile in [0.01, 0.5, 0.99] {
            let rtt = measured.rtt(quantile);
            assert!((rtt - expected).abs() < 0.01, "{count}: {rtt}");
        }
        assert!(measured.fairness() > 0.999_99, "{:?}", measured.goodput);
    }
}

/// The rate form has no published theory. A greater increase, or more flows, need a greater alpha to balance it.
#[test]
fn rate_dctcp_keeps_the_port_busy_and_alpha_grows_with_the_increase() {
    let mut port = port(bits(10 * GBIT), Span::from_us(6));
    port.marking = Some(Bytes::new(60_000));
    let run = |count, ai| {
        let config = RateDctcpConfig {
            ai_rate: bits(ai),
            ..RateDctcpConfig::hpcc_ns3(port.rate)
        };
        share(port, count, Span::from_ms(40), || {
            Algorithm::from(RateDctcp::new(config))
        })
    };
    let few = run(2, 100 * MBIT);
    let greedy = run(2, 615 * MBIT);
    let many = run(4, 100 * MBIT);
    for measured in [&few, &greedy, &many] {
        assert!(measured.busy > 0.95, "{}", measured.busy);
        assert!(measured.fairness() > 0.99, "{:?}", measured.goodput);
        assert!(measured.marked > 0.1 && measured.marked < 0.9);
    }
    assert!(few.alpha[0] < 0.7 * greedy.alpha[0]);
    assert!(few.alpha[0] < 0.9 * many.alpha[0]);
}

#[test]
fn dcqcn_shares_the_port_in_both_forms() {
    let mut port = port(bits(40 * GBIT), Span::from_us(2));
    port.marking = Some(Bytes::new(100_000));
    for (config, interval, busy) in [
        (
            DcqcnConfig::sigcomm15(port.rate),
            Some(Span::from_us(50)),
            0.99,
        ),
        (DcqcnConfig::mellanox(port.rate), None, 0.9),
        (DcqcnConfig::mellanox_paper(port.rate), None, 0.95),
    ] {
        for count in [2, 4] {
            let port = Port {
                cnp_interval: interval,
                ..port
            };
            let measured = share(port, count, Span::from_ms(40), || {
                Algorithm::from(Dcqcn::new(config))
            });
            assert!(measured.busy > busy, "{count} {}", measured.busy);
            assert!(measured.fairness() > 0.99, "{:?}", measured.goodput);
        }
    }
}
