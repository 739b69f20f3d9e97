//! The parameters' ranges.

use incastle_transport::tcp::{Config, ConfigError, LossDetection};
use incastle_units::{Bytes, Span};

#[test]
fn the_defaults_are_in_range() {
    assert_eq!(Config::default().check(), Ok(()));
}

#[test]
fn each_mistake_has_a_name() {
    let check = |change: fn(&mut Config)| {
        let mut config = Config::default();
        change(&mut config);
        config.check()
    };
    assert_eq!(check(|c| c.mss = 0), Err(ConfigError::NoSegment));
    assert_eq!(check(|c| c.delayed_ack_count = 0), Err(ConfigError::NoAck));
    assert_eq!(check(|c| c.burst = 0), Err(ConfigError::NoBurst));
    assert_eq!(
        check(|c| c.rto.granularity = Span::ZERO),
        Err(ConfigError::NoGranularity)
    );
    assert_eq!(
        check(|c| c.receive_window = Bytes::new(1 << 31)),
        Err(ConfigError::ReceiveWindow)
    );
    assert_eq!(
        check(|c| c.max_cwnd = Some(Bytes::new(1459))),
        Err(ConfigError::MaxCwnd)
    );
    let needs_rack = Err(ConfigError::NeedsRack);
    assert_eq!(check(|c| c.tail_loss_probe = true), needs_rack);
    assert_eq!(
        check(|c| c.loss_detection = LossDetection::Linux),
        needs_rack
    );
    assert_eq!(
        check(|c| c.rto.min = Span::from_secs(61)),
        Err(ConfigError::RtoRange)
    );
}
