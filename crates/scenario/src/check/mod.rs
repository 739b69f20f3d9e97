//! What the tables of a scenario mean together: names that exist, values that fit each other.

mod flows;
mod measure;
mod switches;
mod transport;

pub(crate) use switches::switch_members;

use crate::context::Context;
use crate::language::Root;
use crate::layout::Layout;
use crate::scenario::is_name;

/// Checks a scenario whose tables are right by themselves, and gives its layout.
pub(crate) fn check(root: &Root, cx: &mut Context<'_>) -> Option<Layout> {
    if !is_name(&root.name) {
        cx.error_at(
            "name",
            format!(
                "the name {} cannot name a folder",
                crate::node::quoted(&root.name)
            ),
            Some("names have letters, digits, -, _ and . and begin with a letter or digit".into()),
        );
    }
    let layout = Layout::new(&root.network, cx);
    if let Some(layout) = &layout {
        switches::check(root, layout, cx);
        flows::check(root, layout, cx);
        measure::check(root, layout, cx);
    }
    transport::check(root, cx);
    layout
}
