//! Two endpoints on the loopback interface, and data that can be checked.

use std::net::SocketAddr;

use incastle_socket::{
    Connection, ConnectionConfig, Control, Endpoint, EndpointConfig, Event, Events, Key, Listener,
    SocketKind,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

pub(crate) const V4: &str = "127.0.0.1:0";
pub(crate) const V6: &str = "[::1]:0";

pub(crate) fn endpoint(address: &str) -> Endpoint {
    Endpoint::bind(address.parse().unwrap(), EndpointConfig::default()).unwrap()
}

/// An endpoint with the key of 32 such bytes.
pub(crate) fn endpoint_with_key(address: &str, byte: u8) -> Endpoint {
    let config = EndpointConfig {
        key: Some(Key::new([byte; 32])),
        ..EndpointConfig::default()
    };
    Endpoint::bind(address.parse().unwrap(), config).unwrap()
}

pub(crate) fn config(control: Control, kind: SocketKind) -> ConnectionConfig {
    ConnectionConfig {
        control,
        kind,
        ..ConnectionConfig::default()
    }
}

/// A listening endpoint, and its address.
pub(crate) fn listen(config: &ConnectionConfig, address: &str) -> (Endpoint, Listener, SocketAddr) {
    let server = endpoint(address);
    let listener = server.listen(config.clone(), 64).unwrap();
    let address = server.local_addr().unwrap();
    (server, listener, address)
}

/// A connection between two endpoints: the client's end and the server's, which keep their endpoints
/// alive.
pub(crate) async fn pair(config: &ConnectionConfig, address: &str) -> (Connection, Connection) {
    let (_server, listener, peer) = listen(config, address);
    let client = endpoint(address);
    let (mine, theirs) = tokio::join!(client.connect(peer, config), listener.accept());
    (mine.unwrap(), theirs.unwrap())
}

/// Bytes that differ at every place of any period that matters here.
pub(crate) fn data(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let next = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..length).map(next).collect()
}

pub(crate) async fn write(connection: &Connection, bytes: &[u8]) {
    let mut stream = connection.send_stream().unwrap();
    stream.write_all(bytes).await.unwrap();
}

/// Reads as many bytes as are expected.
pub(crate) async fn read(connection: &Connection, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    let mut stream = connection.recv_stream().unwrap();
    stream.read_exact(&mut bytes).await.unwrap();
    bytes
}

/// Reads until the peer closes.
pub(crate) async fn read_all(connection: &Connection) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut stream = connection.recv_stream().unwrap();
    stream.read_to_end(&mut bytes).await.unwrap();
    bytes
}

/// Sends data from the client and half as much from the server, and closes both.
pub(crate) async fn exchange(client: Connection, server: Connection, bytes: usize) {
    let (there, back) = (data(bytes, 1), data(bytes / 2, 2));
    let ((), (), received, returned) = tokio::join!(
        write(&client, &there),
        write(&server, &back),
        read(&server, there.len()),
        read(&client, back.len()),
    );
    assert!(received == there && returned == back, "the same bytes");
    let (ended, rest) = tokio::join!(client.close(), read_all(&server));
    assert_eq!((ended, rest.len()), (Ok(()), 0));
    assert_eq!(server.close().await, Ok(()));
}

/// The next event that is no change of mode: a machine that is late loses packets, and DCUDP answers that.
pub(crate) async fn next_event(events: &mut Events) -> Option<Event> {
    loop {
        match events.next().await {
            Some(Event::Mode(_)) => {}
            event => return event,
        }
    }
}
