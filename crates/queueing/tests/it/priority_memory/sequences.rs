//! Random sequences of arrivals and departures: the invariants of the accounts.

use super::*;

fn port() -> impl Strategy<Value = IngressPortConfig> {
    prop_oneof![
        (0..20_000_u64, 1_000..20_000_u64, 0..=1_000_u64)
            .prop_map(|(headroom, xoff, xon)| fixed(headroom, xoff, xon)),
        (0..20_000_u64, 1..=8_000_u64, 0..5_000_u64).prop_map(|(headroom, thousandths, offset)| {
            dynamic(headroom, thousandths as f64 / 1e3, offset)
        }),
    ]
}

/// The sums of the packets stored equal the accounts, and each part keeps its limit.
fn check_accounts(
    memory: &PriorityMemory,
    config: &PriorityMemoryConfig,
    packets: &[Passage],
) -> Result<(), TestCaseError> {
    let mut shared = Bytes::ZERO;
    for port in 0..config.ports.len() {
        let mut headroom = Bytes::ZERO;
        for one in Priority::ALL {
            let sum = |of: &dyn Fn(&Passage) -> bool| {
                let counted = !config.uncounted.contains(one);
                let mine = packets
                    .iter()
                    .filter(|packet| counted && packet.priority == one);
                mine.filter(|packet| of(packet))
                    .fold(Bytes::ZERO, |sum, packet| sum + packet.size)
            };
            let account = memory.ingress(port, one);
            prop_assert_eq!(
                account.stored + account.headroom,
                sum(&|packet| packet.ingress == port)
            );
            prop_assert_eq!(
                memory.egress(port, one),
                sum(&|packet| packet.egress == port)
            );
            let lossless = config.lossless.contains(one);
            let reserve = if lossless {
                config.reserve
            } else {
                Bytes::ZERO
            };
            shared += account.stored.saturating_sub(reserve);
            headroom += account.headroom;
            prop_assert!(lossless || account.headroom == Bytes::ZERO && !account.paused);
            // Whoever uses headroom has been told to stop; whoever stores nothing may send.
            prop_assert!(account.headroom == Bytes::ZERO || account.paused);
            prop_assert!(!account.paused || account.stored + account.headroom > Bytes::ZERO);
            let limit = config.ports[port].headroom;
            prop_assert!(account.headroom <= limit);
        }
        if config.options.headroom == HeadroomScope::Port {
            prop_assert!(headroom <= config.ports[port].headroom);
        }
    }
    prop_assert_eq!(memory.shared_used(), shared);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1_024)))]

    /// Over any sequence of arrivals and departures: the sums of the accounts are those of the packets, all limits
    /// hold, a lossless packet is lost only with full headroom, pauses and resumes alternate, and at the end nothing
    /// is stored or paused.
    #[test]
    fn accounts_are_conserved(
        ports in prop::array::uniform3(port()),
        reserve in 0..1_000_u64,
        shared in 1..60_000_u64,
        separate in any::<bool>(),
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let mut config = config(0, reserve, &ports);
        let taken: u64 = ports.iter().map(|port| port.headroom.count() + 2 * reserve).sum();
        config.capacity = bytes(taken + shared);
        if separate {
            config.options.headroom = HeadroomScope::Priority;
        }
        let mut memory = PriorityMemory::new(&config);
        let mut packets: Vec<Passage> = Vec::new();
        let mut steps = steps.into_iter();
        loop {
            let (packet, change) = match steps.next() {
                Some(Step::Arrive(packet)) => {
                    let free = memory.free();
                    let before = memory.ingress(packet.ingress, packet.priority);
                    match memory.admit(&packet) {
                        Ok(stored) => {
                            packets.push(packet);
                            if stored.placement == Placement::Shared {
                                prop_assert!(memory.shared_used() <= bytes(shared));
                            }
                            (packet, stored.transition.map(|change| (change, before.paused)))
                        }
                        Err(cause) => {
                            let lossless = config.lossless.contains(packet.priority);
                            prop_assert_eq!(lossless, cause == DropCause::HeadroomFull);
                            prop_assert!(cause != DropCause::BufferFull || packet.size > free);
                            let port = &config.ports[packet.ingress];
                            if lossless {
                                let used = if separate {
                                    before.headroom
                                } else {
                                    Priority::ALL.into_iter().fold(Bytes::ZERO, |sum, one| {
                                        sum + memory.ingress(packet.ingress, one).headroom
                                    })
                                };
                                prop_assert!(used + packet.size > port.headroom);
                            }
                            continue;
                        }
                    }
                }
                Some(Step::Leave(_)) if packets.is_empty() => continue,
                Some(Step::Leave(index)) => {
                    let packet = packets.swap_remove(index.index(packets.len()));
                    let before = memory.ingress(packet.ingress, packet.priority).paused;
                    (packet, memory.release(&packet).map(|change| (change, before)))
                }
                None => {
                    let Some(packet) = packets.pop() else { break };
                    let before = memory.ingress(packet.ingress, packet.priority).paused;
                    (packet, memory.release(&packet).map(|change| (change, before)))
                }
            };
            let after = memory.ingress(packet.ingress, packet.priority).paused;
            if let Some((change, before)) = change {
                prop_assert_eq!((before, after), (change == Resume, change == Pause));
            }
            check_accounts(&memory, &config, &packets)?;
            if !separate {
                prop_assert!(memory.stored() <= config.capacity);
            }
        }
        prop_assert_eq!((memory.stored(), memory.shared_used()), (Bytes::ZERO, Bytes::ZERO));
        prop_assert_eq!(memory.free(), bytes(shared));
    }
}
