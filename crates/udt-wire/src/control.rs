//! Control packets: `1 | type (15) | reserved or user type (16)`, additional information, time stamp,
//! destination, body. DCUDP inserts one 32-bit word before the body, `OBS (1) | control sequence
//! number (31)`, and puts ECE and NECT into the reserved field of ACKs. Its OBS-change is UDT's
//! user-defined type, and so are accurate ACKs.

use super::data::flag;
use super::handshake::{BODY_BYTES, Handshake};
use super::losses::Losses;
use super::{
    Content, ControlBody, DCUDP_CONTROL_BYTES, Dialect, HEADER_BYTES, Number, Packet, View,
    WireError, put, word,
};

const CONTROL: u32 = 1 << 31;
const OBSERVE: u32 = 1 << 31;
const ECE: u16 = 1 << 15;
const NOT_ECT: u16 = 1 << 14;
/// Flags of a shutdown's reserved field.
const ANSWERS: u16 = 1;
const GONE: u16 = 2;
const HANDSHAKE: u16 = 0;
const KEEP_ALIVE: u16 = 1;
const ACK: u16 = 2;
const NAK: u16 = 3;
const WARNING: u16 = 4;
const SHUTDOWN: u16 = 5;
const ACK2: u16 = 6;
const DROP: u16 = 7;
const USER: u16 = 0x7FFF;
/// Subtypes of ours.
const OBSERVE_CHANGE: u16 = 1;
const OBSERVE_CHANGED: u16 = 2;
const ACCURATE_ACK: u16 = 3;

/// The measurements in a full ACK. Zero in the last two: not measured, or not reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AckReport {
    /// Round-trip time in microseconds.
    pub rtt_us: u32,
    /// Its variance in microseconds.
    pub variance_us: u32,
    /// Packets that the receiver's buffer still takes.
    pub free_packets: u32,
    /// Packets per second at which data arrive.
    pub receiving_packets_per_s: u32,
    /// Packets per second that the path could carry.
    pub capacity_packets_per_s: u32,
}

/// What has happened to the data packets of a connection so far, by their receiver. Each number counts from the
/// beginning, and wraps at 2^32: a lost ACK loses no count. As accurate ECN feedback (RFC 9768), but each data
/// packet counts once, however often it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AckCounts {
    /// Data packets that arrived for the first time.
    pub arrived: u32,
    /// Those of them with a CE mark.
    pub ce: u32,
    /// Those of them that are ECN-capable and have no mark.
    pub ect: u32,
    /// Packets that were missing when a later one arrived. A late one stays counted.
    pub lost: u32,
}

/// An ACK with the counts of the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccurateAck {
    /// The next packet expected.
    pub next: Number,
    /// The newest data packet: the one that arrived last for the first time.
    pub newest: Number,
    /// Microseconds between its arrival and this ACK.
    pub delay_us: u32,
    /// The counts.
    pub counts: AckCounts,
}

/// A control packet without its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Its body is a [`ControlBody::Handshake`].
    Handshake,
    /// The peer lives.
    KeepAlive,
    /// A full ACK.
    Ack {
        /// Its number, which the ACK2 returns.
        number: Number,
        /// The next packet expected.
        next: Number,
        /// ECE: a mark arrived since the last ACK. DCUDP only.
        ece: bool,
        /// NECT: a data packet arrived without ECT. DCUDP only.
        not_ect: bool,
        /// The receiver's measurements.
        report: AckReport,
    },
    /// An ACK with no more than the next packet expected, and without an ACK2.
    LightAck {
        /// The next packet expected.
        next: Number,
    },
    /// An accurate ACK, without an ACK2. [`Dialect::Accurate`] only.
    AccurateAck(AccurateAck),
    /// Its body is a [`ControlBody::Losses`].
    Nak,
    /// Type 4, which is unused.
    Warning,
    /// The peer closes.
    Shutdown {
        /// It responds to a shutdown, and needs no response. DCUDP only.
        answers: bool,
        /// It takes nothing any more: data that it has not acknowledged never will be. DCUDP only.
        gone: bool,
    },
    /// The acknowledgement of a full ACK.
    Ack2 {
        /// The ACK's number.
        number: Number,
    },
    /// A message will not be sent (again).
    Drop {
        /// The message.
        message: u32,
        /// Its first packet.
        first: Number,
        /// Its last packet that was numbered.
        last: Number,
    },
    /// The sender changes its mode to that of the header's OBS. DCUDP only.
    ObserveChange {
        /// The number of changes before it.
        change: u32,
    },
    /// The response to it. DCUDP only.
    ObserveChanged {
        /// The number of that change.
        change: u32,
    },
}

/// The header of a control packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlHeader {
    /// OBS: congestion mode. DCUDP only.
    pub observe: bool,
    /// The packet's own number. DCUDP only, and 0 in handshakes.
    pub number: Number,
    /// Its content.
    pub control: Control,
}

impl Control {
    /// The name of its kind, for records.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::KeepAlive => "keep-alive",
            Self::Ack { .. } => "ack",
            Self::LightAck { .. } => "light-ack",
            Self::AccurateAck(_) => "accurate-ack",
            Self::Nak => "nak",
            Self::Warning => "warning",
            Self::Shutdown { .. } => "shutdown",
            Self::Ack2 { .. } => "ack2",
            Self::Drop { .. } => "drop-request",
            Self::ObserveChange { .. } => "observe-change",
            Self::ObserveChanged { .. } => "observe-changed",
        }
    }

    /// The next packet expected, in an ACK of any kind.
    pub const fn next_expected(&self) -> Option<Number> {
        match self {
            Self::Ack { next, .. }
            | Self::LightAck { next }
            | Self::AccurateAck(AccurateAck { next, .. }) => Some(*next),
            _ => None,
        }
    }

    const fn kind(self) -> u16 {
        match self {
            Self::Handshake => HANDSHAKE,
            Self::KeepAlive => KEEP_ALIVE,
            Self::Ack { .. } | Self::LightAck { .. } => ACK,
            Self::Nak => NAK,
            Self::Warning => WARNING,
            Self::Shutdown { .. } => SHUTDOWN,
            Self::Ack2 { .. } => ACK2,
            Self::Drop { .. } => DROP,
            Self::ObserveChange { .. } | Self::ObserveChanged { .. } | Self::AccurateAck(_) => USER,
        }
    }

    /// The reserved field: flags of an ACK, or the user-defined type.
    fn reserved(self, dialect: Dialect) -> u16 {
        match self {
            Self::ObserveChange { .. } => OBSERVE_CHANGE,
            Self::ObserveChanged { .. } => OBSERVE_CHANGED,
            Self::AccurateAck(_) => ACCURATE_ACK,
            Self::Ack { ece, not_ect, .. } if dialect == Dialect::Dcudp => {
                let flags = flag(ece, u32::from(ECE)) | flag(not_ect, u32::from(NOT_ECT));
                flags as u16
            }
            Self::Shutdown { answers, gone } if dialect == Dialect::Dcudp => {
                let flags = flag(answers, u32::from(ANSWERS)) | flag(gone, u32::from(GONE));
                flags as u16
            }
            _ => 0,
        }
    }

    const fn information(self) -> u32 {
        match self {
            Self::Ack { number, .. } | Self::Ack2 { number } => number.word(),
            Self::Drop { message, .. } => message,
            Self::ObserveChange { change } | Self::ObserveChanged { change } => change,
            Self::AccurateAck(ack) => ack.counts.arrived,
            _ => 0,
        }
    }
}

impl ControlHeader {
    pub(super) fn words(&self, dialect: Dialect) -> [u32; 2] {
        let kind = u32::from(self.control.kind()) << 16;
        let first = CONTROL | kind | u32::from(self.control.reserved(dialect));
        [first, self.control.information()]
    }

    /// Bytes behind the sixteen of UDT's header.
    pub(super) fn body_bytes(&self, body: ControlBody<'_>, dialect: Dialect) -> usize {
        let bytes = match (self.control, body) {
            (Control::Handshake, _) => return BODY_BYTES,
            (Control::Nak, ControlBody::Losses(losses)) => losses.wire_bytes(),
            (Control::Ack { .. } | Control::AccurateAck(_), _) => 24,
            (Control::LightAck { .. }, _) => 4,
            (Control::Drop { .. }, _) => 8,
            _ => 0,
        };
        bytes + extra_bytes(dialect)
    }
}

const fn extra_bytes(dialect: Dialect) -> usize {
    match dialect {
        Dialect::Udt | Dialect::Accurate => 0,
        Dialect::Dcudp => DCUDP_CONTROL_BYTES - HEADER_BYTES,
    }
}

pub(super) fn write_body(
    header: &ControlHeader,
    body: ControlBody<'_>,
    dialect: Dialect,
    out: &mut Vec<u8>,
) {
    if dialect == Dialect::Dcudp && header.control != Control::Handshake {
        put(out, &[flag(header.observe, OBSERVE) | header.number.word()]);
    }
    match header.control {
        Control::Handshake => {
            let ControlBody::Handshake(handshake) = body else {
                panic!("a handshake has a body");
            };
            handshake.write(out);
        }
        Control::Nak => {
            let ControlBody::Losses(losses) = body else {
                panic!("a NAK has losses");
            };
            losses.write(out);
        }
        Control::Ack { next, report, .. } => {
            let rates = [
                report.receiving_packets_per_s,
                report.capacity_packets_per_s,
            ];
            put(
                out,
                &[
                    next.word(),
                    report.rtt_us,
                    report.variance_us,
                    report.free_packets,
                ],
            );
            put(out, &rates);
        }
        Control::LightAck { next } => put(out, &[next.word()]),
        Control::AccurateAck(AccurateAck {
            next,
            newest,
            delay_us,
            counts: AckCounts { ce, ect, lost, .. },
        }) => put(out, &[next.word(), newest.word(), delay_us, ce, ect, lost]),
        Control::Drop { first, last, .. } => put(out, &[first.word(), last.word()]),
        _ => {}
    }
}

pub(super) fn parse(words: [u32; 4], body: &[u8], dialect: Dialect) -> Result<View<'_>, WireError> {
    let kind = (words[0] >> 16 & 0x7FFF) as u16;
    let reserved = words[0] as u16;
    let mut view = View {
        packet: Packet {
            timestamp: words[2],
            destination: words[3],
            content: Content::Control(ControlHeader {
                observe: false,
                number: Number::default(),
                control: Control::Handshake,
            }),
        },
        losses: None,
        handshake: None,
        payload: &[],
    };
    if kind == HANDSHAKE {
        view.handshake = Some(Handshake::parse(body)?);
        return Ok(view);
    }
    let (extra, body) = split_extra(body, dialect)?;
    if kind == NAK {
        view.losses = Some(Losses::parse(body)?);
    }
    let control = parse_control(kind, reserved, words[1], body, dialect)?;
    view.packet.content = Content::Control(ControlHeader {
        observe: extra & OBSERVE != 0,
        number: Number::from_word(extra),
        control,
    });
    Ok(view)
}

/// DCUDP's word before a body.
fn split_extra(body: &[u8], dialect: Dialect) -> Result<(u32, &[u8]), WireError> {
    match dialect {
        Dialect::Udt | Dialect::Accurate => Ok((0, body)),
        Dialect::Dcudp => {
            let extra = word(body, 0).ok_or(WireError::Short(HEADER_BYTES + body.len()))?;
            Ok((extra, &body[4..]))
        }
    }
}

fn parse_control(
    kind: u16,
    reserved: u16,
    information: u32,
    body: &[u8],
    dialect: Dialect,
) -> Result<Control, WireError> {
    let bytes = body.len();
    let wrong = WireError::Body { kind, bytes };
    let number = Number::from_word(information);
    // The library pads a packet without a body with one 32-bit word.
    let bare = |control| {
        if bytes == 0 || bytes == 4 {
            Ok(control)
        } else {
            Err(wrong)
        }
    };
    match (kind, reserved) {
        (KEEP_ALIVE, _) => bare(Control::KeepAlive),
        (WARNING, _) => bare(Control::Warning),
        (SHUTDOWN, reserved) => bare(Control::Shutdown {
            answers: dialect == Dialect::Dcudp && reserved & ANSWERS != 0,
            gone: dialect == Dialect::Dcudp && reserved & GONE != 0,
        }),
        (ACK2, _) => bare(Control::Ack2 { number }),
        (NAK, _) => Ok(Control::Nak),
        (ACK, flags) => {
            let dcudp = dialect == Dialect::Dcudp;
            let flags = flags * u16::from(dcudp);
            parse_ack(number, flags, body).ok_or(wrong)
        }
        (DROP, _) => parse_drop(information, body).ok_or(wrong)?,
        (USER, OBSERVE_CHANGE) if dialect == Dialect::Dcudp => bare(Control::ObserveChange {
            change: information,
        }),
        (USER, OBSERVE_CHANGED) if dialect == Dialect::Dcudp => bare(Control::ObserveChanged {
            change: information,
        }),
        (USER, ACCURATE_ACK) if dialect == Dialect::Accurate => {
            parse_accurate_ack(information, body).ok_or(wrong)
        }
        (_, subtype) => Err(WireError::Unknown { kind, subtype }),
    }
}

fn parse_ack(number: Number, flags: u16, body: &[u8]) -> Option<Control> {
    let next = Number::from_word(word(body, 0)?);
    let at = |index| word(body, index).unwrap_or(0);
    match body.len() {
        4 => Some(Control::LightAck { next }),
        // The library leaves the rates out of an ACK that it sends before its time.
        16 | 24 => Some(Control::Ack {
            number,
            next,
            ece: flags & ECE != 0,
            not_ect: flags & NOT_ECT != 0,
            report: AckReport {
                rtt_us: at(1),
                variance_us: at(2),
                free_packets: at(3),
                receiving_packets_per_s: at(4),
                capacity_packets_per_s: at(5),
            },
        }),
        _ => None,
    }
}

fn parse_accurate_ack(arrived: u32, body: &[u8]) -> Option<Control> {
    if body.len() != 24 {
        return None;
    }
    Some(Control::AccurateAck(AccurateAck {
        next: Number::from_word(word(body, 0)?),
        newest: Number::from_word(word(body, 1)?),
        delay_us: word(body, 2)?,
        counts: AckCounts {
            arrived,
            ce: word(body, 3)?,
            ect: word(body, 4)?,
            lost: word(body, 5)?,
        },
    }))
}

fn parse_drop(message: u32, body: &[u8]) -> Option<Result<Control, WireError>> {
    if body.len() != 8 {
        return None;
    }
    let (first, last) = (
        Number::from_word(word(body, 0)?),
        Number::from_word(word(body, 1)?),
    );
    if first.distance_to(last) < 0 {
        return Some(Err(WireError::Drop(first.word(), last.word())));
    }
    Some(Ok(Control::Drop {
        message,
        first,
        last,
    }))
}
