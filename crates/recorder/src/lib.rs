//! The probe that keeps the data of result tables.
//!
//! Always: the time-weighted histogram of each observed queue within the measured interval. On request:
//! - bytes received by each host per bin of time, and delivered per flow and interval;
//! - samples of queues and memories;
//! - the congestion control of watched flows, on every change;
//! - the rates of reaction points and the samples of congestion points;
//! - every timeout, with the losses and silences that could explain it;
//! - every event of recorded flows, and the packets of captured ports.

mod events;
mod histogram;
mod join;
mod record;
mod series;

use incastle_congestion::{ControlState, RateState, TransmissionMode};
use incastle_queueing::Sample;
use incastle_transport::tcp::TimeoutReport;
use incastle_units::{Bytes, Span, Time};

pub use events::{
    CongestionSample, Loss, ModeSample, QueueSample, RateSample, Sent, Silence, Timeout,
    WindowSample,
};
pub use histogram::{QueueBin, QueueHistogram};
pub use record::{EventKind, EventRecord, RecordedEvent, RecordedPacket};
pub use series::{Bin, BinBytes, Series};

use histogram::QueueHistograms;

use incastle_engine::core::{EndpointIndex, FlowIndex, HostIndex, PortIndex, Side};
use incastle_engine::layout::{PrefetchHints, QueuePart};
use incastle_engine::probe::{Boundary, Lost, MemorySample, Probe, SentPacket, TraceEvent};

/// The default width of the bins of bytes per host.
pub const HOST_BIN: Span = Span::from_ms(1);

/// The data to keep.
#[derive(Debug, Clone, Copy)]
pub struct Measurements {
    /// The width of the bins of bytes per host; absent to keep none.
    pub host_bin: Option<Span>,
    /// The width of the bins of bytes per flow; absent to keep none.
    pub flow_bin: Option<Span>,
    /// The minimum time between two samples of a watched flow's congestion control; zero keeps every change.
    pub window_every: Span,
    /// The interval of the rates of watched DCUDP flows, whose modes are kept with them; absent to keep none.
    pub dcudp_every: Option<Span>,
    /// Whether to keep the rates of reaction points.
    pub rates: bool,
    /// Whether to keep the samples of congestion points.
    pub samples: bool,
    /// Whether to keep timeouts, and the losses that could explain them.
    pub timeouts: bool,
    /// The minimum duration of a silence; absent to keep none.
    pub silence: Option<Span>,
    /// The maximum number of events of recorded flows that are kept.
    pub events: usize,
    /// The interval in which the packets of captured ports are kept.
    pub capture: Interval,
}

/// An interval of time, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Its beginning.
    pub from: Time,
    /// Its end.
    pub until: Time,
}

impl Interval {
    /// All time.
    pub const ALL: Self = Self {
        from: Time::ZERO,
        until: Time::NEVER,
    };

    fn contains(self, at: Time) -> bool {
        self.from <= at && at < self.until
    }
}

impl Default for Measurements {
    fn default() -> Self {
        Self {
            host_bin: Some(HOST_BIN),
            flow_bin: None,
            window_every: Span::ZERO,
            dcudp_every: None,
            rates: false,
            samples: false,
            timeouts: false,
            silence: None,
            events: 0,
            capture: Interval::ALL,
        }
    }
}

/// The probe.
#[derive(Debug, Default)]
pub struct Recorder {
    measurements: Measurements,
    queues: QueueHistograms,
    /// By host, on request.
    pub hosts: Vec<Series>,
    /// By flow, on request.
    pub flows: Vec<Series>,
    /// The number of bins in all of these.
    bins: u64,
    /// In order of time.
    pub queue_samples: Vec<QueueSample>,
    /// In order of time.
    pub memory_samples: Vec<MemorySample>,
    /// In order of time.
    pub windows: Vec<WindowSample>,
    /// In order of time, on request.
    pub modes: Vec<ModeSample>,
    /// The congestion control of flows with modes, in order of time, on request.
    pub dcudp_rates: Vec<WindowSample>,
    /// In order of time, on request.
    pub rates: Vec<RateSample>,
    /// In order of time, on request.
    pub samples: Vec<CongestionSample>,
    /// In order of time, on request.
    pub timeouts: Vec<Timeout>,
    /// In order of time, with `timeouts`: without pure ACKs.
    pub losses: Vec<Loss>,
    /// The events of recorded flows.
    pub record: EventRecord,
    /// In order of their ends, where they are measured.
    pub silences: Vec<Silence>,
    /// Of captured ports, in the order of their reports.
    pub sent: Vec<Sent>,
    /// By host, where silences are measured: the last arrival.
    last_arrival: Vec<Time>,
    /// By flow: the place of its last sample in `windows`.
    last_window: Vec<Option<usize>>,
    /// By flow with modes.
    last_mode: Vec<Option<LastMode>>,
    /// Whether the measured interval has ended; histograms do not change then.
    closed: bool,
}

/// The last mode of a flow.
#[derive(Debug, Clone, Copy)]
struct LastMode {
    mode: TransmissionMode,
    /// The instant at which its rates were last kept.
    kept: Time,
}

impl Recorder {
    /// A recorder for a network with these numbers of ports and hosts.
    pub fn new(measurements: Measurements, ports: usize, hosts: usize) -> Self {
        Self {
            measurements,
            queues: QueueHistograms::new(ports),
            hosts: vec![Series::default(); measurements.host_bin.map_or(0, |_| hosts)],
            record: EventRecord::new(measurements.events),
            last_arrival: vec![
                Time::ZERO;
                if measurements.silence.is_some() {
                    hosts
                } else {
                    0
                }
            ],
            ..Self::default()
        }
    }

    /// The histogram of a port's queue; always zero for ports that are not observed.
    pub fn queue(&self, port: PortIndex) -> QueueHistogram<'_> {
        self.queues.of(port.index())
    }

    /// The number of bins of bytes per host and per flow so far.
    pub fn bins(&self) -> u64 {
        self.bins
    }

    /// Enters the silences at the end of the run.
    pub fn end_silences(&mut self, at: Time) {
        for host in (0..self.last_arrival.len()).map(HostIndex::from_index) {
            self.end_silence(host, at);
        }
    }

    /// Keeps the mode of a DCUDP flow where it changes, and its rates every `every`.
    fn follow_mode(&mut self, sample: &WindowSample, mode: TransmissionMode, every: Span) {
        let WindowSample { at, flow, .. } = *sample;
        let last = grown(&mut self.last_mode, flow.index());
        let changed = last.is_none_or(|last| last.mode != mode);
        let due = last.is_none_or(|last| at - last.kept >= every);
        if changed {
            self.modes.push(ModeSample { at, flow, mode });
        }
        if changed || due {
            *last = Some(LastMode { mode, kept: at });
            self.dcudp_rates.push(*sample);
        }
    }

    /// A packet reached a host: the time before it may have been a silence.
    fn end_silence(&mut self, host: HostIndex, at: Time) {
        let from = std::mem::replace(&mut self.last_arrival[host.index()], at);
        if self
            .measurements
            .silence
            .is_some_and(|least| at - from >= least)
        {
            self.silences.push(Silence { host, from, to: at });
        }
    }
}

fn grown<T: Clone + Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if index >= list.len() {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}

impl PrefetchHints for Recorder {
    #[inline(always)]
    fn prefetch_queue(&self, port: PortIndex, part: QueuePart) {
        match part {
            QueuePart::Head => self.queues.prefetch(port.index()),
            QueuePart::Bin => self.queues.prefetch_bin(port.index()),
        }
    }

    #[inline(always)]
    fn prefetch_host(&self, host: HostIndex) {
        incastle_memory::prefetch::element(&self.hosts, host.index());
    }
}

impl Probe for Recorder {
    #[inline]
    fn queue_changed(&mut self, port: PortIndex, at: Time, waiting_packets: u32) {
        if !self.closed {
            self.queues.change(port.index(), at, waiting_packets);
        }
    }

    #[inline]
    fn received(&mut self, host: HostIndex, at: Time, ip_bytes: Bytes, payload: Bytes) {
        if self.measurements.silence.is_some() {
            self.end_silence(host, at);
        }
        let Some(series) = self.hosts.get_mut(host.index()) else {
            return;
        };
        // Hosts that receive only acknowledgements keep no series.
        if payload == Bytes::ZERO && series.is_empty() {
            return;
        }
        let width = self.measurements.host_bin;
        series.bin(at, width, &mut self.bins).ip += ip_bytes.count();
    }

    #[inline]
    fn delivered(&mut self, flow: FlowIndex, host: HostIndex, at: Time, bytes: Bytes) {
        let Measurements {
            host_bin, flow_bin, ..
        } = self.measurements;
        if let Some(series) = self.hosts.get_mut(host.index()) {
            series.bin(at, host_bin, &mut self.bins).delivered += bytes.count();
        }
        if flow_bin.is_some() {
            grown(&mut self.flows, flow.index())
                .bin(at, flow_bin, &mut self.bins)
                .delivered += bytes.count();
        }
    }

    fn control(&mut self, flow: FlowIndex, at: Time, state: &ControlState, rtt: Option<Span>) {
        let sample = WindowSample {
            at,
            flow,
            state: *state,
            rtt,
        };
        if let (Some(every), Some(mode)) = (self.measurements.dcudp_every, state.mode) {
            self.follow_mode(&sample, mode, every);
        }
        let every = self.measurements.window_every;
        let last = grown(&mut self.last_window, flow.index());
        if let Some(place) = *last {
            let before = &self.windows[place];
            let soon = at - before.at < every;
            if soon || (before.state == *state && before.rtt == rtt) {
                return;
            }
        }
        *last = Some(self.windows.len());
        self.windows.push(sample);
    }

    fn sampled(&mut self, port: PortIndex, at: Time, packets: u32, bytes: Bytes) {
        self.queue_samples.push(QueueSample {
            at,
            port,
            packets,
            bytes,
        });
    }

    fn memory_sampled(&mut self, sample: &MemorySample) {
        self.memory_samples.push(*sample);
    }

    fn rate_changed(&mut self, flow: FlowIndex, side: Side, at: Time, state: &RateState) {
        self.record.limited(flow.endpoint(side), at, state.current);
        if self.measurements.rates {
            self.rates.push(RateSample {
                at,
                flow,
                side,
                state: *state,
            });
        }
    }

    fn congestion_sampled(
        &mut self,
        port: PortIndex,
        at: Time,
        flow: FlowIndex,
        sample: &Sample,
        queue: Bytes,
    ) {
        if self.measurements.samples {
            self.samples.push(CongestionSample {
                at,
                port,
                flow,
                sample: *sample,
                queue,
            });
        }
    }

    fn timed_out(&mut self, flow: FlowIndex, side: Side, at: Time, report: &TimeoutReport) {
        self.record.timed_out(flow.endpoint(side), at, report);
        if self.measurements.timeouts {
            self.timeouts.push(Timeout {
                at,
                flow,
                side,
                report: *report,
            });
        }
    }

    fn dropped(&mut self, port: PortIndex, at: Time, lost: &Lost) {
        if self.measurements.timeouts && lost.octets > 0 {
            let lost = *lost;
            self.losses.push(Loss { at, port, lost });
        }
    }

    fn traced(&mut self, endpoint: EndpointIndex, at: Time, event: &TraceEvent<'_>) {
        self.record.traced(endpoint, at, event);
    }

    fn sent(&mut self, port: PortIndex, at: Time, packet: SentPacket) {
        if self.measurements.capture.contains(at) {
            self.sent.push(Sent { at, port, packet });
        }
    }

    fn measuring(&mut self, at: Time, boundary: Boundary) {
        match boundary {
            Boundary::Begin => self.queues.restart(at),
            Boundary::End => self.queues.settle_all(at),
        }
        self.closed = boundary == Boundary::End;
    }
}
