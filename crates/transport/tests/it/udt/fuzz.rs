//! The fuzz targets of UDT without libFuzzer. `UDT_FUZZ=1000000` generates that many inputs for each.

#[path = "../../../../../fuzz/udt.rs"]
mod body;

use crate::replay;

#[test]
fn any_bytes_are_a_packet_or_an_error() {
    replay::run("udt_parser", "UDT_FUZZ", body::parser);
}

#[test]
fn a_connection_lives_through_anything() {
    replay::run("udt_connection", "UDT_FUZZ", body::connection);
}
