//! Long lists in huge pages, where the operating system offers them (Linux: `MADV_HUGEPAGE`).
//!
//! A processor remembers where some thousand pages lie. A simulator that touches fifty megabytes here and
//! there, page by page of 4 KiB, spends a quarter of its time on looking that up; pages of 2 MiB end it. Only
//! speed depends on it, never a result. Short lists are left alone, and a long one takes the rest of its last page
//! more memory: of room that it never uses the system gives it nothing. Leaves out: other systems, lists inside of
//! others, and pages that are reserved beforehand.

/// Lists shorter than this, in bytes, stay as they are: two huge pages.
const LONG: usize = 4 << 20;
/// A list that has become long gets room for so many times as much: its memory is left behind once alone.
const AT_ONCE: usize = 16;

/// A list of so many times the same value, in huge pages if it is long.
pub fn filled<T: Clone>(value: T, count: usize) -> Vec<T> {
    if count.saturating_mul(size_of::<T>()) < LONG {
        return vec![value; count];
    }
    let mut list = with_capacity(count);
    list.resize(count, value);
    list
}

/// Appends to a list that may become long.
#[inline(always)]
pub fn push<T>(list: &mut Vec<T>, value: T) {
    if list.len() == list.capacity() {
        grow(list);
    }
    list.push(value);
}

#[cold]
fn grow<T>(list: &mut Vec<T>) {
    let bytes = size_of_val(list.as_slice());
    if bytes < LONG {
        list.reserve(1);
    } else if bytes < AT_ONCE * LONG {
        let count = list.len() * AT_ONCE;
        move_to(list, count);
    } else {
        // So much has a mapping of its own, which the system extends without a copy; but where elements are
        // aligned to more than the allocator's 16 bytes, it makes a new block and copies.
        list.reserve(1);
        prefer_huge_pages(list);
    }
}

/// Moves a list to new memory, with room for so many: pages in use would stay as small as they are.
fn move_to<T>(list: &mut Vec<T>, capacity: usize) {
    let mut moved = with_capacity(capacity);
    moved.append(list);
    // Small before it is freed: a large block that is freed teaches the C library to keep blocks of its size.
    list.shrink_to(1);
    *list = moved;
}

/// An empty list with room in huge pages for so many.
fn with_capacity<T>(capacity: usize) -> Vec<T> {
    let list = Vec::with_capacity(capacity);
    prefer_huge_pages(&list);
    list
}

/// Asks for huge pages below a list's room. Of room that is never used no page is ever taken, but for the rest of the
/// last one.
#[cfg(target_os = "linux")]
fn prefer_huge_pages<T>(list: &Vec<T>) {
    use rustix::mm::{Advice, madvise};

    /// The kernel wants the beginning of a page.
    const PAGE: usize = 4096;
    let bytes = list.capacity().saturating_mul(size_of::<T>());
    let begin = list.as_ptr().addr();
    let skipped = begin.next_multiple_of(PAGE) - begin;
    let first = list.as_ptr().cast::<u8>().wrapping_add(skipped);
    let length = bytes.saturating_sub(skipped);
    // SAFETY: the advice says how large the pages are to be, and changes nothing of what lies in them: the pointer
    // is not written through. All of the range belongs to the list.
    #[expect(unsafe_code, reason = "there is no safe function for it")]
    let asked = unsafe { madvise(first.cast_mut().cast(), length, Advice::LinuxHugepage) };
    // A kernel without them refuses, which does no harm.
    let _ = asked;
}

#[cfg(not(target_os = "linux"))]
fn prefer_huge_pages<T>(_: &Vec<T>) {}
