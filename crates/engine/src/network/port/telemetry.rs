//! In-band telemetry (INT) of a port: a record of the port in each packet that gathers some, made when its sending begins.
//!
//! The queue of a record is what has arrived behind the packet by then. A fast queue has no event at that instant. It
//! makes the record when it processes the departure of the packet before, since nothing has arrived in between. Source:
//! HPCC (SIGCOMM 2019), section 3.1. Leaves out: fair queues and DualPI2, which make no records; ports with priorities,
//! which are in `priority`.

use incastle_congestion::HopTelemetry;
use incastle_units::{Bytes, Rate, Time};

use super::Port;
use super::scheduled::ScheduledQueue;
use crate::core::Node;
use crate::network::{Arenas, Extras, Network, Packet, Pool};
use crate::probe::Probe;

impl Network {
    /// Lets packets gather telemetry at all switches from now on. A simulation begins with its first flow that gathers
    /// some. Its partitions have different flows, and need it before they begin.
    pub fn gather_telemetry(&mut self) {
        self.telemetry = true;
        for (port, owner) in self.ports.iter_mut().zip(&self.owners) {
            if matches!(owner, Node::Switch(_)) {
                port.gather_telemetry();
            }
        }
    }
}

impl Port {
    /// Lets packets gather telemetry here from now on.
    pub(crate) fn gather_telemetry(&mut self) {
        self.telemetry = match self.scheduled.as_deref() {
            None | Some(ScheduledQueue::General(_)) => !self.unwatched,
            Some(_) => false,
        };
        self.detours |= self.telemetry;
    }

    /// Advances a fast queue to `now`.
    #[inline(never)]
    pub(super) fn let_depart_stamped<P: Probe>(
        &mut self,
        now: Time,
        Arenas { pool, extras }: Arenas<'_>,
        probe: &mut P,
    ) {
        let (index, observed) = (self.index, self.observed);
        let (rate, accepted) = (self.rate(), self.gate.accepted_bytes());
        self.fast.advance(now, self.delay, pool, |next| {
            if observed {
                probe.queue_changed(index, next.at, next.stored.packets - 1);
            }
            let stored = [accepted, next.stored.bytes];
            stamp(&pool.at(next.begins).packet, next.at, rate, stored, extras);
        });
    }

    /// The sending of a packet has just begun.
    pub(crate) fn stamp_begun(&self, now: Time, pool: &Pool, extras: &mut Extras) {
        let (packet, stored) = match self.scheduled.as_deref() {
            None => {
                let flight = pool.get(self.fast.sending());
                let packet = flight.map(|flight| &flight.packet);
                (packet, self.fast.stored().bytes)
            }
            Some(queue @ ScheduledQueue::General(fifo)) => {
                (fifo.sending(), queue.backlog().stored_bytes)
            }
            Some(_) => return,
        };
        if let Some(packet) = packet {
            let stored = [self.gate.accepted_bytes(), stored];
            stamp(packet, now, self.rate(), stored, extras);
        }
    }

    /// After a departure: the record of the packet whose sending begins, if one does.
    pub(crate) fn stamp_next(&self, now: Time, pool: &Pool, extras: &mut Extras) {
        if self.telemetry {
            self.stamp_begun(now, pool, extras);
        }
    }
}

/// Makes the record of a packet whose sending begins, if it gathers telemetry. `accepted` bytes were ever stored, and
/// `stored` are, the packet included.
#[inline(always)]
fn stamp(packet: &Packet, at: Time, rate: Rate, [accepted, stored]: [u64; 2], extras: &mut Extras) {
    if let Some(place) = packet.telemetry() {
        let record = HopTelemetry {
            rate,
            at,
            sent: Bytes::new(accepted - stored),
            queue: Bytes::new(stored - u64::from(packet.size)),
        };
        extras.telemetry.push(place, record);
    }
}
