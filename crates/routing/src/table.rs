//! The table of routes: for each switch and each column (a switch with hosts) one port, or a group of equal ones.
//!
//! A row is a window of columns with separate entries, and one entry for all others. For a switch in a tree or fabric
//! these are the switches below it, and the path up. An edge switch's row has one entry, an aggregation switch's those
//! of its pod. Blocks of columns share an entry, as prefixes do. A core switch's row has one for each pod, where the
//! number of edge switches in a pod is a power of two.

use std::collections::BTreeMap;

use crate::graph::Graph;
use crate::{PortIndex, SwitchIndex};

/// A route: a port, a group of ports, or no path, with the former port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry(u32);

/// Marks an entry that names a group of ports.
const GROUP: u32 = 1 << 31;
/// Marks an entry without a path; below it every number is a port.
const CUT_OFF: u32 = 1 << 30;

impl Entry {
    /// No path, and no former port.
    const NONE: Self = Self(u32::MAX);

    fn of_port(port: PortIndex) -> Self {
        assert!(port.0 < CUT_OFF, "fewer than 2^30 ports");
        Self(port.0)
    }

    /// The port, where there is exactly one.
    #[inline]
    pub(crate) fn port(self) -> Option<PortIndex> {
        (self.0 < CUT_OFF).then_some(PortIndex(self.0))
    }

    /// The entry without a path as an index beyond all ports.
    pub(crate) fn to_route(self) -> PortIndex {
        PortIndex(self.0)
    }

    /// The entry of such an index.
    pub(crate) fn of_route(route: PortIndex) -> Self {
        Self(route.0)
    }

    /// The former port of an entry without a path.
    pub(crate) fn before(self) -> Option<PortIndex> {
        let known = self != Self::NONE && !self.is_reachable();
        known.then_some(PortIndex(self.0 & !CUT_OFF))
    }

    /// Whether a packet can go on.
    pub(crate) fn is_reachable(self) -> bool {
        self.0 & CUT_OFF == 0
    }
}

/// The columns from `base` on have separate entries from `first` on, one for 2^shift columns; after these `window`
/// entries comes that of all other columns.
#[derive(Debug, Clone, Copy)]
struct Row {
    first: u32,
    base: u32,
    window: u32,
    shift: u32,
}

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// By switch.
    rows: Vec<Row>,
    entries: Vec<Entry>,
    groups: Vec<Box<[PortIndex]>>,
}

/// Columns from one on with the same entry.
#[derive(Debug, Clone, Copy)]
struct Run {
    from: u32,
    entry: Entry,
}

/// A row under construction: consecutive columns with one entry are one run.
#[derive(Debug, Clone, Default)]
struct Draft {
    runs: Vec<Run>,
    /// The groups of the switch.
    groups: Vec<u32>,
}

impl Table {
    /// The routes to the switches `last`, each a column. Without a path, the port of the table `before` is kept.
    pub(crate) fn new(graph: &Graph, last: &[SwitchIndex], before: &Self) -> Self {
        let mut table = Self::default();
        let mut drafts = vec![Draft::default(); graph.len()];
        let mut ports = Vec::new();
        for (column, last) in (0..).zip(last) {
            let distance = graph.distances_to(last.index());
            for (switch, draft) in drafts.iter_mut().enumerate() {
                // Its hosts are attached: they need no route.
                if switch == last.index() {
                    continue;
                }
                graph.next_ports(switch, &distance, &mut ports);
                let entry = if ports.is_empty() {
                    before.lost(switch, column)
                } else {
                    table.leaving_by(&ports, &mut draft.groups)
                };
                if draft.runs.last().is_none_or(|run| run.entry != entry) {
                    draft.runs.push(Run {
                        from: column,
                        entry,
                    });
                }
            }
        }
        let columns = u32::try_from(last.len()).expect("fewer than 2^32 switches");
        for draft in drafts {
            table.write(&draft, columns);
        }
        table
    }

    /// The entry for these ports; `known` are the switch's groups.
    fn leaving_by(&mut self, ports: &[PortIndex], known: &mut Vec<u32>) -> Entry {
        if let [port] = ports {
            return Entry::of_port(*port);
        }
        let same = |place: &&u32| *self.groups[**place as usize] == *ports;
        let place = known.iter().find(same).copied().unwrap_or_else(|| {
            let place = u32::try_from(self.groups.len()).expect("groups are fewer than ports");
            self.groups.push(ports.into());
            known.push(place);
            place
        });
        Entry(GROUP | place)
    }

    /// The entry for a lost path, with the port of this table.
    fn lost(&self, switch: usize, column: u32) -> Entry {
        if self.rows.is_empty() {
            return Entry::NONE;
        }
        let entry = self.entry(SwitchIndex::from_index(switch), column);
        let first = |group: &[PortIndex]| group[0];
        let port = entry.port().or_else(|| self.group(entry).map(first));
        port.map_or(entry, |port| Entry(CUT_OFF | port.0))
    }

    /// Writes the row of the next switch.
    fn write(&mut self, draft: &Draft, columns: u32) {
        let ends = draft.runs.iter().skip(1).map(|run| run.from);
        let runs = draft.runs.iter().zip(ends.chain([columns]));
        let mut counts = BTreeMap::new();
        for (&Run { from, entry }, end) in runs.clone() {
            *counts.entry(entry).or_insert(0) += end - from;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        let others = most.map_or(Entry::NONE, |(entry, _)| entry);
        let own = || runs.clone().filter(|(run, _)| run.entry != others);
        let base = own().next().map_or(0, |(run, _)| run.from);
        let end = own().last().map_or(base, |(_, end)| end);
        let first = u32::try_from(self.entries.len()).expect("fewer than 2^32 routes");
        // The beginning of each run within the window, and the end of the last one.
        let within = |column: u32| column.clamp(base, end) - base;
        let all = runs.clone().fold(0, |all, (_, until)| all | within(until));
        let shift = if all == 0 { 0 } else { all.trailing_zeros() };
        for (&Run { from, entry }, until) in runs {
            let count = (within(until) - within(from)) >> shift;
            self.entries
                .extend(std::iter::repeat_n(entry, count as usize));
        }
        self.entries.push(others);
        self.rows.push(Row {
            first,
            base,
            window: (end - base) >> shift,
            shift,
        });
    }

    /// The entry of a switch for a column; meaningless for its own.
    #[inline]
    pub(crate) fn entry(&self, switch: SwitchIndex, column: u32) -> Entry {
        let row = self.rows[switch.index()];
        let within = (column.wrapping_sub(row.base) >> row.shift).min(row.window);
        self.entries[(row.first + within) as usize]
    }

    /// The ports of an entry for a group, unless there is no path.
    pub(crate) fn group(&self, entry: Entry) -> Option<&[PortIndex]> {
        let place = entry
            .is_reachable()
            .then_some((entry.0 & !GROUP) as usize)?;
        Some(&self.groups[place])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Edge, Node};

    /// Both directions of each link, ports numbered in their order.
    fn edges(links: &[(usize, usize)]) -> Vec<Edge> {
        let node = |switch| Node::Switch(SwitchIndex::from_index(switch));
        let ends = links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
        ends.enumerate()
            .map(|(port, (from, to))| Edge {
                from: node(from),
                to: node(to),
                port: PortIndex::from_index(port),
            })
            .collect()
    }

    fn ports(table: &Table, switch: usize, column: u32) -> Vec<PortIndex> {
        let entry = table.entry(SwitchIndex::from_index(switch), column);
        match entry.port() {
            Some(port) => vec![port],
            None => table.group(entry).unwrap_or_default().to_vec(),
        }
    }

    /// Edge, aggregation, core switches of a fat tree, in this order.
    fn fat_tree(k: usize) -> (usize, Vec<(usize, usize)>) {
        let (half, tier) = (k / 2, k * k / 2);
        let mut links = Vec::new();
        for pod in 0..k {
            for one in 0..half {
                for other in 0..half {
                    let aggregation = tier + pod * half + other;
                    links.push((pod * half + one, aggregation));
                    links.push((aggregation, 2 * tier + other * half + one));
                }
            }
        }
        (5 * k * k / 4, links)
    }

    #[test]
    fn a_fat_trees_table_has_few_entries() {
        for k in [4, 8, 16, 32] {
            let (switches, links) = fat_tree(k);
            let graph = Graph::new(switches, &edges(&links));
            let last: Vec<SwitchIndex> = (0..k * k / 2).map(SwitchIndex::from_index).collect();
            let table = Table::new(&graph, &last, &Table::default());
            // Edge: the path up. Aggregation: k/2 below, and the path up. Core: one of each pod.
            let half = k / 2;
            let (edge, aggregation, core) = (1, half + 1, k);
            let expected = k * half * (edge + aggregation) + half * half * core;
            assert_eq!(table.entries.len(), expected, "k = {k}");
            assert_eq!(table.groups.len(), k * k, "one per switch with a path up");
        }
    }

    fn links() -> impl Strategy<Value = (usize, Vec<(usize, usize)>)> {
        (1..9_usize).prop_flat_map(|switches| {
            let link = (0..switches, 0..switches).prop_filter("no loop", |(a, b)| a != b);
            let most = if switches > 1 { 20 } else { 0 };
            (Just(switches), prop::collection::vec(link, 0..=most))
        })
    }

    proptest! {
        #[test]
        fn rows_agree_with_the_graph(
            (switches, links) in links(), down in prop::collection::vec(any::<bool>(), 40),
        ) {
            let all = edges(&links);
            let whole = Graph::new(switches, &all);
            let last: Vec<SwitchIndex> = (0..switches).map(SwitchIndex::from_index).collect();
            let first = Table::new(&whole, &last, &Table::default());
            let up = all.iter().zip(&down).filter(|(_, down)| !**down);
            let left: Vec<Edge> = up.map(|(edge, _)| *edge).collect();
            let rest = Graph::new(switches, &left);
            let second = Table::new(&rest, &last, &first);
            let mut expected = Vec::new();
            for (column, last) in (0..).zip(0..switches) {
                for (graph, table) in [(&whole, &first), (&rest, &second)] {
                    let distance = graph.distances_to(last);
                    for switch in (0..switches).filter(|switch| *switch != last) {
                        graph.next_ports(switch, &distance, &mut expected);
                        prop_assert_eq!(&ports(table, switch, column), &expected);
                    }
                }
                // A lost path has its former port.
                for switch in (0..switches).filter(|switch| *switch != last) {
                    let (before, now) = (ports(&first, switch, column), ports(&second, switch, column));
                    let entry = second.entry(SwitchIndex::from_index(switch), column);
                    if now.is_empty() && !before.is_empty() {
                        prop_assert_eq!(entry.before(), Some(before[0]));
                    }
                    prop_assert_eq!(entry.is_reachable(), !now.is_empty());
                }
            }
        }
    }
}
