//! The transport of a group's flows, as the engine wants it for each new one.

use std::sync::Arc;

use incastle_engine::{Actions, FlowIndex, FlowSpec, Framing, HostIndex, TransportSpec};
use incastle_transport::tcp;
use incastle_units::Bytes;

use crate::language::transport::{self, Kind, Transport};

/// Bytes of TCP and IP headers.
const TCP_HEADERS: u64 = 40;
/// Bytes of UDP and IP headers.
const UDP_HEADERS: u64 = 28;

/// The transport of a group.
pub(crate) struct Stack {
    transport: Transport,
    /// TCP's parameters, shared by all flows.
    config: Option<Arc<tcp::Config>>,
    framing: Framing,
    /// Of datagrams: bytes that may wait to be sent.
    send_buffer: Option<Bytes>,
}

impl Stack {
    /// The stack of hosts that send `burst` segments together.
    pub(crate) fn new(transport: &Transport, burst: u32) -> Self {
        Self {
            transport: transport.clone(),
            config: transport.tcp().map(|tcp| Arc::new(tcp.to_config(burst))),
            framing: Framing {
                class: u8::try_from(transport.class).expect("a checked class has three bits"),
                ..match transport.framing {
                    transport::Framing::Ip => Framing::IP,
                    transport::Framing::Ethernet => Framing::ETHERNET,
                }
            },
            send_buffer: match &transport.kind {
                Kind::Datagram(datagram) => datagram.limit(),
                Kind::Tcp(_) => None,
            },
        }
    }

    /// The same for an application that waits for room instead of losing what it writes.
    pub(crate) fn waiting_for_room(self) -> Self {
        Self {
            send_buffer: None,
            ..self
        }
    }

    /// Opens a flow that `near` begins.
    pub(crate) fn open(&self, near: HostIndex, far: HostIndex, actions: &mut Actions) -> FlowIndex {
        let transport = match (&self.transport.kind, &self.config) {
            (Kind::Tcp(tcp), Some(config)) => TransportSpec::Tcp {
                config: Arc::clone(config),
                controllers: Box::new([tcp.controller(), tcp.controller()]),
            },
            _ => TransportSpec::Datagram {
                send_buffer: self.send_buffer,
            },
        };
        actions.open(FlowSpec {
            from: near,
            to: far,
            transport,
            framing: self.framing,
            watched: false,
        })
    }

    /// Application bytes of a full packet.
    pub(crate) fn payload(&self) -> u64 {
        self.transport.payload().count()
    }

    /// Whether the flows are datagrams.
    pub(crate) fn is_datagram(&self) -> bool {
        self.config.is_none()
    }

    /// Whether connections begin and end with segments of their own.
    pub(crate) fn has_handshake(&self) -> bool {
        self.config.as_ref().is_some_and(|config| config.handshake)
    }

    /// Bytes on the wire of a packet with this payload.
    pub(crate) fn wire_size(&self, payload: u64) -> u64 {
        let headers = if self.is_datagram() {
            UDP_HEADERS
        } else {
            TCP_HEADERS
        };
        let framed = payload + headers + u64::from(self.framing.overhead);
        framed.max(u64::from(self.framing.minimum))
    }
}
