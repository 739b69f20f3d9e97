//! What liars send to a real socket: off the path, on it, and in floods. Nothing has an effect but on
//! counters, nothing is kept of a peer that has not returned its cookie, nothing is answered with more
//! than it sent. Packets are written word by word here, not by the code under test; what a sans-IO
//! connection alone decides has more cases in `crates/transport/tests/it/udt/forged.rs`.

mod connections;
mod floods;
mod raw;
