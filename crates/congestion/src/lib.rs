//! A sender's reaction to congestion: one file per algorithm, each a plain state machine.
//!
//! A controller receives samples, never packets. Time, random draws and the transport's state are
//! arguments; the window, the pacing rate and the next timer are pulled out. It owns no clock,
//! socket, thread or random source, so that the same object runs in the simulator and on real
//! sockets. Recovery, retransmission timers and the pacer belong to the transport.
//!
//! Leaves out: loss detection, retransmission, ACK generation (transport); marking (queueing).

mod algorithm;
mod bbr;
mod controller;
mod cubic;
mod cubic_linux;
mod d2tcp;
mod dcqcn;
mod dctcp;
mod dcudp;
mod dcudp_r;
mod dt_cwa;
pub mod foreign;
mod frame_limiter;
mod hpcc;
mod hystart;
mod hystart_plus_plus;
mod marked_fraction;
mod named;
mod new_reno;
mod pacing;
mod prague;
mod qcn_reaction_point;
mod rate_dctcp;
mod rate_limiter;
mod rate_sample;
mod rdma_rate;
mod reno_window;
mod slow_start;
mod swift;
mod timely;
mod udt;

pub use algorithm::Algorithm;
pub use bbr::{Bbr, BbrConfig};
pub use controller::{
    AckSample, CongestionEvent, Context, ControlState, Controller, Echo, HopTelemetry, LimitedBy,
    Phase, Reaction, TransmissionMode, Window,
};
pub use cubic::{Cubic, CubicConfig};
pub use d2tcp::{D2tcp, D2tcpConfig};
pub use dcqcn::{Dcqcn, DcqcnConfig, DcqcnForm, MellanoxForm};
pub use dctcp::{Dctcp, DctcpConfig};
pub use dcudp::{
    Dcudp, DcudpBacklog, DcudpConfig, DcudpEntry, DcudpFloor, DcudpGrowth, DcudpLaw, DcudpRates,
    DcudpRtt, LossInUdpMode,
};
pub use dcudp_r::{DcudpR, DcudpRConfig};
pub use dt_cwa::{CwaExtremes, CwaReaction, DtCwa, DtCwaConfig};
pub use frame_limiter::{FrameLimiter, ReactionPointSettings};
pub use hpcc::{Hpcc, HpccConfig, IntWords};
pub use named::NamedController;
pub use new_reno::NewReno;
pub use pacing::{Paced, PacingRatio};
pub use prague::{Prague, PragueConfig};
pub use qcn_reaction_point::{AdaptiveIncrease, RateState, ReactionPoint, ReactionPointConfig};
pub use rate_dctcp::{RateDctcp, RateDctcpConfig};
pub use rate_limiter::{Feedback, RateLimiter};
pub use rate_sample::{LostPacket, RateSample};
pub use rdma_rate::{RateLimits, RateWindow};
pub use reno_window::{NewRenoConfig, WindowRule};
pub use slow_start::SlowStart;
pub use swift::{Swift, SwiftConfig};
pub use timely::{Timely, TimelyConfig, TimelyForm};
pub use udt::{Udt, UdtConfig};
