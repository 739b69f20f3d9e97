//! UDT and DCUDP on real UDP sockets: the sans-IO connection of `incastle_transport::udt`, driven by tokio
//! and `quinn-udp` (ECN, segmentation offloads, several datagrams per system call).
//!
//! An [`Endpoint`] is one UDP socket with any number of connections, opened from here, by peers, or from
//! both sides at once. A [`Connection`] carries a stream of bytes in each direction, or messages.
//!
//! ```no_run
//! use incastle_socket::{ConnectionConfig, Endpoint, EndpointConfig};
//! use tokio::io::AsyncWriteExt;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let endpoint = Endpoint::bind("0.0.0.0:0".parse()?, EndpointConfig::default())?;
//! let peer = "192.0.2.7:9000".parse()?;
//! let connection = endpoint.connect(peer, &ConnectionConfig::default()).await?;
//! connection.send_stream()?.write_all(b"hello").await?;
//! connection.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Linux only: timers are the kernel's timerfd, because tokio's own tick is a millisecond.

mod accept;
mod base;
mod capacity;
mod config;
mod connection;
mod datagrams;
mod driver;
mod ecn;
mod endpoint;
mod error;
mod event;
mod inner;
mod listener;
mod listening;
mod network;
mod port;
mod receive;
mod sealing;
mod secure;
mod shared;
mod stamp;
mod statistics;
mod stream;
mod table;
mod timer;
mod transmit;

pub use config::{
    ConnectionConfig, Control, DEFAULT_CAPACITY, EndpointConfig, OwnControl, Readings,
};
pub use connection::{Connection, Events, MessageOptions};
pub use endpoint::Endpoint;
pub use error::{ConnectError, ConnectionError};
pub use event::Event;
pub use listener::Listener;
pub use network::network_of;
pub use statistics::{EndpointStatistics, Ignored, Statistics, WindowStatistics};
pub use stream::{RecvStream, SendStream};
pub use timer::Timer;

pub use incastle_congestion::{NamedController, TransmissionMode};
pub use incastle_secure::{Key, Statistics as SessionStatistics};
pub use incastle_transport::udt::wire::{AckCounts, AckRate, SocketKind};
pub use incastle_units::Rate;
