//! What a captured port has sent: a copy of the packet that outlives it.
//!
//! Leaves out: who stands at the other end (the books of the flow say it), and frames, which others make.

use incastle_transport::datagram::Datagram;
use incastle_transport::tcp::{SackBlock, Segment};
use incastle_transport::udt::wire::DataHeader;
use incastle_units::{Ecn, Time};

use crate::core::EndpointIndex;
use crate::network::{Body, Packet};
use crate::network::{Extras, UdtControl};

/// A packet that has left a port.
#[derive(Debug, Clone)]
pub struct SentPacket {
    /// The end of a flow that it is for.
    pub to: EndpointIndex,
    /// The ECN field.
    pub ecn: Ecn,
    /// The traffic class.
    pub class: u8,
    /// What it carries.
    pub content: SentContent,
}

/// What a packet carries.
#[derive(Debug, Clone)]
pub enum SentContent {
    /// A TCP segment with its SACK blocks.
    Segment(Segment, Box<[SackBlock]>),
    /// A datagram.
    Datagram(Datagram),
    /// A data packet of UDT, and when it was handed to the adapter.
    UdtData(DataHeader, Time),
    /// A control packet of UDT, likewise.
    UdtControl(Box<UdtControl>, Time),
    /// A congestion notification (QCN) with its quantised feedback.
    Notification(u8),
}

impl SentPacket {
    /// A copy of a packet, with what lies beside it.
    pub(crate) fn of(packet: &Packet, extras: &Extras) -> Self {
        let content = match &packet.body {
            Body::Segment { segment, sacks } => {
                let count = usize::from(segment.sacks);
                let blocks = (count > 0).then(|| &extras.sacks.at(*sacks)[..count]);
                SentContent::Segment(*segment, blocks.unwrap_or_default().into())
            }
            Body::Datagram(datagram) => SentContent::Datagram(*datagram),
            Body::UdtData { header, sent_at } => SentContent::UdtData(*header, *sent_at),
            Body::UdtControl { place, sent_at, .. } => {
                let control = Box::new(*extras.controls.at(*place));
                SentContent::UdtControl(control, *sent_at)
            }
            Body::Cnm { psi } => SentContent::Notification(*psi),
        };
        Self {
            to: packet.to,
            ecn: packet.marks.ecn(),
            class: packet.class,
            content,
        }
    }
}
