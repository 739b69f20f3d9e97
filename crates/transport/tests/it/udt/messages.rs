//! Message sockets: borders, order, time to live, drop requests.

use incastle_cases::cases;
use incastle_transport::udt::wire::{Control, DataHeader, Place};
use incastle_transport::udt::{Config, Event, MessageOptions, SendError};
use incastle_units::{Ecn, Span};

use super::hand::{Hand, ack, dcudp, messages, number, udt};
use super::net::{Net, Path, Side, dcudp_config, pattern, udt_config};

const FULL: u64 = 1456;
const MS: fn(u64) -> Span = Span::from_ms;

/// How most messages are sent: they never grow old, and come in order.
const KEPT: MessageOptions = MessageOptions {
    ttl: None,
    in_order: true,
};

/// Messages that grow old.
fn within(ttl: Span) -> MessageOptions {
    MessageOptions {
        ttl: Some(ttl),
        ..KEPT
    }
}

fn write(hand: &mut Hand, bytes: u64, options: MessageOptions) {
    let now = hand.now;
    hand.connection.write_message(now, bytes, options);
}

fn sender() -> Hand {
    Hand::fixed(&messages(udt()), None, 1_000)
}

#[test]
fn a_message_is_cut_into_packets_with_their_places() {
    let mut hand = sender();
    write(&mut hand, 2 * FULL + 1, KEPT);
    let out_of_order = MessageOptions {
        in_order: false,
        ..KEPT
    };
    write(&mut hand, FULL, out_of_order);
    let (_, data) = hand.headers();
    let fields: Vec<_> = data
        .iter()
        .map(|header| (header.message, header.place, header.in_order, header.length))
        .collect();
    assert_eq!(
        fields,
        [
            (1, Place::First, true, 1456),
            (1, Place::Middle, true, 1456),
            (1, Place::Last, true, 1),
            (2, Place::Only, false, 1456),
        ]
    );
}

#[test]
fn a_message_too_old_to_be_sent_again_is_dropped() {
    let mut hand = sender();
    write(&mut hand, 3 * FULL, within(MS(50)));
    write(&mut hand, FULL, KEPT);
    assert_eq!(hand.data(), [100, 101, 102, 103]);
    // In time it is sent again.
    hand.go(49_999).nak(&[101..=101]);
    assert_eq!(hand.data(), [101]);
    // At 50 ms it is not; what can be acknowledged without it is not touched.
    hand.go(50_000).nak(&[101..=101, 103..=103]);
    let (controls, data) = hand.headers();
    let drop = Control::Drop {
        message: 1,
        first: number(100),
        last: number(102),
    };
    assert_eq!(data[0].sequence, number(103));
    assert_eq!(controls[0].control, drop);
    assert_eq!(hand.connection.stats().messages_expired, 1);
    // Should the request be lost: it comes again, the message does not.
    hand.nak(&[100..=102]);
    assert_eq!(hand.controls(), [drop]);
    hand.control(ack(0, 104));
    assert_eq!(hand.events(), [Event::Finished]);
}

#[test]
fn a_message_that_was_never_sent_is_forgotten_when_it_is_too_old() {
    let mut hand = sender();
    write(&mut hand, 16 * FULL, KEPT);
    assert_eq!(hand.data().len(), 16);
    // The flow window of 16 is full.
    write(&mut hand, 5 * FULL, within(MS(5)));
    write(&mut hand, 10, KEPT);
    hand.go(6_000).control(ack(0, 116));
    let (_, data) = hand.headers();
    assert_eq!(data.len(), 1);
    assert_eq!((data[0].message, data[0].length), (2, 10));
    assert_eq!(hand.connection.unacknowledged(), 10);
}

#[test]
fn the_rest_of_a_message_that_grows_too_old_half_sent_is_not_numbered() {
    let mut hand = sender();
    write(&mut hand, 20 * FULL, within(MS(5)));
    assert_eq!(hand.data().len(), 16);
    hand.go(6_000).control(ack(0, 104));
    let (controls, data) = hand.headers();
    assert_eq!(data, []);
    let drops: Vec<Control> = controls.iter().map(|header| header.control).collect();
    assert!(drops.contains(&Control::Drop {
        message: 1,
        first: number(104),
        last: number(115),
    }));
    hand.control(ack(1, 116));
    assert_eq!(hand.events(), [Event::Finished]);
    // The next message has the next number.
    write(&mut hand, 10, KEPT);
    assert_eq!(hand.headers().1[0].sequence, number(116));
}

fn part(sequence: u32, message: u32, place: Place, in_order: bool) -> DataHeader {
    DataHeader {
        sequence: number(sequence),
        message,
        place,
        in_order,
        observe: false,
        cwr: false,
        length: 100,
    }
}

#[test]
fn messages_come_in_order_if_their_options_require_it() {
    let config = Config {
        reads_at_once: false,
        ..messages(udt())
    };
    let mut hand = Hand::new(&config);
    let take = |hand: &mut Hand| -> Vec<(u64, u64)> {
        let now = hand.now;
        let next = || hand.connection.take_message(now);
        std::iter::from_fn(next)
            .map(|message| (message.first, message.last))
            .collect()
    };
    // Message 1 lacks its middle; 2 must wait for it, 3 need not.
    hand.arrive_with(part(100, 1, Place::First, true), Ecn::NotEct);
    hand.arrive_with(part(102, 1, Place::Last, true), Ecn::NotEct);
    hand.arrive_with(part(103, 2, Place::Only, true), Ecn::NotEct);
    assert_eq!(take(&mut hand), []);
    hand.arrive_with(part(104, 3, Place::First, false), Ecn::NotEct);
    assert_eq!(take(&mut hand), []);
    hand.arrive_with(part(105, 3, Place::Last, false), Ecn::NotEct);
    // Five packets of 100 bytes, of which two make a message.
    assert_eq!(hand.connection.held(), 500);
    assert_eq!(take(&mut hand), [(4, 5)]);
    assert_eq!(hand.connection.held(), 300);
    hand.arrive_with(part(101, 1, Place::Middle, true), Ecn::NotEct);
    assert_eq!(take(&mut hand), [(0, 2), (3, 3)]);
    assert_eq!(hand.connection.held(), 0);
    assert_eq!(hand.connection.received_base(), 6);
}

#[test]
fn a_drop_request_lets_later_messages_pass() {
    let mut hand = Hand::new(&messages(dcudp()));
    hand.arrive_with(part(100, 1, Place::First, true), Ecn::Ect0);
    hand.arrive_with(part(103, 2, Place::Only, true), Ecn::Ect0);
    assert_eq!(hand.connection.stats().messages_delivered, 0);
    let drop = Control::Drop {
        message: 1,
        first: number(100),
        last: number(102),
    };
    hand.control(drop);
    assert_eq!(hand.connection.stats().messages_delivered, 1);
    assert_eq!(hand.connection.stats().delivered, 100);
    // Nothing is missing any more, as the ACK reports.
    let acks = hand.go(10_000).controls();
    let next =
        |control: &Control| matches!(control, Control::Ack { next, .. } if *next == number(104));
    assert!(acks.iter().any(next), "{acks:?}");
}

#[test]
fn a_drop_request_takes_what_is_missing_and_nothing_else() {
    let config = Config {
        reads_at_once: false,
        ..messages(udt())
    };
    let mut hand = Hand::new(&config);
    let drop = |first, last| Control::Drop {
        message: 2,
        first: number(first),
        last: number(last),
    };
    // The first message waits for its reader, so that nothing behind it is forgotten.
    hand.arrive_with(part(100, 1, Place::Only, true), Ecn::NotEct);
    hand.arrive_with(part(101, 2, Place::First, true), Ecn::NotEct);
    hand.arrive_with(part(102, 2, Place::Middle, true), Ecn::NotEct);
    // All of this has arrived: it is what was acknowledged, and stays.
    hand.control(drop(101, 102));
    // A part of this message has arrived; it is dropped with the rest.
    hand.control(drop(101, 103));
    hand.arrive_with(part(104, 2, Place::Last, true), Ecn::NotEct);
    assert_eq!(hand.connection.stats().refused.broken_messages, 1);
    let now = hand.now;
    let first = hand.connection.take_message(now).expect("the first");
    assert_eq!((first.first, first.last), (0, 0));
    assert_eq!(hand.connection.take_message(now), None);
    assert_eq!(hand.connection.received_base(), 5);
}

#[test]
fn a_drop_request_that_overtakes_other_data_leaves_them_missing() {
    let mut hand = Hand::new(&messages(udt()));
    hand.control(Control::Drop {
        message: 2,
        first: number(102),
        last: number(103),
    });
    hand.arrive_with(part(104, 3, Place::Only, true), Ecn::NotEct);
    assert_eq!(hand.connection.stats().messages_delivered, 0);
    hand.arrive_with(part(100, 1, Place::First, true), Ecn::NotEct);
    hand.arrive_with(part(101, 1, Place::Last, true), Ecn::NotEct);
    assert_eq!(hand.connection.stats().messages_delivered, 2);
}

#[test]
fn what_cannot_be_a_message_is_refused() {
    // 720 packets of 1456 bytes, 256 bytes less than the send buffers of 1 MiB.
    let config = Config {
        receive_buffer: 720,
        ..messages(udt_config())
    };
    let most = 720 * FULL;
    let mut net = Net::client_server(1, Path::default(), &config, &config);
    net.run(Span::from_secs(1));
    let now = net.local(Side::A);
    let connection = net.a.connection.as_mut().expect("connected");
    assert_eq!(
        connection.send_message(now, &[], KEPT),
        Err(SendError::Empty)
    );
    let long = vec![0; most as usize + 1];
    let error = SendError::Long {
        bytes: most + 1,
        most,
    };
    assert_eq!(connection.send_message(now, &long, KEPT), Err(error));
    assert_eq!(connection.send_message(now, &long[1..], KEPT), Ok(()));
    assert_eq!(
        connection.send_message(now, &[1; 257], KEPT),
        Err(SendError::Full)
    );
    connection.close(now);
    assert_eq!(
        connection.send_message(now, &[1], KEPT),
        Err(SendError::Over)
    );
}

/// Message `number` in a world where messages grow old: each comes whole, once, in order, or not at all.
#[test]
fn messages_that_may_grow_old_come_whole_or_not_at_all() {
    let mut lost = 0;
    for (seed, config) in
        (0..cases(30).into()).flat_map(|seed| [(seed, udt_config()), (seed, dcudp_config())])
    {
        let config = messages(config);
        let path = Path {
            loss: 100,
            jitter: Span::from_us(200),
            ..Path::default()
        };
        let mut net = Net::client_server(seed, path, &config, &config);
        net.run(Span::from_secs(2));
        let count = 200_u64;
        let now = net.local(Side::A);
        let sender = net.a.connection.as_mut().expect("connected");
        for n in 0..count {
            let body: Vec<u8> = (0..=n * 30).map(|at| pattern(n, at)).collect();
            let message = [&n.to_be_bytes()[..], &body].concat();
            let options = MessageOptions {
                ttl: (n % 2 == 1).then_some(Span::from_ms(1 + n % 20)),
                ..KEPT
            };
            sender.send_message(now, &message, options).expect("room");
        }
        let mut came = Vec::new();
        let until = net.now + Span::from_secs(60);
        while !net.a.has(Event::Finished) && net.step(until) {
            let now = net.local(Side::B);
            let receiver = net.b.connection.as_mut().expect("connected");
            while let Some(message) = receiver.receive_message(now) {
                let (number, body) = message.split_at(8);
                let n = u64::from_be_bytes(number.try_into().expect("eight bytes"));
                let right = (0..=n * 30).map(|at| pattern(n, at));
                assert!(right.eq(body.iter().copied()), "seed {seed}, message {n}");
                came.push(n);
            }
        }
        assert!(net.a.has(Event::Finished), "seed {seed}");
        assert!(came.is_sorted(), "seed {seed}: {came:?}");
        // Those without a time to live all come.
        assert_eq!(
            came.iter().filter(|n| *n % 2 == 0).count() as u64,
            count / 2,
            "seed {seed}"
        );
        lost += count - came.len() as u64;
    }
    assert!(lost > 100, "{lost}");
}

#[test]
fn a_message_that_was_begun_goes_on_when_the_rest_is_forgotten() {
    let mut hand = sender();
    write(&mut hand, 20 * FULL, KEPT);
    write(&mut hand, 7, KEPT);
    assert_eq!(hand.data().len(), 16);
    hand.connection.forget_unsent();
    assert_eq!(hand.connection.unacknowledged(), 20 * FULL);
    hand.control(ack(0, 116));
    assert_eq!(hand.data(), [116, 117, 118, 119]);
}
