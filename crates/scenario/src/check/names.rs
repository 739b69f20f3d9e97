//! The names of the flows that a checked scenario has.

use crate::language::flows::Workload;
use crate::language::root::Root;
use crate::language::selection::Name;
use crate::text::context::Context;
use crate::text::files::NoFiles;
use crate::topology::layout::Layout;
use crate::topology::pairs::group_pairs;

/// The names of the flows that exist from the start; Poisson flows and incasts come as they come.
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
        let mut quiet = Context::new(&NoFiles);
        let from = group.from.resolve(&layout.hosts, "hosts", "", &mut quiet);
        let to = group.to.resolve(&layout.hosts, "hosts", "", &mut quiet);
        let (Some(from), Some(to)) = (from, to) else {
            continue;
        };
        let count = group_pairs(group, &from, &to).len();
        names.extend(numbered(name, count));
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
