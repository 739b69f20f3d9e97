//! Files between two ends of ours, over a stream in memory: whole, resumed, refused, replaced.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use crate::common::{bytes, client_of, files, folder, get, hash, listing, put};
use incastle_dcudp::disk::Leaving;
use incastle_dcudp::error::Failure;
use incastle_dcudp::protocol::{ErrorCode, MAX_DATA};
use incastle_dcudp::request::Existing::{Keep, Replace};
use incastle_dcudp::service::Service;
use incastle_dcudp::transfer::Moved;

fn code(result: Result<Moved, Failure>) -> ErrorCode {
    match result.unwrap_err() {
        Failure::Here { code, .. } | Failure::There { code, .. } => code,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn files_of_any_size_pass_in_both_directions() {
    let (here, there, back) = (folder(), folder(), folder());
    let mut client = client_of(files(there.path())).await;
    for size in [
        0,
        1,
        MAX_DATA - 1,
        MAX_DATA,
        MAX_DATA + 1,
        5 * MAX_DATA + 77,
    ] {
        let path = here.path().join(format!("{size}.bin"));
        let name = format!("{size}.bin");
        let content = bytes(size as u64, size);
        fs::write(&path, &content).unwrap();
        let moved = put(&mut client, &path, &name, Keep).await.unwrap();
        let fresh = Moved {
            size: size as u64,
            resumed: 0,
        };
        assert_eq!(moved, fresh);
        assert_eq!(fs::read(there.path().join(&name)).unwrap(), content);
        assert_eq!(
            get(&mut client, back.path(), &name, Keep).await.unwrap(),
            fresh
        );
        assert_eq!(fs::read(back.path().join(&name)).unwrap(), content);
    }
    // And nothing unfinished stays.
    assert_eq!(listing(there.path()), listing(here.path()));
    assert_eq!(listing(back.path()), listing(here.path()));
}

#[tokio::test]
async fn what_was_there_is_not_sent_again() {
    let (here, there) = (folder(), folder());
    let content = bytes(1, 3 * MAX_DATA);
    let path = here.path().join("f");
    fs::write(&path, &content).unwrap();
    let part = there.path().join("f.dcudp-part");
    let mut client = client_of(files(there.path())).await;

    fs::write(&part, &content[..MAX_DATA + 5]).unwrap();
    let moved = put(&mut client, &path, "f", Keep).await.unwrap();
    assert_eq!(moved.resumed, MAX_DATA as u64 + 5);
    assert_eq!(fs::read(there.path().join("f")).unwrap(), content);
    assert!(!part.exists());

    // The whole file is there: nothing is sent, nothing is touched.
    let moved = put(&mut client, &path, "f", Keep).await.unwrap();
    assert_eq!(moved.resumed, content.len() as u64);
    assert_eq!(listing(there.path()), ["f"]);

    // Not even where it might have been replaced.
    let inode = |path| fs::metadata(path).unwrap().ino();
    let before = inode(there.path().join("f"));
    let moved = put(&mut client, &path, "f", Replace).await.unwrap();
    assert_eq!(moved.resumed, content.len() as u64);
    assert_eq!(inode(there.path().join("f")), before);

    // All bytes are there, but its end was not confirmed.
    fs::rename(there.path().join("f"), &part).unwrap();
    let moved = put(&mut client, &path, "f", Keep).await.unwrap();
    assert_eq!(moved.resumed, content.len() as u64);
    assert_eq!(fs::read(there.path().join("f")).unwrap(), content);
}

#[tokio::test]
async fn what_is_not_its_beginning_is_not_built_on() {
    let (here, there) = (folder(), folder());
    let content = bytes(2, 2 * MAX_DATA);
    let path = here.path().join("f");
    fs::write(&path, &content).unwrap();
    let mut client = client_of(files(there.path())).await;
    let longer = bytes(2, 3 * MAX_DATA);
    for left in [&bytes(3, 1000)[..], &bytes(3, 2 * MAX_DATA), &longer] {
        fs::write(there.path().join("f.dcudp-part"), left).unwrap();
        let moved = put(&mut client, &path, "f", Keep).await.unwrap();
        assert_eq!(moved.resumed, 0);
        assert_eq!(fs::read(there.path().join("f")).unwrap(), content);
        assert_eq!(listing(there.path()), ["f"]);
        fs::remove_file(there.path().join("f")).unwrap();
    }
}

#[tokio::test]
async fn a_resumed_get_goes_on_too() {
    let (there, back) = (folder(), folder());
    let content = bytes(4, 2 * MAX_DATA);
    fs::create_dir(there.path().join("sub")).unwrap();
    fs::write(there.path().join("sub/f"), &content).unwrap();
    fs::write(back.path().join("f.dcudp-part"), &content[..100]).unwrap();
    let mut client = client_of(files(there.path())).await;
    let moved = get(&mut client, back.path(), "sub/f", Keep).await.unwrap();
    assert_eq!(moved.resumed, 100);
    assert_eq!(fs::read(back.path().join("f")).unwrap(), content);
}

#[tokio::test]
async fn another_file_is_replaced_only_when_requested() {
    let (here, there) = (folder(), folder());
    let (path, target) = (here.path().join("f"), there.path().join("f"));
    let mut client = client_of(files(there.path())).await;
    let old = bytes(5, 700_000);
    // One of the same length, one of another.
    for new in [bytes(6, 700_000), bytes(6, 700_001)] {
        fs::write(&path, &new).unwrap();
        fs::write(&target, &old).unwrap();
        assert_eq!(
            code(put(&mut client, &path, "f", Keep).await),
            ErrorCode::Exists
        );
        assert_eq!(fs::read(&target).unwrap(), old);
        put(&mut client, &path, "f", Replace).await.unwrap();
        assert_eq!(fs::read(&target).unwrap(), new);
        assert_eq!(listing(there.path()), ["f"]);

        fs::write(&path, &old).unwrap();
        assert_eq!(
            code(get(&mut client, here.path(), "f", Keep).await),
            ErrorCode::Exists
        );
        assert_eq!(fs::read(&path).unwrap(), old);
        get(&mut client, here.path(), "f", Replace).await.unwrap();
        assert_eq!(fs::read(&path).unwrap(), new);
        assert_eq!(listing(here.path()), ["f"]);
    }
}

#[tokio::test]
async fn a_replacement_that_was_begun_goes_on() {
    let (here, there) = (folder(), folder());
    let (old, new) = (bytes(11, 5_000), bytes(12, 5_000));
    let path = here.path().join("f");
    fs::write(&path, &new).unwrap();
    fs::write(there.path().join("f"), &old).unwrap();
    fs::write(there.path().join("f.dcudp-part"), &new[..2_000]).unwrap();
    let mut client = client_of(files(there.path())).await;
    let moved = put(&mut client, &path, "f", Replace).await.unwrap();
    assert_eq!(moved.resumed, 2_000);
    assert_eq!(fs::read(there.path().join("f")).unwrap(), new);
    assert_eq!(listing(there.path()), ["f"]);
}

#[tokio::test]
async fn a_server_keeps_to_what_it_was_started_with() {
    let (here, there) = (folder(), folder());
    let path = here.path().join("f");
    fs::write(&path, "new").unwrap();
    fs::write(there.path().join("f"), "old").unwrap();
    for (writes, replaces) in [(false, false), (true, false)] {
        let Service::Files { root, .. } = files(there.path()) else {
            unreachable!("it has files")
        };
        let service = Service::Files {
            root,
            writes,
            replaces,
        };
        let mut client = client_of(service).await;
        let expected = if writes {
            ErrorCode::Exists
        } else {
            ErrorCode::Denied
        };
        for existing in [Keep, Replace] {
            let put = put(&mut client, &path, "f", existing).await;
            assert_eq!(code(put), expected);
        }
        // The connection goes on.
        get(&mut client, here.path(), "f", Replace).await.unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        if writes {
            // The very same file needs no leave to replace another, nor does one of a new name.
            let moved = put(&mut client, &path, "f", Replace).await.unwrap();
            assert_eq!(moved.resumed, 3);
            put(&mut client, &path, "g", Replace).await.unwrap();
        }
        fs::write(&path, "new").unwrap();
    }
    let mut client = client_of(Service::Measurements).await;
    assert_eq!(
        code(put(&mut client, &path, "f", Keep).await),
        ErrorCode::Unsupported
    );
    assert_eq!(
        code(get(&mut client, here.path(), "f", Keep).await),
        ErrorCode::Unsupported
    );
}

#[tokio::test]
async fn nothing_leads_out_of_the_directory() {
    let (outside, there, back) = (folder(), folder(), folder());
    let secret = outside.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    symlink(&secret, there.path().join("link")).unwrap();
    symlink(outside.path(), there.path().join("dir")).unwrap();
    symlink("loop", there.path().join("loop")).unwrap();
    symlink(&secret, there.path().join("w.dcudp-part")).unwrap();
    symlink(outside.path().join("new"), there.path().join("dangling")).unwrap();
    fs::create_dir(there.path().join("real")).unwrap();
    let pipe = there.path().join("pipe");
    let made = rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    );
    made.unwrap();

    let mut client = client_of(files(there.path())).await;
    for name in [
        "link",
        "dir/secret",
        "loop",
        "pipe",
        "real",
        "link/x",
        "dangling",
    ] {
        let found = get(&mut client, back.path(), name, Keep).await;
        assert_eq!(code(found), ErrorCode::Denied, "{name}");
    }
    let found = get(&mut client, back.path(), "nothing", Keep).await;
    assert_eq!(code(found), ErrorCode::NotFound);
    let mine = back.path().join("mine");
    fs::write(&mine, "mine").unwrap();
    for name in [
        "link",
        "dir/secret",
        "dir/new",
        "w",
        "pipe",
        "real",
        "dangling",
    ] {
        for existing in [Keep, Replace] {
            let found = put(&mut client, &mine, name, existing).await;
            assert_eq!(code(found), ErrorCode::Denied, "{name}");
        }
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    assert_eq!(listing(outside.path()), ["secret"]);
    assert_eq!(listing(back.path()), ["mine"]);
    // After all that, an honest file still passes.
    put(&mut client, &mine, "real/mine", Keep).await.unwrap();
    assert_eq!(
        fs::read_to_string(there.path().join("real/mine")).unwrap(),
        "mine"
    );
}

#[tokio::test]
async fn two_transfers_of_one_name_do_not_mix() {
    let (here, there) = (folder(), folder());
    let path = here.path().join("f");
    fs::write(&path, bytes(7, 1000)).unwrap();
    let part = File::create(there.path().join("f.dcudp-part")).unwrap();
    part.lock().unwrap();
    let mut client = client_of(files(there.path())).await;
    assert_eq!(
        code(put(&mut client, &path, "f", Keep).await),
        ErrorCode::Busy
    );
    drop(part);
    put(&mut client, &path, "f", Keep).await.unwrap();
    assert_eq!(listing(there.path()), ["f"]);
}

/// Sends the first part of a file, changes the file, and goes on.
fn changed(change: impl FnOnce(&Path)) {
    let here = folder();
    let path = here.path().join("f");
    fs::write(&path, bytes(8, 3 * MAX_DATA)).unwrap();
    let mut leaving = Leaving::new(File::open(&path).unwrap()).unwrap();
    leaving.next_chunk().unwrap().unwrap();
    change(&path);
    let end = loop {
        match leaving.next_chunk() {
            Ok(Some(_)) => {}
            Ok(None) => break leaving.finish().map(|_| ()),
            Err(failure) => break Err(failure),
        }
    };
    let failure = end.unwrap_err();
    let changed = matches!(
        &failure,
        Failure::Here {
            code: ErrorCode::Changed,
            ..
        }
    );
    assert!(changed, "{failure}");
}

#[test]
fn a_file_that_changes_while_it_is_sent_fails() {
    changed(|path| {
        let file = File::options().write(true).open(path).unwrap();
        file.set_len(10).unwrap();
    });
    changed(|path| fs::write(path, bytes(9, 3 * MAX_DATA)).unwrap());
    changed(|path| fs::write(path, bytes(8, 4 * MAX_DATA)).unwrap());
}

#[test]
fn a_file_that_loses_its_name_while_it_is_sent_arrives_whole() {
    let here = folder();
    let path = here.path().join("f");
    let content = bytes(10, 2 * MAX_DATA);
    fs::write(&path, &content).unwrap();
    let mut leaving = Leaving::new(File::open(&path).unwrap()).unwrap();
    fs::remove_file(&path).unwrap();
    while leaving.next_chunk().unwrap().is_some() {}
    assert_eq!(leaving.finish().unwrap(), hash(&content));
}
