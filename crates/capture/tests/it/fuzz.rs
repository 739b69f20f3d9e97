//! The fuzz target of captures without libFuzzer. `PCAP_FUZZ=1000000` generates that many inputs.

#[path = "../../../../fuzz/pcap.rs"]
mod body;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

#[test]
fn what_is_written_is_read_back() {
    replay::run("pcap", "PCAP_FUZZ", body::pcap);
}
