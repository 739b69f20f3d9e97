//! HPCC with packed telemetry against a second computation, bit for bit: words of 64 bits as HPCC-ns3 lays them
//! out, and the arithmetic of its `UpdateRateHp` in integers and doubles.

use incastle_cases::cases;
use incastle_congestion::{HopTelemetry, Hpcc, HpccConfig, IntWords};
use incastle_units::Span;
use proptest::prelude::*;

use super::{Feedback, GBIT, acknowledge, at_ns, bits, rate, telemetry};
use crate::support::Sender;

const LINE: u64 = 100 * GBIT;
const T_NS: u64 = 8_000;

/// From the low bits: 24 of time, 20 of sent units, 17 of queue units.
fn pack(ns: u64, sent: u64, queue: u64, multiplier: u64) -> u64 {
    (ns & 0xff_ffff)
        | ((sent / (128 * multiplier)) & 0xf_ffff) << 24
        | ((queue / (80 * multiplier)) & 0x1_ffff) << 44
}

/// The difference of a field of both words, modulo its width.
fn field(newer: u64, older: u64, shift: u32, width: u32) -> u64 {
    let mask = (1 << width) - 1;
    ((newer >> shift) & mask).wrapping_sub((older >> shift) & mask) & mask
}

struct Opinion {
    multiplier: u64,
    max_stage: u32,
    words: Vec<u64>,
    u: f64,
    reference: u64,
    stage: u32,
    rate: u64,
    ends: u64,
}

impl Opinion {
    fn ack(&mut self, una: u64, nxt: u64, words: Vec<u64>) {
        let full = una > self.ends;
        if self.ends == 0 {
            self.ends = nxt;
            self.words = words;
            return;
        }
        let mut busiest = (0.0, 0);
        for (new, old) in words.iter().zip(&self.words) {
            let tau = field(*new, *old, 0, 24);
            let bytes = field(*new, *old, 24, 20) * 128 * self.multiplier;
            let queue = (new >> 44).min(old >> 44) * 80 * self.multiplier;
            let throughput = (bytes * 8) as f64 / (tau as f64 * 1e-9);
            let window = (LINE / 8 * T_NS / 1_000_000_000) as f64;
            let queued = queue as f64 * LINE as f64 / LINE as f64 / window;
            let u = throughput / LINE as f64 + queued;
            if u > busiest.0 {
                busiest = (u, tau);
            }
        }
        let tau = busiest.1.min(T_NS);
        self.u = (self.u * (T_NS - tau) as f64 + busiest.0 * tau as f64) / T_NS as f64;
        let c = self.u / 0.95;
        let additive = c < 1.0 && self.stage < self.max_stage;
        let base = if additive {
            self.reference
        } else {
            (self.reference as f64 / c) as u64
        };
        let new = (base + LINE / 2_500).clamp(GBIT, LINE);
        self.rate = new;
        if full {
            self.reference = new;
            self.stage = if additive { self.stage + 1 } else { 0 };
            self.ends = self.ends.max(nxt);
        }
        self.words = words;
    }
}

/// A queue of a switch, or one beyond the range of a word.
fn queue() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0_u64..200_000, 1 => 0_u64..50_000_000]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1024)))]

    #[test]
    fn packed_telemetry_gives_what_a_second_computation_gives(
        multiplier in prop::sample::select(vec![1_u32, 2, 4]),
        max_stage in prop::sample::select(vec![0_u32, 1, 5]),
        start in (0_u64..1 << 26, 0_u64..1 << 31, 0_u64..1 << 24),
        steps in prop::collection::vec(
            (0_u64..5, (1_u64..20_000, 1_u64..20_000), (0_u64..300_000, 0_u64..300_000), (queue(), queue())),
            1..200,
        ),
    ) {
        let config = HpccConfig {
            max_stage,
            int_words: IntWords::Packed { multiplier },
            ..HpccConfig::hpcc_ns3(bits(LINE), Span::from_ns(T_NS))
        };
        let mut control = Hpcc::new(config);
        let mut sender = Sender::default();
        sender.send(&mut control, 100_000);
        let mut opinion = Opinion {
            multiplier: u64::from(multiplier),
            max_stage,
            words: Vec::new(),
            u: 1.0,
            reference: LINE,
            stage: 0,
            rate: LINE,
            ends: 0,
        };
        // Two ports at times and counts that wrap around: the second began elsewhere.
        let mut ports = [(start.0, start.1, start.2), (start.0 / 3, start.1 / 7, 0)];
        for (sent, times, bytes, queues) in steps {
            for (port, (ns, more, queue)) in ports.iter_mut().zip([
                (times.0, bytes.0, queues.0),
                (times.1, bytes.1, queues.1),
            ]) {
                *port = (port.0 + ns, port.1 + more, queue);
            }
            let hops: Vec<HopTelemetry> = ports
                .iter()
                .map(|(ns, sent, queue)| telemetry(bits(LINE), at_ns(*ns), *sent, *queue))
                .collect();
            sender.send(&mut control, sent * 1_000);
            let bytes = (sender.snd_nxt - sender.snd_una).min(1_000);
            acknowledge(&mut sender, &mut control, bytes, Feedback { hops: &hops, ..Feedback::default() });
            let words = ports.map(|(ns, sent, queue)| pack(ns, sent, queue, u64::from(multiplier)));
            opinion.ack(sender.snd_una, sender.snd_nxt, words.to_vec());
            prop_assert_eq!(rate(&control), opinion.rate);
        }
    }
}
