//! A switch's decision on a packet: one file per queue discipline, and the buffers behind them.
//!
//! A discipline is called once per arriving packet, with the state of the queue in front of it. It
//! returns a verdict, which the engine's port executes. It owns no clock and no random source.
//!
//! The *queue* counts packets (bytes) that wait, neither the arriving one nor the one being sent, as
//! in ns-2 and Linux. *Stored* counts everything in memory, the one being sent included. Leaves out:
//! routing and the wire. Queues with departure events are here: a FIFO, one for each flow, DualPI2's two, one for each
//! priority.

mod alpha;
mod certain;
mod config;
mod congestion_tree;
mod discipline;
mod double_threshold;
mod drop_tail;
mod dual_queue;
mod dualpi2;
mod fair_queue;
mod fifo_queue;
mod headroom;
mod linear_marker;
mod lossless;
mod pause;
mod pause_log;
mod pause_notes;
mod pause_recorder;
mod pause_roots;
mod port_buffer;
mod priority;
mod priority_ecn;
mod priority_memory;
mod priority_queue;
mod qcn_congestion_point;
mod qcn_sampler;
mod queue_seen;
mod red;
mod scheduler;
mod shared_buffer;
mod threshold;
mod transmitter;
mod verdict;

pub use certain::{CertainMark, ClearPassage};
pub use config::{BufferConfig, QueueConfig, QueueError};
pub use congestion_tree::{
    Branch, CongestionTree, Holding, PausedQueue, congestion_trees, cyclic_dependency, deadlock,
};
pub use discipline::Marker;
pub use double_threshold::{DoubleThreshold, DoubleThresholdConfig, DoubleThresholdError};
pub use drop_tail::DropTail;
pub use dual_queue::{DualBacklog, DualQueue, JudgedLate};
pub use dualpi2::{Dequeued, DualHeads, DualLane, DualPi2, DualPi2Config, DualPi2Error};
pub use fair_queue::{Classified, ClassifyBy, FairConfig, FairDrop, FairQueue};
pub use fifo_queue::FifoQueue;
pub use headroom::{
    LosslessLink, PAUSE_FRAME_SIZE, hpcc_ns3_alpha, hpcc_ns3_headroom, response_quanta,
};
pub use linear_marker::{LinearMarker, LinearMarkerConfig, LinearMarkerError};
pub use lossless::{Lossless, LosslessConfig, PauseDue, ReleaseAt};
pub use pause::{
    GuardedReceiver, PauseChange, PauseEffect, PauseFrame, PauseMode, PauseReceiver, PauseSender,
    PauseSenderConfig, PauseStatistics, SentPauses, StormStatistics, Watchdog, WatchdogAction,
    WatchdogChange, WatchdogConfig, WatchdogError, pause_span,
};
pub use pause_log::{PauseCause, PauseLog, PauseRecord, fullest_queue};
pub use pause_notes::{CheckReport, Noted, PauseNotes};
pub use pause_recorder::{Deadlock, PauseRecorder};
pub use pause_roots::{PauseRoot, RootedPause, rooted_pauses};
pub use port_buffer::PortBuffer;
pub use priority::{Priority, PrioritySet};
pub use priority_ecn::{MarkAt, PriorityEcn, PriorityEcnConfig};
pub use priority_memory::{
    AccountingOptions, CrossingPacket, CutPackets, HeadroomScope, IngressAccount,
    IngressPortConfig, Passage, PauseThreshold, PauseTransition, Placement, PriorityMemory,
    PriorityMemoryConfig, PriorityMemoryError, ReserveRule, Stored, ThresholdArithmetic,
};
pub use priority_queue::{Began, LaneBacklog, PriorityQueue};
pub use qcn_congestion_point::{
    CongestionMemory, CongestionPoint, CongestionPointConfig, Detail, QcnSampling, Sample,
};
pub use qcn_sampler::QcnSampler;
pub use queue_seen::QueueSeen;
pub use red::{Red, RedAction, RedConfig, RedError};
pub use scheduler::{Heads, Quanta, Scheduler, SchedulerConfig, SchedulerError};
pub use shared_buffer::{SharedBuffer, SharedBufferConfig, SharedBufferError};
pub use threshold::{Threshold, ThresholdConfig};
pub use transmitter::{EcnQueued, Queued, Transmitter};
pub use verdict::{Arrival, Discipline, DropCause, QueueState, Verdict};
