//! A switch's decision on a packet: one file per queue discipline, and the buffers behind them.
//!
//! A discipline is called once per arriving packet, with the state of the queue in front of it. It
//! returns a verdict, which the engine's port executes. It owns no clock and no random source.
//!
//! The *queue* counts packets (bytes) that wait, neither the arriving one nor the one being sent, as
//! in ns-2 and Linux. *Stored* counts everything in memory, the one being sent included. Leaves out:
//! routing, the wire, and scheduling between queues other than DualPI2's (engine).

mod config;
mod discipline;
mod double_threshold;
mod drop_tail;
mod dual_queue;
mod dualpi2;
mod port_buffer;
mod qcn_congestion_point;
mod red;
mod shared_buffer;
mod threshold;
mod transmitter;
mod verdict;

pub use config::{BufferConfig, QueueConfig, QueueError};
pub use discipline::Marker;
pub use double_threshold::{DoubleThreshold, DoubleThresholdConfig, DoubleThresholdError};
pub use drop_tail::DropTail;
pub use dual_queue::{DualBacklog, DualQueue, JudgedLate};
pub use dualpi2::{Dequeued, DualHeads, DualLane, DualPi2, DualPi2Config, DualPi2Error};
pub use port_buffer::PortBuffer;
pub use qcn_congestion_point::{
    CongestionMemory, CongestionPoint, CongestionPointConfig, Detail, QcnSampling, Sample,
};
pub use red::{Red, RedAction, RedConfig, RedError};
pub use shared_buffer::{SharedBuffer, SharedBufferConfig, SharedBufferError};
pub use threshold::{Threshold, ThresholdConfig};
pub use transmitter::{Queued, Transmitter};
pub use verdict::{Arrival, Discipline, DropCause, QueueState, Verdict};
