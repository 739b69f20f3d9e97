//! From the `[transport]` of a scenario to the parameters of connections on sockets.

use std::sync::Arc;
use std::time::Duration;

use incastle_scenario::Scenario;
use incastle_scenario::language::transport::{Kind, Transport};
use incastle_scenario::language::wire::WireFormat;
use incastle_socket::{ConnectionConfig, Control, NamedController, OwnControl};
use incastle_units::Rate;

/// The pacer of a machine that others use too may fall behind by this much, in real time, and catch up.
const BURST_ALLOWANCE: Duration = Duration::from_micros(500);
/// More than any path holds: an application never waits for what is in the network.
const SEND_BUFFER: usize = 64 << 20;
/// As `tcp_notsent_lowat` of the world linux: a flow that stops has sent it all soon.
const UNSENT: usize = 1 << 17;
/// A silent peer is given up after this, the most that a connection can wait: nobody leaves before the end.
const PATIENCE: Duration = Duration::from_secs(540);

/// The transports of a run by the names that its flows have for them.
#[derive(Clone, Default)]
pub struct Transports {
    named: Vec<(String, Transport)>,
    failed: Option<Failed>,
}

/// Whether a controller has failed.
pub(crate) type Failed = Arc<dyn Fn() -> bool + Send + Sync>;

/// The path of a connection, as its transport needs to know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    /// The rates of its hosts' links: the sender's, the receiver's.
    pub(crate) interfaces: [Rate; 2],
    /// The switches.
    pub(crate) hops: u32,
    /// The factor by which real time is slower.
    pub(crate) dilation: u32,
}

impl Transports {
    /// Adds the transport of the first flows of a scenario; refuses those that sockets do not have.
    pub fn add(&mut self, name: String, scenario: &Scenario) -> Result<(), String> {
        let groups = scenario.tables().flows.first();
        let (_, group) = groups.ok_or("a scenario without flows")?;
        match group.transport.kind {
            Kind::Udt(_) | Kind::Dcudp(_) => {}
            Kind::Tcp(_) | Kind::Datagram(_) | Kind::Rdma(_) => {
                return Err("our sockets have UDT and DCUDP".to_owned());
            }
        }
        self.named.push((name, group.transport.clone()));
        Ok(())
    }

    /// The run ends once this is true: a controller of the program's own has failed.
    pub fn end_when(&mut self, failed: impl Fn() -> bool + Send + Sync + 'static) {
        self.failed = Some(Arc::new(failed));
    }

    pub(crate) fn failed(&self) -> Option<Failed> {
        self.failed.clone()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.named.iter().map(|(name, _)| name.clone()).collect()
    }

    /// The number of a transport that the plan's check has found.
    pub(crate) fn number(&self, name: &str) -> usize {
        let found = self.named.iter().position(|(own, _)| own == name);
        found.expect("a checked plan")
    }

    /// The parameters of a connection: of its end at the sender of data, or of the other one.
    pub(crate) fn config(&self, number: usize, path: Path, end: usize) -> ConnectionConfig {
        let transport = self.named[number].1.clone();
        let [sender, receiver] = path.interfaces;
        let fastest = sender.max(receiver);
        let config = match &transport.kind {
            Kind::Udt(udt) => udt.to_config(fastest),
            Kind::Dcudp(dcudp) => dcudp.to_config(fastest),
            Kind::Tcp(_) | Kind::Datagram(_) | Kind::Rdma(_) => unreachable!("`add` refuses them"),
        };
        let control = match &transport.kind {
            Kind::Dcudp(_) => Control::Dcudp,
            _ => transport.window_control().map_or(Control::Udt, |window| {
                // One of the program's own is a window control like those.
                let named = NamedController::parse(window.word());
                Control::Named(named.unwrap_or(NamedController::NewReno))
            }),
        };
        let interface = path.interfaces[end];
        let controller = move || match &transport.kind {
            Kind::Udt(udt) => udt.controller(path.hops),
            Kind::Dcudp(dcudp) => {
                let format = WireFormat::of(&transport);
                dcudp.controller(interface, format.wire_size(format.payload))
            }
            Kind::Tcp(_) | Kind::Datagram(_) | Kind::Rdma(_) => unreachable!("`add` refuses them"),
        };
        ConnectionConfig {
            control,
            own: Some(OwnControl {
                config,
                controller: Arc::new(controller),
            }),
            packet_size: config.packet_size,
            capacity: Some(interface),
            send_buffer: SEND_BUFFER,
            unsent: Some(UNSENT),
            idle_timeout: PATIENCE,
            burst_allowance: BURST_ALLOWANCE / path.dilation,
            ..ConnectionConfig::default()
        }
    }
}
