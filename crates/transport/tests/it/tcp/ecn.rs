//! ECN: RFC 3168's echo until CWR, DCTCP's receiver state machine, and what the sender does.

use incastle_congestion::{Algorithm, Dctcp, DctcpConfig};
use incastle_transport::tcp::{Batch, CeChange, Config, Connection, EcnMode, Flags, Role};
use incastle_units::{Bytes, Ecn};

use super::script::{script, write};
use super::wire::{Fate, MSS, Packet, Receiver, Wire, assert_trace, config, data, lose, ms};

fn classic() -> Config {
    Config {
        ecn: EcnMode::Classic,
        ..config()
    }
}

fn dctcp(kind: CeChange) -> Config {
    Config {
        ecn: EcnMode::Dctcp(kind),
        delayed_ack_count: 2,
        ..config()
    }
}

/// Marks the segments that begin at these offsets, when they are sent first.
fn marks(seqs: &'static [u64]) -> impl FnMut(&Packet) -> Fate {
    |packet| {
        if seqs.iter().any(|seq| packet.is_first(*seq)) {
            Fate::Mark
        } else {
            Fate::Pass
        }
    }
}

#[test]
fn ece_until_cwr() {
    // Window 4: the ACK without ECE grows it to 5 (flight 3 + 1 acknowledged: two new segments).
    // The first ECE halves the 5 in flight: ssthresh and window 2500, so that nothing leaves until
    // 2 are outstanding or fewer. ECE stays on until the segment with CWR arrives. Then two ACKs
    // grow the window by 1000 x 1000 / 2500 = 400 and by 344, to 3244: three segments.
    let wire = script(
        "0 A 0+1000
         0 A 1000+1000 CE
         0 A 2000+1000
         0 A 3000+1000
         10 B ack 1000
         10 B ECE ack 2000..=4000
         20 A 4000+1000
         20 A 5000+1000
         30 B ECE ack 5000
         30 B ECE ack 6000
         40 A 6000+1000 CWR
         40 A 7000+1000
         50 B ack 7000
         50 B ack 8000
         60 A 8000..=10000+1000
         70 B ack 9000..=11000
         80 A 11000+1000
         90 B ack 12000",
    )
    .play(&classic(), write(12_000, 100));
    assert_eq!(wire.endpoints[0].stats().ecn_reductions, 1);
    assert_eq!(wire.endpoints[0].stats().ece_received, 5);
    assert_eq!(wire.endpoints[1].stats().ce_received, 1);
}

#[test]
fn a_marked_cwr_segment_keeps_the_echo() {
    let mut receiver = Receiver::new(&classic());
    let mut segment = data(ms(0), 0, 1000);
    assert_eq!(
        receiver.take(&segment, Ecn::Ce, Batch::Last),
        ["0 B ECE ack 1000"]
    );
    segment = data(ms(1), 1000, 1000);
    segment.flags = segment.flags.with(Flags::CWR);
    assert_eq!(
        receiver.take(&segment, Ecn::Ce, Batch::Last),
        ["1 B ECE ack 2000"]
    );
    segment = data(ms(2), 2000, 1000);
    segment.flags = segment.flags.with(Flags::CWR);
    assert_eq!(
        receiver.take(&segment, Ecn::Ect0, Batch::Last),
        ["2 B ack 3000"]
    );
}

/// `tcp_data_ecn_check` and `tcp_ecn_accept_cwr` of Linux: of eight packets the third is marked, the seventh has CWR.
#[test]
fn linux_acknowledges_the_first_mark_the_next_packet_and_cwr_at_once() {
    let acks = |quick| {
        let mut receiver = Receiver::new(&Config {
            quick_acks_on_ecn: quick,
            delayed_ack_count: 2,
            ..classic()
        });
        let mut sent = Vec::new();
        for number in 0..8 {
            let mut segment = data(ms(number), number * 1000, 1000);
            if number == 6 {
                segment.flags = segment.flags.with(Flags::CWR);
            }
            let ecn = if number == 2 { Ecn::Ce } else { Ecn::Ect0 };
            sent.extend(receiver.take(&segment, ecn, Batch::Last));
        }
        sent
    };
    let delayed = [
        "1 B ack 2000",
        "3 B ECE ack 4000",
        "5 B ECE ack 6000",
        "7 B ack 8000",
    ];
    assert_eq!(acks(false), delayed);
    let quick = [
        "1 B ack 2000",
        "2 B ECE ack 3000",
        "3 B ECE ack 4000",
        "5 B ECE ack 6000",
        "6 B ack 7000",
    ];
    assert_eq!(acks(true), quick);
}

/// The ACKs of a receiver with m = 2 for segments of 1000 B, one per millisecond (`C`: marked), and
/// after the delayed-ACK timer.
fn answers(kind: CeChange, run: &str) -> Vec<String> {
    let mut receiver = Receiver::new(&dctcp(kind));
    let mut lines = Vec::new();
    for (at, mark) in (0..).zip(run.chars()) {
        let ecn = if mark == 'C' { Ecn::Ce } else { Ecn::Ect0 };
        lines.extend(receiver.take(&data(ms(at), 1000 * at, MSS), ecn, Batch::Last));
    }
    lines.extend(receiver.answers(ms(100)));
    lines
}

#[test]
fn dctcp_linux_on_runs_of_one_two_and_three() {
    // A change while one segment waits: its ACK with the old echo, and that of the changing segment
    // with the new one, both immediately.
    assert_eq!(
        answers(CeChange::Linux, "-C--"),
        [
            "1 B ack 1000",
            "1 B ECE ack 2000",
            "2 B ack 3000",
            "100 B ack 4000"
        ]
    );
    assert_eq!(
        answers(CeChange::Linux, "-CC-"),
        [
            "1 B ack 1000",
            "1 B ECE ack 2000",
            "3 B ECE ack 3000",
            "3 B ack 4000"
        ]
    );
    assert_eq!(
        answers(CeChange::Linux, "-CCC-"),
        [
            "1 B ack 1000",
            "1 B ECE ack 2000",
            "3 B ECE ack 4000",
            "4 B ack 5000"
        ]
    );
    // A change while nothing waits.
    assert_eq!(
        answers(CeChange::Linux, "--C-"),
        ["1 B ack 2000", "2 B ECE ack 3000", "3 B ack 4000"]
    );
}

#[test]
fn dctcp_figure_10_on_runs_of_one_two_and_three() {
    // The changing segment waits like any other.
    assert_eq!(
        answers(CeChange::Figure10, "-C--"),
        ["1 B ack 1000", "2 B ECE ack 2000", "3 B ack 4000"]
    );
    assert_eq!(
        answers(CeChange::Figure10, "-CC-"),
        ["1 B ack 1000", "2 B ECE ack 3000", "100 B ack 4000"]
    );
    assert_eq!(
        answers(CeChange::Figure10, "-CCC-"),
        [
            "1 B ack 1000",
            "2 B ECE ack 3000",
            "4 B ECE ack 4000",
            "100 B ack 5000"
        ]
    );
    assert_eq!(
        answers(CeChange::Figure10, "--C-"),
        ["1 B ack 2000", "3 B ECE ack 3000", "100 B ack 4000"]
    );
}

#[test]
fn dctcp_ignores_cwr() {
    let mut receiver = Receiver::new(&dctcp(CeChange::Linux));
    receiver.take(&data(ms(0), 0, MSS), Ecn::Ce, Batch::Last);
    let mut segment = data(ms(1), 1000, MSS);
    segment.flags = segment.flags.with(Flags::CWR);
    receiver.take(&segment, Ecn::Ce, Batch::Last);
    assert_eq!(receiver.answers(ms(100)), ["100 B ECE ack 2000"]);
}

#[test]
fn a_change_inside_a_batch_is_acknowledged() {
    let mut receiver = Receiver::new(&dctcp(CeChange::Linux));
    for (seq, ecn) in [
        (0, Ecn::Ect0),
        (1000, Ecn::Ect0),
        (2000, Ecn::Ce),
        (3000, Ecn::Ce),
        (4000, Ecn::Ce),
    ] {
        receiver.take(&data(ms(0), seq, MSS), ecn, Batch::More);
    }
    // The state machine saw each packet: 2 unmarked, 3 marked, 1 unmarked.
    assert_eq!(
        receiver.take(&data(ms(0), 5000, MSS), Ecn::Ect0, Batch::Last),
        ["0 B ack 2000", "0 B ECE ack 5000", "0 B ack 6000"]
    );
}

#[test]
fn data_that_carry_acks_echo_too() {
    let mut receiver = Receiver::new(&dctcp(CeChange::Linux));
    receiver.connection.write(1500);
    assert_eq!(
        receiver.take(&data(ms(0), 0, MSS), Ecn::Ce, Batch::Last),
        ["0 B 0+1000 ECE ack 1000", "0 B 1000+500 ECE ack 1000"]
    );
}

fn dctcp_wire(config: &Config, judge: impl FnMut(&Packet) -> Fate + 'static) -> Wire {
    let end = |role| {
        let mut control = DctcpConfig::new(Bytes::new(u64::from(config.mss)));
        control.window.initial_window = config.initial_window;
        Connection::new(config, Algorithm::Dctcp(Dctcp::new(control)), role)
    };
    Wire::new([end(Role::Active), end(Role::Passive)], judge)
}

#[test]
fn ece_does_not_grow_the_window() {
    let config = Config {
        delayed_ack_count: 1,
        ..dctcp(CeChange::Linux)
    };
    let mut wire = dctcp_wire(&config, marks(&[0, 1000, 2000, 3000]));
    wire.endpoints[0].write(1 << 20);
    wire.run(ms(20));
    // Initial alpha 1: the first ECE halves the window of 4, the other three change nothing.
    let state = wire.endpoints[0].control_state();
    assert_eq!(state.cwnd, Some(Bytes::new(2000)));
    assert_eq!(wire.endpoints[0].stats().ecn_reductions, 1);
    assert_trace(
        &wire.trace[8..],
        "20 A 4000+1000 CWR
         20 A 5000+1000",
    );
}

#[test]
fn dctcp_halves_on_loss() {
    let config = Config {
        delayed_ack_count: 1,
        initial_window: Bytes::new(10_000),
        ..dctcp(CeChange::Linux)
    };
    let mut wire = dctcp_wire(&config, lose(&[0]));
    wire.endpoints[0].write(1 << 20);
    wire.run(ms(20));
    // Ten in flight (and two of limited transmit, which do not count): half is five, whatever
    // alpha is; alpha itself stays.
    let state = wire.endpoints[0].control_state();
    assert_eq!(state.ssthresh, Some(Bytes::new(5000)));
    assert_eq!(state.alpha, Some(1.0));
    assert_eq!(wire.endpoints[0].stats().fast_retransmits, 1);
}

#[test]
fn control_packets_are_ecn_capable_only_if_so_configured() {
    for ect_on_control in [false, true] {
        let config = Config {
            ect_on_control,
            handshake: true,
            ..classic()
        };
        let mut wire = Wire::symmetric(&config, lose(&[1000]));
        wire.endpoints[0].open(ms(0));
        wire.endpoints[0].write(8000);
        wire.run(ms(2000));
        assert_eq!(wire.endpoints[1].delivered(), 8000);
        assert_eq!(wire.endpoints[0].stats().retransmissions, 1);
        for packet in &wire.record {
            let new_data = packet.sent.segment.payload > 0 && !packet.sent.retransmission;
            assert_eq!(packet.sent.ecn.is_capable(), new_data || ect_on_control);
        }
    }
}
