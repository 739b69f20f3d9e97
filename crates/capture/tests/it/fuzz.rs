//! The fuzz target of captures without libFuzzer.

#[path = "../../../../fuzz/pcap.rs"]
mod body;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

#[test]
fn what_is_written_is_read_back() {
    replay::run("pcap", body::pcap);
}
