//! An endpoint in the network: a transport endpoint, and its state at its host.

use std::mem::offset_of;

use incastle_congestion::FrameLimiter;
use incastle_queueing::PrioritySet;
use incastle_rdma::Turn;
use incastle_routing::Marks;
use incastle_transport::tcp;
use incastle_units::{Ecn, Time};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::core::{AppIndex, Digest, EndpointIndex, HostIndex};
use crate::flow::{DATA_HEADERS, Framing, Held, RdmaEndpoint, Transport};
use crate::layout::Slot;
use crate::network::{Body, Extras, Identity, Packet, Pool};

/// Bytes of TCP and IP headers without options.
const TCP_HEADERS: u16 = 40;
/// Bytes of UDP and IP headers.
const UDP_HEADERS: u16 = 28;

/// More bytes than any endpoint receives. Above it, `expect` has the number of packets sent at the notice.
const REACHED: u64 = 1 << 63;

/// A packet that leaves its endpoint.
pub(crate) struct Leaving {
    /// Application bytes.
    pub(crate) payload: u16,
    /// Bytes of the headers, IP's included.
    pub(crate) headers: u16,
    pub(crate) ecn: Ecn,
}

/// A rate limiter in a NIC. Its packets stay in their slots.
pub(crate) type Limiter = FrameLimiter<Slot, Xoshiro256PlusPlus>;

/// The endpoint. State that few flows have comes last. Long lists begin sixteen bytes after the beginning of a cache
/// line, and the other fields take ten lines then. Alignment is no alternative: lists of aligned elements grow and
/// shrink by a copy.
#[repr(C)]
pub(crate) struct Endpoint {
    pub(crate) transport: Transport,
    pub(crate) host: HostIndex,
    peer: EndpointIndex,
    peer_host: HostIndex,
    pub(crate) app: AppIndex,
    /// The earliest event of this endpoint in the event queue.
    pub(crate) wake: Time,
    /// The application expects this many in-order bytes; from [`REACHED`] on, it has been notified.
    pub(crate) expect: u64,
    pub(crate) packets_sent: u64,
    pub(crate) packets_received: u64,
    pub(crate) digest: Digest,
    rng: Xoshiro256PlusPlus,
    /// A packet that waits for the host's NIC.
    pub(crate) staged: Option<Slot>,
    framing: Framing,
    pub(crate) watched: bool,
    slow_path: SlowPath,
    /// Its rate limiter in the NIC, from the first notification on.
    limiter: Option<Box<Limiter>>,
    /// Arrivals that interrupt coalescing holds, from the first one on.
    held: Option<Box<Held>>,
}

// Ten cache lines: a flow has two of them, and a large network a million.
const _: () = assert!(size_of::<Endpoint>() <= 640);

/// The reasons for the slow path, a bit each.
#[derive(Debug, Clone, Copy, Default)]
struct SlowPath(u8);

impl SlowPath {
    /// All its events are reported to the probe.
    const RECORDED: u8 = 1;
    /// It has a limiter.
    const LIMITER: u8 = 2;
    /// It is a queue pair, which its NIC asks for packets.
    const QUEUE_PAIR: u8 = 4;

    #[inline(always)]
    const fn any(self, reasons: u8) -> bool {
        self.0 & reasons != 0
    }
}

/// The parameters of a new endpoint.
pub(crate) struct Origin {
    pub(crate) index: EndpointIndex,
    pub(crate) host: HostIndex,
    pub(crate) peer_host: HostIndex,
    pub(crate) framing: Framing,
    pub(crate) app: AppIndex,
    pub(crate) rng: Xoshiro256PlusPlus,
}

impl Endpoint {
    /// Prefetches the fields that every packet reads.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        incastle_memory::prefetch::first_bytes(self, offset_of!(Self, limiter));
    }

    pub(crate) fn new(transport: Transport, origin: Origin) -> Self {
        let slow_path = match transport {
            Transport::Rdma(_) => SlowPath(SlowPath::QUEUE_PAIR),
            Transport::Tcp(_) | Transport::Datagram(_) | Transport::Udt(_) => SlowPath::default(),
        };
        Self {
            transport,
            host: origin.host,
            peer: origin.index.peer(),
            peer_host: origin.peer_host,
            framing: origin.framing,
            wake: Time::NEVER,
            expect: u64::MAX,
            app: origin.app,
            watched: false,
            slow_path,
            packets_sent: 0,
            packets_received: 0,
            digest: Digest::default(),
            rng: origin.rng,
            staged: None,
            limiter: None,
            held: None,
        }
    }

    /// The expected bytes have arrived.
    pub(crate) fn reach(&mut self) {
        self.expect = REACHED + self.packets_sent;
    }

    /// The in-order bytes that the application expects, until it is notified.
    pub(crate) fn expected(&self) -> Option<u64> {
        (self.expect < REACHED).then_some(self.expect)
    }

    /// Whether the application expects more than these bytes, or has set no expectation.
    pub(crate) fn expects_more_than(&self, bytes: u64) -> bool {
        self.expect == u64::MAX || self.expected().is_some_and(|expected| expected > bytes)
    }

    /// Whether the peer may have the acknowledgement of all expected bytes: a packet has left since they arrived.
    pub(crate) fn may_have_acknowledged(&self) -> bool {
        if self.expect == u64::MAX && self.transport.is_read() {
            // The responder of a READ does not learn when the data have arrived.
            return self.packets_sent > 0;
        }
        let left = self.packets_sent - u64::from(self.staged.is_some());
        self.expect != u64::MAX && self.expect >= REACHED && self.expect - REACHED < left
    }

    /// Its index.
    pub(crate) fn index(&self) -> EndpointIndex {
        self.peer.peer()
    }

    /// The host of its peer.
    pub(crate) fn peer_host(&self) -> HostIndex {
        self.peer_host
    }

    /// Receives a packet. On the path of every packet: a TCP segment without reports is handled in place.
    #[inline(always)]
    pub(crate) fn receive_in_place(&mut self, now: Time, packet: &Packet, extras: &mut Extras) {
        if let Transport::Tcp(connection) = &mut self.transport
            && let Body::Segment { segment, .. } = &packet.body
            && segment.sacks == 0
        {
            let arrival = tcp::Arrival {
                segment,
                ecn: packet.marks.ecn(),
                sacks: &[],
                batch: tcp::Batch::Last,
            };
            connection.handle(now, &arrival, &mut self.rng);
            self.note_arrival(now, packet);
        } else {
            self.receive(now, packet, extras, tcp::Batch::Last);
        }
    }

    /// Receives a packet.
    #[inline(never)]
    pub(crate) fn receive(
        &mut self,
        now: Time,
        packet: &Packet,
        extras: &mut Extras,
        batch: tcp::Batch,
    ) {
        self.note_arrival(now, packet);
        match (&mut self.transport, &packet.body) {
            (Transport::Tcp(connection), Body::Segment { segment, sacks }) => {
                let blocks = (segment.sacks > 0).then(|| extras.sacks.take(*sacks));
                let blocks = blocks.as_ref().map_or(&[][..], |blocks| &blocks[..]);
                let arrival = tcp::Arrival {
                    segment,
                    ecn: packet.marks.ecn(),
                    sacks: &blocks[..usize::from(segment.sacks)],
                    batch,
                };
                connection.handle(now, &arrival, &mut self.rng);
            }
            (Transport::Udt(endpoint), _) => endpoint.receive(now, packet, extras, &mut self.rng),
            (Transport::Datagram(endpoint), Body::Datagram(datagram)) => endpoint.handle(datagram),
            (Transport::Rdma(endpoint), _) => {
                endpoint.receive(now, packet, extras, &mut self.rng);
            }
            _ => unreachable!("both endpoints of a flow have the same transport"),
        }
    }

    /// As [`Self::receive`], for a queue pair; returns the bytes delivered before and after.
    #[inline(always)]
    pub(crate) fn receive_as_pair(
        &mut self,
        now: Time,
        packet: &Packet,
        extras: &mut Extras,
    ) -> [u64; 2] {
        self.note_arrival(now, packet);
        let Transport::Rdma(endpoint) = &mut self.transport else {
            unreachable!("it is a queue pair");
        };
        let before = endpoint.pair().delivered();
        endpoint.receive(now, packet, extras, &mut self.rng);
        [before, endpoint.pair().delivered()]
    }

    #[inline(always)]
    fn note_arrival(&mut self, now: Time, packet: &Packet) {
        self.packets_received += 1;
        let Identity { head, body } = packet.identity();
        self.digest.mix(now.as_ps() ^ body.rotate_left(29), head);
    }

    /// As [`Self::poll_transmit_in_place`].
    #[inline(never)]
    pub(crate) fn poll_transmit(
        &mut self,
        now: Time,
        extras: &mut Extras,
        out: &mut Packet,
    ) -> bool {
        self.poll_transmit_in_place(now, extras, out)
    }

    /// Writes the next packet to send to `out`; returns whether there was one.
    #[inline(always)]
    pub(crate) fn poll_transmit_in_place(
        &mut self,
        now: Time,
        extras: &mut Extras,
        out: &mut Packet,
    ) -> bool {
        let leaving = if let Transport::Tcp(connection) = &mut self.transport {
            let (segment, sacks) = out.body.as_segment();
            let Some(departure) = connection.poll_transmit_into(now, &mut self.rng, segment) else {
                return false;
            };
            if segment.sacks > 0 {
                *sacks = extras.store_sacks(connection.sacks());
            }
            Leaving {
                payload: segment.payload,
                headers: TCP_HEADERS,
                ecn: departure.ecn,
            }
        } else {
            let Some(leaving) = self.poll_otherwise(now, extras, out) else {
                return false;
            };
            leaving
        };
        self.address(&leaving, out);
        true
    }

    /// Fills in the fields of a packet that its transport does not know.
    #[inline(always)]
    fn address(&mut self, leaving: &Leaving, out: &mut Packet) {
        out.to = self.peer;
        out.host = self.peer_host;
        out.size = self.framing.wire_bytes(leaving.payload + leaving.headers);
        out.marks = Marks::of(leaving.ecn);
        out.class = self.framing.class;
        self.packets_sent += 1;
    }

    #[inline(never)]
    fn poll_otherwise(
        &mut self,
        now: Time,
        extras: &mut Extras,
        out: &mut Packet,
    ) -> Option<Leaving> {
        match &mut self.transport {
            Transport::Tcp(_) => unreachable!("TCP is matched before"),
            Transport::Datagram(endpoint) => {
                let datagram = endpoint.poll_transmit(now)?;
                out.body = Body::Datagram(datagram);
                Some(Leaving {
                    payload: datagram.payload as u16,
                    headers: UDP_HEADERS,
                    ecn: Ecn::NotEct,
                })
            }
            Transport::Udt(endpoint) => endpoint.poll_transmit(now, &mut self.rng, extras, out),
            Transport::Rdma(endpoint) => endpoint.poll_data(now, &mut self.rng, extras, out),
        }
    }

    /// As [`Self::poll_transmit`], for a queue pair.
    #[inline(always)]
    pub(crate) fn poll_data(&mut self, now: Time, extras: &mut Extras, out: &mut Packet) -> bool {
        let Transport::Rdma(endpoint) = &mut self.transport else {
            return false;
        };
        let Some(leaving) = endpoint.poll_data(now, &mut self.rng, extras, out) else {
            return false;
        };
        self.address(&leaving, out);
        true
    }

    /// Whether a queue pair may have a control packet to send.
    #[inline]
    pub(crate) fn owes_control(&self) -> bool {
        matches!(&self.transport, Transport::Rdma(endpoint) if endpoint.pair().owes_control())
    }

    /// Writes the next control packet of a queue pair to `out`; returns whether there was one.
    #[inline(always)]
    pub(crate) fn poll_control(&mut self, out: &mut Packet) -> bool {
        let Transport::Rdma(endpoint) = &mut self.transport else {
            return false;
        };
        let Some(leaving) = endpoint.poll_control(out) else {
            return false;
        };
        let class = out.class;
        self.address(&leaving, out);
        out.class = class;
        true
    }

    /// Its queue pair, if it is one.
    pub(crate) fn queue_pair(&mut self) -> Option<&mut RdmaEndpoint> {
        match &mut self.transport {
            Transport::Rdma(endpoint) => Some(endpoint),
            _ => None,
        }
    }

    /// The state of its queue pair for the NIC's round robin.
    pub(crate) fn turn(&self, now: Time, paused: PrioritySet) -> Turn {
        let Transport::Rdma(endpoint) = &self.transport else {
            return Turn::Finished;
        };
        match endpoint.pair().turn(now) {
            Turn::Finished => Turn::Finished,
            _ if paused.bits() >> self.framing.class & 1 == 1 => Turn::Blocked,
            turn => turn,
        }
    }

    /// Whether its arrivals take the slow path.
    #[inline(always)]
    pub(crate) fn receives_on_slow_path(&self) -> bool {
        self.slow_path
            .any(SlowPath::RECORDED | SlowPath::QUEUE_PAIR)
    }

    /// Whether it is a queue pair that is not recorded.
    pub(crate) fn is_unrecorded_pair(&self) -> bool {
        self.slow_path.any(SlowPath::QUEUE_PAIR) && !self.is_recorded()
    }

    /// Whether its packets take the slow path.
    #[inline(always)]
    pub(crate) fn sends_on_slow_path(&self) -> bool {
        self.slow_path
            .any(SlowPath::LIMITER | SlowPath::RECORDED | SlowPath::QUEUE_PAIR)
    }

    /// Reports all its events to the probe from now on.
    pub(crate) fn record(&mut self) {
        self.slow_path.0 |= SlowPath::RECORDED;
    }

    pub(crate) fn is_recorded(&self) -> bool {
        self.slow_path.any(SlowPath::RECORDED)
    }

    /// Its limiter, if it has one.
    pub(crate) fn limiter(&mut self) -> Option<&mut Limiter> {
        self.limiter.as_deref_mut()
    }

    /// Its limiter, created where there is none.
    pub(crate) fn limiter_or(&mut self, make: impl FnOnce() -> Limiter) -> &mut Limiter {
        self.slow_path.0 |= SlowPath::LIMITER;
        self.limiter.get_or_insert_with(|| Box::new(make()))
    }

    /// Whether its frames pass through a limiter.
    pub(crate) fn is_limited(&self) -> bool {
        self.limiter
            .as_ref()
            .is_some_and(|limiter| limiter.is_active())
    }

    /// Moves the next packet into the limiter, if that has room; returns its slot.
    pub(crate) fn fill_limiter(
        &mut self,
        now: Time,
        extras: &mut Extras,
        pool: &mut Pool,
    ) -> Option<Slot> {
        if !self.limiter_has_room() {
            self.hold_back();
            return None;
        }
        let slot = pool.reserve();
        let packet = &mut pool.at_mut(slot).packet;
        if !self.poll_transmit(now, extras, packet) {
            pool.free(slot);
            return None;
        }
        self.limiter.as_mut()?.push(packet.size(), slot);
        Some(slot)
    }

    fn limiter_has_room(&self) -> bool {
        self.limiter
            .as_ref()
            .is_some_and(|limiter| limiter.has_room())
    }

    /// Stages a packet until the NIC dequeues it.
    pub(crate) fn stage(&mut self, packet: Slot) {
        assert!(self.staged.is_none(), "an endpoint stages one packet");
        self.staged = Some(packet);
        self.hold_back();
    }

    /// The NIC is full: it limits the sender, not the window.
    fn hold_back(&mut self) {
        if let Transport::Tcp(connection) = &mut self.transport {
            connection.hold_back();
        }
    }

    /// Takes the slots of the packets that wait for the NIC or in the limiter.
    pub(crate) fn take_waiting(&mut self) -> impl Iterator<Item = Slot> {
        let limited = self.limiter.iter_mut().flat_map(|limiter| limiter.drain());
        self.staged.take().into_iter().chain(limited)
    }

    /// Packets of this endpoint that are at its host.
    pub(crate) fn at_host<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Packet> {
        let limited = self.limiter.iter().flat_map(|limiter| limiter.held());
        let slots = self.staged.iter().chain(limited);
        (self.held().iter()).chain(slots.map(|slot| &pool.at(*slot).packet))
    }

    /// The instant of `poll_timeout` has come.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.digest.mix(now.as_ps(), u64::MAX);
        match &mut self.transport {
            Transport::Tcp(connection) => connection.handle_timeout(now, &mut self.rng),
            Transport::Datagram(_) => {}
            Transport::Udt(endpoint) => endpoint.handle_timeout(now, &mut self.rng),
            Transport::Rdma(endpoint) => endpoint.handle_timeout(now, &mut self.rng),
        }
        if let Some(limiter) = &mut self.limiter {
            limiter.handle_timeout(now);
        }
    }

    #[inline(always)]
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let transport = match &self.transport {
            Transport::Tcp(connection) => connection.poll_timeout(),
            _ => self.other_timeout(),
        };
        let Some(limiter) = &self.limiter else {
            return transport;
        };
        // A staged frame waits for the NIC, not for the limiter.
        let release = limiter.next_release().filter(|_| self.staged.is_none());
        let timers = [transport, limiter.next_timer(), release];
        timers.into_iter().flatten().min()
    }

    #[inline(never)]
    fn other_timeout(&self) -> Option<Time> {
        let endpoint = match &self.transport {
            Transport::Udt(endpoint) => endpoint,
            Transport::Rdma(endpoint) => return endpoint.pair().poll_timeout(),
            Transport::Tcp(_) | Transport::Datagram(_) => return None,
        };
        // It sends nothing until the waiting packet has left: its deadlines may pass, and are checked then.
        let limited = self.is_limited() && !self.limiter_has_room();
        if self.staged.is_some() || limited {
            return None;
        }
        endpoint.poll_timeout()
    }

    /// As [`Self::poll_timeout`], for a queue pair.
    #[inline]
    pub(crate) fn pair_timeout(&self) -> Option<Time> {
        match &self.transport {
            Transport::Rdma(endpoint) if self.limiter.is_none() => endpoint.pair().poll_timeout(),
            _ => self.poll_timeout(),
        }
    }

    // Interrupt coalescing.

    fn held(&self) -> &[Packet] {
        self.held.as_deref().map_or(&[], Held::packets)
    }

    /// Whether the host holds no arrivals.
    pub(crate) fn holds_nothing(&self) -> bool {
        self.held().is_empty()
    }

    /// The arrivals that the host holds.
    pub(crate) fn held_arrivals(&mut self) -> &mut Held {
        self.held.get_or_insert_default()
    }

    /// Receives the held packets one by one, as one batch.
    pub(crate) fn receive_batch(&mut self, now: Time, extras: &mut Extras) {
        let Some(mut held) = self.held.take() else {
            return;
        };
        held.drain(|packet, batch| self.receive(now, packet, extras, batch));
        self.held = Some(held);
    }
}

/// IP bytes of a packet: payload and headers, without the link layer.
#[inline]
pub(crate) fn ip_bytes(packet: &Packet) -> u16 {
    match &packet.body {
        Body::Segment { segment, .. } => segment.payload + TCP_HEADERS,
        Body::Rdma { ip_bytes, .. } => *ip_bytes,
        _ => other_ip_bytes(packet),
    }
}

#[inline(never)]
fn other_ip_bytes(packet: &Packet) -> u16 {
    match &packet.body {
        Body::Segment { .. } | Body::Rdma { .. } => unreachable!("they are matched before"),
        Body::Datagram(datagram) => datagram.payload as u16 + UDP_HEADERS,
        Body::UdtData { header, .. } => header.length + DATA_HEADERS,
        Body::UdtControl { ip_bytes, .. } => *ip_bytes,
        Body::Cnm { .. } | Body::Pause(_) => 0,
    }
}
