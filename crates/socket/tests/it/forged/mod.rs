//! Forged packets sent to a real socket: by off-path and on-path attackers, and in floods. They change
//! counters alone; a peer without a returned cookie takes no memory; no reply is longer than its
//! request. Packets are encoded here, not by the code under test. `crates/transport/tests/it/udt/forged.rs`
//! has more cases for the sans-IO connection.

mod connections;
mod floods;
mod raw;
