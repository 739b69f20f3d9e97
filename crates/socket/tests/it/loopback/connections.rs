//! Data in both directions: streams, messages, rendezvous, both families, many connections.

use std::time::Duration;

use bytes::Bytes;
use incastle_socket::{
    ConnectError, ConnectionConfig, ConnectionError, Control, Endpoint, EndpointConfig, Event,
    MessageOptions, NamedController, Rate, SocketKind,
};

use crate::run;

use super::world::{
    V4, V6, config, data, endpoint, exchange, listen, next_event, pair, read, read_all, write,
};

const MEGABYTE: usize = 1 << 20;

async fn stream_both_directions(control: Control, address: &str) {
    let config = config(control, SocketKind::Stream);
    let (client, server) = pair(&config, address).await;
    exchange(client, server, 6 * MEGABYTE).await;
}

#[test]
fn a_dcudp_stream_carries_bytes_in_both_directions() {
    run(stream_both_directions(Control::Dcudp, V4));
}

#[test]
fn a_udt_stream_carries_bytes_in_both_directions() {
    run(stream_both_directions(Control::Udt, V4));
}

#[test]
fn ipv6_carries_the_same() {
    run(stream_both_directions(Control::Dcudp, V6));
}

#[test]
fn one_datagram_per_call_carries_the_same() {
    run(async {
        let plain = EndpointConfig {
            offload: false,
            ..EndpointConfig::default()
        };
        let config = ConnectionConfig::default();
        let address = "127.0.0.1:0".parse().unwrap();
        let (a, b) = (
            Endpoint::bind(address, plain.clone()).unwrap(),
            Endpoint::bind(address, plain).unwrap(),
        );
        let listener = a.listen(config.clone(), 1).unwrap();
        let peer = a.local_addr().unwrap();
        let (client, server) = tokio::join!(b.connect(peer, &config), listener.accept());
        let (client, server) = (client.unwrap(), server.unwrap());
        let bytes = data(2 * MEGABYTE, 3);
        let ((), received) = tokio::join!(write(&client, &bytes), read(&server, bytes.len()));
        assert!(received == bytes, "the same bytes");
        let statistics = b.statistics();
        assert_eq!(statistics.sends, statistics.datagrams_sent);
    });
}

#[test]
fn a_socket_for_both_families_reaches_ipv4() {
    run(async {
        let config = ConnectionConfig::default();
        let (_server, listener, peer) = listen(&config, V4);
        let client = endpoint("[::]:0");
        let (client, server) = tokio::join!(client.connect(peer, &config), listener.accept());
        let (client, server) = (client.unwrap(), server.unwrap());
        assert_eq!(client.peer_addr(), peer);
        write(&client, b"over both").await;
        assert_eq!(read(&server, 9).await, b"over both");
        let other = endpoint(V4);
        let error = other.connect("[::1]:9".parse().unwrap(), &config).await;
        assert!(matches!(error, Err(ConnectError::Family(_))));
    });
}

#[test]
fn messages_keep_their_borders() {
    run(async {
        let config = config(Control::Dcudp, SocketKind::Message);
        let (client, server) = pair(&config, V4).await;
        let lengths = [1, 1456, 1457, 100_000, 64, 700_000];
        let send = async {
            for (seed, length) in lengths.into_iter().enumerate() {
                let message = Bytes::from(data(length, seed as u64));
                let options = MessageOptions::default();
                client.send_message(message, options).await.unwrap();
            }
            client.close().await
        };
        let receive = async {
            for (seed, length) in lengths.into_iter().enumerate() {
                let message = server.recv_message().await.unwrap().unwrap();
                assert!(message == data(length, seed as u64), "message {seed}");
            }
            server.recv_message().await
        };
        assert_eq!(tokio::join!(send, receive), (Ok(()), Ok(None)));
    });
}

#[test]
fn messages_that_cannot_be_sent_are_refused_with_a_reason() {
    run(async {
        let config = config(Control::Dcudp, SocketKind::Message);
        let (client, _server) = pair(&config, V4).await;
        let options = MessageOptions::default();
        let empty = client.send_message(Bytes::new(), options).await;
        assert_eq!(empty, Err(ConnectionError::EmptyMessage));
        let stream = client.send_stream().unwrap_err().to_string();
        assert_eq!(stream, "this connection carries messages, not a stream");
    });
}

#[test]
fn a_message_longer_than_a_buffer_is_refused() {
    run(async {
        // The flow window is 25,600 packets of 1456 bytes: 37,273,600.
        for (send_buffer, most) in [(10_000, 10_000), (40_000_000, 37_273_600)] {
            let config = ConnectionConfig {
                send_buffer,
                ..config(Control::Dcudp, SocketKind::Message)
            };
            let (client, server) = pair(&config, V4).await;
            let options = MessageOptions::default();
            let long = Bytes::from(vec![0; most + 1]);
            let why = client.send_message(long, options).await.unwrap_err();
            let words = format!(
                "a message of {} bytes is longer than the {most} that the buffers of both endpoints take",
                most + 1
            );
            assert_eq!(why.to_string(), words);
            let longest = Bytes::from(data(most, 1));
            let sent = client.send_message(longest.clone(), options);
            let (sent, received) = tokio::join!(sent, server.recv_message());
            assert_eq!(sent, Ok(()));
            assert!(received.unwrap().unwrap() == longest);
        }
    });
}

#[test]
fn two_endpoints_that_open_at_once_meet() {
    run(async {
        let config = ConnectionConfig::default();
        let (a, b) = (endpoint(V4), endpoint(V4));
        let (at, bt) = (a.local_addr().unwrap(), b.local_addr().unwrap());
        let (a, b) = tokio::join!(a.rendezvous(bt, &config), b.rendezvous(at, &config));
        let (a, b) = (a.unwrap(), b.unwrap());
        let ((), (), x, y) = tokio::join!(
            write(&a, b"from a"),
            write(&b, b"from b"),
            read(&a, 6),
            read(&b, 6)
        );
        assert_eq!((&x[..], &y[..]), (&b"from b"[..], &b"from a"[..]));
        assert_eq!(tokio::join!(a.close(), b.close()), (Ok(()), Ok(())));
    });
}

#[test]
fn many_connections_share_two_sockets() {
    run(async {
        let config = ConnectionConfig::default();
        let (_server, listener, peer) = listen(&config, V4);
        let client = endpoint(V4);
        let echo = tokio::spawn(async move {
            while let Some(connection) = listener.accept().await {
                tokio::spawn(async move {
                    let bytes = read(&connection, 100_000).await;
                    write(&connection, &bytes).await;
                    connection.flush().await.unwrap();
                    read_all(&connection).await;
                });
            }
        });
        let mut tasks = Vec::new();
        for seed in 0..50 {
            let (client, config) = (client.clone(), config.clone());
            tasks.push(tokio::spawn(async move {
                let connection = client.connect(peer, &config).await.unwrap();
                let bytes = data(100_000, seed);
                let ((), back) =
                    tokio::join!(write(&connection, &bytes), read(&connection, bytes.len()));
                assert!(back == bytes, "connection {seed}");
                connection.close().await.unwrap();
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        echo.abort();
    });
}

#[test]
fn an_endpoint_is_client_and_server_at_once() {
    run(async {
        let config = ConnectionConfig::default();
        let (a, a_listens, a_at) = listen(&config, V4);
        let (b, b_listens, b_at) = listen(&config, V4);
        let (ab, ba, b_received, a_received) = tokio::join!(
            a.connect(b_at, &config),
            b.connect(a_at, &config),
            b_listens.accept(),
            a_listens.accept(),
        );
        write(&ab.unwrap(), b"x").await;
        write(&ba.unwrap(), b"y").await;
        assert_eq!(read(&b_received.unwrap(), 1).await, b"x");
        assert_eq!(read(&a_received.unwrap(), 1).await, b"y");
        assert!(matches!(
            a.listen(config, 1),
            Err(ConnectError::ListensAlready)
        ));
    });
}

#[test]
fn the_kernel_carries_ecn_over_loopback() {
    run(async {
        let config = ConnectionConfig::default();
        let (client, server) = pair(&config, V4).await;
        let bytes = data(MEGABYTE, 7);
        let ((), _) = tokio::join!(write(&client, &bytes), read(&server, bytes.len()));
        client.flush().await.unwrap();
        let event = next_event(&mut client.events()).await;
        assert_eq!(event, Some(Event::EcnVerified));
        assert_eq!(client.statistics().control, Control::Dcudp);
    });
}

#[test]
fn a_dcudp_client_falls_back_with_a_udt_server_and_says_so() {
    run(async {
        let (_server, listener, peer) = listen(&config(Control::Udt, SocketKind::Stream), V4);
        let client = endpoint(V4);
        let config = ConnectionConfig::default();
        let (client, server) = tokio::join!(client.connect(peer, &config), listener.accept());
        let (client, server) = (client.unwrap(), server.unwrap());
        assert_eq!(client.events().next().await, Some(Event::Fallback));
        assert_eq!(client.statistics().control, Control::Udt);
        write(&client, b"plain").await;
        assert_eq!(read(&server, 5).await, b"plain");
    });
}

#[test]
fn every_control_moves_data() {
    run(async {
        for control in Control::all() {
            let config = config(control, SocketKind::Stream);
            let (client, server) = pair(&config, V4).await;
            assert_eq!(client.statistics().control, control);
            exchange(client, server, 400_000).await;
        }
    });
}

/// Who falls back where an endpoint does not have accurate ACKs: a server of DCUDP has them.
#[test]
fn without_accurate_acks_at_either_endpoint_a_window_controller_falls_back() {
    let dctcp = Control::Named(NamedController::Dctcp);
    let cases = [
        (dctcp, Control::Udt, [Control::Udt; 2]),
        (Control::Udt, dctcp, [Control::Udt; 2]),
        (Control::Dcudp, dctcp, [Control::Udt; 2]),
        (dctcp, Control::Dcudp, [dctcp, Control::Udt]),
    ];
    run(async {
        for (client, server, controls) in cases {
            let listens = config(server, SocketKind::Stream);
            let (_server, listener, peer) = listen(&listens, V4);
            let calls = config(client, SocketKind::Stream);
            let endpoint = endpoint(V4);
            let (client, server) = tokio::join!(endpoint.connect(peer, &calls), listener.accept());
            let (client, server) = (client.unwrap(), server.unwrap());
            let both = [&client, &server].map(|it| it.statistics().control);
            assert_eq!(both, controls, "{calls:?}");
            exchange(client, server, 100_000).await;
        }
    });
}

#[test]
fn a_writer_waits_for_its_reader() {
    run(async {
        let config = ConnectionConfig {
            send_buffer: 100_000,
            receive_buffer: Some(64 * 1456),
            ..ConnectionConfig::default()
        };
        let (client, server) = pair(&config, V4).await;
        let bytes = data(2 * MEGABYTE, 4);
        let writer = {
            let (client, bytes) = (client.clone(), bytes.clone());
            tokio::spawn(async move { write(&client, &bytes).await })
        };
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!writer.is_finished(), "nobody reads");
        let held = server.statistics();
        assert_eq!(held.delivered, 0);
        let statistics = client.statistics();
        assert!(statistics.unacknowledged <= 100_000);
        assert!(statistics.acknowledged <= 64 * 1456, "the peer's buffer");
        assert!(read(&server, bytes.len()).await == bytes);
        writer.await.unwrap();
    });
}

#[test]
fn a_rate_limit_holds_back_what_the_control_allows() {
    run(async {
        let config = ConnectionConfig {
            rate_limit: Some(Rate::from_bits_per_second(8_000_000)),
            ..ConnectionConfig::default()
        };
        let (client, server) = pair(&config, V4).await;
        let bytes = data(200_000, 4);
        let begun = std::time::Instant::now();
        let ((), received) = tokio::join!(write(&client, &bytes), read(&server, bytes.len()));
        assert!(received == bytes);
        // 1 MB/s: the last of 138 packets leaves 137 intervals after the first, less what the pacer may
        // catch up with. A slow machine only takes longer.
        assert!(begun.elapsed() >= Duration::from_millis(190));
    });
}
