//! Lies about a connection that is there.

use std::net::{Ipv4Addr, UdpSocket};

use incastle_socket::{Connection, EndpointConfig};
use incastle_transport::udt::Refused;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::run;

use super::raw::{ACK, ACK2, DROP, FIRST, NAK, Raw, SHUTDOWN, Victim, bytes, handshake, word};

/// The connection lives: what is sent to it is read.
async fn lives(raw: &Raw, connection: &Connection, number: u32) {
    raw.data(number, b"alive");
    let mut received = [0; 5];
    let mut stream = connection.recv_stream().unwrap();
    stream.read_exact(&mut received).await.unwrap();
    assert_eq!(&received, b"alive");
}

/// The connection's counts of refused packets, once one is not zero.
async fn refused(connection: &Connection) -> Refused {
    loop {
        let refused = connection.statistics().protocol.refused;
        if refused != Refused::default() {
            return refused;
        }
        tokio::task::yield_now().await;
    }
}

/// The victim has written, and a packet of it is in flight: number `FIRST`.
async fn writes(raw: &Raw, connection: &Connection) {
    let mut stream = connection.send_stream().unwrap();
    stream.write_all(b"something").await.unwrap();
    while word(&raw.receive(), 0) != FIRST {}
}

#[test]
fn an_off_path_shutdown_has_no_effect() {
    run(async {
        let victim = Victim::new(EndpointConfig::default());
        let (raw, connection) = Raw::connect(&victim).await;
        // An attacker with the socket's ID, but another address.
        let stranger = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let forged = bytes(&[SHUTDOWN, 0, 0, raw.theirs]);
        stranger.send_to(&forged, victim.address).unwrap();
        victim.sees(|seen| seen.ignored.wrong_address == 1).await;
        // An attacker with the peer's address, but a guessed ID.
        raw.send(&bytes(&[SHUTDOWN, 0, 0, raw.theirs ^ 1]));
        victim.sees(|seen| seen.ignored.unknown_socket == 1).await;
        lives(&raw, &connection, 0).await;
    });
}

#[test]
fn an_ack_beyond_what_was_sent_has_no_effect() {
    run(async {
        let victim = Victim::new(EndpointConfig::default());
        let (raw, connection) = Raw::connect(&victim).await;
        writes(&raw, &connection).await;
        raw.control(ACK, 1, &[FIRST + 2, 100, 10, 8192, 0, 0]);
        assert_eq!(refused(&connection).await.acks, 1);
        assert_eq!(connection.statistics().unacknowledged, 9);
        lives(&raw, &connection, 0).await;
        // The truth is believed.
        raw.control(ACK, 2, &[FIRST + 1, 100, 10, 8192, 0, 0]);
        connection.flush().await.unwrap();
    });
}

#[test]
fn a_nak_of_what_was_never_sent_has_no_effect() {
    run(async {
        let victim = Victim::new(EndpointConfig::default());
        let (raw, connection) = Raw::connect(&victim).await;
        raw.control(NAK, 0, &[FIRST + 5]);
        assert_eq!(refused(&connection).await.nak_ranges, 1);
        assert_eq!(connection.statistics().retransmissions, 0);
        lives(&raw, &connection, 0).await;
    });
}

#[test]
fn a_nak_of_a_huge_range_has_no_effect() {
    run(async {
        let victim = Victim::new(EndpointConfig::default());
        let (raw, connection) = Raw::connect(&victim).await;
        raw.control(NAK, 0, &[1 << 31 | FIRST, FIRST + (1 << 29)]);
        assert_eq!(refused(&connection).await.nak_ranges, 1);
        // And a list that opens and never closes is no list.
        raw.control(NAK, 0, &[1 << 31 | FIRST]);
        while connection.statistics().protocol.refused.malformed == [0; 9] {
            tokio::task::yield_now().await;
        }
        lives(&raw, &connection, 0).await;
    });
}

#[test]
fn data_far_ahead_leave_no_room_behind() {
    run(async {
        let victim = Victim::new(EndpointConfig::default());
        let (raw, connection) = Raw::connect(&victim).await;
        raw.data(1 << 29, b"far");
        assert_eq!(refused(&connection).await.beyond_buffer, 1);
        assert_eq!(victim.endpoint.statistics().receive_memory, 0);
        lives(&raw, &connection, 0).await;
    });
}

#[test]
fn other_lies_have_no_effect() {
    run(async {
        let victim = Victim::new(EndpointConfig::default());
        let (raw, connection) = Raw::connect(&victim).await;
        raw.control(ACK2, 99, &[]);
        assert_eq!(refused(&connection).await.ack2s, 1);
        raw.control(DROP, 1, &[FIRST, FIRST + 9]);
        while connection.statistics().protocol.refused.drops == 0 {
            tokio::task::yield_now().await;
        }
        lives(&raw, &connection, 0).await;
    });
}

#[test]
fn a_promised_window_of_two_to_the_31_is_not_believed() {
    run(async {
        let victim = Victim::new(EndpointConfig::default());
        let (raw, connection) = Raw::connect(&victim).await;
        writes(&raw, &connection).await;
        let window = u32::MAX;
        raw.control(ACK, 1, &[FIRST + 1, 100, 10, window, 0, 0]);
        connection.flush().await.unwrap();
        // 8192 packets were agreed: no more may be unacknowledged, whatever the ACK says.
        let mut stream = connection.send_stream().unwrap();
        let bytes = vec![0; 13 << 20];
        let writer = tokio::spawn(async move { stream.write_all(&bytes).await });
        writer.await.unwrap().unwrap();
        let statistics = connection.statistics();
        assert!(statistics.protocol.packets_sent <= 1 + 8192);
        connection.abort();
    });
}

#[test]
fn a_repeated_handshake_makes_no_second_connection() {
    run(async {
        let victim = Victim::new(EndpointConfig::default());
        let (raw, connection) = Raw::connect(&victim).await;
        let cookie = raw.cookie();
        let again = handshake(super::raw::RESPONSE, cookie, 1500, 8192);
        raw.send(&again);
        let reply = raw.receive_handshake();
        assert_eq!(word(&reply, 10), raw.theirs, "the same connection");
        assert_eq!(victim.endpoint.statistics().connections, 1);
        lives(&raw, &connection, 0).await;
    });
}
