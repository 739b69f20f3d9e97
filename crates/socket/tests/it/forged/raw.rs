//! A UDT 4 peer without a protocol: it sends what a test has it send.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use incastle_socket::{
    Connection, ConnectionConfig, Control, Endpoint, EndpointConfig, EndpointStatistics, Listener,
};

/// First words of control packets, by type.
pub(crate) const HANDSHAKE: u32 = 0x8000_0000;
pub(crate) const ACK: u32 = 0x8002_0000;
pub(crate) const NAK: u32 = 0x8003_0000;
pub(crate) const SHUTDOWN: u32 = 0x8005_0000;
pub(crate) const ACK2: u32 = 0x8006_0000;
pub(crate) const DROP: u32 = 0x8007_0000;

/// Connection types.
pub(crate) const REQUEST: u32 = 1;
pub(crate) const RESPONSE: u32 = u32::MAX; // -1
pub(crate) const REFUSED: u32 = 1002;

/// The raw peer's socket, and its first sequence number.
pub(crate) const SOCKET: u32 = 77;
pub(crate) const FIRST: u32 = 1000;

/// An endpoint that accepts UDT.
pub(crate) struct Victim {
    pub(crate) endpoint: Endpoint,
    pub(crate) listener: Listener,
    pub(crate) address: SocketAddr,
}

impl Victim {
    pub(crate) fn new(limits: EndpointConfig) -> Self {
        let config = ConnectionConfig {
            control: Control::Udt,
            ..ConnectionConfig::default()
        };
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let endpoint = Endpoint::bind(local, limits).unwrap();
        let listener = endpoint.listen(config, 1000).unwrap();
        let address = endpoint.local_addr().unwrap();
        Self {
            endpoint,
            listener,
            address,
        }
    }

    /// Waits until the endpoint has seen something.
    pub(crate) async fn sees(&self, what: impl Fn(&EndpointStatistics) -> bool) {
        while !what(&self.endpoint.statistics()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// A datagram of words.
pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A handshake for socket 0, from socket `SOCKET`.
pub(crate) fn handshake(kind: u32, cookie: u32, packet_size: u32, window: u32) -> Vec<u8> {
    let header = [HANDSHAKE, 0, 0, 0];
    let body = [4, 1, FIRST, packet_size, window, kind, SOCKET, cookie];
    bytes(&[&header[..], &body, &[0; 4]].concat())
}

/// Word `index` of a datagram.
pub(crate) fn word(datagram: &[u8], index: usize) -> u32 {
    u32::from_be_bytes(datagram[4 * index..4 * index + 4].try_into().unwrap())
}

/// A peer with a separate socket.
pub(crate) struct Raw {
    pub(crate) socket: UdpSocket,
    /// The victim's number of our connection.
    pub(crate) theirs: u32,
}

impl Raw {
    pub(crate) fn new(victim: SocketAddr) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.connect(victim).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        Self { socket, theirs: 0 }
    }

    pub(crate) fn send(&self, datagram: &[u8]) {
        assert_eq!(self.socket.send(datagram).unwrap(), datagram.len());
    }

    pub(crate) fn receive(&self) -> Vec<u8> {
        let mut buffer = vec![0; 65_536];
        let length = self.socket.recv(&mut buffer).unwrap();
        buffer.truncate(length);
        buffer
    }

    /// The next handshake that comes.
    pub(crate) fn receive_handshake(&self) -> Vec<u8> {
        loop {
            let datagram = self.receive();
            if word(&datagram, 0) == HANDSHAKE {
                return datagram;
            }
        }
    }

    pub(crate) fn cookie(&self) -> u32 {
        self.send(&handshake(REQUEST, 0, 1500, 8192));
        word(&self.receive_handshake(), 11)
    }

    /// Goes through the handshake as it should be.
    pub(crate) async fn connect(victim: &Victim) -> (Self, Connection) {
        let mut raw = Self::new(victim.address);
        let cookie = raw.cookie();
        raw.send(&handshake(RESPONSE, cookie, 1500, 8192));
        let reply = raw.receive_handshake();
        assert_eq!(word(&reply, 9), RESPONSE);
        raw.theirs = word(&reply, 10);
        (raw, victim.listener.accept().await.unwrap())
    }

    /// A control packet for our connection.
    pub(crate) fn control(&self, kind: u32, information: u32, body: &[u32]) {
        let header = [kind, information, 0, self.theirs];
        self.send(&bytes(&[&header[..], body].concat()));
    }

    /// Data packet `number`, counted from our first.
    pub(crate) fn data(&self, number: u32, payload: &[u8]) {
        // First and last of its message, in order.
        let header = bytes(&[FIRST + number, 0xE000_0001, 0, self.theirs]);
        self.send(&[&header[..], payload].concat());
    }
}
