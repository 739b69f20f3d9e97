//! `dcudp send`: files to a server.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Instant;

use super::tally::Tally;
use super::{call, stopped};
use crate::arguments::Send;
use crate::disk::Leaving;
use crate::error::{Failure, INTERRUPTED, disk};
use crate::link::{Link, Stream};
use crate::printable::reason;
use crate::protocol::Name;
use crate::request::{Existing, put};
use crate::terminal::progress_bar;
use crate::transfer::Moved;

/// A file of this machine, and what it shall be called there.
struct Source {
    path: PathBuf,
    name: Name,
}

pub(super) async fn run(arguments: Send) -> Result<u8, Failure> {
    let mut stop = pin!(stopped());
    let (files, peer) = arguments.files_and_peer()?;
    let Send { force, link, .. } = arguments;
    let sources = sources(files)?;
    let Some(link) = call(&peer, &link, stop.as_mut()).await? else {
        return Ok(INTERRUPTED);
    };
    let existing = Existing::of(force);
    let mut tally = Tally::new(sources.len());
    let sent = tokio::select! {
        sent = link.with_warnings(send_all(&link, &sources, existing, &mut tally)) => sent,
        () = stop => {
            link.abort().await;
            return Ok(tally.interrupted(&format!("on {peer}")));
        }
    };
    link.close().await;
    sent.map(|()| tally.status())
}

/// Looks at every file before anybody is called.
fn sources(files: Vec<PathBuf>) -> Result<Vec<Source>, Failure> {
    let mut names = BTreeSet::new();
    let mut sources = Vec::new();
    for path in files {
        let name = name_of(&path)?;
        if !names.insert(name.clone()) {
            let message = format!("two of these files would be called {name} there");
            return Err(Failure::Input(message));
        }
        check(&path)?;
        sources.push(Source { path, name });
    }
    Ok(sources)
}

fn name_of(path: &Path) -> Result<Name, Failure> {
    let wrong = |message: &str| Failure::Input(format!("{}: {message}", path.display()));
    let base = path
        .file_name()
        .ok_or_else(|| wrong("not the name of a file"))?;
    let base = base
        .to_str()
        .ok_or_else(|| wrong("its name is not UTF-8"))?;
    Name::parse(base).map_err(|error| wrong(&error.to_string()))
}

fn check(path: &Path) -> Result<(), Failure> {
    let wrong = |message: &str| Failure::Input(format!("{}: {message}", path.display()));
    let about = path.metadata().map_err(|error| wrong(&reason(&error)))?;
    if about.is_dir() {
        return Err(wrong("is a directory; name the files in it"));
    }
    if !about.is_file() {
        return Err(wrong("is not a regular file"));
    }
    let file = File::open(path).map_err(|error| wrong(&reason(&error)))?;
    let ready = Leaving::new(file);
    ready.map_err(|failure| wrong(&failure.to_string()))?;
    Ok(())
}

async fn send_all(
    link: &Link,
    sources: &[Source],
    existing: Existing,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let mut channel = link.channel().await?;
    for source in sources {
        let name = source.name.as_str();
        let started = Instant::now();
        match send_one(&mut channel, source, existing).await {
            Ok(moved) => tally.done(name, moved, started.elapsed()),
            Err(failure) if failure.leaves_connection() => tally.failed(name, &failure),
            Err(failure) => {
                tally.failed(name, &failure);
                break;
            }
        }
    }
    Ok(())
}

async fn send_one(
    channel: &mut Stream,
    source: &Source,
    existing: Existing,
) -> Result<Moved, Failure> {
    let file = File::open(&source.path).map_err(|error| disk(&error))?;
    let name = &source.name;
    let bar = |size| progress_bar(name.as_str(), size);
    put(channel, file, name, existing, bar).await
}
