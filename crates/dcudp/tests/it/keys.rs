//! Transfers under a key, and ends whose keys differ.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::common::{bytes, folder, listing};
use crate::running::{Server, dcudp, finish};

const MB: usize = 1_000_000;

fn run(arguments: &[&str]) -> (i32, String, String) {
    finish(dcudp(arguments).spawn().unwrap())
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A new key in a file.
fn key_in(directory: &Path, name: &str) -> PathBuf {
    let file = directory.join(name);
    let out = File::create(&file).unwrap();
    let (status, ..) = finish(dcudp(&["key"]).stdout(out).spawn().unwrap());
    assert_eq!(status, 0);
    file
}

#[test]
fn everything_goes_under_a_key() {
    let (here, there, back, keys) = (folder(), folder(), folder(), folder());
    let key = key_in(keys.path(), "key");
    let key = ["--key-file", path(&key)];
    let file = here.path().join("f");
    fs::write(&file, bytes(1, 5 * MB)).unwrap();
    let server = Server::files(there.path(), &key);
    for cc in ["udt", "dcudp"] {
        let send = ["send", path(&file), &server.address, "--cc", cc];
        let (status, _, err) = run(&[&send[..], &key].concat());
        assert_eq!((status, err.as_str()), (0, ""));
        assert_eq!(fs::read(there.path().join("f")).unwrap(), bytes(1, 5 * MB));
        let get = ["get", &server.address, "f", "--into", path(back.path())];
        let (status, _, err) = run(&[&get[..], &["--cc", cc], &key].concat());
        assert_eq!((status, err.as_str()), (0, ""));
        assert_eq!(fs::read(back.path().join("f")).unwrap(), bytes(1, 5 * MB));
        fs::remove_file(there.path().join("f")).unwrap();
        fs::remove_file(back.path().join("f")).unwrap();
    }
    let ping = [
        "ping",
        &server.address,
        "--count",
        "2",
        "--interval",
        "1 ms",
    ];
    let (status, out, _) = run(&[&ping[..], &key].concat());
    assert_eq!((status, out.lines().count()), (0, 3));
    let (_, _, log) = server.interrupt();
    assert!(
        log.starts_with("encrypted: only who has the key gets an answer\n"),
        "{log}"
    );

    let serve = ["bench", "--serve", "--listen", "127.0.0.1:0"];
    let server = Server::start(dcudp(&[&serve[..], &key].concat()));
    let bench = ["bench", &server.address, "--time", "200 ms", "--json"];
    let (status, _, err) = run(&[&bench[..], &key].concat());
    assert_eq!(status, 0, "{err}");
}

#[test]
fn who_has_not_the_key_gets_no_answer() {
    let (there, keys) = (folder(), folder());
    fs::write(there.path().join("f"), "secret").unwrap();
    let (right, wrong) = (key_in(keys.path(), "right"), key_in(keys.path(), "wrong"));
    let (right, wrong) = (["--key-file", path(&right)], ["--key-file", path(&wrong)]);
    let keyed = Server::files(there.path(), &right);
    let plain = Server::files(there.path(), &[]);
    let into = folder();
    for (server, key, message) in [
        (&keyed, &wrong[..], "key"),
        (&keyed, &[][..], "does not answer"),
        (&plain, &right[..], "key"),
    ] {
        let get = ["get", &server.address, "f", "--into", path(into.path())];
        let (status, out, err) = run(&[&get[..], key].concat());
        assert_eq!((status, out.as_str()), (1, ""));
        assert!(
            err.starts_with("error: 127.0.0.1:") && err.contains(message),
            "{err}"
        );
        assert!(listing(into.path()).is_empty());
    }
}

#[test]
fn a_key_that_others_can_read_draws_a_warning() {
    let (there, keys) = (folder(), folder());
    let key = key_in(keys.path(), "key");
    fs::set_permissions(&key, PermissionsExt::from_mode(0o640)).unwrap();
    let server = Server::files(there.path(), &["--key-file", path(&key)]);
    let (status, _, err) = server.interrupt();
    assert_eq!(status, 0);
    let name = path(&key);
    let message = format!(
        "warning: {name}: others on this machine may read this key (mode 640); chmod 600 {name}\n"
    );
    assert!(err.starts_with(&message), "{err}");
}
