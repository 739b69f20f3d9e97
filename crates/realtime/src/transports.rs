//! From the `[transport]` of a scenario to the parameters of connections on sockets.

use std::sync::Arc;
use std::time::Duration;

use incastle_scenario::Scenario;
use incastle_scenario::language::transport::{Kind, Transport};
use incastle_scenario::language::udt::Udt;
use incastle_scenario::language::window_control::UdtControl;
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
            Kind::Udt(udt) => udt.to_config(path.interfaces),
            Kind::Dcudp(dcudp) => dcudp.to_config(fastest),
            Kind::Tcp(_) | Kind::Datagram(_) | Kind::Rdma(_) => unreachable!("`add` refuses them"),
        };
        let control = match &transport.kind {
            Kind::Dcudp(_) => Control::Dcudp,
            Kind::Udt(Udt {
                control: UdtControl::Revised(_),
                ..
            }) => Control::Named(NamedController::DcudpR),
            _ => transport.window_control().map_or(Control::Udt, |window| {
                NamedController::parse(window.word()).map_or(Control::Own, Control::Named)
            }),
        };
        let interface = path.interfaces[end];
        let controller = move |_payload| match &transport.kind {
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

#[cfg(test)]
mod tests {
    use incastle_congestion::Controller;
    use incastle_scenario::{Files, parse_with};
    use incastle_transport::udt::Protocol;
    use incastle_units::{Bytes, Ecn};

    use super::*;

    const GIGABIT: Rate = Rate::from_bits_per_second(1_000_000_000);
    const PATH: Path = Path {
        interfaces: [GIGABIT; 2],
        hops: 1,
        dilation: 10,
    };

    struct NoFiles;

    impl Files for NoFiles {
        fn read(&self, path: &str) -> Result<String, String> {
            Err(format!("{path}: there are no files"))
        }
    }

    fn scenario(transport: &str) -> Scenario {
        let text = format!(
            "name = \"one\"\n[run]\nduration = \"1 ms\"\n[network]\ntopology = \"star\"\nsenders = 1\nrate = \"1 Gbit/s\"\n\
             delay = \"1 us\"\n[transport]\n{transport}\n[flows.all]\nworkload = \"bulk\"\nfrom = \"senders\"\nto = \"receiver\"\n"
        );
        let found = parse_with(&text, "one.toml", &[], &NoFiles);
        found.expect("a scenario").0
    }

    fn config(transport: &str) -> ConnectionConfig {
        let mut all = Transports::default();
        all.add("one".to_owned(), &scenario(transport)).unwrap();
        assert_eq!(all.number("one"), 0);
        let config = all.config(0, PATH, 0);
        assert_eq!(config.check(), Ok(()));
        config
    }

    #[test]
    fn connections_have_the_parameters_and_the_control_of_the_scenario() {
        let dctcp = config(
            "kind = \"udt\"\ncongestion = \"dctcp\"\ninitial_window = \"4 packets\"\npackets_per_ack = 3\npacket_size = \"1000 B\"",
        );
        let own = dctcp.own.expect("a control");
        let accurate = own.config.accurate.expect("accurate ACKs");
        assert_eq!((accurate.ecn, accurate.rate.packets), (Ecn::Ect0, 3));
        assert_eq!(dctcp.packet_size, 1_000);
        // 44 bytes of headers.
        let window = (own.controller)(Bytes::new(956)).state().cwnd;
        assert_eq!(window, Some(Bytes::new(4 * 956)));
        assert_eq!(dctcp.control.name(), "dctcp");
        // 500 us of the machine.
        assert_eq!(dctcp.burst_allowance, Duration::from_micros(50));

        let dcudp = config("kind = \"dcudp\"").own.expect("a control");
        let Protocol::Dcudp(parameters) = dcudp.config.protocol else {
            panic!("another protocol");
        };
        assert_eq!(parameters.capacity, GIGABIT);
        assert_eq!(config("kind = \"udt\"").control, Control::Udt);
    }

    #[test]
    fn other_transports_are_refused() {
        let mut all = Transports::default();
        let refused = all.add("one".to_owned(), &scenario("kind = \"tcp\""));
        assert_eq!(refused, Err("our sockets have UDT and DCUDP".to_owned()));
        assert!(all.names().is_empty());
    }
}
