//! The keys of one direction: each seals one epoch of counters, and the next follows from it.
//!
//! RFC 9001, section 6.6: AES-GCM keeps its promise of confidentiality for 2^23 packets of any size under
//! one key. An epoch has half of that. The counter goes on across epochs, so both endpoints read the epoch
//! from it, and nothing has to be agreed. The step is Noise's REKEY (section 4.2), which cannot be
//! reversed: who takes a key reads no earlier epoch.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, Tag, UnboundKey};
use zeroize::Zeroizing;

use crate::key::Secret;
use crate::wire::HEADER_BYTES;

/// Packets that are sealed under one key.
pub(crate) const EPOCH: u64 = 1 << 22;

/// The epoch of a counter.
pub(crate) const fn epoch(counter: u64) -> u64 {
    counter / EPOCH
}

/// The cipher of one epoch.
pub(crate) fn cipher(secret: &Secret) -> LessSafeKey {
    let key = UnboundKey::new(&AES_256_GCM, &**secret).expect("a key of 32 bytes");
    LessSafeKey::new(key)
}

/// Noise, section 4.2: REKEY(k) = the first 32 bytes of ENCRYPT(k, 2^64 - 1, empty, 32 zeros).
pub(crate) fn next(secret: &Secret) -> Secret {
    let mut zeros = Zeroizing::new([0; 32]);
    let nonce = nonce(u64::MAX);
    let _tag = cipher(secret)
        .seal_in_place_separate_tag(nonce, Aad::empty(), &mut *zeros)
        .expect("a short plaintext");
    zeros
}

/// Noise, section 12.4: 32 zero bits and the counter, big-endian.
pub(crate) fn nonce(counter: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&counter.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// Seals a plaintext in place. No counter is ever used twice under one key.
pub(crate) fn seal(
    key: &LessSafeKey,
    counter: u64,
    header: [u8; HEADER_BYTES],
    plaintext: &mut [u8],
) -> Tag {
    key.seal_in_place_separate_tag(nonce(counter), Aad::from(header), plaintext)
        .expect("a datagram is no longer than AES-GCM takes")
}

/// Opens a ciphertext with its tag in place; returns its length without the tag, if it is
/// authentic.
pub(crate) fn open(
    key: &LessSafeKey,
    counter: u64,
    header: [u8; HEADER_BYTES],
    sealed: &mut [u8],
) -> Option<usize> {
    key.open_in_place(nonce(counter), Aad::from(header), sealed)
        .ok()
        .map(|plaintext| plaintext.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_looks_random() {
        let first = Zeroizing::new([7; 32]);
        let second = next(&first);
        let third = next(&second);
        assert_ne!(first, second);
        assert_ne!(second, third);
        assert_eq!(next(&first), second, "both endpoints step alike");
    }

    /// RFC 9001, section 6.6, and the largest nonce is REKEY's alone.
    #[test]
    fn the_limits_hold() {
        const { assert!(EPOCH <= 1 << 23) };
        const { assert!(crate::wire::MAX_COUNTER < u64::MAX) };
        assert_eq!(epoch(EPOCH - 1), 0);
        assert_eq!(epoch(EPOCH), 1);
    }
}
