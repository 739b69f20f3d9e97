//! The handshake: Noise_NNpsk0_25519_AESGCM_SHA256 (The Noise Protocol Framework, revision 34), by the
//! `snow` crate with the primitives of `ring` and `curve25519-dalek`.
//!
//! ```text
//! NNpsk0:  -> psk, e      the initiator's session index, sealed
//!          <- e, ee       the responder's
//! ```
//!
//! psk0 goes into the first key, so that a first message without it does not open: an endpoint without
//! the key gets no response. The two ephemeral keys make the session's: a later theft of the pre-shared
//! key reveals no earlier datagram.
//!
//! Leaves out: static keys, so there are no identities; payloads of the application, since the first
//! message could be replayed.

use curve25519_dalek::montgomery::MontgomeryPoint;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, UnboundKey};
use ring::digest;
use snow::params::{CipherChoice, DHChoice, HashChoice, NoiseParams};
use snow::resolvers::CryptoResolver;
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

use crate::chain;
use crate::key::{Key, Secret};
use crate::wire::{INDEX_BYTES, NOISE_BYTES, TAG_BYTES, VERSION};

const PATTERN: &str = "Noise_NNpsk0_25519_AESGCM_SHA256";
/// The prologue on which both endpoints must agree, unsent: the protocol and its version.
const PROLOGUE: &[u8] = &[b'D', b'C', b'U', b'D', b'P', VERSION];

/// An ephemeral public key, which identifies a handshake.
pub(crate) type PublicKey = [u8; 32];
/// A Noise message, and the ephemeral public key that it begins with.
pub(crate) type Message = [u8; NOISE_BYTES];

/// The keys that a handshake ends in, one for each direction (Noise, section 5.2, Split).
pub(crate) struct Split {
    /// The initiator seals with this.
    pub(crate) initiator: Secret,
    /// The responder with this.
    pub(crate) responder: Secret,
}

/// Makes handshakes under one key.
pub(crate) struct Noise {
    key: Key,
    params: NoiseParams,
}

/// A handshake that was begun here.
pub(crate) struct Initiator(HandshakeState);

/// The initiator's result of a handshake's second message.
pub(crate) struct Finished {
    /// The responder's session index.
    pub(crate) peer_index: u32,
    pub(crate) keys: Split,
}

/// The ephemeral public key of a message.
pub(crate) fn public_key(message: &Message) -> PublicKey {
    *message.first_chunk().expect("longer than a public key")
}

impl Noise {
    pub(crate) fn new(key: &Key) -> Self {
        Self {
            key: key.clone(),
            params: PATTERN.parse().expect("a pattern that snow knows"),
        }
    }

    /// Begins a handshake for a session of that index, with 32 random bytes for the ephemeral key.
    pub(crate) fn initiate(&self, index: u32, ephemeral: Secret) -> (Initiator, Message) {
        let mut state = self
            .builder(Some(ephemeral))
            .build_initiator()
            .expect("a complete handshake");
        let message = write(&mut state, index);
        (Initiator(state), message)
    }

    /// The initiator's session index, if the first message of a handshake is authentic. No Diffie-Hellman
    /// is done for it.
    pub(crate) fn authenticate(&self, message: &Message) -> Option<u32> {
        let mut state = self
            .builder(None)
            .build_responder()
            .expect("a complete handshake");
        read(&mut state, message)
    }

    /// The response to an authentic first message, by a session of that index.
    pub(crate) fn respond(
        &self,
        message: &Message,
        index: u32,
        ephemeral: Secret,
    ) -> Option<(Message, Split)> {
        let mut state = self
            .builder(Some(ephemeral))
            .build_responder()
            .expect("a complete handshake");
        read(&mut state, message)?;
        let message = write(&mut state, index);
        Some((message, split(&mut state)))
    }

    fn builder(&self, ephemeral: Option<Secret>) -> Builder<'_> {
        Builder::with_resolver(self.params.clone(), Box::new(Resolver { ephemeral }))
            .prologue(PROLOGUE)
            .and_then(|builder| builder.psk(0, self.key.bytes()))
            .expect("each is set once")
    }
}

impl Initiator {
    /// The responder's session index and the keys, if the second message is authentic. One that is not
    /// leaves the handshake as it was.
    pub(crate) fn finish(&mut self, message: &Message) -> Option<Finished> {
        let peer_index = read(&mut self.0, message)?;
        let keys = split(&mut self.0);
        Some(Finished { peer_index, keys })
    }
}

fn write(state: &mut HandshakeState, index: u32) -> Message {
    let mut message = [0; NOISE_BYTES];
    let written = state
        .write_message(&index.to_be_bytes(), &mut message)
        .expect("its turn, and room");
    assert_eq!(written, NOISE_BYTES, "both messages have one length");
    message
}

fn read(state: &mut HandshakeState, message: &Message) -> Option<u32> {
    let mut payload = [0; NOISE_BYTES];
    let length = state.read_message(message, &mut payload).ok()?;
    assert_eq!(length, INDEX_BYTES, "a message of one length");
    Some(u32::from_be_bytes([
        payload[0], payload[1], payload[2], payload[3],
    ]))
}

fn split(state: &mut HandshakeState) -> Split {
    let (initiator, responder) = state.dangerously_get_raw_split();
    Split {
        initiator: Zeroizing::new(initiator),
        responder: Zeroizing::new(responder),
    }
}

/// The primitives in snow's form, and random bytes that were drawn before.
struct Resolver {
    ephemeral: Option<Secret>,
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Drawn(self.ephemeral.clone())))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        (*choice == DHChoice::Curve25519).then(|| -> Box<dyn Dh> { Box::new(X25519::default()) })
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        (*choice == HashChoice::SHA256)
            .then(|| -> Box<dyn Hash> { Box::new(Sha256(digest::Context::new(&digest::SHA256))) })
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        (*choice == CipherChoice::AESGCM).then(|| -> Box<dyn Cipher> { Box::new(AesGcm(None)) })
    }
}

/// The 32 bytes of an ephemeral key, given out once.
struct Drawn(Option<Secret>);

impl Random for Drawn {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), snow::Error> {
        let bytes = self.0.take().ok_or(snow::Error::Rng)?;
        if dest.len() != bytes.len() {
            return Err(snow::Error::Rng);
        }
        dest.copy_from_slice(&*bytes);
        Ok(())
    }
}

/// RFC 7748, section 5.
#[derive(Default)]
struct X25519 {
    private: Secret,
    public: PublicKey,
}

impl Dh for X25519 {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        self.public.len()
    }

    fn priv_len(&self) -> usize {
        self.private.len()
    }

    fn set(&mut self, privkey: &[u8]) {
        self.private.copy_from_slice(privkey);
        self.public = MontgomeryPoint::mul_base_clamped(*self.private).to_bytes();
    }

    fn generate(&mut self, rng: &mut dyn Random) -> Result<(), snow::Error> {
        let mut bytes = Zeroizing::new([0; 32]);
        rng.try_fill_bytes(&mut *bytes)?;
        self.set(&*bytes);
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        &*self.private
    }

    fn dh(&self, pubkey: &[u8], out: &mut [u8]) -> Result<(), snow::Error> {
        // snow passes its whole buffer for keys of any curve.
        let point = MontgomeryPoint(*pubkey.first_chunk().ok_or(snow::Error::Dh)?);
        out[..32].copy_from_slice(&point.mul_clamped(*self.private).to_bytes());
        Ok(())
    }
}

struct Sha256(digest::Context);

impl Hash for Sha256 {
    fn name(&self) -> &'static str {
        "SHA256"
    }

    fn block_len(&self) -> usize {
        digest::SHA256.block_len()
    }

    fn hash_len(&self) -> usize {
        digest::SHA256_OUTPUT_LEN
    }

    fn reset(&mut self) {
        self.0 = digest::Context::new(&digest::SHA256);
    }

    fn input(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn result(&mut self, out: &mut [u8]) {
        let digest = self.0.clone().finish();
        out[..digest::SHA256_OUTPUT_LEN].copy_from_slice(digest.as_ref());
    }
}

/// AES-256-GCM; snow sets a key before it uses one.
struct AesGcm(Option<LessSafeKey>);

impl AesGcm {
    fn key(&self) -> &LessSafeKey {
        self.0.as_ref().expect("snow sets a key first")
    }
}

impl Cipher for AesGcm {
    fn name(&self) -> &'static str {
        "AESGCM"
    }

    fn set(&mut self, key: &[u8; 32]) {
        let key = UnboundKey::new(&AES_256_GCM, key).expect("a key of 32 bytes");
        self.0 = Some(LessSafeKey::new(key));
    }

    fn encrypt(&self, nonce: u64, authtext: &[u8], plaintext: &[u8], out: &mut [u8]) -> usize {
        let (bytes, rest) = out.split_at_mut(plaintext.len());
        bytes.copy_from_slice(plaintext);
        let tag = self
            .key()
            .seal_in_place_separate_tag(chain::nonce(nonce), Aad::from(authtext), bytes)
            .expect("a short plaintext");
        rest[..TAG_BYTES].copy_from_slice(tag.as_ref());
        plaintext.len() + TAG_BYTES
    }

    fn decrypt(
        &self,
        nonce: u64,
        authtext: &[u8],
        ciphertext: &[u8],
        out: &mut [u8],
    ) -> Result<usize, snow::Error> {
        let mut bytes = ciphertext.to_vec();
        let opened = self
            .key()
            .open_in_place(chain::nonce(nonce), Aad::from(authtext), &mut bytes)
            .map_err(|_| snow::Error::Decrypt)?;
        out[..opened.len()].copy_from_slice(opened);
        Ok(opened.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = hex.as_bytes().chunks(2);
        digits
            .map(|pair| {
                let pair = std::str::from_utf8(pair).expect("ASCII");
                u8::from_str_radix(pair, 16).expect("hexadecimal")
            })
            .collect()
    }

    fn secret(hex: &str) -> Secret {
        Zeroizing::new(bytes(hex).try_into().expect("32 bytes"))
    }

    const PSK: &str = "54686973206973206d7920417573747269616e20706572737065637469766521";
    const INITIATOR: &str = "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a";
    const RESPONDER: &str = "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b";

    fn state(ephemeral: &str, initiator: bool) -> HandshakeState {
        let psk: [u8; 32] = bytes(PSK).try_into().expect("32 bytes");
        let ephemeral = Some(secret(ephemeral));
        let params: NoiseParams = PATTERN.parse().expect("a pattern");
        let builder = Builder::with_resolver(params, Box::new(Resolver { ephemeral }))
            .prologue(b"John Galt")
            .expect("one prologue")
            .psk(0, &psk)
            .expect("one key");
        if initiator {
            builder.build_initiator().expect("an initiator")
        } else {
            builder.build_responder().expect("a responder")
        }
    }

    /// The vector of the cacophony suite for this pattern: both messages, then sealed ones in both directions
    /// with the split keys and our counters.
    #[test]
    fn the_published_vector() {
        let mut initiator = state(INITIATOR, true);
        let mut responder = state(RESPONDER, false);
        let (mut out, mut payload) = ([0; 200], [0; 200]);
        let first = bytes(
            "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944\
             7c37a89fc17813788d30df2d59501d6066f5f8aecc3406bbd9829f2d24a531b1",
        );
        let written = initiator
            .write_message(b"Ludwig von Mises", &mut out)
            .expect("its turn");
        assert_eq!(out[..written], first);
        let read = responder.read_message(&first, &mut payload).expect("valid");
        assert_eq!(&payload[..read], b"Ludwig von Mises");
        let second = bytes(
            "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843\
             2f29d79368ef9de4e1ae7a362fb05bf0ad668e026bf5714554497b3a720461",
        );
        let written = responder
            .write_message(b"Murray Rothbard", &mut out)
            .expect("its turn");
        assert_eq!(out[..written], second);
        initiator
            .read_message(&second, &mut payload)
            .expect("valid");

        let keys = split(&mut initiator);
        let same = split(&mut responder);
        assert_eq!(keys.initiator, same.initiator);
        assert_eq!(keys.responder, same.responder);
        let sealed = |secret: &Secret, counter, plaintext: &[u8]| {
            let mut plaintext = plaintext.to_vec();
            let tag = chain::cipher(secret)
                .seal_in_place_separate_tag(chain::nonce(counter), Aad::empty(), &mut plaintext)
                .expect("short");
            plaintext.extend_from_slice(tag.as_ref());
            plaintext
        };
        let expected = [
            (
                &keys.initiator,
                0,
                "F. A. Hayek",
                "7c01e898a6201f36aecee532e29cd0b7f8ffa29d3366ad0dce39a6",
            ),
            (
                &keys.responder,
                0,
                "Carl Menger",
                "a9ff535aace3db6a1da1a7fb00fe2de2622bb373abad9fb42c00e0",
            ),
            (
                &keys.initiator,
                1,
                "Jean-Baptiste Say",
                "6cfc49a3e65472edc2d0152abe5ce950170a8a47c959f30bd48b5f0aacf29adbfd",
            ),
        ];
        for (secret, counter, text, ciphertext) in expected {
            assert_eq!(
                sealed(secret, counter, text.as_bytes()),
                bytes(ciphertext),
                "{text}"
            );
        }
    }

    /// Our step of the chain of keys is snow's REKEY.
    #[test]
    fn the_chain_steps_as_snow_does() {
        let (mut out, mut payload) = ([0; 200], [0; 200]);
        let mut initiator = state(INITIATOR, true);
        let mut responder = state(RESPONDER, false);
        let length = initiator.write_message(&[], &mut out).expect("its turn");
        responder
            .read_message(&out[..length], &mut payload)
            .expect("valid");
        let length = responder.write_message(&[], &mut out).expect("its turn");
        initiator
            .read_message(&out[..length], &mut payload)
            .expect("valid");
        let keys = split(&mut initiator);
        let mut transport = initiator.into_stateless_transport_mode().expect("done");
        transport.rekey_outgoing();
        let length = transport
            .write_message(5, b"after", &mut out)
            .expect("room");
        let second = chain::cipher(&chain::next(&keys.initiator));
        let opened = second
            .open_in_place(chain::nonce(5), Aad::empty(), &mut out[..length])
            .expect("authentic");
        assert_eq!(opened, b"after");
    }

    fn drawn(byte: u8) -> Secret {
        Zeroizing::new([byte; 32])
    }

    /// The bytes that another implementation of the pattern computes (Python's hmac and cryptography): the
    /// places of prologue, key and payload are Noise's.
    #[test]
    fn our_first_message_byte_by_byte() {
        let noise = Noise::new(&Key::new([1; 32]));
        let (_, first) = noise.initiate(77, drawn(2));
        let expected = bytes(
            "ce8d3ad1ccb633ec7b70c17814a5c76ecd029685050d344745ba05870e587d59\
             929ba52540c19421a184d42f11e2f58de12d7f6e",
        );
        assert_eq!(first[..], expected);
    }

    #[test]
    fn both_endpoints_agree_on_keys_and_indices() {
        let noise = Noise::new(&Key::new([1; 32]));
        let (mut initiator, first) = noise.initiate(77, drawn(2));
        assert_eq!(noise.authenticate(&first), Some(77));
        let (second, theirs) = noise.respond(&first, 88, drawn(3)).expect("authentic");
        let finished = initiator.finish(&second).expect("authentic");
        assert_eq!(finished.peer_index, 88);
        let ours = finished.keys;
        assert_eq!(ours.initiator, theirs.initiator);
        assert_eq!(ours.responder, theirs.responder);
        assert_ne!(ours.initiator, ours.responder);
    }

    #[test]
    fn a_flipped_bit_or_another_key_opens_nothing_and_harms_nothing() {
        let noise = Noise::new(&Key::new([1; 32]));
        let (mut initiator, first) = noise.initiate(77, drawn(2));
        let other = Noise::new(&Key::new([9; 32]));
        assert_eq!(other.authenticate(&first), None);
        let (second, _) = noise.respond(&first, 88, drawn(3)).expect("authentic");
        for bit in 0..NOISE_BYTES * 8 {
            let flip = |message: &Message| {
                let mut message = *message;
                message[bit / 8] ^= 1 << (bit % 8);
                message
            };
            assert_eq!(noise.authenticate(&flip(&first)), None, "bit {bit}");
            // The top bit of a public key of Curve25519 is masked (RFC 7748, section 5), but the message
            // is hashed as it came.
            assert!(initiator.finish(&flip(&second)).is_none(), "bit {bit}");
        }
        assert!(initiator.finish(&second).is_some(), "still as it was");
    }
}
