//! The probe that keeps what result tables are made of.
//!
//! Always: the time-weighted histogram of each observed queue within the measured interval, and the
//! bytes that reach each receiving host per bin of time. Where asked: queue samples, the control state of
//! watched flows on every change, and bytes delivered per flow and interval.

use incastle_congestion::ControlState;
use incastle_units::{Bytes, Span, Time};

use crate::{FlowIndex, HostIndex, PortIndex, Probe};

/// Up to this many packets each length has a bin of its own; beyond, bins double.
const SINGLE_BINS: u32 = 1024;

/// How long a queue had each length.
#[derive(Debug, Clone, Default)]
pub struct QueueHistogram {
    /// Picoseconds by bin.
    spans: Vec<u64>,
    /// Packets times picoseconds at lengths that share a bin.
    long_area: u128,
    length: u32,
    longest: u32,
    since: Time,
}

impl QueueHistogram {
    #[inline]
    fn change(&mut self, at: Time, length: u32) {
        self.settle(at);
        self.length = length;
        self.longest = self.longest.max(length);
    }

    /// Enters the time since the last change.
    #[inline]
    fn settle(&mut self, at: Time) {
        let span = (at - self.since).as_ps();
        self.since = at;
        if let Some(single) = self.spans.get_mut(self.length as usize)
            && self.length <= SINGLE_BINS
        {
            *single += span;
        } else {
            self.settle_long(span);
        }
    }

    /// A length that never occurred before, or one that shares its bin with others.
    #[cold]
    fn settle_long(&mut self, span: u64) {
        let bin = bin_of(self.length);
        if bin >= self.spans.len() {
            self.spans.resize(bin + 1, 0);
        }
        self.spans[bin] += span;
        if self.length > SINGLE_BINS {
            self.long_area += u128::from(self.length) * u128::from(span);
        }
    }

    /// Forgets everything but the length now.
    fn restart(&mut self, at: Time) {
        let length = self.length;
        *self = Self {
            length,
            longest: length,
            since: at,
            ..Self::default()
        };
    }

    /// (least length in packets of the bin, time at it), for bins that occurred.
    pub fn bins(&self) -> impl Iterator<Item = (u64, Span)> + '_ {
        let occurred = self.spans.iter().enumerate().filter(|&(_, &span)| span > 0);
        occurred.map(|(bin, &span)| (least_of(bin), Span::from_ps(span)))
    }

    /// Packet-picoseconds: the integral of the length over time.
    pub fn area(&self) -> u128 {
        let single = self.spans.iter().enumerate().take(SINGLE_BINS as usize + 1);
        let short: u128 = single
            .map(|(length, &span)| length as u128 * u128::from(span))
            .sum();
        short + self.long_area
    }

    /// The longest the queue was, in packets.
    pub fn longest(&self) -> u32 {
        self.longest
    }
}

fn bin_of(length: u32) -> usize {
    if length <= SINGLE_BINS {
        return length as usize;
    }
    // 1025..=2047 is bin 1025, 2048..=4095 bin 1026, ...
    (SINGLE_BINS + 1 + (length.ilog2() - SINGLE_BINS.ilog2())) as usize
}

fn least_of(bin: usize) -> u64 {
    let single = SINGLE_BINS as usize;
    match bin.checked_sub(single + 1) {
        None => bin as u64,
        Some(0) => u64::from(SINGLE_BINS) + 1,
        Some(doublings) => u64::from(SINGLE_BINS) << doublings,
    }
}

/// A queue at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSample {
    /// When.
    pub at: Time,
    /// Where.
    pub port: PortIndex,
    /// Packets that wait.
    pub packets: u32,
    /// Their bytes.
    pub bytes: Bytes,
}

/// A flow's control state at one instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowSample {
    /// When.
    pub at: Time,
    /// Whose.
    pub flow: FlowIndex,
    /// What.
    pub state: ControlState,
    /// The smoothed round-trip time.
    pub rtt: Option<Span>,
}

/// Bytes that reached something in one bin of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BinBytes {
    /// In-order application bytes.
    pub delivered: u64,
    /// IP bytes, headers and acknowledgements included.
    pub ip: u64,
}

/// Bytes per bin of time.
#[derive(Debug, Clone, Default)]
pub struct Series {
    bins: Vec<BinBytes>,
    /// When the last bin ends.
    ends: Time,
}

impl Series {
    #[inline]
    fn bin(&mut self, at: Time, width: Span) -> &mut BinBytes {
        while at >= self.ends {
            self.bins.push(BinBytes::default());
            self.ends += width;
        }
        self.bins.last_mut().expect("a bin was just made sure of")
    }

    /// The bins from time zero on; the last one is cut at the end of the run.
    pub fn bins(&self) -> &[BinBytes] {
        &self.bins
    }
}

/// What to keep.
#[derive(Debug, Clone, Copy)]
pub struct Measurements {
    /// The width of the bins of bytes per host.
    pub host_bin: Span,
    /// The width of the bins of bytes per flow; absent to keep none.
    pub flow_bin: Option<Span>,
    /// The least time between two samples of a watched flow's control state; zero keeps every
    /// change.
    pub window_every: Span,
}

impl Default for Measurements {
    fn default() -> Self {
        Self {
            host_bin: Span::from_ms(1),
            flow_bin: None,
            window_every: Span::ZERO,
        }
    }
}

/// The probe.
#[derive(Debug, Default)]
pub struct Recorder {
    measurements: Measurements,
    /// By port; empty for ports that are not observed.
    pub queues: Vec<QueueHistogram>,
    /// By host.
    pub hosts: Vec<Series>,
    /// By flow, where asked.
    pub flows: Vec<Series>,
    /// In order of time.
    pub queue_samples: Vec<QueueSample>,
    /// In order of time.
    pub windows: Vec<WindowSample>,
    /// Per flow the place of its last sample in `windows`.
    last_window: Vec<Option<usize>>,
    /// Histograms stand still after the end of the measured interval.
    closed: bool,
}

impl Recorder {
    /// A recorder for a network of so many ports and hosts.
    pub fn new(measurements: Measurements, ports: usize, hosts: usize) -> Self {
        Self {
            measurements,
            queues: vec![QueueHistogram::default(); ports],
            hosts: vec![Series::default(); hosts],
            ..Self::default()
        }
    }

    /// The width of the bins of bytes per host.
    pub fn host_bin(&self) -> Span {
        self.measurements.host_bin
    }
}

fn grown<T: Clone + Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if index >= list.len() {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}

impl Probe for Recorder {
    #[inline]
    fn queue_changed(&mut self, port: PortIndex, at: Time, waiting_packets: u32) {
        if !self.closed {
            self.queues[port.index()].change(at, waiting_packets);
        }
    }

    #[inline]
    fn received(&mut self, host: HostIndex, at: Time, ip_bytes: Bytes, payload: Bytes) {
        let series = &mut self.hosts[host.index()];
        // Hosts that get nothing but acknowledgements keep no series.
        if payload == Bytes::ZERO && series.bins.is_empty() {
            return;
        }
        series.bin(at, self.measurements.host_bin).ip += ip_bytes.count();
    }

    #[inline]
    fn delivered(&mut self, flow: FlowIndex, host: HostIndex, at: Time, bytes: Bytes) {
        let width = self.measurements.host_bin;
        self.hosts[host.index()].bin(at, width).delivered += bytes.count();
        if let Some(width) = self.measurements.flow_bin {
            grown(&mut self.flows, flow.index())
                .bin(at, width)
                .delivered += bytes.count();
        }
    }

    fn control(&mut self, flow: FlowIndex, at: Time, state: &ControlState, rtt: Option<Span>) {
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
        self.windows.push(WindowSample {
            at,
            flow,
            state: *state,
            rtt,
        });
    }

    fn sampled(&mut self, port: PortIndex, at: Time, packets: u32, bytes: Bytes) {
        self.queue_samples.push(QueueSample {
            at,
            port,
            packets,
            bytes,
        });
    }

    fn measuring(&mut self, at: Time, begins: bool) {
        for queue in &mut self.queues {
            if begins {
                queue.restart(at);
            } else {
                queue.settle(at);
            }
        }
        self.closed = !begins;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_weighs_by_time() {
        let mut queue = QueueHistogram::default();
        queue.change(Time::from_ps(10), 2);
        queue.change(Time::from_ps(40), 1);
        queue.settle(Time::from_ps(45));
        // 10 ps at 0, 30 ps at 2, 5 ps at 1; area 60 + 5.
        let bins: Vec<_> = queue
            .bins()
            .map(|(packets, span)| (packets, span.as_ps()))
            .collect();
        assert_eq!(bins, [(0, 10), (1, 5), (2, 30)]);
        assert_eq!(queue.area(), 65);
        assert_eq!(queue.longest(), 2);
    }

    #[test]
    fn bins_double_beyond_a_thousand() {
        for length in [0, 1, 1023, 1024, 1025, 2047, 2048, 4095, 4096, u32::MAX] {
            let bin = bin_of(length);
            assert!(least_of(bin) <= u64::from(length));
            assert!(u64::from(length) < least_of(bin + 1));
        }
    }

    #[test]
    fn a_series_fills_quiet_bins_with_zero() {
        let mut series = Series::default();
        let width = Span::from_ps(10);
        series.bin(Time::from_ps(3), width).ip += 1;
        series.bin(Time::from_ps(30), width).ip += 2;
        let ip: Vec<_> = series.bins().iter().map(|bin| bin.ip).collect();
        assert_eq!(ip, [1, 0, 0, 2]);
    }
}
