//! In-band telemetry (INT) as bytes of a packet.
//!
//! No standard has the form that HPCC uses. The words are those of HPCC's simulator (HPCC-ns3, `int-header.h`: 3, 24, 20
//! and 17 bits with their units and codes of rates), as is the room for five of them: 42 bytes. Unlike there, the
//! number of hops comes first and all is in network byte order; more hops than five make it longer.
//! Leaves out: INT_MULTI, a multiplier of the units; docs/captures.md has the layout.

use incastle_congestion::HopTelemetry;

/// The hops for which there is always room.
const ROOM: usize = 5;
/// Rates in Gbit/s, by their codes. The last one, 100 Tbit/s, stands for all others too.
const RATES: [u64; 8] = [25, 50, 100, 200, 400, 10, 40, 100_000];
/// Bits of a word: its time, sent bytes and queue.
const TIME_BITS: u32 = 24;
const SENT_BITS: u32 = 20;
const QUEUE_BITS: u32 = 17;
/// Units of sent bytes and of the queue.
const SENT_UNIT: u64 = 128;
const QUEUE_UNIT: u64 = 80;
const PS_PER_NS: u64 = 1_000;

/// The bytes of the telemetry of some hops: their number, and a word for each, zero where there is no hop yet.
pub(crate) fn telemetry(hops: &[HopTelemetry]) -> Vec<u8> {
    let mut bytes = (hops.len() as u16).to_be_bytes().to_vec();
    let empty = ROOM.saturating_sub(hops.len());
    let words = hops.iter().map(word).chain(std::iter::repeat_n(0, empty));
    bytes.extend(words.flat_map(u64::to_be_bytes));
    bytes
}

/// The word of a hop. Values are rounded down, and wrap around where they exceed their bits.
fn word(hop: &HopTelemetry) -> u64 {
    let is_rate = |gbit: &u64| hop.rate.bits_per_second() == gbit * 1_000_000_000;
    let rate = RATES.iter().position(is_rate);
    let mut word = rate.unwrap_or(RATES.len() - 1) as u64;
    for (value, bits) in [
        (hop.at.as_ps() / PS_PER_NS, TIME_BITS),
        (hop.sent.count() / SENT_UNIT, SENT_BITS),
        (hop.queue.count() / QUEUE_UNIT, QUEUE_BITS),
    ] {
        word = (word << bits) + value % (1 << bits);
    }
    word
}

#[cfg(test)]
mod tests {
    use incastle_units::{Bytes, Rate, Time};

    use super::*;

    fn hop(gbit: u64, ns: u64, sent: u64, queue: u64) -> HopTelemetry {
        HopTelemetry {
            rate: Rate::from_bits_per_second(gbit * 1_000_000_000),
            at: Time::from_ps(ns * 1_000 + 999),
            sent: Bytes::new(sent),
            queue: Bytes::new(queue),
        }
    }

    #[test]
    fn words_have_rate_time_bytes_and_queue() {
        // Code 2, then 24 bits 0x000102, 20 bits 3 (384 to 511 bytes), 17 bits 2 (160 to 239 bytes):
        // 010 000000000000000100000010 00000000000000000011 00000000000000010
        let bytes = telemetry(&[hop(100, 0x102, 500, 239)]);
        assert_eq!(
            bytes[..10],
            [0, 1, 0x40, 0x00, 0x20, 0x40, 0x00, 0x06, 0x00, 0x02]
        );
        assert_eq!(bytes[10..], [0; 32]);
    }

    #[test]
    fn there_is_room_for_five_hops_and_more() {
        let lengths = [0, 1, 5, 6, 8].map(|hops| telemetry(&vec![hop(25, 0, 0, 0); hops]).len());
        assert_eq!(lengths, [42, 42, 42, 50, 66]);
    }

    #[test]
    fn values_wrap_and_other_rates_have_the_last_code() {
        let wrapped = hop(10, 1 << 24, 128 << 20, 80 << 17);
        assert_eq!(word(&wrapped), 5 << 61);
        assert_eq!(word(&hop(3, 0, 0, 0)), 7 << 61);
        let full = hop(100_000, (1 << 24) - 1, (128 << 20) - 1, (80 << 17) - 1);
        assert_eq!(word(&full), u64::MAX);
    }
}
