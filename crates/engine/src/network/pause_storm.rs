//! A host whose NIC sends pause frames without a cause: the storm of a broken NIC.
//!
//! A frame follows when half of the time of the one before is over, so that the pause lasts. None resumes: the last pause
//! expires. Source: Guo et al., "RDMA over Commodity Ethernet at Scale", SIGCOMM 2016, section 4.3. Leaves out: the
//! receiving and sending of the host, which go on.

use incastle_queueing::{
    PAUSE_FRAME_SIZE, PauseFrame, Priority, PrioritySet, SentPauses, pause_span,
};
use incastle_units::Time;

use super::port::Offer;
use super::{EgressQueue, Network, Packet, PauseTimer};
use crate::core::{EventQueue, HostIndex};
use crate::probe::Probe;

/// The time of its frames: the greatest value.
const QUANTA: u16 = u16::MAX;

/// A storm of pause frames. The ports of the host's switch must have priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PauseStorm {
    /// The host.
    pub host: HostIndex,
    /// The priorities that its frames pause.
    pub priorities: PrioritySet,
    /// The instant of the first frame.
    pub from: Time,
    /// From this instant on there are no more frames ([`Time::NEVER`] for none).
    pub until: Time,
}

/// A storm with the number of its frames.
#[derive(Debug)]
pub(crate) struct Storm {
    storm: PauseStorm,
    frames: u64,
}

impl From<PauseStorm> for Storm {
    fn from(storm: PauseStorm) -> Self {
        Self { storm, frames: 0 }
    }
}

impl Network {
    /// Enters the first frame of each storm.
    pub(super) fn enter_storms(&self, events: &mut EventQueue) {
        for (index, Storm { storm, .. }) in (0..).zip(&self.storms) {
            PauseTimer::Storm(index).enter(storm.from, events);
        }
    }

    /// The next frame of a storm is due.
    pub(super) fn storm<P: Probe>(
        &mut self,
        index: u32,
        now: Time,
        events: &mut EventQueue,
        probe: &mut P,
    ) {
        let Storm { storm, frames } = &mut self.storms[index as usize];
        if now >= storm.until {
            return;
        }
        *frames += 1;
        let (host, priorities) = (storm.host, storm.priorities);
        let at = self.hosts[host.index()].port;
        if let Some(recorder) = &mut self.recorder {
            for priority in priorities.iter() {
                let queue = |port| EgressQueue { port, priority };
                recorder.send_without_cause(queue(Self::reverse(at)), queue(at));
            }
        }
        let frame = PauseFrame {
            priorities,
            quanta: QUANTA,
        };
        let size = u16::try_from(PAUSE_FRAME_SIZE.count()).expect("a pause frame is small");
        let slot = self.pool.put(Packet::pause(frame, size));
        // Lost where the link is down, as any packet.
        self.send(host, Offer::at(now, slot), events, probe);
        let rate = self.rate(at);
        PauseTimer::Storm(index).enter(now + pause_span(QUANTA, rate) / 2, events);
    }

    /// The frames of a host's storms that paused a priority.
    pub(super) fn stormed(&self, host: HostIndex, priority: Priority) -> SentPauses {
        let storms = self.storms.iter();
        let own = storms.filter(|Storm { storm, .. }| {
            storm.host == host && storm.priorities.contains(priority)
        });
        own.fold(SentPauses::default(), |sent, storm| SentPauses {
            pauses: sent.pauses + storm.frames.min(1),
            refreshes: sent.refreshes + storm.frames.saturating_sub(1),
            ..sent
        })
    }
}
