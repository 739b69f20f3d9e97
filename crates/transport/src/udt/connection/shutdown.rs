//! The end of a connection: the application closes, and its data are delivered as long as it lingers.
//! Then the peer receives a shutdown (draft-gg-udt-03, section 4.4) and responds. Leaves out the
//! failures.

use incastle_units::{Span, Time};

/// The application's request to close.
#[derive(Debug, Clone, Copy)]
struct Closing {
    /// Until when data are delivered, or NEVER.
    until: Time,
    sent: bool,
}

/// The progress of the shutdown.
#[derive(Debug, Clone, Default)]
pub(super) struct Shutdown {
    closing: Option<Closing>,
    /// A shutdown packet must leave.
    due: bool,
    peer_closed: bool,
    ended: bool,
}

impl Shutdown {
    /// Whether the application has closed.
    pub(super) const fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// The application closes.
    pub(super) fn close(&mut self, now: Time, linger: Option<Span>) {
        assert!(self.closing.is_none(), "an application closes once");
        self.closing = Some(Closing {
            until: linger.map_or(Time::NEVER, |linger| now.saturating_add(linger)),
            sent: false,
        });
    }

    /// Everything was delivered.
    pub(super) fn on_delivered(&mut self) {
        self.due |= self.closing.is_some_and(|closing| !closing.sent);
    }

    /// A shutdown packet must leave, or none must.
    pub(super) fn set_due(&mut self, due: bool) {
        self.due = due;
    }

    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    /// The shutdown packet leaves; gives whether that is the application's.
    pub(super) fn on_sent(&mut self) -> bool {
        assert!(self.due, "a shutdown leaves when it is due");
        self.due = false;
        if let Some(closing) = &mut self.closing {
            closing.sent = true;
        }
        self.closing.is_some()
    }

    /// Whether a shutdown was sent, to which the peer has not responded.
    #[inline]
    pub(super) fn is_sent(&self) -> bool {
        self.closing.is_some_and(|closing| closing.sent)
    }

    /// The peer closed; gives whether that is new.
    pub(super) fn on_peer_closed(&mut self) -> bool {
        !std::mem::replace(&mut self.peer_closed, true)
    }

    pub(super) const fn has_peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// Whether one of both has closed.
    pub(super) const fn is_parting(&self) -> bool {
        self.peer_closed || self.closing.is_some()
    }

    /// The connection is over; gives whether that is new.
    pub(super) fn end(&mut self) -> bool {
        !std::mem::replace(&mut self.ended, true)
    }

    #[inline]
    pub(super) const fn has_ended(&self) -> bool {
        self.ended
    }

    /// When the application lingers no longer, or NEVER.
    #[inline]
    pub(super) fn linger_at(&self) -> Time {
        match &self.closing {
            Some(closing) if !closing.sent && !self.ended => closing.until,
            _ => Time::NEVER,
        }
    }
}
