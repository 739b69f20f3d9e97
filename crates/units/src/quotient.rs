//! Products of two numbers by a third, exact where the product has more than 64 bits.
//!
//! A division of 128 bits takes several times as long as one of 64, which suffices for the sizes and rates of real networks.

/// `a` times `b`, divided by `divisor`, rounded down; none where that has more than 64 bits. The divisor must not be zero.
#[inline]
pub fn mul_div(a: u64, b: u64, divisor: u64) -> Option<u64> {
    match a.checked_mul(b) {
        Some(product) => Some(product / divisor),
        None => wide(a, b, divisor),
    }
}

#[cold]
#[inline(never)]
fn wide(a: u64, b: u64, divisor: u64) -> Option<u64> {
    let product = u128::from(a) * u128::from(b);
    u64::try_from(product / u128::from(divisor)).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        // Numbers of all lengths, against the division of 128 bits alone.
        #[test]
        fn both_divisions_agree(numbers in prop::array::uniform3((any::<u64>(), 0..64_u32))) {
            let [a, b, divisor] = numbers.map(|(number, shift)| number >> shift);
            prop_assume!(divisor > 0);
            prop_assert_eq!(mul_div(a, b, divisor), wide(a, b, divisor));
        }
    }
}
