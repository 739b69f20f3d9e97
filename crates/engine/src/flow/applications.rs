//! The applications of a run: their notices, their next calls, and when the last of them is over.
//!
//! Leaves out: the actions that they ask for, which the simulation carries out.

use incastle_units::Time;

use super::{Action, Actions, Application, EventCounts, Notice, Wait};
use crate::core::{AppIndex, Clock, Event, EventCountIndex, FlowIndex, Kind};

/// An application with the notices that it has not received yet.
struct AppSlot {
    app: Box<dyn Application>,
    inbox: Vec<Notice>,
    /// The earliest event of this application in the event queue.
    wake: Time,
    /// Whether the run goes on until it is over, and it is not.
    awaited: bool,
}

/// All applications.
#[derive(Default)]
pub(crate) struct Applications {
    slots: Vec<AppSlot>,
    counts: EventCounts,
    /// The list of an application's actions while none is called; kept for its memory alone.
    actions: Vec<Action>,
    /// Applications that the run waits for.
    awaited: u32,
    /// Whether the run has ended with the last of them.
    over: bool,
}

impl Applications {
    /// Adds an application, which is called first at its `poll_timeout`.
    pub(crate) fn add(&mut self, app: Box<dyn Application>, clock: &mut Clock) -> AppIndex {
        let index = AppIndex::from_index(self.slots.len());
        self.slots.push(AppSlot {
            app,
            inbox: Vec::new(),
            wake: Time::NEVER,
            awaited: false,
        });
        self.arm(index, clock);
        index
    }

    /// Forgets all applications: nothing more will happen.
    pub(crate) fn clear(&mut self) {
        self.slots = Vec::new();
    }

    /// Puts a notice into an application's inbox, and enters its call.
    pub(crate) fn notify(&mut self, app: AppIndex, notice: Notice, clock: &mut Clock) {
        let slot = &mut self.slots[app.index()];
        slot.inbox.push(notice);
        if slot.wake > clock.now() {
            slot.wake = clock.now();
            let event = Event::new(clock.now(), Kind::Application, app.0);
            clock.events.push(event);
        }
    }

    /// Calls an application, unless the event is outdated; returns the actions that it asks for. The
    /// list is to be given back ([`Self::finish_call`]).
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
        let mut actions = Actions::reuse(list, next_flow, self.counts.len());
        for notice in slot.inbox.drain(..) {
            slot.app.handle(now, notice, &mut actions);
        }
        if slot.app.poll_timeout().is_some_and(|at| at <= now) {
            slot.app.handle_timeout(now, &mut actions);
        }
        Some(actions.list)
    }

    /// The actions of a call are carried out: enters the next call, and returns whether the run has ended
    /// with this application.
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
                .push(Event::new(at, Kind::Application, index.0));
        }
    }

    /// Lets the run end when this application, and all others named here, are over.
    pub(crate) fn end_with(&mut self, index: AppIndex) {
        let slot = &mut self.slots[index.index()];
        assert!(!slot.awaited, "named once for each application");
        if !slot.app.is_over() {
            slot.awaited = true;
            self.awaited += 1;
        }
    }

    /// Whether the run waits for any application.
    pub(crate) const fn is_awaited(&self) -> bool {
        self.awaited > 0
    }

    /// Whether the run has ended with the last of those that it waited for.
    pub(crate) const fn is_over(&self) -> bool {
        self.over
    }

    // Event counts.

    /// Adds an event count.
    pub(crate) fn add_count(&mut self) {
        self.counts.add();
    }

    /// Adds one to an event count, and notifies those who have waited for that.
    pub(crate) fn advance(&mut self, count: EventCountIndex, clock: &mut Clock) {
        self.counts.advance(count);
        while let Some(waiter) = self.counts.take_reached(count) {
            self.notify(waiter.app, Notice::Reached(waiter.tag), clock);
        }
    }

    /// Lets an application wait until a count has reached a value.
    pub(crate) fn wait(&mut self, app: AppIndex, wait: Wait, clock: &mut Clock) {
        if self.counts.wait(app, wait) {
            self.notify(app, Notice::Reached(wait.tag), clock);
        }
    }
}
