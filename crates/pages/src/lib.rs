//! Long lists in huge pages, where the operating system offers them (Linux: `MADV_HUGEPAGE`).
//!
//! A processor remembers where some thousand pages lie. A simulator that touches fifty megabytes here and
//! there, page by page of 4 KiB, spends a quarter of its time on looking that up; pages of 2 MiB end it. Only
//! speed depends on it, never a result. Short lists are left alone, so that small runs need no more memory. Leaves
//! out: other systems, lists inside of others, and pages that are reserved beforehand.

/// Lists shorter than this, in bytes, stay as they are: two huge pages.
const LONG: usize = 4 << 20;

/// A new list with room for so many.
pub fn with_capacity<T>(capacity: usize) -> Vec<T> {
    let list = Vec::with_capacity(capacity);
    if bytes::<T>(capacity) >= LONG {
        prefer_huge_pages(&list);
    }
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

/// Doubles the room. A long list moves to new memory: pages in use would stay as small as they are.
#[cold]
fn grow<T>(list: &mut Vec<T>) {
    let capacity = list.len().saturating_mul(2);
    if bytes::<T>(capacity) < LONG {
        list.reserve(1);
        return;
    }
    let mut longer = with_capacity(capacity);
    longer.append(list);
    *list = longer;
}

fn bytes<T>(count: usize) -> usize {
    count.saturating_mul(size_of::<T>())
}

/// Asks for huge pages below a list, its spare room included.
#[cfg(target_os = "linux")]
fn prefer_huge_pages<T>(list: &Vec<T>) {
    use rustix::mm::{Advice, madvise};

    /// The kernel wants the beginning of a page.
    const PAGE: usize = 4096;
    let begin = list.as_ptr().addr();
    let skipped = begin.next_multiple_of(PAGE) - begin;
    let length = bytes::<T>(list.capacity()).saturating_sub(skipped);
    let first = list
        .as_ptr()
        .cast::<u8>()
        .wrapping_add(skipped)
        .cast_mut()
        .cast();
    // SAFETY: the advice says how large the pages are to be, and changes nothing of what lies in them: the pointer
    // is not written through. All of the range belongs to the list.
    #[expect(unsafe_code, reason = "there is no safe function for it")]
    let asked = unsafe { madvise(first, length, Advice::LinuxHugepage) };
    // A kernel without them refuses, which does no harm.
    let _ = asked;
}

#[cfg(not(target_os = "linux"))]
fn prefer_huge_pages<T>(_: &Vec<T>) {}
