//! The task of an endpoint: receives, finds the connection, lets it act, and wakes when one has to.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use incastle_secure::Path;
use incastle_transport::udt::{Received, wire};
use quinn_udp::RecvMeta;
use tokio::io::Interest;

use crate::ConnectError;
use crate::base::{count, lock};
use crate::ecn::ecn_of;
use crate::inner::Inner;
use crate::receive::Buffers;
use crate::shared::{Left, Phase, Shared, State};
use crate::stamp::Clocks;
use crate::timer::Timer;

/// System calls that receive before others have their turn.
const MAX_RECEIVES: usize = 8;
/// How long a closed connection answers a peer that has not heard so: a few of its repeats.
const PARTING: Duration = Duration::from_secs(3);

/// When something is to be done about a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Alarm {
    at: Instant,
    id: u32,
}

/// Drives an endpoint until nobody holds it and its connections are over.
pub(crate) struct Driver {
    pub(crate) inner: Arc<Inner>,
    timer: Timer,
    buffers: Option<Buffers>,
    /// Connections whose time comes. An entry that is not its connection's alarm any more is stale.
    alarms: BinaryHeap<Reverse<Alarm>>,
    /// Connections that are over, and when they are forgotten.
    leaving: VecDeque<Alarm>,
    /// To which something arrived in this round.
    touched: Vec<Arc<Shared>>,
    /// That have more to send.
    ready: Vec<u32>,
    /// That the socket takes nothing from.
    blocked: Vec<u32>,
    /// The one found last.
    recent: Option<Arc<Shared>>,
    last_alarm: Instant,
}

impl Driver {
    pub(crate) fn new(inner: Arc<Inner>) -> io::Result<Self> {
        Ok(Self {
            timer: Timer::new()?,
            buffers: Some(Buffers::new(&inner.port.udp)),
            inner,
            alarms: BinaryHeap::new(),
            leaving: VecDeque::new(),
            touched: Vec::new(),
            ready: Vec::new(),
            blocked: Vec::new(),
            recent: None,
            last_alarm: Instant::now(),
        })
    }

    fn round(&mut self, cx: &mut Context<'_>) -> io::Result<Poll<()>> {
        lock(&self.inner.port.mailbox).driver = Some(cx.waker().clone());
        if self.timer.poll(cx)? {
            self.last_alarm = Instant::now();
        }
        let again = self.receive(cx)?;
        let now = Instant::now();
        self.take_mailbox(now);
        self.expire(now);
        self.inner.port.expire_sessions(now);
        self.retry_blocked(cx, now)?;
        for id in std::mem::take(&mut self.ready) {
            self.visit(id, now, |_, _| {});
        }
        self.forget(now);
        if self.is_done() {
            return Ok(Poll::Ready(()));
        }
        self.arm(now)?;
        if again || !self.ready.is_empty() {
            cx.waker().wake_by_ref();
        }
        Ok(Poll::Pending)
    }

    /// Takes what arrived; gives whether there may be more.
    fn receive(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        let inner = Arc::clone(&self.inner);
        let port = &inner.port;
        let mut buffers = self.buffers.take().expect("buffers between two rounds");
        let mut calls = 0;
        let mut before: Option<Clocks> = None;
        while calls < MAX_RECEIVES {
            let Poll::Ready(ready) = port.socket.poll_recv_ready(cx) else {
                break;
            };
            ready?;
            let mut received = 0;
            let attempt = || {
                let filled = buffers.receive(port)?;
                received = filled.count;
                // As good as a call that would find nothing: what comes from now on wakes the task.
                if filled.drained {
                    Err(io::ErrorKind::WouldBlock.into())
                } else {
                    Ok(())
                }
            };
            match port.socket.try_io(Interest::READABLE, attempt) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    // An ICMP error for an earlier datagram; the socket stays usable.
                    tracing::debug!(%error, "receiving");
                    port.take_errors();
                }
            }
            let clocks = before.map_or_else(Clocks::read, |before| before.read_again());
            before = Some(clocks);
            for (meta, bytes) in buffers.received(received) {
                self.datagrams(meta, bytes, &clocks);
            }
            calls += 1;
        }
        self.buffers = Some(buffers);
        let now = Instant::now();
        while let Some(shared) = self.touched.pop() {
            let mut state = shared.lock();
            state.touched = false;
            self.follow(&shared, &mut state, now);
        }
        self.recent = None;
        Ok(calls == MAX_RECEIVES)
    }

    /// Datagrams of one length from one peer, the last of which may be shorter.
    fn datagrams(&mut self, meta: &RecvMeta, bytes: &mut [u8], clocks: &Clocks) {
        let inner = Arc::clone(&self.inner);
        let stride = meta.stride.max(1);
        let datagrams = bytes.len().div_ceil(stride) as u64;
        count(&inner.port.counters.datagrams_received, datagrams);
        if let Some(secure) = &inner.port.secure {
            let path = Path {
                peer: meta.addr,
                source: self.source(meta),
            };
            let plaintexts = inner.port.open(secure, path, bytes, stride, clocks.now);
            let plaintexts = plaintexts.into_iter().map(|plaintext| &bytes[plaintext]);
            self.distribute(meta, plaintexts, clocks);
        } else {
            self.distribute(meta, bytes.chunks(stride), clocks);
        }
    }

    /// Gives datagrams of one peer to their connections.
    fn distribute<'a>(
        &mut self,
        meta: &RecvMeta,
        datagrams: impl Iterator<Item = &'a [u8]>,
        clocks: &Clocks,
    ) {
        let inner = Arc::clone(&self.inner);
        let now = clocks.now;
        let stamp = clocks.arrival(meta.timestamp);
        let mut datagrams = datagrams.peekable();
        while let Some(datagram) = datagrams.next() {
            let Ok(id) = wire::destination(datagram) else {
                count(&inner.port.counters.malformed, 1);
                continue;
            };
            if id == 0 {
                self.greet(meta, datagram, now);
                continue;
            }
            let Some(shared) = self.find(id) else {
                count(&inner.port.counters.unknown_socket, 1);
                continue;
            };
            if shared.peer != meta.addr {
                count(&inner.port.counters.wrong_address, 1);
                continue;
            }
            let time = shared.time(now);
            let received = Received {
                ecn: ecn_of(meta.ecn),
                stamp: Some(shared.time(stamp)),
            };
            let mut state = shared.lock();
            state.receive(&inner.port, time, datagram, received);
            while let Some(next) = datagrams.next_if(|next| wire::destination(next) == Ok(id)) {
                state.receive(&inner.port, time, next, received);
            }
            state.account(&inner.port);
            self.touch(&shared, &mut state);
        }
    }

    fn find(&mut self, id: u32) -> Option<Arc<Shared>> {
        if let Some(recent) = &self.recent
            && recent.id == id
        {
            return Some(Arc::clone(recent));
        }
        let found = lock(&self.inner.table).connections.get(&id).cloned()?;
        assert_eq!(found.id, id, "a connection is found by its number");
        self.recent = Some(Arc::clone(&found));
        Some(found)
    }

    /// Something arrived: it acts once the round's datagrams are all in.
    pub(crate) fn touch(&mut self, shared: &Arc<Shared>, state: &mut State) {
        if !std::mem::replace(&mut state.touched, true) {
            self.touched.push(Arc::clone(shared));
        }
    }

    /// Lets a connection act, and notes what it needs next.
    pub(crate) fn follow(&mut self, shared: &Shared, state: &mut State, now: Instant) {
        let next = state.advance(shared, &self.inner.port, now);
        if next.left == Left::Blocked && !std::mem::replace(&mut state.blocked, true) {
            self.blocked.push(shared.id);
        }
        if next.left == Left::More {
            self.ready.push(shared.id);
        }
        if let Some(at) = next.at
            && state.alarm.is_none_or(|alarm| at < alarm)
        {
            state.alarm = Some(at);
            let id = shared.id;
            self.alarms.push(Reverse(Alarm { at, id }));
        }
        if next.over && !std::mem::replace(&mut state.leaving, true) {
            self.leave(shared, state, now);
        }
    }

    /// A connection is over. Where both endpoints have closed, it stays for a while to answer repeats.
    fn leave(&mut self, shared: &Shared, state: &State, now: Instant) {
        assert!(
            matches!(state.phase, Phase::Over(_)),
            "only what is over leaves"
        );
        let (orderly, id) = (state.phase == Phase::Over(Ok(())), shared.id);
        // In the order of their time: those that stay not at all come first.
        if orderly {
            let at = now + PARTING;
            let last = self.leaving.back();
            assert!(
                last.is_none_or(|last| last.at <= at),
                "who came later leaves later"
            );
            self.leaving.push_back(Alarm { at, id });
        } else {
            self.leaving.push_front(Alarm { at: now, id });
        }
        if lock(&self.inner.table).end() {
            for closer in lock(&self.inner.port.mailbox).closers.drain(..) {
                closer.wake();
            }
        }
    }

    fn visit(&mut self, id: u32, now: Instant, act: impl FnOnce(&Shared, &mut State)) {
        let found = lock(&self.inner.table).connections.get(&id).cloned();
        if let Some(shared) = found {
            let mut state = shared.lock();
            act(&shared, &mut state);
            self.follow(&shared, &mut state, now);
        }
    }

    /// Connections that their applications changed.
    fn take_mailbox(&mut self, now: Instant) {
        let (changed, unreachable) = {
            let mut mailbox = lock(&self.inner.port.mailbox);
            let changed = std::mem::take(&mut mailbox.changed);
            (changed, std::mem::take(&mut mailbox.unreachable))
        };
        for id in changed {
            self.visit(id, now, |_, state| state.notified = false);
        }
        for host in unreachable {
            let asking: Vec<Arc<Shared>> = {
                let table = lock(&self.inner.table);
                let ids = table.asking.iter();
                ids.filter_map(|id| table.connections.get(id).cloned())
                    .filter(|shared| shared.peer.ip().to_canonical() == host.to_canonical())
                    .collect()
            };
            // The message does not name the port.
            if let [shared] = &asking[..] {
                self.visit(shared.id, now, |shared, state| {
                    if state.phase == Phase::Connecting {
                        let why = ConnectError::PortUnreachable(shared.peer);
                        state.refusal.get_or_insert(why);
                        state.connection.abort();
                    }
                });
            }
        }
    }

    /// Drives the connections that are due, each once. One that is due again at once follows in the next round,
    /// after the datagrams that it may wait for.
    fn expire(&mut self, now: Instant) {
        let mut due = Vec::new();
        while let Some(Reverse(alarm)) = self.alarms.peek().copied()
            && alarm.at <= now
        {
            self.alarms.pop();
            due.push(alarm);
        }
        for alarm in due {
            self.visit_due(alarm, now);
        }
    }

    fn visit_due(&mut self, alarm: Alarm, now: Instant) {
        assert!(alarm.at <= now, "no alarm comes early");
        let found = lock(&self.inner.table).connections.get(&alarm.id).cloned();
        let Some(shared) = found else {
            return;
        };
        let mut state = shared.lock();
        if state.alarm != Some(alarm.at) {
            return;
        }
        state.alarm = None;
        state.expire(shared.time(now));
        self.follow(&shared, &mut state, now);
    }

    /// Connections from which the socket took nothing, once it takes something again.
    fn retry_blocked(&mut self, cx: &mut Context<'_>, now: Instant) -> io::Result<()> {
        while !self.blocked.is_empty() {
            let Poll::Ready(ready) = self.inner.port.socket.poll_send_ready(cx) else {
                return Ok(());
            };
            ready?;
            for id in std::mem::take(&mut self.blocked) {
                self.visit(id, now, |_, state| state.blocked = false);
            }
        }
        Ok(())
    }

    fn forget(&mut self, now: Instant) {
        while let Some(Alarm { at, id }) = self.leaving.front().copied()
            && at <= now
        {
            self.leaving.pop_front();
            lock(&self.inner.table).remove(id);
        }
    }

    /// Sets the alarm for the next of all, but not so close to the last that nothing else is done.
    fn arm(&mut self, now: Instant) -> io::Result<()> {
        let alarm = self.alarms.peek().map(|Reverse(alarm)| alarm.at);
        let leaving = self.leaving.front().map(|first| first.at);
        let sessions = self.inner.port.sessions_alarm();
        if let Some(at) = [alarm, leaving, sessions].into_iter().flatten().min() {
            let earliest = self.last_alarm + self.inner.port.config.quantum;
            self.timer.arm(now, at.max(earliest))?;
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        let table = lock(&self.inner.table);
        lock(&self.inner.port.mailbox).abandoned && table.connections.is_empty()
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.round(cx) {
            Ok(poll) => poll,
            Err(error) => {
                tracing::error!(%error, "the endpoint's socket failed");
                Poll::Ready(())
            }
        }
    }
}

impl Drop for Driver {
    /// The runtime ends, the socket failed, or nobody is left.
    fn drop(&mut self) {
        let (connections, listening) = {
            let mut table = lock(&self.inner.table);
            table.closed = true;
            table.live = 0;
            table.accepted.clear();
            let connections = std::mem::take(&mut table.connections);
            (connections, table.listening.take())
        };
        for shared in connections.into_values() {
            shared
                .lock()
                .lose_endpoint(&shared, "its task has ended with the runtime");
        }
        if let Some(listening) = listening {
            listening.end();
        }
        for closer in lock(&self.inner.port.mailbox).closers.drain(..) {
            closer.wake();
        }
    }
}
