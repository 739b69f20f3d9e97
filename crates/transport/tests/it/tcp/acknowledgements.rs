//! When a receiver acknowledges: delayed ACKs and their timer, immediate ACKs, batches, SACK
//! blocks.

use incastle_transport::tcp::{Batch, Config, Recovery};
use incastle_units::Ecn;

use super::script::{script, write};
use super::wire::{Fate, Receiver, Wire, assert_trace, config, data, ms};

fn delayed() -> Config {
    Config {
        delayed_ack_count: 2,
        ..config()
    }
}

fn plain(receiver: &mut Receiver, at: u64, seq: u64) -> Vec<String> {
    receiver.take(&data(ms(at), seq, 1000), Ecn::NotEct, Batch::Last)
}

#[test]
fn every_second_segment_is_acknowledged() {
    let mut receiver = Receiver::new(&delayed());
    assert!(plain(&mut receiver, 0, 0).is_empty());
    assert_eq!(plain(&mut receiver, 1, 1000), ["1 B ack 2000"]);
    assert!(plain(&mut receiver, 2, 2000).is_empty());
    assert_eq!(plain(&mut receiver, 3, 3000), ["3 B ack 4000"]);
}

#[test]
fn the_timer_acknowledges_a_single_segment() {
    // Two segments are acknowledged together, the third after 40 ms.
    script(
        "0 A 0..=2000+1000
         10 B ack 2000
         50 B ack 3000",
    )
    .play(&delayed(), write(3000, 100));
}

#[test]
fn the_timer_runs_from_the_first_waiting_segment() {
    let mut receiver = Receiver::new(&Config {
        delayed_ack_count: 3,
        ..config()
    });
    assert!(plain(&mut receiver, 5, 0).is_empty());
    assert!(plain(&mut receiver, 30, 1000).is_empty());
    assert_eq!(receiver.connection.poll_timeout(), Some(ms(45)));
    assert_eq!(receiver.answers(ms(45)), ["45 B ack 2000"]);
    assert_eq!(receiver.connection.poll_timeout(), None);
}

#[test]
fn out_of_order_and_gap_filling_segments_are_acknowledged_immediately() {
    let mut receiver = Receiver::new(&delayed());
    assert_eq!(plain(&mut receiver, 0, 1000), ["0 B ack 0"]);
    assert_eq!(plain(&mut receiver, 1, 3000), ["1 B ack 0"]);
    let had = |receiver: &Receiver| (receiver.connection.delivered(), receiver.connection.held());
    assert_eq!(had(&receiver), (0, 2000));
    // Fills the first gap, the second one remains.
    assert_eq!(plain(&mut receiver, 2, 0), ["2 B ack 2000"]);
    assert_eq!(had(&receiver), (2000, 1000));
    assert_eq!(plain(&mut receiver, 3, 2000), ["3 B ack 4000"]);
    assert!(plain(&mut receiver, 4, 4000).is_empty());
    assert_eq!(had(&receiver), (5000, 0));
    // Unread data are held, too.
    receiver.connection.set_reading(false);
    plain(&mut receiver, 5, 5000);
    assert_eq!(had(&receiver), (5000, 1000));
}

#[test]
fn repeated_data_are_acknowledged_immediately() {
    let mut receiver = Receiver::new(&delayed());
    plain(&mut receiver, 0, 0);
    assert_eq!(plain(&mut receiver, 1, 0), ["1 B ack 1000"]);
    // Half old, half new: counts as new.
    assert!(plain(&mut receiver, 2, 500).is_empty());
    assert_eq!(receiver.connection.delivered(), 1500);
    assert_eq!(receiver.connection.stats().duplicates_received, 1);
}

#[test]
fn a_batch_is_acknowledged_once() {
    let mut receiver = Receiver::new(&delayed());
    for seq in [0, 1000, 2000, 3000] {
        let segment = data(ms(0), seq, 1000);
        assert!(receiver.take(&segment, Ecn::NotEct, Batch::More).is_empty());
    }
    assert_eq!(plain(&mut receiver, 0, 4000), ["0 B ack 5000"]);
}

#[test]
fn a_batch_of_out_of_order_segments_gives_a_duplicate_each() {
    let mut receiver = Receiver::new(&delayed());
    for seq in [1000, 2000] {
        receiver.take(&data(ms(0), seq, 1000), Ecn::NotEct, Batch::More);
    }
    assert_eq!(
        plain(&mut receiver, 0, 3000),
        ["0 B ack 0", "0 B ack 0", "0 B ack 0"]
    );
}

#[test]
fn acks_travel_on_data() {
    let mut wire = Wire::symmetric(&delayed(), |_| Fate::Pass);
    wire.endpoints[0].write(1000);
    wire.run(ms(10));
    wire.endpoints[1].write(500);
    wire.run(ms(60));
    assert_trace(
        &wire.trace,
        "0 A 0+1000
         10 B 0+500 ack 1000
         60 A ack 500",
    );
}

#[test]
fn the_echoed_timestamp_is_that_of_the_first_segment_acknowledged() {
    let mut wire = Wire::symmetric(&delayed(), |_| Fate::Pass);
    wire.endpoints[0].write(1000);
    wire.run(ms(7));
    wire.endpoints[0].write(1000);
    wire.run(ms(17));
    assert_eq!(wire.record[2].sent.segment.echo, ms(0));
    wire.run(ms(100));
    assert_eq!(
        wire.endpoints[0].smoothed_rtt(),
        Some(incastle_units::Span::from_ms(27))
    );
    // And again, later: 40 ms of delay for a single segment.
    wire.endpoints[0].write(1000);
    wire.run(ms(200));
    assert_eq!(wire.record[4].at, ms(150));
    assert_eq!(wire.record[4].sent.segment.echo, ms(100));
}

#[test]
fn sack_blocks_begin_with_the_latest() {
    let mut receiver = Receiver::new(&Config {
        recovery: Recovery::Sack,
        ..delayed()
    });
    assert_eq!(plain(&mut receiver, 0, 1000), ["0 B ack 0 sack 1000-2000"]);
    assert_eq!(
        plain(&mut receiver, 1, 5000),
        ["1 B ack 0 sack 5000-6000 sack 1000-2000"]
    );
    assert_eq!(
        plain(&mut receiver, 2, 3000),
        ["2 B ack 0 sack 3000-4000 sack 5000-6000 sack 1000-2000"]
    );
    // A fourth block pushes the oldest out.
    assert_eq!(
        plain(&mut receiver, 3, 7000),
        ["3 B ack 0 sack 7000-8000 sack 3000-4000 sack 5000-6000"]
    );
    // Two blocks become one.
    assert_eq!(
        plain(&mut receiver, 4, 4000),
        ["4 B ack 0 sack 3000-6000 sack 7000-8000"]
    );
    assert_eq!(
        plain(&mut receiver, 5, 0),
        ["5 B ack 2000 sack 3000-6000 sack 7000-8000"]
    );
    assert_eq!(
        plain(&mut receiver, 6, 2000),
        ["6 B ack 6000 sack 7000-8000"]
    );
    assert_eq!(plain(&mut receiver, 7, 6000), ["7 B ack 8000"]);
}
