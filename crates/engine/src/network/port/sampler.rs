//! A congestion point at a port, with its random numbers and its count.

use incastle_queueing::{CongestionPoint, CongestionPointConfig, Sample};
use incastle_units::Bytes;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::network::Packet;

/// The congestion point.
pub(crate) struct Sampler {
    point: CongestionPoint,
    rng: Xoshiro256PlusPlus,
    /// CNMs sent so far.
    pub(crate) cnms: u64,
}

impl Sampler {
    pub(crate) fn new(config: CongestionPointConfig, rng: Xoshiro256PlusPlus) -> Self {
        Self {
            point: CongestionPoint::new(config),
            rng,
            cnms: 0,
        }
    }

    /// Takes an arriving frame; returns the sample, if it is one.
    pub(crate) fn sample(&mut self, queue: Bytes, size: Bytes) -> Option<Sample> {
        let sample = self.point.on_arrival(queue, size, &mut self.rng)?;
        self.cnms += u64::from(sample.psi > 0);
        Some(sample)
    }

    /// Whether a packet is certainly no sample, whatever the queue; it is not counted yet.
    pub(crate) fn lets_pass(&self, packet: &Packet) -> bool {
        packet.is_cnm() || self.point.lets_pass(packet.size())
    }

    /// Counts a packet that [`Self::lets_pass`] has let pass.
    pub(crate) fn pass(&mut self, packet: &Packet) {
        if !packet.is_cnm() {
            self.point.pass(packet.size());
        }
    }
}
