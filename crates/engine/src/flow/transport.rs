//! The transport of an endpoint: TCP, datagrams or UDT.

use std::sync::Arc;

use incastle_congestion::ControlState;
use incastle_transport::{datagram, tcp, udt};
use incastle_units::{Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::core::{FlowIndex, Side};
use crate::flow::{Pair, QueuePairCounters, RdmaEndpoint, TransportSpec, UdtCounters, UdtEndpoint};
use crate::probe::Observation;

/// The transport.
#[expect(
    clippy::large_enum_variant,
    reason = "connections are in the array itself, not behind a pointer"
)]
pub(crate) enum Transport {
    Tcp(tcp::Connection),
    Datagram(datagram::Endpoint),
    /// Behind a pointer: it is three times as large as TCP's.
    Udt(Box<UdtEndpoint>),
    Rdma(Box<RdmaEndpoint>),
}

/// The state of congestion control.
pub(crate) struct Control {
    pub(crate) state: ControlState,
    /// The smoothed round-trip time.
    pub(crate) rtt: Option<Span>,
}

impl Transport {
    /// The transports of a new flow: initiator, responder.
    pub(crate) fn pair(
        spec: TransportSpec,
        flow: FlowIndex,
        now: Time,
        rng: &mut Xoshiro256PlusPlus,
    ) -> [Self; 2] {
        match spec {
            TransportSpec::Tcp {
                config,
                controllers,
            } => {
                let [initiator, responder] = *controllers;
                let shared = Arc::clone(&config);
                let mut active = tcp::Connection::sharing(shared, initiator, tcp::Role::Active);
                active.open(now);
                let passive = tcp::Connection::sharing(config, responder, tcp::Role::Passive);
                [active, passive].map(Self::Tcp)
            }
            TransportSpec::Datagram { send_buffer } => {
                Side::BOTH.map(|_| Self::Datagram(datagram::Endpoint::new(send_buffer)))
            }
            TransportSpec::Udt {
                config,
                controllers,
                start,
                send_buffer,
            } => {
                let pair = Pair {
                    config: &config,
                    start,
                    send_buffer,
                    initiator: flow.endpoint(Side::Initiator),
                };
                UdtEndpoint::pair(&pair, *controllers, now, rng)
                    .map(|endpoint| Self::Udt(Box::new(endpoint)))
            }
            TransportSpec::Rdma {
                config,
                controllers,
                settings,
            } => controllers.map(|algorithm| {
                let config = Arc::clone(&config);
                Self::Rdma(Box::new(RdmaEndpoint::new(config, algorithm, settings)))
            }),
        }
    }

    /// Whether it certainly has nothing to send now.
    #[inline(always)]
    pub(crate) fn is_quiet(&mut self, now: Time) -> bool {
        match self {
            Self::Tcp(connection) => connection.is_quiet(),
            _ => self.is_quiet_otherwise(now),
        }
    }

    #[inline(never)]
    fn is_quiet_otherwise(&mut self, now: Time) -> bool {
        if let Self::Udt(endpoint) = self {
            return endpoint.is_quiet(now);
        }
        // The NIC of a queue pair asks it.
        !matches!(self, Self::Datagram(endpoint) if !endpoint.is_quiet())
    }

    /// The report of a retransmission timeout in `handle_timeout`; taken once.
    pub(crate) fn poll_timeout_report(&mut self) -> Option<tcp::TimeoutReport> {
        match self {
            Self::Tcp(connection) => connection.poll_timeout_report(),
            // UDT's EXP and RDMA's timeouts are counted only.
            Self::Datagram(_) | Self::Udt(_) | Self::Rdma(_) => None,
        }
    }

    /// In-order bytes delivered to the application.
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        match self {
            Self::Tcp(connection) => connection.delivered(),
            _ => self.delivered_otherwise(),
        }
    }

    #[inline(never)]
    fn delivered_otherwise(&self) -> u64 {
        match self {
            Self::Tcp(_) => unreachable!("TCP is matched before"),
            Self::Datagram(endpoint) => endpoint.delivered().count(),
            Self::Udt(endpoint) => endpoint.delivered(),
            Self::Rdma(endpoint) => endpoint.pair().delivered(),
        }
    }

    /// Whether everything written has been acknowledged since the last call.
    #[inline]
    pub(crate) fn poll_finished(&mut self) -> bool {
        let Self::Tcp(connection) = self else {
            return self.finished_otherwise();
        };
        let mut finished = false;
        while let Some(event) = connection.poll_event() {
            finished |= event == tcp::Event::Finished;
        }
        finished
    }

    #[inline(never)]
    fn finished_otherwise(&mut self) -> bool {
        if let Self::Udt(endpoint) = self {
            return endpoint.poll_finished();
        }
        let Self::Rdma(endpoint) = self else {
            return false;
        };
        endpoint.poll_finished()
    }

    // The application's side.

    /// Writes application bytes; a message that the send buffer refuses is counted.
    pub(crate) fn write(&mut self, bytes: u64) {
        match self {
            Self::Tcp(connection) => connection.write(bytes),
            Self::Datagram(endpoint) => {
                // Refused messages are counted there.
                let _ = endpoint.write(u16::try_from(bytes).expect("a datagram's size is checked"));
            }
            Self::Udt(endpoint) => endpoint.write(bytes),
            Self::Rdma(endpoint) => endpoint.write(bytes),
        }
    }

    /// Unsent bytes behind which further ones change nothing yet; none where writes are messages.
    pub(crate) fn unseen(&self) -> u64 {
        match self {
            Self::Tcp(connection) => connection.unseen(),
            Self::Udt(endpoint) => endpoint.unseen(),
            Self::Datagram(_) | Self::Rdma(_) => 0,
        }
    }

    /// Application bytes written, without those discarded by `stop`: the total that the peer will receive, unless some
    /// are lost for good.
    pub(crate) fn written(&self) -> u64 {
        match self {
            Self::Tcp(connection) => connection.written(),
            Self::Datagram(endpoint) => (endpoint.sent() + endpoint.waiting()).count(),
            Self::Udt(endpoint) => endpoint.written(),
            Self::Rdma(endpoint) => endpoint.written(),
        }
    }

    /// Discards unsent bytes.
    pub(crate) fn stop(&mut self, now: Time) {
        match self {
            Self::Tcp(connection) => connection.stop(),
            Self::Datagram(endpoint) => endpoint.stop(),
            Self::Udt(endpoint) => endpoint.stop(now),
            // A posted message cannot be taken back.
            Self::Rdma(_) => {}
        }
    }

    /// Sets the deadline of the data.
    pub(crate) fn set_deadline(&mut self, at: Time) {
        if let Self::Tcp(connection) = self {
            connection.set_deadline(Some(at));
        }
    }

    /// Whether the receiver of its data reads them by RDMA.
    pub(crate) fn is_read(&self) -> bool {
        matches!(self, Self::Rdma(endpoint) if endpoint.reads())
    }

    /// Closes after the bytes written.
    pub(crate) fn close(&mut self, now: Time) {
        match self {
            Self::Tcp(connection) => connection.close(),
            Self::Datagram(_) | Self::Rdma(_) => {}
            Self::Udt(endpoint) => endpoint.close(now),
        }
    }

    // Results.

    /// Data packets retransmitted.
    pub(crate) fn retransmissions(&self) -> u64 {
        match self {
            Self::Tcp(connection) => connection.stats().retransmissions,
            Self::Datagram(_) => 0,
            Self::Udt(endpoint) => udt_stats(endpoint).retransmissions,
            Self::Rdma(endpoint) => endpoint.pair().stats().retransmitted,
        }
    }

    /// Application bytes sent, retransmissions included.
    pub(crate) fn payload_sent(&self) -> u64 {
        match self {
            Self::Tcp(connection) => connection.stats().payload_sent,
            Self::Datagram(endpoint) => endpoint.sent().count(),
            Self::Udt(endpoint) => udt_stats(endpoint).payload_sent,
            Self::Rdma(endpoint) => endpoint.payload_sent(),
        }
    }

    /// TCP's statistics; zero for everything else.
    pub(crate) fn tcp_stats(&self) -> tcp::Stats {
        match self {
            Self::Tcp(connection) => *connection.stats(),
            Self::Datagram(_) | Self::Udt(_) | Self::Rdma(_) => tcp::Stats::default(),
        }
    }

    /// UDT's counters at `now`.
    pub(crate) fn udt_counters(&self, now: Time) -> Option<Box<UdtCounters>> {
        match self {
            Self::Udt(endpoint) => Some(Box::new(endpoint.counters(now))),
            Self::Tcp(_) | Self::Datagram(_) | Self::Rdma(_) => None,
        }
    }

    /// The counters of a queue pair.
    pub(crate) fn queue_pair_counters(&self) -> Option<Box<QueuePairCounters>> {
        match self {
            Self::Rdma(endpoint) => Some(Box::new(QueuePairCounters {
                stats: *endpoint.pair().stats(),
                failed: endpoint.pair().has_failed(),
            })),
            Self::Tcp(_) | Self::Datagram(_) | Self::Udt(_) => None,
        }
    }

    /// Messages that the send buffer refused; zero for TCP, which accepts everything.
    pub(crate) fn refused(&self) -> datagram::Refused {
        match self {
            Self::Tcp(_) | Self::Rdma(_) => datagram::Refused::default(),
            Self::Datagram(endpoint) => endpoint.refused(),
            Self::Udt(endpoint) => endpoint.refused(),
        }
    }

    /// The state of congestion control, where there is any.
    pub(crate) fn control(&self) -> Option<Control> {
        match self {
            Self::Tcp(connection) => Some(Control {
                state: connection.control_state(),
                rtt: connection.smoothed_rtt(),
            }),
            Self::Datagram(_) => None,
            Self::Udt(endpoint) => {
                let connection = endpoint.connection()?;
                Some(Control {
                    state: connection.control_state(),
                    rtt: Some(connection.smoothed_rtt()),
                })
            }
            Self::Rdma(endpoint) => Some(Control {
                state: endpoint.pair().control_state(),
                rtt: endpoint.pair().smoothed_rtt(),
            }),
        }
    }

    /// The state that the event record compares.
    pub(crate) fn observation(&self) -> Observation {
        let control = self.control().map(|control| control.state);
        let seen = Observation {
            delivered: self.delivered(),
            retransmissions: self.retransmissions(),
            control: control.unwrap_or_default(),
            ..Observation::default()
        };
        match self {
            Self::Tcp(connection) => Observation {
                written: connection.written(),
                duplicate_acks: connection.stats().duplicate_acks,
                fast_retransmits: connection.stats().fast_retransmits,
                rack_tlp: connection.rack_tlp_stats(),
                phase: Some(connection.phase()),
                pacing: connection.pacing(),
                ..seen
            },
            Self::Datagram(_) => seen,
            Self::Udt(endpoint) => Observation {
                written: endpoint.written(),
                expiries: udt_stats(endpoint).timeouts,
                naks: udt_stats(endpoint).naks_received,
                ..seen
            },
            Self::Rdma(endpoint) => Observation {
                written: endpoint.written(),
                naks: endpoint.pair().stats().naks_received,
                pair: endpoint.pair().observation(),
                phase: Some(endpoint.pair().phase()),
                pacing: endpoint.pair().pacing(),
                ..seen
            },
        }
    }
}

/// The statistics of an endpoint; zero before the connection.
fn udt_stats(endpoint: &UdtEndpoint) -> udt::Stats {
    let connection = endpoint.connection();
    connection.map_or_else(udt::Stats::default, |connection| *connection.stats())
}
