//! How connections end, and why they never begin.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use incastle_socket::{
    ConnectError, Connection, ConnectionConfig, ConnectionError, Control, Endpoint, EndpointConfig,
    Event, SocketKind,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::run;

use super::world::{V4, config, data, endpoint, listen, pair, read, read_all, write};

#[test]
fn close_delivers_everything() {
    run(async {
        for control in [Control::Dcudp, Control::Udt] {
            let (client, server) = pair(&config(control, SocketKind::Stream), V4).await;
            let bytes = data(8 << 20, 5);
            let sender = async {
                write(&client, &bytes).await;
                client.close().await
            };
            let (ended, received) = tokio::join!(sender, read_all(&server));
            assert_eq!(ended, Ok(()));
            assert!(received == bytes, "all of it, then the end");
            assert_eq!(server.events().next().await, Some(Event::PeerClosed));
        }
    });
}

#[test]
fn dropping_the_last_handle_delivers_too() {
    run(async {
        let (client, server) = pair(&ConnectionConfig::default(), V4).await;
        let bytes = data(3 << 20, 6);
        let sender = {
            let bytes = bytes.clone();
            async move {
                write(&client, &bytes).await;
                drop(client);
            }
        };
        let ((), received) = tokio::join!(sender, read_all(&server));
        assert!(received == bytes);
    });
}

#[test]
fn both_endpoints_may_close_at_once() {
    run(async {
        for control in [Control::Dcudp, Control::Udt] {
            let (client, server) = pair(&config(control, SocketKind::Stream), V4).await;
            write(&client, b"a").await;
            write(&server, b"b").await;
            read(&client, 1).await;
            read(&server, 1).await;
            let (x, y) = tokio::join!(client.flush(), server.flush());
            assert_eq!((x, y), (Ok(()), Ok(())));
            let (x, y) = tokio::join!(client.close(), server.close());
            assert_eq!((x, y), (Ok(()), Ok(())));
        }
    });
}

#[test]
fn an_endpoint_closes_its_connections() {
    run(async {
        let config = ConnectionConfig::default();
        let (server, listener, peer) = listen(&config, V4);
        let client = endpoint(V4);
        let (client, accepted) = tokio::join!(client.connect(peer, &config), listener.accept());
        let (client, accepted) = (client.unwrap(), accepted.unwrap());
        write(&accepted, b"last words").await;
        let ((), received) = tokio::join!(server.close(), read_all(&client));
        assert_eq!(received, b"last words");
        assert!(listener.accept().await.is_none());
        assert!(matches!(
            server.connect(peer, &config).await,
            Err(ConnectError::EndpointClosed)
        ));
    });
}

#[test]
fn after_an_end_nothing_is_written() {
    run(async {
        let (client, server) = pair(&ConnectionConfig::default(), V4).await;
        client.close().await.unwrap();
        let mut stream = client.send_stream().unwrap();
        let error = stream.write_all(b"x").await.unwrap_err();
        assert_eq!(error.to_string(), "the connection is closed");
        assert_eq!(read_all(&server).await, b"");
        let mut stream = server.send_stream().unwrap();
        let error = stream.write_all(b"x").await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the peer closed the connection: 0 bytes were not acknowledged"
        );
    });
}

#[test]
fn an_abort_ends_both_endpoints() {
    run(async {
        let (client, server) = pair(&ConnectionConfig::default(), V4).await;
        client.abort();
        assert_eq!(client.close().await, Err(ConnectionError::Aborted));
        assert_eq!(read_all(&server).await, b"");
        assert_eq!(server.close().await, Ok(()));
    });
}

#[test]
fn a_peer_that_dies_is_given_up() {
    // A separate runtime: with it the server vanishes in silence.
    let doomed = tokio::runtime::Runtime::new().unwrap();
    let config = ConnectionConfig {
        idle_timeout: Duration::from_millis(300),
        ..ConnectionConfig::default()
    };
    let (server, listener, peer) = doomed.block_on(async { listen(&config, V4) });
    run(async {
        let client = endpoint(V4);
        let (client, accepted) = tokio::join!(client.connect(peer, &config), listener.accept());
        let (client, accepted) = (client.unwrap(), accepted.unwrap());
        write(&client, b"x").await;
        client.flush().await.unwrap();
        doomed.shutdown_background();
        let gone = read_error(&accepted).await;
        assert_eq!(
            gone,
            "the endpoint is gone: its task has ended with the runtime"
        );
        drop(server);
        write(&client, b"into the void").await;
        let silent = ConnectionError::Silent { lost: 13 };
        assert_eq!(client.close().await, Err(silent.clone()));
        let mut events = client.events();
        let mut last = None;
        while let Some(event) = events.next().await {
            last = Some(event);
        }
        assert_eq!(last, Some(Event::Over(Some(silent))));
    });
}

async fn read_error(connection: &Connection) -> String {
    let mut stream = connection.recv_stream().unwrap();
    // The byte that was sent may come first.
    let mut bytes = Vec::new();
    stream
        .read_to_end(&mut bytes)
        .await
        .unwrap_err()
        .to_string()
}

#[test]
fn an_idle_connection_stays() {
    run(async {
        let config = ConnectionConfig {
            // Longer than a busy machine lets one of the two wait for its turn.
            idle_timeout: Duration::from_secs(1),
            ..ConnectionConfig::default()
        };
        let (client, server) = pair(&config, V4).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        write(&client, b"still here").await;
        assert_eq!(read(&server, 10).await, b"still here");
        assert!(client.statistics().protocol.keep_alives > 0);
    });
}

#[test]
fn nobody_on_the_port_is_told_at_once() {
    run(async {
        let peer = nobody();
        let client = endpoint(V4);
        let error = client.connect(peer, &ConnectionConfig::default()).await;
        let error = error.unwrap_err().to_string();
        assert_eq!(
            error,
            format!("{peer} refused: nobody listens on that port")
        );
    });
}

/// A port on which nobody listens, of an address that no other test takes ports of.
pub(super) fn nobody() -> SocketAddr {
    let taken = UdpSocket::bind((Ipv4Addr::new(127, 9, 9, 9), 0)).unwrap();
    taken.local_addr().unwrap()
}

#[test]
fn silence_is_no_answer() {
    run(async {
        let mute = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let peer = mute.local_addr().unwrap();
        let config = ConnectionConfig {
            connect_timeout: Duration::from_millis(300),
            ..ConnectionConfig::default()
        };
        let error = endpoint(V4).connect(peer, &config).await.unwrap_err();
        assert!(matches!(error, ConnectError::NoAnswer(at) if at == peer));
    });
}

#[test]
fn an_unreachable_network_is_told() {
    run(async {
        // An address that no interface has a route to: a socket of loopback sends nowhere else.
        let peer = "192.0.2.1:9".parse().unwrap();
        let error = endpoint(V4)
            .connect(peer, &ConnectionConfig::default())
            .await;
        assert!(matches!(error, Err(ConnectError::Unreachable(at, _)) if at == peer));
    });
}

#[test]
fn another_kind_of_socket_is_refused() {
    run(async {
        let (_server, _listener, peer) = listen(&ConnectionConfig::default(), V4);
        let messages = config(Control::Dcudp, SocketKind::Message);
        let error = endpoint(V4).connect(peer, &messages).await;
        assert!(matches!(error, Err(ConnectError::Refused(at)) if at == peer));
    });
}

#[test]
fn a_port_in_use_is_an_error() {
    run(async {
        let first = endpoint(V4);
        let address = first.local_addr().unwrap();
        let error = Endpoint::bind(address, EndpointConfig::default()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    });
}

#[test]
fn a_bad_parameter_is_told_before_anything_is_sent() {
    run(async {
        let client = endpoint(V4);
        let config = ConnectionConfig {
            packet_size: 100,
            ..ConnectionConfig::default()
        };
        let error = client.connect(client.local_addr().unwrap(), &config).await;
        assert_eq!(
            error.unwrap_err().to_string(),
            "the packet size must lie between 128 and 65535 bytes, IP and UDP headers included"
        );
        assert_eq!(client.statistics().datagrams_sent, 0);
    });
}
