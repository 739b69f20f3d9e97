//! The discipline of a bottleneck port: its queueing delay, and the part of it that belongs to one
//! flow.
//!
//! A flow with a share of a port's rate has about that share of its queue as well. So consider a separate link
//! for the flow, as slow as that share, with all amounts of the discipline scaled by it. That link delays the
//! flow as long, and marks as early.
//!
//! Leaves out: oscillations of the queue. RED's average needs as many packets to move as at the whole port. Where
//! losses are the only signal, the queue depends on the time that a port is full and on earlier windows,
//! both unknown here. In a fair queue flows wait for themselves.

use incastle_engine::network::LinkConfig;
use incastle_queueing::{
    BufferConfig, DoubleThresholdConfig, LinearMarkerConfig, PortBuffer, QueueConfig, RedConfig,
    SharedBufferConfig, ThresholdConfig,
};
use incastle_units::{Amount, Bytes, Packets, Rate, Span};

use incastle_scenario::language::selection::Name;
use incastle_scenario::language::switch::{ClassifyBy, Queue, Switch};

/// The mean over time of the queue at a port that is full in the fluid, as a share of the marking
/// depth. Chosen from 0.5, 0.7 and 1 as docs/validation.md describes.
const FILLED: f64 = 0.7;

/// The maximum delay at a port, in seconds: a threshold may be out of reach.
const MAX_WAIT_S: f64 = 86_400.0;

/// The marking queue of a port, and its buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Discipline {
    queue: QueueConfig,
    buffer: PortBuffer,
}

impl Discipline {
    /// The discipline of the port from a switch to this host or switch. Absent where marks do not decide the
    /// queue: there are none, memory ends below them, or each flow has a separate queue.
    pub(super) fn of(switch: &Switch, to: &Name, rate: Rate, full_packet: Bytes) -> Option<Self> {
        let queue = switch.queue_to(to);
        let own = matches!(queue, Queue::Drr(drr) if drr.classify_by == ClassifyBy::Flow);
        let found = Self {
            queue: queue.to_config(rate),
            buffer: match switch.buffer.to_config() {
                BufferConfig::PerPort(buffer) => buffer,
                BufferConfig::Shared(shared) => alone(shared),
            },
        };
        let marked = queue.marks(0) && found.marks_in_time(full_packet);
        (marked && !own).then_some(found)
    }

    /// Whether marks come before memory ends.
    fn marks_in_time(&self, full_packet: Bytes) -> bool {
        let depth = self.depth().map(|depth| bytes(depth, full_packet));
        match self.buffer {
            PortBuffer::Unlimited => true,
            PortBuffer::Limited(limit) => {
                depth.is_some_and(|depth| depth < bytes(limit, full_packet))
            }
        }
    }

    /// The mean delay of packets while the port is full.
    pub(super) fn wait(&self, rate: Rate, full_packet: Bytes) -> Span {
        let depth = self.depth().map_or(0.0, |depth| bytes(depth, full_packet));
        let seconds = FILLED * depth / rate.bytes_per_second_lossy();
        Span::from_secs_lossy(seconds.min(MAX_WAIT_S))
    }

    /// The queue length at which senders get marks.
    fn depth(&self) -> Option<Amount> {
        match self.queue {
            QueueConfig::Threshold(config) => Some(config.marking_threshold),
            QueueConfig::DoubleThreshold(config) => Some(middle(config.k1, config.k2)),
            QueueConfig::Linear(config) => {
                let [k_min, k_max] = [config.k_min, config.k_max].map(Amount::Bytes);
                Some(middle(k_min, k_max))
            }
            QueueConfig::Red(config) => Some(middle(config.min_th, config.max_th)),
            QueueConfig::DropTail => None,
        }
    }

    /// A flow's own part, if it has this share of the port's rate.
    pub(super) fn part(&self, share: f64, full_packet: Bytes) -> Self {
        let part = |amount| part(amount, share, full_packet);
        Self {
            queue: match self.queue {
                QueueConfig::DropTail => QueueConfig::DropTail,
                QueueConfig::Threshold(config) => QueueConfig::Threshold(ThresholdConfig {
                    marking_threshold: part(config.marking_threshold),
                    ..config
                }),
                QueueConfig::DoubleThreshold(config) => {
                    QueueConfig::DoubleThreshold(DoubleThresholdConfig {
                        k1: part(config.k1),
                        k2: part(config.k2),
                        ..config
                    })
                }
                QueueConfig::Linear(config) => {
                    let part = |limit| bytes(part(Amount::Bytes(limit)), full_packet);
                    let [k_min, k_max] = [config.k_min, config.k_max].map(part);
                    QueueConfig::Linear(LinearMarkerConfig {
                        k_min: Bytes::new(k_min as u64),
                        k_max: Bytes::new(k_max as u64),
                        ..config
                    })
                }
                QueueConfig::Red(config) => {
                    let min_th = part(config.min_th);
                    QueueConfig::Red(RedConfig {
                        min_th,
                        max_th: above(min_th, part(config.max_th)),
                        ..config
                    })
                }
            },
            buffer: match self.buffer {
                PortBuffer::Unlimited => PortBuffer::Unlimited,
                PortBuffer::Limited(limit) => PortBuffer::Limited(part(limit)),
            },
        }
    }

    /// Configures a port with it.
    pub(super) fn apply(&self, port: &mut LinkConfig) {
        port.marker = self.queue.build(port.rate);
        port.buffer = self.buffer;
    }
}

/// The limit of one busy port in a shared memory: `alpha` times the memory that it leaves free.
fn alone(shared: SharedBufferConfig) -> PortBuffer {
    let share = shared.alpha / (1.0 + shared.alpha);
    let bytes = shared.capacity.count() as f64 * share;
    PortBuffer::Limited(Amount::Bytes(Bytes::new(bytes as u64)))
}

/// In full packets, if it counts packets.
fn bytes(amount: Amount, full_packet: Bytes) -> f64 {
    match amount {
        Amount::Bytes(bytes) => bytes.count() as f64,
        Amount::Packets(packets) => packets.count() as f64 * full_packet.count() as f64,
    }
}

/// The midpoint of two amounts of one unit.
fn middle(a: Amount, b: Amount) -> Amount {
    match (a, b) {
        (Amount::Packets(a), Amount::Packets(b)) => {
            Amount::Packets(Packets::new(a.count().midpoint(b.count())))
        }
        (Amount::Bytes(a), Amount::Bytes(b)) => {
            Amount::Bytes(Bytes::new(a.count().midpoint(b.count())))
        }
        _ => unreachable!("a checked discipline has one unit"),
    }
}

/// A share of an amount: at least one full packet.
fn part(amount: Amount, share: f64, full_packet: Bytes) -> Amount {
    let of = |count: u64| (count as f64 * share) as u64;
    match amount {
        Amount::Packets(packets) => Amount::Packets(Packets::new(of(packets.count()).max(1))),
        Amount::Bytes(bytes) => {
            Amount::Bytes(Bytes::new(of(bytes.count()).max(full_packet.count())))
        }
    }
}

/// An amount that is above another of the same unit.
fn above(min: Amount, amount: Amount) -> Amount {
    match (min, amount) {
        (Amount::Packets(min), Amount::Packets(packets)) => {
            Amount::Packets(packets.max(min + Packets::new(1)))
        }
        (Amount::Bytes(min), Amount::Bytes(bytes)) => Amount::Bytes(bytes.max(min + Bytes::new(1))),
        _ => unreachable!("a checked discipline has one unit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL_PACKET: Bytes = Bytes::new(1_500);

    fn packets(count: u64) -> Amount {
        Amount::Packets(Packets::new(count))
    }

    fn marking(above: Amount) -> Discipline {
        Discipline {
            queue: QueueConfig::Threshold(ThresholdConfig::new(above)),
            buffer: PortBuffer::Limited(Amount::Bytes(Bytes::new(100_000))),
        }
    }

    #[test]
    fn a_part_makes_a_flow_wait_as_long_at_its_share_of_the_rate() {
        let [whole, half] = [10, 5].map(|g| Rate::from_bits_per_second(g * 1_000_000_000));
        let discipline = marking(packets(60));
        let part = discipline.part(0.5, FULL_PACKET);
        assert_eq!(part.depth(), Some(packets(30)));
        let wait = discipline.wait(whole, FULL_PACKET);
        assert_eq!(wait, part.wait(half, FULL_PACKET));
        // 0.7 of 60 packets of 1.2 us.
        assert_eq!(wait, Span::from_ns(50_400));
    }

    #[test]
    fn a_part_holds_at_least_a_packet() {
        let part = marking(packets(60)).part(1e-6, FULL_PACKET);
        assert_eq!(part.depth(), Some(packets(1)));
        let limit = PortBuffer::Limited(Amount::Bytes(FULL_PACKET));
        assert_eq!(part.buffer, limit);
        let red = Discipline {
            queue: QueueConfig::Red(RedConfig::default()),
            buffer: PortBuffer::Unlimited,
        };
        let QueueConfig::Red(red) = red.part(1e-6, FULL_PACKET).queue else {
            panic!("it is RED as well")
        };
        assert_eq!([red.min_th, red.max_th], [packets(1), packets(2)]);
        assert_eq!(QueueConfig::Red(red).check(), Ok(()));
    }

    #[test]
    fn memory_that_ends_below_the_marks_decides_instead() {
        assert!(marking(packets(60)).marks_in_time(FULL_PACKET));
        // 100 KB are 66 packets.
        assert!(!marking(packets(67)).marks_in_time(FULL_PACKET));
        let shared = alone(SharedBufferConfig {
            capacity: Bytes::new(2_000_000),
            alpha: 1.0,
        });
        let half = PortBuffer::Limited(Amount::Bytes(Bytes::new(1_000_000)));
        assert_eq!(shared, half, "the other half is free then");
    }

    #[test]
    fn a_threshold_out_of_reach_is_a_long_wait_and_no_panic() {
        let far = marking(packets(u64::MAX / 2));
        let slow = Rate::from_bits_per_second(1);
        assert_eq!(far.wait(slow, FULL_PACKET), Span::from_secs(86_400));
    }
}
