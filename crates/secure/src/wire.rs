//! The datagrams of an endpoint with a key: two of the handshake, and sealed ones.
//!
//! ```text
//! handshake  0xD1 or 0xD2 | version | 0 | 0 | Noise message: e (32), sealed session index (4), tag (16)
//! sealed     0xD3 | counter (56 bits) | receiver's session index (32 bits) | ciphertext | tag (16)
//! ```
//!
//! The first bit is set and the 15 after it are no type of UDT's. An endpoint without a key therefore
//! takes each of them for a control packet of unknown type.

use crate::statistics::Reason;

/// Bytes before the ciphertext of a sealed datagram.
pub const HEADER_BYTES: usize = 12;
/// Bytes of the authentication tag behind it.
pub const TAG_BYTES: usize = 16;
/// The bytes that sealing adds to a datagram.
pub const OVERHEAD: usize = HEADER_BYTES + TAG_BYTES;

/// The version of the format, which the handshake authenticates too.
pub(crate) const VERSION: u8 = 1;
/// Both handshake datagrams. That they are equally long makes the factor of amplification 1.
pub(crate) const HANDSHAKE_BYTES: usize = HANDSHAKE_HEADER_BYTES + NOISE_BYTES;
/// A Noise message: an ephemeral public key, and a session index that is sealed.
pub(crate) const NOISE_BYTES: usize = 32 + INDEX_BYTES + TAG_BYTES;
/// A session index.
pub(crate) const INDEX_BYTES: usize = 4;
/// Counters are below this.
pub(crate) const MAX_COUNTER: u64 = 1 << 56;

const HANDSHAKE_HEADER_BYTES: usize = 4;
const INITIATION: u8 = 0xD1;
const RESPONSE: u8 = 0xD2;
const SEALED: u8 = 0xD3;

/// A datagram by its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Datagram<'a> {
    /// The first message of a handshake.
    Initiation(&'a [u8; NOISE_BYTES]),
    /// The second.
    Response(&'a [u8; NOISE_BYTES]),
    /// Sealed by a session.
    Sealed { counter: u64, index: u32 },
}

/// Reads a datagram's header.
pub(crate) fn parse(datagram: &[u8]) -> Result<Datagram<'_>, Reason> {
    match datagram.first() {
        Some(&SEALED) if datagram.len() >= OVERHEAD => Ok(sealed(datagram)),
        Some(&kind @ (INITIATION | RESPONSE)) if datagram.len() == HANDSHAKE_BYTES => {
            handshake(kind, datagram)
        }
        _ => Err(Reason::Malformed),
    }
}

fn sealed(datagram: &[u8]) -> Datagram<'_> {
    let first = u64::from_be_bytes(*datagram.first_chunk().expect("the length was checked"));
    let index = datagram[8..].first_chunk().expect("the length was checked");
    Datagram::Sealed {
        counter: first & (MAX_COUNTER - 1),
        index: u32::from_be_bytes(*index),
    }
}

fn handshake(kind: u8, datagram: &[u8]) -> Result<Datagram<'_>, Reason> {
    let (header, message) = datagram.split_at(HANDSHAKE_HEADER_BYTES);
    let message = message.first_chunk().expect("the length was checked");
    match (header, kind) {
        ([_, VERSION, 0, 0], INITIATION) => Ok(Datagram::Initiation(message)),
        ([_, VERSION, 0, 0], _) => Ok(Datagram::Response(message)),
        ([_, VERSION, ..], _) => Err(Reason::Malformed),
        _ => Err(Reason::Version),
    }
}

/// The header of a sealed datagram. It is authenticated with the ciphertext.
pub(crate) fn sealed_header(counter: u64, index: u32) -> [u8; HEADER_BYTES] {
    assert!(counter < MAX_COUNTER, "a counter has 56 bits");
    let first = (u64::from(SEALED) << 56) | counter;
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&first.to_be_bytes());
    header[8..].copy_from_slice(&index.to_be_bytes());
    header
}

/// The first datagram of a handshake.
pub(crate) fn initiation(message: &[u8; NOISE_BYTES]) -> [u8; HANDSHAKE_BYTES] {
    handshake_datagram(INITIATION, message)
}

/// The second.
pub(crate) fn response(message: &[u8; NOISE_BYTES]) -> [u8; HANDSHAKE_BYTES] {
    handshake_datagram(RESPONSE, message)
}

fn handshake_datagram(kind: u8, message: &[u8; NOISE_BYTES]) -> [u8; HANDSHAKE_BYTES] {
    let mut datagram = [0; HANDSHAKE_BYTES];
    datagram[..HANDSHAKE_HEADER_BYTES].copy_from_slice(&[kind, VERSION, 0, 0]);
    datagram[HANDSHAKE_HEADER_BYTES..].copy_from_slice(message);
    datagram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_header_bit_by_bit() {
        let header = sealed_header(0x0012_3456_789A_BCDE, 0xCAFE_F00D);
        let bytes = [
            0xD3, 0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xCA, 0xFE, 0xF0, 0x0D,
        ];
        assert_eq!(header, bytes);
        let mut datagram = bytes.to_vec();
        datagram.resize(OVERHEAD, 0);
        let expected = Datagram::Sealed {
            counter: 0x0012_3456_789A_BCDE,
            index: 0xCAFE_F00D,
        };
        assert_eq!(parse(&datagram), Ok(expected));
        assert_eq!(parse(&datagram[..OVERHEAD - 1]), Err(Reason::Malformed));
    }

    #[test]
    fn a_handshake_has_one_length_and_one_version() {
        let message = [9; NOISE_BYTES];
        let datagram = initiation(&message);
        assert_eq!(datagram.len(), 56);
        assert_eq!(datagram[..5], [0xD1, 1, 0, 0, 9]);
        assert_eq!(parse(&datagram), Ok(Datagram::Initiation(&message)));
        assert_eq!(parse(&response(&message)), Ok(Datagram::Response(&message)));
        assert_eq!(parse(&datagram[..55]), Err(Reason::Malformed));
        assert_eq!(
            parse(&[&datagram[..], &[0]].concat()),
            Err(Reason::Malformed)
        );
        let mut other = datagram;
        other[1] = 2;
        assert_eq!(parse(&other), Err(Reason::Version));
        for reserved in [2, 3] {
            let mut other = datagram;
            other[reserved] = 1;
            assert_eq!(parse(&other), Err(Reason::Malformed));
        }
    }
}
