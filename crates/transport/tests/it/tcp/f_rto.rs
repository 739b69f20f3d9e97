//! Spurious timeouts (F-RTO, RFC 5682).

use incastle_transport::tcp::Config;

use super::script::{beginning, control, rack, timeouts};

/// RACK with F-RTO and without probes.
fn f_rto() -> Config {
    Config {
        f_rto: true,
        tail_loss_probe: false,
        ..rack(4)
    }
}

#[test]
fn a_spurious_timeout_is_undone() {
    let wire = beginning(
        "100 A 1000..=4000+1000
         110 B ack 2000..=5000
         120 A 5000..=12000+1000 late 215
         320 A 5000+1000 again late 15
         345 B ack 6000..=13000
         345 B ack 13000 sack 5000-6000
         355 A 13000..=20000+1000",
    )
    .transfer(&f_rto(), 20_000);
    assert_eq!(timeouts(&wire), 1);
    assert_eq!(control(&wire), (12_000, None));
    let config = Config {
        f_rto: false,
        dsack: false,
        ..f_rto()
    };
    let wire = beginning(
        "100 A 1000..=4000+1000
         110 B ack 2000..=5000
         120 A 5000..=12000+1000 late 215",
    )
    .transfer(&config, 20_000);
    assert_eq!(control(&wire).1, Some(4000));
}

#[test]
fn a_real_timeout_is_not_undone() {
    let wire = beginning(
        "100 A 1000..=4000+1000 lost
         300 A 1000+1000 again
         310 B ack 2000
         320 A 5000+1000 lost
         320 A 6000+1000
         330 B ack 2000 sack 6000-7000
         340 A 2000+1000 again
         340 A 3000+1000 again
         350 B ack 3000 sack 6000-7000
         350 B ack 4000 sack 6000-7000
         360 A 4000+1000 again
         360 A 5000+1000 again
         370 B ack 5000 sack 6000-7000
         370 B ack 7000",
    )
    .transfer(&f_rto(), 20_000);
    assert_eq!(control(&wire).1, Some(2000));
}
