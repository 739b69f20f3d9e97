//! The memory of a run's records: estimated before it starts (`expected`), counted while it runs (`held`).
//!
//! Leaves out: the free memory (`incastle-driver`), the memory of the interpreter and its
//! libraries, and packets in flight, which are few compared with the records.

mod expected;
mod held;

use std::fmt;

use incastle_units::Time;

pub use expected::at_start;
pub use expected::expected;
pub(crate) use expected::offered_packets;
pub(crate) use held::{Lists, held};

/// The purposes of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Hosts with their links.
    Hosts,
    /// Flows with their rows.
    Flows,
    /// Transfers and rounds.
    Transfers,
    /// Bins of `goodput` and `throughput`.
    Bins,
    /// Rows of `queue_samples`.
    Queue,
    /// Rows of `memory`.
    Occupancy,
    /// Rows of `windows`.
    Windows,
    /// Rows of `modes` and `dcudp_rates`.
    Dcudp,
    /// Rows of `rates` and `cnms`.
    Qcn,
    /// Timeouts, losses and silences.
    Timeouts,
    /// Rows of `events`.
    Events,
    /// Frames of captures.
    Captures,
}

impl Kept {
    /// Bytes for each, from the record to the frame in Python, as measured on x86-64: docs/memory.md.
    const fn bytes_each(self) -> u64 {
        match self {
            Self::Hosts => 2_200,
            Self::Flows => 760,
            Self::Transfers => 160,
            Self::Bins => 80,
            Self::Queue => 72,
            Self::Occupancy => 112,
            Self::Windows | Self::Dcudp | Self::Qcn => 170,
            Self::Timeouts => 200,
            Self::Events => 580,
            // Plus the stored bytes of the frame.
            Self::Captures => 120,
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Hosts => "hosts",
            Self::Flows => "flows",
            Self::Transfers => "transfers",
            Self::Bins => "bins of goodput and throughput",
            Self::Queue => "samples of queues",
            Self::Occupancy => "samples of memories",
            Self::Windows => "samples of windows",
            Self::Dcudp => "samples of DCUDP",
            Self::Qcn => "notifications and rates of QCN",
            Self::Timeouts => "timeouts, losses and silences",
            Self::Events => "recorded events",
            Self::Captures => "captured frames",
        }
    }

    /// The remedy.
    const fn remedy(self) -> &'static str {
        match self {
            Self::Hosts => "a smaller network",
            Self::Flows => "a shorter run.duration, or fewer flows",
            Self::Transfers => "a shorter run.duration, or measure.responses = false",
            // Throughput is measured on request alone.
            Self::Bins => {
                "measure.goodput = false, or, where throughput is measured, a longer measure.throughput.every"
            }
            Self::Queue => "a longer measure.queue.every, or fewer ports",
            Self::Occupancy => "a longer measure.buffer_occupancy.every, or fewer switches",
            Self::Windows => "a longer measure.window.every, or fewer flows",
            Self::Dcudp => "a longer measure.dcudp.every, or fewer flows",
            Self::Qcn => "fewer flows and ports in measure.qcn",
            Self::Timeouts => "measure.receiver_idle = false, or measure.timeouts = false",
            Self::Events => "a smaller measure.events.max_events",
            Self::Captures => {
                "fewer ports in measure.pcap, or a shorter time from `from` to `until`"
            }
        }
    }
}

/// Memory by purpose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Memory {
    items: Vec<Item>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Item {
    kept: Kept,
    count: u64,
    bytes: u64,
}

impl Memory {
    /// Adds `count` of a kind, each with `further` bytes beyond its usual size.
    fn add(&mut self, kept: Kept, count: u64, further: u64) {
        self.enter(
            kept,
            count,
            count.saturating_mul(kept.bytes_each() + further),
        );
    }

    fn enter(&mut self, kept: Kept, count: u64, bytes: u64) {
        if bytes > 0 {
            self.items.push(Item { kept, count, bytes });
        }
    }

    /// All of it.
    pub fn bytes(&self) -> u64 {
        let bytes = self.items.iter().map(|item| item.bytes);
        bytes.fold(0, u64::saturating_add)
    }

    /// The bytes for one kind.
    pub fn of(&self, kept: Kept) -> u64 {
        let items = self.items.iter().filter(|item| item.kept == kept);
        items.map(|item| item.bytes).sum()
    }

    /// Its purposes, the largest first; small ones are left out.
    fn largest(&self) -> Vec<Item> {
        let mut items = self.items.clone();
        items.sort_by_key(|item| std::cmp::Reverse(item.bytes));
        let all = self.bytes();
        let worth_telling = |item: &Item| item.bytes >= all / SMALL_SHARE;
        items.into_iter().filter(worth_telling).collect()
    }

    /// The remedy.
    pub fn remedy(&self) -> &'static str {
        let largest = self.largest();
        largest.first().map_or("", |item| item.kept.remedy())
    }
}

/// A purpose below one part in this many is left out.
const SMALL_SHARE: u64 = 20;

/// "9.1 GB for 100,000,000 samples of queues, 1.2 GB for 1,000 hosts".
impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, item) in self.largest().into_iter().enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            let (size, count) = (Size(item.bytes), Grouped(item.count));
            write!(
                f,
                "{separator}{size} for {count} {}",
                item.kept.description()
            )?;
        }
        Ok(())
    }
}

/// A number of bytes for readers.
#[derive(Debug, Clone, Copy)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match self.0 {
            1_000_000_000_000.. => write!(f, "{:.1} TB", bytes / 1e12),
            1_000_000_000.. => write!(f, "{:.1} GB", bytes / 1e9),
            _ => write!(f, "{:.0} MB", bytes / 1e6),
        }
    }
}

/// A number with thousands separators.
struct Grouped(u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// Less memory is free than required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortage {
    /// Bytes that are free.
    pub free: u64,
    /// The limit's name.
    pub limit: &'static str,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is free ({})", Size(self.free), self.limit)
    }
}

/// A run that was ended, or not begun, because its memory would not suffice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "out of memory {}: records and tables need {} more, {shortage}; in all {memory}; to reduce that: {}",
    Place(*at), Size(*more), memory.remedy()
)]
pub struct OutOfMemory {
    /// The progress of the run.
    pub at: Time,
    /// The bytes that it still needs.
    pub more: u64,
    /// Bytes of all its records, tables included.
    pub memory: Memory,
    /// The free memory.
    pub shortage: Shortage,
}

struct Place(Time);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == Time::ZERO {
            return f.write_str("before the start");
        }
        write!(f, "after {:.6} simulated seconds", self.0.as_secs_lossy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_the_most_comes_first_with_its_remedy() {
        let mut memory = Memory::default();
        memory.add(Kept::Hosts, 1_000, 0);
        memory.add(Kept::Queue, 10_000_000, 0);
        memory.add(Kept::Flows, 500_000, 0);
        // 72 B x 10^7, 760 B x 500,000; 2,200 B x 1,000 is less than a twentieth.
        assert_eq!(
            memory.to_string(),
            "720 MB for 10,000,000 samples of queues, 380 MB for 500,000 flows"
        );
        assert!(memory.remedy().contains("measure.queue.every"));
        assert_eq!(memory.bytes(), 720_000_000 + 380_000_000 + 2_200_000);
    }

    #[test]
    fn a_shortage_says_when_how_much_and_what_to_reduce() {
        let mut memory = Memory::default();
        memory.add(Kept::Captures, 20_000_000, 128);
        let error = |at| OutOfMemory {
            at,
            more: 3_200_000_000,
            memory: memory.clone(),
            shortage: Shortage {
                free: 1_500_000_000,
                limit: "ulimit -v",
            },
        };
        assert_eq!(
            error(Time::from_ps(1_500_000_000_000)).to_string(),
            "out of memory after 1.500000 simulated seconds: records and tables need 3.2 GB more, 1.5 GB is \
             free (ulimit -v); in all 5.0 GB for 20,000,000 captured frames; to reduce that: fewer ports in measure.pcap, or a shorter time from `from` to `until`"
        );
        let early = error(Time::ZERO).to_string();
        assert!(
            early.starts_with("out of memory before the start: "),
            "{early}"
        );
    }
}
