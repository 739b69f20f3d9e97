//! DCTCP in a whole network against the fluid theory of Alizadeh et al. 2010, section 3.3.
//!
//! N synchronised flows on a star. W* = (C RTT + K) / N packets; alpha solves
//! alpha^2 (1 - alpha/4) = (2 W* + 1) / (W* + 1)^2; then Q_max = K + N, the amplitude of the queue's
//! oscillation is A = N (W* + 1) alpha / 2, and its period (W* + 1) alpha / 2 round trips with the
//! queue in them. The fluid theory has neither whole packets nor the round trip that is lost because
//! ACKs with ECE do not grow the window, hence the tolerances.

mod common;

use common::{Algo, Bulk, ENDLESS, Star};
use incastle_engine::{Measurements, PortIndex, QueueSample, Recorder, Simulation};
use incastle_queueing::{Marker, PortBuffer, Threshold, ThresholdConfig};
use incastle_units::{Amount, Bytes, Packets, Rate, Span, Time};

/// One row of the table.
#[derive(Debug, Clone, Copy)]
struct Case {
    gbits: u64,
    marker: fn() -> Marker,
    k: f64,
    flows: usize,
}

fn mark_above(packets: u64) -> Marker {
    let threshold = Amount::Packets(Packets::new(packets));
    Marker::Threshold(Threshold::new(ThresholdConfig::new(threshold)))
}

/// What theory says, in packets and seconds.
#[derive(Debug)]
struct Theory {
    q_max: f64,
    amplitude: f64,
    /// In round trips.
    period: f64,
    /// Without queue, in seconds.
    rtt: f64,
    /// Of one packet, in seconds.
    service: f64,
}

impl Theory {
    fn of(case: Case) -> Self {
        let bits = case.gbits as f64 * 1e9;
        let service = 1500.0 * 8.0 / bits;
        // Two links of 25 us each way; data and ACK are serialised twice.
        let rtt = 100e-6 + 2.0 * service + 2.0 * 40.0 * 8.0 / bits;
        let flows = case.flows as f64;
        let w = (rtt / service + case.k) / flows;
        let alpha = alpha_of(w);
        let half = (w + 1.0) * alpha / 2.0;
        Self { q_max: case.k + flows, amplitude: flows * half, period: half, rtt, service }
    }
}

/// The root in [0, 1] of alpha^2 (1 - alpha/4) = (2 w + 1) / (w + 1)^2, by bisection: the left side
/// grows there.
fn alpha_of(w: f64) -> f64 {
    let right = (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0));
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if middle * middle * (1.0 - middle / 4.0) < right {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[test]
fn alpha_tends_to_its_short_form() {
    // sqrt(2 / W*) for large W*.
    for w in [100.0_f64, 1_000.0, 10_000.0] {
        let short = (2.0 / w).sqrt();
        assert!((alpha_of(w) / short - 1.0).abs() < 0.1, "{w}");
    }
}

/// The queue of the bottleneck, sampled every 2 us over the second half of 200 ms.
fn queue(case: Case) -> Vec<QueueSample> {
    let star = Star {
        senders: case.flows,
        rate: Rate::from_bits_per_second(case.gbits * 1_000_000_000),
        buffer: PortBuffer::Limited(Amount::Bytes(Bytes::new(4_000_000))),
        marker: case.marker,
        ..Star::default()
    };
    let network = star.build();
    let recorder =
        Recorder::new(Measurements::default(), network.ports().count(), network.host_count());
    let mut simulation = Simulation::new(network, recorder);
    for from in 0..case.flows {
        let bulk = Bulk::new((from, case.flows), Time::ZERO, ENDLESS, Algo::Dctcp);
        simulation.add_application(Box::new(bulk));
    }
    let port = PortIndex::from_index(2 * case.flows + 1);
    simulation.sample_queues(vec![port], Span::from_us(2));
    simulation.run(Time::ZERO + Span::from_ms(200), u64::MAX).expect("no loop");
    assert_eq!(simulation.totals().drops, 0, "4 MB hold every queue of the theory");
    simulation.check_conservation();
    let half = Time::ZERO + Span::from_ms(100);
    let samples = simulation.probe().queue_samples.iter();
    samples.filter(|sample| sample.at >= half).copied().collect()
}

/// Peaks and troughs, in packets, and the time from the first peak to the last, in seconds.
struct Cycles {
    peaks: Vec<f64>,
    troughs: Vec<f64>,
    peak_to_peak: f64,
}

/// Cuts the samples into cycles where the queue rises through the middle of its range, having been
/// in its lower quarter before.
fn cycles(samples: &[QueueSample]) -> Cycles {
    let packets = || samples.iter().map(|sample| sample.packets);
    let (low, high) = (packets().min().unwrap_or(0), packets().max().unwrap_or(0));
    let (quarter, middle) = (low + (high - low) / 4, low + (high - low) / 2);
    let mut armed = false;
    let mut starts = Vec::new();
    for (index, sample) in samples.iter().enumerate() {
        armed |= sample.packets <= quarter;
        if armed && sample.packets > middle {
            armed = false;
            starts.push(index);
        }
    }
    let whole: Vec<&[QueueSample]> =
        starts.windows(2).map(|ends| &samples[ends[0]..ends[1]]).collect();
    let extreme = |pick: fn(&[QueueSample]) -> Option<u32>| -> Vec<f64> {
        whole.iter().filter_map(|cycle| pick(cycle)).map(f64::from).collect()
    };
    let first_to_last = match (starts.first(), starts.last()) {
        (Some(&first), Some(&last)) => samples[last].at - samples[first].at,
        _ => Span::ZERO,
    };
    Cycles {
        peaks: extreme(|cycle| cycle.iter().map(|sample| sample.packets).max()),
        troughs: extreme(|cycle| cycle.iter().map(|sample| sample.packets).min()),
        peak_to_peak: first_to_last.as_secs_lossy(),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn check(case: Case) -> String {
    let theory = Theory::of(case);
    let samples = queue(case);
    let cycles = cycles(&samples);
    let highest = samples.iter().map(|sample| sample.packets).max().map_or(0.0, f64::from);
    let amplitude = mean(&cycles.peaks) - mean(&cycles.troughs);
    let queue = mean(&samples.iter().map(|sample| f64::from(sample.packets)).collect::<Vec<_>>());
    let rtt = theory.rtt + queue * theory.service;
    let period = cycles.peak_to_peak / cycles.peaks.len() as f64 / rtt;
    format!(
        "{:>2} Gbit/s  K {:>2}  N {:>2} | Q_max {highest:>3} (theory {:>3}) | A {amplitude:5.1} ({:.2} of \
         {:5.1}) | period {period:4.1} RTT ({:.2} of {:4.1}) | {}",
        case.gbits,
        case.k,
        case.flows,
        theory.q_max,
        amplitude / theory.amplitude,
        theory.amplitude,
        period / theory.period,
        theory.period,
        verdict(&theory, highest, amplitude, period),
    )
}

fn verdict(theory: &Theory, highest: f64, amplitude: f64, period: f64) -> &'static str {
    let within = |value: f64, low: f64, high: f64| (low..=high).contains(&value);
    let q_max = within(highest - theory.q_max, -2.0, 2.0);
    let swing = within(amplitude / theory.amplitude, 0.65, 1.1);
    let pace = within(period / theory.period, 0.85, 1.35);
    if q_max && swing && pace { "agrees" } else { "DIFFERS" }
}

#[test]
fn the_queue_swings_as_theory_says() {
    let mut cases = vec![Case { gbits: 1, marker: || mark_above(20), k: 20.0, flows: 2 }];
    for flows in [2, 5, 10] {
        cases.push(Case { gbits: 10, marker: || mark_above(40), k: 40.0, flows });
        cases.push(Case { gbits: 10, marker: || mark_above(65), k: 65.0, flows });
    }
    let rows: Vec<String> = cases.into_iter().map(check).collect();
    let table = rows.join("\n");
    assert!(!table.contains("DIFFERS"), "\n{table}");
}
