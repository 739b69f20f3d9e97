//! Prefetch: a hint that the processor should load a cache line, without waiting for it.
//!
//! Source: `PREFETCHT0` (Intel SDM, volume 2B) and `PRFM PLDL1KEEP` (Arm ARM, C6.2). Only speed depends
//! on it, never a result: other processors get no hint. Leaves out: other cache levels, prefetch for
//! writing.

use std::ptr::from_ref;

/// Bytes in a cache line.
const LINE: usize = 64;

/// Prefetches the first line of an element. An index beyond the list does no harm.
#[inline(always)]
pub fn element<T>(list: &[T], index: usize) {
    line(list.as_ptr().wrapping_add(index).cast());
}

/// Prefetches all lines of a value.
#[inline(always)]
pub fn value<T>(value: &T) {
    first_bytes(value, size_of::<T>());
}

/// Prefetches the lines that hold the first `bytes` bytes of a value.
#[inline(always)]
pub fn first_bytes<T>(value: &T, bytes: usize) {
    let first = from_ref(value).cast::<u8>();
    let before = first.addr() % LINE;
    for at in (0..before + bytes).step_by(LINE) {
        line(first.wrapping_sub(before).wrapping_add(at));
    }
}

#[inline(always)]
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    expect(unused_variables, reason = "there is no such instruction")
)]
fn line(address: *const u8) {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[expect(unsafe_code, reason = "Rust has no safe function for the instruction")]
    // SAFETY: a prefetch reads nothing into the program and never faults, whatever the address.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!(
            "prfm pldl1keep, [{address}]",
            address = in(reg) address,
            options(nostack, preserves_flags, readonly),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_beyond_the_list_does_no_harm() {
        element(&[1_u64, 2], usize::MAX);
        element::<u64>(&[], 7);
        value(&());
        value(&[0_u8; 200]);
    }
}
