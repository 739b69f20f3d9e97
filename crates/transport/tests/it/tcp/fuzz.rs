//! The fuzz target of TCP without libFuzzer.

#[path = "../../../../../fuzz/tcp.rs"]
mod body;

use crate::replay;

#[test]
fn a_connection_lives_through_any_segments() {
    replay::run("tcp_connection", body::connection);
}
