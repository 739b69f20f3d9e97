//! The loop that opens connections, writes, reads and samples, until the end of the experiment.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};

use incastle_units::{Span, Time};
use rustix::event::epoll;
use rustix::net::sockopt::set_tcp_congestion;

use crate::address;
use crate::clock::Clock;
use crate::endpoint::flow::{Flow, PIECE, PORT};
use crate::endpoint::plan::{Data, ExperimentPlan};
use crate::endpoint::rows::{FlowRow, RoundRow, Rows, TransferRow, WindowRow};
use crate::endpoint::tcp_info::{self, Diagnostics, TcpInfo};
use crate::namespace::Namespace;
use crate::wait::{NO_EVENT, readable, ready_now};

/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// The interval of goodput by host.
const GOODPUT_EVERY: Span = Span::from_ms(1);
/// The kernel's infinite slow-start threshold (TCP_INFINITE_SSTHRESH).
const INFINITE: u32 = 0x7FFF_FFFF;

/// The scenario's time in real time.
#[derive(Debug, Clone, Copy)]
pub struct Timeline {
    /// The clock.
    pub clock: Clock,
    /// When the scenario begins.
    pub base: Time,
    /// The factor by which real time is slower.
    pub dilation: u64,
}

impl Timeline {
    /// The real instant of a scenario's.
    pub fn real(&self, at: Span) -> Time {
        self.base + at.saturating_mul(self.dilation)
    }

    /// The scenario's time of a real instant.
    pub fn own(&self, at: Time) -> Span {
        at.saturating_since(self.base) / self.dilation
    }

    fn own_s(&self, at: Time) -> f64 {
        self.own(at).as_secs_lossy()
    }
}

/// An event whose instant is known, whatever the network does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Open(usize),
    Stop(usize),
    Round(usize),
    Message(usize),
    Sample,
}

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

/// The state of one client's requests.
#[derive(Debug, Clone, Copy, Default)]
struct Rounds {
    begun: u64,
    /// Responses of the present round that are not complete.
    missing: usize,
    started: Time,
    /// Connections that are not open yet.
    closed: usize,
}

/// The connections of an experiment.
pub struct Workload<'a> {
    plan: &'a ExperimentPlan,
    time: Timeline,
    /// When the experiment ends; nothing from then on is counted.
    end: Time,
    flows: Vec<Flow>,
    /// By flow: its hosts.
    hosts: Vec<(usize, usize)>,
    /// By flow: its requests, and its place among them.
    requests_of: Vec<Option<(usize, usize)>>,
    rounds: Vec<Rounds>,
    listeners: Vec<TcpListener>,
    diagnostics: Vec<Diagnostics>,
    by_address: HashMap<(u32, u16), usize>,
    agenda: BinaryHeap<Reverse<(Time, Event)>>,
    ready: OwnedFd,
    rows: Rows,
    completed: Vec<Option<Time>>,
    room: Vec<u8>,
}

impl<'a> Workload<'a> {
    /// Makes every socket; connects none. The plan must have passed its check.
    pub fn prepare(
        plan: &'a ExperimentPlan,
        places: &[Namespace],
        time: Timeline,
    ) -> io::Result<Self> {
        let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let number = |name: &String| {
            let found = plan.network.hosts.iter().position(|host| host == name);
            found.expect("a checked plan")
        };
        let hosts: Vec<(usize, usize)> = plan
            .flows
            .iter()
            .map(|flow| (number(&flow.from), number(&flow.to)))
            .collect();
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
            epoll::add(
                &ready,
                &listener,
                Source::Listener(host).data(),
                epoll::EventFlags::IN,
            )?;
            listeners.push(listener);
        }
        let (mut flows, mut by_address) = (Vec::new(), HashMap::new());
        for (flow, &(from, _)) in plan.flows.iter().zip(&hosts) {
            let own = address::of(from);
            let (made, port) = Flow::prepare(&places[from], own, &flow.congestion)?;
            by_address.insert(tcp_info::key(own, port), flows.len());
            flows.push(made);
        }
        let mut requests_of = vec![None; flows.len()];
        for (number, requests) in plan.requests.iter().enumerate() {
            for (place, &flow) in requests.flows.iter().enumerate() {
                requests_of[flow] = Some((number, place));
            }
        }
        let closed = |requests: &[usize]| Rounds {
            closed: requests.len(),
            ..Rounds::default()
        };
        Ok(Self {
            time,
            end: time.real(plan.duration.0),
            completed: vec![None; flows.len()],
            rounds: plan.requests.iter().map(|one| closed(&one.flows)).collect(),
            diagnostics: places
                .iter()
                .map(Diagnostics::open)
                .collect::<io::Result<_>>()?,
            plan,
            flows,
            hosts,
            requests_of,
            listeners,
            by_address,
            agenda: BinaryHeap::new(),
            ready,
            rows: Rows::default(),
            room: vec![0; PIECE],
        })
    }

    /// The flow whose sender has this address and port.
    pub const fn by_address(&self) -> &HashMap<(u32, u16), usize> {
        &self.by_address
    }

    /// Runs to the end of the experiment; gives what was measured.
    pub fn run(mut self) -> io::Result<Rows> {
        for (number, flow) in self.plan.flows.iter().enumerate() {
            self.schedule(flow.start.0, Event::Open(number));
            if let Some(stop) = flow.stop {
                self.schedule(stop.0, Event::Stop(number));
            }
        }
        if let Some(every) = self.plan.window_every {
            self.schedule(every.0, Event::Sample);
        }
        while self.time.clock.now() < self.end {
            let next = self
                .agenda
                .peek()
                .map_or(self.end, |Reverse((at, _))| self.end.min(*at));
            readable(&self.time.clock, &[self.ready.as_fd()], Some(next))?;
            self.serve()?;
            while let Some(Reverse((at, event))) = self.agenda.peek().copied() {
                if at > self.time.clock.now() {
                    break;
                }
                self.agenda.pop();
                self.happen(at, event)?;
            }
        }
        self.finish()?;
        Ok(self.rows)
    }

    fn schedule(&mut self, at: Span, event: Event) {
        self.agenda.push(Reverse((self.time.real(at), event)));
    }

    fn happen(&mut self, at: Time, event: Event) -> io::Result<()> {
        match event {
            Event::Open(flow) => self.open(at, flow)?,
            Event::Stop(flow) => {
                self.flows[flow].stop();
                self.watch_sender(flow, false)?;
            }
            Event::Round(requests) => self.begin_round(at, requests)?,
            Event::Message(flow) => self.send_message(at, flow)?,
            Event::Sample => {
                self.sample()?;
                let every = self.plan.window_every.map_or(Span::ZERO, |every| every.0);
                let every = every.saturating_mul(self.time.dilation);
                // A sample that is late moves none after it, but is not made up for.
                let behind = self.time.clock.now().saturating_since(at).as_ps() / every.as_ps();
                self.agenda
                    .push(Reverse((at + every * (behind + 1), Event::Sample)));
            }
        }
        Ok(())
    }

    fn open(&mut self, at: Time, number: usize) -> io::Result<()> {
        let flow = &mut self.flows[number];
        match self.plan.flows[number].data {
            Data::Size(bytes) => {
                flow.begin(at, bytes.0.count(), None);
                flow.send(bytes.0.count());
            }
            Data::Unlimited => flow.send_unlimited(),
            Data::Responses => {}
            Data::Messages(_) => self.agenda.push(Reverse((at, Event::Message(number)))),
        }
        flow.connect(address::of(self.hosts[number].1))?;
        self.watch_sender(number, true)
    }

    /// Writes the next message of a flow, and plans the one after it.
    fn send_message(&mut self, at: Time, number: usize) -> io::Result<()> {
        let plan = &self.plan.flows[number];
        let Data::Messages(messages) = plan.data else {
            return Ok(());
        };
        if plan.stop.is_some_and(|stop| at >= self.time.real(stop.0)) {
            return Ok(());
        }
        self.flows[number].send(messages.message.0.count());
        self.flows[number].write()?;
        self.watch_sender(number, false)?;
        let start = self.time.real(plan.start.0);
        let next = messages.next(at.saturating_since(start) / self.time.dilation);
        let next = start + next.saturating_mul(self.time.dilation);
        self.agenda.push(Reverse((next, Event::Message(number))));
        Ok(())
    }

    /// Watches what a sender waits for: requests, and room for data that it has.
    fn watch_sender(&self, number: usize, is_new: bool) -> io::Result<()> {
        let flow = &self.flows[number];
        let mut flags = epoll::EventFlags::empty();
        flags.set(epoll::EventFlags::IN, self.requests_of[number].is_some());
        flags.set(epoll::EventFlags::OUT, flow.has_data());
        let (sender, data) = (flow.sockets().0, Source::Sender(number).data());
        if is_new {
            epoll::add(&self.ready, sender, data, flags)?;
        } else {
            epoll::modify(&self.ready, sender, data, flags)?;
        }
        Ok(())
    }

    fn serve(&mut self) -> io::Result<()> {
        let mut events = [NO_EVENT; EVENTS];
        for event in ready_now(&self.ready, &mut events)? {
            match Source::of(event.data) {
                Source::Listener(host) => self.accept(host)?,
                Source::Sender(flow) => self.serve_sender(flow)?,
                Source::Receiver(flow) => self.serve_receiver(flow)?,
            }
        }
        Ok(())
    }

    fn accept(&mut self, host: usize) -> io::Result<()> {
        loop {
            let (socket, peer) = match self.listeners[host].accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let SocketAddr::V4(peer) = peer else { continue };
            let Some(&flow) = self.by_address.get(&tcp_info::key(*peer.ip(), peer.port())) else {
                continue;
            };
            set_tcp_congestion(&socket, &self.plan.flows[flow].congestion)?;
            let data = Source::Receiver(flow).data();
            epoll::add(&self.ready, &socket, data, epoll::EventFlags::IN)?;
            self.flows[flow].accepted(socket)?;
            if let Some((requests, _)) = self.requests_of[flow] {
                self.rounds[requests].closed -= 1;
                if self.rounds[requests].closed == 0 {
                    let start = self.time.real(self.plan.requests[requests].start.0);
                    let at = start.max(self.time.clock.now());
                    self.agenda.push(Reverse((at, Event::Round(requests))));
                }
            }
        }
    }

    fn serve_sender(&mut self, number: usize) -> io::Result<()> {
        if let Some((requests, place)) = self.requests_of[number] {
            let plan = &self.plan.requests[requests];
            let size = plan.request.0.count();
            let asked = self.flows[number].read_requests(size, &mut self.room)?;
            self.flows[number].send(asked * plan.responses[place].0.count());
        }
        self.flows[number].write()?;
        self.watch_sender(number, false)
    }

    fn serve_receiver(&mut self, number: usize) -> io::Result<()> {
        let now = self.time.clock.now();
        if now >= self.end {
            return Ok(());
        }
        let count = self.flows[number].read(&mut self.room)?;
        if count == 0 {
            return Ok(());
        }
        let at = self.time.own(now).as_ps();
        let bin = at / self.plan.throughput_every.0.as_ps();
        *self.rows.throughput.entry((bin, number)).or_default() += count;
        let millisecond = (at / GOODPUT_EVERY.as_ps(), self.hosts[number].1);
        *self.rows.goodput.entry(millisecond).or_default() += count;
        while let Some(done) = self.flows[number].completed() {
            self.rows.transfers.push(TransferRow {
                flow: number,
                round: done.round,
                started_s: self.time.own_s(done.started),
                completed_s: Some(self.time.own_s(now)),
                bytes: done.bytes,
            });
            match self.requests_of[number] {
                Some((requests, _)) => self.responded(requests, now),
                None => self.completed[number] = Some(now),
            }
        }
        Ok(())
    }

    fn begin_round(&mut self, at: Time, number: usize) -> io::Result<()> {
        let plan = &self.plan.requests[number];
        let is_over = plan
            .rounds
            .is_some_and(|most| self.rounds[number].begun >= most)
            || plan.stop.is_some_and(|stop| at >= self.time.real(stop.0));
        if is_over {
            return Ok(());
        }
        let request = usize::try_from(plan.request.0.count()).expect("a checked plan");
        for (&flow, bytes) in plan.flows.iter().zip(&plan.responses) {
            let round = Some(self.rounds[number].begun);
            self.flows[flow].begin(at, bytes.0.count(), round);
            self.flows[flow].request(request)?;
        }
        let rounds = &mut self.rounds[number];
        rounds.started = at;
        rounds.missing = plan.flows.len();
        rounds.begun += 1;
        Ok(())
    }

    /// A response is complete; with the last, so is the round.
    fn responded(&mut self, number: usize, now: Time) {
        self.rounds[number].missing -= 1;
        if self.rounds[number].missing > 0 {
            return;
        }
        self.push_round(number, Some(now));
        let think_time = self.plan.requests[number].think_time.0;
        let next = now + think_time.saturating_mul(self.time.dilation);
        self.agenda.push(Reverse((next, Event::Round(number))));
    }

    fn push_round(&mut self, number: usize, completed: Option<Time>) {
        let rounds = self.rounds[number];
        let sizes = self.plan.requests[number].responses.iter();
        self.rows.rounds.push(RoundRow {
            requests: number,
            round: rounds.begun - 1,
            started_s: self.time.own_s(rounds.started),
            completed_s: completed.map(|at| self.time.own_s(at)),
            bytes: sizes.map(|bytes| bytes.0.count()).sum(),
        });
    }

    /// Hands over the state of each connection.
    fn each_info(&mut self, mut take: impl FnMut(usize, TcpInfo)) -> io::Result<()> {
        let by_address = &self.by_address;
        for one in &mut self.diagnostics {
            one.each(|info| {
                if let Some(&flow) = by_address.get(&info.local) {
                    take(flow, info);
                }
            })?;
        }
        Ok(())
    }

    fn sample(&mut self) -> io::Result<()> {
        let now = self.time.clock.now();
        if now >= self.end {
            return Ok(());
        }
        let time_s = self.time.own_s(now);
        let dilation = self.time.dilation as f64;
        let mut rows = std::mem::take(&mut self.rows.windows);
        self.each_info(|flow, info| {
            let mss = u64::from(info.mss);
            rows.push(WindowRow {
                time_s,
                flow,
                cwnd_bytes: u64::from(info.cwnd) * mss,
                ssthresh_bytes: (info.ssthresh < INFINITE).then(|| u64::from(info.ssthresh) * mss),
                rtt_s: (info.rtt_us > 0).then(|| f64::from(info.rtt_us) / 1e6 / dilation),
            });
        })?;
        self.rows.windows = rows;
        Ok(())
    }

    /// At the end: what is not complete, and the counters of every connection.
    fn finish(&mut self) -> io::Result<()> {
        let mut infos = vec![TcpInfo::default(); self.flows.len()];
        self.each_info(|flow, info| infos[flow] = info)?;
        for (number, info) in infos.into_iter().enumerate() {
            let flow = &self.flows[number];
            for open in flow.open() {
                self.rows.transfers.push(TransferRow {
                    flow: number,
                    round: open.round,
                    started_s: self.time.own_s(open.started),
                    completed_s: None,
                    bytes: open.bytes,
                });
            }
            self.rows.flows.push(FlowRow {
                flow: number,
                started_s: self.plan.flows[number].start.0.as_secs_lossy(),
                completed_s: self.completed[number].map(|at| self.time.own_s(at)),
                sent_bytes: info.bytes_sent,
                delivered_bytes: flow.received,
                packets: info.data_segments,
                retransmissions: info.retransmissions,
                timeouts: info.timeouts,
                delivered: info.delivered,
                delivered_ce: info.delivered_ce,
                marks: 0,
                drops: 0,
            });
        }
        for number in 0..self.rounds.len() {
            if self.rounds[number].missing > 0 {
                self.push_round(number, None);
            }
        }
        Ok(())
    }
}
