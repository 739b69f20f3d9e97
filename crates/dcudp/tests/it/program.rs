//! The binary on loopback addresses: its output, exit status and files.
//!
//! Servers listen on a port that the system chooses, and print it in their first line. No test depends on
//! timing; a program that hangs is ended after a while, and its test fails.

use std::fs::{self, File};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::{bytes, folder, listing};
use crate::running::{Server, dcudp, text};

const MB: usize = 1_000_000;

/// Runs to the end; gives status, standard output and standard error.
fn run(arguments: &[&str]) -> (i32, String, String) {
    crate::running::finish(dcudp(arguments).spawn().unwrap())
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn files_go_there_and_back() {
    let (here, there, back) = (folder(), folder(), folder());
    let names = ["a.bin", "b c.bin", "\u{e9}.bin"];
    let paths: Vec<_> = names.iter().map(|name| here.path().join(name)).collect();
    for (number, path) in paths.iter().enumerate() {
        fs::write(path, bytes(number as u64, 3 * MB + number)).unwrap();
    }
    let server = Server::files(there.path(), &[]);
    let mut arguments = vec!["send"];
    arguments.extend(paths.iter().map(|file| path(file)));
    arguments.push(&server.address);
    let (status, out, err) = run(&arguments);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert_eq!(out.lines().count(), 3, "{out}");
    assert!(out.starts_with("a.bin: 3.00 MB in "), "{out}");

    let into = path(back.path());
    let mut arguments = vec!["get", &server.address];
    arguments.extend(names);
    arguments.extend(["--into", into]);
    let (status, out, err) = run(&arguments);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    for (number, name) in names.iter().enumerate() {
        let content = bytes(number as u64, 3 * MB + number);
        assert_eq!(fs::read(there.path().join(name)).unwrap(), content);
        assert_eq!(fs::read(back.path().join(name)).unwrap(), content);
    }
    assert_eq!(listing(there.path()), listing(back.path()));

    let (status, out, _) = run(&["send", path(&paths[0]), &server.address]);
    assert_eq!(
        (status, out.as_str()),
        (0, "a.bin: 3.00 MB, was there already\n")
    );
    let (status, _, log) = server.interrupt();
    assert_eq!(status, 0);
    assert!(log.contains("took in a.bin: 3.00 MB in "), "{log}");
    assert!(log.contains("gave b c.bin: 3.00 MB in "), "{log}");
}

#[test]
fn both_controls_carry_files_over_both_families() {
    let here = folder();
    let file = here.path().join("f");
    fs::write(&file, bytes(1, MB)).unwrap();
    for listen in ["127.0.0.1:0", "[::1]:0"] {
        for cc in ["udt", "dcudp", "dctcp", "cubic"] {
            let there = folder();
            let server = Server::files(there.path(), &["--listen", listen]);
            let (status, _, err) = run(&["send", path(&file), &server.address, "--cc", cc]);
            assert_eq!((status, err.as_str()), (0, ""), "{listen} {cc}");
            assert_eq!(fs::read(there.path().join("f")).unwrap(), bytes(1, MB));
        }
    }
}

#[test]
fn options_may_stand_anywhere() {
    let (here, there) = (folder(), folder());
    let files = ["a", "b"].map(|name| here.path().join(name));
    for file in &files {
        fs::write(file, path(file)).unwrap();
    }
    let server = Server::files(there.path(), &[]);
    let [a, b] = files.each_ref().map(|file| path(file));
    for line in [
        vec!["send", a, b, "--cc", "udt", &server.address],
        vec!["send", a, "--insecure", b, &server.address, "--force"],
        vec![
            "get",
            "--force",
            &server.address,
            "--into",
            path(here.path()),
            "a",
        ],
    ] {
        let (status, _, err) = run(&line);
        assert_eq!((status, err.as_str()), (0, ""), "{line:?}");
    }
    assert_eq!(listing(there.path()), ["a", "b"]);
}

#[test]
fn a_resumed_file_says_what_was_there() {
    let (here, there) = (folder(), folder());
    let file = here.path().join("f");
    fs::write(&file, bytes(2, 2 * MB)).unwrap();
    fs::write(there.path().join("f.dcudp-part"), bytes(2, MB)).unwrap();
    let server = Server::files(there.path(), &[]);
    let (status, out, _) = run(&["send", path(&file), &server.address]);
    assert_eq!(status, 0);
    let message = "f: 2.00 MB, of which 1.00 MB was there already; the rest in ";
    assert!(out.starts_with(message), "{out}");
    assert_eq!(fs::read(there.path().join("f")).unwrap(), bytes(2, 2 * MB));
    assert_eq!(listing(there.path()), ["f"]);
}

#[test]
fn one_file_that_fails_does_not_stop_the_others() {
    let (here, there) = (folder(), folder());
    let files = ["a", "b", "c"].map(|name| here.path().join(name));
    for file in &files {
        fs::write(file, "mine").unwrap();
    }
    fs::write(there.path().join("b"), "not mine").unwrap();
    let server = Server::files(there.path(), &[]);
    let [a, b, c] = files.each_ref().map(|file| path(file));
    let (status, out, err) = run(&["send", a, b, c, &server.address]);
    assert_eq!(status, 1);
    assert_eq!(out.lines().count(), 2, "{out}");
    assert_eq!(
        err,
        "error: b: the peer reports: another file of this name is there; \
         this server was started without --replace\n\
         2 of 3 files are whole\n"
    );
    let (status, _, err) = run(&["send", "--force", b, &server.address]);
    assert_eq!(status, 1);
    assert!(
        err.contains("this server was started without --replace"),
        "{err}"
    );
    assert_eq!(
        fs::read_to_string(there.path().join("b")).unwrap(),
        "not mine"
    );

    let (status, out, err) = run(&[
        "get",
        &server.address,
        "a",
        "none",
        "--into",
        path(there.path()),
    ]);
    assert_eq!(status, 1, "{out}");
    assert!(
        err.contains("error: none: the peer reports: No such file"),
        "{err}"
    );
}

/// Each line is typed behind `dcudp`, its parts cut at blanks; it must fail with status 2 and this message.
fn refused(cases: &[(&str, &str)]) {
    for (line, message) in cases {
        let arguments: Vec<_> = line.split(' ').map(|part| part.replace('_', " ")).collect();
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let (status, out, err) = run(&arguments);
        assert_eq!((status, out.as_str()), (2, ""), "{line}: {err}");
        assert!(
            err.starts_with("error: ") && err.contains(message),
            "{line}: {err}"
        );
        assert!(!err.contains("os error") && !err.contains("panicked"));
    }
}

#[test]
fn files_and_servers_that_cannot_be_are_refused_before_any_connection() {
    let nothing = "error: /nothing: No such file or directory";
    refused(&[
        ("send /nothing 127.0.0.1:9", nothing),
        (
            "send /tmp 127.0.0.1:9",
            "is a directory; name the files in it",
        ),
        ("send /dev/null 127.0.0.1:9", "is not a regular file"),
        ("send", "<FILE>... <HOST:PORT>"),
        (
            "send Cargo.toml",
            "the server comes last: 'Cargo.toml' is a file, not HOST or HOST:PORT",
        ),
        ("send 127.0.0.1:9", "which files shall go to 127.0.0.1:9?"),
        ("send Cargo.toml 127.0.0.1:0", "a port is 1 to 65535"),
        (
            "send /proc/version 127.0.0.1:9",
            "error: /proc/version: it has more bytes than the system reports",
        ),
        (
            "send Cargo.toml 10.255.255.1:9",
            "10.255.255.1:9 is not this machine: give --key-file",
        ),
        (
            "send Cargo.toml no-such-host.invalid:9",
            "error: no-such-host.invalid:9: ",
        ),
        ("get 127.0.0.1:9 ../x", "they could lead elsewhere"),
        ("get 127.0.0.1:9 /etc/passwd", "is absolute"),
        ("get 127.0.0.1:9 a\\b", "backslash"),
        (
            "get 127.0.0.1:9 a/f b/f",
            "two of these files would be called f",
        ),
        (
            "get 127.0.0.1:9 f --into /nothing/below",
            "error: /nothing/below: No such file or directory",
        ),
        ("serve /nothing", nothing),
        ("serve /proc/version", "Not a directory"),
        (
            "serve /tmp --listen 0.0.0.0:0",
            "0.0.0.0:0 is not this machine",
        ),
        (
            "serve /tmp --listen 192.0.2.1:9 --insecure",
            "this machine does not have this address",
        ),
        ("serve /tmp --listen 192.0.2.1", "error: 192.0.2.1:9000"),
        (
            "serve /tmp --listen localhost:9000",
            "is not ADDR:PORT, such as 127.0.0.1:9000, 0.0.0.0:9000 or [::]:9000",
        ),
        ("serve /tmp --listen :9000", "':9000' is not ADDR:PORT"),
        ("serve /tmp --max-connections 0", "1..=65535"),
    ]);
}

#[test]
fn get_makes_its_folder_when_a_server_has_answered() {
    let (there, here) = (folder(), folder());
    fs::write(there.path().join("f"), "content").unwrap();
    let into = here.path().join("new");
    let (status, _, err) = run(&["get", "127.0.0.1:9", "f", "--into", path(&into)]);
    assert_eq!(status, 1, "{err}");
    assert!(!into.exists(), "nobody has answered");
    let server = Server::files(there.path(), &[]);
    let (status, _, err) = run(&["get", &server.address, "f", "--into", path(&into)]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert_eq!(fs::read(into.join("f")).unwrap(), b"content");
}

#[test]
fn options_that_cannot_be_are_refused_with_a_remedy() {
    refused(&[
        (
            "ping 127.0.0.1:9 --cc tcp",
            "[possible values: dcudp, udt, new-reno, cubic, dctcp, d2tcp, dt-cwa, prague, swift, bbr, dcudp-r]",
        ),
        ("ping 127.0.0.1:9 --mtu 10", "\"10\" has no unit"),
        ("ping 127.0.0.1:9 --mtu 10_B", "error: "),
        (
            "ping 127.0.0.1:9 --capacity 0_bit/s",
            "a rate of 0 sends nothing",
        ),
        (
            "ping 127.0.0.1:9 --key-file /nothing",
            "error: /nothing: No such file or directory",
        ),
        (
            "ping 127.0.0.1:9 --key-file /proc/version",
            "not a key: it must hold 32 bytes",
        ),
        ("ping 127.0.0.1:9 --count 0", "0 is not in 1.."),
        ("ping 127.0.0.1:9 --size 1_MB", "is more than 65536 B"),
        ("ping 127.0.0.1:9 --interval 1000_s", "is longer than 30 s"),
        ("bench", "HOST:PORT"),
        ("bench --serve 127.0.0.1:9", "cannot be used with"),
        (
            "bench --listen 127.0.0.1:0 127.0.0.1:9",
            "cannot be used with",
        ),
        ("bench 127.0.0.1:9 --time 10", "\"10\" has no unit"),
        (
            "bench 127.0.0.1:9 --time 0_s",
            "is not from 1 ms to 86400 s",
        ),
        ("bench 127.0.0.1:9 --rate 5_GB/s", "\"5 GB/s\""),
        ("nonsense", "unrecognized subcommand"),
    ]);
}

#[test]
fn two_files_of_one_name_are_refused_before_any_connection() {
    let (here, there) = (folder(), folder());
    let files = [here.path().join("f"), there.path().join("f")];
    for file in &files {
        fs::write(file, "x").unwrap();
    }
    let [a, b] = files.each_ref().map(|file| path(file));
    let (status, _, err) = run(&["send", a, b, "127.0.0.1:9"]);
    assert_eq!(status, 2);
    let message = "error: two of these files would be called f there\n";
    assert_eq!(err, message);
}

#[test]
fn a_port_in_use_is_reported() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (status, out, err) = run(&["serve", path(folder().path()), "--listen", &address]);
    let message = "another program has this port; choose one with --listen";
    assert_eq!((status, out.as_str()), (2, ""));
    assert_eq!(err, format!("error: {address}: {message}\n"));
}

#[test]
fn a_port_where_nobody_listens_refuses() {
    let here = folder();
    let file = here.path().join("f");
    fs::write(&file, "x").unwrap();
    // A port that was just free.
    let address = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let address = address.to_string();
    for arguments in [
        vec!["send", path(&file), &address],
        vec!["get", &address, "f"],
        vec!["ping", &address],
        vec!["bench", &address],
    ] {
        let (status, out, err) = run(&arguments);
        assert_eq!((status, out.as_str()), (1, ""), "{err}");
        assert!(err.starts_with(&format!("error: {address} ")), "{err}");
        assert!(err.contains("nobody listens"), "{err}");
    }
}

#[test]
fn a_host_that_cannot_be_reached_is_reported() {
    // An address for documentation (RFC 3849): without a route there, or with one on which nobody answers.
    let here = folder();
    let key = here.path().join("key");
    fs::write(&key, "0".repeat(64)).unwrap();
    fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    let ping = ["ping", "[2001:db8::1]:9"];
    let [plain, keyed] = [&["--insecure"][..], &["--key-file", path(&key)]].map(|protection| {
        let (status, out, err) = run(&[&ping, protection].concat());
        assert_eq!((status, out.as_str()), (1, ""));
        err
    });
    let message = "error: [2001:db8::1]:9 cannot be reached: Network is unreachable\n";
    if plain == message {
        // A key's handshake, too, is not waited for.
        assert_eq!(keyed, message);
    } else {
        assert!(plain.contains("does not answer"), "{plain}");
        assert!(keyed.contains("does not answer"), "{keyed}");
    }
}

#[test]
fn a_call_that_is_interrupted_says_so() {
    // It has the port, and reads nothing: the call goes on until it is given up.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    silent
        .set_read_timeout(Some(std::time::Duration::from_secs(60)))
        .unwrap();
    let address = silent.local_addr().unwrap().to_string();
    for arguments in [
        vec!["send", "Cargo.toml", &address],
        vec!["get", &address, "f"],
        vec!["ping", &address],
        vec!["bench", &address],
    ] {
        let running = crate::running::Running::new(dcudp(&arguments).spawn().unwrap());
        silent.recv(&mut [0; 2000]).unwrap();
        let message = format!("interrupted before {address} answered\n");
        assert_eq!(running.interrupt(), (130, String::new(), message));
        // Its earlier datagrams would reach the next client: they are read first.
        silent.set_nonblocking(true).unwrap();
        while silent.recv(&mut [0; 2000]).is_ok() {}
        silent.set_nonblocking(false).unwrap();
    }
}

#[test]
fn one_who_never_answers_is_given_up() {
    // It has the port, and reads nothing.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let (status, _, err) = run(&["ping", &address]);
    assert_eq!(status, 1);
    assert!(err.contains("does not answer"), "{err}");
}

#[test]
fn a_key_is_printed_for_its_owner_alone() {
    let here = folder();
    let key = here.path().join("key");
    let file = File::create(&key).unwrap();
    file.set_permissions(PermissionsExt::from_mode(0o644))
        .unwrap();
    let child = dcudp(&["key"]).stdout(file).spawn().unwrap();
    let (status, _, err) = crate::running::finish(child);
    assert_eq!((status, err.as_str()), (0, ""));
    let mode = fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // 32 bytes of base64 and the end of the line.
    assert_eq!(fs::read_to_string(&key).unwrap().len(), 45);
    assert_ne!(run(&["key"]).1, run(&["key"]).1);
}

#[test]
fn help_shows_examples_and_the_version_is_the_workspaces() {
    for command in ["serve", "send", "get", "bench", "ping"] {
        let (status, out, _) = run(&[command, "--help"]);
        assert_eq!(status, 0);
        assert!(out.contains("Examples:\n  dcudp "), "{out}");
    }
    let (status, out, _) = run(&["--help"]);
    assert_eq!(status, 0);
    assert!(
        out.contains("Exit status: 0 done, 1 a transfer failed, 2 bad input"),
        "{out}"
    );
    let version = format!("dcudp {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&["--version"]), (0, version, String::new()));
}

#[test]
fn every_option_of_the_page_is_one() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dcudp.md");
    let page = fs::read_to_string(page).unwrap();
    let commands = ["serve", "send", "get", "bench", "ping"];
    let help: String = commands.map(|command| run(&[command, "--help"]).1).concat();
    let known: Vec<_> = help
        .split(|c: char| !c.is_ascii_lowercase() && c != '-')
        .collect();
    let lowercase = page.split(|c: char| !c.is_ascii_lowercase() && c != '-');
    let options: Vec<_> = lowercase
        .filter(|word| word.len() > 3 && word.starts_with("--") && word.as_bytes()[2] != b'-')
        .collect();
    assert!(options.len() > 20, "{options:?}");
    for option in options {
        assert!(known.contains(&option), "docs/dcudp.md: {option}");
    }
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let mut child = dcudp(&["--help"]).spawn().unwrap();
    drop(child.stdout.take());
    let (_, _, err) = crate::running::finish(child);
    assert_eq!(err, "");
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let server = Server::measurements();
    for arguments in [
        vec!["--help"],
        vec!["ping", &server.address, "--count", "1", "--json"],
        vec!["bench", &server.address, "--time", "100 ms"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let child = dcudp(&arguments).stdout(full).spawn().unwrap();
        let (status, _, err) = crate::running::finish(child);
        let message = "error: standard output: No space left on device\n";
        // A busy machine may have had a path without ECN.
        assert_eq!((status, err.matches(message).count()), (1, 1), "{err}");
    }
}

#[test]
fn a_server_says_who_can_reach_it() {
    let there = folder();
    let server = Server::files(there.path(), &[]);
    assert!(
        server.address.starts_with("127.0.0.1:"),
        "{}",
        server.address
    );
    let (_, _, log) = server.interrupt();
    assert!(
        log.starts_with("no key: reachable from this machine only"),
        "{log}"
    );
    let server = Server::files(there.path(), &["--insecure"]);
    let (_, _, log) = server.interrupt();
    assert!(log.contains("--listen 0.0.0.0:9000 opens it"), "{log}");
    let server = Server::files(there.path(), &["--listen", "0.0.0.0:0", "--insecure"]);
    let (_, _, log) = server.interrupt();
    assert!(
        log.starts_with("warning: no key: everybody who reaches this address"),
        "{log}"
    );
}

#[test]
fn servers_do_only_what_they_are_for() {
    let there = folder();
    let file = there.path().join("f");
    fs::write(&file, "x").unwrap();
    let server = Server::measurements();
    let (status, _, err) = run(&["send", path(&file), &server.address]);
    assert_eq!(status, 1);
    assert!(err.contains("this server only measures"), "{err}");
    let server = Server::files(there.path(), &["--read-only"]);
    let (status, _, err) = run(&["bench", &server.address]);
    assert_eq!(status, 1);
    assert!(err.contains("start dcudp bench --serve there"), "{err}");
    let (status, _, err) = run(&["send", path(&file), &server.address]);
    assert_eq!(status, 1);
    assert!(err.contains("(--read-only)"), "{err}");
}

#[test]
fn too_many_clients_are_refused() {
    let there = folder();
    let server = Server::files(there.path(), &["--max-connections", "1"]);
    let first = dcudp(&[
        "ping",
        &server.address,
        "--count",
        "1000000",
        "--interval",
        "100 ms",
    ]);
    let mut first = crate::running::Running::new({ first }.spawn().unwrap());
    // Its first answer: it is served.
    assert!(text(first.first_line()).contains("64 B from"));
    let (status, _, err) = run(&["ping", &server.address]);
    assert_eq!(status, 1);
    assert!(
        err.contains("as many connections as this server takes"),
        "{err}"
    );
    let (status, out, err) = first.interrupt();
    assert_eq!(status, 130);
    assert!(out.contains(": min "), "{out}");
    assert!(err.contains("interrupted"), "{err}");
}
