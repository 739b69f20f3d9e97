//! DT-CWA in whole networks: long flows over a port with two thresholds. The link stays busy, the queue
//! swings between bounds, and each sender's window takes the steps of its equations, one episode after
//! the other.
//!
//! `cargo test -p incastle-engine --test it dt_cwa -- --nocapture` prints the table of
//! docs/models/dt-cwa.md.

#![allow(clippy::print_stdout, reason = "the table is for the documentation")]

use crate::common::{Algo, Bulk, ENDLESS, MSS, Star, marking_threshold};
use incastle_congestion::{
    AckSample, Algorithm, CongestionEvent, Context, ControlState, Controller, CwaExtremes,
    CwaReaction, Dctcp, DctcpConfig, DtCwa, DtCwaConfig, Echo, Reaction, Window,
};
use incastle_engine::Simulation;
use incastle_engine::core::{FlowIndex, PortIndex};
use incastle_queueing::{DoubleThresholdConfig, PortBuffer, QueueConfig};
use incastle_recorder::{Measurements, Recorder};
use incastle_units::{Amount, Packets, Span, Time};

/// The state at the first notification of an episode.
#[derive(Clone, Copy)]
struct Episode {
    until: u64,
    outstanding: u64,
    spread: u64,
}

/// The sender in the reading "subtract", with every step of its window checked as it is taken.
struct Checked {
    inner: DtCwa,
    config: DtCwaConfig,
    /// CW_min and CW_max.
    extremes: (u64, u64),
    episode: Option<Episode>,
    /// The current ACK: segments and bytes.
    ack: (u64, u64),
}

impl Checked {
    fn new(config: DtCwaConfig) -> Self {
        assert_eq!(config.reaction, CwaReaction::Subtract);
        let initial = config.dctcp.window.initial_window.count();
        Self {
            inner: DtCwa::new(config),
            config,
            extremes: (initial, initial),
            episode: None,
            ack: (0, 0),
        }
    }

    /// The window, never below its floor.
    fn cwnd(&self) -> u64 {
        let cwnd = self.inner.state().cwnd.expect("it has a window");
        assert!(cwnd >= self.config.dctcp.window.min_cwnd);
        cwnd.count()
    }

    /// The most that an ACK may add by slow start or congestion avoidance.
    fn growth(&self, cwnd: u64, acked: u64) -> u64 {
        match self.inner.state().ssthresh {
            Some(ssthresh) if cwnd >= ssthresh.count() => acked * MSS.count() / cwnd + 1,
            _ => acked,
        }
    }

    /// The window after equation 2, where this SND.UNA ends the episode: it is over then.
    fn lifted(&mut self, window: u64, snd_una: u64) -> u64 {
        let Some(over) = self.episode.take_if(|episode| snd_una >= episode.until) else {
            return window;
        };
        let lifted = window + (self.config.b * over.spread as f64) as u64;
        if self.config.extremes == CwaExtremes::Episode {
            self.extremes = (lifted, lifted);
        }
        lifted
    }

    fn collect(&mut self, window: u64) {
        self.extremes = (self.extremes.0.min(window), self.extremes.1.max(window));
    }
}

impl Controller for Checked {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        let before = self.cwnd();
        self.ack = (u64::from(ack.segments), ack.acked.count());
        let start = match ack.echo {
            Echo::Clear => self.lifted(before, cx.snd_una),
            // Its reaction comes first.
            Echo::Congestion => before,
        };
        let most = start + self.growth(start, ack.acked.count());
        self.inner.on_ack(cx, ack);
        let after = self.cwnd();
        assert!((start..=most).contains(&after), "growth and no more");
        self.collect(after);
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        assert_eq!(event, CongestionEvent::Ecn, "nothing is lost here");
        let before = self.cwnd();
        let reaction = self.inner.on_congestion(cx, event);
        if reaction == Reaction::Reduced {
            assert!(self.episode.is_none(), "CWR once per episode");
            self.episode = Some(Episode {
                until: cx.snd_nxt,
                outstanding: cx.in_flight.count() + self.ack.1,
                spread: self.extremes.1 - self.extremes.0,
            });
            if self.config.extremes == CwaExtremes::Notification {
                self.extremes = (before, before);
            }
        }
        let Some(episode) = self.episode else {
            assert_eq!(self.cwnd(), before, "no episode, no step");
            return reaction;
        };
        let step = episode.spread * self.ack.0 * MSS.count() / episode.outstanding;
        let floor = self.config.dctcp.window.min_cwnd.count();
        let stepped = before.saturating_sub(step).max(floor);
        self.collect(stepped);
        let expected = self.lifted(stepped, cx.snd_una);
        self.collect(expected);
        assert_eq!(self.cwnd(), expected, "equations 1 and 2");
        reaction
    }

    fn window(&self) -> Window {
        self.inner.window()
    }

    fn state(&self) -> ControlState {
        self.inner.state()
    }
}

/// The results of a run of long flows, in its second half.
struct Outcome {
    utilisation: f64,
    mean_queue: f64,
    deviation: f64,
    min_queue: u32,
    longest_queue: u32,
    /// The shortest window of all flows in the whole run, in segments.
    min_window: f64,
    /// Reactions per flow and millisecond, in the whole run.
    episodes: f64,
    digest: u64,
}

const LENGTH: Span = Span::from_ms(400);

/// `flows` long flows on a star of 1 Gbit/s and 100 us, as Sreekumari has it.
fn run(flows: usize, queue: QueueConfig, control: impl Fn() -> Algorithm) -> Outcome {
    let star = Star {
        senders: flows,
        queue,
        buffer: PortBuffer::Limited(Amount::Packets(Packets::new(1000))),
        jitter: Span::from_us(12),
        ..Star::default()
    };
    let network = star.build();
    let measurements = Measurements::default();
    let recorder = Recorder::new(measurements, network.ports().count(), network.host_count());
    let mut simulation = Simulation::new(network, recorder);
    for from in 0..flows {
        let mut bulk = Bulk::new((from, flows), Time::ZERO, ENDLESS, Algo::DCTCP);
        bulk.controller = Some(control());
        bulk.watched = true;
        simulation.add_application(Box::new(bulk));
    }
    let (from, to) = (
        Time::ZERO + Span::from_ps(LENGTH.as_ps() / 2),
        Time::ZERO + LENGTH,
    );
    // The port from the switch to the receiver.
    let port = PortIndex::from_index(2 * flows + 1);
    simulation.measure_between(from, to);
    simulation.sample_queues(vec![port], Span::from_us(10));
    let delivered = |simulation: &Simulation<Recorder>| -> u64 {
        let all = (0..flows).map(FlowIndex::from_index);
        all.map(|flow| simulation.flow(flow).responder.delivered)
            .sum()
    };
    simulation.run(from, u64::MAX).expect("no loop");
    let before = delivered(&simulation);
    simulation.run(to, u64::MAX).expect("no loop");
    simulation.check_conservation();
    let bytes = delivered(&simulation) - before;
    outcome(&simulation, bytes, from)
}

fn outcome(simulation: &Simulation<Recorder>, bytes: u64, from: Time) -> Outcome {
    let probe = simulation.probe();
    let late = probe
        .queue_samples
        .iter()
        .filter(|sample| sample.at >= from);
    let lengths: Vec<f64> = late.map(|sample| f64::from(sample.packets)).collect();
    let count = lengths.len() as f64;
    let mean = lengths.iter().sum::<f64>() / count;
    let variance = lengths.iter().map(|q| (q - mean) * (q - mean)).sum::<f64>() / count;
    let windows = probe.windows.iter().filter_map(|sample| sample.state.cwnd);
    let flows = simulation.flow_count();
    let reductions: u64 = (0..flows)
        .map(|flow| {
            let flow = simulation.flow(FlowIndex::from_index(flow));
            assert_eq!((flow.dropped, flow.initiator.tcp.timeouts), (0, 0));
            flow.initiator.tcp.ecn_reductions
        })
        .sum();
    Outcome {
        utilisation: bytes as f64 * 8.0 * (1500.0 / 1460.0) / 1e9 / (LENGTH.as_secs_lossy() / 2.0),
        mean_queue: mean,
        deviation: variance.sqrt(),
        min_queue: lengths.iter().copied().fold(f64::INFINITY, f64::min) as u32,
        longest_queue: lengths.iter().copied().fold(0.0, f64::max) as u32,
        min_window: windows
            .map(|cwnd| cwnd.count() as f64 / MSS.count() as f64)
            .fold(f64::INFINITY, f64::min),
        episodes: reductions as f64 / flows as f64 / (LENGTH.as_secs_lossy() * 1e3),
        digest: simulation.digest(),
    }
}

impl Outcome {
    fn print(&self, name: &str) {
        println!(
            "| {name} | {:.4} | {:.1} | {:.1} | {} | {} | {:.1} | {:.2} |",
            self.utilisation,
            self.mean_queue,
            self.deviation,
            self.min_queue,
            self.longest_queue,
            self.min_window,
            self.episodes
        );
    }
}

const READINGS: [(&str, DoubleThresholdConfig); 3] = [
    ("as-printed", DoubleThresholdConfig::AS_PRINTED),
    ("dt-dctcp", DoubleThresholdConfig::DT_DCTCP),
    ("around-k", DoubleThresholdConfig::AROUND_K),
];

const EXTREMES: [(&str, CwaExtremes); 3] = [
    ("episode", CwaExtremes::Episode),
    ("notification", CwaExtremes::Notification),
    ("loss", CwaExtremes::Loss),
];

/// The sender, its steps checked where they are subtractions.
fn dt_cwa(reaction: CwaReaction, extremes: CwaExtremes) -> Algorithm {
    let config = DtCwaConfig {
        reaction,
        extremes,
        ..DtCwaConfig::new(MSS)
    };
    match reaction {
        CwaReaction::Subtract => Algorithm::Custom(Box::new(Checked::new(config))),
        CwaReaction::Absolute | CwaReaction::Printed => Algorithm::from(DtCwa::new(config)),
    }
}

fn dctcp() -> Algorithm {
    Algorithm::Dctcp(Dctcp::new(DctcpConfig::new(MSS)))
}

/// The lowest and the highest of the two thresholds.
fn bounds(config: DoubleThresholdConfig) -> (u32, u32) {
    let packets = |amount| match amount {
        Amount::Packets(packets) => packets.count() as u32,
        Amount::Bytes(_) => unreachable!("the readings count packets"),
    };
    let (start, stop) = (packets(config.k1), packets(config.k2));
    (start.min(stop), start.max(stop))
}

#[test]
fn two_flows_keep_the_link_busy_and_the_queue_within_bounds() {
    for (reading, config) in READINGS {
        let (low, high) = bounds(config);
        let queue = QueueConfig::DoubleThreshold(config);
        for (name, extremes) in EXTREMES {
            let outcome = run(2, queue, || dt_cwa(CwaReaction::Subtract, extremes));
            outcome.print(&format!("2 | {reading} | subtract | {name}"));
            assert!(
                outcome.longest_queue <= high + 4,
                "as DCTCP's: K + N, and 2"
            );
            assert!(outcome.min_window >= 2.0);
            assert!(outcome.episodes > 0.1);
            match extremes {
                // Nothing has grown since the last episode while all is marked, so that nothing
                // is taken: the queue stands still between the thresholds.
                CwaExtremes::Episode => {
                    assert!(outcome.min_queue >= low && outcome.deviation < 1.0);
                    assert!(outcome.utilisation > 0.9999);
                }
                // A sawtooth.
                CwaExtremes::Notification => {
                    assert!(outcome.min_queue < low && outcome.deviation > 1.0);
                    assert!(outcome.utilisation > 0.9995);
                }
                // The spread of slow start is never forgotten: too deep.
                CwaExtremes::Loss => {
                    assert!(outcome.deviation > 3.0 && outcome.utilisation > 0.95);
                }
            }
        }
    }
}

#[test]
fn as_printed_the_window_falls_to_its_floor_each_time() {
    for (reading, config) in READINGS {
        let queue = QueueConfig::DoubleThreshold(config);
        let outcome = run(2, queue, || {
            dt_cwa(CwaReaction::Printed, CwaExtremes::Episode)
        });
        outcome.print(&format!("2 | {reading} | printed | episode"));
        assert!((outcome.min_window - 2.0).abs() < 1e-9);
        assert_eq!(outcome.min_queue, 0, "the queue runs empty");
        assert!((0.94..0.995).contains(&outcome.utilisation));
    }
}

#[test]
fn absolute_values_are_subtractions_as_long_as_nothing_is_lost() {
    let queue = QueueConfig::DoubleThreshold(DoubleThresholdConfig::AS_PRINTED);
    let [one, other] = [CwaReaction::Subtract, CwaReaction::Absolute]
        .map(|reaction| run(10, queue, || dt_cwa(reaction, CwaExtremes::Notification)).digest);
    assert_eq!(one, other);
}

#[test]
fn many_flows_stand_still_at_their_initial_windows() {
    // 40 windows of 10 segments less the path, whatever the thresholds: all is marked from the first
    // window on, nothing has grown, nothing is taken. DCTCP comes down to 2 segments.
    let star_path = 10.3;
    for (reading, config) in READINGS {
        let queue = QueueConfig::DoubleThreshold(config);
        for (name, extremes, windows) in [
            ("episode", CwaExtremes::Episode, Some(10.0)),
            ("notification", CwaExtremes::Notification, None),
        ] {
            let outcome = run(40, queue, || dt_cwa(CwaReaction::Subtract, extremes));
            outcome.print(&format!("40 | {reading} | subtract | {name}"));
            if let Some(windows) = windows {
                let expected = 40.0 * windows - star_path;
                assert!((outcome.mean_queue - expected).abs() < 1.5);
            }
        }
        let outcome = run(40, queue, dctcp);
        outcome.print(&format!("40 | {reading} | dctcp |"));
        assert!((outcome.mean_queue - (80.0 - star_path)).abs() < 1.5);
    }
}

#[test]
fn phase_lead_calms_the_queue_of_dctcp() {
    // Chen et al. 2013: thresholds around K, the lower one first, swing less than K alone; hysteresis
    // swings more.
    let deviation = |queue, name: &str| {
        let outcome = run(10, queue, dctcp);
        outcome.print(&format!("10 | {name} | dctcp |"));
        outcome.deviation
    };
    let double = |(name, config)| deviation(QueueConfig::DoubleThreshold(config), name);
    let [as_printed, dt_dctcp, around_k] = READINGS.map(double);
    let k20 = deviation(marking_threshold(20), "K = 20");
    let k32 = deviation(marking_threshold(32), "K = 32");
    assert!(around_k < k20, "{around_k} < {k20}");
    assert!(dt_dctcp < k32, "{dt_dctcp} < {k32}");
    assert!(as_printed > k32, "{as_printed} > {k32}");
}
