//! Queue pairs without a simulator: pairs of them over a wire of the tests.

mod acknowledgements;
mod config;
mod control;
mod forged;
mod hand;
mod hpcc;
mod losses;
mod net;
mod pacing;
mod reads;
mod script;
mod worlds;
