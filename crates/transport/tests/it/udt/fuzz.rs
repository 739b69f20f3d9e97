//! The fuzz targets of UDT without libFuzzer.

#[path = "../../../../../fuzz/udt.rs"]
mod body;

use crate::replay;

#[test]
fn any_bytes_are_a_packet_or_an_error() {
    replay::run("udt_parser", body::parser);
}

#[test]
fn a_connection_lives_through_anything() {
    replay::run("udt_connection", body::connection);
}
