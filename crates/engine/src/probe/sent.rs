//! A captured packet: a copy that outlives the packet.
//!
//! Leaves out: its sender (see the record of the flow), and frames, which incastle-capture builds.

use incastle_congestion::HopTelemetry;
use incastle_queueing::PauseFrame;
use incastle_transport::datagram::Datagram;
use incastle_transport::tcp::{SackBlock, Segment};
use incastle_transport::udt::wire::{
    ControlBody, ControlHeader, DataHeader, Handshake, Losses, NumberRange,
};
use incastle_units::{Ecn, Time};

use crate::core::EndpointIndex;

/// A packet that has left a port.
#[derive(Debug, Clone)]
pub struct SentPacket {
    /// The endpoint that it is for.
    pub to: EndpointIndex,
    /// The ECN field.
    pub ecn: Ecn,
    /// The traffic class.
    pub class: u8,
    /// Its content.
    pub content: SentContent,
}

/// The content of a packet.
#[derive(Debug, Clone)]
pub enum SentContent {
    /// A TCP segment with its SACK blocks.
    Segment(Segment, Box<[SackBlock]>),
    /// A datagram.
    Datagram(Datagram),
    /// A data packet of UDT, with the instant at which its sender passed it to the NIC.
    UdtData(DataHeader, Time),
    /// A control packet of UDT, likewise.
    UdtControl(Box<UdtControl>, Time),
    /// A packet of a queue pair with the telemetry that it carries.
    Rdma(incastle_rdma::Packet, Box<[HopTelemetry]>),
    /// A congestion notification (QCN) with its quantised feedback.
    Notification(u8),
    /// A pause frame (IEEE 802.1Qbb).
    Pause(PauseFrame),
}

/// A control packet of UDT with its loss list or handshake.
#[derive(Debug, Clone, Copy)]
pub struct UdtControl {
    /// Its header.
    pub header: ControlHeader,
    body: UdtBody,
}

/// The maximum number of ranges in a NAK of a connection.
const MAX_RANGES: usize = 8;

#[derive(Debug, Clone, Copy)]
enum UdtBody {
    Nothing,
    Losses([NumberRange; MAX_RANGES], u8),
    Handshake(Handshake),
}

impl UdtControl {
    pub(crate) fn new(header: ControlHeader, body: ControlBody<'_>) -> Self {
        let body = match body {
            ControlBody::Empty => UdtBody::Nothing,
            ControlBody::Handshake(handshake) => UdtBody::Handshake(*handshake),
            ControlBody::Losses(losses) => {
                let mut ranges = losses.ranges();
                let first = ranges.next().expect("a NAK has a range");
                let mut kept = [first; MAX_RANGES];
                let mut count = 1;
                for range in ranges {
                    kept[count] = range;
                    count += 1;
                }
                UdtBody::Losses(kept, count as u8)
            }
        };
        Self { header, body }
    }

    /// The content after the header.
    pub fn body(&self) -> ControlBody<'_> {
        match &self.body {
            UdtBody::Nothing => ControlBody::Empty,
            UdtBody::Losses(ranges, count) => {
                ControlBody::Losses(Losses::typed(&ranges[..usize::from(*count)]))
            }
            UdtBody::Handshake(handshake) => ControlBody::Handshake(handshake),
        }
    }
}
