//! Incasts: at random instants several random hosts send to one random host, all at once.
//!
//! With Poisson flows in another group they make the mixtures of background traffic and incast
//! that papers since DCTCP and HPCC use. Each sender has a separate connection; there are no requests.
//! Hosts that are still busy with an earlier incast are drawn as any other. Leaves out: spread starts.

use std::collections::BTreeMap;

use incastle_engine::core::{HostIndex, Purpose};
use incastle_engine::flow::{Actions, Application, Notice};
use incastle_units::{Bytes, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::group::GroupContext;
use crate::hosts::{HostPair, indices};
use crate::interarrival::Arrivals;
use crate::journal::TransferKind;
use crate::journal::{Journal, Transfer, TransferNote};
use crate::transfers::{News, Transfers};
use incastle_scenario::language::flows::{self, Count};
use incastle_scenario::topology::pairs::GroupHosts;

/// All flows of a group.
pub(super) struct Incast {
    transfers: Transfers,
    group: usize,
    journal: Journal,
    parameters: flows::RandomIncast,
    /// The hosts that may send. Draws change their order, which makes no later draw less even.
    from: Vec<HostIndex>,
    to: Vec<HostIndex>,
    senders: Count,
    arrivals: Arrivals,
    pairs_rng: Xoshiro256PlusPlus,
    /// Flows begun.
    begun: u64,
    /// Active incasts, by their first flow.
    rounds: BTreeMap<u64, Round>,
}

/// An active incast.
struct Round {
    transfer: Transfer,
    /// Flows that are still to arrive.
    missing: usize,
}

impl Incast {
    pub(super) fn new(
        context: &GroupContext<'_>,
        incast: &flows::RandomIncast,
        group_hosts: &GroupHosts,
        capacity: f64,
    ) -> Self {
        let per_second = match (incast.incast_rate, incast.load) {
            (Some(arrivals), _) => arrivals,
            (None, Some(load)) => {
                load * capacity
                    / incast.mean_bytes(context.group.count, &group_hosts.from, &group_hosts.to)
            }
            (None, None) => unreachable!("a checked group has a load or arrivals"),
        };
        Self {
            transfers: Transfers::new(context, group_hosts.first(), incast.deadline),
            group: context.position,
            journal: context.journal.clone(),
            parameters: incast.clone(),
            from: indices(&group_hosts.from),
            to: indices(&group_hosts.to),
            senders: context.group.count,
            arrivals: Arrivals::new(context, per_second, &incast.interarrival),
            pairs_rng: context.stream(0, Purpose::Pairs),
            begun: 0,
            rounds: BTreeMap::new(),
        }
    }

    /// Puts the senders to a receiver in front of all others, each set equally likely, and returns
    /// their number.
    fn draw_senders(&mut self, receiver: HostIndex) -> usize {
        if let Some(place) = self.from.iter().position(|&host| host == receiver) {
            let last = self.from.len() - 1;
            self.from.swap(place, last);
        }
        let others = self.from.len() - usize::from(self.from.last() == Some(&receiver));
        let Count::Number(wanted) = self.senders else {
            return others;
        };
        // Fisher and Yates, as far as needed.
        for place in 0..wanted as usize {
            let rest = (others - place) as u64;
            let drawn = place + random::below(&mut self.pairs_rng, rest) as usize;
            self.from.swap(place, drawn);
        }
        wanted as usize
    }

    /// The bytes of one of `senders` senders.
    fn bytes_of(&self, sender: usize, senders: usize) -> Bytes {
        let (sender, senders) = (sender as u64, senders as u64);
        match self.parameters.total_size {
            None => self
                .parameters
                .sru
                .expect("a checked group has a unit or a total"),
            Some(total) => {
                let total = total.count();
                Bytes::new((total / senders + u64::from(sender < total % senders)).max(1))
            }
        }
    }

    fn begin(&mut self, now: Time, actions: &mut Actions) {
        let number = random::below(&mut self.pairs_rng, self.to.len() as u64);
        let receiver = self.to[number as usize];
        let senders = self.draw_senders(receiver);
        let mut first = None;
        for place in 0..senders {
            let pair = HostPair {
                from: self.from[place],
                to: receiver,
            };
            let bytes = self.bytes_of(place, senders);
            let index = self.begun + place as u64;
            let flow = self.transfers.begin(now, index, pair, bytes, actions);
            first.get_or_insert(flow);
        }
        let transfer = self.journal.begun(TransferNote {
            group: self.group,
            index: number,
            kind: TransferKind::Round,
            flow: first.expect("a checked group has a sender to each receiver"),
            started: now,
            deadline: None,
            completed: None,
            bytes: self.parameters.bytes(senders),
        });
        let missing = senders;
        self.rounds.insert(self.begun, Round { transfer, missing });
        self.begun += senders as u64;
    }

    /// A flow is complete, and with it perhaps its incast.
    fn arrived(&mut self, index: u64, now: Time) {
        let round = self.rounds.range_mut(..=index).next_back();
        let (&first, round) = round.expect("a flow belongs to an active incast");
        round.missing -= 1;
        if round.missing == 0 {
            self.journal.completed(round.transfer, now);
            self.rounds.remove(&first);
        }
    }
}

impl Application for Incast {
    fn handle(&mut self, now: Time, notice: Notice, actions: &mut Actions) {
        if let Some(News::Arrived(index)) = self.transfers.handle(now, notice, actions) {
            self.arrived(index, now);
        }
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        self.begin(now, actions);
        self.arrivals.advance(now);
    }

    fn is_over(&self) -> bool {
        self.arrivals.next() >= self.transfers.stop() && self.transfers.are_complete()
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.arrivals.next()).filter(|at| *at < self.transfers.stop())
    }
}
