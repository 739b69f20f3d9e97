//! The arguments of Python's controllers: the transport's state at an instant, and the fields of an ACK, a mark, a
//! loss or a timeout. Numbers have their units in their names; times are in seconds.

use incastle_congestion::{
    AckSample, CongestionEvent as Event, Context, Echo, HopTelemetry, LimitedBy, Phase,
};
use incastle_scenario as core;
use incastle_units::{Bytes, Span, Time};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyType};

/// `incastle.Hop`, a named tuple.
static HOP: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The parameters of a connection, for a new controller.
#[pyclass(frozen, get_all, module = "incastle._engine")]
pub(crate) struct Connection {
    /// The controller's number in its run: each endpoint of each connection has one.
    number: u64,
    /// Application bytes of a full segment.
    mss_bytes: u64,
    /// The window at the start.
    initial_window_bytes: u64,
    /// `min_cwnd` of the scenario: the minimum window after a reaction to marks.
    min_cwnd_bytes: u64,
}

impl Connection {
    pub(super) fn new(setting: &core::ControllerSetting, number: u64) -> Self {
        Self {
            number,
            mss_bytes: setting.window.mss.count(),
            initial_window_bytes: setting.window.initial_window.count(),
            min_cwnd_bytes: setting.window.min_cwnd.count(),
        }
    }
}

/// The state of the transport at the instant of a call.
#[pyclass(frozen, get_all, subclass, module = "incastle._engine")]
pub(crate) struct ControllerContext {
    /// Simulated seconds since the beginning.
    now_s: f64,
    /// The first byte that is not acknowledged, counted from the start of the stream.
    snd_una: u64,
    /// The first byte that was never sent.
    snd_nxt: u64,
    /// Sent, and not yet acknowledged (`FlightSize` of RFC 5681).
    in_flight_bytes: u64,
    /// The smoothed round-trip time, once there is one.
    smoothed_rtt_s: Option<f64>,
    /// The application's remaining bytes, if their number is known.
    remaining_bytes: Option<u64>,
    /// The application's deadline for the arrival of its data, if it has set one.
    deadline_s: Option<f64>,
}

impl ControllerContext {
    #[inline]
    pub(super) fn new(cx: &Context<'_>) -> Self {
        Self {
            now_s: cx.now.as_secs_lossy(),
            snd_una: cx.snd_una,
            snd_nxt: cx.snd_nxt,
            in_flight_bytes: cx.in_flight.count(),
            smoothed_rtt_s: cx.smoothed_rtt.map(Span::as_secs_lossy),
            remaining_bytes: cx.remaining.map(Bytes::count),
            deadline_s: cx.deadline.map(Time::as_secs_lossy),
        }
    }
}

/// An acknowledgement.
#[pyclass(frozen, get_all, extends = ControllerContext, module = "incastle._engine")]
pub(crate) struct Ack {
    /// Newly acknowledged, cumulatively; 0 for a duplicate.
    acked_bytes: u64,
    /// Segments that it acknowledges: more than one under delayed ACKs.
    segments: u32,
    /// Whether it echoes a mark (ECE).
    ecn_echo: bool,
    /// The latest round-trip sample, not smoothed, if it gave one.
    rtt_s: Option<f64>,
    /// Whether the controller's window prevented the sender from sending more before it.
    window_limited: bool,
    /// Whether losses are being repaired (fast recovery).
    in_recovery: bool,
    /// Whether the sender goes back after a timeout: an ACK may cover what arrived long before.
    after_timeout: bool,
    /// Telemetry of the acknowledged packet, an `incastle.Hop` for each port in the order of its path. None
    /// without in-band telemetry.
    hops: Option<Py<PyList>>,
    /// The switches that the acknowledged packet passed, if the network tells.
    hop_count: Option<u8>,
    /// From the packet's arrival at the NIC of the receiver to the departure of its ACK, if it is measured.
    remote_delay_s: Option<f64>,
}

impl Ack {
    #[inline]
    pub(super) fn create(
        py: Python<'_>,
        cx: &Context<'_>,
        ack: &AckSample<'_>,
    ) -> PyResult<Py<Self>> {
        let own = Self {
            acked_bytes: ack.acked.count(),
            segments: ack.segments,
            ecn_echo: ack.echo == Echo::Congestion,
            rtt_s: ack.rtt.map(Span::as_secs_lossy),
            window_limited: ack.limited_by == LimitedBy::Window,
            in_recovery: ack.phase == Phase::Recovery,
            after_timeout: ack.phase == Phase::AfterTimeout,
            hops: hops(py, ack.hops)?,
            hop_count: ack.hop_count,
            remote_delay_s: ack.remote_delay.map(Span::as_secs_lossy),
        };
        Py::new(py, (own, ControllerContext::new(cx)))
    }
}

#[inline]
fn hops(py: Python<'_>, hops: &[HopTelemetry]) -> PyResult<Option<Py<PyList>>> {
    if hops.is_empty() {
        return Ok(None);
    }
    let class = HOP.import(py, "incastle.controllers.base", "Hop")?;
    let tuples = hops.iter().map(|hop| {
        let at_s = hop.at.as_secs_lossy();
        let (sent, queue) = (hop.sent.count(), hop.queue.count());
        class.call1((hop.rate.bits_per_second(), at_s, sent, queue))
    });
    let tuples = tuples.collect::<PyResult<Vec<_>>>()?;
    Ok(Some(PyList::new(py, tuples)?.unbind()))
}

/// An event to which a controller may react by slowing down.
#[pyclass(frozen, get_all, extends = ControllerContext, module = "incastle._engine")]
pub(crate) struct CongestionEvent {
    /// "ecn": an ACK echoed a mark; "loss": a recovery begins; "timeout": the retransmission timer
    /// fired; "idle": the sender starts again after idleness.
    kind: &'static str,
    /// For a loss: the number of segments detected as lost.
    lost_segments: u32,
    /// For a loss: the first byte of the last of them.
    largest_lost: u64,
    /// For a timeout: 0 for the first one of the same data, then 1, ...
    backoff: u32,
}

impl CongestionEvent {
    pub(super) fn create(py: Python<'_>, cx: &Context<'_>, event: Event) -> PyResult<Py<Self>> {
        let none = Self {
            kind: "ecn",
            lost_segments: 0,
            largest_lost: 0,
            backoff: 0,
        };
        let own = match event {
            Event::Ecn => none,
            Event::Loss { count, largest } => Self {
                kind: "loss",
                lost_segments: count,
                largest_lost: largest,
                ..none
            },
            Event::Timeout { backoff } => Self {
                kind: "timeout",
                backoff,
                ..none
            },
            Event::IdleRestart => Self {
                kind: "idle",
                ..none
            },
            // An event of DCUDP alone, which has a separate controller.
            Event::Over => Self {
                kind: "over",
                ..none
            },
        };
        Py::new(py, (own, ControllerContext::new(cx)))
    }
}
