//! The rate at which congestion mode begins.

use incastle_congestion::{CongestionEvent, DcudpConfig, DcudpEntry, Echo, Reaction};
use incastle_units::Span;

use super::{Connection, config};

/// A connection that measures C, over a round trip of 1 ms.
fn measured() -> Connection {
    let mut connection = Connection::new(DcudpConfig {
        entry: DcudpEntry::Measured,
        ..config()
    });
    connection.sender.smoothed_rtt = Some(Span::from_ms(1));
    connection
}

/// Enters by a mark, and holds the rate before the first cut against what it should be: W^2 / (W + 1)
/// is left.
fn expect(connection: &mut Connection, expected: f64) {
    assert_eq!(connection.frozen_ack(Echo::Congestion), Reaction::Reduced);
    let left = connection.control.rates().expect("congestion mode").data * 1e-3;
    let rate = f64::midpoint(left, (left * left + 4.0 * left).sqrt()) * 1e3;
    assert!(
        (rate - expected).abs() < 1e-3 * expected,
        "{rate} {expected}"
    );
}

/// Sends a packet every `us` microseconds, `count` times.
fn send_every(connection: &mut Connection, us: u64, count: u64) {
    for _ in 0..count {
        connection.send();
        connection.sender.now += Span::from_us(us);
    }
}

#[test]
fn congestion_mode_begins_at_the_rate_that_udp_mode_had() {
    // One packet in 20 us: 50,000 per second, over 1 ms, 10 ms, 10.02 ms and 95 ms.
    for count in [50, 500, 501, 4750] {
        let mut connection = measured();
        send_every(&mut connection, 20, count);
        expect(&mut connection, 50_000.0);
    }
    // Packets sent 20 ms ago and longer do not count: 9.99 ms at 25,000, then 25 ms at 50,000.
    let mut connection = measured();
    send_every(&mut connection, 40, 250);
    send_every(&mut connection, 20, 1250);
    expect(&mut connection, 50_000.0);
    // The interval before the current one does: 10 ms at 25,000 and 5 ms at 50,000 are 33,333.
    let mut connection = measured();
    send_every(&mut connection, 40, 250);
    send_every(&mut connection, 20, 250);
    expect(&mut connection, 500.0 / 15e-3);
    // 10 ms without a packet: the rate is that of what came after them. 20 us less: 200 packets in
    // 1.98 + 9.98 + 2 ms are 14,327.
    for (pause, expected) in [(10_000, 50_000.0), (9980, 200.0 / 13.96e-3)] {
        let mut connection = measured();
        send_every(&mut connection, 20, 100);
        connection.sender.now += Span::from_us(pause - 20);
        send_every(&mut connection, 20, 100);
        expect(&mut connection, expected);
    }
    // At most the interface's rate, at least one packet per round trip; C where nothing was sent, or no
    // time has passed.
    let mut connection = measured();
    send_every(&mut connection, 2, 100);
    expect(&mut connection, 100_000.0);
    let mut connection = measured();
    send_every(&mut connection, 5000, 3);
    let _ = connection.frozen_ack(Echo::Congestion);
    assert_eq!(connection.rates(), (1000, 1000));
    expect(&mut measured(), 100_000.0);
    let mut connection = measured();
    connection.send();
    expect(&mut connection, 100_000.0);
}

#[test]
fn what_was_sent_in_congestion_mode_does_not_count_afterwards() {
    let mut connection = measured();
    send_every(&mut connection, 20, 100);
    connection.frozen_ack(Echo::Congestion);
    send_every(&mut connection, 20, 100);
    let _ = connection.report(CongestionEvent::Over);
    send_every(&mut connection, 50, 100);
    expect(&mut connection, 20_000.0);
}
