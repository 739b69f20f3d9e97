//! Topologies with one path between any two hosts: star, dumbbell, tree.

use crate::language::network::{Dumbbell, MAX_HOSTS, Star, Tree};
use crate::text::context::Context;
use crate::topology::layout::End;
use crate::topology::plan::Plan;

/// The link group between the switches of a dumbbell.
pub(super) const BOTTLENECK: &str = "bottleneck";
/// The link group between the switches of a tree.
pub(super) const TRUNKS: &str = "trunks";

impl Plan {
    fn senders(&mut self, first: u32, count: u32, switch: End) {
        for index in first..first + count {
            let host = self.host("sender", Some(index));
            self.link(host, switch, "senders");
        }
    }

    /// A single receiver needs no number.
    fn receivers(&mut self, count: u32, switch: End) {
        for index in 0..count {
            let host = self.host("receiver", (count > 1).then_some(index));
            self.link(switch, host, "receivers");
        }
    }

    pub(super) fn star(&mut self, star: &Star) {
        let switch = self.switch("switch", None);
        self.senders(0, star.senders, switch);
        self.receivers(star.receivers, switch);
    }

    pub(super) fn dumbbell(&mut self, dumbbell: &Dumbbell) {
        let left = self.switch("left", None);
        let right = self.switch("right", None);
        self.senders(0, dumbbell.senders, left);
        self.link(left, right, BOTTLENECK);
        self.receivers(dumbbell.receivers, right);
    }

    /// Switches are numbered level by level from the root.
    pub(super) fn tree(&mut self, tree: &Tree, cx: &mut Context<'_>) -> Option<()> {
        let hosts = tree
            .fanout
            .iter()
            .try_fold(1_u32, |product, &branches| product.checked_mul(branches));
        let fits = hosts.is_some_and(|hosts| (1..=MAX_HOSTS).contains(&hosts));
        let Some((&leaves, levels)) = tree.fanout.split_last().filter(|_| fits) else {
            cx.error_at(
                "network.fanout",
                format!(
                    "a tree needs from 1 to {MAX_HOSTS} senders, and no level without branches"
                ),
            )
            .help("[3, 3] is a root with 3 switches of 3 senders each");
            return None;
        };
        let root = self.switch("switch", Some(0));
        let mut level = vec![root];
        let mut next = 1;
        for &branches in levels {
            let mut below = Vec::new();
            for &parent in &level {
                for _ in 0..branches {
                    let child = self.switch("switch", Some(next));
                    next += 1;
                    self.link(child, parent, TRUNKS);
                    below.push(child);
                }
            }
            level = below;
        }
        for (position, &switch) in level.iter().enumerate() {
            self.senders(position as u32 * leaves, leaves, switch);
        }
        self.receivers(tree.receivers, root);
        Some(())
    }
}
