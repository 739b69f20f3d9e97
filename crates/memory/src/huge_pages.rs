//! Huge pages: an allocator that asks Linux for pages of 2 MiB in large blocks.
//!
//! Source: madvise(2), `MADV_HUGEPAGE`; the kernel's admin-guide/mm/transhuge.rst. The processor caches the addresses of
//! a few thousand pages, and a network of thousands of hosts has tens of thousands of 4 KiB. Where the kernel has no
//! huge pages, the allocator is the system's. Leaves out: pages reserved in advance (hugetlbfs), and other systems.

use std::alloc::{GlobalAlloc, Layout, System};

/// Bytes of a large block. Below, a huge page would mostly hold other blocks.
const LARGE: usize = 2 << 20;
/// The system's allocator extends blocks of at most this alignment without a copy.
const EXTENSIBLE_ALIGN: usize = 16;

/// The system's allocator, with huge pages in large blocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct HugePages;

#[expect(unsafe_code, reason = "the trait of allocators is unsafe")]
// SAFETY: each block is the system allocator's and returns to it with its own layout; advice changes no content.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc(layout) };
        advise(block, layout.size());
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc_zeroed(layout) };
        advise(block, layout.size());
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise; the system's allocator made the block.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let copied = layout.size() < LARGE || layout.align() > EXTENSIBLE_ALIGN;
        if size < LARGE || !copied {
            // SAFETY: the caller's promise; the system's allocator made the block.
            let block = unsafe { System.realloc(block, layout, size) };
            advise(block, size);
            return block;
        }
        // Advice must come before the first use of a page.
        // SAFETY: the caller promises that `size`, rounded up to the alignment, does not overflow; both blocks hold the
        // smaller of the two sizes, and are distinct.
        unsafe {
            let longer = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !longer.is_null() {
                longer.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
            longer
        }
    }
}

/// Asks for huge pages in a large block.
#[cfg(target_os = "linux")]
fn advise(block: *mut u8, size: usize) {
    use rustix::mm::{Advice, madvise};

    /// Advice begins at a page.
    const PAGE: usize = 4096;
    if size < LARGE || block.is_null() {
        return;
    }
    let before = block.addr().next_multiple_of(PAGE) - block.addr();
    let first = block.wrapping_add(before);
    #[expect(unsafe_code, reason = "advice on memory is unsafe in general")]
    // SAFETY: this advice changes the size of pages, never their content, and the range lies in the block. A kernel
    // without huge pages refuses, which does no harm.
    let _ = unsafe { madvise(first.cast(), size - before, Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Grows and shrinks a list through the size of a large block, and compares its content.
    fn content_stays<T: Copy + PartialEq + std::fmt::Debug>(value: impl Fn(usize) -> T) {
        let large = LARGE / size_of::<T>();
        let mut list = Vec::new();
        for index in 0..3 * large {
            list.push(value(index));
        }
        assert!(list.iter().enumerate().all(|(i, found)| *found == value(i)));
        list.truncate(large + 1);
        list.shrink_to_fit();
        list.truncate(large / 2);
        list.shrink_to_fit();
        assert_eq!(list.len(), large / 2);
        assert!(list.iter().enumerate().all(|(i, found)| *found == value(i)));
    }

    #[global_allocator]
    static ALLOCATOR: HugePages = HugePages;

    #[test]
    fn the_content_of_blocks_stays() {
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[repr(align(64))]
        struct Line(usize);

        content_stays(|index| index as u64);
        content_stays(Line);
    }

    #[test]
    fn zeroed_blocks_are_zero() {
        let list = vec![0_u8; 3 * LARGE + 1];
        assert!(list.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_block_that_cannot_be_had_is_an_error() {
        let mut list = vec![7_u8; LARGE];
        assert!(list.try_reserve_exact(isize::MAX as usize - LARGE).is_err());
        assert!(list.iter().all(|byte| *byte == 7));
    }
}
