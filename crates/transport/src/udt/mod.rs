//! UDT 4 and DCUDP: one connection, two dialects.
//!
//! Models draft-gg-udt-03 as in the 4.11 library. DCUDP (Ye, Mhamdi, Hamdi) adds ECN, two
//! transmission modes and a control law for data centers. docs/models/dcudp-wire.md has the wire
//! format bit by bit.

mod accurate_clock;
mod accurate_sender;
mod acknowledgement;
mod arrival_speed;
mod backlog;
mod bytes;
mod config;
mod connection;
mod control_window;
mod estimates;
mod exit_rule;
mod in_flight;
mod listener;
mod loss_list;
mod modes;
mod rate_samples;
mod reassembly;
mod received;
mod receiver;
mod reports;
mod rtt;
mod sender;
mod stats;

pub use arrival_speed::{ArrivalSpeed, Smoothed};
pub use bytes::{Batch, ByteConnection, SendError};
pub use config::{
    Accurate, Config, ConfigError, Dcudp, ExpRepeat, MAX_FLOW_WINDOW, MAX_PACKET_SIZE,
    MIN_PACKET_SIZE, NakRepeat, Protocol, ReportedRtt,
};
pub use connection::{Connection, Event, Failure, Identities, Identity, MessageOptions, Transmit};
pub use exit_rule::{ExitReading, ExitRule, ExitRuleConfig, ExitStage};
use incastle_udt_wire::sequence;
pub use incastle_udt_wire::{self as wire};
pub use listener::{Incoming, Listener, PeerAddress, Response};
pub use loss_list::LossRange;
pub use reassembly::MessageRange;
pub use received::Received;
pub use sequence::{MAX_SEQUENCE, Number, Numbering};
pub use stats::{Refused, Stats};
