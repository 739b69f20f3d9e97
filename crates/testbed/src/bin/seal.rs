//! The cost of encryption on one core: sealing and opening batches as an endpoint does, a handshake, and
//! refusing a forged datagram of each kind. It uses no socket and no other thread. Times are CPU times of
//! this thread, so that other load on the machine does not count.
//!
//! ```text
//! seal [seconds of each measurement]
//! ```

#![allow(clippy::print_stdout)] // a program whose purpose is to print

use std::error::Error;
use std::hint::black_box;
use std::net::SocketAddr;
use std::time::Duration;

use getrandom::SysRng;
use incastle_secure::{
    Batch, HEADER_BYTES, Key, OVERHEAD, Opened, Path, Sealed, Sessions, Transmit,
};
use incastle_units::{Ecn, Time};
use rand_core::UnwrapErr;
use rustix::time::{ClockId, clock_gettime};

/// Datagrams of a batch, as GSO takes them.
const BATCH: usize = 44;

/// Processor time of this thread.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a time since the thread began")
}

fn since(begun: Duration) -> Duration {
    spent().saturating_sub(begun)
}

fn system() -> UnwrapErr<SysRng> {
    UnwrapErr(SysRng)
}

/// Two ends, each known to the other by a path.
struct Pair {
    left: Sessions,
    right: Sessions,
    to_left: Path,
    to_right: Path,
}

impl Pair {
    fn new() -> Self {
        let key = Key::new([7; 32]);
        let path = |port| Path {
            peer: SocketAddr::from(([127, 0, 0, 1], port)),
            source: None,
        };
        let (left, right) = (Sessions::new(&key, 10), Sessions::new(&key, 10));
        Self {
            left,
            right,
            to_left: path(1),
            to_right: path(2),
        }
    }

    /// The first datagram of a handshake.
    fn initiation(&mut self) -> Transmit {
        let mut batch = Batch {
            bytes: &mut [0; OVERHEAD],
            segment: OVERHEAD,
            ecn: Ecn::NotEct,
        };
        self.left
            .seal(Time::ZERO, self.to_right, &mut batch, &mut system());
        self.left.poll_transmit().expect("an initiation")
    }

    fn join(&mut self) {
        let mut initiation = self.initiation();
        self.right.open(
            Time::ZERO,
            self.to_left,
            &mut initiation.bytes,
            &mut system(),
        );
        let mut response = self.right.poll_transmit().expect("a response");
        self.left.open(
            Time::ZERO,
            self.to_right,
            &mut response.bytes,
            &mut system(),
        );
        let mut first = self.left.poll_transmit().expect("what waited");
        let opened = self
            .right
            .open(Time::ZERO, self.to_left, &mut first.bytes, &mut system());
        assert_eq!(opened, Opened::Plaintext(&mut []));
    }
}

/// Prints nanoseconds for each, and gives them.
fn report(what: &str, count: u64, spent: Duration) -> f64 {
    let ns = spent.as_secs_f64() * 1e9 / count as f64;
    println!("{what:<28} {ns:>7.0} ns");
    ns
}

/// Seals and opens batches of texts of that length.
fn data(bytes: usize, least: Duration) {
    let mut pair = Pair::new();
    pair.join();
    let segment = bytes + OVERHEAD;
    let mut buffer = vec![0; segment * BATCH];
    let (mut sealing, mut opening, mut count) = (Duration::ZERO, Duration::ZERO, 0);
    while sealing + opening < least {
        let begun = spent();
        let mut batch = Batch {
            bytes: &mut buffer,
            segment,
            ecn: Ecn::Ect0,
        };
        let sealed = pair
            .left
            .seal(Time::ZERO, pair.to_right, &mut batch, &mut system());
        sealing += since(begun);
        assert_eq!(sealed, Sealed::Ready);
        let begun = spent();
        for datagram in buffer.chunks_mut(segment) {
            let opened = pair
                .right
                .open(Time::ZERO, pair.to_left, datagram, &mut system());
            assert!(matches!(opened, Opened::Plaintext(plaintext) if plaintext.len() == bytes));
        }
        opening += since(begun);
        count += BATCH as u64;
    }
    let seal = report(&format!("seal {bytes} bytes"), count, sealing);
    let open = report(&format!("open {bytes} bytes"), count, opening);
    let gbits = [seal, open].map(|ns| bytes as f64 * 8.0 / ns);
    println!("{:<28} {:>7.1} and {:.1} Gbit/s", "", gbits[0], gbits[1]);
}

/// Refuses a datagram of which a byte was changed.
fn forged(what: &str, mut pair: Pair, datagram: &[u8], least: Duration) {
    let begun = spent();
    let mut count = 0;
    while (since(begun)) < least {
        for _ in 0..64 {
            let mut bytes = datagram.to_vec();
            *bytes.last_mut().expect("a datagram") ^= 1;
            let opened = pair
                .right
                .open(Time::ZERO, pair.to_left, &mut bytes, &mut system());
            assert!(matches!(black_box(opened), Opened::Ignored(_)));
            count += 1;
        }
    }
    report(what, count, since(begun));
}

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = std::env::args()
        .nth(1)
        .map_or(Ok(1.0), |text| text.parse())?;
    let least = Duration::from_secs_f64(seconds);
    // A ping, the packet of 1500 bytes and the one of 9000, without the headers of IP, UDP and ours.
    for bytes in [64, 1_444, 8_944] {
        data(bytes, least);
    }
    let begun = spent();
    let mut handshakes = 0;
    while (since(begun)) < least {
        Pair::new().join();
        handshakes += 1;
    }
    report("handshake, both endpoints", handshakes, since(begun));
    let mut pair = Pair::new();
    let initiation = pair.initiation().bytes;
    forged("forged initiation", pair, &initiation, least);
    let mut pair = Pair::new();
    pair.join();
    let mut sealed = vec![0; 1_444 + OVERHEAD];
    sealed[HEADER_BYTES] = 1;
    let mut batch = Batch {
        segment: sealed.len(),
        bytes: &mut sealed,
        ecn: Ecn::Ect0,
    };
    pair.left
        .seal(Time::ZERO, pair.to_right, &mut batch, &mut system());
    forged("forged sealed datagram", pair, &sealed, least);
    Ok(())
}
