//! The list of algorithms: an enum on the hot path, with one boxed variant for users' controllers.

use incastle_units::{Bytes, Rate, Time};

use crate::{
    AckSample, Bbr, CongestionEvent, Context, ControlState, Controller, Cubic, D2tcp, Dcqcn, Dctcp,
    Dcudp, DcudpR, DtCwa, Hpcc, LostPacket, NewReno, Prague, RateDctcp, RateSample, Reaction,
    Swift, Timely, Udt, Window,
};

/// Any controller. Calls are dispatched by a match, without a virtual call for ours. The larger ones lie
/// behind a pointer: all others would be as large.
pub enum Algorithm {
    /// Reno's and NewReno's window rule.
    NewReno(NewReno),
    /// DCTCP: NewReno that reacts to marks by their fraction.
    Dctcp(Dctcp),
    /// CUBIC.
    Cubic(Box<Cubic>),
    /// D2TCP: DCTCP with deadlines.
    D2tcp(Box<D2tcp>),
    /// DT-CWA: steps down while marks come back, one step up afterwards.
    DtCwa(Box<DtCwa>),
    /// Prague: DCTCP for L4S.
    Prague(Box<Prague>),
    /// Swift: a window that holds the delay at a target.
    Swift(Box<Swift>),
    /// BBR: a model of the path by its bandwidth and round-trip time.
    Bbr(Box<Bbr>),
    /// UDT's native control: a sending period that NAKs lengthen.
    Udt(Udt),
    /// DCUDP: UDP's pace until marks come back, then a rate that they divide.
    Dcudp(Box<Dcudp>),
    /// DCUDP, revised: a window that marks shrink packet by packet.
    DcudpR(Box<DcudpR>),
    /// DCQCN: a rate that congestion notifications cut.
    Dcqcn(Box<Dcqcn>),
    /// TIMELY: a rate that follows the gradient of the round-trip time.
    Timely(Box<Timely>),
    /// HPCC: a rate and a window from telemetry of each hop.
    Hpcc(Box<Hpcc>),
    /// DCTCP in rate form.
    RateDctcp(Box<RateDctcp>),
    /// A controller from outside this crate.
    Custom(Box<dyn Controller>),
}

impl From<Cubic> for Algorithm {
    fn from(cubic: Cubic) -> Self {
        Self::Cubic(Box::new(cubic))
    }
}

impl From<D2tcp> for Algorithm {
    fn from(d2tcp: D2tcp) -> Self {
        Self::D2tcp(Box::new(d2tcp))
    }
}

impl From<DtCwa> for Algorithm {
    fn from(dt_cwa: DtCwa) -> Self {
        Self::DtCwa(Box::new(dt_cwa))
    }
}

impl From<Prague> for Algorithm {
    fn from(prague: Prague) -> Self {
        Self::Prague(Box::new(prague))
    }
}

impl From<Swift> for Algorithm {
    fn from(swift: Swift) -> Self {
        Self::Swift(Box::new(swift))
    }
}

impl From<Bbr> for Algorithm {
    fn from(bbr: Bbr) -> Self {
        Self::Bbr(Box::new(bbr))
    }
}

impl From<Dcudp> for Algorithm {
    fn from(dcudp: Dcudp) -> Self {
        Self::Dcudp(Box::new(dcudp))
    }
}

impl From<DcudpR> for Algorithm {
    fn from(dcudp: DcudpR) -> Self {
        Self::DcudpR(Box::new(dcudp))
    }
}

impl From<Dcqcn> for Algorithm {
    fn from(dcqcn: Dcqcn) -> Self {
        Self::Dcqcn(Box::new(dcqcn))
    }
}

impl From<Timely> for Algorithm {
    fn from(timely: Timely) -> Self {
        Self::Timely(Box::new(timely))
    }
}

impl From<Hpcc> for Algorithm {
    fn from(hpcc: Hpcc) -> Self {
        Self::Hpcc(Box::new(hpcc))
    }
}

impl From<RateDctcp> for Algorithm {
    fn from(dctcp: RateDctcp) -> Self {
        Self::RateDctcp(Box::new(dctcp))
    }
}

macro_rules! dispatch {
    ($self:ident, $controller:ident => $call:expr) => {
        match $self {
            Self::NewReno($controller) => $call,
            Self::Dctcp($controller) => $call,
            Self::Cubic($controller) => $call,
            Self::D2tcp($controller) => $call,
            Self::DtCwa($controller) => $call,
            Self::Prague($controller) => $call,
            Self::Swift($controller) => $call,
            Self::Bbr($controller) => $call,
            Self::Udt($controller) => $call,
            Self::Dcudp($controller) => $call,
            Self::DcudpR($controller) => $call,
            Self::Dcqcn($controller) => $call,
            Self::Timely($controller) => $call,
            Self::Hpcc($controller) => $call,
            Self::RateDctcp($controller) => $call,
            Self::Custom($controller) => $call,
        }
    };
}

impl Algorithm {
    /// Whether `on_sent` does anything: if not, the caller need not build a context for it.
    #[inline]
    pub const fn uses_on_sent(&self) -> bool {
        match self {
            Self::NewReno(_)
            | Self::Dctcp(_)
            | Self::D2tcp(_)
            | Self::DtCwa(_)
            | Self::Prague(_)
            | Self::Swift(_)
            | Self::Udt(_)
            | Self::Timely(_)
            | Self::Hpcc(_)
            | Self::RateDctcp(_) => false,
            Self::Dcqcn(dcqcn) => dcqcn.counts_bytes(),
            Self::Cubic(_) | Self::Bbr(_) | Self::Dcudp(_) | Self::DcudpR(_) | Self::Custom(_) => {
                true
            }
        }
    }

    /// Notes an acknowledgement that changes neither rate, window nor timer; returns whether it is one. If not, the
    /// caller makes the sample for `on_ack`.
    #[inline]
    pub fn notes_ack(&mut self, now: Time) -> bool {
        if let Self::Dcqcn(dcqcn) = self {
            dcqcn.note_ack(now);
            return true;
        }
        false
    }

    /// Whether the last acknowledgement led to a rate, new or not: HPCC-ns3 moves the next departure then, where it
    /// calls `ChangeRate`. False but for HPCC.
    #[inline]
    pub const fn has_rated(&self) -> bool {
        match self {
            Self::Hpcc(hpcc) => hpcc.has_rated(),
            _ => false,
        }
    }

    /// Whether `on_rate` and `on_lost` do anything: if not, the transport takes no samples.
    #[inline]
    pub const fn samples_rate(&self) -> bool {
        matches!(self, Self::Bbr(_))
    }

    /// Whether it can matter when data are written behind others that wait. It does to a controller that reads
    /// [`Context::remaining`], and where segments are paced: each write is an occasion to send.
    pub fn heeds_writes(&self) -> bool {
        match self {
            Self::NewReno(_)
            | Self::Dctcp(_)
            | Self::Cubic(_)
            | Self::DtCwa(_)
            | Self::Udt(_)
            | Self::DcudpR(_) => false,
            Self::Dcudp(dcudp) => dcudp.reads_remaining(),
            Self::D2tcp(_)
            | Self::Prague(_)
            | Self::Swift(_)
            | Self::Bbr(_)
            | Self::Dcqcn(_)
            | Self::Timely(_)
            | Self::Hpcc(_)
            | Self::RateDctcp(_)
            | Self::Custom(_) => true,
        }
    }

    /// Whether it counts losses: the transport reports each, not one per window of data.
    #[inline]
    pub const fn counts_losses(&self) -> bool {
        matches!(self, Self::DcudpR(_))
    }

    /// Whether it keeps its rate low on purpose, so that samples of it say nothing of the path.
    pub fn is_probing_rtt(&self) -> bool {
        matches!(self, Self::Bbr(bbr) if bbr.is_probing_rtt())
    }

    /// The timer of a controller that has one.
    #[inline(never)]
    fn next_timer_of_few(&self) -> Option<Time> {
        dispatch!(self, c => c.next_timer())
    }
}

impl Controller for Algorithm {
    #[inline]
    fn on_sent(&mut self, cx: &mut Context<'_>, size: Bytes) {
        dispatch!(self, c => c.on_sent(cx, size));
    }

    #[inline(always)]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        dispatch!(self, c => c.on_ack(cx, ack));
    }

    fn on_rate(&mut self, cx: &mut Context<'_>, sample: &RateSample) {
        dispatch!(self, c => c.on_rate(cx, sample));
    }

    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &LostPacket) {
        dispatch!(self, c => c.on_lost(cx, lost));
    }

    #[inline]
    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        dispatch!(self, c => c.on_congestion(cx, event))
    }

    fn on_ecn_lost(&mut self) {
        dispatch!(self, c => c.on_ecn_lost());
    }

    fn restore(&mut self, before: &ControlState) {
        dispatch!(self, c => c.restore(before));
    }

    #[inline]
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        dispatch!(self, c => c.on_timer(cx));
    }

    #[inline]
    fn next_timer(&self) -> Option<Time> {
        // A table of jumps would cost every packet of TCP more than this comparison.
        match self {
            Self::NewReno(_)
            | Self::Dctcp(_)
            | Self::Cubic(_)
            | Self::D2tcp(_)
            | Self::DtCwa(_)
            | Self::Prague(_)
            | Self::Swift(_)
            | Self::Bbr(_)
            | Self::Udt(_)
            | Self::Dcudp(_)
            | Self::DcudpR(_)
            | Self::Timely(_)
            | Self::Hpcc(_)
            | Self::RateDctcp(_) => None,
            Self::Dcqcn(_) | Self::Custom(_) => self.next_timer_of_few(),
        }
    }

    #[inline]
    fn window(&self) -> Window {
        dispatch!(self, c => c.window())
    }

    #[inline(always)]
    fn pacing(&self) -> Option<Rate> {
        dispatch!(self, c => c.pacing())
    }

    #[inline]
    fn state(&self) -> ControlState {
        dispatch!(self, c => c.state())
    }
}
