//! The connections of an experiment on real UDP sockets.
//!
//! Each flow has a separate socket at its sender, so that its packets are known by their source, as with TCP. A receiving
//! host has a socket for each transport. One thread serves all of them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use incastle_socket::{
    Connection, ConnectionConfig, Endpoint, EndpointConfig, Listener, RecvStream, Timer,
};
use incastle_softswitch::address;
use incastle_softswitch::clock::Clock;
use incastle_softswitch::endpoint::{Endpoints, ExperimentPlan, FlowPlan, Happened, State, Totals};
use incastle_softswitch::graph::Graph;
use incastle_softswitch::namespace::Namespace;
use incastle_units::{Bytes, Rate, Span, Time};
use tokio::io::AsyncReadExt;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

use crate::pipe::Pipe;
use crate::transports::{Failed, Path, Transports};

/// The first port on which hosts listen; that of the transport with number 1 is the next.
const PORT: u16 = 5_000;
/// Bytes that are read at once.
const PIECE: usize = 1 << 16;
/// Timers are set this close: a small part of a packet's time at 100 Mbit/s.
const QUANTUM: Duration = Duration::from_micros(10);
/// Connections that may wait to be accepted.
const BACKLOG: usize = 4_096;

/// A flow: its socket, and both ends of its connection once they are there.
struct Flow {
    endpoint: Endpoint,
    peer: SocketAddr,
    config: ConnectionConfig,
    sender: OnceLock<Connection>,
    data: Pipe,
    requests: Pipe,
}

/// News for the workload.
#[derive(Default)]
struct News {
    happened: Mutex<(Vec<Happened>, Option<io::Error>)>,
    any: Notify,
}

/// All connections.
pub struct Sockets {
    runtime: Runtime,
    timer: Timer,
    flows: Vec<Arc<Flow>>,
    by_address: HashMap<(u32, u16), usize>,
    news: Arc<News>,
    failed: Option<Failed>,
}

impl News {
    fn lock(&self) -> MutexGuard<'_, (Vec<Happened>, Option<io::Error>)> {
        self.happened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, happened: Happened) {
        self.lock().0.push(happened);
        self.any.notify_one();
    }

    /// A connection failed: so does the run.
    fn fail(&self, error: io::Error) {
        self.lock().1.get_or_insert(error);
        self.any.notify_one();
    }
}

impl Sockets {
    /// Makes every socket; connects none. The plan must have passed its check.
    pub(crate) fn prepare(
        plan: &ExperimentPlan,
        places: &[Namespace],
        transports: &Transports,
    ) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let timer = {
            let _within = runtime.enter();
            Timer::new()?
        };
        let graph = plan.network.graph().map_err(io::Error::other)?;
        let maker = Maker {
            plan,
            places,
            transports,
            graph,
            runtime: &runtime,
        };
        let news = Arc::new(News::default());
        let ends = plan.ends();
        let (mut flows, mut by_address) = (Vec::new(), HashMap::new());
        let mut listeners: HashMap<(usize, usize), Listener> = HashMap::new();
        for (flow, &(from, to)) in plan.flows.iter().zip(&ends) {
            let (made, source) = maker.flow(flow, from, to)?;
            by_address.insert((u32::from(*source.ip()), source.port()), flows.len());
            flows.push(Arc::new(made));
            let transport = transports.number(&flow.congestion);
            if let Entry::Vacant(place) = listeners.entry((to, transport)) {
                place.insert(maker.listener(to, transport, maker.path(from, to))?);
            }
        }
        let shared: Arc<[Arc<Flow>]> = flows.clone().into();
        let numbers = Arc::new(by_address.clone());
        for listener in listeners.into_values() {
            let accepting = accept(
                listener,
                Arc::clone(&shared),
                Arc::clone(&numbers),
                Arc::clone(&news),
            );
            runtime.spawn(accepting);
        }
        Ok(Self {
            runtime,
            timer,
            flows,
            by_address,
            news,
            failed: transports.failed(),
        })
    }
}

fn rings(timer: &mut Timer, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
    match timer.poll(cx) {
        Ok(true) => Poll::Ready(Ok(())),
        Ok(false) => Poll::Pending,
        Err(error) => Poll::Ready(Err(error)),
    }
}

/// Makes the sockets of a plan in their namespaces.
struct Maker<'a> {
    plan: &'a ExperimentPlan,
    places: &'a [Namespace],
    transports: &'a Transports,
    graph: Graph,
    runtime: &'a Runtime,
}

impl Maker<'_> {
    fn dilation(&self) -> u32 {
        u32::try_from(self.plan.network.dilation).unwrap_or(u32::MAX)
    }

    fn path(&self, from: usize, to: usize) -> Path {
        let rate_of = |host: usize| {
            let name = &self.plan.network.hosts[host];
            let port = self
                .plan
                .network
                .ports
                .iter()
                .find(|port| port.from == *name);
            port.map_or(Rate::from_bits_per_second(1), |port| port.rate.0)
        };
        Path {
            interfaces: [rate_of(from), rate_of(to)],
            hops: self.graph.switches_between(from, to),
            dilation: self.dilation(),
        }
    }

    fn bind(&self, host: usize, port: u16) -> io::Result<Endpoint> {
        let config = EndpointConfig {
            quantum: QUANTUM,
            offload: false,
            dilation: self.dilation(),
            ..EndpointConfig::default()
        };
        let local = SocketAddr::from((address::of(host), port));
        self.places[host].within(|| {
            let _within = self.runtime.enter();
            Endpoint::bind(local, config)
        })
    }

    fn flow(&self, plan: &FlowPlan, from: usize, to: usize) -> io::Result<(Flow, SocketAddrV4)> {
        let transport = self.transports.number(&plan.congestion);
        let endpoint = self.bind(from, 0)?;
        let SocketAddr::V4(source) = endpoint.local_addr()? else {
            return Err(io::Error::other("an IPv4 socket has another address"));
        };
        let flow = Flow {
            endpoint,
            peer: SocketAddr::from((address::of(to), port_of(transport))),
            config: self.transports.config(transport, self.path(from, to), 0),
            sender: OnceLock::new(),
            data: Pipe::default(),
            requests: Pipe::default(),
        };
        Ok((flow, source))
    }

    fn listener(&self, host: usize, transport: usize, path: Path) -> io::Result<Listener> {
        let endpoint = self.bind(host, port_of(transport))?;
        let config = self.transports.config(transport, path, 1);
        endpoint.listen(config, BACKLOG).map_err(io::Error::other)
    }
}

fn port_of(transport: usize) -> u16 {
    PORT + u16::try_from(transport).expect("few transports")
}

/// Accepts the connections of a host, and serves them.
async fn accept(
    listener: Listener,
    flows: Arc<[Arc<Flow>]>,
    numbers: Arc<HashMap<(u32, u16), usize>>,
    news: Arc<News>,
) {
    while let Some(connection) = listener.accept().await {
        let SocketAddr::V4(peer) = connection.peer_addr() else {
            continue;
        };
        let Some(&number) = numbers.get(&(u32::from(*peer.ip()), peer.port())) else {
            continue;
        };
        let (flow, news) = (Arc::clone(&flows[number]), Arc::clone(&news));
        tokio::spawn(async move {
            news.tell(Happened::Opened(number));
            let received = |count| news.tell(Happened::Received(number, count));
            if let Err(error) = serve(&connection, &flow.requests, received).await {
                news.fail(explained(number, &error));
            }
        });
    }
}

/// Opens the connection of a flow, and serves its sender.
async fn open(number: usize, flow: Arc<Flow>, news: Arc<News>) {
    let opened = flow.endpoint.connect(flow.peer, &flow.config).await;
    let connection = match opened {
        Ok(connection) => connection,
        Err(error) => return news.fail(explained(number, &io::Error::other(error))),
    };
    let connection = flow.sender.get_or_init(|| connection).clone();
    let requested = |count| news.tell(Happened::Requested(number, count));
    if let Err(error) = serve(&connection, &flow.data, requested).await {
        news.fail(explained(number, &error));
    }
}

/// Writes what a pipe holds, and reports what is read, until the connection ends.
async fn serve(connection: &Connection, pipe: &Pipe, read: impl Fn(u64) + Send) -> io::Result<()> {
    let writing = pipe.serve(connection.send_stream().map_err(io::Error::other)?);
    let reading = read_all(connection.recv_stream().map_err(io::Error::other)?, read);
    tokio::pin!(writing, reading);
    poll_fn(|cx| match reading.as_mut().poll(cx) {
        Poll::Pending => writing.as_mut().poll(cx),
        done @ Poll::Ready(_) => done,
    })
    .await
}

async fn read_all(mut stream: RecvStream, read: impl Fn(u64)) -> io::Result<()> {
    let mut room = vec![0; PIECE];
    loop {
        match stream.read(&mut room).await? {
            0 => return Ok(()),
            count => read(count as u64),
        }
    }
}

fn explained(flow: usize, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("flow {flow}: {error}"))
}

impl Endpoints for Sockets {
    fn by_address(&self) -> &HashMap<(u32, u16), usize> {
        &self.by_address
    }

    fn open(&mut self, flow: usize) -> io::Result<()> {
        let one = Arc::clone(&self.flows[flow]);
        self.runtime.spawn(open(flow, one, Arc::clone(&self.news)));
        Ok(())
    }

    fn send(&mut self, flow: usize, bytes: u64) -> io::Result<()> {
        self.flows[flow].data.send(bytes);
        Ok(())
    }

    fn stop(&mut self, flow: usize) -> io::Result<()> {
        self.flows[flow].data.stop();
        Ok(())
    }

    fn request(&mut self, flow: usize, bytes: u64) -> io::Result<()> {
        self.flows[flow].requests.send(bytes);
        Ok(())
    }

    fn wait(&mut self, clock: &Clock, until: Time, out: &mut Vec<Happened>) -> io::Result<()> {
        let left = until.saturating_since(clock.now());
        let now = Instant::now();
        let (timer, news) = (&mut self.timer, &self.news);
        // It may ring early, for a wait that news have ended: the workload then waits again.
        timer.arm(now, now + Duration::from_nanos(left.as_ps() / 1_000))?;
        self.runtime.block_on(async {
            tokio::select! {
                rung = poll_fn(|cx| rings(timer, cx)) => rung,
                () = news.any.notified() => Ok(()),
            }
        })?;
        if self.failed.as_ref().is_some_and(|failed| failed()) {
            return Err(io::Error::other("a controller failed"));
        }
        let mut told = news.lock();
        out.append(&mut told.0);
        told.1.take().map_or(Ok(()), Err)
    }

    fn states(&mut self, take: &mut dyn FnMut(usize, State)) -> io::Result<()> {
        for (number, flow) in self.flows.iter().enumerate() {
            let Some(connection) = flow.sender.get() else {
                continue;
            };
            let statistics = connection.statistics();
            let window = statistics.window;
            take(
                number,
                State {
                    cwnd: window.cwnd.map(Bytes::new),
                    ssthresh: window.ssthresh.map(Bytes::new),
                    alpha: window.alpha,
                    rtt: Some(Span::from_ns(
                        u64::try_from(statistics.rtt.as_nanos()).unwrap_or(u64::MAX / 1_000),
                    )),
                },
            );
        }
        Ok(())
    }

    fn totals(&mut self) -> io::Result<Vec<Totals>> {
        let of_flow = |flow: &Arc<Flow>| {
            let Some(connection) = flow.sender.get() else {
                return Totals::default();
            };
            let found = connection.statistics();
            let (stats, counts) = (found.protocol, found.reported.unwrap_or_default());
            Totals {
                sent_bytes: found.sent,
                packets: stats.packets_sent,
                retransmissions: found.retransmissions,
                timeouts: stats.timeouts,
                delivered: u64::from(counts.arrived),
                delivered_ce: u64::from(counts.ce),
                ecn_reductions: Some(stats.ecn_reductions),
            }
        };
        Ok(self.flows.iter().map(of_flow).collect())
    }
}
