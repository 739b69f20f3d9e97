//! Ten thousand idle connections on one endpoint: what they cost in memory. In a process of one test, whose
//! size is the measure.

use std::time::Duration;

use incastle_socket::{Connection, ConnectionConfig, Endpoint, EndpointConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const CONNECTIONS: usize = 10_000;
/// Bytes that an idle connection may take at one endpoint: half more than docs/socket.md states, 3.9 KB.
const MAX: usize = 5_900;

/// The resident size of this process in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.unwrap().split_whitespace().nth(1).unwrap();
    kilobytes.parse::<usize>().unwrap() * 1024
}

async fn exchange(client: &Connection, server: &Connection) {
    let mut received = [0; 2];
    client
        .send_stream()
        .unwrap()
        .write_all(b"ok")
        .await
        .unwrap();
    let mut stream = server.recv_stream().unwrap();
    stream.read_exact(&mut received).await.unwrap();
    assert_eq!(&received, b"ok");
}

#[test]
fn ten_thousand_idle_connections_take_little() {
    crate::alone::run("idle::measured");
}

#[test]
#[ignore = "measures its process: run by the test above"]
fn measured() {
    crate::run(async {
        let config = ConnectionConfig {
            idle_timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(60),
            ..ConnectionConfig::default()
        };
        let local = "127.0.0.1:0".parse().unwrap();
        let server = Endpoint::bind(local, EndpointConfig::default()).unwrap();
        let client = Endpoint::bind(local, EndpointConfig::default()).unwrap();
        let listener = server.listen(config.clone(), 100).unwrap();
        let peer = server.local_addr().unwrap();
        // The first connections bring the buffers that all share.
        let mut held = Vec::with_capacity(CONNECTIONS);
        let mut before = 0;
        while held.len() < CONNECTIONS {
            let (mine, theirs) = tokio::join!(client.connect(peer, &config), listener.accept());
            let (mine, theirs) = (mine.unwrap(), theirs.unwrap());
            exchange(&mine, &theirs).await;
            held.push((mine, theirs));
            if held.len() == 100 {
                before = resident();
            }
        }
        let grown = resident() - before;
        let each = grown / (2 * (CONNECTIONS - 100));
        println!("{each} bytes per connection and endpoint");
        assert!(each < MAX, "{each} bytes per connection and endpoint");
        assert_eq!(server.statistics().connections, CONNECTIONS);
        // They all live.
        for (mine, theirs) in held.iter().step_by(997) {
            exchange(theirs, mine).await;
        }
    });
}
