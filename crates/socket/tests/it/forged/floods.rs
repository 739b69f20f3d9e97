//! Peers that never become one: handshakes that are impossible, replayed, or too many.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use incastle_socket::{ConnectionConfig, Endpoint, EndpointConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::run;

use super::raw::{REFUSED, REQUEST, RESPONSE, Raw, Victim, handshake, word};

#[test]
fn a_tiny_packet_size_and_impossible_windows_are_refused() {
    run(async {
        let victim = Victim::new(EndpointConfig::default());
        for (packet_size, window) in [(127, 8192), (0, 8192), (1500, 0), (1500, 1 << 31)] {
            let raw = Raw::new(victim.address);
            let cookie = raw.cookie();
            raw.send(&handshake(RESPONSE, cookie, packet_size, window));
            let reply = raw.receive_handshake();
            assert_eq!(word(&reply, 9), REFUSED, "{packet_size} {window}");
        }
        assert_eq!(victim.endpoint.statistics().connections, 0);
    });
}

#[test]
fn a_cookie_is_of_no_use_elsewhere() {
    run(async {
        let victim = Victim::new(EndpointConfig::default());
        let cookie = Raw::new(victim.address).cookie();
        let thief = Raw::new(victim.address);
        thief.send(&handshake(RESPONSE, cookie, 1500, 8192));
        thief.send(&handshake(RESPONSE, cookie ^ 1, 1500, 8192));
        victim.sees(|seen| seen.ignored.handshakes == 2).await;
        assert_eq!(victim.endpoint.statistics().connections, 0);
    });
}

#[test]
fn nothing_is_amplified_before_the_cookie_returns() {
    run(async {
        let victim = Victim::new(EndpointConfig::default());
        let raw = Raw::new(victim.address);
        let request = handshake(REQUEST, 0, 1500, 8192);
        let mut sent = 0;
        let mut short = Vec::new();
        for length in 0..request.len() {
            short.push(request[..length].to_vec());
        }
        for datagram in short.iter().chain([&request, &[0; 1400].to_vec()]) {
            raw.send(datagram);
            sent += 1;
        }
        // All are handled: the empty one is none, and the request alone is answered.
        victim
            .sees(|seen| {
                let ignored = seen.ignored.malformed + seen.ignored.unknown_socket;
                seen.cookies_sent + ignored >= sent - 1
            })
            .await;
        assert_eq!(raw.receive_handshake().len(), request.len());
        assert_eq!(victim.endpoint.statistics().datagrams_sent, 1);
        assert!(victim.endpoint.statistics().ignored.malformed > 0);
    });
}

/// Addresses of the loopback network, all different.
fn source(peer: u32) -> SocketAddr {
    let address = Ipv4Addr::from(0x7F01_0000 + peer);
    SocketAddr::from((address, 0))
}

#[test]
fn a_flood_of_100_000_peers_leaves_nothing_behind() {
    run(async {
        let victim = Victim::new(EndpointConfig::default());
        let address = victim.address;
        let flood = tokio::task::spawn_blocking(move || {
            let request = handshake(REQUEST, 0, 1500, 8192);
            let mut buffer = [0; 2048];
            for peer in 0..100_000 {
                let socket = UdpSocket::bind(source(peer)).unwrap();
                let half_minute = Some(Duration::from_secs(30));
                socket.set_read_timeout(half_minute).unwrap();
                socket.send_to(&request, address).unwrap();
                let (length, _) = socket.recv_from(&mut buffer).unwrap();
                assert_eq!(length, request.len(), "answered with as much");
            }
        });
        flood.await.unwrap();
        // The last answer is counted after it left.
        victim.sees(|seen| seen.cookies_sent == 100_000).await;
        let statistics = victim.endpoint.statistics();
        assert_eq!(statistics.connections, 0);
        assert_eq!(statistics.receive_memory, 0);
        // And who means it still gets in.
        Raw::connect(&victim).await;
    });
}

#[test]
fn one_peer_has_its_share_of_connections_and_no_more() {
    run(async {
        let victim = Victim::new(EndpointConfig {
            max_connections_per_peer: 3,
            ..EndpointConfig::default()
        });
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(Raw::connect(&victim).await);
        }
        let fourth = Raw::new(victim.address);
        let cookie = fourth.cookie();
        fourth.send(&handshake(RESPONSE, cookie, 1500, 8192));
        victim.sees(|seen| seen.ignored.beyond_limit == 1).await;
        assert_eq!(victim.endpoint.statistics().connections, 3);
        // A place that becomes free is given to the next.
        held.pop().unwrap().1.abort();
        victim.sees(|seen| seen.connections == 2).await;
        Raw::connect(&victim).await;
    });
}

#[test]
fn memory_has_a_limit_and_what_is_beyond_comes_again() {
    run(async {
        let victim = Endpoint::bind(
            "127.0.0.1:0".parse().unwrap(),
            EndpointConfig {
                max_receive_memory: 100_000,
                ..EndpointConfig::default()
            },
        )
        .unwrap();
        let config = ConnectionConfig::default();
        let listener = victim.listen(config.clone(), 1).unwrap();
        let peer = victim.local_addr().unwrap();
        let client =
            Endpoint::bind("127.0.0.1:0".parse().unwrap(), EndpointConfig::default()).unwrap();
        let (sender, receiver) = tokio::join!(client.connect(peer, &config), listener.accept());
        let (sender, receiver) = (sender.unwrap(), receiver.unwrap());
        let mut stream = sender.send_stream().unwrap();
        let writer = tokio::spawn(async move { stream.write_all(&vec![7; 1 << 20]).await });
        while victim.statistics().ignored.beyond_memory == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // One batch that GRO has coalesced may exceed the limit: it is checked between batches.
        assert!(victim.statistics().receive_memory <= 100_000 + (64 << 10));
        let mut received = vec![0; 1 << 20];
        let mut stream = receiver.recv_stream().unwrap();
        stream.read_exact(&mut received).await.unwrap();
        assert!(received.iter().all(|byte| *byte == 7));
        writer.await.unwrap().unwrap();
    });
}
