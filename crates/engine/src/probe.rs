//! The one narrow view that probes have of a running network.
//!
//! The simulation is generic over its probe: calls to [`NoProbe`] compile to nothing. Probes never
//! change what happens; controllers and disciplines never know of them.

use incastle_congestion::ControlState;
use incastle_units::{Bytes, Span, Time};

use crate::{FlowIndex, HostIndex, PortIndex};

/// Something that looks on.
pub trait Probe {
    /// The number of packets that wait at a port has changed at `at`. Calls come in order of time
    /// for each port, and later than `at` in the order of the simulation: departures are told when
    /// the port next has to know of them.
    fn queue_changed(&mut self, _port: PortIndex, _at: Time, _waiting_packets: u32) {}

    /// A packet of `ip_bytes` (headers included, framing not), of which `payload` are application
    /// data, reached a host.
    fn received(&mut self, _host: HostIndex, _at: Time, _ip_bytes: Bytes, _payload: Bytes) {}

    /// An endpoint of a flow at `host` handed `bytes` to its application, in order.
    fn delivered(&mut self, _flow: FlowIndex, _host: HostIndex, _at: Time, _bytes: Bytes) {}

    /// The control state of a watched flow's near end, after each call that may have changed it.
    fn control(&mut self, _flow: FlowIndex, _at: Time, _state: &ControlState, _rtt: Option<Span>) {}

    /// The queue of a port at a sampling instant.
    fn sampled(&mut self, _port: PortIndex, _at: Time, _packets: u32, _bytes: Bytes) {}

    /// The measured interval begins (`true`) or ends: every port has told its changes until `at`.
    fn measuring(&mut self, _at: Time, _begins: bool) {}
}

/// Nobody looks.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProbe;

impl Probe for NoProbe {}
