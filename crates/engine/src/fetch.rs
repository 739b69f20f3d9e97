//! Asks the processor to bring something into its nearest cache, without waiting for it.
//!
//! Only speed depends on it. Does nothing on processors without such an instruction.

use std::ptr::from_ref;

use prefetch_index::prefetch_index;

/// Bytes in a line of the cache.
const LINE: usize = 64;

/// Fetches all lines of a value.
#[inline(always)]
pub(crate) fn fetch<T>(value: &T) {
    fetch_first(value, size_of::<T>());
}

/// Fetches the lines of the first so many bytes of a value.
#[inline(always)]
pub(crate) fn fetch_first<T>(value: &T, bytes: usize) {
    let begins = from_ref(value).addr();
    let mut at = begins & !(LINE - 1);
    while at < begins + bytes {
        fetch_at(at);
        at += LINE;
    }
}

/// Fetches the line of an element; one that is not there does no harm.
#[inline(always)]
pub fn fetch_element<T>(list: &[T], index: usize) {
    prefetch_index(list, index);
}

#[inline(always)]
fn fetch_at(address: usize) {
    // By way of an empty list of bytes: none of its elements exists.
    let nothing: &[u8] = &[];
    prefetch_index(nothing, address.wrapping_sub(nothing.as_ptr().addr()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_does_no_harm() {
        fetch_element(&[1_u64, 2], usize::MAX);
        fetch_element::<u64>(&[], 7);
        fetch(&());
        fetch(&[0_u8; 200]);
    }
}
