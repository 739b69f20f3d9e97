//! The transport of a group's flows, for each new flow of the engine.

use std::sync::Arc;

use incastle_congestion::Algorithm;
use incastle_engine::core::FlowIndex;
use incastle_engine::flow::{
    Actions, FlowSpec, Framing, QueuePairSettings, TransportSpec, UdtStart,
};
use incastle_transport::{tcp, udt};
use incastle_units::{Bytes, Rate, Span};

use crate::hosts::HostPair;
use crate::paths::Paths;
use incastle_scenario::language::rdma::{Rdma, RdmaPath};
use incastle_scenario::language::root::{Compat, Root};
use incastle_scenario::language::tcp::Congestion;
use incastle_scenario::language::transport::{Kind, Transport};
use incastle_scenario::language::wire::{UDP_HEADERS, WireFormat};
use incastle_scenario::topology::pairs::Pair;

/// Bytes of a UDT handshake: UDT's header and the body, on top of those.
const HANDSHAKE: u64 = UDP_HEADERS + 16 + 48;

/// The transport of a group.
#[derive(Clone)]
pub struct Stack {
    transport: Transport,
    /// TCP's parameters, shared by all flows.
    config: Option<Arc<tcp::Config>>,
    /// Likewise of queue pairs.
    queue_pairs: Option<Arc<incastle_rdma::Config>>,
    compat: Option<Compat>,
    format: WireFormat,
    /// Bytes of the send buffer, of all transports but TCP.
    send_buffer: Option<Bytes>,
    /// The paths between hosts, for UDT, DCUDP, Swift and RDMA: their parameters may depend on the rates of links, on
    /// round trips and on the number of switches.
    paths: Option<Arc<Paths>>,
}

impl Stack {
    /// The stack of the hosts of a scenario.
    pub fn new(transport: &Transport, root: &Root) -> Self {
        let (burst, compat) = (root.host.tso_burst, root.run.compat);
        let format = WireFormat::of(transport);
        let queue_pairs = |rdma: &Rdma| Arc::new(rdma.to_config(format.overhead, compat));
        Self {
            transport: transport.clone(),
            config: transport.tcp().map(|tcp| Arc::new(tcp.to_config(burst))),
            queue_pairs: transport.rdma().map(queue_pairs),
            compat,
            format,
            send_buffer: transport.send_buffer(),
            paths: None,
        }
    }

    /// The same between the hosts that these paths join.
    #[must_use]
    pub fn within(self, paths: &Arc<Paths>) -> Self {
        let needs_paths = self.transport.stream().is_some()
            || self.transport.rdma().is_some()
            || self.counts_hops();
        Self {
            paths: needs_paths.then(|| Arc::clone(paths)),
            ..self
        }
    }

    /// The same for an application that waits for room in the send buffer instead of losing data.
    #[must_use]
    pub fn waiting_for_room(self) -> Self {
        Self {
            send_buffer: None,
            ..self
        }
    }

    /// Opens a flow from the first of two hosts.
    pub fn open(&self, hosts: HostPair, recorded: bool, actions: &mut Actions) -> FlowIndex {
        actions.open(FlowSpec {
            from: hosts.from,
            to: hosts.to,
            transport: self.spec(hosts.into()),
            framing: self.framing(),
            watched: false,
            recorded,
        })
    }

    fn framing(&self) -> Framing {
        Framing {
            overhead: self.format.overhead,
            minimum: self.format.minimum,
            class: u8::try_from(self.transport.traffic_class)
                .expect("a checked class has three bits"),
        }
    }

    fn spec(&self, hosts: Pair) -> TransportSpec {
        match (&self.transport.kind, &self.config) {
            (Kind::Tcp(tcp), Some(config)) => TransportSpec::Tcp {
                config: Arc::clone(config),
                controllers: {
                    let hops = self.hops(hosts);
                    Box::new([(); 2].map(|()| tcp.controller(hops, config.burst)))
                },
            },
            (Kind::Rdma(rdma), _) => self.rdma(rdma, hosts),
            (Kind::Udt(udt), _) => {
                let hops = self.hops(hosts);
                let interfaces = [hosts.from, hosts.to].map(|host| self.interface(host));
                let controllers = [udt.controller(hops), udt.controller(hops)];
                self.udt(udt.to_config(interfaces), controllers, hosts)
            }
            (Kind::Dcudp(dcudp), _) => {
                let interfaces = [hosts.from, hosts.to].map(|host| self.interface(host));
                let wire = self.wire_size(self.payload());
                let controllers = interfaces.map(|rate| dcudp.controller(rate, wire));
                let fastest = interfaces[0].max(interfaces[1]);
                self.udt(dcudp.to_config(fastest), controllers, hosts)
            }
            (Kind::Tcp(_) | Kind::Datagram(_), _) => TransportSpec::Datagram {
                send_buffer: self.send_buffer,
            },
        }
    }

    fn udt(&self, config: udt::Config, controllers: [Algorithm; 2], hosts: Pair) -> TransportSpec {
        TransportSpec::Udt {
            config: Arc::new(config),
            controllers: Box::new(controllers),
            start: if self.has_handshake() {
                UdtStart::Handshake
            } else {
                UdtStart::Connected(self.handshake_rtt(hosts))
            },
            send_buffer: self.send_buffer,
        }
    }

    fn rdma(&self, rdma: &Rdma, hosts: Pair) -> TransportSpec {
        let config = self.queue_pairs.as_ref();
        let ack = Bytes::new(self.format.framed(rdma.ack()));
        let full = Bytes::new(self.wire_size(self.payload()));
        let idle_rtt = self.paths().span(hosts, &[full, ack]);
        let controllers = [hosts.from, hosts.to].map(|host| {
            let path = RdmaPath {
                line_rate: self.interface(host),
                idle_rtt,
            };
            rdma.controller(path, self.compat)
        });
        let class = rdma.control_class(self.transport.traffic_class);
        TransportSpec::Rdma {
            config: Arc::clone(config.expect("queue pairs have a configuration")),
            controllers: Box::new(controllers),
            settings: QueuePairSettings {
                verb: rdma.verb,
                control_class: u8::try_from(class).expect("a checked class has three bits"),
                telemetry: rdma.telemetry,
            },
        }
    }

    fn paths(&self) -> &Paths {
        let paths = self.paths.as_deref();
        paths.expect("a stack that needs paths lies within a network")
    }

    /// Whether the control depends on the number of switches of a path.
    fn counts_hops(&self) -> bool {
        matches!(self.transport.window_control(), Some(Congestion::Swift(_)))
    }

    /// The switches of a shortest path, where the control depends on them.
    fn hops(&self, hosts: Pair) -> u32 {
        if !self.counts_hops() {
            return 0;
        }
        let links = self.paths().path(hosts).len();
        u32::try_from(links.saturating_sub(1)).expect("a path visits no switch twice")
    }

    /// The rate of a host's access link.
    fn interface(&self, host: usize) -> Rate {
        let link = self.paths().layout().access(host);
        link.expect("every host of a flow has a link").rate
    }

    /// The round trip that a handshake measures on the empty network.
    fn handshake_rtt(&self, hosts: Pair) -> Span {
        let size = Bytes::new(self.format.framed(HANDSHAKE));
        self.paths().span(hosts, &[size, size])
    }

    /// Application bytes of a full packet.
    pub fn payload(&self) -> u64 {
        self.format.payload
    }

    /// TCP's initial window in bytes.
    pub fn initial_window(&self) -> u64 {
        let config = self.config.as_ref();
        config.map_or(0, |config| config.initial_window.count())
    }

    /// Whether the flows are datagrams.
    pub fn is_datagram(&self) -> bool {
        matches!(self.transport.kind, Kind::Datagram(_))
    }

    /// Whether the flows are TCP connections.
    pub fn is_tcp(&self) -> bool {
        self.config.is_some()
    }

    /// Whether the flows are TCP connections whose windows marks and losses alone shrink.
    pub fn shrinks_by_signals_alone(&self) -> bool {
        let tcp = self.transport.tcp();
        tcp.is_some_and(|tcp| tcp.congestion.shrinks_by_signals_alone())
    }

    /// Whether connections are opened and closed by separate packets.
    pub fn has_handshake(&self) -> bool {
        self.transport.has_handshake()
    }

    /// Bytes on the wire of a packet with this payload.
    pub fn wire_size(&self, payload: u64) -> u64 {
        self.format.wire_size(payload)
    }
}
