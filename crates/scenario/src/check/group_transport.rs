//! A group's transport, with the links and ports on its paths, for the checks of both.

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
    /// The links and ports on its paths.
    pub(super) passed: &'a Passed,
}

/// The ports of switches that never mark, among those on the paths of a group's data.
pub(super) struct SilentPorts {
    /// Their number, and that of all ports on the paths.
    pub(super) count: (usize, usize),
    /// The first one.
    pub(super) first: Option<String>,
}

impl SilentPorts {
    pub(super) fn of(passed: &Passed, class: u32, root: &Root, layout: &Layout) -> Self {
        let silent = |&(switch, to): &(usize, End)| {
            !switch_at(root, layout, switch)
                .queue_to(layout.name(to))
                .marks(class)
        };
        let mut ports = passed.ports(layout).filter(silent);
        let first = ports.next().map(|port| port_name(port, layout));
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

/// The finding that a control reads marks, and no port of its path sets any.
pub(super) fn unmarked(control: &str) -> String {
    format!("{control} over queues that never mark")
}

/// The name of the port of a switch.
pub(super) fn port_name((switch, to): (usize, End), layout: &Layout) -> String {
    format!("{}->{}", layout.switches[switch], layout.name(to))
}

/// The key that was written, of several alternatives.
pub(super) fn written(path: &str, keys: &[&str], cx: &Context<'_>) -> String {
    keys.iter()
        .map(|key| format!("{path}.{key}"))
        .find(|key| cx.is_given(key))
        .unwrap_or_else(|| path.to_owned())
}
