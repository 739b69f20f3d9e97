//! One transfer by itself, for ideal completion times: the same applications without other traffic.

use std::sync::Arc;

use incastle_engine::core::{HostIndex, Purpose, Source, substream};
use incastle_engine::flow::Application;
use incastle_units::{Bytes, Time};

use crate::barrier::{Client, Requests};
use crate::bulk::Bulk;
use crate::hosts::HostPair;
use crate::journal::Journal;
use crate::journal::TransferKind;
use crate::paths::Paths;
use crate::plan::Plan;
use crate::stack::Stack;
use incastle_scenario::language::Root;
use incastle_scenario::language::flows::{Group, Size, Workload};

/// A transfer of one kind, between the only two hosts of a network: the first sends, the second
/// receives.
#[derive(Clone)]
pub struct Alone {
    /// For a response, the bytes of its request.
    request: Option<u64>,
    stack: Arc<Stack>,
}

impl Alone {
    /// A transfer of a group; absent for a round, which is many.
    pub fn new(group: &Group, kind: TransferKind, root: &Root) -> Option<Self> {
        let request = match (&group.workload, kind) {
            (_, TransferKind::Round) => return None,
            (_, TransferKind::Flow | TransferKind::Step) => None,
            (Workload::BarrierIncast(barrier), TransferKind::Response) => {
                Some(barrier.request.count())
            }
            (Workload::Query(query), TransferKind::Response) => Some(query.request.count()),
            (Workload::AllToAll(all), TransferKind::Response) => Some(all.request.count()),
            (_, TransferKind::Response) => unreachable!("responses follow requests alone"),
        };
        let mut transport = group.transport.clone();
        if kind != TransferKind::Flow {
            // Connections of requests and steps persist: all transfers but the first find theirs open.
            transport = transport.without_handshake();
        }
        let stack = Stack::new(&transport, root).waiting_for_room();
        Some(Self {
            request,
            stack: Arc::new(stack),
        })
    }

    /// The bytes of its request, if it is a response.
    pub fn request(&self) -> Option<u64> {
        self.request
    }

    /// The transport of its data.
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// The transport of its data; absent for a response, which needs a request first.
    pub fn flow(&self) -> Option<&Stack> {
        self.request.is_none().then_some(&*self.stack)
    }

    /// The application that makes it, at time zero; it is the first transfer in the journal.
    pub fn application(
        &self,
        bytes: Size,
        paths: &Arc<Paths>,
        journal: &Journal,
    ) -> Box<dyn Application> {
        let plan = Plan {
            group: 0,
            index: 0,
            hosts: HostPair {
                from: HostIndex::from_index(0),
                to: HostIndex::from_index(1),
            },
            start: Time::ZERO,
            stop: Time::NEVER,
            watched: false,
            recorded: false,
            stack: Arc::new(Stack::clone(&self.stack).within(paths)),
            journal: journal.clone(),
        };
        match (self.request, bytes) {
            (Some(request), Size::Of(bytes)) => {
                let requests = Requests::once(Bytes::new(request), bytes);
                let rng = substream(0, Source::Application, 0, Purpose::Arrivals);
                Box::new(Client::new(0, vec![plan], requests, rng))
            }
            _ => Box::new(Bulk::new(plan, bytes, None)),
        }
    }
}
