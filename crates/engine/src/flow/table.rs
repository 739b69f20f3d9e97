//! The flows of a run: the endpoints that are alive, in one array, and the accounts of all.

use std::collections::BTreeMap;
use std::sync::Arc;

use incastle_congestion::ControlState;
use incastle_transport::{datagram, tcp, udt};
use incastle_units::{Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::core::{
    AppIndex, Digest, EndpointIndex, FlowIndex, HostIndex, Purpose, Side, Source, substream,
};
use crate::flow::{
    Endpoint, FlowSpec, Origin, Pair, Transport, TransportSpec, UdtCounters, UdtEnd,
};
use crate::network::{Packet, Pool};
use crate::probe::Observation;

/// An endpoint that has been released.
const GONE: u32 = u32::MAX;
/// An endpoint in another partition.
const ELSEWHERE: u32 = GONE - 1;
/// So many free endpoints are not worth giving back.
const FEW: usize = 1024;

/// What one endpoint has counted.
#[derive(Debug, Clone, Default)]
pub struct EndpointCounters {
    /// Packets sent, of every kind.
    pub packets_sent: u64,
    /// Packets received, of every kind.
    pub packets_received: u64,
    /// Application bytes sent, retransmissions included.
    pub payload_sent: u64,
    /// In-order bytes handed to the application.
    pub delivered: u64,
    /// What a full send buffer refused; zero for TCP.
    pub refused: datagram::Refused,
    /// TCP's own statistics; zero for everything else.
    pub tcp: tcp::Stats,
    /// UDT's, of its flows alone.
    pub udt: Option<Box<UdtCounters>>,
}

/// The accounts of one flow.
#[derive(Debug, Clone)]
pub struct FlowRecord {
    /// The host of its near endpoint.
    pub from: HostIndex,
    /// The host of its far endpoint.
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
    /// When its application had no more to send, if it said so ([`crate::flow::Actions::drain`]), and the in-order
    /// bytes that the other endpoint had by then.
    pub stopped: Option<(Time, u64)>,
    /// The near endpoint.
    pub near: EndpointCounters,
    /// The far endpoint.
    pub far: EndpointCounters,
    /// The hash of all that happened at its endpoints, once it is released.
    pub(crate) digest: [u64; 2],
    /// Which of its endpoints are in this part of the network.
    here: [bool; 2],
}

impl FlowRecord {
    /// Together with what another partition knows.
    pub(crate) fn with(self, other: Self) -> Self {
        let (near, near_digest) = if self.here[0] {
            (self.near, self.digest[0])
        } else {
            (other.near, other.digest[0])
        };
        let (far, far_digest) = if self.here[1] {
            (self.far, self.digest[1])
        } else {
            (other.far, other.digest[1])
        };
        Self {
            dropped: self.dropped + other.dropped,
            marked: self.marked + other.marked,
            stray: self.stray + other.stray,
            cnms: self.cnms + other.cnms,
            stopped: self.stopped.or(other.stopped),
            near,
            far,
            digest: [near_digest, far_digest],
            here: [0, 1].map(|side| self.here[side] || other.here[side]),
            ..self
        }
    }
}

/// What is counted of a flow while its endpoints are alive, without what they count; a cache line.
pub(crate) struct FlowAccount {
    pub(crate) from: HostIndex,
    pub(crate) to: HostIndex,
    opened: Time,
    pub(crate) dropped: u64,
    pub(crate) marked: u64,
    pub(crate) stray: u64,
    pub(crate) cnms: u64,
    pub(crate) recorded: bool,
    /// The counters and hashes of its endpoints, once it is released: near, far.
    ended: Option<Box<[(EndpointCounters, Digest); 2]>>,
}

/// How a flow is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    pub(crate) now: Time,
    /// The application that opens it.
    pub(crate) app: AppIndex,
    /// The seed of the run.
    pub(crate) seed: u64,
    /// Which of its endpoints are in this partition: near, far.
    pub(crate) here: [bool; 2],
}

/// All flows.
#[derive(Default)]
pub(crate) struct Flows {
    /// By endpoint: its place among the living.
    places: Vec<u32>,
    living: Vec<Endpoint>,
    free: Vec<u32>,
    pub(crate) accounts: Vec<FlowAccount>,
    /// Those that were stopped: see [`FlowRecord::stopped`].
    stopped: BTreeMap<FlowIndex, (Time, u64)>,
}

impl Flows {
    pub(crate) fn next(&self) -> u32 {
        u32::try_from(self.accounts.len()).expect("fewer than 2^31 flows")
    }

    /// Bytes of the lists of flows and of their living endpoints: as many again where they have to grow.
    pub(crate) fn room(&self) -> usize {
        self.places.capacity() * size_of::<u32>()
            + self.living.capacity() * size_of::<Endpoint>()
            + self.accounts.capacity() * size_of::<FlowAccount>()
    }

    /// The living endpoint of that index.
    #[inline]
    pub(crate) fn get(&mut self, index: EndpointIndex) -> Option<&mut Endpoint> {
        // The place of a released endpoint, or of one elsewhere, lies outside of every array.
        self.living.get_mut(self.places[index.index()] as usize)
    }

    /// As [`Self::get`], only to look at it.
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
    pub(crate) fn open(
        &mut self,
        spec: FlowSpec,
        Opening {
            now,
            app,
            seed,
            here,
        }: Opening,
    ) {
        let flow = FlowIndex(self.next());
        let rng = |side| {
            let index = u64::from(flow.endpoint(side).0);
            substream(seed, Source::Endpoint, index, Purpose::Transport)
        };
        let mut near_rng = rng(Side::Near);
        let (near, far) = transports(spec.transport, flow, now, &mut near_rng);
        let hosts = [spec.from, spec.to];
        let ends = [
            (Side::Near, near, near_rng),
            (Side::Far, far, rng(Side::Far)),
        ];
        for (side, transport, rng) in ends {
            let index = flow.endpoint(side);
            let place = side as usize;
            if !here[place] {
                self.places.push(ELSEWHERE);
                continue;
            }
            let origin = Origin {
                index,
                host: hosts[place],
                peer_host: hosts[1 - place],
                framing: spec.framing,
                app,
                rng,
            };
            let mut endpoint = Endpoint::new(transport, origin);
            endpoint.watched = spec.watched && side == Side::Near;
            if spec.recorded {
                endpoint.record();
            }
            self.insert(endpoint);
        }
        self.accounts.push(FlowAccount {
            from: spec.from,
            to: spec.to,
            opened: now,
            dropped: 0,
            marked: 0,
            stray: 0,
            cnms: 0,
            recorded: spec.recorded,
            ended: None,
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

    /// The application at the other endpoint of `receiver` has no more to send.
    pub(crate) fn stop(&mut self, receiver: EndpointIndex, now: Time) {
        if let Some(delivered) = self.peek(receiver).map(Endpoint::delivered) {
            self.stopped.insert(receiver.flow(), (now, delivered));
        }
    }

    /// Forgets the endpoints of a flow and keeps their counters.
    pub(crate) fn release(&mut self, flow: FlowIndex, now: Time) {
        if self.accounts[flow.index()].ended.is_none() {
            self.accounts[flow.index()].ended = Some(Box::new(self.ends(flow, now)));
        }
        for side in [Side::Near, Side::Far] {
            let index = flow.endpoint(side).index();
            if ![GONE, ELSEWHERE].contains(&self.places[index]) {
                self.free.push(self.places[index]);
                self.places[index] = GONE;
            }
        }
    }

    /// Frees the endpoints of a flow after the end of a run, without their counters. What lies at the end of the
    /// array is given back now and then.
    pub(crate) fn free(&mut self, flow: FlowIndex) {
        self.accounts[flow.index()].ended = None;
        for side in [Side::Near, Side::Far] {
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

    /// The counters and hashes of the living endpoints of a flow; nothing of an endpoint elsewhere.
    fn ends(&self, flow: FlowIndex, now: Time) -> [(EndpointCounters, Digest); 2] {
        [Side::Near, Side::Far].map(|side| {
            let end = flow.endpoint(side);
            if self.places[end.index()] == ELSEWHERE {
                return (EndpointCounters::default(), Digest::default());
            }
            let end = self.peek(end).expect("the flow is alive");
            (counters(end, now), end.digest)
        })
    }

    /// The accounts of a flow as they stand.
    pub(crate) fn record(&self, flow: FlowIndex, now: Time) -> FlowRecord {
        let account = &self.accounts[flow.index()];
        let ended = account.ended.as_deref().cloned();
        let [(near, of_near), (far, of_far)] = ended.unwrap_or_else(|| self.ends(flow, now));
        FlowRecord {
            from: account.from,
            to: account.to,
            opened: account.opened,
            dropped: account.dropped,
            marked: account.marked,
            stray: account.stray,
            cnms: account.cnms,
            stopped: self.stopped.get(&flow).copied(),
            near,
            far,
            digest: [of_near.value(), of_far.value()],
            here: [Side::Near, Side::Far]
                .map(|side| self.places[flow.endpoint(side).index()] != ELSEWHERE),
        }
    }

    /// Packets of a flow that are at its hosts: waiting for the NIC, in a limiter, or held back by
    /// coalescing.
    pub(crate) fn at_hosts<'a>(
        &'a self,
        flow: FlowIndex,
        pool: &'a Pool,
    ) -> impl Iterator<Item = &'a Packet> {
        [Side::Near, Side::Far].into_iter().flat_map(move |side| {
            let place = self.places[flow.endpoint(side).index()] as usize;
            let endpoint = self.living.get(place);
            endpoint.into_iter().flat_map(|end| end.at_host(pool))
        })
    }
}

/// The two ends of a new flow.
fn transports(
    spec: TransportSpec,
    flow: FlowIndex,
    now: Time,
    rng: &mut Xoshiro256PlusPlus,
) -> (Transport, Transport) {
    match spec {
        TransportSpec::Tcp {
            config,
            controllers,
        } => {
            let [near, far] = *controllers;
            let shared = Arc::clone(&config);
            let mut active = tcp::Connection::sharing(shared, near, tcp::Role::Active);
            active.open(now);
            let passive = tcp::Connection::sharing(config, far, tcp::Role::Passive);
            (Transport::Tcp(active), Transport::Tcp(passive))
        }
        TransportSpec::Datagram { send_buffer } => (
            Transport::Datagram(datagram::Endpoint::new(send_buffer)),
            Transport::Datagram(datagram::Endpoint::new(send_buffer)),
        ),
        TransportSpec::Udt {
            config,
            controllers,
            start,
            send_buffer,
        } => {
            let pair = Pair {
                config: &config,
                start,
                send_buffer,
                near: flow.endpoint(Side::Near),
            };
            let [near, far] = UdtEnd::pair(&pair, *controllers, now, rng);
            (
                Transport::Udt(Box::new(near)),
                Transport::Udt(Box::new(far)),
            )
        }
    }
}

fn counters(endpoint: &Endpoint, now: Time) -> EndpointCounters {
    EndpointCounters {
        packets_sent: endpoint.packets_sent,
        packets_received: endpoint.packets_received,
        payload_sent: endpoint.payload_sent(),
        delivered: endpoint.delivered(),
        refused: endpoint.refused(),
        tcp: endpoint.tcp_stats(),
        udt: endpoint.udt_counters(now),
    }
}

/// What the record wants to know of an endpoint.
pub(crate) fn observation(endpoint: &Endpoint) -> Observation {
    let seen = Observation {
        delivered: endpoint.delivered(),
        retransmissions: endpoint.retransmissions(),
        control: control_state(endpoint).map_or_else(ControlState::default, |(state, _)| state),
        ..Observation::default()
    };
    match &endpoint.transport {
        Transport::Tcp(connection) => Observation {
            written: connection.written(),
            duplicate_acks: connection.stats().duplicate_acks,
            fast_retransmits: connection.stats().fast_retransmits,
            phase: Some(connection.phase()),
            pacing: connection.pacing(),
            ..seen
        },
        Transport::Datagram(_) => seen,
        Transport::Udt(end) => {
            let stats = end.connection().map(udt::Connection::stats);
            Observation {
                written: end.written(),
                expiries: stats.map_or(0, |stats| stats.timeouts),
                naks: stats.map_or(0, |stats| stats.naks_received),
                ..seen
            }
        }
    }
}

/// The control state of an endpoint, where it has one.
pub(crate) fn control_state(endpoint: &Endpoint) -> Option<(ControlState, Option<Span>)> {
    match &endpoint.transport {
        Transport::Tcp(connection) => Some((connection.control_state(), connection.smoothed_rtt())),
        Transport::Datagram(_) => None,
        Transport::Udt(end) => {
            let connection = end.connection()?;
            Some((connection.control_state(), Some(connection.smoothed_rtt())))
        }
    }
}
