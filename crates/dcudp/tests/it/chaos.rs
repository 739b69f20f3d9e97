//! Any sequence of frames against a server with a directory. A file has a final name only if the client
//! announced it, its hash matches, and the server permits it. Confirmed files stay.

use std::fs;
use std::path::Path;

use crate::common::{bytes, files, folder, hash, name, pair, put};
use bytes::Bytes;
use incastle_cases::cases;
use incastle_dcudp::protocol::{ErrorCode, Frame, PART_SUFFIX};
use incastle_dcudp::request::Existing::Keep;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tokio::runtime::Builder;

/// The longest file that is announced.
const MAX_LENGTH: usize = 60;
/// The name of the file that was confirmed before.
const FIRST: &str = "first";

/// All files are beginnings of one of two sequences of bytes.
fn content(which: u64, length: usize) -> Vec<u8> {
    bytes(which, MAX_LENGTH)[..length].to_vec()
}

fn put_frame(what: &str, size: usize, replace: bool) -> Frame {
    Frame::Put {
        size: size as u64,
        replace,
        name: name(what),
    }
}

fn data(which: u64, from: usize, to: usize) -> Option<Frame> {
    let part = content(which, to.max(from))[from..].to_vec();
    (!part.is_empty()).then(|| Frame::Data(Bytes::from(part)))
}

fn end(which: u64, length: usize) -> Frame {
    Frame::End {
        hash: hash(&content(which, length)),
    }
}

fn a_name() -> impl Strategy<Value = &'static str> {
    select(vec![FIRST, "a", "b"])
}

prop_compose! {
    /// A file as it should be sent, except for one frame that is changed or left out.
    fn almost_a_file()(
        what in a_name(),
        which in 0..2_u64,
        length in 0..MAX_LENGTH,
        cut in 0..MAX_LENGTH,
        replace in any::<bool>(),
        change in prop_oneof![3 => Just(None), 1 => (0..5_usize, 0..MAX_LENGTH).prop_map(Some)],
    ) -> Vec<Frame> {
        let cut = cut.min(length);
        let mut frames = vec![
            Some(put_frame(what, length, replace)),
            Some(Frame::Begin { offset: 0 }),
            data(which, 0, cut),
            data(which, cut, length),
            Some(end(which, length)),
        ];
        match change {
            Some((index, value)) if value % 2 == 0 => frames[index] = None,
            Some((0, value)) => frames[0] = Some(put_frame(what, value, replace)),
            Some((1, value)) => {
                frames[1] = Some(Frame::Begin {
                    offset: value as u64,
                });
            }
            Some((2 | 3, value)) => frames[3] = data(1 - which, 0, value),
            Some((_, value)) => frames[4] = Some(end(which, value)),
            None => {}
        }
        frames.into_iter().flatten().collect()
    }
}

fn a_frame() -> impl Strategy<Value = Frame> {
    let have = (0..MAX_LENGTH as u64, any::<bool>()).prop_map(|(bytes, true_hash)| Frame::Have {
        bytes,
        hash: if true_hash {
            hash(&content(0, bytes as usize))
        } else {
            [7; 32]
        },
    });
    prop_oneof![
        a_name().prop_map(|what| Frame::Get { name: name(what) }),
        have,
        Just(Frame::Done),
        Just(Frame::Busy),
        Just(Frame::Begin { offset: u64::MAX }),
        Just(put_frame("a", usize::MAX, true)),
        Just(Frame::File { size: 1 }),
        Just(Frame::Hello { version: 1 }),
        Just(Frame::Ping(Bytes::from_static(b"?"))),
        Just(Frame::Error {
            code: ErrorCode::Changed,
            message: "it changed".to_owned()
        }),
    ]
}

fn chaos() -> impl Strategy<Value = Vec<Frame>> {
    let piece = prop_oneof![3 => almost_a_file(), 1 => a_frame().prop_map(|frame| vec![frame])];
    vec(piece, 1..12).prop_map(|pieces| pieces.concat())
}

/// Runs a conversation of these client frames until client and server have ended.
fn run_conversation(directory: &Path, frames: &[Frame]) {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(conversation(directory, frames));
}

async fn conversation(directory: &Path, frames: &[Frame]) {
    let (mut client, server) = pair();
    let service = files(directory);
    let served = tokio::spawn(async move {
        incastle_dcudp::service::serve(&service, server, crate::common::place()).await;
    });
    client.greet().await.unwrap();
    let first = directory.join("source");
    fs::write(&first, content(0, MAX_LENGTH)).unwrap();
    put(&mut client, &first, FIRST, Keep).await.unwrap();
    fs::remove_file(&first).unwrap();
    for frame in frames {
        // The server may have ended the connection.
        if client.send(frame).await.is_err() {
            break;
        }
    }
    // A greeting is never due: whatever the server waits for, it ends the conversation.
    client.send(&Frame::Hello { version: 1 }).await.ok();
    while let Ok(Some(_)) = client.next_request().await {}
    drop(client);
    served.await.unwrap();
}

fn check(directory: &Path, frames: &[Frame]) {
    let announced = |what: &str, length: usize, replaces: bool| {
        frames.iter().any(|frame| {
            matches!(frame, Frame::Put { size, replace, name }
                if name.as_str() == what && *size == length as u64 && (*replace || !replaces))
        })
    };
    for entry in fs::read_dir(directory).unwrap() {
        let found = entry.unwrap().file_name().into_string().unwrap();
        let read = fs::read(directory.join(&found)).unwrap();
        if let Some(what) = found.strip_suffix(PART_SUFFIX) {
            assert!(read.len() <= MAX_LENGTH, "{what}");
            continue;
        }
        if found == FIRST && read == content(0, MAX_LENGTH) {
            continue;
        }
        // It replaced a confirmed file only if a frame requested that.
        assert!(
            announced(&found, read.len(), found == FIRST),
            "{found} of {} bytes",
            read.len()
        );
        let end = Frame::End { hash: hash(&read) };
        assert!(frames.contains(&end), "{found}: no frame has its hash");
    }
    assert!(directory.join(FIRST).exists(), "what was confirmed stays");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(300),
        max_shrink_iters: 300,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_frames_make_a_file_that_was_not_sent(frames in chaos()) {
        let directory = folder();
        run_conversation(directory.path(), &frames);
        check(directory.path(), &frames);
    }
}

/// Such sequences do make files, else nothing would be tested.
#[test]
fn an_honest_file_among_them_arrives() {
    let directory = folder();
    let mut frames = vec![put_frame("a", 5, false), Frame::Begin { offset: 0 }];
    frames.extend(data(1, 0, 5));
    frames.push(end(1, 5));
    run_conversation(directory.path(), &frames);
    check(directory.path(), &frames);
    assert_eq!(fs::read(directory.path().join("a")).unwrap(), content(1, 5));
}
