//! DCTCP's sawtooth: the fluid theory of a case, and the result of a whole network.
//!
//! Theory: Alizadeh et al. 2010, section 3.3, with the exact equation for alpha. The case is a star of
//! N senders, 1500 B packets, one ACK per packet, buffers that never fill.

use incastle_engine::Simulation;
use incastle_engine::core::{FlowIndex, PortIndex};
use incastle_queueing::PortBuffer;
use incastle_recorder::{Measurements, QueueSample, Recorder};
use incastle_transport::tcp;
use incastle_units::{Amount, Bytes, Rate, Span, Time};

use super::{Algo, Bulk, ENDLESS, Star, marking_threshold};

/// A star of DCTCP senders.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) gbits: u64,
    pub(crate) k: u64,
    pub(crate) flows: usize,
    /// The round-trip time of the path without transmission times.
    pub(crate) rtt: Span,
    pub(crate) algo: Algo,
    pub(crate) delayed_ack_count: u32,
    pub(crate) ce_change: tcp::CeChange,
    /// Absent: the time to send a packet.
    pub(crate) jitter: Option<Span>,
    pub(crate) seed: u64,
    /// Over how long the starts are spread.
    pub(crate) spread: Span,
}

impl Case {
    /// 100 us, flows that start together, a jitter of one packet time.
    pub(crate) fn new(gbits: u64, k: u64, flows: usize) -> Self {
        Self {
            gbits,
            k,
            flows,
            rtt: Span::from_us(100),
            algo: Algo::DCTCP,
            delayed_ack_count: 1,
            ce_change: tcp::CeChange::Linux,
            jitter: None,
            seed: 1,
            spread: Span::ZERO,
        }
    }

    /// The time to send a packet.
    fn service(self) -> Span {
        Span::from_ns(12_000 / self.gbits)
    }

    fn star(self) -> Star {
        Star {
            senders: self.flows,
            rate: Rate::from_bits_per_second(self.gbits * 1_000_000_000),
            delay: Span::from_ps(self.rtt.as_ps() / 4),
            buffer: PortBuffer::Limited(Amount::Bytes(Bytes::new(4_000_000))),
            queue: marking_threshold(self.k),
            // Without it, flows that start at one instant stay locked in phase for ever.
            jitter: self.jitter.unwrap_or(self.service()),
            seed: self.seed,
            ..Star::default()
        }
    }

    fn flow(self, from: usize) -> Bulk {
        let share = self.spread.as_ps() / self.flows as u64;
        let start = Time::from_ps(share * from as u64);
        let mut bulk = Bulk::new((from, self.flows), start, ENDLESS, self.algo);
        bulk.config.delayed_ack_count = self.delayed_ack_count;
        bulk.config.ecn = tcp::EcnMode::Dctcp(self.ce_change);
        bulk.watched = true;
        bulk
    }
}

/// The theory's values, in packets and seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Theory {
    pub(crate) w: f64,
    pub(crate) alpha: f64,
    pub(crate) q_max: f64,
    pub(crate) q_min: f64,
    pub(crate) amplitude: f64,
    /// In round trips.
    pub(crate) period: f64,
    /// Without queue, in seconds.
    pub(crate) rtt: f64,
    /// The transmission time of one packet, in seconds.
    pub(crate) service: f64,
}

impl Theory {
    pub(crate) fn of(case: Case) -> Self {
        let service = case.service().as_secs_lossy();
        // Data and ACK are serialised twice.
        let rtt = case.rtt.as_secs_lossy() + 2.0 * service * (1_540.0 / 1_500.0);
        let flows = case.flows as f64;
        let w = (rtt / service + case.k as f64) / flows;
        let alpha = alpha_of(w);
        let period = (w + 1.0) * alpha / 2.0;
        let q_max = case.k as f64 + flows;
        let amplitude = flows * period;
        Self {
            w,
            alpha,
            q_max,
            q_min: q_max - amplitude,
            amplitude,
            period,
            rtt,
            service,
        }
    }
}

/// The root in [0, 1] of alpha^2 (1 - alpha/4) = (2 w + 1) / (w + 1)^2, by bisection: the left side
/// grows there.
pub(crate) fn alpha_of(w: f64) -> f64 {
    let right = (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0));
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if middle * middle * (1.0 - middle / 4.0) < right {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The results of the second half of 200 ms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    /// Mean of the teeth's peaks: the Q_max of the theory, where all teeth are alike.
    pub(crate) peak: f64,
    /// The longest queue of all, exact.
    pub(crate) longest: f64,
    pub(crate) q_min: f64,
    pub(crate) q_mean: f64,
    pub(crate) amplitude: f64,
    /// In round trips with the mean queue in them.
    pub(crate) period: f64,
    pub(crate) alpha: f64,
    /// Reactions to marks per flow and period.
    pub(crate) cuts: f64,
    /// The utilisation of the bottleneck.
    pub(crate) utilisation: f64,
    /// Mean queue of the first 2 ms.
    pub(crate) q_start: f64,
}

/// Runs a case.
pub(crate) fn measure(case: Case) -> Measured {
    let network = case.star().build();
    let measurements = Measurements {
        window_every: Span::from_us(50),
        ..Measurements::default()
    };
    let recorder = Recorder::new(measurements, network.ports().count(), network.host_count());
    let mut simulation = Simulation::new(network, recorder);
    for from in 0..case.flows {
        simulation.add_application(Box::new(case.flow(from)));
    }
    let port = PortIndex::from_index(2 * case.flows + 1);
    let (half, end) = (
        Time::ZERO + Span::from_ms(100),
        Time::ZERO + Span::from_ms(200),
    );
    simulation.sample_queues(vec![port], Span::from_us(2));
    simulation.measure_between(half, end);
    simulation
        .run(half - Span::from_ps(1), u64::MAX)
        .expect("no loop");
    let before = counters(&simulation, port);
    simulation.run(end, u64::MAX).expect("no loop");
    let after = counters(&simulation, port);
    assert_eq!(simulation.totals().drops, 0, "4 MB hold every queue");
    simulation.check_conservation();
    let probe = simulation.probe();
    let (early, late) = probe.queue_samples.split_at(probe.queue_samples.len() / 2);
    let theory = Theory::of(case);
    let q_mean = mean(packets(late));
    let teeth = Teeth::of(late, 0.4 * theory.amplitude);
    let bits = (after.0 - before.0) as f64 * 8.0;
    Measured {
        peak: teeth.peak,
        longest: f64::from(probe.queue(port).longest()),
        q_min: packets(late).fold(f64::INFINITY, f64::min),
        q_mean,
        amplitude: teeth.amplitude,
        period: teeth.period / (theory.rtt + q_mean * theory.service),
        alpha: mean_alpha(probe, half),
        cuts: (after.1 - before.1) as f64 / case.flows as f64 * teeth.period / 0.1,
        utilisation: bits / (0.1 * case.gbits as f64 * 1e9),
        q_start: mean(packets(&early[..1000])),
    }
}

fn packets(samples: &[QueueSample]) -> impl Iterator<Item = f64> {
    samples.iter().map(|sample| f64::from(sample.packets))
}

/// The mean alpha from `half` on; where none changed any more, that at which they all stand.
fn mean_alpha(probe: &Recorder, half: Time) -> f64 {
    let windows = &probe.windows;
    let from = windows.partition_point(|sample| sample.at < half);
    let late = &windows[from.min(windows.len() - 1)..];
    mean(late.iter().filter_map(|sample| sample.state.alpha))
}

/// Bytes that the bottleneck has taken, and reactions to marks.
fn counters(simulation: &Simulation<Recorder>, port: PortIndex) -> (u64, u64) {
    let flows = (0..simulation.flow_count()).map(FlowIndex::from_index);
    let cuts = flows.map(|flow| simulation.flow(flow).initiator.tcp.ecn_reductions);
    (
        simulation.network().counters(port).accepted_bytes,
        cuts.sum(),
    )
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0_u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / count as f64
}

/// The teeth of a queue's course.
pub(crate) struct Teeth {
    /// Mean height of the peaks, in packets.
    pub(crate) peak: f64,
    /// Mean height from a peak to the trough after it, in packets.
    pub(crate) amplitude: f64,
    /// Mean time from peak to peak, in seconds.
    pub(crate) period: f64,
}

impl Teeth {
    /// Finds peaks and troughs by a zigzag. A peak is the highest sample before the queue has fallen
    /// by `hysteresis`, a trough the lowest before it has risen by as much.
    pub(crate) fn of(samples: &[QueueSample], hysteresis: f64) -> Self {
        let (mut peaks, mut troughs) = (Vec::new(), Vec::new());
        let mut rising = true;
        let mut turn = samples[0];
        let value = |sample: &QueueSample| f64::from(sample.packets);
        for sample in samples {
            // Positive: beyond the extreme so far; negative: on the way back from it.
            let ahead = (value(sample) - value(&turn)) * if rising { 1.0 } else { -1.0 };
            if ahead > 0.0 {
                turn = *sample;
            } else if ahead < -hysteresis {
                if rising {
                    peaks.push(turn);
                } else {
                    troughs.push(turn);
                }
                rising = !rising;
                turn = *sample;
            }
        }
        let (Some(first), Some(last)) = (peaks.first(), peaks.last()) else {
            return Self {
                peak: mean(packets(samples)),
                amplitude: 0.0,
                period: f64::INFINITY,
            };
        };
        let heights = peaks
            .iter()
            .zip(&troughs)
            .map(|(peak, trough)| value(peak) - value(trough));
        Self {
            peak: mean(peaks.iter().map(value)),
            amplitude: mean(heights),
            period: (last.at - first.at).as_secs_lossy() / (peaks.len() - 1) as f64,
        }
    }
}
