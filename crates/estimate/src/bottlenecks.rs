//! The bottlenecks of flows in the fluid, and their waits at other links.
//!
//! A window lags behind the fluid: it opens round trip by round trip, and closes after marks or losses. A flow has
//! that lag once. Around each link of its path it would appear again, since the paces there come from all
//! links. So a flow with a bottleneck is timed around one link, and waits at the others.

use incastle_units::{Bytes, Span};

use crate::crossings::{Directed, FlowAtHop};
use crate::discipline::Discipline;
use crate::surroundings::Whole;
use incastle_scenario::topology::layout::End;

/// The bottlenecks of flows among the links of their paths.
#[derive(Default)]
pub(super) struct Bottlenecks {
    /// By flow and link of its path: bits that it could have sent in addition, were that link no bottleneck.
    missed: Vec<f64>,
    /// Likewise: the shares of the flow's time in which the port forward, and that back, were full.
    full: Vec<[f64; 2]>,
    /// By flow: the index on its path of the link around which it is timed; absent without a
    /// bottleneck.
    timed: Vec<Option<u16>>,
    /// By port: the mean delay of packets while it is full.
    waits: Vec<Span>,
}

impl Bottlenecks {
    /// The bottlenecks in the fluid. `whole_there` returns for a flow and a link of its path whether the network
    /// around that link has all that the flow meets.
    pub(super) fn new(
        whole: &Whole<'_>,
        missed: Vec<f64>,
        full: Vec<[f64; 2]>,
        whole_there: impl Fn(usize, usize) -> bool,
    ) -> Self {
        let timed = (0..whole.flows.len()).map(|flow| {
            let first = whole.crossings.first(flow);
            let path = whole.crossings.path(flow).enumerate();
            let missed = |hop| missed[first + hop];
            path.clone().find(|&(hop, _)| missed(hop) > 0.0)?;
            let key = |&(hop, step): &(usize, Directed)| {
                (hop > 0 && whole_there(flow, step.link), missed(hop))
            };
            // The first of equals.
            let (hop, _) = path.rev().max_by(|a, b| {
                let (a, b) = (key(a), key(b));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
            })?;
            Some(u16::try_from(hop).expect("a path has fewer than 65,536 links"))
        });
        let timed = timed.collect();
        Self {
            missed,
            full,
            timed,
            waits: waits(whole),
        }
    }

    /// The index, on a flow's path, of the link around which it is timed. Its surroundings contain all that the flow
    /// meets, or it is the worst bottleneck. Absent without bottlenecks.
    pub(super) fn timed_at(&self, flow: usize) -> Option<usize> {
        self.timed[flow].map(usize::from)
    }

    /// A flow's waits in a round trip at ports elsewhere, seen from a link of its path: nothing without a
    /// bottleneck.
    pub(super) fn round_trip_wait(&self, whole: &Whole<'_>, at: FlowAtHop) -> Span {
        let FlowAtHop { flow, hop: here } = at;
        if self.timed[flow].is_none() {
            return Span::ZERO;
        }
        let forth = self.forward_wait(whole, at);
        let first = whole.crossings.first(flow);
        let path = whole.crossings.path(flow).enumerate();
        // ACKs too wait only at switches, not at the receiver.
        let last = path.len() - 1;
        let back = path.filter(|&(hop, _)| hop != here && hop != last);
        back.fold(forth, |sum, (hop, step)| {
            let port = step.port() ^ 1;
            sum + self.waits[port].scale_lossy(self.full[first + hop][1])
        })
    }

    /// The waits of a packet of a flow with a bottleneck at ports elsewhere. Its host's port is left out: the
    /// packet waits there for its own flow, or its pace contains the wait.
    pub(super) fn forward_wait(&self, whole: &Whole<'_>, at: FlowAtHop) -> Span {
        let FlowAtHop { flow, hop: here } = at;
        let first = whole.crossings.first(flow);
        let path = whole.crossings.path(flow).enumerate().skip(1);
        path.filter(|&(hop, _)| hop != here)
            .map(|(hop, step)| self.waits[step.port()].scale_lossy(self.full[first + hop][0]))
            .fold(Span::ZERO, |sum, wait| sum + wait)
    }

    /// The flow's own part of the discipline of its worst bottleneck among the switches' ports elsewhere, seen from a
    /// link of its path. Absent without one, or where it does not mark. `rate` is the flow's mean rate.
    pub(super) fn part(&self, whole: &Whole<'_>, at: FlowAtHop, rate: f64) -> Option<Discipline> {
        let FlowAtHop { flow, hop: here } = at;
        let first = whole.crossings.first(flow);
        let path = whole.crossings.path(flow).enumerate().skip(1);
        let others = path.filter(|&(hop, _)| hop != here && self.missed[first + hop] > 0.0);
        let missed = |hop: usize| self.missed[first + hop];
        let (_, step) = others.max_by(|a, b| missed(a.0).total_cmp(&missed(b.0)))?;
        let capacity = whole.scenario.layout().links[step.link].rate;
        let share = (rate / capacity.bits_per_second() as f64).min(1.0);
        let discipline = whole.discipline(step)?;
        Some(discipline.part(share, whole.full_packet()))
    }
}

/// By port: the mean delay of packets while it is full; zero at hosts, and where nothing is marked.
fn waits(whole: &Whole<'_>) -> Vec<Span> {
    let layout = whole.scenario.layout();
    let ports = (0..layout.links.len())
        .flat_map(|link| [0, 1].map(|direction| Directed { link, direction }));
    let wait = |step: Directed| {
        let discipline = whole.discipline(step)?;
        let rate = layout.links[step.link].rate;
        Some(discipline.wait(rate, whole.full_packet()))
    };
    ports.map(|step| wait(step).unwrap_or(Span::ZERO)).collect()
}

impl Whole<'_> {
    /// The discipline of a port; absent at a host, and where nothing is marked.
    pub(super) fn discipline(&self, step: Directed) -> Option<Discipline> {
        let layout = self.scenario.layout();
        match step.ends(layout) {
            (End::Host(_), _) => None,
            (End::Switch(switch), to) => {
                let rate = layout.links[step.link].rate;
                let full_packet = self.full_packet();
                Discipline::of(self.switches[switch], layout.name(to), rate, full_packet)
            }
        }
    }

    /// The largest packet of any group, on the wire.
    pub(super) fn full_packet(&self) -> Bytes {
        let sizes = self
            .stacks
            .iter()
            .map(|stack| stack.wire_size(stack.payload()));
        Bytes::new(sizes.max().unwrap_or(0))
    }
}
