//! Data packets: `0 | sequence number (31)`, `FF (2) | O (1) | message number (29)`. Under DCUDP the
//! message number gives two bits away: `FF (2) | O (1) | OBS (1) | CWR (1) | message number (27)`.

use super::{Content, Dialect, Number, Packet, View, WireError};

const IN_ORDER: u32 = 1 << 29;
const OBSERVE: u32 = 1 << 28;
const CWR: u32 = 1 << 27;

/// The largest message number: of 29 bits, or of 27 under DCUDP.
pub const fn max_message(dialect: Dialect) -> u32 {
    match dialect {
        Dialect::Udt | Dialect::Accurate => IN_ORDER - 1,
        Dialect::Dcudp => CWR - 1,
    }
}

/// A packet's place in its message (the bits FF).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In between: 00.
    Middle,
    /// Its last packet: 01.
    Last,
    /// Its first packet: 10.
    First,
    /// All of it: 11.
    Only,
}

impl Place {
    /// The place of a packet that begins its message or not, and ends it or not.
    pub const fn of(first: bool, last: bool) -> Self {
        match (first, last) {
            (true, true) => Self::Only,
            (true, false) => Self::First,
            (false, true) => Self::Last,
            (false, false) => Self::Middle,
        }
    }

    /// Whether it begins its message.
    pub const fn is_first(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    /// Whether it ends its message.
    pub const fn is_last(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

/// The header of a data packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataHeader {
    /// The packet's sequence number.
    pub sequence: Number,
    /// The message that it belongs to.
    pub message: u32,
    /// Its place in that message.
    pub place: Place,
    /// Whether the message must wait for those before it.
    pub in_order: bool,
    /// OBS: the sender is in congestion mode. DCUDP only.
    pub observe: bool,
    /// The sender has slowed down. DCUDP only.
    pub cwr: bool,
    /// Bytes of payload.
    pub length: u16,
}

impl DataHeader {
    pub(super) fn words(&self, dialect: Dialect) -> [u32; 2] {
        let place = (self.place as u32) << 30;
        let mut second = place | (self.message & max_message(dialect));
        second |= flag(self.in_order, IN_ORDER);
        if dialect == Dialect::Dcudp {
            second |= flag(self.observe, OBSERVE) | flag(self.cwr, CWR);
        }
        [self.sequence.word(), second]
    }
}

pub(super) const fn flag(set: bool, bit: u32) -> u32 {
    if set { bit } else { 0 }
}

pub(super) fn parse(
    words: [u32; 4],
    payload: &[u8],
    dialect: Dialect,
) -> Result<View<'_>, WireError> {
    if payload.is_empty() {
        return Err(WireError::NoData);
    }
    let length = u16::try_from(payload.len()).map_err(|_| WireError::Long(payload.len()))?;
    let dcudp = dialect == Dialect::Dcudp;
    let header = DataHeader {
        sequence: super::number(words[0]),
        message: words[1] & max_message(dialect),
        place: match words[1] >> 30 {
            0 => Place::Middle,
            1 => Place::Last,
            2 => Place::First,
            _ => Place::Only,
        },
        in_order: words[1] & IN_ORDER != 0,
        observe: dcudp && words[1] & OBSERVE != 0,
        cwr: dcudp && words[1] & CWR != 0,
        length,
    };
    Ok(View {
        packet: Packet {
            timestamp: words[2],
            destination: words[3],
            content: Content::Data(header),
        },
        losses: None,
        handshake: None,
        payload,
    })
}
