//! The places of a running server. No address exceeds its share, idle connections are evicted for new ones,
//! and an evicted client receives the reason. 127.0.0.1 and 127.0.0.2 are two addresses. The server's
//! options decide which connections may be evicted, so that no test waits.

use std::net::SocketAddr;

use crate::common::{PATIENCE, folder, name};
use crate::running::{Server, dcudp, finish};
use bytes::Bytes;
use incastle_dcudp::error::Failure;
use incastle_dcudp::link::Stream;
use incastle_dcudp::protocol::{Channel, ErrorCode, Frame};
use incastle_socket::{Connection, ConnectionConfig, Endpoint, EndpointConfig};

/// A client that does nothing by itself.
struct Client {
    channel: Stream,
    _connection: Connection,
}

impl Client {
    /// Connects from an address; returns the client or the refusal.
    async fn call(from: &str, server: &Server) -> Result<Self, Failure> {
        let local = SocketAddr::new(from.parse().unwrap(), 0);
        let endpoint = Endpoint::bind(local, EndpointConfig::default()).unwrap();
        let peer = server.address.parse().unwrap();
        let config = ConnectionConfig::default();
        let connection = endpoint.connect(peer, &config).await.unwrap();
        let (reader, writer) = (connection.recv_stream(), connection.send_stream());
        let mut client = Self {
            channel: Channel::new(reader.unwrap(), writer.unwrap(), PATIENCE),
            _connection: connection,
        };
        client.channel.greet().await?;
        // A client that receives a reply has its place.
        client.ping().await?;
        Ok(client)
    }

    async fn ping(&mut self) -> Result<(), Failure> {
        let word = Bytes::from_static(b"there?");
        self.channel.send(&Frame::Ping(word.clone())).await?;
        assert_eq!(self.channel.receive().await?, Frame::Pong(word));
        Ok(())
    }

    /// Announces a file, and sends nothing of it.
    async fn begin_a_file(&mut self) {
        let offer = Frame::Put {
            size: 1_000,
            replace: false,
            name: name("f"),
        };
        self.channel.send(&offer).await.unwrap();
        let reply = self.channel.receive().await.unwrap();
        assert!(matches!(reply, Frame::Have { .. }), "{reply:?}");
    }
}

fn busy<T>(result: Result<T, Failure>) -> String {
    match result {
        Err(Failure::There { code, message }) => {
            assert_eq!(code, ErrorCode::Busy, "{message}");
            message
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was served"),
    }
}

/// A server in a folder that nobody looks at again.
fn server(options: &str) -> Server {
    let there = folder();
    let options: Vec<_> = options
        .split(' ')
        .map(|part| part.replace('_', " "))
        .collect();
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    Server::files(&there.keep(), &options)
}

#[tokio::test]
async fn one_address_has_its_share_of_the_places_and_no_more() {
    // A quarter of 8, as nothing else is said.
    for (options, share) in [
        ("--max-connections 8", "2 of 8"),
        ("--max-connections 8 --max-per-address 3", "3 of 8"),
    ] {
        let server = server(options);
        let count: usize = share[..1].parse().unwrap();
        let mut held = Vec::new();
        for _ in 0..count {
            held.push(Client::call("127.0.0.1", &server).await.unwrap());
        }
        // The program prints the message and fails.
        let address = server.address.clone();
        let beyond = tokio::task::spawn_blocking(move || {
            finish(dcudp(&["ping", &address]).spawn().unwrap())
        });
        let (status, _, err) = beyond.await.unwrap();
        assert_eq!(status, 1);
        let message = format!("from one address as this server takes ({share}); try again later");
        assert!(err.contains(&message), "{err}");
        // Another address has its own share, and those that are served go on.
        Client::call("127.0.0.2", &server).await.unwrap();
        for client in &mut held {
            client.ping().await.unwrap();
        }
    }
}

#[tokio::test]
async fn who_only_pings_leaves_for_others() {
    let server = server("--max-connections 2 --max-per-address 2 --evict-after 0_s");
    let mut first = Client::call("127.0.0.2", &server).await.unwrap();
    let mut second = Client::call("127.0.0.2", &server).await.unwrap();
    // No work: the first is the one idle longest all the same.
    first.ping().await.unwrap();
    let mut newcomer = Client::call("127.0.0.1", &server).await.unwrap();
    let message = busy(first.ping().await);
    assert!(message.starts_with("others wait, and no file"), "{message}");
    second.ping().await.unwrap();
    newcomer.ping().await.unwrap();
    // Meanwhile the clients leave.
    let stopped = tokio::task::spawn_blocking(move || server.interrupt());
    let (_, _, log) = stopped.await.unwrap();
    assert_eq!(log.matches("others wait").count(), 1, "{log}");
}

#[tokio::test]
async fn of_an_address_that_has_its_share_the_idle_one_leaves() {
    let server = server("--max-connections 4 --max-per-address 1 --evict-after 0_s");
    let mut other = Client::call("127.0.0.1", &server).await.unwrap();
    let mut first = Client::call("127.0.0.2", &server).await.unwrap();
    let mut second = Client::call("127.0.0.2", &server).await.unwrap();
    busy(first.ping().await);
    second.ping().await.unwrap();
    other.ping().await.unwrap();
}

#[tokio::test]
async fn who_moves_a_file_stays() {
    let server = server("--max-connections 2 --max-per-address 2 --evict-after 0_s");
    let mut working = Client::call("127.0.0.2", &server).await.unwrap();
    working.begin_a_file().await;
    let mut idle = Client::call("127.0.0.2", &server).await.unwrap();
    let mut newcomer = Client::call("127.0.0.1", &server).await.unwrap();
    busy(idle.ping().await);
    newcomer
        .channel
        .send(&Frame::Get { name: name("none") })
        .await
        .unwrap();
    let reply = newcomer.channel.receive().await;
    assert!(matches!(
        reply,
        Err(Failure::There {
            code: ErrorCode::NotFound,
            ..
        })
    ));
    // Its request is over: it is idle, and the one with the file is not.
    let mut last = Client::call("127.0.0.1", &server).await.unwrap();
    busy(newcomer.ping().await);
    last.ping().await.unwrap();
}

#[tokio::test]
async fn who_was_idle_for_a_moment_stays() {
    let server = server("--max-connections 1 --max-per-address 1 --evict-after 1000_s");
    let mut first = Client::call("127.0.0.2", &server).await.unwrap();
    let message = busy(Client::call("127.0.0.1", &server).await);
    assert_eq!(
        message,
        "as many connections as this server takes; try again later"
    );
    first.ping().await.unwrap();
}
