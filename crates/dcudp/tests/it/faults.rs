//! Faults during a transfer: full disks, killed and stopped endpoints, files that shrink or vanish.
//! After each of them, no unfinished file has a final name, confirmed bytes stay, and the same command
//! resumes.
//!
//! Transfers that a test interrupts are slow: the sender's interface rate is set low.

use std::fs::{self, File};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{sleep, spawn};
use std::time::Duration;

use crate::common::{bytes, client_of, files, folder, hash, listing, name};
use crate::running::{Running, Server, dcudp, finish};
use bytes::Bytes;
use incastle_dcudp::disk::{Clash, Destination, Root};
use incastle_dcudp::error::Failure;
use incastle_dcudp::link;
use incastle_dcudp::protocol::{ErrorCode, Frame, MAX_DATA};
use incastle_dcudp::transfer::receive_file;
use incastle_socket::{ConnectionConfig, Endpoint, EndpointConfig};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::Signal;

const MB: usize = 1_000_000;
/// Takes 16 s on the slow interface.
const LONG: usize = 40 * MB;
const SLOW: [&str; 2] = ["--capacity", "20 Mbit/s"];

fn run(arguments: &[&str]) -> (i32, String, String) {
    finish(dcudp(arguments).spawn().unwrap())
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Waits until a file has some bytes. The programs' own patience ends the wait if it never does.
fn wait_for(file: &Path, least: u64, running: &mut Running) {
    while fs::metadata(file).map_or(0, |about| about.len()) < least {
        assert!(!running.has_ended(), "it ended before it was in the middle");
        sleep(Duration::from_millis(5));
    }
}

/// A slow send that is in the middle.
fn sending(file: &Path, more: &[&Path], server: &Server, there: &Path) -> Running {
    let mut arguments = vec!["send", path(file)];
    arguments.extend(more.iter().map(|more| path(more)));
    arguments.push(&server.address);
    arguments.extend(SLOW);
    let mut sender = Running::new(dcudp(&arguments).spawn().unwrap());
    wait_for(&there.join("f.dcudp-part"), MB as u64, &mut sender);
    sender
}

/// A long file, called f.
fn long_file(here: &Path) -> std::path::PathBuf {
    let file = here.join("f");
    fs::write(&file, bytes(1, LONG)).unwrap();
    file
}

/// The same command again, at full speed: it goes on.
fn resumes(file: &Path, server: &Server, there: &Path) {
    let (status, out, err) = run(&["send", path(file), &server.address]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(out.contains("was there already; the rest in"), "{out}");
    assert_eq!(
        hash(&fs::read(there.join("f")).unwrap()),
        hash(&bytes(1, LONG))
    );
    assert_eq!(listing(there), ["f"]);
}

#[test]
fn an_interrupted_send_goes_on() {
    let (here, there) = (folder(), folder());
    let file = long_file(here.path());
    let server = Server::files(there.path(), &[]);
    let sender = sending(&file, &[], &server, there.path());
    let (status, out, err) = sender.interrupt();
    assert_eq!((status, out.as_str()), (130, ""));
    let message = "interrupted: 0 of 1 files are whole on 127.0.0.1:";
    assert!(
        err.starts_with(message) && err.contains("goes on where"),
        "{err}"
    );
    assert_eq!(listing(there.path()), ["f.dcudp-part"]);
    // The server has to notice first: until then the file is locked.
    let mut last = run(&[
        "send",
        path(&file),
        &server.address,
        "--capacity",
        "10 Gbit/s",
    ]);
    while last.2.contains("another transfer writes to it now") {
        last = run(&["send", path(&file), &server.address]);
    }
    assert_eq!(last.0, 0, "{}", last.2);
    assert!(
        last.1.contains("was there already; the rest in"),
        "{}",
        last.1
    );
    assert_eq!(listing(there.path()), ["f"]);
}

#[test]
fn an_interrupted_get_goes_on() {
    let (there, into) = (folder(), folder());
    long_file(there.path());
    let server = Server::files(there.path(), &SLOW);
    let arguments = ["get", &server.address, "f", "--into", path(into.path())];
    let mut getter = Running::new(dcudp(&arguments).spawn().unwrap());
    wait_for(&into.path().join("f.dcudp-part"), MB as u64, &mut getter);
    let (status, _, err) = getter.interrupt();
    assert_eq!(status, 130);
    assert!(err.contains("0 of 1 files are whole in "), "{err}");
    assert_eq!(listing(into.path()), ["f.dcudp-part"]);
    drop(server);

    let server = Server::files(there.path(), &[]);
    let (status, out, err) = run(&["get", &server.address, "f", "--into", path(into.path())]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(out.contains("was there already; the rest in"), "{out}");
    assert_eq!(
        hash(&fs::read(into.path().join("f")).unwrap()),
        hash(&bytes(1, LONG))
    );
    assert_eq!(listing(into.path()), ["f"]);
}

/// A path to a server that carries no datagram longer than this, in either direction, for one client.
fn narrow_path(server: &str, most: usize) -> String {
    let [near, far] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    far.connect(server).unwrap();
    let address = near.local_addr().unwrap().to_string();
    let (near_too, far_too) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    // They end with the tests.
    spawn(move || {
        let mut room = vec![0; 65_536];
        while let Ok((length, client)) = near.recv_from(&mut room) {
            // Connected before anything can come back.
            near.connect(client).unwrap();
            if length <= most {
                far.send(&room[..length]).ok();
            }
        }
    });
    spawn(move || {
        let mut room = vec![0; 65_536];
        while let Ok(length) = far_too.recv(&mut room) {
            if length <= most {
                near_too.send(&room[..length]).ok();
            }
        }
    });
    address
}

#[tokio::test]
async fn an_unfinished_file_that_somebody_removes_is_reported_by_its_name() {
    let into = folder();
    let (mut receiver, mut sender) = crate::common::pair();
    let content = bytes(3, 1000);
    let root = Root::open(into.path()).unwrap();
    let to = Destination::new(&root, name("f"), Clash::Replace).unwrap();
    let (size, part) = (content.len() as u64, into.path().join("f.dcudp-part"));
    let hidden = indicatif::ProgressBar::hidden();
    let receiving = receive_file(&mut receiver, to, size, &hidden);
    let sending = async {
        sender.receive().await.unwrap();
        fs::remove_file(&part).unwrap();
        let begin = Frame::Begin { offset: 0 };
        let end = Frame::End {
            hash: hash(&content),
        };
        for frame in [begin, Frame::Data(content.clone().into()), end] {
            sender.send(&frame).await.unwrap();
        }
        sender.receive().await.unwrap_err()
    };
    let (received, reported) = tokio::join!(receiving, sending);
    let message = "f.dcudp-part was removed while the file arrived";
    assert_eq!(received.unwrap_err().to_string(), message);
    assert!(reported.to_string().contains(message), "{reported}");
}

#[test]
fn a_path_of_smaller_packets_is_reported_with_a_remedy() {
    let (here, there) = (folder(), folder());
    let file = here.path().join("f");
    fs::write(&file, bytes(1, MB)).unwrap();
    let server = Server::files(there.path(), &[]);
    let path_there = narrow_path(&server.address, 1_300);
    // Such a relay carries no ECN either.
    let (status, out, err) = run(&["send", path(&file), &path_there, "--cc", "udt"]);
    assert_eq!((status, out.as_str()), (1, ""));
    let message = "warning: no packet of 1500 bytes was acknowledged: \
                 if this path takes only smaller ones, give --mtu '1280 B'\n\
                 error: f: the connection is lost: the peer is silent";
    assert!(err.starts_with(message), "{err}");
    fs::write(there.path().join("g"), bytes(2, MB)).unwrap();
    let path_there = narrow_path(&server.address, 1_300);
    let into = path(here.path());
    let get = ["get", &path_there, "g", "--into", into, "--cc", "udt"];
    let (status, out, err) = run(&get);
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(err.contains("give --mtu '1280 B'\nerror: g: "), "{err}");
    let path_there = narrow_path(&server.address, 1_300);
    let smaller = [
        "send",
        path(&file),
        &path_there,
        "--cc",
        "udt",
        "--mtu",
        "1280 B",
    ];
    let mut again = run(&smaller);
    // The server gives the first connection up a moment later.
    while again.2.contains("another transfer writes to it now") {
        again = run(&smaller);
    }
    assert_eq!((again.0, again.2.as_str()), (0, ""));
    assert_eq!(fs::read(there.path().join("f")).unwrap(), bytes(1, MB));
}

#[test]
fn a_server_that_is_killed_loses_nothing_that_was_confirmed() {
    let (here, there) = (folder(), folder());
    let file = long_file(here.path());
    let first = here.path().join("first");
    fs::write(&first, bytes(2, MB)).unwrap();
    let server = Server::files(there.path(), &[]);
    let (status, ..) = run(&["send", path(&first), &server.address]);
    assert_eq!(status, 0);
    let sender = sending(&file, &[], &server, there.path());
    server.signal(Signal::KILL);
    let (status, out, err) = sender.finish();
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(err.starts_with("error: f: "), "{err}");
    assert_eq!(listing(there.path()), ["f.dcudp-part", "first"]);
    assert_eq!(fs::read(there.path().join("first")).unwrap(), bytes(2, MB));
    fs::remove_file(there.path().join("first")).unwrap();
    drop(server);
    resumes(&file, &Server::files(there.path(), &[]), there.path());
}

#[test]
fn a_stopped_server_reports_to_its_clients() {
    let (here, there) = (folder(), folder());
    let file = long_file(here.path());
    let server = Server::files(there.path(), &[]);
    let sender = sending(&file, &[], &server, there.path());
    let (status, _, log) = server.interrupt();
    assert_eq!(status, 0);
    assert!(
        log.contains("stopping: 1 open connection; clients that do not answer are waited for")
            && log.contains("stopped with 1 open connection; unfinished files are kept"),
        "{log}"
    );
    let (status, _, err) = sender.finish();
    assert_eq!(status, 1);
    assert!(err.starts_with("error: f: "), "{err}");
    resumes(&file, &Server::files(there.path(), &[]), there.path());
}

#[test]
fn a_client_that_is_killed_leaves_what_it_sent() {
    let (here, there) = (folder(), folder());
    let file = long_file(here.path());
    let server = Server::files(there.path(), &[]);
    let sender = sending(&file, &[], &server, there.path());
    sender.signal(Signal::KILL);
    assert_eq!(sender.finish().0, -1);
    assert_eq!(listing(there.path()), ["f.dcudp-part"]);
    drop(server);
    resumes(&file, &Server::files(there.path(), &[]), there.path());
}

#[test]
fn a_file_that_shrinks_while_it_is_sent_fails() {
    let (here, there) = (folder(), folder());
    let file = long_file(here.path());
    let server = Server::files(there.path(), &[]);
    let sender = sending(&file, &[], &server, there.path());
    File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_len(0)
        .unwrap();
    let (status, out, err) = sender.finish();
    assert_eq!((status, out.as_str()), (1, ""));
    assert_eq!(err, "error: f: it changed while it was sent\n");
    assert_eq!(listing(there.path()), ["f.dcudp-part"]);
    let (_, _, log) = server.interrupt();
    assert!(
        log.contains("could not take in f: the peer reports: it changed"),
        "{log}"
    );
}

#[test]
fn a_file_that_vanishes_before_its_turn_fails_alone() {
    let (here, there) = (folder(), folder());
    let file = here.path().join("f");
    // 2 s on the slow interface.
    fs::write(&file, bytes(1, 5 * MB)).unwrap();
    let second = here.path().join("second");
    fs::write(&second, "x").unwrap();
    let server = Server::files(there.path(), &[]);
    let sender = sending(&file, &[&second], &server, there.path());
    fs::remove_file(&second).unwrap();
    // The first loses its name too; it is open, and goes on.
    fs::remove_file(&file).unwrap();
    let (status, out, err) = sender.finish();
    assert_eq!(status, 1);
    assert!(out.starts_with("f: 5.00 MB in "), "{out}");
    assert_eq!(
        err,
        "error: second: No such file or directory\n1 of 2 files are whole\n"
    );
    assert_eq!(listing(there.path()), ["f"]);
}

/// The program with a limit of 2 MB on the files that it writes.
fn limited(arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    // In blocks of 512 bytes.
    let script = "ulimit -f 3906; exec \"$@\"";
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_dcudp")]);
    command.args(arguments);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[test]
fn a_disk_that_takes_no_more_is_reported_at_both_endpoints() {
    let (here, there, into) = (folder(), folder(), folder());
    let (file, small) = (here.path().join("f"), here.path().join("small"));
    fs::write(&file, bytes(1, 5 * MB)).unwrap();
    fs::write(&small, "small").unwrap();
    let arguments = ["serve", path(there.path()), "--listen", "127.0.0.1:0"];
    let server = Server::start(limited(&arguments));
    let (status, out, err) = run(&["send", path(&file), path(&small), &server.address]);
    assert_eq!(status, 1);
    assert!(
        err.starts_with("error: f: the peer reports: File too large\n"),
        "{err}"
    );
    // The next file has nothing to do with it.
    assert!(out.starts_with("small: 5 B in "), "{out}");
    assert_eq!(listing(there.path()), ["f.dcudp-part", "small"]);
    drop(server);

    fs::rename(&file, there.path().join("f")).unwrap();
    fs::remove_file(there.path().join("f.dcudp-part")).unwrap();
    let server = Server::files(there.path(), &[]);
    let arguments = [
        "get",
        &server.address,
        "f",
        "small",
        "--into",
        path(into.path()),
    ];
    let (status, out, err) = finish(limited(&arguments).spawn().unwrap());
    assert_eq!(status, 1);
    assert!(err.starts_with("error: f: File too large\n"), "{err}");
    assert!(out.starts_with("small: 5 B in "), "{out}");
    assert_eq!(listing(into.path()), ["f.dcudp-part", "small"]);
    let (status, ..) = run(&["get", &server.address, "f", "--into", path(into.path())]);
    assert_eq!(status, 0);
    assert_eq!(fs::read(into.path().join("f")).unwrap(), bytes(1, 5 * MB));
}

/// A file system of 8 MB, if this user may mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let directory = folder();
        let options = c"size=8m";
        match mount(
            "tmpfs",
            directory.path(),
            "tmpfs",
            MountFlags::empty(),
            options,
        ) {
            Ok(()) => Some(Self(directory)),
            Err(error) => {
                println!("skipped: no file system can be mounted here: {error}");
                None
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        unmount(self.0.path(), UnmountFlags::DETACH).ok();
    }
}

#[test]
fn a_file_that_the_disk_has_no_room_for_is_refused_before_it_is_sent() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let here = folder();
    let file = here.path().join("f");
    fs::write(&file, bytes(1, 20 * MB)).unwrap();
    let server = Server::files(disk.0.path(), &[]);
    let (status, _, err) = run(&["send", path(&file), &server.address]);
    assert_eq!(status, 1);
    let message = "error: f: the peer reports: it needs 20.0 MB more, the disk has 8.39 MB\n";
    assert_eq!(err, message);
    assert!(listing(disk.0.path()).is_empty());
}

#[tokio::test]
async fn a_disk_that_fills_in_the_middle_is_reported() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let mut client = client_of(files(disk.0.path())).await;
    let content = bytes(1, 6 * MB);
    let put = Frame::Put {
        size: content.len() as u64,
        replace: false,
        name: name("f"),
    };
    client.send(&put).await.unwrap();
    client.receive().await.unwrap();
    client.send(&Frame::Begin { offset: 0 }).await.unwrap();
    let mut pieces = content.chunks(MAX_DATA);
    let piece = Bytes::copy_from_slice(pieces.next().unwrap());
    client.send(&Frame::Data(piece)).await.unwrap();
    let part = disk.0.path().join("f.dcudp-part");
    while fs::metadata(&part).map_or(0, |part| part.len()) < MAX_DATA as u64 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // Somebody else fills the disk: the write that fails is what is wanted here.
    fs::write(disk.0.path().join("filler"), vec![0; 9 * MB]).unwrap_err();
    for piece in pieces {
        let piece = Bytes::copy_from_slice(piece);
        client.send(&Frame::Data(piece)).await.unwrap();
    }
    let end = Frame::End {
        hash: hash(&content),
    };
    client.send(&end).await.unwrap();
    match client.receive().await.unwrap_err() {
        Failure::There { code, message } => {
            assert_eq!(
                (code, message.as_str()),
                (ErrorCode::NoSpace, "No space left on device")
            );
        }
        other => panic!("{other}"),
    }
    assert!(!disk.0.path().join("f").exists());
    // The connection and the server go on; with room the file goes on too.
    fs::remove_file(disk.0.path().join("filler")).unwrap();
    client.send(&put).await.unwrap();
    let Frame::Have { bytes, .. } = client.receive().await.unwrap() else {
        panic!("it has nothing")
    };
    assert!(bytes > 0);
    client.send(&Frame::Begin { offset: bytes }).await.unwrap();
    for piece in content[usize::try_from(bytes).unwrap()..].chunks(MAX_DATA) {
        let piece = Bytes::copy_from_slice(piece);
        client.send(&Frame::Data(piece)).await.unwrap();
    }
    client.send(&end).await.unwrap();
    assert_eq!(client.receive().await.unwrap(), Frame::Done);
    assert_eq!(fs::read(disk.0.path().join("f")).unwrap(), content);
}

#[tokio::test]
async fn a_server_of_another_version_is_reported() {
    let endpoint =
        Endpoint::bind("127.0.0.1:0".parse().unwrap(), EndpointConfig::default()).unwrap();
    let listener = endpoint.listen(ConnectionConfig::default(), 1).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let client = tokio::task::spawn_blocking(move || run(&["ping", &address]));
    let connection = listener.accept().await.unwrap();
    let mut channel = link::channel(&connection).unwrap();
    channel.send(&Frame::Hello { version: 2 }).await.unwrap();
    assert_eq!(
        channel.receive().await.unwrap(),
        Frame::Hello { version: 1 }
    );
    let reported = channel.receive().await.unwrap_err();
    assert!(reported.to_string().contains("version"), "{reported}");
    let (status, _, err) = client.await.unwrap();
    assert_eq!(status, 1);
    let message = "error: the peer speaks version 2 of the file protocol, this program version 1";
    assert!(err.starts_with(message), "{err}");
}

#[test]
fn a_folder_that_is_not_there_is_made() {
    let (there, here) = (folder(), folder());
    fs::write(there.path().join("f"), "content").unwrap();
    let server = Server::files(there.path(), &[]);
    let into = here.path().join("new");
    let (status, _, err) = run(&["get", &server.address, "f", "--into", path(&into)]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert_eq!(listing(&into), ["f"]);
}
