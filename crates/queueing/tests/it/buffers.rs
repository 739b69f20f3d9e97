//! Memory: what one port stores, and what ports share under Dynamic Thresholds.

use incastle_queueing::{
    BufferConfig, DropCause, PortBuffer, SharedBuffer, SharedBufferConfig, SharedBufferError,
};
use incastle_units::{Amount, Bytes, Packets};
use proptest::prelude::*;

const fn bytes(count: u64) -> Bytes {
    Bytes::new(count)
}

fn admits(buffer: PortBuffer, stored_packets: u64, stored_bytes: u64, size: u64) -> bool {
    buffer.admits(
        Packets::new(stored_packets),
        bytes(stored_bytes),
        bytes(size),
    )
}

#[test]
fn a_port_stores_up_to_its_capacity_and_no_more() {
    let in_packets = PortBuffer::Limited(Amount::Packets(Packets::new(100)));
    assert!(admits(in_packets, 99, 1, 9_000));
    assert!(!admits(in_packets, 100, 1, 40));
    // 3000 B hold two full-size packets; the second fits exactly.
    let in_bytes = PortBuffer::Limited(Amount::Bytes(bytes(3_000)));
    assert!(admits(in_bytes, 1, 1_500, 1_500));
    assert!(!admits(in_bytes, 1, 1_500, 1_501));
    assert!(!admits(in_bytes, 1, u64::MAX, 1));
    assert!(admits(PortBuffer::Unlimited, 1 << 40, 1 << 60, 9_000));
}

#[test]
fn the_threshold_may_be_reached_but_not_passed() {
    // Half of 10000 free bytes: a port may take 5000, exactly, but not 5001.
    let memory = SharedBuffer::new(bytes(10_000), 0.5);
    assert_eq!(memory.clone().admit(Bytes::ZERO, bytes(5_000)), Ok(()));
    let refused = memory.clone().admit(Bytes::ZERO, bytes(5_001));
    assert_eq!(refused, Err(DropCause::SharedLimit));
    // The port's own bytes count: 4000 held of 6000 free leaves no byte under 0.5 x 6000.
    let mut memory = memory;
    assert_eq!(memory.admit(Bytes::ZERO, bytes(4_000)), Ok(()));
    assert_eq!(memory.free(), bytes(6_000));
    assert_eq!(
        memory.admit(bytes(4_000), bytes(1)),
        Err(DropCause::SharedLimit)
    );
    // Another port may have up to 3000.
    assert_eq!(memory.admit(Bytes::ZERO, bytes(3_000)), Ok(()));
    memory.release(bytes(7_000));
    assert_eq!(memory.stored(), Bytes::ZERO);
}

#[test]
fn the_reported_threshold_is_the_one_that_applies() {
    let byte = bytes(1);
    for alpha in [0.21, 0.5, 1.0, 3.0] {
        for stored in [0, 1, 3_333, 9_000] {
            let mut memory = SharedBuffer::new(bytes(10_000), alpha);
            for _ in 0..stored {
                assert_eq!(memory.admit(Bytes::ZERO, byte), Ok(()));
            }
            let threshold = memory.threshold();
            assert_eq!(memory.clone().admit(threshold - byte, byte), Ok(()));
            let refused = memory.admit(threshold, byte);
            assert_eq!(refused, Err(DropCause::SharedLimit), "{alpha} {stored}");
        }
    }
}

#[test]
fn thresholds_of_huge_memories_do_not_overflow() {
    let threshold = |capacity, alpha| SharedBuffer::new(bytes(capacity), alpha).threshold();
    // 0.3 x 2^62 = 1383505805528216371.2; 2 x 2^62 = 2^63; 1000000 x 2^62 exceeds 64 bits.
    assert_eq!(threshold(1 << 62, 0.3), bytes(1_383_505_805_528_216_371));
    assert_eq!(threshold(1 << 62, 2.0), bytes(1 << 63));
    assert_eq!(threshold(1 << 62, 1e6), Bytes::MAX);
}

#[test]
fn decimal_alphas_are_exact() {
    // 0.21 x 4000000 = 840000, although no double is 0.21.
    let memory = SharedBuffer::new(bytes(4_000_000), 0.21);
    assert_eq!(memory.clone().admit(bytes(838_500), bytes(1_500)), Ok(()));
    let refused = memory.clone().admit(bytes(838_500), bytes(1_501));
    assert_eq!(refused, Err(DropCause::SharedLimit));
    // The smallest alpha of many switches, 1/128 of 1 MiB = 8192 bytes.
    let memory = SharedBuffer::new(bytes(1 << 20), 1.0 / 128.0);
    assert_eq!(memory.clone().admit(Bytes::ZERO, bytes(8_192)), Ok(()));
    assert!(memory.clone().admit(Bytes::ZERO, bytes(8_193)).is_err());
}

#[test]
fn a_full_memory_is_reported() {
    let mut memory = SharedBuffer::new(bytes(3_000), 1_000_000.0);
    assert_eq!(memory.admit(Bytes::ZERO, bytes(1_500)), Ok(()));
    assert_eq!(
        memory.admit(bytes(1_500), bytes(1_501)),
        Err(DropCause::BufferFull)
    );
    assert_eq!(memory.admit(bytes(1_500), bytes(1_500)), Ok(()));
    assert_eq!(
        memory.admit(bytes(3_000), bytes(1)),
        Err(DropCause::BufferFull)
    );
}

#[test]
#[should_panic(expected = "an amount of data is never negative")]
fn returning_what_was_not_taken_is_a_defect() {
    SharedBuffer::new(bytes(3_000), 1.0).release(bytes(1));
}

/// Ports that always offer packets take turns until the memory admits no more: what each holds.
fn fill(capacity: u64, alpha: f64, ports: usize, size: u64) -> Vec<u64> {
    let mut memory = SharedBuffer::new(bytes(capacity), alpha);
    let mut held = vec![0; ports];
    loop {
        let mut admitted = false;
        for port in &mut held {
            if memory.admit(bytes(*port), bytes(size)).is_ok() {
                *port += size;
                admitted = true;
            }
        }
        if !admitted {
            return held;
        }
    }
}

#[test]
fn busy_ports_share_as_in_the_source() {
    // In the long run n busy ports hold alpha C / (1 + n alpha) each; less than one packet is lost to
    // its granularity. One port of 4 MB at 0.21: 0.21/1.21 x 4 MB = 694 KB.
    for (ports, share) in [
        (1, 4e6 * 0.21 / 1.21),
        (2, 4e6 * 0.21 / 1.42),
        (10, 4e6 * 0.21 / 3.1),
        (48, 4e6 * 0.21 / 11.08),
    ] {
        for held in fill(4_000_000, 0.21, ports, 1_500) {
            assert!((held as f64 - share).abs() < 1_500.0, "{held} for {share}");
        }
    }
    // Byte by byte: 694214 held leave 3305786 free, and 0.21 of that is 694215.06.
    assert_eq!(fill(4_000_000, 0.21, 1, 1), [694_215]);
}

#[test]
fn senseless_parameters_are_refused() {
    let config = |capacity, alpha| SharedBufferConfig {
        capacity: bytes(capacity),
        alpha,
    };
    assert_eq!(config(1, SharedBufferConfig::DEFAULT_ALPHA).check(), Ok(()));
    assert_eq!(config(0, 1.0).check(), Err(SharedBufferError::NoCapacity));
    for alpha in [0.0, -0.21, 1e-10, 1e7] {
        assert_eq!(
            config(1, alpha).check(),
            Err(SharedBufferError::Alpha(alpha))
        );
    }
    assert!(config(1, f64::NAN).check().is_err());
    let shared = BufferConfig::Shared(config(0, 1.0));
    assert_eq!(shared.check(), Err(SharedBufferError::NoCapacity));
    let own = BufferConfig::PerPort(PortBuffer::Unlimited);
    assert_eq!(own.check(), Ok(()));
}

proptest! {
    /// Over any sequence of arrivals and departures the memory never exceeds its size, and its
    /// accounting agrees with the ports'. Each admitted packet leaves its port within alpha times
    /// the memory free before. A packet within both limits is never refused.
    #[test]
    fn shared_memory_keeps_its_limits(
        capacity in 1_u64..1_000_000,
        billionths in 1_u64..=16_000_000_000,
        steps in prop::collection::vec((0_usize..8, 1_u64..9_000, any::<bool>()), 1..400),
    ) {
        let mut memory = SharedBuffer::new(bytes(capacity), billionths as f64 / 1e9);
        let mut ports = vec![Vec::<u64>::new(); 8];
        for (port, size, arrives) in steps {
            let held: u64 = ports[port].iter().sum();
            let free = memory.free().count();
            if arrives {
                let within = u128::from(held + size) * 1_000_000_000
                    <= u128::from(billionths) * u128::from(free);
                let expected = match (size <= free, within) {
                    (false, _) => Err(DropCause::BufferFull),
                    (true, false) => Err(DropCause::SharedLimit),
                    (true, true) => Ok(()),
                };
                let verdict = memory.admit(bytes(held), bytes(size));
                prop_assert_eq!(verdict, expected);
                if verdict.is_ok() {
                    ports[port].push(size);
                }
            } else if let Some(left) = ports[port].pop() {
                memory.release(bytes(left));
            }
            let stored: u64 = ports.iter().flatten().sum();
            prop_assert_eq!(memory.stored(), bytes(stored));
            prop_assert!(stored <= capacity);
        }
    }

    /// A port with a capacity never stores more.
    #[test]
    fn a_port_keeps_its_limit(
        limit in 0_u64..30_000, in_packets: bool,
        steps in prop::collection::vec((1_u64..9_000, any::<bool>()), 1..200),
    ) {
        let amount = if in_packets {
            Amount::Packets(Packets::new(limit / 1_000))
        } else {
            Amount::Bytes(bytes(limit))
        };
        let mut stored = Vec::new();
        for (size, arrives) in steps {
            let sum: u64 = stored.iter().sum();
            if !arrives {
                stored.pop();
            } else if admits(PortBuffer::Limited(amount), stored.len() as u64, sum, size) {
                stored.push(size);
            }
            let measure = if in_packets { stored.len() as u64 } else { stored.iter().sum() };
            let bound = if in_packets { limit / 1_000 } else { limit };
            prop_assert!(measure <= bound);
        }
    }
}
