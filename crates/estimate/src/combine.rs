//! From delays at links to completion times: ideal time + extra time in the fluid + delays along the path.
//!
//! A flow has its own delay at each simulated link. At any other link it gets the delay of a random flow of
//! about its size in the same situation. This follows section 3.4 of the NSDI paper.

use std::collections::BTreeMap;
use std::sync::Arc;

use incastle_engine::core::Digest;
use incastle_units::{Span, Time};

use crate::clusters::{Clusters, PortKind};
use crate::crossings::{Directed, FlowAtHop};
use crate::paces::Decomposition;
use crate::pools::{self, Pool, Simulated, Traits};
use crate::surroundings::Whole;
use crate::workers::Workers;
use incastle_experiment::ideal::slowdown;
use incastle_experiment::interval;
use incastle_experiment::{Column, Output, Table, Totals};
use incastle_scenario::language::measure::Ideal;
use incastle_scenario::topology::layout::Layout;
use incastle_workload::TransferKind;

/// The input of completion times.
pub(super) struct Combination<'a> {
    decomposition: Decomposition<'a>,
    simulated: Simulated<'a>,
    pools: BTreeMap<PortKind, Pool>,
}

/// The estimate: transfers and links. `minimum`: by flow, the lower bound of its time under any transport.
pub(super) fn output(
    decomposition: Decomposition<'_>,
    simulated: Simulated<'_>,
    minimum: &[Option<Span>],
    workers: &impl Workers,
) -> Output {
    let combination = Combination::new(decomposition, simulated);
    let whole = decomposition.whole;
    let Simulated {
        clusters,
        delays,
        ideals,
    } = simulated;
    let end = Time::ZERO + whole.scenario.duration();
    let completed = workers.map(whole.flows.len(), |flow| {
        let took = combination.took(flow, ideals[flow]?)?.max(minimum[flow]?);
        Some(whole.flows[flow].at.saturating_add(took)).filter(|at| *at <= end)
    });
    let mut digest = Digest::default();
    for at in &completed {
        digest.mix(at.map_or(u64::MAX, Time::as_ps), 0);
    }
    let measured = interval(whole.scenario);
    let shown = match whole.scenario.tables().measure.ideal {
        Ideal::LineRate => minimum,
        Ideal::OwnTransport => ideals,
    };
    Output {
        digest: format!("{:016x}", digest.value()),
        interrupted: false,
        totals: Totals {
            simulated_s: end.as_secs_lossy(),
            measured_from_s: measured.from.as_secs_lossy(),
            measured_to_s: measured.to.as_secs_lossy(),
            packet_hops: delays.values().map(|link| link.packet_hops).sum(),
            flows: whole.flows.len() as u64,
            transfers: completed.iter().flatten().count() as u64,
            ..Totals::default()
        },
        wall_s: 0.0,
        notes: Vec::new(),
        tables: vec![transfers(whole, &completed, shown), links(whole, clusters)],
        captures: Vec::new(),
    }
}

impl<'a> Combination<'a> {
    pub(super) fn new(decomposition: Decomposition<'a>, simulated: Simulated<'a>) -> Self {
        let all = simulated.clusters.crossed() == simulated.delays.len();
        Self {
            decomposition,
            simulated,
            // Nothing is drawn where every link was simulated.
            pools: if all {
                BTreeMap::new()
            } else {
                pools::pools(decomposition, simulated)
            },
        }
    }

    /// The completion time of a flow; absent if it would not be complete.
    fn took(&self, flow: usize, ideal: Span) -> Option<Span> {
        let mut took = ideal.as_ps().cast_signed();
        let Decomposition { whole, paces } = self.decomposition;
        let bottlenecks = paces.bottlenecks();
        if let Some(hop) = bottlenecks.timed_at(flow) {
            let elsewhere = bottlenecks.forward_wait(whole, FlowAtHop { flow, hop });
            let known = paces.longer(flow) + elsewhere;
            took = took.saturating_add(self.delay(flow, hop)?);
            took = took.saturating_add_unsigned(known.as_ps());
        } else {
            for hop in 0..whole.crossings.path(flow).len() {
                took = took.saturating_add(self.delay(flow, hop)?);
            }
        }
        Some(Span::from_ps(took.max(0).cast_unsigned()))
    }

    /// The delay of a flow at a link of its path; absent if it would not pass it.
    pub(super) fn delay(&self, flow: usize, hop: usize) -> Option<i64> {
        let crossings = self.decomposition.whole.crossings;
        let step = crossings.path(flow).nth(hop);
        let step = step.expect("the path has a link at each hop");
        let Some(delays) = self.simulated.delays.get(&step.link) else {
            return self.drawn(FlowAtHop { flow, hop }, step);
        };
        let flows = crossings.on(step.link);
        let place = flows.binary_search(&(flow as u32));
        delays.of_flows[place.expect("the flow crosses the link")]
    }

    /// The delay of another flow in the place of this one's.
    fn drawn(&self, at: FlowAtHop, step: Directed) -> Option<i64> {
        let mut digest = Digest::default();
        digest.mix(self.decomposition.whole.scenario.seed(), at.flow as u64);
        digest.mix(at.hop as u64, 0);
        let traits = Traits::of(self.decomposition, at);
        let kind = self.simulated.clusters.port_kind(step);
        pools::draw(&self.pools, kind, &traits, digest.value())
    }
}

fn transfers(whole: &Whole<'_>, completed: &[Option<Time>], ideals: &[Option<Span>]) -> Table {
    let groups = whole.scenario.tables().flows.iter();
    let groups: Vec<Arc<str>> = groups.map(|(name, _)| name.as_str().into()).collect();
    let hosts = names(whole.scenario.layout().hosts.iter());
    let flows = whole.flows;
    let kind: Arc<str> = TransferKind::Flow.word().into();
    let fct = |flow: usize| completed[flow].map(|at| at - flows[flow].at);
    let slowdown = |flow: usize| {
        let known = fct(flow).zip(ideals[flow]);
        known.map_or(f64::NAN, |(fct, ideal)| slowdown(fct, ideal))
    };
    let seconds = |span: Option<Span>| span.map_or(f64::NAN, Span::as_secs_lossy);
    let text = |of: &dyn Fn(usize) -> Arc<str>| Column::Text((0..flows.len()).map(of).collect());
    let real = |of: &dyn Fn(usize) -> f64| Column::F64((0..flows.len()).map(of).collect());
    let at = |flow: usize| completed[flow].map_or(f64::NAN, Time::as_secs_lossy);
    table(
        "transfers",
        vec![
            (
                "group",
                text(&|flow| Arc::clone(&groups[flows[flow].group])),
            ),
            (
                "index",
                Column::U64(flows.iter().map(|flow| flow.index).collect()),
            ),
            ("kind", text(&|_| Arc::clone(&kind))),
            (
                "from",
                text(&|flow| Arc::clone(&hosts[flows[flow].hosts.from])),
            ),
            ("to", text(&|flow| Arc::clone(&hosts[flows[flow].hosts.to]))),
            ("started_s", real(&|flow| flows[flow].at.as_secs_lossy())),
            ("completed_s", real(&at)),
            ("fct_s", real(&|flow| seconds(fct(flow)))),
            (
                "bytes",
                Column::U64(flows.iter().map(|flow| flow.bytes).collect()),
            ),
            ("ideal_fct_s", real(&|flow| seconds(ideals[flow]))),
            ("slowdown", real(&slowdown)),
        ],
    )
}

fn links(whole: &Whole<'_>, clusters: &Clusters) -> Table {
    let layout = whole.scenario.layout();
    let crossed: Vec<usize> = (0..layout.links.len())
        .filter(|&link| clusters.class(link).is_some())
        .collect();
    let name = |link: usize| link_name(layout, link).into();
    let simulated = clusters.simulated();
    let whole_numbers =
        |of: &dyn Fn(usize) -> u64| Column::U64(crossed.iter().map(|&link| of(link)).collect());
    let class = |link: usize| clusters.class(link).map_or(0, |class| class as u64);
    let carried = |direction| move |link| clusters.carried_in(Directed { link, direction });
    table(
        "crossed_links",
        vec![
            (
                "link",
                Column::Text(crossed.iter().map(|&link| name(link)).collect()),
            ),
            ("class", whole_numbers(&class)),
            (
                "simulated",
                whole_numbers(&|link| u64::from(simulated.binary_search(&link).is_ok())),
            ),
            (
                "rate_bit_s",
                whole_numbers(&|link| layout.links[link].rate.bits_per_second()),
            ),
            (
                "flows",
                whole_numbers(&|link| whole.crossings.on(link).len() as u64),
            ),
            ("bytes_forth", whole_numbers(&carried(0))),
            ("bytes_back", whole_numbers(&carried(1))),
        ],
    )
}

/// A link's name: that of its first port.
pub(super) fn link_name(layout: &Layout, link: usize) -> String {
    let link = &layout.links[link];
    layout.port_name(link.ends.0, link)
}

fn names<T: ToString>(all: impl Iterator<Item = T>) -> Vec<Arc<str>> {
    all.map(|name| name.to_string().into()).collect()
}

fn table(name: &str, columns: Vec<(&str, Column)>) -> Table {
    let columns = columns.into_iter();
    Table {
        name: name.to_owned(),
        columns: columns
            .map(|(name, column)| (name.to_owned(), column))
            .collect(),
    }
}
