//! The controllers alone: each against its paper or RFC, number by number; over one bottleneck; and under
//! any operations.

mod algorithm;
mod bbr;
mod bbr_sequences;
mod cubic;
mod d2tcp;
mod dctcp;
mod dcudp;
mod dcudp_r;
mod dt_cwa;
mod fuzz;
mod hystart;
mod invariants;
mod linux_window;
mod new_reno;
mod pacing;
mod prague;
mod qcn;
mod rates;
mod rdma;
mod support;
mod swift;
mod trajectory;
mod udt;
