//! Time stamps of datagrams, which leave no room for the ECN field.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use incastle_socket::{
    Connection, ConnectionConfig, Control, Endpoint, EndpointConfig, Event, Rate, SocketKind,
};

use crate::run;

use super::world::{V4, config, data, endpoint, listen, next_event, read, read_all, write};

const MEGABYTE: usize = 1 << 20;
/// Faster than any packets arrive.
const INTERFACE: Rate = Rate::from_bits_per_second(1_000_000_000_000_000);

async fn one_way(from: &Connection, to: &Connection) {
    let bytes = data(4 * MEGABYTE, 3);
    let ((), received) = tokio::join!(write(from, &bytes), read(to, bytes.len()));
    assert!(received == bytes);
    from.flush().await.unwrap();
}

/// Datagrams are not joined.
fn plain() -> EndpointConfig {
    EndpointConfig {
        offload: false,
        ..EndpointConfig::default()
    }
}

fn udt(interface: Rate) -> ConnectionConfig {
    ConnectionConfig {
        capacity: Some(interface),
        rate_limit: Some(mbit(100)),
        ..config(Control::Udt, SocketKind::Stream)
    }
}

const fn mbit(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate * 1_000_000)
}

/// A server in a runtime of one thread, which another task blocks for 3 ms at a time. Its endpoint then reads
/// some 25 packets at once.
fn late_server(config: ConnectionConfig, bytes: usize) -> (SocketAddr, JoinHandle<()>) {
    let (tell, told) = mpsc::channel();
    let server = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let endpoint = Endpoint::bind(V4.parse().unwrap(), plain()).unwrap();
            let listener = endpoint.listen(config, 1).unwrap();
            tell.send(endpoint.local_addr().unwrap()).unwrap();
            tokio::spawn(async {
                loop {
                    std::thread::sleep(Duration::from_millis(3));
                    tokio::task::yield_now().await;
                }
            });
            let connection = listener.accept().await.unwrap();
            read(&connection, bytes).await;
            assert!(read_all(&connection).await.is_empty());
        });
    });
    (told.recv().unwrap(), server)
}

/// A sender's estimates of the path to such a server.
async fn known(interface: Rate) -> (Option<Rate>, Option<Rate>) {
    let bytes = data(2 * MEGABYTE, 3);
    let (peer, server) = late_server(udt(interface), bytes.len());
    let client = Endpoint::bind(V4.parse().unwrap(), plain()).unwrap();
    let connection = client.connect(peer, &udt(interface)).await.unwrap();
    write(&connection, &bytes).await;
    connection.flush().await.unwrap();
    let statistics = connection.statistics();
    connection.close().await.unwrap();
    server.join().unwrap();
    (statistics.receiving_rate, statistics.path_capacity)
}

#[test]
fn a_server_that_reads_late_measures_the_path_all_the_same() {
    run(async {
        let (receiving, capacity) = known(INTERFACE).await;
        assert!(receiving.is_some());
        // The second packet of each pair leaves at once. By when they are read, pairs would be 3 ms
        // apart, 4 Mbit/s, or at one instant.
        assert!(
            capacity > Some(mbit(50)) && capacity < Some(INTERFACE),
            "{capacity:?}"
        );
        // The interface's rate bounds it.
        assert_eq!(known(mbit(1)).await.1, Some(mbit(1)));
    });
}

#[test]
fn an_endpoint_of_both_controls_reads_the_ecn_field() {
    run(async {
        let (udt, dcudp) = (
            config(Control::Udt, SocketKind::Stream),
            ConnectionConfig::default(),
        );
        let client = endpoint(V4);
        let (_one, plain, peer) = listen(&udt, V4);
        let (first, accepted) = tokio::join!(client.connect(peer, &udt), plain.accept());
        let (first, accepted) = (first.unwrap(), accepted.unwrap());
        one_way(&accepted, &first).await;
        // Joined datagrams of this one arrive where those of the other were stamped.
        let (_other, listener, peer) = listen(&dcudp, V4);
        let (mine, theirs) = tokio::join!(client.connect(peer, &dcudp), listener.accept());
        let (mine, theirs) = (mine.unwrap(), theirs.unwrap());
        let mut events = theirs.events();
        one_way(&theirs, &mine).await;
        assert_eq!(next_event(&mut events).await, Some(Event::EcnVerified));
        assert_eq!(theirs.statistics().control, Control::Dcudp);
        one_way(&accepted, &first).await;
    });
}
