//! Captures: a file in pcapng for each link that `[measure] pcap` names, from what its ports have sent.
//!
//! Hosts have the numbers of the layout, flows those of the table `flows`.

use std::collections::{BTreeMap, BTreeSet};

use incastle_capture::{
    Envelope, Frame, Host, Pcapng, QueuePair, SwitchPort, TcpTerms, flow_ports,
};
use incastle_engine::core::{HostIndex, Node, PortIndex, Side};
use incastle_engine::network::Network;
use incastle_engine::probe::{SentContent, UdtControl};
use incastle_recorder::Sent;
use incastle_transport::udt::wire::{Content, Control, ControlBody, Dialect, Packet};
use incastle_units::Time;

use crate::output;
use crate::record::Record;
use crate::record::flows::FlowRow;
use incastle_scenario::language::measure::{Capture, Sampling};
use incastle_scenario::language::transport::{Kind, Transport};

const APPLICATION: &str = concat!("Incastle ", env!("CARGO_PKG_VERSION"));
const PS_PER_US: u64 = 1_000_000;

/// The ports of hosts and switches that a scenario captures.
pub(crate) fn captured_ports(capture: &Capture, network: &Network) -> Vec<PortIndex> {
    let names = capture.port_names();
    let all = names.contains("all");
    network
        .ports()
        .filter(|&port| all || names.contains(&network.port_name(port)))
        .collect()
}

/// The files of a run, from the packets that captured ports sent.
pub(crate) fn captures(record: &Record<'_>, mut sent: Vec<Sent>) -> Vec<output::Capture> {
    let Sampling::On(capture) = &record.measure().pcap else {
        return Vec::new();
    };
    let (network, flows) = (&record.network, &record.flows);
    let groups = record.scenario.tables().flows.iter();
    let terms: Vec<Terms> = groups
        .map(|(_, group)| Terms::of(&group.transport))
        .collect();
    // In the order of ns-3 NICs report packets before they have left.
    sent.retain(|sent| sent.at <= record.now);
    sent.sort_by_key(|sent| sent.at);
    let mut files = Files::new(capture, network);
    for Sent { at, port, packet } in sent {
        if let SentContent::Pause(pause) = packet.content {
            let from = sender_of_pauses(network, port);
            files.add(port, at, &[], &Frame::pause(from, pause));
            continue;
        }
        let row = flows.row(packet.to.flow());
        let to = host(&row, packet.to.side());
        let from = host(&row, packet.to.peer().side());
        let flow = flows.number(packet.to.flow()) as u32;
        let [near, far] = flow_ports(flow);
        let envelope = Envelope {
            from: Host(from.index() as u32),
            to: Host(to.index() as u32),
            ports: match packet.to.side() {
                Side::Responder => [near, far],
                Side::Initiator => [far, near],
            },
            ecn: packet.ecn,
            class: packet.class,
        };
        let fields = PacketFields {
            envelope,
            socket: packet.to.index() as u32 + 1,
            flow,
            from_near: packet.to.side() == Side::Responder,
            opened: row.record.opened,
        };
        let frame = fields.frame(&packet.content, &terms[row.note.group]);
        files.add(port, at, &[from, to], &frame);
    }
    files.finish()
}

/// The host of one endpoint of a flow.
fn host(row: &FlowRow<'_>, side: Side) -> HostIndex {
    match side {
        Side::Initiator => row.record.from,
        Side::Responder => row.record.to,
    }
}

/// The address of the port of a switch or of the host that has sent a pause.
fn sender_of_pauses(network: &Network, port: PortIndex) -> [u8; 6] {
    match network.owner(port) {
        Node::Host(host) => Host(host.index() as u32).mac(),
        Node::Switch(_) => SwitchPort(port.index() as u32).mac(),
    }
}

/// The parameters of the protocol that the packets of a group share.
enum Terms {
    Tcp(TcpTerms),
    Datagram,
    Udt(Dialect),
    RoceV2 {
        /// Whether packets have telemetry.
        telemetry: bool,
    },
}

impl Terms {
    fn of(transport: &Transport) -> Self {
        match &transport.kind {
            Kind::Tcp(tcp) => {
                let config = tcp.to_config(1);
                Self::Tcp(TcpTerms {
                    mss: config.mss,
                    window_scale: TcpTerms::scale_of(config.receive_window.count()),
                    timestamps: config.timestamps,
                    sack: tcp.recovery.uses_sack(),
                })
            }
            Kind::Datagram(_) => Self::Datagram,
            Kind::Udt(_) => Self::Udt(Dialect::Udt),
            Kind::Dcudp(_) => Self::Udt(Dialect::Dcudp),
            Kind::Rdma(rdma) => Self::RoceV2 {
                telemetry: rdma.telemetry,
            },
        }
    }
}

/// The fields of a packet besides its content.
struct PacketFields {
    envelope: Envelope,
    /// The UDT socket ID of its destination.
    socket: u32,
    flow: u32,
    from_near: bool,
    /// The instant at which its flow was opened.
    opened: Time,
}

impl PacketFields {
    fn frame(&self, content: &SentContent, terms: &Terms) -> Frame {
        match (content, terms) {
            (SentContent::Segment(segment, sacks), Terms::Tcp(terms)) => {
                self.envelope.tcp(terms, segment, sacks)
            }
            (SentContent::Datagram(datagram), Terms::Datagram) => {
                let payload = u16::try_from(datagram.payload).expect("a datagram's checked size");
                self.envelope.datagram(datagram.seq, payload)
            }
            (SentContent::UdtData(header, sent_at), Terms::Udt(dialect)) => {
                let packet = self.udt(Content::Data(*header), *sent_at);
                self.envelope.udt(&packet, ControlBody::Empty, *dialect)
            }
            (SentContent::UdtControl(control, sent_at), Terms::Udt(dialect)) => {
                let UdtControl { header, .. } = **control;
                let packet = self.udt(Content::Control(header), *sent_at);
                self.envelope.udt(&packet, control.body(), *dialect)
            }
            (SentContent::Rdma(packet, hops), Terms::RoceV2 { telemetry }) => {
                let mut pairs = QueuePair::of_flow(self.flow);
                if !self.from_near {
                    pairs.reverse();
                }
                let hops = telemetry.then_some(&**hops);
                self.envelope.rocev2(pairs, packet, hops)
            }
            (SentContent::Notification(feedback), _) => {
                self.envelope.notification(self.flow, *feedback)
            }
            _ => unreachable!("a flow has the transport of its group"),
        }
    }

    /// Adds the fields that a simulated packet leaves out: a client addresses a listener, whose ID is 0.
    fn udt(&self, content: Content, sent_at: Time) -> Packet {
        let is_request = match &content {
            Content::Control(header) => header.control == Control::Handshake && self.from_near,
            Content::Data(_) => false,
        };
        let since = sent_at.saturating_since(self.opened);
        Packet {
            timestamp: (since.as_ps() / PS_PER_US) as u32,
            destination: if is_request { 0 } else { self.socket },
            content,
        }
    }
}

/// A file for each link.
struct Files<'a> {
    network: &'a Network,
    all: Vec<File>,
    /// The file of a port, and its interface there.
    places: BTreeMap<PortIndex, (usize, u32)>,
}

struct File {
    name: String,
    content: Pcapng,
    /// The names of its hosts and ports.
    hosts: BTreeSet<HostIndex>,
}

impl<'a> Files<'a> {
    fn new(capture: &Capture, network: &'a Network) -> Self {
        let mut links: BTreeMap<usize, usize> = BTreeMap::new();
        let mut names = BTreeSet::new();
        let mut files = Vec::new();
        let mut places = BTreeMap::new();
        for port in captured_ports(capture, network) {
            // The two ports of a link follow each other.
            let place = *links.entry(port.index() / 2).or_insert_with(|| {
                files.push(File {
                    name: unused(&network.port_name(port), &mut names),
                    content: Pcapng::new(APPLICATION, capture.snaplen.count() as u32),
                    hosts: BTreeSet::new(),
                });
                files.len() - 1
            });
            let rate = network.rate(port);
            let content = &mut files[place].content;
            let interface = content.interface(&network.port_name(port), rate);
            places.insert(port, (place, interface));
        }
        Self {
            network,
            all: files,
            places,
        }
    }

    fn add(&mut self, port: PortIndex, at: Time, hosts: &[HostIndex], frame: &Frame) {
        let (place, interface) = self.places[&port];
        let file = &mut self.all[place];
        for &host in hosts {
            if file.hosts.insert(host) {
                let name = self.network.node_name(Node::Host(host));
                file.content.host(Host(host.index() as u32), name);
            }
        }
        file.content.frame(interface, at, frame);
    }

    fn finish(self) -> Vec<output::Capture> {
        let file = |file: File| output::Capture {
            name: file.name,
            bytes: file.content.into_bytes(),
        };
        self.all.into_iter().map(file).collect()
    }
}

/// A name for the file of a port, valid in any file system and unique.
fn unused(port: &str, names: &mut BTreeSet<String>) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let plain = |c: char| if fits(c) { c } else { '-' };
    let name: String = port.replace("->", "-").chars().map(plain).collect();
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut all = std::iter::once(name.clone()).chain(numbered);
    let free = all.find(|name| !names.contains(name));
    let free = free.expect("there are more numbers than files");
    names.insert(free.clone());
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_different_ports_have_different_names() {
        let mut names = BTreeSet::new();
        let mut name = |port| unused(port, &mut names);
        assert_eq!(name("sender:0->switch"), "sender-0-switch");
        assert_eq!(name("sender-0->switch"), "sender-0-switch-2");
        assert_eq!(name("sender:0->switch"), "sender-0-switch-3");
    }
}
