//! Lists keep what is in them, and long ones have asked for huge pages.

use incastle_pages::{filled, push};

#[test]
fn a_list_keeps_what_is_in_it() {
    let mut list = Vec::new();
    for number in 0..2_000_000_u64 {
        push(&mut list, number);
    }
    assert!(list.iter().copied().eq(0..2_000_000));
}

#[test]
fn elements_without_size_are_no_trouble() {
    let mut list = Vec::new();
    for _ in 0..10 {
        push(&mut list, ());
    }
    assert_eq!(list.len(), 10);
}

/// Whether the kernel was asked for huge pages at this address; absent where it has none.
#[cfg(target_os = "linux")]
#[expect(
    clippy::disallowed_methods,
    reason = "only the kernel knows what it was asked"
)]
fn is_asked(address: usize) -> Option<bool> {
    std::fs::metadata("/sys/kernel/mm/transparent_hugepage").ok()?;
    let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
    let mut inside = false;
    for line in maps.lines() {
        let range = line.split(' ').next().and_then(|word| word.split_once('-'));
        let hex = |text| usize::from_str_radix(text, 16).ok();
        if let Some((from, to)) = range.and_then(|(from, to)| Some((hex(from)?, hex(to)?))) {
            inside = (from..to).contains(&address);
        } else if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| inside) {
            return Some(flags.split(' ').any(|flag| flag == "hg"));
        }
    }
    None
}

#[cfg(target_os = "linux")]
#[test]
fn a_long_list_has_asked_for_huge_pages_and_a_short_one_has_not() {
    const MEGABYTES: usize = 1 << 20;
    let at = |list: &Vec<u8>, place: usize| is_asked(list.as_ptr().addr() + place * MEGABYTES);
    let long = filled(1_u8, 8 * MEGABYTES);
    assert!(long.len() == 8 * MEGABYTES && long.iter().all(|byte| *byte == 1));
    let Some(asked) = at(&long, 4) else {
        return;
    };
    assert!(asked);
    let short = filled(1_u8, 3 * MEGABYTES);
    assert!(short.len() == 3 * MEGABYTES && short.iter().all(|byte| *byte == 1));
    assert_eq!(at(&short, 1), Some(false));
    let mut grown = vec![1_u8; 8 * MEGABYTES];
    push(&mut grown, 1);
    assert!(grown.capacity() >= 16 * MEGABYTES && grown.len() == 8 * MEGABYTES + 1);
    // What is there, and what is to come.
    assert_eq!([at(&grown, 4), at(&grown, 12)], [Some(true), Some(true)]);
}
