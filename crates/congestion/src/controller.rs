//! The trait of every window- or rate-based controller: one object per connection.
//!
//! Call order for one ACK: `on_ack`, then `on_congestion` with the events that the same ACK
//! revealed (an ECN echo, then a loss). Then read `window`, `pacing` and `next_timer`. The
//! transport reports *every* ACK that echoes congestion; the controller decides how often to react.
//! `on_sent` comes after the packet left: its context already counts it.
//!
//! Sizes, windows and rates all count payload bytes, never headers, so that a controller whose
//! source counts packets divides by one packet size throughout. The rates of RDMA's controls (DCQCN, TIMELY,
//! HPCC, DCTCP in rate form) are an exception: they count packets as they are on the wire.

use incastle_units::{Bytes, Rate, Span, Time};
use rand_core::Rng;

use crate::{LostPacket, RateSample};

/// The transport's state at the instant of a call.
///
/// Sequence numbers count in the transport's own unit without wrapping: bytes since the start of
/// the stream for TCP, packets for UDT and DCUDP.
pub struct Context<'a> {
    /// The current instant.
    pub now: Time,
    /// The oldest unacknowledged sequence number (after the current ACK).
    pub snd_una: u64,
    /// The next new sequence number to be sent.
    pub snd_nxt: u64,
    /// The FlightSize of RFC 5681: data sent and not yet cumulatively acknowledged, without the
    /// segments of limited transmit. Data reported by SACK count (RFC 6675 section 5).
    pub in_flight: Bytes,
    /// The smoothed round-trip time, from the handshake on where there was one.
    pub smoothed_rtt: Option<Span>,
    /// Data of the application that is not yet acknowledged, where its end is known.
    pub remaining: Option<Bytes>,
    /// The application's deadline for its data, if there is one.
    pub deadline: Option<Time>,
    /// The rate at which the receiver reports that data arrive (UDT, DCUDP).
    pub receiving_rate: Option<Rate>,
    /// The capacity of the path or the interface, measured or configured (UDT, DCUDP).
    pub capacity: Option<Rate>,
    /// The random substream of this connection.
    pub rng: &'a mut dyn Rng,
}

/// Whether an ACK echoes a congestion mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// No mark.
    Clear,
    /// ECE was set.
    Congestion,
}

/// The limit on the sender before this ACK came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedBy {
    /// The controller's own window or rate.
    Window,
    /// The application had nothing more, or the receiver's window was shorter.
    Application,
}

/// The phase of the transport's loss recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No loss outstanding.
    Open,
    /// Fast recovery (RFC 5681, 6582, 6675): the window does not grow.
    Recovery,
    /// Going back after a retransmission timeout: the window grows again.
    AfterTimeout,
}

/// In-band telemetry of one egress port, as a packet left it (HPCC, SIGCOMM 2019, section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopTelemetry {
    /// The rate of the port's link.
    pub rate: Rate,
    /// The instant at which the port dequeued the packet.
    pub at: Time,
    /// Bytes that the port had sent before this packet, headers included.
    pub sent: Bytes,
    /// Bytes that waited at the port at that instant, without this packet.
    pub queue: Bytes,
}

/// The content of a record that no port has written yet.
impl Default for HopTelemetry {
    fn default() -> Self {
        Self {
            rate: Rate::from_bits_per_second(0),
            at: Time::ZERO,
            sent: Bytes::ZERO,
            queue: Bytes::ZERO,
        }
    }
}

/// One acknowledgement, as the transport has evaluated it. The last three fields are those of RDMA: TCP and
/// UDT leave them empty.
#[derive(Debug, Clone, Copy)]
pub struct AckSample<'a> {
    /// Data newly acknowledged, cumulatively. Zero for a duplicate.
    pub acked: Bytes,
    /// Packets that this acknowledgement covers (at least 1; more under delayed ACKs).
    pub segments: u32,
    /// The congestion echo.
    pub echo: Echo,
    /// The latest round-trip sample, if this acknowledgement gave one, not smoothed.
    pub rtt: Option<Span>,
    /// The limit on the sender before it.
    pub limited_by: LimitedBy,
    /// The state of loss recovery after it.
    pub phase: Phase,
    /// Telemetry of the acknowledged packet, in the order of its path. Empty without INT.
    pub hops: &'a [HopTelemetry],
    /// The switches that the acknowledged packet passed; absent where the network does not tell.
    pub hop_count: Option<u8>,
    /// The time from the packet's arrival at the NIC of the receiver to the departure of its ACK, by
    /// timestamps of that NIC; absent where not measured.
    pub remote_delay: Option<Span>,
}

/// An event that may make a controller slow down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CongestionEvent {
    /// An ACK echoed a mark. Reported for every such ACK.
    Ecn,
    /// Packets were found lost and are about to be retransmitted: on TCP at the start of each
    /// recovery, on UDT with each NAK.
    Loss {
        /// The number of packets that this report names.
        count: u32,
        /// The largest sequence number among them (on TCP: the first byte of that segment).
        largest: u64,
    },
    /// The retransmission timer fired (UDT: EXP).
    Timeout {
        /// 0 for the first time out of this data, 1 for the next, ...
        backoff: u32,
    },
    /// The sender was idle for longer than the retransmission timeout and sends again (RFC 5681,
    /// section 4.1). No congestion was seen: a controller returns [`Reaction::Ignored`] even where
    /// it shortens its window, and CWR stays clear.
    IdleRestart,
    /// The receiver declares congestion over (DCUDP: an ACK with OBS = 0). A controller that works
    /// only under congestion stops; every other one ignores it.
    Over,
}

/// The controller's reaction to a [`CongestionEvent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// Nothing: it already reacted in this window, or it ignores the event.
    Ignored,
    /// It slowed down; the transport sets CWR on the next data packet where ECN requires it.
    Reduced,
}

/// The limit on outstanding data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// At most this many bytes.
    Limited(Bytes),
    /// No limit (rate-based controllers).
    Unlimited,
}

/// The two modes in which DCUDP sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransmissionMode {
    /// As the application's packets come (OBS = 0).
    Udp,
    /// Under the control law (OBS = 1).
    Congestion,
}

/// A controller's state for probes and for [`Controller::restore`]. Absent where the algorithm has no such thing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ControlState {
    /// The congestion window.
    pub cwnd: Option<Bytes>,
    /// The slow-start threshold; absent while it is still unset.
    pub ssthresh: Option<Bytes>,
    /// DCTCP's estimate of the marked fraction, 0 to 1.
    pub alpha: Option<f64>,
    /// The sending rate of a rate-based controller.
    pub rate: Option<Rate>,
    /// The rate up to which that may grow without a separate step (DCUDP's Rate_max).
    pub max_rate: Option<Rate>,
    /// The mode of a controller that has two.
    pub mode: Option<TransmissionMode>,
}

/// A congestion controller: one per connection.
pub trait Controller: Send {
    /// A data packet of `size` bytes left, new or retransmitted.
    fn on_sent(&mut self, _cx: &mut Context<'_>, _size: Bytes) {}

    /// An acknowledgement arrived; duplicates too.
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>);

    /// The delivery rate that the acknowledgement shows, after its `on_ack`, where the transport samples it
    /// ([`crate::Algorithm::samples_rate`]).
    fn on_rate(&mut self, _cx: &mut Context<'_>, _sample: &RateSample) {}

    /// A segment was found lost, likewise, before the `on_ack` of the acknowledgement that shows it.
    fn on_lost(&mut self, _cx: &mut Context<'_>, _lost: &LostPacket) {}

    /// The network reports congestion.
    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction;

    /// The path carries no ECN: marks will never come. Reported once.
    fn on_ecn_lost(&mut self) {}

    /// The last reaction to a loss or timeout was needless: the window and the threshold return to at least
    /// those `before` it (RFC 5682, 2883). The transport keeps them.
    fn restore(&mut self, _before: &ControlState) {}

    /// The instant of `next_timer` has come.
    fn on_timer(&mut self, _cx: &mut Context<'_>) {}

    /// The next instant for `on_timer`.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The limit on outstanding data.
    fn window(&self) -> Window;

    /// The rate at which the transport paces packets; `None` sends as the window allows.
    fn pacing(&self) -> Option<Rate> {
        None
    }

    /// The state for probes.
    fn state(&self) -> ControlState;
}
