//! BBR against its draft, number by number.

use incastle_congestion::{
    Bbr, BbrConfig, CongestionEvent, Controller, Echo, LostPacket, Phase, RateSample,
};
use incastle_units::{Bytes, Rate, Span};

use crate::support::{Sender, cwnd, sample as ack};

const MSS: u64 = 1000;
/// 10 ms at 80 Mbit/s: the bandwidth-delay product is 100 KB.
const RTT: Span = Span::from_ms(10);
const BW: u64 = 80_000_000;
const BDP: u64 = 100_000;

/// A controller on that path.
struct Path {
    sender: Sender,
    control: Bbr,
    delivered: u64,
}

impl Path {
    /// The first window has left.
    fn new() -> Self {
        let mut control = Bbr::new(BbrConfig::new(Bytes::new(MSS)));
        let mut sender = Sender {
            smoothed_rtt: Some(RTT),
            ..Sender::default()
        };
        sender.send(&mut control, 10 * MSS);
        Self {
            sender,
            control,
            delivered: 0,
        }
    }

    /// In ProbeBW Down with a bandwidth of `BW`: three rounds at the same rate, then one with little in flight.
    fn probing_bw() -> Self {
        let mut path = Self::new();
        for _ in 0..4 {
            path.round(BW, 2 * BDP);
        }
        path.round(BW, BDP / 2);
        path
    }

    /// The sample of a round trip with this rate, and `in_flight` now.
    fn sample(&mut self, rate: u64, in_flight: u64) -> RateSample {
        let prior_delivered = self.delivered;
        let rate = Rate::from_bits_per_second(rate);
        let newly_acked = rate.bytes_in(RTT);
        self.delivered += newly_acked.count();
        RateSample {
            total_delivered: self.delivered,
            prior_delivered,
            rate: Some(rate),
            rtt: Some(RTT),
            newly_acked,
            lost: Bytes::ZERO,
            tx_in_flight: Bytes::new(in_flight),
            in_flight: Bytes::new(in_flight),
            is_app_limited: false,
            is_cwnd_limited: false,
        }
    }

    fn round(&mut self, rate: u64, in_flight: u64) {
        let sample = self.sample(rate, in_flight);
        self.take(&sample, Phase::Open);
    }

    /// The acknowledgement of a round trip, in that phase of recovery.
    fn take(&mut self, sample: &RateSample, phase: Phase) {
        self.sender.now += RTT;
        self.control.on_ack(
            &mut self.sender.cx(),
            &incastle_congestion::AckSample {
                phase,
                ..ack(sample.newly_acked.count(), Echo::Clear)
            },
        );
        self.control.on_rate(&mut self.sender.cx(), sample);
    }

    /// A segment is lost that left when there was `tx_in_flight`; `lost` so far since.
    fn lose(&mut self, seq: u64, tx_in_flight: u64, lost: u64) {
        let lost = LostPacket {
            seq,
            size: Bytes::new(MSS),
            tx_in_flight: Bytes::new(tx_in_flight),
            lost: Bytes::new(lost),
            total_delivered: self.delivered,
            in_flight: Bytes::new(BDP),
            is_app_limited: false,
        };
        self.control.on_lost(&mut self.sender.cx(), &lost);
    }

    /// The pacing rate as a percentage of the bandwidth, without the margin.
    fn gain(&self) -> f64 {
        let rate = self.control.pacing().expect("it paces");
        (rate.bits_per_second() as f64 / BW as f64 / 0.99 * 100.0).round()
    }

    /// Rounds at the bandwidth until the gain is this one.
    fn until(&mut self, gain: f64) {
        for _ in 0..400 {
            if (self.gain() - gain).abs() < 0.5 {
                return;
            }
            self.round(BW, BDP);
        }
        panic!("the gain stays at {}", self.gain());
    }
}

/// Section 5.6.2: 2.77 x 10,000 bytes in 10 ms are 22.16 Mbit/s.
#[test]
fn the_first_rate_is_the_initial_window_per_round_trip() {
    let path = Path::new();
    let first = Some(Rate::from_bits_per_second(22_160_000));
    assert_eq!(path.control.pacing(), first);
    assert_eq!(cwnd(&path.control), 10 * MSS);
}

#[test]
fn startup_paces_at_277_percent_until_the_rate_has_not_grown_for_three_rounds() {
    let mut path = Path::new();
    path.round(BW / 2, BDP);
    assert!((path.gain() - 139.0).abs() < 0.5, "2.77 of one half");
    path.round(BW, BDP);
    // The first round with the rate is the baseline; two more without growth leave it in Startup.
    for _ in 0..2 {
        assert!((path.gain() - 277.0).abs() < 1.5, "{}", path.gain());
        path.round(BW, 2 * BDP);
    }
    path.round(BW, 2 * BDP);
    assert!((path.gain() - 50.0).abs() < 1.0, "Drain: {}", path.gain());
    // At most the bandwidth-delay product in flight: Down has nothing to drain, and Cruise follows at once.
    path.round(BW, BDP);
    assert!((path.gain() - 100.0).abs() < 1.0, "Cruise: {}", path.gain());
}

#[test]
fn drain_ends_after_three_rounds_with_too_much_in_flight() {
    let mut path = Path::new();
    for _ in 0..4 {
        path.round(BW, 2 * BDP);
    }
    for _ in 0..3 {
        assert!((path.gain() - 50.0).abs() < 1.0, "{}", path.gain());
        path.round(BW, 2 * BDP);
    }
    path.round(BW, 2 * BDP);
    assert!((path.gain() - 90.0).abs() < 1.0, "{}", path.gain());
}

/// Twice the bandwidth-delay product, with the quantum of two segments below it.
#[test]
fn the_window_is_twice_the_product_and_more_in_up() {
    let mut path = Path::probing_bw();
    // The first samples arrive as one aggregate each: extra_acked is the product.
    let cruise = cwnd(&path.control);
    assert!((2 * BDP..=3 * BDP).contains(&cruise), "{cruise}");
    path.until(125.0);
    path.round(BW, BDP);
    // 2.25 of it, and two segments.
    let up = cwnd(&path.control);
    assert_eq!(up, cruise + BDP / 4 + 2 * MSS);
}

/// min(100 segments, 63) rounds, of which the draw (1/2 of 2) has counted one.
#[test]
fn the_next_probe_comes_after_63_rounds() {
    let mut path = Path::probing_bw();
    let mut rounds = 0;
    while path.gain() < 110.0 {
        path.round(BW, BDP);
        rounds += 1;
    }
    // One of them is Refill's.
    assert_eq!(rounds, 63);
}

/// Section 5.5.10.3: 0.7 of the bandwidth unless the round delivered more.
#[test]
fn a_loss_in_cruise_bounds_the_rate_by_what_the_round_delivered() {
    let mut path = Path::probing_bw();
    path.until(100.0);
    path.lose(0, BDP, MSS);
    path.round(BW / 2, BDP);
    path.round(BW / 2, BDP);
    // The first round has delivered the full rate as well, its maximum counts; the second round has no loss.
    let after_one = path.gain();
    path.lose(MSS, BDP, MSS);
    path.round(BW / 2, BDP);
    path.round(BW / 2, BDP);
    assert!(path.gain() <= after_one && path.gain() >= 49.0);
    for number in 2..6 {
        path.lose(number * 2 * MSS, BDP, MSS);
        path.round(BW / 2, BDP);
    }
    assert!((path.gain() - 50.0).abs() < 1.0, "{}", path.gain());
    // Refill forgets the bound, and Up probes from the maximum of the cycles.
    path.until(125.0);
}

/// 3 of 100 segments: above 2 % in Up the bound is set, and Down follows at once.
#[test]
fn losses_in_up_set_the_bound_and_end_the_probe() {
    let mut path = Path::probing_bw();
    path.until(125.0);
    for (number, lost) in [(0, 1), (2, 2)] {
        path.lose(number * MSS, 2 * BDP, lost * MSS);
    }
    path.round(BW, BDP);
    assert!((path.gain() - 125.0).abs() < 1.0, "1 % of 200 are allowed");
    path.lose(4 * MSS, 2 * BDP, 6 * MSS);
    let mut sample = path.sample(BW, 2 * BDP);
    sample.tx_in_flight = Bytes::new(BDP);
    path.take(&sample, Phase::Open);
    assert!((path.gain() - 90.0).abs() < 1.0, "{}", path.gain());
    // In flight before the segment 199,000, of which 2 % are 3,980; 5,000 were lost: 1,020 / 0.98 less.
    assert_eq!(cwnd(&path.control), 199_000 - 1_040);
    // In Cruise 15 % of it stay free.
    path.round(BW, BDP);
    path.round(BW, BDP);
    assert_eq!(cwnd(&path.control), 197_960 - 197_960 * 15 / 100);
}

/// Section 5.3.1.3: six ranges in a round of recovery, and more than 2 % lost.
#[test]
fn startup_ends_by_losses_in_six_ranges() {
    for (ranges, ends) in [(5, false), (6, true)] {
        let mut path = Path::new();
        path.round(BW / 2, BDP);
        path.round(BW, BDP);
        for number in 0..ranges {
            path.lose(number * 2 * MSS, BDP, (number + 1) * MSS);
        }
        let mut sample = path.sample(BW, BDP);
        sample.lost = Bytes::new(6 * MSS);
        path.take(&sample, Phase::Recovery);
        let startup = (path.gain() - 277.0).abs() < 1.5;
        assert_eq!(startup, !ends, "{ranges}: {}", path.gain());
    }
}

#[test]
fn a_timeout_leaves_one_segment_and_the_end_of_recovery_the_window() {
    let mut path = Path::probing_bw();
    path.until(100.0);
    let before = cwnd(&path.control);
    let event = CongestionEvent::Timeout { backoff: 0 };
    path.control.on_congestion(&mut path.sender.cx(), event);
    assert_eq!(cwnd(&path.control), MSS);
    // 100 KB are still in flight when the loss is marked.
    path.lose(0, BDP, MSS);
    assert_eq!(cwnd(&path.control), BDP + MSS);
    let sample = path.sample(BW, BDP);
    path.take(&sample, Phase::Open);
    assert!(cwnd(&path.control) >= before.min(2 * BDP));
}

#[test]
fn a_needless_recovery_returns_to_startup() {
    let mut path = Path::new();
    path.round(BW / 2, BDP);
    path.round(BW, BDP);
    for number in 0..6 {
        path.lose(number * 2 * MSS, BDP, (number + 1) * MSS);
    }
    let mut sample = path.sample(BW, BDP);
    sample.lost = Bytes::new(6 * MSS);
    path.take(&sample, Phase::Recovery);
    path.control.restore(&path.control.state());
    path.round(BW, BDP);
    assert!((path.gain() - 277.0).abs() < 1.5, "{}", path.gain());
}

/// Section 5.3.4: half of the product for 200 ms, every five seconds.
#[test]
fn the_round_trip_is_probed_with_half_of_the_product() {
    let mut path = Path::probing_bw();
    // 20 ms more each, so that the minimum is old after five seconds: 500 rounds of 10 ms.
    let rtt = RTT * 2;
    let mut low = 0;
    for _ in 0..530 {
        let in_flight = if low > 0 { BDP / 2 } else { BDP };
        let mut sample = path.sample(BW, in_flight);
        sample.rtt = Some(rtt);
        path.take(&sample, Phase::Open);
        if cwnd(&path.control) <= BDP / 2 {
            low += 1;
        }
    }
    // The round that enters, one that finds little in flight, 20 of 10 ms and the one after.
    assert!((20..=24).contains(&low), "{low}");
    assert!(cwnd(&path.control) > BDP);
}
