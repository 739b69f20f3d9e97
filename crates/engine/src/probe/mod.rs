//! The interface of probes, which observe a running network.
//!
//! The simulation is generic over its probe: calls to [`NoProbe`] compile to nothing. Probes never change a result;
//! controllers and disciplines do not depend on them.

mod boundary;
mod lost;
mod memory_sample;
mod sent;
mod trace_event;

pub use boundary::Boundary;
pub use incastle_links::Transit;
pub use incastle_queueing::QueueSeen;
pub use incastle_rdma::Observation as PairObservation;
pub use lost::Lost;
pub use memory_sample::MemorySample;
pub use sent::{SentContent, SentPacket, UdtControl};
pub use trace_event::{Content, Number, Observation, Tag, TraceEvent};

use incastle_congestion::{ControlState, RateState};
use incastle_queueing::Sample;
use incastle_transport::tcp::TimeoutReport;
use incastle_units::{Bytes, Span, Time};

use crate::core::{EndpointIndex, FlowIndex, HostIndex, PortIndex, Side};
use crate::layout::PrefetchHints;

/// An observer.
pub trait Probe: PrefetchHints {
    /// The number of packets that wait at a port has changed at `at`. Calls come in order of time for each port, and may
    /// come later than `at`: departures are reported when the port is next advanced.
    fn queue_changed(&mut self, _port: PortIndex, _at: Time, _waiting_packets: u32) {}

    /// A packet of `ip_bytes` (headers included, framing not), of which `payload` are application
    /// data, reached a host.
    fn received(&mut self, _host: HostIndex, _at: Time, _ip_bytes: Bytes, _payload: Bytes) {}

    /// An endpoint of a flow at `host` delivered `bytes` to its application, in order.
    fn delivered(&mut self, _flow: FlowIndex, _host: HostIndex, _at: Time, _bytes: Bytes) {}

    /// The state of congestion control of a watched flow, after each call that may have changed it.
    fn control(&mut self, _flow: FlowIndex, _at: Time, _state: &ControlState, _rtt: Option<Span>) {}

    /// The queue of a port at a sampling instant.
    fn sampled(&mut self, _port: PortIndex, _at: Time, _packets: u32, _bytes: Bytes) {}

    /// The occupancy of a switch or of one of its ports at a sampling instant.
    fn memory_sampled(&mut self, _sample: &MemorySample) {}

    /// The reaction point of a flow's endpoint, after each change.
    fn rate_changed(&mut self, _flow: FlowIndex, _side: Side, _at: Time, _state: &RateState) {}

    /// The congestion point of a port sampled an arriving frame of a flow, with `queue` bytes waiting.
    fn congestion_sampled(
        &mut self,
        _port: PortIndex,
        _at: Time,
        _flow: FlowIndex,
        _sample: &Sample,
        _queue: Bytes,
    ) {
    }

    /// The retransmission timer of an endpoint has fired; the report has the state before its reaction.
    fn timed_out(&mut self, _flow: FlowIndex, _side: Side, _at: Time, _report: &TimeoutReport) {}

    /// A port has dropped a packet.
    fn dropped(&mut self, _port: PortIndex, _at: Time, _lost: &Lost) {}

    /// An event of a recorded flow at an endpoint, or of a packet that this endpoint has sent (received: that it is
    /// for).
    fn traced(&mut self, _endpoint: EndpointIndex, _at: Time, _event: &TraceEvent<'_>) {}

    /// The last bit of a packet leaves a captured port ([`Simulation::capture`](crate::Simulation::capture)). Calls come
    /// in order of time; in the order of ns-3 a NIC reports it before.
    fn sent(&mut self, _port: PortIndex, _at: Time, _packet: SentPacket) {}

    /// The measured interval begins or ends: every port has reported its changes until `at`.
    fn measuring(&mut self, _at: Time, _boundary: Boundary) {}
}

/// The probe that observes nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProbe;

impl PrefetchHints for NoProbe {}

impl Probe for NoProbe {}
