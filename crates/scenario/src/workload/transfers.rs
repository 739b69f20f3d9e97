//! Finite flows that begin one after the other, each on a connection of its own, whose ends are freed
//! when all of it is acknowledged.

use std::collections::BTreeMap;

use incastle_engine::{Actions, FlowIndex, HostIndex, Notice, Side};
use incastle_units::{Bytes, Span, Time};

use super::journal::Transfer;
use super::{Crew, Plan, Watch, wanted};

/// All such flows of a group.
pub(super) struct Transfers {
    /// What all flows have in common; hosts, index and start are each flow's own.
    plan: Plan,
    deadline: Option<Span>,
    watch: Watch,
    /// Flows whose last byte has not arrived.
    open: BTreeMap<FlowIndex, Transfer>,
}

impl Transfers {
    /// None yet. `pair` are any two hosts of the group.
    pub(super) fn new(crew: &Crew<'_>, pair: (usize, usize), deadline: Option<Span>) -> Self {
        Self {
            plan: crew.plan(0, pair),
            deadline,
            watch: crew.watch(),
            open: BTreeMap::new(),
        }
    }

    /// Begins the next one.
    pub(super) fn begin(
        &mut self,
        now: Time,
        pair: (HostIndex, HostIndex),
        size: Bytes,
        actions: &mut Actions,
    ) {
        (self.plan.from, self.plan.to) = pair;
        self.plan.watched = self.watch.includes(self.plan.index);
        let flow = self.plan.open(now, actions);
        let deadline = wanted(now, self.deadline, flow.end(Side::Near), actions);
        actions.expect(flow.end(Side::Far), size.count());
        actions.write(flow.end(Side::Near), size.count());
        if self.plan.stack.has_handshake() {
            actions.close(flow.end(Side::Near));
        }
        let transfer = self.plan.begun(flow, (now, deadline), size.count());
        self.open.insert(flow, transfer);
        self.plan.index += 1;
    }

    /// When no more begin.
    pub(super) fn stop(&self) -> Time {
        self.plan.stop
    }

    pub(super) fn handle(&mut self, now: Time, notice: Notice, actions: &mut Actions) {
        match notice {
            Notice::Delivered(end) => {
                if let Some(transfer) = self.open.remove(&end.flow()) {
                    self.plan.journal.completed(transfer, now);
                }
            }
            Notice::Finished(end) if end.side() == Side::Near => actions.release(end.flow()),
            Notice::Finished(_) => {}
        }
    }
}
