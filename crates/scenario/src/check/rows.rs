//! Checks the number of rows of tables over time, which `[measure]` samples by an interval.
//!
//! Leaves out: tables that grow with events, and the memory for them (`memory`).

use incastle_units::Span;

use crate::check::names::static_flows;
use crate::language::measure::Sampling;
use crate::language::root::{Root, RunStop};
use crate::language::selection::{Name, Selection};
use crate::text::context::Context;
use crate::topology::layout::{End, Layout};

/// The maximum number of rows in a table. That many take more than a hundred gigabytes, and polars counts rows in
/// 32 bits.
pub(crate) const MAX_ROWS: u128 = 1_000_000_000;

/// A table with a row for each interval and each of several things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Over {
    /// Its key in `[measure]`.
    pub key: &'static str,
    /// The interval.
    pub every: Span,
    /// The number of sampled objects.
    pub count: usize,
    /// The kind of these objects.
    pub what: &'static str,
}

impl Over {
    /// The maximum number of its rows in a run of this duration.
    pub fn rows(&self, duration: Span) -> u128 {
        let intervals = duration.as_ps() / self.every.as_ps().max(1);
        u128::from(intervals) * self.count as u128
    }

    /// The shortest interval with a round number that gives few enough rows.
    fn least_every(&self, duration: Span) -> Span {
        let all = u128::from(duration.as_ps()) * self.count as u128;
        let mut every = 1;
        while every * MAX_ROWS < all {
            every *= 10;
        }
        Span::from_ps(u64::try_from(every).unwrap_or(u64::MAX))
    }
}

/// The tables over time of a checked scenario.
pub fn over_time(root: &Root, layout: &Layout) -> Vec<Over> {
    tables(root, layout, &static_flows(root, layout))
}

/// The same; `flows` are the names of all flows.
fn tables(root: &Root, layout: &Layout, flows: &[Name]) -> Vec<Over> {
    let measure = &root.measure;
    let chosen = |set: &Selection| flows.iter().filter(|flow| set.contains(flow)).count();
    let of_flows = |key, every, set: &Selection| Over {
        key,
        every,
        count: chosen(set),
        what: "flows",
    };
    let mut tables = Vec::new();
    if let Sampling::On(queue) = &measure.queue {
        let all = queue.ports.iter().any(|port| port == "all");
        let count = if all {
            switch_ports(layout, |_| true)
        } else {
            queue.ports.len()
        };
        tables.push(Over {
            key: "queue",
            every: queue.every,
            count,
            what: "ports",
        });
    }
    if let Sampling::On(memory) = &measure.buffer_occupancy {
        let chosen = |switch: &Name| memory.switches.contains(switch);
        let switches = layout.switches.iter().filter(|switch| chosen(switch));
        tables.push(Over {
            key: "buffer_occupancy",
            every: memory.every,
            count: switches.count() + switch_ports(layout, chosen),
            what: "switches and their ports",
        });
    }
    if let Sampling::On(window) = &measure.window {
        tables.push(of_flows("window", window.every, &window.flows));
    }
    if let Sampling::On(throughput) = &measure.throughput {
        tables.push(of_flows("throughput", throughput.every, &throughput.flows));
    }
    if let Sampling::On(dcudp) = &measure.dcudp {
        tables.push(of_flows("dcudp", dcudp.every, &dcudp.flows));
    }
    tables
}

/// The ports of some switches.
fn switch_ports(layout: &Layout, chosen: impl Fn(&Name) -> bool) -> usize {
    let ends = layout
        .links
        .iter()
        .flat_map(|link| [link.ends.0, link.ends.1]);
    let of_switches = ends.filter(|end| match end {
        End::Switch(switch) => chosen(&layout.switches[*switch]),
        End::Host(_) => false,
    });
    of_switches.count()
}

/// Reports intervals so short that a table would have too many rows. If the duration is only the limit of a
/// run that ends by itself, the number is unknown beforehand.
pub(crate) fn check(root: &Root, layout: &Layout, flows: &[Name], cx: &mut Context<'_>) {
    let duration = root.run.duration;
    if root.run.stop == RunStop::WhenDone || cx.is_removed("run") {
        return;
    }
    for table in tables(root, layout, flows) {
        // Rows of `dcudp` are changes of the mode, too.
        if table.every > duration && table.key != "dcudp" {
            let every = table.every;
            cx.warn_at(
                &format!("measure.{}.every", table.key),
                format!(
                    "one row every {every}, and the run ends after {duration}: one sample at most"
                ),
            )
            .help("an interval is a small part of the run");
        }
        let rows = table.rows(duration);
        if rows <= MAX_ROWS {
            continue;
        }
        let Over {
            key,
            every,
            count,
            what,
        } = table;
        let least = table.least_every(duration);
        cx.error_at(&format!("measure.{key}.every"), format!(
                "{rows} rows: one every {every} for {duration}, of {count} {what}; a table has at most {MAX_ROWS}"
            )).help(format!("every = \"{least}\" or more, or fewer {what}"));
    }
}
