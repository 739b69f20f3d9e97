//! The names of the flows that a checked scenario has.

use crate::language::flows::Workload;
use crate::language::root::Root;
use crate::language::selection::Name;
use crate::topology::layout::Layout;
use crate::topology::pairs::GroupHosts;

/// The names of the flows that exist from the start; Poisson flows and incasts are drawn later.
pub fn static_flows(root: &Root, layout: &Layout) -> Vec<Name> {
    let mut names = Vec::new();
    for (name, group) in &root.flows {
        if group.workload.is_drawn() {
            names.push(Name {
                role: name.clone(),
                index: None,
            });
            continue;
        }
        if let Workload::FlowList(list) = &group.workload {
            names.extend(numbered(name, list.transfers.list().len()));
            continue;
        }
        if let Some(hosts) = GroupHosts::find(group, layout) {
            names.extend(numbered(name, hosts.pairs(group).len()));
        }
    }
    names
}

/// The flows of a group.
fn numbered(group: &str, count: usize) -> impl Iterator<Item = Name> {
    (0..count).map(move |index| Name {
        role: group.to_owned(),
        index: Some(index as u32),
    })
}
