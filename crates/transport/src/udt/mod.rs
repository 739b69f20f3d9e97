//! UDT 4 and DCUDP: one connection, two dialects.
//!
//! Models draft-gg-udt-03 as the 4.11 library speaks it, and DCUDP (Ye, Mhamdi, Hamdi), which adds
//! ECN, two transmission modes and a control law for data centers. docs/models/dcudp-wire.md has the
//! wire format bit by bit.

mod arrival_speed;
mod exit_rule;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the connection that follows uses it")
)]
mod loss_list;
mod sequence;
pub mod wire;

pub use arrival_speed::{ArrivalSpeed, Smoothed};
pub use exit_rule::{ExitReading, ExitRule, ExitRuleConfig, ExitStage};
pub use loss_list::LossRange;
pub use sequence::{MAX_SEQUENCE, Number, Numbering};
