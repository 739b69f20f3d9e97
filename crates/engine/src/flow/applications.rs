//! The applications of a run: their notices, their next calls, their end.
//!
//! Leaves out: their actions, which the host stack carries out.

use incastle_events::EventCounts;
use incastle_units::Time;

use super::{Action, Actions, Application, Notice};
use crate::core::{AppIndex, Clock, Event, EventCountIndex, FlowIndex, Kind};

/// An application with its pending notices.
struct AppSlot {
    app: Box<dyn Application>,
    notices: Vec<Notice>,
    /// The earliest event of this application in the event queue.
    wake: Time,
    /// Whether the run waits for its end.
    awaited: bool,
}

/// All applications.
#[derive(Default)]
pub(crate) struct Applications {
    slots: Vec<AppSlot>,
    /// Each waiter with its own number of the wait.
    counts: EventCounts<(AppIndex, u32)>,
    /// The list of actions between two calls; kept for its memory.
    actions: Vec<Action>,
    /// Applications that the run waits for.
    awaited: u32,
    /// Whether the run has ended with the last of these.
    over: bool,
}

impl Applications {
    /// Adds an application, which is called first at its `poll_timeout`.
    pub(crate) fn add(&mut self, app: Box<dyn Application>, clock: &mut Clock) -> AppIndex {
        let index = AppIndex::from_index(self.slots.len());
        self.slots.push(AppSlot {
            app,
            notices: Vec::new(),
            wake: Time::NEVER,
            awaited: false,
        });
        self.arm(index, clock);
        index
    }

    /// Frees all applications.
    pub(crate) fn clear(&mut self) {
        self.slots = Vec::new();
    }

    /// Adds a notice for an application, and enters its call.
    pub(crate) fn notify(&mut self, app: AppIndex, notice: Notice, clock: &mut Clock) {
        let slot = &mut self.slots[app.index()];
        slot.notices.push(notice);
        if slot.wake > clock.now() {
            slot.wake = clock.now();
            let event = Event::new(clock.now(), Kind::Application, app.0);
            clock.events.push(event);
        }
    }

    /// Calls an application, unless the event is outdated; returns its actions. The list is returned in
    /// [`Self::finish_call`].
    pub(crate) fn call(
        &mut self,
        index: AppIndex,
        next_flow: FlowIndex,
        now: Time,
    ) -> Option<Vec<Action>> {
        let slot = &mut self.slots[index.index()];
        if slot.wake > now {
            return None;
        }
        slot.wake = Time::NEVER;
        let list = std::mem::take(&mut self.actions);
        let next_count = u32::try_from(self.counts.len()).expect("fewer than 2^32 event counts");
        let mut actions = Actions::reuse(list, next_flow, next_count);
        for notice in slot.notices.drain(..) {
            slot.app.handle(now, notice, &mut actions);
        }
        if slot.app.poll_timeout().is_some_and(|at| at <= now) {
            slot.app.handle_timeout(now, &mut actions);
        }
        Some(actions.list)
    }

    /// The application that has just written may write late.
    pub(crate) fn may_rest(&mut self, app: AppIndex, until: Time) {
        self.slots[app.index()].app.may_rest(until);
    }

    /// After the actions of a call: enters the next call, and returns whether the run has ended with this application.
    pub(crate) fn finish_call(
        &mut self,
        index: AppIndex,
        actions: Vec<Action>,
        clock: &mut Clock,
    ) -> bool {
        self.actions = actions;
        self.arm(index, clock);
        let slot = &mut self.slots[index.index()];
        if slot.awaited && slot.app.is_over() {
            slot.awaited = false;
            self.awaited -= 1;
            self.over |= self.awaited == 0;
            return self.over;
        }
        false
    }

    fn arm(&mut self, index: AppIndex, clock: &mut Clock) {
        let slot = &mut self.slots[index.index()];
        if let Some(at) = slot.app.poll_timeout()
            && at < slot.wake
        {
            slot.wake = at;
            let at = at.max(clock.now());
            clock
                .events
                .push(Event::new(clock.last_turn(at), Kind::Application, index.0));
        }
    }

    /// Ends the run when this application, and all others that this was called for, are over.
    pub(crate) fn end_with(&mut self, index: AppIndex) {
        let slot = &mut self.slots[index.index()];
        assert!(!slot.awaited, "a run waits for an application once");
        if !slot.app.is_over() {
            slot.awaited = true;
            self.awaited += 1;
        }
    }

    /// Whether the run waits for any application.
    pub(crate) const fn is_awaited(&self) -> bool {
        self.awaited > 0
    }

    /// Whether the run has ended with the last application that it waited for.
    pub(crate) const fn is_over(&self) -> bool {
        self.over
    }

    // Event counts.

    /// Adds an event count.
    pub(crate) fn add_count(&mut self) {
        self.counts.add();
    }

    /// Adds one to an event count, and notifies the waiters that it has reached.
    pub(crate) fn advance(&mut self, count: EventCountIndex, clock: &mut Clock) {
        self.counts.advance(count.index());
        while let Some((app, tag)) = self.counts.take_reached(count.index()) {
            self.notify(app, Notice::Reached(tag), clock);
        }
    }

    /// Waits for an application until a count has reached a value.
    pub(crate) fn wait(
        &mut self,
        waiter: (AppIndex, u32),
        count: EventCountIndex,
        value: u64,
        clock: &mut Clock,
    ) {
        if let Some((app, tag)) = self.counts.wait(count.index(), value, waiter) {
            self.notify(app, Notice::Reached(tag), clock);
        }
    }
}
