//! Finite flows that begin one after the other, each on a separate connection, whose endpoints are freed
//! when all of it is acknowledged.

use std::collections::BTreeMap;

use incastle_engine::core::{FlowIndex, Side};
use incastle_engine::flow::{Actions, Notice};
use incastle_units::{Bytes, Span, Time};

use crate::group::GroupContext;
use crate::hosts::HostPair;
use crate::journal::Transfer;
use crate::plan::{Plan, Watch, wanted};
use incastle_scenario::topology::pairs::Pair;

/// All such flows of a group.
pub(super) struct Transfers {
    /// The parameters that all flows share; hosts, index and start are each flow's own.
    plan: Plan,
    deadline: Option<Span>,
    watch: Watch,
    record: Watch,
    /// Flows that are not over, with their numbers.
    open: BTreeMap<FlowIndex, (u64, Transfer)>,
    /// Those of them whose data have not all arrived.
    incomplete: usize,
}

/// The progress of the flow of a number.
pub(super) enum News {
    /// All of it has arrived.
    Arrived(u64),
    /// All of it is acknowledged.
    Acknowledged(u64),
}

impl Transfers {
    /// No flows yet. `pair` is any two hosts of the group.
    pub(super) fn new(context: &GroupContext<'_>, pair: Pair, deadline: Option<Span>) -> Self {
        Self {
            plan: context.plan(0, pair),
            deadline,
            watch: context.watch(),
            record: context.record(),
            open: BTreeMap::new(),
            incomplete: 0,
        }
    }

    /// Begins the flow of this number.
    pub(super) fn begin(
        &mut self,
        now: Time,
        index: u64,
        hosts: HostPair,
        size: Bytes,
        actions: &mut Actions,
    ) -> FlowIndex {
        self.plan.index = index;
        self.plan.hosts = hosts;
        self.plan.watched = self.watch.includes(index);
        self.plan.recorded = self.record.includes(index);
        let flow = self.plan.open(now, actions);
        let deadline = wanted(now, self.deadline, flow.endpoint(Side::Initiator), actions);
        actions.expect(flow.endpoint(Side::Responder), size.count());
        actions.write(flow.endpoint(Side::Initiator), size.count());
        if self.plan.stack.has_handshake() {
            actions.close(flow.endpoint(Side::Initiator));
        }
        let transfer = self.plan.begun(flow, now, deadline, size.count());
        self.open.insert(flow, (index, transfer));
        self.incomplete += 1;
        flow
    }

    /// The instant after which no more flows begin.
    pub(super) fn stop(&self) -> Time {
        self.plan.stop
    }

    /// Whether all that have begun have arrived.
    pub(super) fn are_complete(&self) -> bool {
        self.incomplete == 0
    }

    /// Whether all that have begun are acknowledged.
    pub(super) fn are_over(&self) -> bool {
        self.open.is_empty()
    }

    /// Records the progress of a flow, and returns it.
    pub(super) fn handle(
        &mut self,
        now: Time,
        notice: Notice,
        actions: &mut Actions,
    ) -> Option<News> {
        match notice {
            Notice::Delivered(end) => {
                let &(index, transfer) = self.open.get(&end.flow())?;
                self.plan.journal.completed(transfer, now);
                self.incomplete -= 1;
                Some(News::Arrived(index))
            }
            Notice::Finished(end) if end.side() == Side::Initiator => {
                actions.release(end.flow());
                let (index, _) = self.open.remove(&end.flow())?;
                Some(News::Acknowledged(index))
            }
            Notice::Drained(_) | Notice::Finished(_) | Notice::Reached(_) => None,
        }
    }
}
