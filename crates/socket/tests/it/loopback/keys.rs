//! Endpoints with a key: the same connections, sealed; another key, or none; a network in between that
//! looks, damages, repeats and invents.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use incastle_socket::{
    ConnectError, ConnectionConfig, Control, Endpoint, MessageOptions, SessionStatistics,
    SocketKind,
};

use crate::run;

use super::world::{
    V4, V6, config, data, endpoint, endpoint_with_key, exchange, read, read_all, write,
};

const MEGABYTE: usize = 1 << 20;
const KEY: u8 = 7;

fn sessions(endpoint: &Endpoint) -> SessionStatistics {
    endpoint.statistics().sessions.unwrap()
}

/// A configuration with a connect timeout short enough for a test.
fn impatient() -> ConnectionConfig {
    ConnectionConfig {
        connect_timeout: Duration::from_secs(2),
        ..ConnectionConfig::default()
    }
}

async fn stream_both_directions(control: Control, address: &str) {
    let config = config(control, SocketKind::Stream);
    let server = endpoint_with_key(address, KEY);
    let listener = server.listen(config.clone(), 8).unwrap();
    let peer = server.local_addr().unwrap();
    let client = endpoint_with_key(address, KEY);
    let (mine, theirs) = tokio::join!(client.connect(peer, &config), listener.accept());
    exchange(mine.unwrap(), theirs.unwrap(), 5 * MEGABYTE).await;
    for end in [&client, &server] {
        let seen = sessions(end);
        assert_eq!((seen.sessions, seen.established), (1, 1));
        assert!(seen.sealed > 1_000 && seen.opened > 1_000);
        assert_eq!(seen.ignored, SessionStatistics::default().ignored);
        assert_eq!(end.statistics().ignored.malformed, 0);
    }
}

#[test]
fn a_dcudp_stream_under_a_key() {
    run(stream_both_directions(Control::Dcudp, V4));
}

#[test]
fn a_udt_stream_under_a_key() {
    run(stream_both_directions(Control::Udt, V4));
}

#[test]
fn ipv6_under_a_key() {
    run(stream_both_directions(Control::Dcudp, V6));
}

#[test]
fn messages_under_a_key() {
    run(async {
        let config = config(Control::Dcudp, SocketKind::Message);
        let server = endpoint_with_key(V4, KEY);
        let listener = server.listen(config.clone(), 8).unwrap();
        let client = endpoint_with_key(V4, KEY);
        let peer = server.local_addr().unwrap();
        let (mine, theirs) = tokio::join!(client.connect(peer, &config), listener.accept());
        let (mine, theirs) = (mine.unwrap(), theirs.unwrap());
        for length in [1, 1_428, 1_429, 100_000] {
            let message = Bytes::from(data(length, 3));
            let sent = mine.send_message(message.clone(), MessageOptions::default());
            sent.await.unwrap();
            assert_eq!(theirs.recv_message().await.unwrap(), Some(message));
        }
    });
}

#[test]
fn a_rendezvous_under_a_key() {
    run(async {
        let config = ConnectionConfig::default();
        let (left, right) = (endpoint_with_key(V4, KEY), endpoint_with_key(V4, KEY));
        let (to_right, to_left) = (right.local_addr().unwrap(), left.local_addr().unwrap());
        let (mine, theirs) = tokio::join!(
            left.rendezvous(to_right, &config),
            right.rendezvous(to_left, &config)
        );
        exchange(mine.unwrap(), theirs.unwrap(), MEGABYTE).await;
    });
}

#[test]
fn connections_of_two_endpoints_share_a_session() {
    run(async {
        let config = ConnectionConfig::default();
        // An address that the kernel fills in.
        let server = endpoint_with_key("0.0.0.0:0", KEY);
        let listener = server.listen(config.clone(), 64).unwrap();
        let port = server.local_addr().unwrap().port();
        let peer = SocketAddr::from(([127, 0, 0, 1], port));
        let client = endpoint_with_key(V4, KEY);
        let mut ends = Vec::new();
        for _ in 0..20 {
            let (mine, theirs) = tokio::join!(client.connect(peer, &config), listener.accept());
            ends.push((mine.unwrap(), theirs.unwrap()));
        }
        for (number, (mine, theirs)) in ends.iter().enumerate() {
            let text = data(10_000, number as u64);
            let ((), received) = tokio::join!(write(mine, &text), read(theirs, text.len()));
            assert!(received == text, "the same bytes");
        }
        assert_eq!(sessions(&client).established, 1);
        assert_eq!(sessions(&server).established, 1);
    });
}

#[test]
fn another_key_is_not_answered_and_said_so() {
    run(async {
        let server = endpoint_with_key(V4, KEY);
        let _listener = server.listen(ConnectionConfig::default(), 8).unwrap();
        let peer = server.local_addr().unwrap();
        let error = endpoint_with_key(V4, KEY + 1)
            .connect(peer, &impatient())
            .await
            .unwrap_err();
        assert!(matches!(error, ConnectError::NoSession(at) if at == peer));
        assert!(error.to_string().contains("its key is another one"));
        let seen = server.statistics();
        assert!(
            sessions(&server).ignored.wrong_key > 0,
            "its owner can tell"
        );
        assert_eq!(sessions(&server).pending, 0);
        assert_eq!((seen.connections, seen.datagrams_sent), (0, 0));
    });
}

#[test]
fn a_key_at_one_endpoint_only() {
    run(async {
        let (with, without) = (endpoint_with_key(V4, KEY), endpoint(V4));
        let _listeners =
            [&with, &without].map(|end| end.listen(ConnectionConfig::default(), 8).unwrap());
        let (to_with, to_without) = (with.local_addr().unwrap(), without.local_addr().unwrap());
        let (keyed, plain) = (endpoint_with_key(V4, KEY), endpoint(V4));
        let (wants, has_none) = (impatient(), impatient());
        let (one, other) = tokio::join!(
            keyed.connect(to_without, &wants),
            plain.connect(to_with, &has_none)
        );
        assert!(matches!(one, Err(ConnectError::NoSession(_))));
        let error = other.unwrap_err();
        assert!(matches!(error, ConnectError::NoAnswer(_)));
        assert!(error.to_string().contains("requires a key"));
        assert!(sessions(&with).ignored.malformed > 0);
        assert_eq!(with.statistics().datagrams_sent, 0);
        // To an endpoint without a key it is a packet for a socket that it has not.
        assert!(without.statistics().ignored.unknown_socket > 0);
        assert_eq!(without.statistics().datagrams_sent, 0);
    });
}

#[test]
fn a_peer_with_the_key_that_does_not_listen() {
    run(async {
        let server = endpoint_with_key(V4, KEY);
        let peer = server.local_addr().unwrap();
        let error = endpoint_with_key(V4, KEY).connect(peer, &impatient()).await;
        assert!(matches!(error, Err(ConnectError::NoListener(at)) if at == peer));
    });
}

#[test]
fn nobody_there_is_told_as_without_a_key() {
    run(async {
        let gone = super::endings::nobody();
        let client = endpoint_with_key(V4, KEY);
        let error = client.connect(gone, &ConnectionConfig::default()).await;
        assert!(matches!(error, Err(ConnectError::PortUnreachable(at)) if at == gone));
        let nowhere = "192.0.2.1:9".parse().unwrap();
        let error = client.connect(nowhere, &ConnectionConfig::default()).await;
        assert!(matches!(error, Err(ConnectError::Unreachable(at, _)) if at == nowhere));
    });
}

/// A new endpoint at the peer's address has no state of the old session.
#[test]
fn a_peer_that_was_started_anew_is_reached_again() {
    run(async {
        let config = ConnectionConfig::default();
        let first = endpoint_with_key(V4, KEY);
        let peer = first.local_addr().unwrap();
        let client = endpoint_with_key(V4, KEY);
        let listener = first.listen(config.clone(), 8).unwrap();
        let (mine, theirs) = tokio::join!(client.connect(peer, &config), listener.accept());
        exchange(mine.unwrap(), theirs.unwrap(), 10_000).await;
        first.close().await;
        drop((first, listener));
        let second = loop {
            let config = incastle_socket::EndpointConfig {
                key: Some(incastle_socket::Key::new([KEY; 32])),
                ..incastle_socket::EndpointConfig::default()
            };
            match Endpoint::bind(peer, config) {
                Ok(endpoint) => break endpoint,
                // The first one's driver has not ended yet.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        let listener = second.listen(config.clone(), 8).unwrap();
        let (mine, theirs) = tokio::join!(client.connect(peer, &config), listener.accept());
        exchange(mine.unwrap(), theirs.unwrap(), 10_000).await;
        assert_eq!(sessions(&client).established, 2);
    });
}

/// A relay between two endpoints, and the datagrams it has seen.
struct Relay {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Vec<u8>>>>,
    ends: Arc<AtomicBool>,
}

impl Relay {
    /// Forwards datagrams, each after the datagrams that `disturb` makes of it and its number.
    fn start(
        server: SocketAddr,
        disturb: impl Fn(usize, &[u8]) -> Vec<Vec<u8>> + Send + 'static,
    ) -> Self {
        let socket = UdpSocket::bind(V4).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        let relay = Self {
            address: socket.local_addr().unwrap(),
            seen: Arc::default(),
            ends: Arc::default(),
        };
        let (seen, ends) = (Arc::clone(&relay.seen), Arc::clone(&relay.ends));
        std::thread::spawn(move || {
            let (mut buffer, mut client) = (vec![0; 65_536], None);
            while !ends.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else {
                    continue;
                };
                let to = if from == server {
                    client
                } else {
                    client = Some(from);
                    Some(server)
                };
                let datagram = &buffer[..length];
                let number = {
                    let mut seen = seen.lock().unwrap();
                    seen.push(datagram.to_vec());
                    seen.len()
                };
                let disturbance = disturb(number, datagram);
                for bytes in disturbance.iter().map(Vec::as_slice).chain([datagram]) {
                    // A datagram that the kernel refuses is lost.
                    let _ = to.map(|to| socket.send_to(bytes, to));
                }
            }
        });
        relay
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

async fn through(relay: &Relay, server: &Endpoint, client: &Endpoint, bytes: &[u8]) {
    let config = ConnectionConfig {
        // No more than a relay of one thread carries.
        rate_limit: Some(incastle_socket::Rate::from_bits_per_second(100_000_000)),
        ..ConnectionConfig::default()
    };
    let listener = server.listen(config.clone(), 8).unwrap();
    let (mine, theirs) = tokio::join!(client.connect(relay.address, &config), listener.accept());
    let (mine, theirs) = (mine.unwrap(), theirs.unwrap());
    let ((), received) = tokio::join!(write(&mine, bytes), read(&theirs, bytes.len()));
    assert!(received == bytes, "the same bytes");
    let (ended, rest) = tokio::join!(mine.close(), read_all(&theirs));
    assert_eq!((ended, rest.len()), (Ok(()), 0));
}

#[test]
fn nothing_plain_is_on_the_wire_and_no_packet_is_longer() {
    run(async {
        let (server, client) = (endpoint_with_key(V4, KEY), endpoint_with_key(V4, KEY));
        let relay = Relay::start(server.local_addr().unwrap(), |_, _| Vec::new());
        let text = b"the quick brown fox jumps over the lazy dog ".repeat(10_000);
        through(&relay, &server, &client, &text).await;
        let seen = relay.seen.lock().unwrap();
        assert!(seen.len() > 300);
        for datagram in seen.iter() {
            assert!(matches!(datagram[0], 0xD1..=0xD3));
            // 1500 bytes with the headers of IP and UDP.
            assert!(datagram.len() <= 1_472, "{}", datagram.len());
            assert!(!datagram.windows(9).any(|part| part == b"brown fox"));
        }
        assert_eq!(seen.iter().map(Vec::len).max(), Some(1_472));
    });
}

/// Damaged, repeated, cut and invented datagrams, the packets of UDT that end a connection among them.
#[test]
fn a_hostile_network_changes_nothing() {
    run(async {
        let (server, client) = (endpoint_with_key(V4, KEY), endpoint_with_key(V4, KEY));
        let relay = Relay::start(server.local_addr().unwrap(), |number, datagram| {
            let mut flipped = datagram.to_vec();
            flipped[number % datagram.len()] ^= 1 << (number % 8);
            let cut = datagram[..datagram.len() - 1 - number % 16].to_vec();
            // A shutdown of UDT, for any socket.
            let mut shutdown = vec![0x80, 5, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
            shutdown.extend_from_slice(&(number as u32).to_be_bytes());
            vec![flipped, cut, shutdown, datagram.to_vec()]
        });
        through(&relay, &server, &client, &data(MEGABYTE / 2, 5)).await;
        for end in [&server, &client] {
            let ignored = sessions(end).ignored;
            assert!(ignored.unauthentic > 0, "{ignored:?}");
            assert!(ignored.replayed > 0, "{ignored:?}");
            assert!(ignored.malformed > 0, "{ignored:?}");
            assert_eq!(sessions(end).established, 1);
        }
    });
}
