//! Connections that are over ask for nothing: how often the threads of a process wake for them. In a
//! process of one test, whose threads are counted.

use std::fs;
use std::time::Duration;

use incastle_socket::{ConnectionConfig, Control, Endpoint, EndpointConfig};

/// An endpoint whose alarm is always due wakes every 100 us: 10,000 times a second.
const MAX: u64 = 1_000;

/// How often the threads of this process have gone to sleep.
fn sleeps() -> u64 {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let of = |thread: fs::DirEntry| -> u64 {
        let text = fs::read_to_string(thread.path().join("status")).unwrap();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.unwrap().trim().parse().unwrap()
    };
    threads.map(|thread| of(thread.unwrap())).sum()
}

#[test]
fn endpoints_whose_shutdowns_cross_sleep() {
    crate::alone::run("ended::measured");
}

#[test]
#[ignore = "measures its process: run by the test above"]
fn measured() {
    crate::run(async {
        let config = ConnectionConfig {
            control: Control::Udt,
            ..ConnectionConfig::default()
        };
        let local = "127.0.0.1:0".parse().unwrap();
        let server = Endpoint::bind(local, EndpointConfig::default()).unwrap();
        let client = Endpoint::bind(local, EndpointConfig::default()).unwrap();
        let listener = server.listen(config.clone(), 1).unwrap();
        let peer = server.local_addr().unwrap();
        let (mine, theirs) = tokio::join!(client.connect(peer, &config), listener.accept());
        let (mine, theirs) = (mine.unwrap(), theirs.unwrap());
        let (one, other) = tokio::join!(mine.close(), theirs.close());
        assert_eq!((one, other), (Ok(()), Ok(())));
        // Until after a UDT end would be given up, and before it is forgotten.
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        let before = sleeps();
        tokio::time::sleep(Duration::from_millis(800)).await;
        let woken = sleeps() - before;
        assert!(woken < MAX, "woken {woken} times for nothing");
    });
}
