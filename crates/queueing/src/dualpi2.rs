//! DualPI2: the coupled AQM of two queues, one for L4S (ECT(1), CE) and one for classic traffic.
//! Packets are judged at dequeue.
//!
//! Source: RFC 9332, appendix A.1 with the overload control of A.2 (figures 2 to 8). The scheduler is
//! weighted round robin by credit, as in Linux 6.18 (net/sched/sch_dualpi2.c), which keeps the credit while
//! one queue is empty. Leaves out: the queues themselves (engine), time-shifted FIFO, drops on arrival other
//! than by a full buffer, Linux's exemption of short queues.

use incastle_units::{Bytes, Ecn, Packets, Span, Time};

use crate::{DropCause, Verdict};

/// The parameters of [`DualPi2`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DualPi2Config {
    /// The target delay of the classic queue.
    pub target: Span,
    /// The longest round-trip time at which the controller is to be stable.
    pub rtt_max: Span,
    /// k: the coupling factor.
    pub coupling: f64,
    /// L4S packets that waited for less are not marked for their own delay.
    pub min_th: Span,
    /// From `min_th` over this range the probability of such a mark rises from 0 to 1.
    pub range: Span,
    /// With no more than this left behind in the L4S queue there is no such mark either.
    pub th_len: Packets,
    /// The share of the line that the classic queue gets while both queues have packets.
    pub classic_share: f64,
}

/// RFC 9332, figure 2, and the weight of 1/16 that appendix A.2 has as an example for the classic queue.
impl Default for DualPi2Config {
    fn default() -> Self {
        Self {
            target: Span::from_ms(15),
            rtt_max: Span::from_ms(100),
            coupling: 2.0,
            min_th: Span::from_us(800),
            range: Span::from_us(400),
            th_len: Packets::new(1),
            classic_share: 1.0 / 16.0,
        }
    }
}

/// An error in a [`DualPi2Config`].
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum DualPi2Error {
    /// A time that must not be zero.
    #[error("DualPI2's `target` and `rtt_max` must be longer than 0")]
    NoTime,
    /// Not a factor.
    #[error("DualPI2's `coupling` must be at least 1, not {0}")]
    Coupling(f64),
    /// Not a share.
    #[error("DualPI2's `classic_share` must be above 0 and below 1, not {0}")]
    Share(f64),
}

impl DualPi2Config {
    /// Whether the parameters make sense.
    pub fn check(&self) -> Result<(), DualPi2Error> {
        if self.target == Span::ZERO || self.rtt_max == Span::ZERO {
            return Err(DualPi2Error::NoTime);
        }
        if !(self.coupling >= 1.0 && self.coupling.is_finite()) {
            return Err(DualPi2Error::Coupling(self.coupling));
        }
        if !(self.classic_share > 0.0 && self.classic_share < 1.0) {
            return Err(DualPi2Error::Share(self.classic_share));
        }
        Ok(())
    }
}

/// One of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DualLane {
    /// Not-ECT and ECT(0).
    Classic,
    /// ECT(1) and CE.
    L4s,
}

impl DualLane {
    /// The queue of an arriving packet (RFC 9332, figure 3; RFC 9331, section 5.1).
    pub const fn of(ecn: Ecn) -> Self {
        match ecn {
            Ecn::NotEct | Ecn::Ect0 => Self::Classic,
            Ecn::Ect1 | Ecn::Ce => Self::L4s,
        }
    }
}

/// When the first packet of each queue arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DualHeads {
    /// Absent where no classic packet waits.
    pub classic: Option<Time>,
    /// Absent where no L4S packet waits.
    pub l4s: Option<Time>,
}

/// A packet that is taken out of its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dequeued {
    /// Its queue.
    pub lane: DualLane,
    /// Its ECN field.
    pub ecn: Ecn,
    /// The time that it has waited.
    pub waited: Span,
    /// Packets that it leaves behind in its queue.
    pub behind: Packets,
}

/// The controller of one port.
#[derive(Debug, Clone)]
pub struct DualPi2 {
    config: DualPi2Config,
    t_update: Span,
    alpha: f64,
    beta: f64,
    p_c_max: f64,
    /// p': the base probability.
    p: f64,
    prevq: f64,
    next_update: Time,
    /// What `recur` carries, per queue.
    classic_count: f64,
    l4s_count: f64,
    /// Above zero it is the classic queue's turn.
    credit: f64,
}

impl DualPi2 {
    /// Of a port that is idle at time zero. The configuration must pass [`DualPi2Config::check`].
    pub fn new(config: DualPi2Config) -> Self {
        assert_eq!(config.check(), Ok(()), "DualPI2's parameters were checked");
        // Figure 2: Tupdate = min(target, RTT_max / 3).
        let t_update = config
            .target
            .min(Span::from_ps((config.rtt_max.as_ps() / 3).max(1)));
        let rtt_max = config.rtt_max.as_secs_lossy();
        Self {
            config,
            t_update,
            alpha: 0.1 * t_update.as_secs_lossy() / (rtt_max * rtt_max),
            beta: 0.3 / rtt_max,
            p_c_max: (1.0 / (config.coupling * config.coupling)).min(1.0),
            p: 0.0,
            prevq: 0.0,
            next_update: Time::ZERO + t_update,
            classic_count: 0.0,
            l4s_count: 0.0,
            credit: 0.0,
        }
    }

    /// p'.
    pub const fn base_probability(&self) -> f64 {
        self.p
    }

    /// Figure 8: all updates that are due until `now`. It must be called before each change of the queues, so
    /// that the first packets are those of every update.
    pub fn advance(&mut self, now: Time, heads: DualHeads) {
        while self.next_update <= now {
            let at = self.next_update;
            let waits =
                |head: Option<Time>| head.map_or(Span::ZERO, |head| at.saturating_since(head));
            // Line 2a: the greater of both delays.
            self.update(waits(heads.classic).max(waits(heads.l4s)));
            let periods = if self.is_at_rest() && heads == DualHeads::default() {
                // Nothing changes until a packet comes.
                (now - at).as_ps() / self.t_update.as_ps() + 1
            } else {
                1
            };
            self.next_update = at + Span::from_ps(self.t_update.as_ps() * periods);
        }
    }

    fn is_at_rest(&self) -> bool {
        self.p == 0.0 && self.prevq == 0.0
    }

    fn update(&mut self, curq: Span) {
        let curq = curq.as_secs_lossy();
        let target = self.config.target.as_secs_lossy();
        let p = self.p + self.alpha * (curq - target) + self.beta * (curq - self.prevq);
        // Figures 6 and 8 leave its bounds to the reader.
        self.p = p.clamp(0.0, 1.0);
        self.prevq = curq;
    }

    /// The queue that sends next.
    pub fn select(&self, heads: DualHeads) -> Option<DualLane> {
        let alone = heads.l4s.is_none();
        if heads.classic.is_some() && (alone || self.credit > 0.0) {
            return Some(DualLane::Classic);
        }
        heads.l4s.map(|_| DualLane::L4s)
    }

    /// A packet is sent: while the other queue waits, the classic queue earns its share, and pays for its
    /// packets.
    pub fn charge(&mut self, lane: DualLane, size: Bytes, other_waits: bool) {
        if !other_waits {
            self.credit = 0.0;
            return;
        }
        let size = size.count() as f64;
        let share = self.config.classic_share;
        self.credit += match lane {
            DualLane::L4s => share * size,
            DualLane::Classic => -(1.0 - share) * size,
        };
    }

    /// Figures 4 and 7: the verdict on a packet that is taken out.
    pub fn judge(&mut self, packet: &Dequeued) -> Verdict {
        let p_c = self.p * self.p;
        let p_cl = self.config.coupling * self.p;
        match packet.lane {
            DualLane::L4s if p_cl < 1.0 => {
                let p_l = self.native(packet).max(p_cl);
                marked(recur(&mut self.l4s_count, p_l))
            }
            // Saturated: classic drops in front of the marks.
            DualLane::L4s if recur(&mut self.l4s_count, p_c) => Verdict::Drop(DropCause::Early),
            DualLane::L4s => marked(recur(&mut self.l4s_count, 1.0)),
            DualLane::Classic if !recur(&mut self.classic_count, p_c) => Verdict::Admit,
            DualLane::Classic if packet.ecn == Ecn::NotEct || p_c >= self.p_c_max => {
                Verdict::Drop(DropCause::Early)
            }
            DualLane::Classic => Verdict::Mark,
        }
    }

    /// Figure 5, and lines 5a to 5d of figure 7: the probability of a mark for the packet's own delay.
    fn native(&self, packet: &Dequeued) -> f64 {
        let DualPi2Config {
            min_th,
            range,
            th_len,
            ..
        } = self.config;
        if packet.behind <= th_len || packet.waited < min_th {
            return 0.0;
        }
        let above = packet.waited - min_th;
        if above >= range {
            1.0
        } else {
            above.as_ps() as f64 / range.as_ps() as f64
        }
    }
}

fn marked(chosen: bool) -> Verdict {
    if chosen {
        Verdict::Mark
    } else {
        Verdict::Admit
    }
}

/// Figure 4: true in this share of the calls, evenly spaced.
fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood.min(1.0);
    if *count > 1.0 {
        *count -= 1.0;
        return true;
    }
    false
}
