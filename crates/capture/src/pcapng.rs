//! A file in pcapng: one section, an interface for each link, a block for each frame, names of hosts.
//!
//! Source: draft-ietf-opsawg-pcapng, sections 4.1 (section header), 4.2 (interface description), 4.3
//! (enhanced packet), 4.5 (name resolution). Little-endian, times in nanoseconds.
//! Leaves out: statistics, comments, several sections.

use incastle_units::{Rate, Time};

use crate::{Frame, Host};

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const NAMES: u32 = 4;
const ENHANCED_PACKET: u32 = 6;
/// The byte-order magic.
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
/// LINKTYPE_ETHERNET.
const ETHERNET: u16 = 1;
const PS_PER_NS: u64 = 1_000;

/// Options: the writing program; name, speed and timestamp resolution of an interface.
const APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_SPEED: u16 = 8;
const IF_TSRESOL: u16 = 9;
const END: [u8; 4] = [0; 4];
/// A name record of an IPv4 address.
const IPV4: u16 = 1;
/// Longer names are cut: the lengths of options have 16 bits.
const MAX_NAME: usize = 1_000;

/// The file.
#[derive(Debug, Clone)]
pub struct Pcapng {
    bytes: Vec<u8>,
    interfaces: u32,
    snap: u32,
}

impl Pcapng {
    /// A file with a snap length of `snap` bytes.
    pub fn new(application: &str, snap: u32) -> Self {
        let mut file = Self {
            bytes: Vec::new(),
            interfaces: 0,
            snap,
        };
        file.block(SECTION_HEADER, |body| {
            body.extend(BYTE_ORDER.to_le_bytes());
            // Version 1.0, section length unspecified.
            body.extend([1, 0, 0, 0]);
            body.extend((-1_i64).to_le_bytes());
            option(APPLICATION, cut(application).as_bytes(), body);
            body.extend(END);
        });
        file
    }

    /// Adds an interface, the sending port of a link; returns its number.
    pub fn interface(&mut self, name: &str, rate: Rate) -> u32 {
        let snap = self.snap;
        self.block(INTERFACE, |body| {
            body.extend(ETHERNET.to_le_bytes());
            body.extend([0; 2]);
            body.extend(snap.to_le_bytes());
            option(IF_NAME, cut(name).as_bytes(), body);
            option(IF_SPEED, &rate.bits_per_second().to_le_bytes(), body);
            // Powers of ten: 10^-9.
            option(IF_TSRESOL, &[9], body);
            body.extend(END);
        });
        self.interfaces += 1;
        self.interfaces - 1
    }

    /// Adds a host's name, which readers may show in place of its address from here on.
    pub fn host(&mut self, host: Host, name: &str) {
        self.block(NAMES, |body| {
            let name = cut(name).as_bytes();
            body.extend(IPV4.to_le_bytes());
            body.extend((4 + name.len() as u16 + 1).to_le_bytes());
            body.extend(host.ip());
            body.extend(name);
            body.push(0);
            pad(body);
            body.extend(END);
        });
    }

    /// Adds a frame that has left an interface. Its time is truncated to nanoseconds.
    pub fn frame(&mut self, interface: u32, at: Time, frame: &Frame) {
        assert!(interface < self.interfaces, "an interface that was added");
        let kept = frame.length().min(self.snap as usize);
        let ns = at.as_ps() / PS_PER_NS;
        self.block(ENHANCED_PACKET, |body| {
            let length = frame.length() as u32;
            for word in [interface, (ns >> 32) as u32, ns as u32, kept as u32, length] {
                body.extend(word.to_le_bytes());
            }
            frame.append_to(body, kept);
        });
    }

    /// The bytes of the file.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// A block has its type and length before its body, and the length once more behind.
    fn block(&mut self, kind: u32, write: impl FnOnce(&mut Vec<u8>)) {
        let mut body = Vec::with_capacity(256);
        write(&mut body);
        pad(&mut body);
        let length = body.len() as u32 + 12;
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(body);
        self.bytes.extend(length.to_le_bytes());
    }
}

fn option(code: u16, value: &[u8], body: &mut Vec<u8>) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

/// Everything is padded to 32 bits.
fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

/// A name up to its first zero, which would end it, and to the maximum length.
fn cut(name: &str) -> &str {
    let name = name.split('\0').next().unwrap_or_default();
    let ends = name.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| *end <= MAX_NAME).last();
    &name[..end.unwrap_or(0)]
}
