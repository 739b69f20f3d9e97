//! `dcudp serve` and `dcudp bench --serve`: the endpoint that waits.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use incastle_socket::{Connection, Listener};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::stopped;
use crate::address::{PORT, Protection};
use crate::arguments::{Bench, LinkArguments, Serve};
use crate::disk::Root;
use crate::error::{DONE, Failure};
use crate::link::{self, LINGER};
use crate::places::{Limits, Place, Places};
use crate::printable::reason;
use crate::service::{Service, serve};
use crate::terminal::{counted, note, print, warn};

/// Measurements at the same time.
const MEASUREMENTS: u16 = 16;
/// The default share of places per address is one in this number. Four addresses together can take all
/// places, and clients that share an address (NAT) have more than one.
const SHARE: u16 = 4;
/// How long a connection may be idle where others wait. Between two files of one command lie moments.
const EVICT_AFTER: Duration = Duration::from_secs(10);

pub(super) async fn files(arguments: Serve) -> Result<u8, Failure> {
    let Serve {
        dir,
        listen,
        read_only,
        replace,
        max_connections,
        max_per_address,
        evict_after,
        link,
    } = arguments;
    let root = Root::open(&dir)
        .map_err(|error| Failure::Input(format!("{}: {}", dir.display(), reason(&error))))?;
    let service = Service::Files {
        root: Arc::new(root),
        writes: !read_only,
        replaces: replace,
    };
    let what = format!("serving {}", dir.display());
    let kept = "unfinished files are kept, the same commands go on later";
    let limits = Limits {
        per_address: max_per_address.unwrap_or_else(|| share_of(max_connections)),
        connections: max_connections,
        evict_after,
    };
    let wording = Wording {
        what: &what,
        stopped: kept,
    };
    run(service, wording, listen, limits, &link).await
}

pub(super) async fn measurements(arguments: Bench) -> Result<u8, Failure> {
    let Bench { listen, link, .. } = arguments;
    let service = Service::Measurements;
    let wording = Wording {
        what: "measuring",
        stopped: "measurements were cut short",
    };
    let limits = Limits {
        connections: MEASUREMENTS,
        per_address: share_of(MEASUREMENTS),
        evict_after: EVICT_AFTER,
    };
    run(service, wording, listen, limits, &link).await
}

/// The places of one address, at least one.
const fn share_of(connections: u16) -> u16 {
    connections.div_ceil(SHARE)
}

/// How a service is announced, and what becomes of its work where it is stopped.
struct Wording<'a> {
    what: &'a str,
    stopped: &'a str,
}

async fn run(
    service: Service,
    wording: Wording<'_>,
    address: Option<SocketAddr>,
    limits: Limits,
    arguments: &LinkArguments,
) -> Result<u8, Failure> {
    let protection = arguments.protection();
    let address = address.unwrap_or_else(|| default_address(protection));
    let (endpoint, listener, local) = link::listen(address, limits, arguments)?;
    let stop = stopped();
    announce(wording.what, local, protection);
    let mut sessions = JoinSet::new();
    tokio::select! {
        () = accept(&listener, Arc::new(service), limits, &mut sessions) => {
            return Err(Failure::Connection("the socket failed".to_owned()));
        }
        () = stop => {}
    }
    let open = sessions.len();
    if open > 0 {
        let open = counted(open, "open connection");
        note(format_args!(
            "stopping: {open}; clients that do not answer are waited for, {} s at most; \
             Ctrl-C again ends it at once",
            LINGER.as_secs()
        ));
    }
    let ending = async {
        sessions.shutdown().await;
        timeout(LINGER, endpoint.close()).await.ok();
    };
    // The second signal stops at once.
    tokio::select! {
        () = ending => {}
        () = stopped() => {}
    }
    if open > 0 {
        note(format_args!(
            "stopped with {}; {}",
            counted(open, "open connection"),
            wording.stopped
        ));
    }
    Ok(DONE)
}

/// Without a key nobody else can reach it.
const fn default_address(protection: Protection) -> SocketAddr {
    let ip = match protection {
        Protection::Key => Ipv4Addr::UNSPECIFIED,
        Protection::Insecure | Protection::Unspecified => Ipv4Addr::LOCALHOST,
    };
    SocketAddr::new(IpAddr::V4(ip), PORT)
}

/// The line on standard output names the address: who asked for port 0 reads it there.
fn announce(what: &str, local: SocketAddr, protection: Protection) {
    if protection == Protection::Key {
        note("encrypted: only who has the key gets an answer");
    } else if protection.is_open(local) {
        warn(
            "no key: everybody who reaches this address is served, and can read and change what is sent",
        );
    } else if protection == Protection::Insecure {
        note("no key: reachable from this machine only; --listen 0.0.0.0:9000 opens it to others");
    } else {
        note("no key: reachable from this machine only; --key-file opens it to others");
    }
    print(format_args!("{what} on {local}"));
}

async fn accept(
    listener: &Listener,
    service: Arc<Service>,
    limits: Limits,
    sessions: &mut JoinSet<()>,
) {
    let places = Places::new(limits);
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Some(connection) = accepted else { return };
                let service = Arc::clone(&service);
                match places.admit(connection.peer_addr(), Instant::now()) {
                    Ok(place) => sessions.spawn(attend(connection, service, place)),
                    Err(refusal) => sessions.spawn(send_away(connection, refusal)),
                };
            }
            Some(_) = sessions.join_next() => {}
        }
    }
}

async fn attend(connection: Connection, service: Arc<Service>, place: Place) {
    match link::channel(&connection) {
        Ok(channel) => serve(&service, channel, place).await,
        Err(failure) => note(format_args!("{}: {failure}", place.peer())),
    }
    timeout(LINGER, connection.close()).await.ok();
}

async fn send_away(connection: Connection, refusal: Failure) {
    if let Ok(mut channel) = link::channel(&connection) {
        timeout(LINGER, channel.send_failure(&refusal)).await.ok();
    }
    timeout(LINGER, connection.close()).await.ok();
}
