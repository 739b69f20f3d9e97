//! The places of a server: limits on its connections in total and per address, and the choice of the
//! connection that is evicted.
//!
//! A connection is idle while it has no transfer and no measurement; pings do not count. A new connection
//! may find no free place, in total or in the share of its address. Then it takes the place of the
//! connection that has been idle longest.
//!
//! Leaves out: a queue (a refused client tries again); the speed of transfers (an active one keeps its
//! place, within its address's share).

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use incastle_socket::network_of;
use tokio::sync::oneshot;

use crate::error::Failure;
use crate::protocol::ErrorCode;

/// How many connections are served, and how long they may be idle where others wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at the same time.
    pub connections: u16,
    /// The places of one address; in IPv6, of one /64 network.
    pub per_address: u16,
    /// A connection that is idle for less keeps its place: clients pause between two files.
    pub evict_after: Duration,
}

/// The places.
#[derive(Debug)]
pub struct Places {
    limits: Limits,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// In the order in which they came.
    holders: BTreeMap<u64, Holder>,
    next: u64,
}

#[derive(Debug)]
struct Holder {
    network: IpAddr,
    /// Since when it has been idle, if it is.
    idle_since: Option<Instant>,
    /// Dropped where the connection has to leave.
    _stay: oneshot::Sender<Infallible>,
}

impl Places {
    /// All are free.
    pub fn new(limits: Limits) -> Arc<Self> {
        assert!(
            limits.connections > 0 && limits.per_address > 0,
            "a server has a place"
        );
        Arc::new(Self {
            limits,
            table: Mutex::default(),
        })
    }

    /// A place for a connection from there, or the failure that refuses it.
    pub fn admit(self: &Arc<Self>, peer: SocketAddr, now: Instant) -> Result<Place, Failure> {
        let network = network_of(peer.ip());
        let mut table = self.lock();
        let own = table.count(|holder| holder.network == network);
        let victim = if own >= usize::from(self.limits.per_address) {
            let victim = self.longest_idle(&table, now, |holder| holder.network == network);
            Some(victim.ok_or_else(|| self.share_is_used())?)
        } else if table.holders.len() >= usize::from(self.limits.connections) {
            let victim = self.longest_idle(&table, now, |_| true);
            Some(victim.ok_or_else(all_are_taken)?)
        } else {
            None
        };
        if let Some(victim) = victim {
            table.holders.remove(&victim);
        }
        let (stay, evicted) = oneshot::channel();
        let number = table.next;
        table.next += 1;
        let holder = Holder {
            network,
            idle_since: Some(now),
            _stay: stay,
        };
        table.holders.insert(number, holder);
        assert!(
            table.holders.len() <= usize::from(self.limits.connections),
            "more are served than there are places"
        );
        Ok(Place {
            places: Arc::clone(self),
            number,
            peer,
            evicted,
        })
    }

    /// The connection that has been idle longest, and for long enough, of those that may leave.
    fn longest_idle(
        &self,
        table: &Table,
        now: Instant,
        may_leave: impl Fn(&Holder) -> bool,
    ) -> Option<u64> {
        let candidates = table.holders.iter().filter(|(_, holder)| may_leave(holder));
        let idle = candidates.filter_map(|(number, holder)| Some((holder.idle_since?, *number)));
        let (since, number) = idle.min()?;
        (now.saturating_duration_since(since) >= self.limits.evict_after).then_some(number)
    }

    fn share_is_used(&self) -> Failure {
        let (all, share) = (self.limits.connections, self.limits.per_address);
        if share >= all {
            return all_are_taken();
        }
        let message = format!(
            "as many connections from one address as this server takes ({share} of {all}); \
             try again later"
        );
        Failure::here(ErrorCode::Busy, message)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn count(&self, which: impl Fn(&Holder) -> bool) -> usize {
        self.holders.values().filter(|holder| which(holder)).count()
    }
}

fn all_are_taken() -> Failure {
    let message = "as many connections as this server takes; try again later";
    Failure::here(ErrorCode::Busy, message)
}

/// The place of one connection. Dropped, it is free.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    number: u64,
    peer: SocketAddr,
    evicted: oneshot::Receiver<Infallible>,
}

impl Place {
    /// Its holder.
    pub const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Waits for something while the connection is idle. Nothing where it has to leave meanwhile.
    pub async fn idle<T>(&mut self, waiting: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            _ = &mut self.evicted => None,
            done = waiting => Some(done),
        }
    }

    /// Work begins: from now on nobody else gets this place. False where somebody has it already.
    #[must_use]
    pub fn begin(&self) -> bool {
        let mut table = self.places.lock();
        let holder = table.holders.get_mut(&self.number);
        holder.is_some_and(|holder| {
            holder.idle_since = None;
            true
        })
    }

    /// Work has ended.
    pub fn rest(&self, now: Instant) {
        let mut table = self.places.lock();
        let holder = table.holders.get_mut(&self.number);
        holder.expect("who works is not evicted").idle_since = Some(now);
    }

    /// The message to a connection that is evicted.
    pub fn eviction(&self) -> Failure {
        let seconds = self.places.limits.evict_after.as_secs_f64();
        let message = format!(
            "others wait, and no file and no measurement was under way here for {seconds} s; \
             call again when there is something to do"
        );
        Failure::here(ErrorCode::Busy, message)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().holders.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(10);

    fn places(connections: u16, per_address: u16) -> Arc<Places> {
        Places::new(Limits {
            connections,
            per_address,
            evict_after: GRACE,
        })
    }

    fn peer(host: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, host], 4000))
    }

    fn refusal(admitted: Result<Place, Failure>) -> String {
        match admitted {
            Err(failure @ Failure::Here { .. }) => failure.to_string(),
            other => panic!("{other:?}"),
        }
    }

    fn is_evicted(place: &Place) -> bool {
        !place.places.lock().holders.contains_key(&place.number)
    }

    #[test]
    fn one_address_has_its_share_and_others_find_the_rest() {
        let (places, now) = (places(4, 2), Instant::now());
        let held: Vec<_> = (0..2).map(|_| places.admit(peer(1), now)).collect();
        assert!(held.iter().all(Result::is_ok));
        let message = refusal(places.admit(peer(1), now));
        assert!(message.contains("from one address as this server takes (2 of 4)"));
        let other = places.admit(peer(2), now).expect("two places are free");
        drop(held);
        // A place that is given back is free again.
        let again: Vec<_> = (0..2).map(|_| places.admit(peer(1), now)).collect();
        assert!(again.iter().all(Result::is_ok));
        drop(other);
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let (places, now) = (places(4, 1), Instant::now());
        let at = |text: &str| text.parse().expect("an address");
        let held = places.admit(at("[2001:db8::1]:4000"), now);
        assert!(held.is_ok());
        refusal(places.admit(at("[2001:db8::2]:4000"), now));
        assert!(places.admit(at("[2001:db8:0:1::2]:4000"), now).is_ok());
    }

    #[test]
    fn the_one_idle_longest_leaves_for_a_newcomer() {
        let (places, start) = (places(3, 3), Instant::now());
        let second = Duration::from_secs(1);
        let held: Vec<_> = (0..3)
            .map(|host| places.admit(peer(host), start + second * u32::from(host)))
            .map(|place| place.expect("it is free"))
            .collect();
        // The first works, and has been idle least when it is done.
        assert!(held[0].begin());
        held[0].rest(start + 5 * second);
        // Nobody has been idle for 10 s yet.
        let message = refusal(places.admit(peer(9), start + 10 * second));
        assert!(message.starts_with("as many connections as this server takes"));
        // The second came at 1 s, the third at 2 s.
        let newcomer = places.admit(peer(9), start + 11 * second);
        assert!(newcomer.is_ok() && is_evicted(&held[1]));
        assert!(!held[1].begin(), "its place is another's");
        assert!(!is_evicted(&held[0]) && !is_evicted(&held[2]));
        let newcomer = places.admit(peer(8), start + 15 * second);
        assert!(newcomer.is_ok() && is_evicted(&held[2]));
    }

    #[test]
    fn who_works_stays_however_long() {
        let (places, now) = (places(2, 1), Instant::now());
        let held: Vec<_> = (0..2)
            .map(|host| places.admit(peer(host), now).expect("it is free"))
            .collect();
        assert!(held.iter().all(Place::begin));
        let later = now + Duration::from_secs(86_400);
        refusal(places.admit(peer(9), later));
        refusal(places.admit(peer(1), later));
        // Its own share is used up: of all that are idle only its own leave.
        held[0].rest(now);
        refusal(places.admit(peer(1), later));
        assert!(!is_evicted(&held[0]));
        let own = places.admit(peer(0), later);
        assert!(own.is_ok() && is_evicted(&held[0]));
    }
}
