//! The free memory of this process, and the claims of its runs.
//!
//! Free memory is the minimum of the system's, the control groups' and the address space's. It is known on
//! Linux alone; elsewhere nothing is refused. Runs of one process share it. Each claims
//! the growth of its records and tables. If that exceeds the free memory, the run with the largest
//! claim ends, so that the others may continue. Leaves out: swap, which would make a run a hundred times slower.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use incastle_experiment::memory::{Memory, Shortage, Size, expected};
use incastle_scenario::Scenario;

/// Smaller claims are never refused: the check would cost more than it is worth.
const SMALL: u64 = 32 << 20;
/// The reserve: for packets in flight, lists that double between two checks, and Python.
const RESERVE: u64 = 128 << 20;
/// A claim that has grown by less is not checked again.
const STEP: u64 = 8 << 20;

/// The claims of the runs of this process, by their numbers.
static CLAIMS: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The claim of one run.
#[derive(Debug)]
pub(super) struct Claim {
    number: u64,
    /// Bytes at the last check.
    seen: AtomicU64,
}

impl Default for Claim {
    fn default() -> Self {
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            seen: AtomicU64::new(0),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.release();
    }
}

impl Claim {
    /// Replaces the claim by `bytes`, if there is enough.
    pub(super) fn affords(&self, bytes: u64) -> Result<(), Shortage> {
        let seen = self.seen.load(Ordering::Relaxed);
        if bytes.abs_diff(seen) < STEP || (bytes < SMALL && seen == 0) {
            return Ok(());
        }
        if bytes < SMALL {
            self.release();
            return Ok(());
        }
        let mut claims = CLAIMS.lock().expect("no thread panics with the lock");
        claims.insert(self.number, bytes);
        if let Err(shortage) = judge(&claims, self.number, free()) {
            claims.remove(&self.number);
            return Err(shortage);
        }
        self.seen.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Releases the claim.
    pub(super) fn release(&self) {
        let mut claims = CLAIMS.lock().expect("no thread panics with the lock");
        claims.remove(&self.number);
        self.seen.store(0, Ordering::Relaxed);
    }
}

/// Whether the run of that number may continue.
fn judge(claims: &BTreeMap<u64, u64>, number: u64, free: Option<Shortage>) -> Result<(), Shortage> {
    let Some(shortage) = free else {
        return Ok(());
    };
    let free = shortage.free.saturating_sub(RESERVE);
    let own = claims[&number];
    let others = claims.values().sum::<u64>() - own;
    let is_largest = claims.values().all(|other| *other <= own);
    if own > free || (own + others > free && is_largest) {
        let free = free.saturating_sub(others);
        return Err(Shortage { free, ..shortage });
    }
    Ok(())
}

/// A warning before runs begin, `at_once` at a time, if the memory may not be enough for them.
pub fn memory_warning(scenarios: &[Scenario], at_once: usize) -> Option<String> {
    let mut wanted: Vec<_> = scenarios.iter().map(expected).collect();
    wanted.sort_by_key(|memory| std::cmp::Reverse(memory.bytes()));
    let together: u64 = wanted.iter().take(at_once.max(1)).map(Memory::bytes).sum();
    let Shortage { free, limit } = free()?;
    let free = free.saturating_sub(RESERVE);
    if together < SMALL || together <= free {
        return None;
    }
    let largest = wanted.first()?;
    let (runs, of) = match at_once.min(wanted.len()) {
        0 | 1 => ("this run".to_owned(), ""),
        several => (format!("{several} runs at the same time"), "the largest: "),
    };
    let (together, shortage) = (Size(together), Shortage { free, limit });
    let remedy = largest.remedy();
    Some(format!(
        "{runs} may need {together} of memory ({of}{largest}), {shortage}; to reduce that: {remedy}"
    ))
}

/// The memory that this process can still get, and the name of its limit; absent where that is unknown.
fn free() -> Option<Shortage> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let system = read("/proc/meminfo").and_then(|text| available(&text));
    let system = system.map(|free| Shortage {
        free,
        limit: "memory of this machine",
    });
    let limits = read("/proc/self/limits").zip(read("/proc/self/statm"));
    let space = limits.and_then(|(limits, statm)| address_space(&limits, &statm));
    let space = space.map(|free| Shortage {
        free,
        limit: "limit of the address space, ulimit -v",
    });
    let groups = read("/proc/self/cgroup").map(|text| folders(&text));
    let groups = groups.unwrap_or_default();
    let groups = groups.iter().filter_map(|folder| of_group(folder));
    let groups = groups.map(|free| Shortage {
        free,
        limit: "memory limit of the control group",
    });
    let all = system.into_iter().chain(space).chain(groups);
    all.min_by_key(|one| one.free)
}

/// `MemAvailable` of /proc/meminfo.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes << 10)
}

/// The limit of the address space from /proc/self/limits, minus the size from /proc/self/statm; absent
/// without a limit.
fn address_space(limits: &str, statm: &str) -> Option<u64> {
    /// The size of pages that Linux reports to a process of x86-64.
    const PAGE: u64 = 4096;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let pages: u64 = statm.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(pages * PAGE))
}

/// The folders of the control groups that limit this process's memory, from /proc/self/cgroup: its own and all
/// above. In a container the path may be that outside; the root then is the container's.
fn folders(cgroup: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in cgroup.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            list if list.split(',').any(|one| one == "memory") => "/sys/fs/cgroup/memory",
            _ => continue,
        };
        let inner = Path::new(path.trim_start_matches('/'));
        found.extend(inner.ancestors().map(|part| Path::new(root).join(part)));
    }
    found
}

/// The memory left in a control group, of either version; caches of files can be reclaimed. Absent without a limit.
fn of_group(folder: &Path) -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        text.trim().parse().ok()
    };
    let limit = number("memory.max").or_else(|| number("memory.limit_in_bytes"))?;
    let used = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
    let statistics = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    Some(limit.saturating_sub(used.saturating_sub(reclaimable(&statistics))))
}

/// `total_inactive_file` of version 1, `inactive_file` of version 2.
fn reclaimable(statistics: &str) -> u64 {
    let value = |name: &str| {
        let mut lines = statistics.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
    };
    value("total_inactive_file")
        .or_else(|| value("inactive_file"))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn what_the_system_says_is_understood() {
        let meminfo = "MemTotal:       24683724 kB\nMemFree:        21780112 kB\nMemAvailable:   23975000 kB\n";
        assert_eq!(available(meminfo), Some(23_975_000 << 10));
        let limits = "Max stack size            8388608              unlimited            bytes     \n\
                      Max address space         4294967296           unlimited            bytes     \n";
        assert_eq!(address_space(limits, "262144 3 4 5\n"), Some(3 * GIB));
        let none = limits.replace("4294967296", "unlimited ");
        assert_eq!(address_space(&none, "262144 3 4 5\n"), None);
        assert_eq!(
            reclaimable("cache 7\ninactive_file 5\ntotal_inactive_file 8\n"),
            8
        );
        assert_eq!(reclaimable("inactive_file 5\n"), 5);
        assert_eq!(reclaimable(""), 0);
    }

    #[test]
    fn a_group_is_limited_by_all_above_it() {
        let second = folders("0::/user.slice/one.scope\n");
        let expected = ["user.slice/one.scope", "user.slice", ""];
        let expected = expected.map(|part| Path::new("/sys/fs/cgroup").join(part));
        assert_eq!(second, expected);
        let first = folders("5:devices:/\n4:cpu,memory:/a\n");
        let expected = ["a", ""].map(|part| Path::new("/sys/fs/cgroup/memory").join(part));
        assert_eq!(first, expected);
    }

    #[test]
    fn something_is_known_of_this_machine() {
        let found = free().expect("Linux says what is free");
        assert!(found.free > 0, "{found}");
    }

    #[test]
    fn the_largest_claim_ends_and_the_others_go_on() {
        let shortage = Shortage {
            free: 4 * GIB,
            limit: "test",
        };
        let claims = BTreeMap::from([(1, GIB), (2, 3 * GIB), (3, GIB / 2)]);
        let may = |number| judge(&claims, number, Some(shortage)).is_ok();
        assert_eq!([1, 2, 3].map(may), [true, false, true]);
        // The others have claimed one and a half of four, minus the reserve.
        let left = judge(&claims, 2, Some(shortage)).expect_err("the largest");
        assert_eq!(left.free, 4 * GIB - RESERVE - GIB - GIB / 2);
        // Together they have room in twice as much, and one alone may be too large.
        let twice = Shortage {
            free: 8 * GIB,
            ..shortage
        };
        assert!(judge(&claims, 2, Some(twice)).is_ok());
        let little = Shortage {
            free: GIB,
            ..shortage
        };
        assert!(judge(&claims, 1, Some(little)).is_err(), "the reserve");
        assert!(judge(&claims, 2, None).is_ok(), "nothing is known");
    }

    #[test]
    fn a_claim_is_given_back() {
        let claim = Claim::default();
        assert!(
            claim.affords(SMALL - 1).is_ok() && !CLAIMS.lock().unwrap().contains_key(&claim.number)
        );
        assert!(claim.affords(SMALL).is_ok());
        assert_eq!(CLAIMS.lock().unwrap().get(&claim.number), Some(&SMALL));
        let error = claim
            .affords(u64::MAX / 4)
            .expect_err("no machine has as much");
        assert!(error.free < u64::MAX / 4);
        let number = claim.number;
        drop(claim);
        assert!(!CLAIMS.lock().unwrap().contains_key(&number));
    }
}
