//! The list of algorithms: an enum on the hot path, with one boxed variant for users' controllers.

use incastle_units::{Bytes, Rate, Time};

use crate::{
    AckSample, CongestionEvent, Context, ControlState, Controller, Cubic, D2tcp, Dctcp, Dcudp,
    DtCwa, NewReno, Prague, Reaction, Swift, Udt, Window,
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
    /// UDT's native control: a sending period that NAKs lengthen.
    Udt(Udt),
    /// DCUDP: UDP's pace until marks come back, then a rate that they divide.
    Dcudp(Box<Dcudp>),
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

impl From<Dcudp> for Algorithm {
    fn from(dcudp: Dcudp) -> Self {
        Self::Dcudp(Box::new(dcudp))
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
            Self::Udt($controller) => $call,
            Self::Dcudp($controller) => $call,
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
            | Self::Udt(_) => false,
            Self::Cubic(_) | Self::Dcudp(_) | Self::Custom(_) => true,
        }
    }
}

impl Controller for Algorithm {
    #[inline]
    fn on_sent(&mut self, cx: &mut Context<'_>, size: Bytes) {
        dispatch!(self, c => c.on_sent(cx, size));
    }

    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample) {
        dispatch!(self, c => c.on_ack(cx, ack));
    }

    #[inline]
    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        dispatch!(self, c => c.on_congestion(cx, event))
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
        dispatch!(self, c => c.next_timer())
    }

    #[inline]
    fn window(&self) -> Window {
        dispatch!(self, c => c.window())
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        dispatch!(self, c => c.pacing())
    }

    #[inline]
    fn state(&self) -> ControlState {
        dispatch!(self, c => c.state())
    }
}
