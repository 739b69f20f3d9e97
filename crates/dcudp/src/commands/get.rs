//! `dcudp get`: files from a server.

use std::collections::BTreeSet;
use std::path::Path;
use std::pin::pin;
use std::time::Instant;
use std::{fs, io};

use super::tally::Tally;
use super::{call, stopped};
use crate::arguments::Get;
use crate::disk::Root;
use crate::error::{Failure, INTERRUPTED};
use crate::link::Link;
use crate::printable::reason;
use crate::protocol::Name;
use crate::request::{Existing, get};
use crate::terminal::progress_bar;

pub(super) async fn run(arguments: Get) -> Result<u8, Failure> {
    let mut stop = pin!(stopped());
    let Get {
        peer,
        names,
        into,
        force,
        link,
    } = arguments;
    check(&names)?;
    let refused =
        |error: io::Error| Failure::Input(format!("{}: {}", into.display(), reason(&error)));
    // A folder that is there is checked before the call; one that is not is made after it.
    let there = opened(&into).map_err(refused)?;
    let Some(link) = call(&peer, &link, stop.as_mut()).await? else {
        return Ok(INTERRUPTED);
    };
    let root = match there {
        Some(root) => root,
        None => made(&into).map_err(refused)?,
    };
    let existing = Existing::of(force);
    let mut tally = Tally::new(names.len());
    let got = tokio::select! {
        got = link.with_warnings(get_all(&link, &root, &names, existing, &mut tally)) => got,
        () = stop => {
            link.abort().await;
            return Ok(tally.interrupted(&format!("in {}", into.display())));
        }
    };
    link.close().await;
    got.map(|()| tally.status())
}

/// Opens a folder; `None` if it is not there, but the one above it is.
fn opened(path: &Path) -> io::Result<Option<Root>> {
    match Root::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let above = path.parent().filter(|above| !above.as_os_str().is_empty());
            above.map_or(Ok(None), |above| Root::open(above).map(|_| None))
        }
        opened => opened.map(Some),
    }
}

/// Makes a folder and opens it.
fn made(path: &Path) -> io::Result<Root> {
    fs::create_dir(path)?;
    Root::open(path)
}

fn check(names: &[Name]) -> Result<(), Failure> {
    let mut bases = BTreeSet::new();
    match names.iter().find(|name| !bases.insert(name.base())) {
        None => Ok(()),
        Some(name) => {
            let message = format!("two of these files would be called {} here", name.base());
            Err(Failure::Input(message))
        }
    }
}

async fn get_all(
    link: &Link,
    root: &Root,
    names: &[Name],
    existing: Existing,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let mut channel = link.channel().await?;
    for name in names {
        let started = Instant::now();
        let bar = |size| progress_bar(name.base(), size);
        match get(&mut channel, root, name, existing, bar).await {
            Ok(moved) => tally.done(name.as_str(), moved, started.elapsed()),
            Err(failure) if failure.leaves_connection() => tally.failed(name.as_str(), &failure),
            Err(failure) => {
                link.warn_of_receive_size(&failure);
                tally.failed(name.as_str(), &failure);
                break;
            }
        }
    }
    Ok(())
}
