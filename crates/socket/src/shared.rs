//! A connection as its application's handles and the driver share it: the sans-IO connection, who waits
//! for what, and how it ended. Whoever changes it pumps it: an application that writes sends its packets
//! itself, so that no task needs to be woken for them.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard};
use std::task::Waker;
use std::time::{Duration, Instant};

use incastle_congestion::TransmissionMode;
use incastle_secure::Path;
use incastle_transport::udt::wire::{self, Dialect, SocketKind};
use incastle_transport::udt::{self, ByteConnection, Failure, Received};
use incastle_units::{Bytes, Time};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::base::{ConnectionClock, count, lock, random};
use crate::datagrams::Refused;
use crate::event::{Event, Queue};
use crate::port::Port;
use crate::{
    ConnectError, ConnectionConfig, ConnectionError, Control, Statistics, WindowStatistics,
};

/// A UDT peer that closed has forgotten us: what it has not acknowledged by then never will be.
const UDT_PARTING: Duration = Duration::from_secs(1);
/// Writers are woken once this many bytes have room, or half of the buffer has.
const WRITER_WAKE: usize = 1 << 18;

/// A connection.
pub(crate) struct Shared {
    pub(crate) id: u32,
    pub(crate) peer: SocketAddr,
    pub(crate) kind: SocketKind,
    /// The peer's socket ID, where the connection was accepted.
    pub(crate) accepted: Option<u32>,
    /// The address of ours that the peer writes to, where the socket has several.
    pub(crate) source: Option<IpAddr>,
    pub(crate) clock: ConnectionClock,
    state: Mutex<State>,
}

/// Where a connection stands for its application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    Connecting,
    Up,
    Over(Result<(), ConnectionError>),
}

/// The state behind the lock.
pub(crate) struct State {
    pub(crate) connection: ByteConnection,
    pub(crate) rng: Xoshiro256PlusPlus,
    pub(crate) phase: Phase,
    /// Why there was never a connection.
    pub(crate) refusal: Option<ConnectError>,
    pub(crate) readers: Vec<Waker>,
    pub(crate) writers: Vec<Waker>,
    /// The tasks that wait for the beginning, for the delivery of all data, or for the end.
    pub(crate) watchers: Vec<Waker>,
    pub(crate) events: Queue,
    /// The application has closed, and reads no more.
    pub(crate) closed: bool,
    pub(crate) peer_closed: bool,
    give_up_at: Option<Instant>,
    /// A batch that the socket did not take.
    pub(crate) refused: Option<Refused>,
    /// When the driver will look at it.
    pub(crate) alarm: Option<Instant>,
    /// The driver was notified of a change.
    pub(crate) notified: bool,
    /// The driver has it on its list: something arrived, the socket was full, it is over.
    pub(crate) touched: bool,
    pub(crate) blocked: bool,
    pub(crate) leaving: bool,
    pub(crate) control: Control,
    mode: Option<TransmissionMode>,
    ecn_reported: bool,
    held: usize,
    /// The most bytes that wait to be sent.
    unsent: usize,
}

/// The next step of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Next {
    /// When time alone changes something.
    pub(crate) at: Option<Instant>,
    pub(crate) left: Left,
    pub(crate) over: bool,
}

/// Whether datagrams remain to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    /// There is more to send, and it is others' turn.
    More,
    /// The socket takes nothing now.
    Blocked,
}

/// The parts of a new connection.
pub(crate) struct Parts {
    pub(crate) id: u32,
    pub(crate) peer: SocketAddr,
    pub(crate) kind: SocketKind,
    pub(crate) accepted: Option<u32>,
    pub(crate) source: Option<IpAddr>,
    pub(crate) send_buffer: usize,
    pub(crate) unsent: usize,
    pub(crate) control: Control,
    pub(crate) clock: ConnectionClock,
    pub(crate) seed: [u8; 32],
}

impl Parts {
    /// The parts of a connection that this endpoint opens; its ID comes later.
    pub(crate) fn new(
        peer: SocketAddr,
        config: &ConnectionConfig,
        clock: ConnectionClock,
        seed: [u8; 32],
    ) -> Self {
        Self {
            id: 0,
            peer,
            kind: config.kind,
            accepted: None,
            source: None,
            send_buffer: config.send_buffer,
            unsent: config.unsent.unwrap_or(usize::MAX),
            control: config.control,
            clock,
            seed,
        }
    }
}

/// Random numbers for one connection.
pub(crate) fn seed() -> Result<[u8; 32], ConnectError> {
    random()
}

impl Shared {
    pub(crate) fn new(parts: &Parts, core: udt::Connection) -> Self {
        assert_eq!(
            core.socket(),
            parts.id,
            "a connection is found by its socket"
        );
        Self {
            id: parts.id,
            peer: parts.peer,
            kind: parts.kind,
            accepted: parts.accepted,
            source: parts.source,
            clock: parts.clock,
            state: Mutex::new(State {
                connection: ByteConnection::new(core, parts.send_buffer),
                rng: Xoshiro256PlusPlus::from_seed(parts.seed),
                phase: Phase::Connecting,
                refusal: None,
                readers: Vec::new(),
                writers: Vec::new(),
                watchers: Vec::new(),
                events: Queue::default(),
                closed: false,
                peer_closed: false,
                give_up_at: None,
                refused: None,
                alarm: None,
                notified: false,
                touched: false,
                blocked: false,
                leaving: false,
                control: parts.control,
                mode: None,
                ecn_reported: false,
                held: 0,
                unsent: parts.unsent,
            }),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The path to its peer.
    pub(crate) fn path(&self) -> Path {
        Path {
            peer: self.peer,
            source: self.source,
        }
    }

    pub(crate) fn time(&self, now: Instant) -> Time {
        self.clock.time(now)
    }

    /// After a change by the application: sends what may leave, and notifies the driver.
    pub(crate) fn pump(&self, port: &Port, state: &mut State, now: Instant) {
        let next = state.advance(self, port, now);
        let later = state
            .alarm
            .is_some_and(|alarm| next.at.is_none_or(|at| alarm <= at));
        let waits = next.at.is_none() || later;
        if (next.left != Left::Nothing || next.over || !waits) && !state.notified {
            state.notified = true;
            port.notify(self.id);
        }
    }
}

impl State {
    /// Follows what happened, and sends what may leave now.
    pub(crate) fn advance(&mut self, shared: &Shared, port: &Port, now: Instant) -> Next {
        let time = shared.time(now);
        if self.give_up_at.is_some_and(|at| at <= now) {
            self.connection.abort();
        }
        self.take_events(shared, now);
        if self.closed && self.connection.held() > 0 {
            self.connection.discard(time);
        }
        let left = self.transmit(shared, port, time);
        self.take_events(shared, now);
        self.watch();
        self.account(port);
        let timeout = self.connection.poll_timeout();
        let at = timeout.and_then(|time| shared.clock.instant(time));
        let over = matches!(self.phase, Phase::Over(_));
        assert!(
            self.give_up_at.is_none() || self.peer_closed && !over,
            "only a peer that has closed is given up at a time"
        );
        Next {
            at: at.into_iter().chain(self.give_up_at).min(),
            left,
            over,
        }
    }

    /// Handles the events of the sans-IO connection.
    fn take_events(&mut self, shared: &Shared, now: Instant) {
        while let Some(event) = self.connection.poll_event() {
            tracing::trace!(id = shared.id, ?event, "event");
            match event {
                udt::Event::Connected => self.begin(shared),
                udt::Event::Fallback => {
                    tracing::warn!(peer = %shared.peer, "the peer speaks UDT alone: UDT's control");
                    self.control = Control::Udt;
                    self.events.push(Event::Fallback);
                }
                udt::Event::NoEcn => {
                    tracing::warn!(peer = %shared.peer, "the path carries no ECN");
                    if self.control == Control::Dcudp {
                        self.control = Control::Udt;
                    }
                    self.ecn_reported = true;
                    self.events.push(Event::EcnFailed);
                }
                udt::Event::Readable => wake(&mut self.readers),
                udt::Event::Finished => {
                    wake(&mut self.writers);
                    wake(&mut self.watchers);
                }
                udt::Event::PeerClosed => self.part(shared, now),
                udt::Event::Closed => self.end(shared, Ok(())),
                udt::Event::Failed(failure) => self.fail(shared, failure),
            }
        }
    }

    fn begin(&mut self, shared: &Shared) {
        let core = self.connection.core();
        tracing::debug!(
            id = shared.id,
            peer = %shared.peer,
            dialect = ?core.dialect(),
            packet_size = core.packet_size(),
            "connected"
        );
        // A connection that ended with its endpoint does not begin.
        if self.phase == Phase::Connecting {
            self.phase = Phase::Up;
        }
        wake(&mut self.watchers);
    }

    /// The peer has closed. UDT has no half-closed connection: this endpoint closes too, as soon as
    /// everything is delivered, and the application reads what has arrived.
    fn part(&mut self, shared: &Shared, now: Instant) {
        self.peer_closed = true;
        self.events.push(Event::PeerClosed);
        self.connection.close(shared.time(now));
        // An endpoint that is over already has nothing to deliver any more.
        let over = matches!(self.phase, Phase::Over(_));
        if self.connection.core().dialect() == Dialect::Udt && !over {
            self.give_up_at = now.checked_add(UDT_PARTING);
        }
        wake(&mut self.readers);
        wake(&mut self.writers);
    }

    fn fail(&mut self, shared: &Shared, failure: Failure) {
        let error = match failure {
            Failure::NoResponse => {
                self.refusal
                    .get_or_insert(ConnectError::NoAnswer(shared.peer));
                ConnectionError::Closed
            }
            Failure::Refused => {
                self.refusal
                    .get_or_insert(ConnectError::Refused(shared.peer));
                ConnectionError::Closed
            }
            Failure::Silent(lost) | Failure::Linger(lost) | Failure::Aborted(lost)
                if self.peer_closed =>
            {
                ConnectionError::PeerClosed { lost }
            }
            Failure::Silent(lost) => ConnectionError::Silent { lost },
            Failure::Linger(lost) => ConnectionError::Linger { lost },
            Failure::Gone(lost) => ConnectionError::PeerClosed { lost },
            Failure::Aborted(_) => ConnectionError::Aborted,
        };
        self.end(shared, Err(error));
    }

    fn end(&mut self, shared: &Shared, result: Result<(), ConnectionError>) {
        if matches!(self.phase, Phase::Over(_)) {
            return;
        }
        tracing::debug!(id = shared.id, peer = %shared.peer, ?result, "over");
        self.give_up_at = None;
        self.events.push(Event::Over(result.clone().err()));
        self.phase = Phase::Over(result);
        assert!(
            self.events.over,
            "the application finds the end among the events"
        );
        self.wake_all();
    }

    /// The endpoint's socket failed: nothing can be sent or received any more.
    pub(crate) fn lose_endpoint(&mut self, shared: &Shared, why: &str) {
        self.refusal.get_or_insert(ConnectError::EndpointClosed);
        self.end(shared, Err(ConnectionError::EndpointGone(why.to_owned())));
    }

    /// The connection cannot go on.
    pub(crate) fn give_up(&mut self, shared: &Shared, error: ConnectionError) {
        self.end(shared, Err(error));
        self.connection.abort();
    }

    fn wake_all(&mut self) {
        wake(&mut self.readers);
        wake(&mut self.writers);
        wake(&mut self.watchers);
    }

    /// Wakes the application for changes that the sans-IO connection does not report.
    fn watch(&mut self) {
        let room = self.room();
        let most = self.connection.send_buffer().min(self.unsent);
        if !self.writers.is_empty() && room >= WRITER_WAKE.min(most / 2) {
            wake(&mut self.writers);
        }
        if self.control == Control::Udt {
            return;
        }
        let core = self.connection.core();
        if !self.ecn_reported && core.carries_ect() && core.acknowledged_offset() > 0 {
            self.ecn_reported = true;
            self.events.push(Event::EcnVerified);
        }
        let mode = core.control_state().mode;
        if mode != self.mode {
            let first = self.mode.is_none();
            self.mode = mode;
            if let (Some(mode), false) = (mode, first) {
                self.events.push(Event::Mode(mode));
            }
        }
    }

    /// Bytes that may be written now.
    pub(crate) fn room(&self) -> usize {
        let (most, buffered) = (self.connection.send_buffer(), self.connection.buffered());
        assert!(buffered <= most, "the send buffer is bounded");
        let unsent = usize::try_from(self.connection.core().unsent()).unwrap_or(usize::MAX);
        (most - buffered).min(self.unsent.saturating_sub(unsent))
    }

    /// Why nothing more can be written, if so.
    pub(crate) fn write_error(&self) -> Option<ConnectionError> {
        match &self.phase {
            Phase::Over(Err(error)) => Some(error.clone()),
            _ if self.closed => Some(ConnectionError::Closed),
            _ if self.peer_closed => Some(ConnectionError::PeerClosed {
                lost: self.connection.core().unacknowledged(),
            }),
            Phase::Over(Ok(())) => Some(ConnectionError::Closed),
            Phase::Connecting | Phase::Up => None,
        }
    }

    /// The result of a read without data: none yet, the end of the stream, or an error.
    pub(crate) fn read_end(&self) -> Option<Result<(), ConnectionError>> {
        match &self.phase {
            _ if self.closed => Some(Err(ConnectionError::Closed)),
            _ if self.peer_closed => Some(Ok(())),
            Phase::Over(result) => Some(result.clone()),
            Phase::Connecting | Phase::Up => None,
        }
    }

    /// A datagram arrived. Data that no memory is left for are dropped; their sender sends them again.
    pub(crate) fn receive(&mut self, port: &Port, now: Time, datagram: &[u8], received: Received) {
        let is_data = wire::data_sequence(datagram).is_some();
        if is_data && !port.has_memory(&self.connection, datagram) {
            count(&port.counters.beyond_memory, 1);
            return;
        }
        let handled = self
            .connection
            .handle_datagram(now, datagram, received, &mut self.rng);
        if let Err(error) = handled {
            tracing::trace!(%error, "a datagram was ignored");
        }
    }

    /// Tells the endpoint how much this connection holds.
    pub(crate) fn account(&mut self, port: &Port) {
        let held = self.connection.held() * usize::from(self.connection.core().payload());
        if held != self.held {
            port.account(self.held, held);
            self.held = held;
        }
    }

    /// A snapshot.
    pub(crate) fn statistics(&self) -> Statistics {
        let core = self.connection.core();
        let (control, stats) = (core.control_state(), core.stats());
        Statistics {
            control: self.control,
            mode: control.mode,
            rate: control.rate,
            rtt: Duration::from_nanos(core.smoothed_rtt().as_ps() / 1000),
            receiving_rate: core.receiving_rate(),
            path_capacity: core.path_capacity(),
            unacknowledged: core.unacknowledged(),
            acknowledged: core.acknowledged_offset(),
            sent: stats.payload_sent,
            delivered: stats.delivered,
            retransmissions: stats.retransmissions,
            losses_reported: stats.naks_received,
            marks_echoed: stats.ece_received,
            marks_received: stats.ce_received,
            window: WindowStatistics {
                cwnd: control.cwnd.map(Bytes::count),
                ssthresh: control.ssthresh.map(Bytes::count),
                alpha: control.alpha,
            },
            reported: core.reported_counts(),
            protocol: *stats,
        }
    }

    /// The connection's time has come.
    pub(crate) fn expire(&mut self, now: Time) {
        self.connection.handle_timeout(now, &mut self.rng);
    }

    /// The application closes.
    pub(crate) fn close(&mut self, shared: &Shared, now: Instant) {
        self.closed = true;
        self.connection.close(shared.time(now));
    }
}

fn wake(wakers: &mut Vec<Waker>) {
    for waker in wakers.drain(..) {
        waker.wake();
    }
}

/// Remembers who waits, once.
pub(crate) fn remember(wakers: &mut Vec<Waker>, waker: &Waker) {
    if !wakers.iter().any(|known| known.will_wake(waker)) {
        wakers.push(waker.clone());
    }
}
