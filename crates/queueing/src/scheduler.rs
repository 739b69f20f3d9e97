//! The choice of the priority that sends next.
//!
//! Strict priority and weighted sharing are IEEE 802.1Q, clause 8.6.8; the sharing here is deficit round robin
//! (Shreedhar and Varghese, "Efficient Fair Queueing using Deficit Round Robin", SIGCOMM 1995, section 3) with
//! a quantum for each priority (DWRR). `RoundRobin` is the switch of HPCC's simulator
//! (alibaba-edu/High-Precision-Congestion-Control, broadcom-egress-queue.cc). Leaves out: shaping (802.1Qav),
//! gates (802.1Qbv), hierarchies, preemption of frames.

use incastle_units::Bytes;

use crate::{Priority, PrioritySet};

/// Bytes that each priority may send per round.
pub type Quanta = [Bytes; Priority::COUNT];

/// The parameters of a [`Scheduler`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulerConfig {
    /// The highest number first.
    Strict,
    /// Deficit weighted round robin.
    Dwrr {
        /// One for each priority, none zero.
        quanta: Quanta,
    },
    /// Some priorities, the highest number first, above deficit weighted round robin of all others.
    Mixed {
        /// Those served first.
        strict: PrioritySet,
        /// One for each other priority, none zero; those of strict priorities have no effect.
        quanta: Quanta,
    },
    /// Priority 0 first, never paused; then a packet from each other priority in turn (HPCC's simulator).
    RoundRobin,
}

/// An error in a [`SchedulerConfig`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SchedulerError {
    /// A priority that would never send.
    #[error("the quantum of priority {0} must be above 0 bytes")]
    NoQuantum(Priority),
}

impl SchedulerConfig {
    /// Quanta in proportion to weights, rounded down to a byte. The smallest weight gives `largest_packet`, the
    /// smallest quantum with which each visit of a priority sends a packet. All weights must be above zero.
    pub fn quanta(weights: [u32; Priority::COUNT], largest_packet: Bytes) -> Quanta {
        let smallest = weights.into_iter().min().unwrap_or(0);
        assert!(smallest > 0, "every weight is above zero");
        weights.map(|weight| {
            Bytes::new((largest_packet * u64::from(weight)).count() / u64::from(smallest))
        })
    }

    /// Whether the parameters make sense.
    pub fn check(&self) -> Result<(), SchedulerError> {
        let (Self::Dwrr { quanta } | Self::Mixed { quanta, .. }) = self else {
            return Ok(());
        };
        let shared = PrioritySet::ALL.without(self.strict());
        let empty = shared
            .iter()
            .find(|priority| quanta[priority.index()] == Bytes::ZERO);
        empty.map_or(Ok(()), |priority| Err(SchedulerError::NoQuantum(priority)))
    }

    /// The priorities that are served before all others, whichever waits.
    const fn strict(&self) -> PrioritySet {
        match self {
            Self::Strict => PrioritySet::ALL,
            Self::Dwrr { .. } => PrioritySet::EMPTY,
            Self::Mixed { strict, .. } => *strict,
            Self::RoundRobin => PrioritySet::only(Priority::ZERO),
        }
    }
}

/// The size of the first packet of each priority that may send: it has packets and is not paused.
pub type Heads = [Option<Bytes>; Priority::COUNT];

/// The scheduler of one port.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Scheduler {
    strict: PrioritySet,
    rest: Rest,
}

/// The rule among the priorities that are not strict.
#[derive(Debug, Clone)]
enum Rest {
    Dwrr(Dwrr),
    /// The last priority served, 0 at first.
    RoundRobin(Priority),
}

impl Scheduler {
    /// The configuration must pass [`SchedulerConfig::check`].
    pub fn new(config: &SchedulerConfig) -> Self {
        assert_eq!(config.check(), Ok(()), "the quanta were checked");
        let rest = match *config {
            SchedulerConfig::RoundRobin => Rest::RoundRobin(Priority::ZERO),
            // No priority is left for the rest.
            SchedulerConfig::Strict => Rest::Dwrr(Dwrr::new([Bytes::ZERO; Priority::COUNT])),
            SchedulerConfig::Dwrr { quanta } | SchedulerConfig::Mixed { quanta, .. } => {
                Rest::Dwrr(Dwrr::new(quanta))
            }
        };
        Self {
            strict: config.strict(),
            rest,
        }
    }

    /// The priorities that pauses do not stop.
    pub const fn never_paused(&self) -> PrioritySet {
        match self.rest {
            // HPCC's DequeueRR looks at queue 0 before it looks at pauses.
            Rest::RoundRobin(_) => PrioritySet::only(Priority::ZERO),
            Rest::Dwrr(_) => PrioritySet::EMPTY,
        }
    }

    /// The priority of those that may send that goes before all which share by rounds, whatever the sizes of packets.
    pub fn first_strict(&self, waiting: PrioritySet) -> Option<Priority> {
        waiting.intersection(self.strict).highest()
    }

    /// Whether a priority goes before all which share by rounds.
    pub fn is_strict(&self, priority: Priority) -> bool {
        self.strict.contains(priority)
    }

    /// The priority whose first packet is sent now. The packet counts as sent.
    pub fn next(&mut self, heads: &Heads) -> Option<Priority> {
        let waiting = waiting(heads);
        if let Some(first) = self.first_strict(waiting) {
            return Some(first);
        }
        if waiting.is_empty() {
            return None;
        }
        Some(match &mut self.rest {
            Rest::Dwrr(dwrr) => dwrr.next(heads),
            Rest::RoundRobin(last) => {
                // DequeueRR: from the one after the last served, around to it.
                let next = (1..=8)
                    .map(|steps| last.after(steps))
                    .find(|&priority| waiting.contains(priority))
                    .expect("some priority waits");
                *last = next;
                next
            }
        })
    }
}

/// The priorities with a first packet.
fn waiting(heads: &Heads) -> PrioritySet {
    Priority::ALL
        .into_iter()
        .filter(|priority| heads[priority.index()].is_some())
        .collect()
}

/// Deficit weighted round robin.
#[derive(Debug, Clone)]
struct Dwrr {
    quanta: Quanta,
    /// Bytes that a priority may send in its turn.
    deficits: [Bytes; Priority::COUNT],
    /// The priority whose turn it is.
    turn: Priority,
    /// Whether it has got its quantum in this turn.
    earned: bool,
}

impl Dwrr {
    const fn new(quanta: Quanta) -> Self {
        Self {
            quanta,
            deficits: [Bytes::ZERO; Priority::COUNT],
            turn: Priority::ZERO,
            earned: false,
        }
    }

    /// Shreedhar and Varghese, section 3: a queue gets its quantum once per turn and sends while its deficit covers
    /// the first packet. A queue that may not send has no deficit, an empty one as there, and a paused one
    /// likewise: pauses in its turns would add up quanta without limit. Priorities that are strict pass through here
    /// without effect, since none of their packets waits. Some priority must wait that is not strict.
    fn next(&mut self, heads: &Heads) -> Priority {
        loop {
            let index = self.turn.index();
            let deficit = &mut self.deficits[index];
            match heads[index] {
                None => *deficit = Bytes::ZERO,
                Some(size) => {
                    if !self.earned {
                        *deficit += self.quanta[index];
                        self.earned = true;
                    }
                    if size <= *deficit {
                        *deficit -= size;
                        return self.turn;
                    }
                }
            }
            self.turn = self.turn.after(1);
            self.earned = false;
        }
    }
}
