//! READs: requests, responses, their losses, and their order among other messages.

use incastle_rdma::{Config, Event, MessageId, Notification, Verb};
use incastle_units::Rate;

use super::control::Fixed;
use super::net::{Net, config, us};
use super::script::play;

/// A request of no size, and three responses, paced as other data.
#[test]
fn a_read() {
    let net = play(
        &config(),
        &[(0, Verb::Read, 2500)],
        "0 A read 0+2500
         10 B response 0 first
         11 B response 1 middle
         12 B response 2 last",
    );
    let [a, b] = &net.ends;
    assert_eq!((a.pair.delivered(), b.pair.delivered()), (2500, 0));
    assert_eq!(a.events, [Event::Completed(MessageId(0))]);
    assert!(b.events.is_empty());
}

/// The response acknowledges the WRITE before it, and the ACK of the WRITE after it waits for the last response.
#[test]
fn reads_among_writes() {
    let net = play(
        &config(),
        &[
            (0, Verb::Write, 1000),
            (0, Verb::Read, 3000),
            (0, Verb::Write, 1000),
        ],
        "0 A write 0 only req
         1 A read 1+3000
         1 A write 4 only req
         11 B ack 0
         11 B response 1 first
         12 B response 2 middle
         13 B response 3 last
         14 B ack 4",
    );
    let ids = [0, 1, 2].map(|id| Event::Completed(MessageId(id)));
    assert_eq!(net.ends[0].events, ids);
}

/// At most two READs are outstanding; the WRITE behind them waits as well, because messages leave in order.
#[test]
fn outstanding_reads_are_bounded() {
    let config = Config {
        max_reads: 2,
        ..config()
    };
    play(
        &config,
        &[
            (0, Verb::Read, 1000),
            (0, Verb::Read, 1000),
            (0, Verb::Read, 1000),
            (0, Verb::Write, 1000),
        ],
        "0 A read 0+1000
         0 A read 1+1000
         10 B response 0 only
         11 B response 1 only
         21 A read 2+1000
         21 A write 3 only req
         31 B response 2 only
         32 B ack 3",
    );
}

/// The second response is lost: at the third the requester asks again, from the missing one on. The later ones of
/// the first stream are ignored.
#[test]
fn a_lost_response() {
    let net = play(
        &config(),
        &[(0, Verb::Read, 5000)],
        "0 A read 0+5000
         10 B response 0 first
         11 B response 1 middle lost
         12..=13 B response 2..=3 middle
         14 B response 4 last
         23 A read 1+4000 again
         33 B response 1 first again
         34..=35 B response 2..=3 middle again
         36 B response 4 last again",
    );
    let a = &net.ends[0].pair;
    assert_eq!(a.delivered(), 5000);
    assert_eq!((a.stats().read_retries, a.stats().timeouts), (1, 0));
}

/// The second response is lost again and again. The requester asks once at a PSN, then after the timer, and then once
/// more at a gap.
#[test]
fn a_response_lost_three_times() {
    let net = play(
        &config(),
        &[(0, Verb::Read, 3000)],
        "0 A read 0+3000
         10 B response 0 first
         11 B response 1 middle lost
         12 B response 2 last
         23 A read 1+2000 again
         33 B response 1 first again lost
         34 B response 2 last again
         123 A read 1+2000 again
         133 B response 1 first again lost
         134 B response 2 last again
         145 A read 1+2000 again
         155 B response 1 first again
         156 B response 2 last again",
    );
    let stats = net.ends[0].pair.stats();
    assert_eq!((stats.read_retries, stats.timeouts), (2, 1));
}

/// The last response is lost, and the ACK of the next message shows that.
#[test]
fn an_ack_beyond_a_missing_response() {
    let net = play(
        &config(),
        &[(0, Verb::Read, 2000), (0, Verb::Send, 1000)],
        "0 A read 0+2000
         0 A send 2 only req
         10 B response 0 first
         11 B response 1 last lost
         12 B ack 2
         22 A read 1+1000 again
         22 A send 2 only req again
         32 B response 1 only again
         33 B ack 2",
    );
    assert_eq!(net.ends[0].pair.delivered(), 2000);
    assert_eq!(net.ends[1].pair.delivered(), 1000);
}

/// The request is lost: the packet behind it is out of sequence.
#[test]
fn a_lost_request() {
    play(
        &config(),
        &[(0, Verb::Read, 1000), (0, Verb::Write, 1000)],
        "0 A read 0+1000 lost
         0 A write 1 only req
         11 B nak 0
         21 A read 0+1000 again
         21 A write 1 only req again
         31 B response 0 only
         32 B ack 1",
    );
}

/// The only response is lost: the timer asks again.
#[test]
fn a_lost_last_response() {
    play(
        &config(),
        &[(0, Verb::Read, 2000)],
        "0 A read 0+2000
         10 B response 0 first
         11 B response 1 last lost
         121 A read 1+1000 again
         131 B response 1 only again",
    );
}

/// A NAK waits for the responses before it, too: it acknowledges them.
#[test]
fn a_nak_behind_responses() {
    play(
        &config(),
        &[(0, Verb::Read, 3000), (0, Verb::Write, 2000)],
        "0 A read 0+3000
         0 A write 3 first lost
         1 A write 4 last req
         10 B response 0 first
         11 B response 1 middle
         12 B response 2 last
         13 B nak 3
         23 A write 3 first again
         24 A write 4 last req again
         34 B ack 3
         35 B ack 4",
    );
}

/// The late packet comes before the NAK can leave. The NAK then names what is still missing, and once only.
#[test]
fn a_nak_that_waits_names_what_is_expected_then() {
    play(
        &config(),
        &[(0, Verb::Read, 6000), (0, Verb::Write, 4000)],
        "0 A read 0+6000
         0 A write 6 first late 2
         1..=2 A write 7..=8 middle
         3 A write 9 last req
         10 B response 0 first
         11..=14 B response 1..=4 middle
         15 B response 5 last
         16 B nak 7
         26..=27 A write 7..=8 middle again
         28 A write 9 last req again
         37..=39 B ack 7..=9",
    );
}

/// Responses and requests of one endpoint take turns.
#[test]
fn responses_and_requests_alternate() {
    play(
        &config(),
        &[(1, Verb::Write, 14_000), (0, Verb::Read, 2000)],
        "0 B write 0 first
         0 A read 0+2000
         1..=9 B write 1..=9 middle
         10 B response 0 first
         11 A ack 0
         11 B write 10 middle
         12 A ack 1
         12 B response 1 last
         13 A ack 2
         13 B write 11 middle
         14 A ack 3
         14 B write 12 middle
         15 A ack 4
         15 B write 13 last req
         16..=20 A ack 5..=9
         22 A ack 10
         24..=25 A ack 11..=12
         26 A ack 13",
    );
}

/// Marked responses: the requester sends CNPs, at most one within the interval, or one for each where ACKs echo marks.
#[test]
fn marked_responses_are_notified() {
    let responses = "0 A read 0+3000
         10 B response 0 first CE
         11 B response 1 middle CE
         12 B response 2 last
         21 A cnp";
    let posts = [(0, Verb::Read, 3000)];
    let net = play(&config(), &posts, responses);
    assert_eq!(net.ends[1].pair.stats().notifications, 1);
    let echo = Config {
        notification: Notification::Echo,
        ..config()
    };
    play(&echo, &posts, &format!("{responses}\n22 A cnp"));
}

/// 5 GiB go as three requests of at most 2^31 bytes in whole packets, one after the other. Packets of 65,535 bytes: 32,768
/// of them in 2^31 bytes.
#[test]
fn a_long_read_has_several_requests() {
    let bytes = 5 << 30;
    let config = Config {
        mtu: u16::MAX,
        ..config()
    };
    let mut net = Net::controlled(&config, || Fixed::default().into());
    net.rate = Rate::from_bits_per_second(100_000_000_000_000);
    net.post(0, Verb::Read, bytes);
    net.run(us(1_000_000));
    assert_eq!(net.ends[0].pair.delivered(), bytes);
    let requests: Vec<_> = net
        .trace
        .iter()
        .filter(|line| line.contains(" A read "))
        .collect();
    let asked = [
        "read 0+2147450880",
        "read 32768+2147450880",
        "read 65536+1073807360",
    ];
    assert_eq!(requests.len(), 3);
    for (request, asked) in requests.iter().zip(asked) {
        assert!(request.ends_with(asked), "{request}");
    }
    // 2^31 bytes take 172 us at 100 Tbit/s; each request waits for them and the wire.
    let at = |request: &str| request.split(' ').next().and_then(|at| at.parse().ok());
    let times: Vec<u64> = requests.iter().filter_map(|request| at(request)).collect();
    assert_eq!(times, [0, 191, 383]);
}
