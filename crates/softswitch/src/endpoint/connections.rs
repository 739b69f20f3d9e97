//! The connections of an experiment as its workload sees them, whatever carries them.

use std::collections::HashMap;
use std::io;

use incastle_units::{Bytes, Span, Time};
use serde::Serialize;

use crate::clock::Clock;

/// A change that the workload waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    /// The receiver of a flow can send requests.
    Opened(usize),
    /// Bytes of requests reached the sender of a flow.
    Requested(usize, u64),
    /// Data reached the receiver of a flow.
    Received(usize, u64),
}

/// The control of a sender at an instant, in the time of the scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct State {
    /// The congestion window, of a control that has one.
    pub cwnd: Option<Bytes>,
    /// The slow-start threshold; none while it is infinite.
    pub ssthresh: Option<Bytes>,
    /// DCTCP's alpha.
    pub alpha: Option<f64>,
    /// The smoothed round-trip time; none before the first sample.
    pub rtt: Option<Span>,
}

/// The counters of a sender at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Bytes of data sent, retransmissions included.
    pub sent_bytes: u64,
    /// Packets sent with data.
    pub packets: u64,
    /// Retransmissions among them.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Those among them that were reported with a mark.
    pub delivered_ce: u64,
    /// Reductions by ECN, where the endpoint counts them.
    pub ecn_reductions: Option<u64>,
}

/// The connections of an experiment, one for each flow of its plan, in its order.
pub trait Endpoints {
    /// The flow of each sender, by its address and port.
    fn by_address(&self) -> &HashMap<(u32, u16), usize>;

    /// Opens the connection of a flow.
    fn open(&mut self, flow: usize) -> io::Result<()>;

    /// Lets its sender send more bytes; `u64::MAX` are all that it can.
    fn send(&mut self, flow: usize, bytes: u64) -> io::Result<()>;

    /// Its sender sends no new data.
    fn stop(&mut self, flow: usize) -> io::Result<()>;

    /// Its receiver sends a request of this size.
    fn request(&mut self, flow: usize, bytes: u64) -> io::Result<()>;

    /// Waits for something to happen, at most until an instant; adds it to `out`.
    fn wait(&mut self, clock: &Clock, until: Time, out: &mut Vec<Happened>) -> io::Result<()>;

    /// Hands over the state of each open connection.
    fn states(&mut self, take: &mut dyn FnMut(usize, State)) -> io::Result<()>;

    /// The counters of each sender, in the order of the flows.
    fn totals(&mut self) -> io::Result<Vec<Totals>>;
}
