//! The queue disciplines, buffers and QCN's congestion point, each against its paper or standard.

mod buffers;
mod congestion_tree;
mod double_threshold;
mod dualpi2;
mod headroom;
mod linear_marker;
mod lossless;
mod pause;
mod pause_log;
mod pause_notes;
mod pause_recorder;
mod pause_roots;
mod priority_memory;
mod priority_queue;
mod qcn;
mod red;
mod scheduler;
mod threshold;
mod watchdog;
