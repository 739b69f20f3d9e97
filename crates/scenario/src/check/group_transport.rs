//! A group's transport, and what its data pass, for the checks of both.

use crate::check::lockstep::switch_at;
use crate::language::flows::Group;
use crate::language::root::Root;
use crate::text::context::Context;
use crate::topology::layout::{End, Layout};
use crate::topology::routes::Passed;

/// The transport of a group in its network.
#[derive(Clone, Copy)]
pub(super) struct GroupTransport<'a> {
    /// The key of the transport.
    pub(super) path: &'a str,
    pub(super) group: &'a Group,
    pub(super) root: &'a Root,
    pub(super) layout: &'a Layout,
    /// What its data may pass.
    pub(super) passed: &'a Passed,
}

/// Those ports of switches that never mark, of all that a group's data may pass.
pub(super) struct SilentPorts {
    /// How many do not mark, and how many there are.
    pub(super) count: (usize, usize),
    /// The first one.
    pub(super) first: Option<String>,
}

impl SilentPorts {
    pub(super) fn of(passed: &Passed, root: &Root, layout: &Layout) -> Self {
        let silent = |&(switch, to): &(usize, End)| {
            !switch_at(root, layout, switch)
                .queue_to(layout.name(to))
                .marks()
        };
        let mut ports = passed.ports(layout).filter(silent);
        let first = ports
            .next()
            .map(|(switch, to)| layout.port_name(End::Switch(switch), to));
        Self {
            count: (
                usize::from(first.is_some()) + ports.count(),
                passed.ports(layout).count(),
            ),
            first,
        }
    }

    /// Whether there are ports, and none of them ever marks.
    pub(super) fn all(&self) -> bool {
        self.first.is_some() && self.count.0 == self.count.1
    }
}

/// The key that was written, of several that may say the same.
pub(super) fn written(path: &str, keys: &[&str], cx: &Context<'_>) -> String {
    keys.iter()
        .map(|key| format!("{path}.{key}"))
        .find(|key| cx.is_given(key))
        .unwrap_or_else(|| path.to_owned())
}
