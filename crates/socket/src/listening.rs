//! The driver's part of a listener: cookies, and a queue of bounded length in which connections wait to be
//! accepted.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::{Duration, Instant};

use incastle_transport::udt;
use incastle_units::Time;

use crate::base::{lock, time_since};
use crate::shared::Shared;
use crate::{ConnectionConfig, Rate};

/// After this time the cookies' minutes are counted from 0 again: time has 64 bits of picoseconds.
const COOKIE_ROUND: Duration = Duration::from_secs(100 * 24 * 3600);

/// The driver's part of a listener.
pub(crate) struct Listening {
    pub(crate) cookies: udt::Listener,
    pub(crate) config: ConnectionConfig,
    /// C from the configuration or the address that is listened on.
    pub(crate) capacity: Option<Rate>,
    pub(crate) epoch: Instant,
    pub(crate) backlog: usize,
    pub(crate) queue: Mutex<Queue>,
}

/// Connections that wait to be accepted.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) waiting: VecDeque<Arc<Shared>>,
    pub(crate) wakers: Vec<Waker>,
    pub(crate) ended: bool,
}

impl Listening {
    /// The time by which cookies are made.
    pub(crate) fn time(&self, now: Instant) -> Time {
        let age = now.saturating_duration_since(self.epoch);
        let rounds = age.as_secs() / COOKIE_ROUND.as_secs();
        let begun = Duration::from_secs(rounds * COOKIE_ROUND.as_secs());
        time_since(self.epoch + begun, now)
    }

    pub(crate) fn has_room(&self) -> bool {
        let queue = lock(&self.queue);
        !queue.ended && queue.waiting.len() < self.backlog
    }

    /// Adds a connection; false where no connection comes any more.
    pub(crate) fn push(&self, connection: Arc<Shared>) -> bool {
        let mut queue = lock(&self.queue);
        if queue.ended {
            return false;
        }
        queue.waiting.push_back(connection);
        assert!(
            queue.waiting.len() <= self.backlog,
            "the backlog is bounded"
        );
        for waker in queue.wakers.drain(..) {
            waker.wake();
        }
        true
    }

    /// No connection comes any more; gives those that wait.
    pub(crate) fn end(&self) -> VecDeque<Arc<Shared>> {
        let mut queue = lock(&self.queue);
        queue.ended = true;
        for waker in queue.wakers.drain(..) {
            waker.wake();
        }
        std::mem::take(&mut queue.waiting)
    }
}

impl std::fmt::Debug for Listening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listening")
            .field("backlog", &self.backlog)
            .finish_non_exhaustive()
    }
}
