//! Checks of the relations between tables: names that exist, values that fit each other.

pub(crate) mod controllers;
mod degraded;
mod dependences;
mod failures;
mod flows;
mod group_transport;
mod links;
mod list;
mod lockstep;
pub(crate) mod measure;
mod mtu;
mod names;
mod pause_storms;
mod pfc;
mod pfc_effects;
mod pfc_memory;
mod plausible;
mod qcn;
mod rdma;
mod rows;
mod sets;
mod switches;
mod transport;
mod udt;
mod within_run;

pub use names::static_flows;
pub use rows::{Over, over_time};
pub(crate) use switches::switch_members;

use crate::language::root::Root;
use crate::load::{self, OfferedLoad};
use crate::text::context::Context;
use crate::topology::layout::Layout;
use crate::topology::plan;

/// Checks a scenario whose tables are valid by themselves, and returns its layout and its offered
/// load.
pub(crate) fn check(root: &Root, cx: &mut Context<'_>) -> Option<(Layout, OfferedLoad)> {
    if !is_name(&root.name) {
        cx.error_at(
            "name",
            format!(
                "the name {} cannot name a folder",
                crate::text::node::quoted(&root.name)
            ),
        )
        .help("names have letters, digits, -, _ and . and begin with a letter or digit");
    }
    let layout = plan::layout(&root.network, cx);
    if let Some(layout) = &layout {
        links::check(root, cx);
        switches::check(root, layout, cx);
        qcn::check(root, layout, cx);
        pfc::check(root, layout, cx);
        rdma::check_compat(root, layout, cx);
        flows::check(root, layout, cx);
        failures::check(root, layout, cx);
        degraded::check(root, cx);
        pause_storms::check(root, layout, cx);
        measure::check(root, layout, cx);
        lockstep::check(root, layout, cx);
        plausible::check(root, layout, cx);
        within_run::check(root, layout, cx);
        load::check_tiers(root, layout, cx);
    }
    transport::check(root, layout.as_ref(), cx);
    if let Some(layout) = &layout {
        links::check_whole(layout, cx);
    }
    let offered = load::check(root, layout.as_ref()?, cx);
    Some((layout?, offered))
}

/// Whether a string can name a scenario, and so a folder of results.
pub(crate) fn is_name(text: &str) -> bool {
    text.chars().all(is_name_character) && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

pub(crate) fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}
