//! Defaults and limits of the configuration.

use incastle_rdma::{Config, ConfigError, MAX_PSN, Recovery, local_ack_timeout};
use incastle_units::Span;

#[test]
fn defaults_are_valid() {
    assert_eq!(Config::default().check(), Ok(()));
    assert_eq!(Config::hpcc_ns3().check(), Ok(()));
}

#[test]
fn mistakes_are_found() {
    let valid = Config::default();
    let mistakes = [
        (Config { mtu: 1000, ..valid }, ConfigError::Mtu),
        (
            Config {
                mtu: 0,
                any_mtu: true,
                ..valid
            },
            ConfigError::Mtu,
        ),
        (
            Config {
                initial_psn: MAX_PSN + 1,
                ..valid
            },
            ConfigError::InitialPsn,
        ),
        (
            Config {
                ack_every: 0,
                ..valid
            },
            ConfigError::AckEvery,
        ),
        (
            Config {
                recovery: Recovery::Chunks(0),
                ..valid
            },
            ConfigError::Chunk,
        ),
        (
            Config {
                ack_timeout: Some(Span::ZERO),
                ..valid
            },
            ConfigError::AckTimeout,
        ),
        (
            Config {
                max_reads: 0,
                ..valid
            },
            ConfigError::MaxReads,
        ),
        (
            Config {
                max_reads: 65,
                ..valid
            },
            ConfigError::MaxReads,
        ),
    ];
    for (config, mistake) in mistakes {
        assert_eq!(config.check(), Err(mistake));
    }
    for mtu in [256, 512, 1024, 2048, 4096] {
        assert_eq!(Config { mtu, ..valid }.check(), Ok(()));
    }
}

/// 4.096 us x 2^14 = 67,108.864 us.
#[test]
fn the_local_ack_timeout() {
    assert_eq!(local_ack_timeout(1), Span::from_ns(8_192));
    assert_eq!(local_ack_timeout(14), Span::from_ns(67_108_864));
    assert_eq!(Config::default().ack_timeout, Some(local_ack_timeout(14)));
}

#[test]
#[should_panic(expected = "a field of 5 bits")]
fn exponents_have_five_bits() {
    local_ack_timeout(32);
}
