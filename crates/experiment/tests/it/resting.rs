//! Applications that write more than leaves rest while as much waits: nothing may differ from writing all the time.
//! Flows that are watched write all the time.

use crate::common::{result, star_with, whole};

/// Three times what the receiver's link carries, in periods and without a pause; one application stops early.
const TOO_MUCH: &str = r#"
[switch.queue]
kind = "threshold"
marking_threshold = "15 packets"
[host]
jitter = "1 us"
[network.links.senders]
rate = "10 Gbit/s"
[flows.steady]
workload = "cbr"
from = "senders"
to = "receiver"
count = 2
rate = "1500 Mbit/s"
[flows.stopping]
workload = "cbr"
from = "sender:2"
to = "receiver"
rate = "900 Mbit/s"
message = "100 kB"
stop = "123456789 ps"
[flows.periods]
workload = "on-off"
from = "sender:3"
to = "receiver"
rate = "2 Gbit/s"
on = "20 ms"
off = "5 ms"
"#;

const WATCHED: &str = r#"
[measure]
window = ["steady", "stopping", "periods"]
"#;

#[test]
fn resting_changes_nothing() {
    // Some of these controls read how much waits, or pace: their applications must not rest.
    for transport in [
        "congestion = \"dctcp\"",
        "congestion = \"d2tcp\"",
        "congestion = \"bbr\"",
        "congestion = \"swift\"",
        "congestion = \"prague\"",
        "congestion = \"cubic\"\npacing = true",
        "congestion = \"dt-cwa\"",
        "preset = \"linux\"",
        "preset = \"ns-2-2010\"",
        "kind = \"udt\"",
        "kind = \"udt\"\ncongestion = \"dctcp\"",
        "kind = \"dcudp\"\ncongestion = \"dcudp-r\"",
        "kind = \"dcudp\"",
        "kind = \"dcudp\"\nreadings = { backlog = \"app-rate\" }",
        "kind = \"udt\"\nsend_buffer = \"64 KiB\"",
    ] {
        let text = star_with("").replace("handshake = false", transport) + TOO_MUCH;
        let sets = [("run.duration", "200 ms")];
        let resting = result(&text, &sets);
        let writing = result(&(text.clone() + WATCHED), &sets);
        assert_eq!(resting.digest, writing.digest, "{transport}");
        for column in ["delivered_bytes", "packets"] {
            assert_eq!(
                whole(&resting, "flows", column),
                whole(&writing, "flows", column),
                "{transport}"
            );
        }
    }
}
