//! The headroom of an ingress port: the bytes that still arrive after its peer was told to pause.
//!
//! Source: IEEE 802.1Q, annex N (buffer requirements for PFC), in bytes: the round trip over cable, PHY and MAC; a frame
//! that the port itself is sending when it wants to pause; the pause frame; the response time of the peer; a frame that
//! the peer has just begun. Leaves out: cells and small packets that waste them, pipelines of the own switch.

use incastle_units::{Bytes, Rate, Span};

/// The size of a pause frame: the smallest of Ethernet (802.3, annex 31A).
pub const PAUSE_FRAME_SIZE: Bytes = Bytes::new(64);

/// A pause quantum is 512 bit times (802.3, annex 31B.2).
pub(crate) const QUANTUM: Bytes = Bytes::new(64);

/// 802.3, annex 31B.3.7: the time in quanta within which a peer stops at a frame's boundary, by rate in Mbit/s, as SONiC
/// quotes it (sonic-swss, cfgmgr/buffer_headroom_barefoot.lua). For 10 Gbit/s it has 67; we keep the 60 of other
/// derivations (30,720 bit times).
const RESPONSE_QUANTA: [(u64, u64); 9] = [
    (100, 1),
    (1_000, 2),
    (10_000, 60),
    (25_000, 80),
    (40_000, 118),
    (50_000, 147),
    (100_000, 394),
    (200_000, 453),
    (400_000, 905),
];

/// A link, as far as headroom depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LosslessLink {
    /// Its rate.
    pub rate: Rate,
    /// The propagation delay of the cable, in one direction.
    pub cable_delay: Span,
    /// The delay of PHY and MAC, at both ends together.
    pub interface_delay: Span,
    /// The largest frame.
    pub mtu: Bytes,
}

impl LosslessLink {
    /// The headroom of one lossless priority, rounded up to a byte.
    pub fn headroom(&self) -> Bytes {
        let one_way = self.cable_delay + self.interface_delay;
        let response = QUANTUM * response_quanta(self.rate);
        bytes_within(self.rate, one_way * 2) + self.mtu * 2 + PAUSE_FRAME_SIZE + response
    }
}

/// The response time of a peer, in quanta. A rate that the annex does not name has the value of the next higher one;
/// above the highest, its time.
pub fn response_quanta(rate: Rate) -> u64 {
    let bits = rate.bits_per_second();
    let named = RESPONSE_QUANTA
        .iter()
        .find(|(mbits, _)| bits <= mbits * 1_000_000);
    let (fastest, most) = RESPONSE_QUANTA[RESPONSE_QUANTA.len() - 1];
    named.map_or_else(
        || {
            let quanta = u128::from(bits) * u128::from(most);
            quanta.div_ceil(u128::from(fastest) * 1_000_000) as u64
        },
        |(_, quanta)| *quanta,
    )
}

/// The bytes that pass in a span, rounded up.
fn bytes_within(rate: Rate, span: Span) -> Bytes {
    let bits = u128::from(rate.bits_per_second()) * u128::from(span.as_ps());
    let bytes = bits.div_ceil(8_000_000_000_000);
    Bytes::new(u64::try_from(bytes).expect("the content of a link fits 64 bits"))
}

/// HPCC's simulator (third.cc): 3 x rate x delay / 8, each division rounded down, in 32 bits. The delay is that of the
/// link in one direction, in whole nanoseconds.
pub fn hpcc_ns3_headroom(rate: Rate, delay: Span) -> Bytes {
    let product = rate.bits_per_second().wrapping_mul(delay.as_ps() / 1_000);
    let bytes = (product / 8 / 1_000_000_000).wrapping_mul(3) as u32;
    Bytes::new(u64::from(bytes))
}

/// HPCC's simulator (third.cc): alpha of a port is 2^-shift; the shift falls by one for each doubling of the port's rate
/// over that of the hosts' NICs that has begun, down to 0. Up to a shift of 9 the memory's alpha is exactly this ratio.
pub fn hpcc_ns3_alpha(shift: u32, rate: Rate, nic_rate: Rate) -> f64 {
    let (mut shift, mut rate) = (shift, rate.bits_per_second());
    while rate > nic_rate.bits_per_second() && shift > 0 {
        shift -= 1;
        rate /= 2;
    }
    1.0 / (1_u64 << shift) as f64
}
