//! The accounting with all options of HPCC's simulator, against its rules in unsigned 32 bits.

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1_024)))]

    /// With its options the accounting is that of HPCC's simulator, in unsigned 32 bits.
    #[test]
    fn with_its_options_it_is_the_switch_of_hpcc_ns3(
        shifts in prop::array::uniform3(0..4_u32),
        headrooms in prop::array::uniform3(0..12_000_u32),
        buffer in 0..90_000_u32,
        reserve in 0..5_000_u32,
        offset in 0..4_000_u32,
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let ports = std::array::from_fn::<_, 3, _>(|port| {
            let alpha = 1.0 / f64::from(1_u32 << shifts[port]);
            dynamic(u64::from(headrooms[port]), alpha, u64::from(offset))
        });
        let mut config = config(u64::from(buffer), u64::from(reserve), &ports);
        config.lossless = PrioritySet::ALL.without(config.uncounted);
        config.options = AccountingOptions::HPCC_NS3;
        prop_assert_eq!(config.options.arithmetic, ThresholdArithmetic::Wrapping32);
        let mut memory = PriorityMemory::new(&config);
        let mut theirs = Theirs {
            free: buffer.wrapping_sub(headrooms.iter().sum::<u32>() + 3 * reserve),
            shifts,
            headrooms,
            reserve,
            offset,
            outside: [[0; 8]; 3],
            headroom: [[0; 8]; 3],
            paused: [[false; 8]; 3],
        };
        let mut packets: Vec<Passage> = Vec::new();
        for step in steps {
            match step {
                Step::Arrive(packet) => {
                    let ours = memory.admit(&packet);
                    prop_assert_eq!(ours.map(|stored| stored.transition), theirs.arrive(&packet));
                    if ours.is_ok() {
                        packets.push(packet);
                    }
                }
                Step::Leave(index) => if !packets.is_empty() {
                    let packet = packets.swap_remove(index.index(packets.len()));
                    prop_assert_eq!(memory.release(&packet), theirs.leave(&packet));
                }
            }
            prop_assert_eq!(memory.free(), bytes(u64::from(theirs.free)));
        }
    }
}

/// The counters of that switch, and its rules in the order in which it applies them.
struct Theirs {
    free: u32,
    shifts: [u32; 3],
    headrooms: [u32; 3],
    reserve: u32,
    offset: u32,
    outside: [[u32; 8]; 3],
    headroom: [[u32; 8]; 3],
    paused: [[bool; 8]; 3],
}

impl Theirs {
    fn threshold(&self, port: usize) -> u32 {
        self.free >> self.shifts[port]
    }

    fn shared(&self, port: usize, of: usize) -> u32 {
        self.outside[port][of].saturating_sub(self.reserve)
    }

    /// Whether the packet is stored, and the pause that follows.
    fn arrive(&mut self, packet: &Passage) -> Result<Option<PauseTransition>, DropCause> {
        let (port, of) = (packet.ingress, packet.priority.index());
        let size = packet.size.count() as u32;
        if of == 0 {
            return Ok(None);
        }
        let no_headroom = size + self.headroom[port][of] > self.headrooms[port];
        if no_headroom && size + self.shared(port, of) > self.threshold(port) {
            return Err(DropCause::HeadroomFull);
        }
        let new = self.outside[port][of] + size;
        if new <= self.reserve {
            self.outside[port][of] = new;
        } else if new - self.reserve > self.threshold(port) {
            self.headroom[port][of] += size;
        } else {
            self.outside[port][of] = new;
            self.free = self.free.wrapping_sub(size.min(new - self.reserve));
        }
        let full = self.headroom[port][of] > 0 || self.shared(port, of) >= self.threshold(port);
        let pauses = full && !self.paused[port][of];
        self.paused[port][of] |= full;
        Ok(pauses.then_some(Pause))
    }

    fn leave(&mut self, packet: &Passage) -> Option<PauseTransition> {
        let (port, of) = (packet.ingress, packet.priority.index());
        let size = packet.size.count() as u32;
        if of == 0 {
            return None;
        }
        let from_headroom = self.headroom[port][of].min(size);
        let from_shared = (size - from_headroom).min(self.shared(port, of));
        self.headroom[port][of] -= from_headroom;
        self.outside[port][of] -= size - from_headroom;
        self.free = self.free.wrapping_add(from_shared);
        let shared = self.shared(port, of);
        let low = shared == 0 || shared + self.offset <= self.threshold(port);
        let resumes = self.paused[port][of] && self.headroom[port][of] == 0 && low;
        self.paused[port][of] &= !resumes;
        resumes.then_some(Resume)
    }
}
