//! Numbers of 31 bits: the wrap, ahead and behind, and the nearest packet.

use incastle_transport::udt::{MAX_SEQUENCE, Number, Numbering};
use proptest::prelude::*;

#[test]
fn after_the_largest_number_comes_zero() {
    let last = Number::from_word(MAX_SEQUENCE);
    assert_eq!(last.plus(1), Number::from_word(0));
    assert_eq!(last.distance_to(Number::from_word(0)), 1);
    assert_eq!(Number::from_word(0).distance_to(last), -1);
    assert_eq!(Number::from_word(5).distance_to(Number::from_word(5)), 0);
}

#[test]
fn half_the_circle_is_the_border_between_ahead_and_behind() {
    let zero = Number::from_word(0);
    assert_eq!(zero.distance_to(zero.plus((1 << 30) - 1)), (1 << 30) - 1);
    assert_eq!(zero.distance_to(zero.plus(1 << 30)), -(1 << 30));
}

#[test]
fn packets_before_the_first_do_not_exist() {
    let numbering = Numbering::new(Number::from_word(10));
    assert_eq!(numbering.index(Number::from_word(9), 0), None);
    assert_eq!(numbering.index(Number::from_word(9), 1), None);
    assert_eq!(numbering.index(Number::from_word(10), 0), Some(0));
    // Far behind packet 5: what was before the first.
    assert_eq!(numbering.index(Number::from_word(MAX_SEQUENCE), 5), None);
}

proptest! {
    #[test]
    fn the_nearest_packet_is_found_again_across_wraps(
        first in 0..=MAX_SEQUENCE,
        near in 0_u64..1 << 40,
        distance in -(1_i64 << 30)..1 << 30,
    ) {
        let numbering = Numbering::new(Number::from_word(first));
        let index = near.checked_add_signed(distance);
        if let Some(index) = index {
            prop_assert_eq!(numbering.index(numbering.wire(index), near), Some(index));
            let back = numbering.wire(near).distance_to(numbering.wire(index));
            prop_assert_eq!(i64::from(back), distance);
        }
    }
}
