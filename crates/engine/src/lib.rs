//! What makes virtual time pass: events, ports and links, switches and routes, hosts, probes.
//!
//! Models a packet-switched network, packet by packet and hop by hop, in integer picoseconds. One
//! event is spent per packet and hop. Endpoints (incastle-transport) and disciplines
//! (incastle-queueing) are plain state machines that this crate calls; applications are too.
//! Leaves out: bit errors, processing time in switches, papers and scenario files (scenario).

mod application;
mod beside;
mod builder;
mod digest;
mod endpoint;
mod event;
mod event_count;
mod event_queue;
mod failure;
mod fetch;
mod flows;
mod happening;
mod host;
mod ids;
mod limiter;
mod network;
mod packet;
mod parallel;
mod pool;
mod port;
mod probe;
mod random;
mod rate_schedule;
mod recorder;
mod route;
mod sent;
mod simulation;

pub use application::{Actions, Application, FlowSpec, Framing, Notice, TransportSpec};
pub use beside::UdtControl;
pub use builder::{
    BuildError, HostConfig, JitterAppliesTo, LinkConfig, NetworkBuilder, PortKind, SwitchConfig,
};
pub use digest::Digest;
pub use endpoint::{UdtCounters, UdtStart};
pub use fetch::fetch_element;
pub use flows::{EndCounters, FlowRecord};
pub use happening::{Content, Happening, Number, Observation, QueueSeen, Tag, Transit};
pub use host::Coalescing;
pub use ids::{
    AppIndex, EndpointIndex, EventCountIndex, FlowIndex, HostIndex, Node, PortIndex, Side,
    SwitchIndex,
};
pub use limiter::ReactionPointSettings;
pub use network::Network;
pub use parallel::{Indivisible, Mail, Partition, Progress, Whole, finish};
pub use port::{ClassifyBy, FairConfig, FairDrop, PortCounters};
pub use probe::{Lost, NoProbe, Probe};
pub use random::{Purpose, Source, substream};
pub use recorder::{
    Bin, BinBytes, CongestionSample, EventKind, EventRecord, HOST_BIN, Loss, Measurements,
    MemorySample, ModeSample, QueueHistogram, QueueSample, RateSample, RecordedEvent,
    RecordedPacket, Recorder, Sent, Series, Silence, Timeout, WindowSample,
};
pub use route::Ecmp;
pub use sent::{SentContent, SentPacket};
pub use simulation::{LookAhead, RunError, Simulation, Status, Totals};
