//! Sending times: exact in the long run for any sequence of packets at any rate.

use incastle_units::{Bytes, Rate, Serializer, Span};
use proptest::prelude::*;

fn spans(bits_per_second: u64, packets: &[u64]) -> Vec<u64> {
    let mut serializer = Serializer::new(Rate::from_bits_per_second(bits_per_second));
    let spans = packets
        .iter()
        .map(|size| serializer.span(Bytes::new(*size)));
    spans.map(Span::as_ps).collect()
}

#[test]
fn round_rates_have_round_times() {
    // 1500 B x 8 / 10 Gbit/s = 1.2 us; 40 B x 8 / 1 Gbit/s = 320 ns.
    assert_eq!(
        spans(10_000_000_000, &[1_500, 1_500]),
        [1_200_000, 1_200_000]
    );
    assert_eq!(spans(1_000_000_000, &[40]), [320_000]);
}

#[test]
fn the_remainder_is_carried() {
    // One byte at 3 Tbit/s: 8/3 ps = 2.67. After 1, 2, 3 bytes: floor of 2.67, 5.33, 8.
    assert_eq!(spans(3_000_000_000_000, &[1, 1, 1]), [2, 3, 3]);
}

#[test]
fn one_packet_alone_is_rounded_down() {
    let rate = Rate::from_bits_per_second(3_000_000_000_000);
    assert_eq!(rate.span_of(Bytes::new(2)), Span::from_ps(5));
    assert_eq!(Serializer::new(rate).rate(), rate);
}

#[test]
#[should_panic(expected = "a rate above zero")]
fn a_port_without_a_rate_is_a_defect() {
    let _ = Serializer::new(Rate::from_bits_per_second(0));
}

#[test]
#[should_panic(expected = "a span stays within 213 days")]
fn a_time_beyond_the_clock_is_a_defect() {
    // 8e12 ps a byte at 1 bit/s: 2^64 ps hold 2305843 bytes.
    let _ = spans(1, &[2_305_844]);
}

#[test]
#[should_panic(expected = "a span stays within 213 days")]
fn so_it_is_for_a_single_span() {
    let _ = Rate::from_bits_per_second(1).span_of(Bytes::new(2_305_844));
}

proptest! {
    #[test]
    fn spans_add_up_to_the_exact_time_rounded_down(
        rate in prop_oneof![1_u64..1_000, 1_u64..2_000_000_000_000, any::<u64>()],
        packets in prop::collection::vec(prop_oneof![1_u64..9_000, Just(1 << 40)], 0..60),
    ) {
        prop_assume!(rate > 0);
        let bytes: u128 = packets.iter().map(|size| u128::from(*size)).sum();
        let exact = bytes * 8_000_000_000_000 / u128::from(rate);
        prop_assume!(exact <= u128::from(u64::MAX));
        let sum: u128 = spans(rate, &packets).into_iter().map(u128::from).sum();
        prop_assert_eq!(sum, exact);
        let whole = Rate::from_bits_per_second(rate).span_of(Bytes::new(bytes as u64));
        prop_assert_eq!(u128::from(whole.as_ps()), exact);
    }
}

#[test]
fn a_rate_is_that_of_bytes_in_a_span_and_back() {
    // 1500 bytes in 3 us are 4 Gbit/s; in a picosecond they are more than the largest rate.
    let rate = Rate::of(Bytes::new(1500), Span::from_us(3));
    assert_eq!(rate, Rate::from_bits_per_second(4_000_000_000));
    assert_eq!(rate.bytes_in(Span::from_us(3)), Bytes::new(1500));
    // 1 bit/s for 15 s are 1 7/8 bytes.
    let slow = Rate::from_bits_per_second(1);
    assert_eq!(slow.bytes_in(Span::from_secs(15)), Bytes::new(1));
    let most = Rate::of(Bytes::new(u64::MAX), Span::from_ps(1));
    assert_eq!(most.bits_per_second(), u64::MAX);
}
