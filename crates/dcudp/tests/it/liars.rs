//! Malicious peers: false sizes, offsets, hashes and versions, or another protocol. No file gets its final
//! name, and the peer receives an error.

use std::fs;

use crate::common::{
    Endpoint, PATIENCE, bytes, client_of, files, folder, get, hash, listing, name, pair, put,
};
use bytes::Bytes;
use incastle_dcudp::bench::{Meter, flow};
use incastle_dcudp::error::Failure;
use incastle_dcudp::protocol::{Channel, Chunk, ErrorCode, Frame, MAX_DATA};
use incastle_dcudp::request::Existing::Keep;
use tokio::io::{AsyncWriteExt, duplex, split};

const SIZE: u64 = 1000;

fn put_frame(size: u64) -> Frame {
    Frame::Put {
        size,
        replace: false,
        name: name("f"),
    }
}

/// Offers a file and gives the server's reply to the frames that follow.
async fn offered(client: &mut Endpoint, size: u64, then: Vec<Frame>) -> Failure {
    client.send(&put_frame(size)).await.unwrap();
    match client.receive().await {
        Ok(Frame::Have { .. }) => {}
        Ok(other) => panic!("{other:?}"),
        Err(failure) => return failure,
    }
    for frame in then {
        // The server may have ended the connection.
        if client.send(&frame).await.is_err() {
            break;
        }
    }
    client.receive().await.unwrap_err()
}

fn data(count: usize) -> Frame {
    Frame::Data(Bytes::from(bytes(1, count)))
}

fn end(content: &[u8]) -> Frame {
    Frame::End {
        hash: hash(content),
    }
}

fn there(failure: &Failure) -> (ErrorCode, String) {
    match failure {
        Failure::There { code, message } => (*code, message.clone()),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_sender_that_lies_about_sizes_leaves_no_file() {
    let begin = |offset| Frame::Begin { offset };
    let content = bytes(1, 1000);
    let cases = [
        (
            "more bytes",
            vec![begin(0), data(1001), end(&bytes(1, 1001))],
        ),
        (
            "more frames",
            vec![begin(0), data(1000), data(1), end(&content)],
        ),
        (
            "fewer bytes",
            vec![begin(0), data(999), end(&bytes(1, 999))],
        ),
        ("no bytes", vec![begin(0), end(&content)]),
        ("an offset beyond", vec![begin(7), data(993), end(&content)]),
        ("a huge offset", vec![begin(u64::MAX), end(&content)]),
        ("no beginning", vec![data(1000), end(&content)]),
        ("another request inside", vec![begin(0), put_frame(1)]),
    ];
    for (what, frames) in cases {
        let directory = folder();
        let mut client = client_of(files(directory.path())).await;
        let failure = offered(&mut client, SIZE, frames).await;
        let (code, message) = there(&failure);
        assert_eq!(code, ErrorCode::Protocol, "{what}: {message}");
        assert!(!directory.path().join("f").exists(), "{what}");
        let part = fs::metadata(directory.path().join("f.dcudp-part"));
        assert!(part.is_ok_and(|part| part.len() <= SIZE) || listing(directory.path()).is_empty());
    }
}

#[tokio::test]
async fn a_size_that_no_disk_has_is_refused_at_once() {
    let directory = folder();
    let mut client = client_of(files(directory.path())).await;
    for size in [u64::MAX, 1 << 62] {
        let failure = offered(&mut client, size, Vec::new()).await;
        let (code, message) = there(&failure);
        assert_eq!(code, ErrorCode::NoSpace);
        assert!(message.contains("the disk has"), "{message}");
    }
    assert!(listing(directory.path()).is_empty());
}

#[tokio::test]
async fn other_bytes_than_were_hashed_are_thrown_away() {
    let directory = folder();
    let mut client = client_of(files(directory.path())).await;
    let frames = vec![Frame::Begin { offset: 0 }, data(1000), end(b"other")];
    let failure = offered(&mut client, SIZE, frames).await;
    assert_eq!(there(&failure).0, ErrorCode::Corrupt);
    assert!(listing(directory.path()).is_empty());
    // The connection goes on.
    let path = directory.path().join("honest");
    fs::write(&path, "honest").unwrap();
    put(&mut client, &path, "copy", Keep).await.unwrap();
    assert_eq!(listing(directory.path()), ["copy", "honest"]);
}

#[tokio::test]
async fn a_sender_that_claims_the_file_is_there_is_compared() {
    let directory = folder();
    fs::write(directory.path().join("f"), bytes(2, 1000)).unwrap();
    let mut client = client_of(files(directory.path())).await;
    let frames = vec![Frame::Begin { offset: SIZE }, end(&bytes(1, 1000))];
    let failure = offered(&mut client, SIZE, frames).await;
    assert_eq!(there(&failure).0, ErrorCode::Exists);
    assert_eq!(
        fs::read(directory.path().join("f")).unwrap(),
        bytes(2, 1000)
    );
}

#[tokio::test]
async fn a_sender_that_leaves_in_the_middle_leaves_what_came() {
    let (here, directory) = (folder(), folder());
    let content = bytes(1, 3 * MAX_DATA);
    let part = directory.path().join("f.dcudp-part");
    {
        let (mut client, server) = pair();
        let service = files(directory.path());
        let served = tokio::spawn(async move {
            incastle_dcudp::service::serve(&service, server, crate::common::place()).await;
        });
        client.greet().await.unwrap();
        client.send(&put_frame(content.len() as u64)).await.unwrap();
        client.receive().await.unwrap();
        client.send(&Frame::Begin { offset: 0 }).await.unwrap();
        for piece in content[..2 * MAX_DATA].chunks(MAX_DATA) {
            let frame = Frame::Data(Bytes::copy_from_slice(piece));
            client.send(&frame).await.unwrap();
        }
        drop(client);
        served.await.unwrap();
    }
    assert_eq!(fs::read(&part).unwrap(), &content[..2 * MAX_DATA]);
    assert_eq!(listing(directory.path()), ["f.dcudp-part"]);
    let path = here.path().join("f");
    fs::write(&path, &content).unwrap();
    let mut client = client_of(files(directory.path())).await;
    let moved = put(&mut client, &path, "f", Keep).await.unwrap();
    assert_eq!(moved.resumed, 2 * MAX_DATA as u64);
    assert_eq!(fs::read(directory.path().join("f")).unwrap(), content);
}

#[tokio::test]
async fn an_error_of_the_sender_ends_the_file_and_not_the_connection() {
    let directory = folder();
    let mut client = client_of(files(directory.path())).await;
    let gone = Frame::Error {
        code: ErrorCode::Changed,
        message: "it changed".to_owned(),
    };
    let frames = vec![Frame::Begin { offset: 0 }, data(500), gone];
    let failure = offered(&mut client, SIZE, frames).await;
    let (code, message) = there(&failure);
    assert_eq!(code, ErrorCode::Changed, "{message}");
    assert!(message.contains("it changed"), "{message}");
    assert_eq!(listing(directory.path()), ["f.dcudp-part"]);
    client
        .send(&Frame::Ping(Bytes::from_static(b"?")))
        .await
        .unwrap();
    let pong = Frame::Pong(Bytes::from_static(b"?"));
    assert_eq!(client.receive().await.unwrap(), pong);
}

/// A server that replies to a get with given frames.
async fn got(replies: Vec<Frame>) -> (Failure, Vec<String>) {
    let into = folder();
    let (mut client, mut server) = pair();
    tokio::spawn(async move {
        server.greet().await.unwrap();
        server.next_request().await.unwrap();
        let mut replies = replies.into_iter();
        let first = replies.next().unwrap();
        let is_file = matches!(first, Frame::File { .. });
        server.send(&first).await.unwrap();
        if is_file && !matches!(server.receive().await, Ok(Frame::Have { .. })) {
            return;
        }
        for reply in replies {
            if server.send(&reply).await.is_err() {
                return;
            }
        }
        // Any further frames of the client.
        while let Ok(Some(_)) = server.next_request().await {}
    });
    client.greet().await.unwrap();
    let failure = get(&mut client, into.path(), "f", Keep).await.unwrap_err();
    drop(client);
    (failure, listing(into.path()))
}

#[tokio::test]
async fn a_server_that_lies_about_sizes_leaves_no_file() {
    let file = Frame::File { size: SIZE };
    let begin = Frame::Begin { offset: 0 };
    let cases = [
        vec![
            file.clone(),
            begin.clone(),
            data(1001),
            end(&bytes(1, 1001)),
        ],
        vec![file.clone(), begin.clone(), data(10), end(&bytes(1, 10))],
        vec![file.clone(), Frame::Begin { offset: 5 }, data(10)],
        vec![file.clone(), Frame::Done],
        vec![Frame::Done],
        vec![Frame::Have {
            bytes: 1,
            hash: [0; 32],
        }],
    ];
    for replies in cases {
        let (failure, left) = got(replies).await;
        assert!(matches!(failure, Failure::Protocol(_)), "{failure}");
        assert!(!left.contains(&"f".to_owned()));
    }
    let (failure, left) = got(vec![Frame::File { size: u64::MAX }]).await;
    assert!(
        matches!(
            failure,
            Failure::Here {
                code: ErrorCode::NoSpace,
                ..
            }
        ),
        "{failure}"
    );
    assert!(left.is_empty());
}

#[tokio::test]
async fn a_receiver_that_claims_too_much_gets_the_whole_file() {
    let directory = folder();
    fs::write(directory.path().join("f"), bytes(1, 1000)).unwrap();
    let content_hash = hash(&bytes(1, 1000));
    for (claim, claimed) in [(1001, content_hash), (u64::MAX, [0; 32]), (1000, [0; 32])] {
        let mut client = client_of(files(directory.path())).await;
        client.send(&Frame::Get { name: name("f") }).await.unwrap();
        assert_eq!(client.receive().await.unwrap(), Frame::File { size: SIZE });
        let have = Frame::Have {
            bytes: claim,
            hash: claimed,
        };
        client.send(&have).await.unwrap();
        assert_eq!(client.receive().await.unwrap(), Frame::Begin { offset: 0 });
        assert_eq!(client.receive().await.unwrap(), data(1000));
        assert_eq!(
            client.receive().await.unwrap(),
            Frame::End { hash: content_hash }
        );
        client.send(&Frame::Done).await.unwrap();
    }
}

#[tokio::test]
async fn a_receiver_may_give_up_in_the_middle_and_go_on_with_another_file() {
    let directory = folder();
    fs::write(directory.path().join("big"), bytes(1, 20 * MAX_DATA)).unwrap();
    fs::write(directory.path().join("small"), "small").unwrap();
    let mut client = client_of(files(directory.path())).await;
    client
        .send(&Frame::Get { name: name("big") })
        .await
        .unwrap();
    client.receive().await.unwrap();
    let have = Frame::Have {
        bytes: 0,
        hash: hash(b""),
    };
    client.send(&have).await.unwrap();
    client.receive().await.unwrap();
    client.receive().await.unwrap();
    let full = Failure::here(ErrorCode::NoSpace, "the disk is full");
    client.send_failure(&full).await.unwrap();
    client.skip_file().await.unwrap();
    let into = folder();
    get(&mut client, into.path(), "small", Keep).await.unwrap();
    assert_eq!(listing(into.path()), ["small"]);
}

#[tokio::test]
async fn another_version_is_reported_at_both_endpoints() {
    let (mut old, mut new) = pair();
    let later = tokio::spawn(async move {
        new.send(&Frame::Hello { version: 2 }).await.unwrap();
        assert_eq!(new.receive().await.unwrap(), Frame::Hello { version: 1 });
        new.receive().await.unwrap_err()
    });
    let failure = old.greet().await.unwrap_err();
    assert!(failure.to_string().contains("version 2"), "{failure}");
    assert_eq!(failure.status(), 1);
    let (code, message) = there(&later.await.unwrap());
    assert_eq!(code, ErrorCode::Version);
    assert!(message.contains("version 1"), "{message}");
}

#[tokio::test]
async fn who_is_not_dcudp_is_distinguished() {
    for sent in [
        "HTTP/1.1 200 OK\r\n\r\n",
        "\x01\0\0\0\x0aAAAAAAAA\0\x01",
        "\0\0\0\0\0\0\0\0",
    ] {
        let (stream, mut other) = duplex(1024);
        let (reader, writer) = split(stream);
        let mut client = Channel::new(reader, writer, PATIENCE);
        other.write_all(sent.as_bytes()).await.unwrap();
        let failure = client.greet().await.unwrap_err();
        assert_eq!(failure.status(), 1);
        let message = failure.to_string();
        assert!(message.contains("file protocol"), "{message}");
    }
}

#[tokio::test]
async fn a_receiver_that_leaves_with_an_error_is_heard() {
    let (mut client, mut server) = pair();
    tokio::spawn(async move {
        server.greet().await.unwrap();
        let full = Failure::here(ErrorCode::NoSpace, "the disk is full");
        server.send_failure(&full).await.unwrap();
    });
    client.greet().await.unwrap();
    let chunk = Chunk::fill(|space| Ok::<_, ()>(space.len()))
        .unwrap()
        .unwrap();
    let failure = loop {
        if let Err(failure) = client.send_chunk(&chunk).await {
            break failure;
        }
    };
    assert_eq!(
        there(&failure),
        (ErrorCode::NoSpace, "the disk is full".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_is_given_up_and_a_busy_one_is_not() {
    let (mut client, server) = pair();
    let failure = client.receive().await.unwrap_err();
    assert!(
        failure
            .to_string()
            .contains("nothing from the peer for 60 s"),
        "{failure}"
    );
    drop(server);

    let (mut client, mut server) = pair();
    tokio::spawn(async move {
        let work = tokio::time::sleep(PATIENCE * 10);
        server.while_busy(work).await.unwrap();
        server.send(&Frame::Done).await.unwrap();
    });
    assert_eq!(client.receive().await.unwrap(), Frame::Done);
}

#[tokio::test(start_paused = true)]
async fn a_listening_endpoint_reports_that_it_listens() {
    let (mut client, mut server) = pair();
    tokio::spawn(async move { flow::sink(&mut server, &Meter::default()).await.unwrap() });
    for _ in 0..3 {
        tokio::time::sleep(PATIENCE / 2).await;
        client.send(&data(1)).await.unwrap();
        let word = client.next_request().await.unwrap();
        assert_eq!(word, Some(Frame::Busy));
    }
    client.send(&end(b"")).await.unwrap();
    let Frame::Report(report) = client.receive().await.unwrap() else {
        panic!("no report")
    };
    assert_eq!(report.bytes, 3);
}

#[tokio::test]
async fn a_peer_that_leaves_in_the_middle_of_a_frame_is_noticed() {
    let (stream, mut other) = duplex(1024);
    let (reader, writer) = split(stream);
    let mut client = Channel::new(reader, writer, PATIENCE);
    other.write_all(b"\x01\0\0").await.unwrap();
    drop(other);
    let failure = client.greet().await.unwrap_err();
    assert!(matches!(failure, Failure::Connection(_)), "{failure}");
}
