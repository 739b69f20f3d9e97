//! The flows of a run: the endpoints that are alive, in one array, and the accounts of all.

use std::collections::BTreeMap;

use incastle_queueing::PrioritySet;
use incastle_rdma::Turn;
use incastle_transport::{datagram, tcp};
use incastle_units::Time;

use crate::core::{
    AppIndex, Digest, EndpointIndex, FlowIndex, HostIndex, Purpose, Side, Source, substream,
};
use crate::flow::{Endpoint, FlowSpec, Notice, Origin, Transport, UdtCounters};
use crate::network::{Packet, Pool};

/// An endpoint that has been released.
const GONE: u32 = u32::MAX;
/// An endpoint in another partition.
const ELSEWHERE: u32 = GONE - 1;
/// Fewer free endpoints than this are not worth returning.
const FEW: usize = 1024;

/// The counters of one endpoint.
#[derive(Debug, Clone, Default)]
pub struct EndpointCounters {
    /// Packets sent, of every kind.
    pub packets_sent: u64,
    /// Packets received, of every kind.
    pub packets_received: u64,
    /// Application bytes sent, retransmissions included.
    pub payload_sent: u64,
    /// In-order bytes delivered to the application.
    pub delivered: u64,
    /// Messages that a full send buffer refused; zero for TCP.
    pub refused: datagram::Refused,
    /// TCP's statistics; zero for everything else.
    pub tcp: tcp::Stats,
    /// UDT's, of its flows alone.
    pub udt: Option<Box<UdtCounters>>,
    /// Those of queue pairs alone.
    pub queue_pair: Option<Box<QueuePairCounters>>,
}

/// The counters of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePairCounters {
    /// Its statistics.
    pub stats: incastle_rdma::Stats,
    /// Whether its retries ran out.
    pub failed: bool,
}

/// The accounts of one flow.
#[derive(Debug, Clone)]
pub struct FlowRecord {
    /// The host of its initiator.
    pub from: HostIndex,
    /// The host of its responder.
    pub to: HostIndex,
    /// When it was opened.
    pub opened: Time,
    /// Its packets dropped, in both directions.
    pub dropped: u64,
    /// Its packets marked, in both directions.
    pub marked: u64,
    /// Packets that arrived after the flow was released.
    pub stray: u64,
    /// Congestion notifications that reached its endpoints.
    pub cnms: u64,
    /// When its application had no more to send ([`crate::flow::Actions::drain`]), where it drained the flow.
    pub stopped: Option<Stopped>,
    /// The counters of the endpoint that opened it.
    pub initiator: EndpointCounters,
    /// The counters of the other endpoint.
    pub responder: EndpointCounters,
    /// The digest of each endpoint: initiator, responder.
    pub(crate) digest: [u64; 2],
    /// Which of its endpoints are in this partition, likewise.
    here: [bool; 2],
}

/// The end of a flow's offered data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// The instant.
    pub at: Time,
    /// The in-order bytes that the peer had received by then.
    pub delivered: u64,
}

impl FlowRecord {
    /// Joins the record of another partition.
    pub(crate) fn with(self, other: Self) -> Self {
        let (initiator, first) = if self.here[0] {
            (self.initiator, self.digest[0])
        } else {
            (other.initiator, other.digest[0])
        };
        let (responder, second) = if self.here[1] {
            (self.responder, self.digest[1])
        } else {
            (other.responder, other.digest[1])
        };
        Self {
            dropped: self.dropped + other.dropped,
            marked: self.marked + other.marked,
            stray: self.stray + other.stray,
            cnms: self.cnms + other.cnms,
            stopped: self.stopped.or(other.stopped),
            initiator,
            responder,
            digest: [first, second],
            here: [0, 1].map(|side| self.here[side] || other.here[side]),
            ..self
        }
    }
}

/// The counters of a flow in ports and hosts.
#[derive(Debug)]
pub(crate) struct FlowAccount {
    pub(crate) hosts: FlowHosts,
    pub(crate) dropped: u64,
    pub(crate) marked: u64,
    pub(crate) stray: u64,
    pub(crate) cnms: u64,
    pub(crate) recorded: bool,
}

/// The hosts of a flow's endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowHosts {
    pub(crate) initiator: HostIndex,
    pub(crate) responder: HostIndex,
}

impl FlowHosts {
    pub(crate) const fn at(self, side: Side) -> HostIndex {
        match side {
            Side::Initiator => self.initiator,
            Side::Responder => self.responder,
        }
    }
}

impl FlowAccount {
    /// The account of a new flow.
    pub(crate) fn new(spec: &FlowSpec) -> Self {
        Self {
            hosts: FlowHosts {
                initiator: spec.from,
                responder: spec.to,
            },
            dropped: 0,
            marked: 0,
            stray: 0,
            cnms: 0,
            recorded: spec.recorded,
        }
    }
}

/// The life of a flow.
#[derive(Debug)]
struct Life {
    opened: Time,
    /// The results of its endpoints, once it is released: initiator, responder.
    results: Option<Box<[EndpointResult; 2]>>,
}

/// The results of an endpoint; empty for one in another partition.
#[derive(Debug, Clone, Default)]
struct EndpointResult {
    counters: EndpointCounters,
    digest: Digest,
}

/// The parameters of opening a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    pub(crate) now: Time,
    /// The application that opens it.
    pub(crate) app: AppIndex,
    /// The seed of the run.
    pub(crate) seed: u64,
    /// Which of its endpoints are in this partition: initiator, responder.
    pub(crate) here: [bool; 2],
}

/// A notice, and the application that it is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addressed {
    pub(crate) app: AppIndex,
    pub(crate) notice: Notice,
}

/// All flows.
#[derive(Default)]
pub(crate) struct Flows {
    /// By endpoint: its place among the living.
    places: Vec<u32>,
    living: Vec<Endpoint>,
    free: Vec<u32>,
    lives: Vec<Life>,
    /// Flows whose applications have no more to send.
    stopped: BTreeMap<FlowIndex, Stopped>,
    /// By endpoint that will receive less than was written or expected: the bytes lost for good.
    shortfalls: BTreeMap<EndpointIndex, u64>,
}

impl Flows {
    /// The number of flows opened so far.
    pub(crate) fn count(&self) -> usize {
        self.lives.len()
    }

    /// The flow that will be opened next.
    pub(crate) fn next(&self) -> FlowIndex {
        let next = u32::try_from(self.count()).expect("fewer than 2^31 flows");
        FlowIndex(next)
    }

    /// Bytes allocated for the lists of flows and of their living endpoints.
    pub(crate) fn room(&self) -> usize {
        self.places.capacity() * size_of::<u32>()
            + self.living.capacity() * size_of::<Endpoint>()
            + self.lives.capacity() * size_of::<Life>()
    }

    /// The living endpoint of that index.
    #[inline]
    pub(crate) fn get(&mut self, index: EndpointIndex) -> Option<&mut Endpoint> {
        // The place of a released endpoint, or of one elsewhere, is outside of every array.
        self.living.get_mut(self.places[index.index()] as usize)
    }

    /// When the pacing of a queue pair lets its next packet leave; NEVER if it has sent everything.
    pub(crate) fn paced_until(&self, index: EndpointIndex) -> Time {
        match self.peek(index).map(|endpoint| &endpoint.transport) {
            Some(Transport::Rdma(endpoint)) if endpoint.pair().has_unsent() => {
                endpoint.paced_until()
            }
            _ => Time::NEVER,
        }
    }

    /// What a queue pair can do in a round of its NIC.
    pub(crate) fn turn(&self, index: EndpointIndex, now: Time, paused: PrioritySet) -> Turn {
        let endpoint = self.peek(index);
        endpoint.map_or(Turn::Finished, |endpoint| endpoint.turn(now, paused))
    }

    /// As [`Self::get`], read only.
    pub(crate) fn peek(&self, index: EndpointIndex) -> Option<&Endpoint> {
        self.living.get(self.places[index.index()] as usize)
    }

    /// Prefetches a living endpoint.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: EndpointIndex) {
        if let Some(endpoint) = self.peek(index) {
            endpoint.prefetch();
        }
    }

    /// Adds a flow and opens it, with those of its endpoints that are `here`.
    pub(crate) fn open(&mut self, spec: FlowSpec, opening: Opening) {
        let Opening {
            now,
            app,
            seed,
            here,
        } = opening;
        let flow = self.next();
        let rng = |side| {
            let index = u64::from(flow.endpoint(side).0);
            substream(seed, Source::Endpoint, index, Purpose::Transport)
        };
        let mut rngs = Side::BOTH.map(rng);
        let transports = Transport::pair(spec.transport, flow, now, &mut rngs[0]);
        let hosts = [spec.from, spec.to];
        let parts = Side::BOTH.into_iter().zip(transports).zip(rngs);
        for ((side, transport), rng) in parts {
            let place = side as usize;
            if !here[place] {
                self.places.push(ELSEWHERE);
                continue;
            }
            let origin = Origin {
                index: flow.endpoint(side),
                host: hosts[place],
                peer_host: hosts[1 - place],
                framing: spec.framing,
                app,
                rng,
            };
            let mut endpoint = Endpoint::new(transport, origin);
            endpoint.watched = spec.watched && side == Side::Initiator;
            if spec.recorded {
                endpoint.record();
            }
            self.insert(endpoint);
        }
        self.lives.push(Life {
            opened: now,
            results: None,
        });
    }

    fn insert(&mut self, endpoint: Endpoint) {
        if let Some(place) = self.free.pop() {
            self.living[place as usize] = endpoint;
            self.places.push(place);
        } else {
            self.places
                .push(u32::try_from(self.living.len()).expect("fewer than 2^32 endpoints"));
            self.living.push(endpoint);
        }
    }

    /// The endpoint that posts the data of this one: its peer, where those are read by RDMA. One of them may be in another
    /// partition.
    pub(crate) fn poster(&self, index: EndpointIndex) -> EndpointIndex {
        let mut both = [index, index.peer()].into_iter();
        let reads = |endpoint: &Endpoint| endpoint.transport.is_read();
        if both.any(|index| self.peek(index).is_some_and(reads)) {
            index.peer()
        } else {
            index
        }
    }

    // The expectations of applications.

    /// Expects `total` in-order bytes at an endpoint, without the datagrams that were lost. Returns the notice if
    /// it is due already.
    pub(crate) fn expect(&mut self, index: EndpointIndex, total: u64) -> Option<Addressed> {
        let lost = self.shortfall(index);
        self.get(index)?.expect = total - lost;
        self.reach(index)
    }

    /// The application of an endpoint has no more to send: its peer expects no more than was written.
    pub(crate) fn drain(&mut self, index: EndpointIndex) -> Option<Addressed> {
        let (poster, peer) = (self.poster(index), index.peer());
        let written = self.get(poster)?.transport.written();
        let lost = self.shortfall(peer);
        if !self.get(peer)?.expects_more_than(written - lost) {
            return None;
        }
        self.shortfalls.entry(peer).or_default();
        self.expect(peer, written)
    }

    /// A datagram to an endpoint was dropped: it is not sent again, and no longer expected.
    pub(crate) fn lose(&mut self, lost: LostDatagram) -> Option<Addressed> {
        *self.shortfalls.entry(lost.to).or_default() += lost.payload;
        let endpoint = self.get(lost.to)?;
        endpoint.expect = endpoint.expected()? - lost.payload;
        self.reach(lost.to)
    }

    /// The notice for the application of an endpoint that has received all that was expected, or all that ever
    /// will arrive.
    pub(crate) fn arrival(&self, index: EndpointIndex) -> Option<Addressed> {
        let notice = if self.shortfalls.contains_key(&index) {
            Notice::Drained(index)
        } else {
            Notice::Delivered(index)
        };
        let app = self.peek(index)?.app;
        Some(Addressed { app, notice })
    }

    /// Checks whether all that is expected at an endpoint is there.
    fn reach(&mut self, index: EndpointIndex) -> Option<Addressed> {
        let endpoint = self.get(index)?;
        if endpoint.transport.delivered() < endpoint.expect {
            return None;
        }
        endpoint.reach();
        self.arrival(index)
    }

    /// The bytes lost for good on their path to an endpoint.
    fn shortfall(&self, endpoint: EndpointIndex) -> u64 {
        self.shortfalls.get(&endpoint).copied().unwrap_or(0)
    }

    /// The application at the peer of `receiver` has no more to send.
    pub(crate) fn stop(&mut self, receiver: EndpointIndex, at: Time) {
        if let Some(delivered) = self
            .peek(receiver)
            .map(|endpoint| endpoint.transport.delivered())
        {
            self.stopped
                .insert(receiver.flow(), Stopped { at, delivered });
        }
    }

    // The end of a flow.

    /// Forgets the endpoints of a flow and keeps their results.
    pub(crate) fn release(&mut self, flow: FlowIndex, now: Time) {
        if self.lives[flow.index()].results.is_none() {
            self.lives[flow.index()].results = Some(Box::new(self.results(flow, now)));
        }
        for side in Side::BOTH {
            let index = flow.endpoint(side).index();
            if ![GONE, ELSEWHERE].contains(&self.places[index]) {
                self.free.push(self.places[index]);
                self.places[index] = GONE;
            }
        }
    }

    /// Frees the endpoints of a flow after the end of a run, without their results. Unused memory behind the last
    /// endpoint is returned now and then.
    pub(crate) fn free(&mut self, flow: FlowIndex) {
        self.lives[flow.index()].results = None;
        for side in Side::BOTH {
            self.places[flow.endpoint(side).index()] = GONE;
        }
        while let Some(last) = self.living.last()
            && self.places[last.index().index()] as usize != self.living.len() - 1
        {
            self.living.pop();
        }
        let (used, kept) = (self.living.len(), self.living.capacity());
        if kept - used > used / 8 + FEW {
            self.living.shrink_to_fit();
        }
    }

    /// The results of the living endpoints of a flow.
    fn results(&self, flow: FlowIndex, now: Time) -> [EndpointResult; 2] {
        Side::BOTH.map(|side| {
            let index = flow.endpoint(side);
            if self.places[index.index()] == ELSEWHERE {
                return EndpointResult::default();
            }
            let endpoint = self.peek(index).expect("the flow is alive");
            EndpointResult {
                counters: counters(endpoint, now),
                digest: endpoint.digest,
            }
        })
    }

    /// The record of a flow at an instant, with the counters of ports and hosts.
    pub(crate) fn record(&self, flow: FlowIndex, now: Time, account: &FlowAccount) -> FlowRecord {
        let life = &self.lives[flow.index()];
        let results = life.results.as_deref().cloned();
        let [initiator, responder] = results.unwrap_or_else(|| self.results(flow, now));
        FlowRecord {
            from: account.hosts.initiator,
            to: account.hosts.responder,
            opened: life.opened,
            dropped: account.dropped,
            marked: account.marked,
            stray: account.stray,
            cnms: account.cnms,
            stopped: self.stopped.get(&flow).copied(),
            digest: [initiator.digest.value(), responder.digest.value()],
            initiator: initiator.counters,
            responder: responder.counters,
            here: Side::BOTH.map(|side| self.places[flow.endpoint(side).index()] != ELSEWHERE),
        }
    }

    /// Packets of a flow that are at its hosts: waiting for the NIC, in a limiter, or held by interrupt coalescing.
    pub(crate) fn at_hosts<'a>(
        &'a self,
        flow: FlowIndex,
        pool: &'a Pool,
    ) -> impl Iterator<Item = &'a Packet> {
        let endpoints = Side::BOTH.map(|side| self.peek(flow.endpoint(side)));
        let living = endpoints.into_iter().flatten();
        living.flat_map(|endpoint| endpoint.at_host(pool))
    }
}

/// A dropped datagram.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LostDatagram {
    /// The endpoint that it was for.
    pub(crate) to: EndpointIndex,
    /// Application bytes.
    pub(crate) payload: u64,
}

fn counters(endpoint: &Endpoint, now: Time) -> EndpointCounters {
    EndpointCounters {
        packets_sent: endpoint.packets_sent,
        packets_received: endpoint.packets_received,
        payload_sent: endpoint.transport.payload_sent(),
        delivered: endpoint.transport.delivered(),
        refused: endpoint.transport.refused(),
        tcp: endpoint.transport.tcp_stats(),
        udt: endpoint.transport.udt_counters(now),
        queue_pair: endpoint.transport.queue_pair_counters(),
    }
}
