//! The part of a NIC that serves queue pairs: it asks them for packets whenever its line is free.
//!
//! Control packets (ACKs, NAKs, CNPs) leave first, in order. Queue pairs follow by round robin, each when its pacing, its
//! window and the pauses of its priority allow (`network::nic_pauses`). Source: `RdmaEgressQueue` of HPCC's ns-3.

use std::collections::VecDeque;

use incastle_events::{LAST_TURN, Order};
use incastle_queueing::{Priority, PrioritySet};
use incastle_rdma::RoundRobin;
use incastle_units::Time;

use crate::core::{EndpointIndex, Event, EventQueue, HostIndex, Kind};
use crate::layout::Slot;
use crate::network::{Network, NicPauses};

/// The queue pairs of a NIC.
#[derive(Debug, Default)]
pub(crate) struct QueuePairs {
    /// Control packets that wait.
    pub(crate) control: VecDeque<Slot>,
    /// Queue pairs that have not finished, in the order in which they were posted to.
    pub(crate) pairs: RoundRobin<EndpointIndex>,
    /// Pauses by the switch, from the first one on.
    pub(crate) pauses: Option<Box<NicPauses>>,
    /// The entered wake-up for the pacing of a queue pair, if any.
    pub(crate) wakes_at: Option<Time>,
    /// Its instant with its turn.
    pub(crate) wake_entered: Time,
    /// The entered wake-up for the end of the packet being sent, if any.
    pub(crate) line_free_at: Option<Time>,
}

impl QueuePairs {
    /// The packets that wait in the NIC.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        let held = self.pauses.iter().flat_map(|pauses| pauses.held());
        self.control.iter().copied().chain(held)
    }

    /// The priorities that the switch has paused.
    pub(crate) fn paused(&self) -> PrioritySet {
        let pauses = self.pauses.as_ref();
        pauses.map_or(PrioritySet::EMPTY, |pauses| pauses.paused())
    }

    /// Ends the pauses that have expired; returns whether there were some.
    pub(crate) fn end_pauses(&mut self, now: Time) -> bool {
        let pauses = self.pauses.as_mut();
        pauses.is_some_and(|pauses| pauses.end(now))
    }

    /// Whether it looks for packets of queue pairs by an instant, and has nothing else to send. Not by NEVER: a queue pair that
    /// has finished has to leave the round robin.
    pub(crate) fn looks_by(&self, at: Time) -> bool {
        self.control.is_empty() && at < Time::NEVER && self.wakes_at.is_some_and(|wake| wake <= at)
    }

    /// Whether any queue pair is in the round robin, or a control packet waits.
    pub(crate) fn is_busy(&self) -> bool {
        !self.pairs.is_empty() || !self.control.is_empty()
    }
}

impl Network {
    /// The next control packet of a host's queue pairs, unless its priority is paused.
    #[inline]
    pub(crate) fn next_control(&mut self, host: HostIndex) -> Option<Slot> {
        let is_ns3 = self.is_ns3();
        let nic = self.hosts[host.index()].queue_pairs.as_deref_mut()?;
        let first = *nic.control.front()?;
        let mut priority = self.pool.at(first).packet.priority();
        if is_ns3 && priority != Priority::ZERO {
            // qbb-net-device.cc, `ack_q_idx`: control packets of any other priority have one queue.
            priority = Priority::ALL[3];
        }
        (!nic.paused().contains(priority)).then(|| nic.control.pop_front())?
    }

    /// Whether NICs wake up as in HPCC's ns-3.
    pub(crate) fn is_ns3(&self) -> bool {
        self.order == Order::AsEntered
    }

    /// When the line of a NIC is free; never while its link is down.
    #[inline]
    pub(crate) fn line_free_at(&self, host: HostIndex) -> Time {
        let port = self.hosts[host.index()].port;
        let port = &self.ports[port.index()];
        if port.gate.is_shut() {
            return Time::NEVER;
        }
        let busy = port.busy_until();
        busy.expect("the NIC of a queue pair has no capacity")
    }

    /// Enters an instant at which the NIC of a host looks for packets of its queue pairs. Returns it with its turn.
    pub(crate) fn enter_line_free(
        &mut self,
        host: HostIndex,
        at: Time,
        events: &mut EventQueue,
    ) -> Time {
        if at == Time::NEVER {
            return at;
        }
        let at = self.turns.next(at);
        events.push(Event::new(at, Kind::Dequeue, host.0));
        at
    }

    /// Enters an instant at which the NIC of a host looks for packets, unless an earlier one is entered, or it is never.
    pub(crate) fn wake_nic_at(&mut self, host: HostIndex, at: Time, events: &mut EventQueue) {
        let moves = self.is_ns3();
        let nic = self.nic(host);
        let before = nic.wakes_at.unwrap_or(Time::NEVER);
        if at >= before {
            return;
        }
        nic.wakes_at = Some(at);
        // qbb-net-device.cc, UpdateNextAvail, cancels it. Otherwise a later wake-up at the same nanosecond would run in the
        // turn of the cancelled one. The last turn may be that of another event of the host.
        let is_own = nic.wake_entered.as_ps() % 1_000 < LAST_TURN;
        if moves && before < Time::NEVER && is_own {
            events.remove(Event::new(nic.wake_entered, Kind::Dequeue, host.0));
        }
        let entered = self.enter_line_free(host, at, events);
        self.nic(host).wake_entered = entered;
    }
}
