//! A sender's estimates of the path: the receiving rate and the capacity that the peer's ACKs report
//! (draft-gg-udt-03, section 5), smoothed, and its interface's rate.

use incastle_units::Rate;

use super::arrival_speed::Smoothed;
use super::wire::AckReport;

/// The estimates of one direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimates {
    receiving: Smoothed,
    capacity: Smoothed,
    /// The interface's rate, where it is known.
    interface: Option<Rate>,
}

impl Estimates {
    pub(super) fn new(interface: Option<Rate>) -> Self {
        Self {
            receiving: Smoothed::default(),
            capacity: Smoothed::default(),
            interface,
        }
    }

    /// Takes the peer's measurements.
    pub(super) fn learn(&mut self, report: &AckReport) {
        self.receiving.report(report.receiving_packets_per_s);
        self.capacity.report(report.capacity_packets_per_s);
    }

    /// At which rate packets of that payload arrive at the peer.
    pub(super) fn receiving_rate(&self, payload: u16) -> Option<Rate> {
        rate(self.receiving, payload)
    }

    /// The path capacity that the peer measured, at most the interface's rate; without a
    /// measurement that rate.
    pub(super) fn path_capacity(&self, payload: u16) -> Option<Rate> {
        let measured = rate(self.capacity, payload).into_iter();
        measured.chain(self.interface).min()
    }
}

fn rate(estimate: Smoothed, payload: u16) -> Option<Rate> {
    let packets = u64::from(estimate.packets_per_second()?);
    let bits = packets * u64::from(payload) * 8;
    Some(Rate::from_bits_per_second(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capacity_is_what_was_measured_up_to_the_interfaces_rate() {
        let mbit = |rate: u64| Some(Rate::from_bits_per_second(rate * 1_000_000));
        let report = AckReport {
            receiving_packets_per_s: 500,
            capacity_packets_per_s: 1_000,
            ..AckReport::default()
        };
        // 1000 packets/s of 1250 bytes are 10 Mbit/s.
        let known = |interface, reported: bool| {
            let mut estimates = Estimates::new(interface);
            if reported {
                estimates.learn(&report);
            }
            (
                estimates.receiving_rate(1_250),
                estimates.path_capacity(1_250),
            )
        };
        assert_eq!(known(None, false), (None, None));
        assert_eq!(known(None, true), (mbit(5), mbit(10)));
        assert_eq!(known(mbit(7), false), (None, mbit(7)));
        assert_eq!(known(mbit(7), true), (mbit(5), mbit(7)));
        assert_eq!(known(mbit(70), true), (mbit(5), mbit(10)));
    }
}
