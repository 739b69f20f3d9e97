//! The fuzz target of TCP without libFuzzer. `TCP_FUZZ=1000000` generates that many inputs.

#[path = "../../../../../fuzz/tcp.rs"]
mod body;

use crate::replay;

#[test]
fn a_connection_lives_through_any_segments() {
    replay::run("tcp_connection", "TCP_FUZZ", body::connection);
}
