//! Connections of the kernel's TCP: its sockets, watched by epoll, and their state by TCP_INFO.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::os::fd::{AsFd, OwnedFd};

use incastle_units::{Bytes, Span, Time};
use rustix::event::epoll;
use rustix::net::sockopt::set_tcp_congestion;

use crate::address;
use crate::clock::Clock;
use crate::endpoint::connections::{Endpoints, Happened, State, Totals};
use crate::endpoint::flow::{Flow, PIECE, PORT};
use crate::endpoint::plan::{Data, ExperimentPlan};
use crate::endpoint::tcp_info::{Diagnostics, TcpInfo};
use crate::namespace::Namespace;
use crate::wait::{NO_EVENT, readable, ready_now};

/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// The kernel's infinite slow-start threshold (TCP_INFINITE_SSTHRESH).
const INFINITE: u32 = 0x7FFF_FFFF;

/// The sockets that epoll watches.
#[derive(Debug, Clone, Copy)]
enum Source {
    Listener(usize),
    Sender(usize),
    Receiver(usize),
}

impl Source {
    const fn data(self) -> epoll::EventData {
        let (kind, number) = match self {
            Self::Listener(number) => (0, number),
            Self::Sender(number) => (1, number),
            Self::Receiver(number) => (2, number),
        };
        epoll::EventData::new_u64((number as u64) << 2 | kind)
    }

    fn of(data: epoll::EventData) -> Self {
        let number = (data.u64() >> 2) as usize;
        match data.u64() & 3 {
            0 => Self::Listener(number),
            1 => Self::Sender(number),
            _ => Self::Receiver(number),
        }
    }
}

/// A connection and its parameters.
#[derive(Debug)]
struct Connection {
    flow: Flow,
    congestion: String,
    /// The number of its sender's host.
    from: usize,
    own: SocketAddrV4,
    to: SocketAddrV4,
    /// Its sender waits for requests.
    is_asked: bool,
}

/// All connections of an experiment.
#[derive(Debug)]
pub struct KernelTcp {
    connections: Vec<Connection>,
    listeners: Vec<TcpListener>,
    diagnostics: Vec<Diagnostics>,
    by_address: HashMap<(u32, u16), usize>,
    ready: OwnedFd,
    room: Vec<u8>,
    dilation: u64,
}

impl KernelTcp {
    /// Makes every socket; connects none. The plan must have passed its check.
    pub(crate) fn prepare(plan: &ExperimentPlan, places: &[Namespace]) -> io::Result<Self> {
        let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let hosts = plan.ends();
        let mut listeners = Vec::new();
        for (host, place) in places.iter().enumerate() {
            let listener = place.within(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)))?;
            listener.set_nonblocking(true)?;
            // Receivers have the control of their sender, whose echo it is. Here for the handshake, and for
            // each connection in `accept`.
            let mut to_this = plan.flows.iter().zip(&hosts);
            if let Some((flow, _)) = to_this.find(|(_, of)| of.1 == host) {
                set_tcp_congestion(&listener, &flow.congestion)?;
            }
            // The library's backlog of 128 is too short for many connections at once.
            rustix::net::listen(&listener, 4_096)?;
            let data = Source::Listener(host).data();
            epoll::add(&ready, &listener, data, epoll::EventFlags::IN)?;
            listeners.push(listener);
        }
        let (mut connections, mut by_address) = (Vec::new(), HashMap::new());
        for (flow, &(from, to)) in plan.flows.iter().zip(&hosts) {
            let (made, own) = Flow::prepare(&places[from], address::of(from), &flow.congestion)?;
            by_address.insert(key(own), connections.len());
            connections.push(Connection {
                flow: made,
                congestion: flow.congestion.clone(),
                from,
                own,
                to: SocketAddrV4::new(address::of(to), PORT),
                is_asked: flow.data == Data::Responses,
            });
        }
        Ok(Self {
            connections,
            listeners,
            diagnostics: (0..)
                .zip(places)
                .map(|(host, place)| open_diagnostics(place, host))
                .collect::<io::Result<_>>()?,
            by_address,
            ready,
            room: vec![0; PIECE],
            dilation: plan.network.dilation,
        })
    }

    /// Watches what a sender waits for: requests, and room for data that it has.
    fn watch_sender(&self, number: usize, is_new: bool) -> io::Result<()> {
        let one = &self.connections[number];
        let mut flags = epoll::EventFlags::empty();
        flags.set(epoll::EventFlags::IN, one.is_asked);
        flags.set(epoll::EventFlags::OUT, one.flow.has_data());
        let (sender, data) = (one.flow.sender(), Source::Sender(number).data());
        if is_new {
            epoll::add(&self.ready, sender, data, flags)?;
        } else {
            epoll::modify(&self.ready, sender, data, flags)?;
        }
        Ok(())
    }

    fn accept(&mut self, host: usize, out: &mut Vec<Happened>) -> io::Result<()> {
        loop {
            let (socket, peer) = match self.listeners[host].accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let SocketAddr::V4(peer) = peer else { continue };
            let Some(&flow) = self.by_address.get(&key(peer)) else {
                continue;
            };
            set_tcp_congestion(&socket, &self.connections[flow].congestion)?;
            let data = Source::Receiver(flow).data();
            epoll::add(&self.ready, &socket, data, epoll::EventFlags::IN)?;
            self.connections[flow].flow.accepted(socket)?;
            out.push(Happened::Opened(flow));
        }
    }

    fn serve_sender(&mut self, number: usize, out: &mut Vec<Happened>) -> io::Result<()> {
        let one = &mut self.connections[number];
        if one.is_asked {
            let bytes = one.flow.read_requests(&mut self.room)?;
            if bytes > 0 {
                out.push(Happened::Requested(number, bytes));
            }
        }
        one.flow.write()?;
        self.watch_sender(number, false)
    }

    fn serve_receiver(&mut self, number: usize, out: &mut Vec<Happened>) -> io::Result<()> {
        let count = self.connections[number].flow.read(&mut self.room)?;
        if count > 0 {
            out.push(Happened::Received(number, count));
        }
        Ok(())
    }

    /// Hands over the state of each connection that is there.
    fn each_info(&mut self, mut take: impl FnMut(usize, TcpInfo)) -> io::Result<()> {
        for (number, one) in self.connections.iter().enumerate() {
            if !one.flow.is_open() {
                continue;
            }
            if let Some(info) = self.diagnostics[one.from].of(one.own, one.to)? {
                take(number, info);
            }
        }
        Ok(())
    }
}

/// Opens the diagnostics of a host, and makes sure that the kernel has them: of a listener as of a connection.
fn open_diagnostics(place: &Namespace, host: usize) -> io::Result<Diagnostics> {
    let mut found = Diagnostics::open(place)?;
    let listener = SocketAddrV4::new(address::of(host), PORT);
    let nobody = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
    match found.of(listener, nobody)? {
        Some(_) => Ok(found),
        None => Err(io::Error::other(
            "this kernel has no socket diagnostics of TCP (the module tcp_diag)",
        )),
    }
}

fn key(address: SocketAddrV4) -> (u32, u16) {
    (u32::from(*address.ip()), address.port())
}

impl Endpoints for KernelTcp {
    fn by_address(&self) -> &HashMap<(u32, u16), usize> {
        &self.by_address
    }

    fn open(&mut self, flow: usize) -> io::Result<()> {
        let one = &mut self.connections[flow];
        one.flow.connect(one.to)?;
        self.watch_sender(flow, true)
    }

    /// Before the connection is open, the bytes wait for it.
    fn send(&mut self, flow: usize, bytes: u64) -> io::Result<()> {
        let one = &mut self.connections[flow];
        one.flow.send(bytes);
        if one.flow.is_open() {
            one.flow.write()?;
            self.watch_sender(flow, false)?;
        }
        Ok(())
    }

    fn stop(&mut self, flow: usize) -> io::Result<()> {
        self.connections[flow].flow.stop();
        self.watch_sender(flow, false)
    }

    fn request(&mut self, flow: usize, bytes: u64) -> io::Result<()> {
        let bytes = usize::try_from(bytes).expect("a checked plan");
        self.connections[flow].flow.request(bytes)
    }

    fn wait(&mut self, clock: &Clock, until: Time, out: &mut Vec<Happened>) -> io::Result<()> {
        readable(clock, &[self.ready.as_fd()], Some(until))?;
        let mut events = [NO_EVENT; EVENTS];
        for event in ready_now(&self.ready, &mut events)? {
            match Source::of(event.data) {
                Source::Listener(host) => self.accept(host, out)?,
                Source::Sender(flow) => self.serve_sender(flow, out)?,
                Source::Receiver(flow) => self.serve_receiver(flow, out)?,
            }
        }
        Ok(())
    }

    fn states(&mut self, take: &mut dyn FnMut(usize, State)) -> io::Result<()> {
        let dilation = self.dilation;
        self.each_info(|flow, info| {
            let segments = |count: u32| Bytes::new(u64::from(count) * u64::from(info.mss));
            let rtt = Span::from_us(u64::from(info.rtt_us)) / dilation;
            let state = State {
                cwnd: Some(segments(info.cwnd)),
                ssthresh: (info.ssthresh < INFINITE).then(|| segments(info.ssthresh)),
                alpha: None,
                rtt: (info.rtt_us > 0).then_some(rtt),
            };
            take(flow, state);
        })
    }

    fn totals(&mut self) -> io::Result<Vec<Totals>> {
        let mut found = vec![Totals::default(); self.connections.len()];
        self.each_info(|flow, info| {
            found[flow] = Totals {
                sent_bytes: info.bytes_sent,
                packets: info.data_segments.into(),
                retransmissions: info.retransmissions.into(),
                timeouts: info.timeouts.into(),
                delivered: info.delivered.into(),
                delivered_ce: info.delivered_ce.into(),
                ecn_reductions: None,
            };
        })?;
        Ok(found)
    }
}
