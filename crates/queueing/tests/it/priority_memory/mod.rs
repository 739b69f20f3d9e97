//! The memory of a switch with priorities: by hand, its invariants, and against the rules of HPCC's simulator.

mod hpcc_ns3;
mod late;
mod sequences;

use incastle_cases::cases;
use incastle_queueing::PauseTransition::{Pause, Resume};
use incastle_queueing::{
    AccountingOptions, CrossingPacket, CutPackets, DropCause, HeadroomScope, IngressPortConfig,
    Passage, PauseThreshold, PauseTransition, Placement, Priority, PriorityMemory,
    PriorityMemoryConfig, PriorityMemoryError, PrioritySet, ReserveRule, Stored,
    ThresholdArithmetic,
};
use incastle_units::Bytes;
use proptest::prelude::*;

fn priority(number: u8) -> Priority {
    Priority::new(number).expect("it is below 8")
}

const fn bytes(count: u64) -> Bytes {
    Bytes::new(count)
}

fn dynamic(headroom: u64, alpha: f64, resume_offset: u64) -> IngressPortConfig {
    IngressPortConfig {
        headroom: bytes(headroom),
        threshold: PauseThreshold::Dynamic {
            alpha,
            resume_offset: bytes(resume_offset),
        },
    }
}

fn fixed(headroom: u64, xoff: u64, xon: u64) -> IngressPortConfig {
    IngressPortConfig {
        headroom: bytes(headroom),
        threshold: PauseThreshold::Static {
            xoff: bytes(xoff),
            xon: bytes(xon),
        },
    }
}

/// Priority 3 and 4 are lossless, 0 takes no memory, all others are lossy with alpha_e = 1/2.
fn config(capacity: u64, reserve: u64, ports: &[IngressPortConfig]) -> PriorityMemoryConfig {
    PriorityMemoryConfig {
        capacity: bytes(capacity),
        lossless: [priority(3), priority(4)].into_iter().collect(),
        uncounted: PrioritySet::only(Priority::ZERO),
        reserve: bytes(reserve),
        egress_alpha: 0.5,
        ports: ports.to_vec(),
        options: AccountingOptions::default(),
    }
}

fn packet(ingress: usize, egress: usize, of: u8, size: u64) -> Passage {
    Passage {
        ingress,
        egress,
        priority: priority(of),
        size: bytes(size),
    }
}

const fn stored(placement: Placement, transition: Option<PauseTransition>) -> Stored {
    Stored {
        placement,
        transition,
    }
}

#[test]
fn static_thresholds_pause_and_resume() {
    // XOFF 3000, XON 1000, reserve 500, headroom 2000.
    let ports = [fixed(2_000, 3_000, 1_000); 2];
    let mut memory = PriorityMemory::new(&config(100_000, 500, &ports));
    let one = packet(0, 1, 3, 1_000);
    let half = packet(0, 1, 3, 500);
    assert_eq!(memory.admit(&half), Ok(stored(Placement::Reserve, None)));
    assert_eq!(memory.admit(&one), Ok(stored(Placement::Shared, None)));
    assert_eq!(memory.admit(&one), Ok(stored(Placement::Shared, None)));
    // 3000 B: XOFF is reached.
    assert_eq!(
        memory.admit(&half),
        Ok(stored(Placement::Shared, Some(Pause)))
    );
    assert_eq!(memory.shared_used(), bytes(2_500));
    // Beyond it there is headroom for two more; the third is lost.
    assert_eq!(memory.admit(&one), Ok(stored(Placement::Headroom, None)));
    assert_eq!(memory.admit(&one), Ok(stored(Placement::Headroom, None)));
    assert_eq!(memory.admit(&one), Err(DropCause::HeadroomFull));
    assert_eq!(
        memory.admit(&packet(0, 1, 4, 501)),
        Ok(stored(Placement::Shared, None))
    );
    assert_eq!(memory.max_headroom_used(0), bytes(2_000));
    assert_eq!(memory.resume_level(0), bytes(1_000));
    // Headroom first, then down to XON: 5000, 4000, 3000, 2000, 1000.
    for _ in 0..3 {
        assert_eq!(memory.release(&one), None);
    }
    assert_eq!(memory.ingress(0, priority(3)).stored, bytes(2_000));
    assert_eq!(memory.release(&half), None);
    assert!(memory.ingress(0, priority(3)).paused);
    assert_eq!(memory.release(&half), Some(Resume));
    assert_eq!(memory.release(&one), None);
    assert_eq!(memory.release(&packet(0, 1, 4, 501)), None);
    assert_eq!(
        (memory.stored(), memory.shared_used()),
        (Bytes::ZERO, Bytes::ZERO)
    );
    assert_eq!(memory.max_stored(), bytes(5_501));
}

#[test]
fn dynamic_thresholds_follow_the_free_memory() {
    // 2 ports: headroom 1000 each, reserves 2 x 2 x 500: 20,000 of 24,000 are shared.
    let ports = [dynamic(1_000, 0.25, 600); 2];
    let mut memory = PriorityMemory::new(&config(24_000, 500, &ports));
    assert_eq!(memory.free(), bytes(20_000));
    assert_eq!(memory.ingress_limit(0), bytes(500 + 5_000));
    let one = packet(0, 1, 3, 1_000);
    // Shared 500, 1500, 2500, 3500: 1/4 of the free 16,500 = 4125. With 4500 of 15,500 free it would be 3875: paused. The
    // packet itself fits, as the threshold before it is 4125 and it reaches 500 + 4000 - 500.
    for _ in 0..4 {
        assert_eq!(memory.admit(&one), Ok(stored(Placement::Shared, None)));
    }
    assert_eq!(memory.shared_used(), bytes(3_500));
    let small = packet(0, 1, 3, 500);
    assert_eq!(
        memory.admit(&small),
        Ok(stored(Placement::Shared, Some(Pause)))
    );
    // 4000 shared, 1/4 of 16,000 = 4000: reached. Another byte is beyond, in headroom.
    assert_eq!(memory.ingress_limit(0), bytes(4_500));
    assert_eq!(
        memory.admit(&packet(0, 1, 3, 1)),
        Ok(stored(Placement::Headroom, None))
    );
    // Traffic of another port takes shared memory: the threshold falls further. Its own 3200 are 1/4 of 12,800.
    assert_eq!(
        memory.admit(&packet(1, 0, 3, 3_700)),
        Ok(stored(Placement::Shared, Some(Pause)))
    );
    assert_eq!(memory.ingress_limit(0), bytes(500 + 3_200));
    // Headroom empty, 3999 shared; then 2999 + 600 = 3599 > 3450; then 2499 + 600 <= 3575.
    assert_eq!(memory.release(&packet(0, 1, 3, 2)), None);
    assert_eq!(memory.ingress(0, priority(3)).headroom, Bytes::ZERO);
    assert_eq!(memory.release(&one), None);
    assert_eq!(memory.free(), bytes(20_000 - 3_200 - 2_999));
    assert_eq!(memory.resume_level(0), bytes(500 + 3_450 - 600));
    assert_eq!(memory.release(&small), Some(Resume));
}

#[test]
fn an_account_within_its_reserve_is_resumed_whatever_the_threshold() {
    // The resume offset exceeds every threshold.
    let mut memory = PriorityMemory::new(&config(10_000, 500, &[dynamic(2_000, 0.1, 9_000)]));
    // 7000 shared: 1/10 of the free 6500 is more than 500; then 1500 are more than 1/10 of 5500.
    let big = packet(0, 0, 3, 1_000);
    assert_eq!(memory.admit(&big), Ok(stored(Placement::Shared, None)));
    assert_eq!(
        memory.admit(&big),
        Ok(stored(Placement::Shared, Some(Pause)))
    );
    assert_eq!(memory.resume_level(0), bytes(500));
    assert_eq!(memory.release(&big), None);
    assert_eq!(memory.release(&packet(0, 0, 3, 499)), None);
    assert_eq!(memory.release(&packet(0, 0, 3, 1)), Some(Resume));
}

#[test]
fn lossy_priorities_are_limited_at_the_egress() {
    // Shared: 10,000 - 1000 of headroom.
    let mut memory = PriorityMemory::new(&config(10_000, 0, &[fixed(500, 20_000, 0); 2]));
    let one = packet(0, 1, 2, 3_000);
    // 3000 <= 9000 / 2; 6000 > 6000 / 2.
    assert_eq!(memory.admit(&one), Ok(stored(Placement::Shared, None)));
    assert_eq!(memory.admit(&one), Err(DropCause::SharedLimit));
    assert_eq!(
        (memory.stored(), memory.egress(1, priority(2))),
        (bytes(3_000), bytes(3_000))
    );
    // Another priority at the same port has its share, of what is left.
    assert_eq!(
        memory.admit(&packet(0, 1, 1, 3_000)),
        Ok(stored(Placement::Shared, None))
    );
    // A lossless one has no limit at the egress, here and without bound at the ingress.
    assert_eq!(
        memory.admit(&packet(0, 1, 3, 3_000)),
        Ok(stored(Placement::Shared, None))
    );
    assert_eq!(memory.free(), Bytes::ZERO);
    assert_eq!(
        memory.admit(&packet(0, 1, 7, 1)),
        Err(DropCause::BufferFull)
    );
    assert_eq!(
        memory.admit(&packet(0, 1, 3, 501)),
        Err(DropCause::HeadroomFull)
    );
    assert_eq!(
        memory.admit(&packet(0, 1, 3, 500)),
        Ok(stored(Placement::Headroom, Some(Pause)))
    );
    // Priority 0 takes none.
    let control = packet(0, 1, 0, 9_000);
    assert_eq!(
        memory.admit(&control),
        Ok(stored(Placement::Uncounted, None))
    );
    assert_eq!(memory.release(&control), None);
    assert_eq!(memory.stored(), bytes(9_500));
}

#[test]
fn headroom_belongs_to_the_port_or_to_each_priority() {
    let mut pool = config(10_000, 0, &[fixed(1_000, 1_000, 0)]);
    let mut separate = pool.clone();
    separate.options.headroom = HeadroomScope::Priority;
    for (config, expected) in [
        (&mut pool, Err(DropCause::HeadroomFull)),
        (&mut separate, Ok(stored(Placement::Headroom, None))),
    ] {
        let mut memory = PriorityMemory::new(config);
        for of in [3, 4] {
            assert_eq!(
                memory.admit(&packet(0, 0, of, 1_000)),
                Ok(stored(Placement::Shared, Some(Pause)))
            );
        }
        let full = memory.admit(&packet(0, 0, 3, 1_000));
        assert_eq!(full, Ok(stored(Placement::Headroom, None)));
        assert_eq!(memory.admit(&packet(0, 0, 4, 1_000)), expected);
    }
}

#[test]
fn a_reserve_is_guaranteed_or_not() {
    // Threshold 0: alpha x free is below a byte. A packet fits in the reserve, but not in headroom.
    let mut config = config(10_000, 1_000, &[dynamic(400, 1e-9, 0)]);
    let one = packet(0, 0, 3, 500);
    let mut memory = PriorityMemory::new(&config);
    assert_eq!(memory.free(), bytes(10_000 - 400 - 2_000));
    assert_eq!(
        memory.admit(&one),
        Ok(stored(Placement::Reserve, Some(Pause)))
    );
    config.options.reserve = ReserveRule::OncePerPort;
    let mut memory = PriorityMemory::new(&config);
    assert_eq!(memory.free(), bytes(10_000 - 400 - 1_000));
    assert_eq!(memory.admit(&one), Err(DropCause::HeadroomFull));
    let fits = packet(0, 0, 3, 400);
    assert_eq!(
        memory.admit(&fits),
        Ok(stored(Placement::Reserve, Some(Pause)))
    );
}

#[test]
fn the_threshold_of_hpcc_ns3_wraps_around() {
    // An m3 shard: 300 KiB; headrooms of 1250 B twice and 37.5 MB; 3 reserves of 4 KiB.
    // 307,200 - 37,502,500 - 12,288 + 2^32 = 4,257,759,708; a quarter: 1,064,439,927.
    let ports = [1_250, 37_500_000, 1_250].map(|headroom| dynamic(headroom, 0.25, 3_072));
    let mut config = config(300 * 1_024, 4_096, &ports);
    config.lossless = PrioritySet::ALL.without(config.uncounted);
    config.options = AccountingOptions::HPCC_NS3;
    let mut memory = PriorityMemory::new(&config);
    assert_eq!(memory.free(), bytes(4_257_759_708));
    assert_eq!(memory.ingress_limit(0), bytes(4_096 + 1_064_439_927));
    // So far more than the buffer is stored, without a pause.
    for _ in 0..1_000 {
        let admitted = memory
            .admit(&packet(0, 2, 3, 1_048))
            .expect("no packet is lost");
        assert_eq!(admitted.transition, None);
    }
    config.options = AccountingOptions::default();
    let error = config.check();
    // With guaranteed reserves: 7 x 4096 x 3 + 37,502,500.
    assert_eq!(
        error,
        Err(PriorityMemoryError::NoShared {
            taken: 37_588_516,
            capacity: 307_200,
        })
    );
}

#[test]
fn packets_of_a_link_that_fails_leave_their_accounts_or_stay_in_them() {
    let mut config = config(10_000, 0, &[fixed(1_000, 2_000, 500)]);
    for (rule, used, resumed) in [
        (CutPackets::Released, 0, Some(Resume)),
        (CutPackets::Kept, 2_000, None),
    ] {
        config.options.cut = rule;
        let mut memory = PriorityMemory::new(&config);
        let one = packet(0, 0, 3, 2_000);
        assert_eq!(
            memory.admit(&one),
            Ok(stored(Placement::Shared, Some(Pause)))
        );
        assert_eq!(memory.cut(&one), resumed, "{rule:?}");
        // No packet is inside, in both cases.
        assert_eq!(
            (memory.stored(), memory.shared_used()),
            (bytes(0), bytes(used))
        );
    }
}

#[test]
fn the_packet_that_crosses_the_threshold_is_in_shared_memory_or_in_headroom() {
    let mut config = config(10_000, 0, &[fixed(1_000, 1_000, 500)]);
    let most = packet(0, 0, 3, 999);
    let crossing = packet(0, 0, 3, 700);
    for (rule, placement) in [
        (CrossingPacket::Shared, Placement::Shared),
        (CrossingPacket::Headroom, Placement::Headroom),
    ] {
        config.options.crossing = rule;
        let mut memory = PriorityMemory::new(&config);
        assert_eq!(memory.admit(&most), Ok(stored(Placement::Shared, None)));
        let crossed = memory.admit(&crossing);
        assert_eq!(crossed, Ok(stored(placement, Some(Pause))));
        // Once paused, shared memory takes a packet only up to the limit.
        assert_eq!(memory.release(&most), None);
        let one = packet(0, 0, 3, 1_000 - 700);
        let account = memory.ingress(0, priority(3));
        assert!(account.paused && account.stored == bytes(700));
        assert_eq!(memory.admit(&one), Ok(stored(Placement::Shared, None)));
        let beyond = packet(0, 0, 3, 1);
        assert_eq!(memory.admit(&beyond), Ok(stored(Placement::Headroom, None)));
    }
}

#[test]
fn a_failed_link_is_paused_again() {
    let mut memory = PriorityMemory::new(&config(100_000, 0, &[fixed(9_000, 1_000, 500)]));
    let one = packet(0, 0, 3, 1_000);
    assert_eq!(
        memory.admit(&one),
        Ok(stored(Placement::Shared, Some(Pause)))
    );
    assert_eq!(memory.admit(&one), Ok(stored(Placement::Headroom, None)));
    memory.forget_pauses(0);
    assert_eq!(memory.release(&one), None);
    assert_eq!(
        memory.admit(&one),
        Ok(stored(Placement::Shared, Some(Pause)))
    );
}

#[test]
fn senseless_parameters_are_refused() {
    let good = config(
        10_000,
        100,
        &[fixed(500, 1_000, 400), dynamic(500, 0.25, 0)],
    );
    assert_eq!(good.check(), Ok(()));
    let with = |change: &dyn Fn(&mut PriorityMemoryConfig)| {
        let mut config = good.clone();
        change(&mut config);
        config.check()
    };
    let thresholds = Err(PriorityMemoryError::Thresholds);
    assert_eq!(with(&|bad| bad.ports[0] = fixed(500, 399, 400)), thresholds);
    assert_eq!(with(&|bad| bad.ports[0] = fixed(500, 99, 0)), thresholds);
    let alpha = Err(PriorityMemoryError::Alpha(0.0));
    assert_eq!(with(&|bad| bad.ports[1] = dynamic(500, 0.0, 0)), alpha);
    assert_eq!(with(&|bad| bad.egress_alpha = 0.0), alpha);
    let both = Err(PriorityMemoryError::UncountedLossless(priority(4)));
    assert_eq!(with(&|bad| bad.uncounted.insert(priority(4))), both);
    // 2 x (500 + 2 x 100) = 1400.
    assert!(with(&|bad| bad.capacity = bytes(1_400)).is_err());
    assert_eq!(with(&|bad| bad.capacity = bytes(1_401)), Ok(()));
}

/// A packet that arrives, or one of those stored that leaves.
#[derive(Debug, Clone)]
enum Step {
    Arrive(Passage),
    Leave(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    let arrival = (0..3_usize, 0..3_usize, 0..8_u8, 1..9_000_u64);
    prop_oneof![
        3 => arrival.prop_map(|(ingress, egress, of, size)| Step::Arrive(packet(ingress, egress, of, size))),
        2 => any::<prop::sample::Index>().prop_map(Step::Leave),
    ]
}
