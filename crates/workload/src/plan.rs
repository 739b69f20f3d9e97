//! A planned flow, or the connections of one client.

use std::sync::Arc;

use incastle_engine::core::EndpointIndex;
use incastle_engine::flow::Actions;
use incastle_scenario::language::selection::{Name, Selection};
use incastle_units::{Span, Time};

use crate::hosts::HostPair;
use crate::journal::Journal;
use crate::stack::Stack;

/// A planned flow, or the connections of one client.
pub(crate) struct Plan {
    /// The group's position in the scenario.
    pub(crate) group: usize,
    /// The flow's number within the group.
    pub(crate) index: u64,
    pub(crate) hosts: HostPair,
    /// When it starts.
    pub(crate) start: Time,
    /// When it stops sending new data.
    pub(crate) stop: Time,
    /// Whether its controller is watched.
    pub(crate) watched: bool,
    /// Whether its events are recorded.
    pub(crate) recorded: bool,
    pub(crate) stack: Arc<Stack>,
    pub(crate) journal: Journal,
}

/// The flows of a group that a probe observes.
pub(crate) struct Watch {
    pub(crate) group: String,
    pub(crate) flows: Vec<Selection>,
}

impl Watch {
    pub(crate) fn includes(&self, index: u64) -> bool {
        let name = || Name {
            role: self.group.clone(),
            index: Some(index as u32),
        };
        self.flows.iter().any(|flows| flows.contains(&name()))
    }
}

/// The instant of a deadline, which is passed to the controller of `end`.
pub(crate) fn wanted(
    now: Time,
    deadline: Option<Span>,
    end: EndpointIndex,
    actions: &mut Actions,
) -> Option<Time> {
    let at = now.saturating_add(deadline?);
    actions.deadline(end, at);
    Some(at)
}
