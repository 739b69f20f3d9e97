//! Connections whose time is slower than real time, and those whose control the program makes. The only time that is
//! asserted is the least that a rate allows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use incastle_congestion::NamedController;
use incastle_socket::{ConnectionConfig, Control, Endpoint, EndpointConfig, OwnControl, Rate};
use incastle_transport::udt::{Accurate, Config};

use super::world::{data, read, write};
use crate::run;

/// 100 KB at 8 Mbit/s: 100 ms of the connection.
const BYTES: usize = 100_000;
const DILATION: u32 = 5;

/// DCTCP, with a count of the controllers that were made.
fn own(made: &Arc<AtomicU32>) -> OwnControl {
    let made = Arc::clone(made);
    let capacity = Rate::from_bits_per_second(1_000_000_000);
    OwnControl {
        config: Config::windowed(capacity, Accurate::default()),
        controller: Arc::new(move |payload| {
            made.fetch_add(1, Ordering::Relaxed);
            NamedController::Dctcp.algorithm(payload)
        }),
    }
}

#[test]
fn a_dilated_connection_with_the_programs_own_control_sends_at_a_divided_rate() {
    run(async {
        let slow = EndpointConfig {
            dilation: DILATION,
            ..EndpointConfig::default()
        };
        let made = Arc::new(AtomicU32::new(0));
        let config = ConnectionConfig {
            control: Control::Named(NamedController::Dctcp),
            own: Some(own(&made)),
            rate_limit: Some(Rate::from_bits_per_second(8_000_000)),
            ..ConnectionConfig::default()
        };
        let address = "127.0.0.1:0".parse().unwrap();
        let (a, b) = (
            Endpoint::bind(address, slow.clone()).unwrap(),
            Endpoint::bind(address, slow).unwrap(),
        );
        let listener = a.listen(config.clone(), 1).unwrap();
        let peer = a.local_addr().unwrap();
        let (client, server) = tokio::join!(b.connect(peer, &config), listener.accept());
        let (client, server) = (client.unwrap(), server.unwrap());
        assert_eq!(made.load(Ordering::Relaxed), 2);
        let began = Instant::now();
        let bytes = data(BYTES, 3);
        let ((), received) = tokio::join!(write(&client, &bytes), read(&server, bytes.len()));
        assert!(received == bytes, "the same bytes");
        // 500 ms; the pacer catches up a little.
        assert!(began.elapsed() > Duration::from_millis(400));
        let statistics = client.statistics();
        assert!(statistics.window.cwnd.is_some_and(|bytes| bytes >= 1456));
        assert!(statistics.window.alpha.is_some());
        let counts = statistics.reported.expect("ACKs are accurate");
        assert!(counts.arrived > 0 && counts.ce == 0);
    });
}
