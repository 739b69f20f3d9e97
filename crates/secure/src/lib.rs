//! Encryption and authentication of an endpoint's datagrams under a pre-shared key: a Noise handshake
//! (NNpsk0), then one AES-256-GCM packet per datagram. A datagram that an endpoint with a key cannot
//! authenticate has no response and changes nothing but a counter.
//!
//! From: the Noise Protocol Framework, revision 34; RFC 9001, section 6.6 (limits of AEAD keys); RFC 6479
//! (the window of seen numbers). The format is in docs/models/dcudp-secure.md.
//!
//! [`Sessions`] owns no clock, socket or random source. Its driver calls, in this order:
//!
//! - [`Sessions::open`] with each datagram that arrived;
//! - [`Sessions::handle_timeout`] once [`Sessions::poll_timeout`] has come;
//! - [`Sessions::seal`] with datagrams to be sent;
//! - [`Sessions::poll_transmit`] after each of these, until it gives nothing.
//!
//! Leaves out: identities (every holder of the key is trusted, and all are alike), hiding of lengths
//! and times, protection against a stolen memory image.

mod chain;
mod key;
mod noise;
mod seen;
mod session;
mod sessions;
mod statistics;
mod table;
mod window;
mod wire;

pub use key::Key;
pub use sessions::{Batch, Opened, Path, Sealed, Sessions, Transmit};
pub use statistics::{Ignored, Reason, Statistics};
pub use wire::{HEADER_BYTES, OVERHEAD, TAG_BYTES};
