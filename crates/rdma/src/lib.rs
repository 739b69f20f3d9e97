//! The reliable connection of RoCEv2: queue pairs as state machines, without a NIC, clock or network.
//!
//! Models the InfiniBand Architecture Specification, volume 1, chapter 9 (transport layer) and annex A17
//! (RoCEv2): WRITE, SEND and READ messages, packet sequence numbers of 24 bits, acknowledgements,
//! NAKs, go-back-N, the local ACK timeout, and congestion notification packets. Options repeat what HPCC's
//! simulator does (HPCC-ns3, `rdma-hw.cc`). docs/models/rdma.md has scope, rules and settings.
//!
//! Leaves out: memory (addresses, keys, protection), atomic operations, receive queues (RNR NAKs), flow
//! control by credits, connection setup, other transport services, selective repeat.

mod config;
mod departures;
mod messages;
mod observation;
mod packet;
mod psn;
mod queue_pair;
mod requester;
mod responder;
mod responses;
mod retry;
mod round_robin;
mod stats;

pub use config::{
    Config, ConfigError, Duplicates, Headers, Notification, RateChange, Recovery, Transmission,
    local_ack_timeout,
};
pub use messages::{MessageId, Verb};
pub use observation::Observation;
pub use packet::{Arrival, Opcode, Packet, Place};
pub use psn::MAX_PSN;
pub use queue_pair::{DataAt, Event, QueuePair};
pub use round_robin::{Round, RoundRobin, Turn};
pub use stats::Stats;
