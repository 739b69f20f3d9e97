//! HyStart++ (RFC 9406, section 4.2) over the wire: slow start, Conservative Slow Start (CSS), and both ways out of it.

use incastle_congestion::{Algorithm, NewReno, NewRenoConfig, SlowStart};
use incastle_transport::tcp::{Connection, Role};
use incastle_units::{Bytes, Span};

use super::script::{control, write};
use super::wire::{Fate, Wire, config, ms, new_reno};

/// The window and the threshold after each of the round trips that end at these milliseconds, from ten segments on. Data
/// that leave from 40 ms on are 4 ms late, and from 64 ms on `late`.
fn windows<const N: usize>(ends: [u64; N], late: u64) -> [(u64, Option<u64>); N] {
    let config = config();
    let mut window = NewRenoConfig::new(Bytes::new(1000));
    window.initial_window = Bytes::new(10_000);
    window.slow_start = SlowStart::HystartPlusPlus;
    let sender = Algorithm::NewReno(NewReno::new(window));
    let endpoints = [
        Connection::new(&config, sender, Role::Active),
        Connection::new(&config, new_reno(&config), Role::Passive),
    ];
    let mut wire = Wire::new(endpoints, move |packet| match packet.from {
        0 if packet.at >= ms(64) => Fate::Delay(Span::from_ms(late)),
        0 if packet.at >= ms(40) => Fate::Delay(Span::from_ms(4)),
        _ => Fate::Pass,
    });
    write(1 << 30, 0)(&mut wire);
    ends.map(|end| {
        wire.run(ms(end));
        control(&wire)
    })
}

/// The third round trip takes 24 ms: max(4 ms, 20 / 8 ms) more than the second. Its eighth ACK begins CSS.
#[test]
fn slow_start_then_css_then_congestion_avoidance() {
    let [first, second, rounds @ .., last] = windows([21, 41, 65, 89, 113, 137, 161, 185], 4);
    assert_eq!([first, second], [(20_000, None), (40_000, None)]);
    // Seven segments, then quarters: for 33 of the 40 ACKs, and for those of 55, 69, 86 and 107 segments.
    let cwnd = [55_250, 69_000, 86_250, 107_750, 134_500];
    assert_eq!(rounds, cwnd.map(|cwnd| (cwnd, None)));
    // Five rounds of CSS are over, the first in part: 134 ACKs of congestion avoidance make a segment at most.
    assert_eq!(last.1, Some(134_500));
    assert!((135_400..=135_500).contains(&last.0), "{last:?}");
}

/// The fourth round trip takes 23 ms, less than that with which CSS began: it was spurious, and slow start resumes with the
/// eighth ACK.
#[test]
fn slow_start_resumes_after_a_spurious_css() {
    let rounds = windows([65, 88, 111], 3);
    // 7 quarters and 48 segments; then 105 segments.
    let cwnd = [55_250, 105_000, 210_000];
    assert_eq!(rounds, cwnd.map(|cwnd| (cwnd, None)));
}
