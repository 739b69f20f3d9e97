//! Departures that the accounts learn late, while nobody is paused.

use super::*;

/// In steps of 100 bytes, so that accounts often meet a threshold exactly.
fn port() -> impl Strategy<Value = IngressPortConfig> {
    prop_oneof![
        (0..80_u64, 10..100_u64, 0..=10_u64).prop_map(|(headroom, xoff, xon)| fixed(
            headroom * 100,
            xoff * 100,
            xon * 100
        )),
        (0..80_u64, 1..=8_u64, 0..20_u64).prop_map(|(headroom, quarters, offset)| {
            dynamic(headroom * 100, quarters as f64 / 4.0, offset * 100)
        }),
    ]
}

fn arrival() -> impl Strategy<Value = Passage> {
    (0..3_usize, 0..3_usize, 0..8_u8, 1..15_u64)
        .prop_map(|(ingress, egress, of, size)| packet(ingress, egress, of, size * 100))
}

/// A memory that learns of departures when it must.
struct Late {
    memory: PriorityMemory,
    departed: Vec<Passage>,
}

impl Late {
    fn learn(&mut self) {
        for packet in self.departed.drain(..) {
            assert_eq!(self.memory.release(&packet), None, "nobody is paused");
        }
    }

    /// Returns whether it has admitted the packet without learning of departures.
    fn admit(&mut self, packet: &Passage) -> (bool, Result<Option<PauseTransition>, DropCause>) {
        if self.memory.is_calm() && self.memory.admit_calmly(packet) {
            return (true, Ok(None));
        }
        self.learn();
        let admitted = self.memory.admit(packet);
        (false, admitted.map(|stored| stored.transition))
    }

    fn release(&mut self, packet: Passage) -> Option<PauseTransition> {
        if self.memory.is_calm() {
            self.departed.push(packet);
            return None;
        }
        self.memory.release(&packet)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(2_048)))]

    /// It gives the answers, and in the end the state, of one that learns of departures at once.
    #[test]
    fn late_releases_change_no_answer(
        ports in prop::array::uniform3(port()),
        reserve in 0..10_u64,
        shared in 20..300_u64,
        steps in prop::collection::vec((arrival(), any::<Option<prop::sample::Index>>()), 1..300),
    ) {
        let mut config = config(0, reserve * 100, &ports);
        let taken: u64 = ports.iter().map(|port| port.headroom.count() + 200 * reserve).sum();
        config.capacity = bytes(taken + shared * 100);
        let mut exact = PriorityMemory::new(&config);
        let memory = exact.clone();
        prop_assert!(memory.is_monotonic());
        let mut late = Late { memory, departed: Vec::new() };
        let mut packets: Vec<Passage> = Vec::new();
        for (arrives, leaves) in steps {
            let admitted = exact.admit(&arrives);
            let (calmly, answer) = late.admit(&arrives);
            prop_assert_eq!(admitted.map(|stored| stored.transition), answer);
            prop_assert!(!calmly || admitted.is_ok_and(|stored| stored.placement != Placement::Headroom));
            if admitted.is_ok() {
                packets.push(arrives);
            }
            if let Some(index) = leaves.filter(|_| !packets.is_empty()) {
                let packet = packets.swap_remove(index.index(packets.len()));
                prop_assert_eq!(exact.release(&packet), late.release(packet));
            }
            prop_assert_eq!(exact.is_calm(), late.memory.is_calm());
            prop_assert_eq!(exact.max_stored(), late.memory.max_stored());
        }
        late.learn();
        prop_assert_eq!(format!("{exact:?}"), format!("{:?}", late.memory));
    }
}
