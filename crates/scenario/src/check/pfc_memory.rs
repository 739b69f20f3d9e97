//! Headrooms and reserves that leave nothing of the memory of a switch to share.
//!
//! Switches with the same keys share an error, which stands where the key was given that takes most of the memory,
//! and at the buffer where none was.

use incastle_queueing::PriorityMemoryConfig;
use incastle_units::Bytes;

use crate::check::lockstep::switch_at;
use crate::check::pfc::path_of;
use crate::language::pfc::Headroom;
use crate::language::root::Root;
use crate::lossless::{links_of, needed_headroom};
use crate::text::context::Context;
use crate::text::node::{Place, quoted};
use crate::topology::layout::Layout;

/// A switch whose headrooms and reserves take all of its memory.
pub(super) struct Crowded {
    name: String,
    ports: usize,
    taken: Bytes,
    /// The same with the headrooms that its links need.
    needed: Bytes,
    capacity: Bytes,
    /// The key that takes most of it, with its value, where that was given.
    part: Option<(&'static str, Bytes)>,
    /// The key at whose place the error stands.
    at: String,
    place: Place,
}

impl Crowded {
    /// This switch, with its memory.
    pub(super) fn of(
        number: usize,
        memory: &PriorityMemoryConfig,
        root: &Root,
        layout: &Layout,
        cx: &Context<'_>,
    ) -> Self {
        let path = path_of(number, root, layout);
        let pfc = switch_at(root, layout, number).pfc.as_ref();
        let headrooms = memory.ports.iter().map(|port| port.headroom);
        let headrooms = headrooms.fold(Bytes::ZERO, Bytes::saturating_add);
        let reserves = memory.set_apart() - headrooms;
        let part = pfc.and_then(|pfc| match pfc.headroom {
            _ if reserves > headrooms => Some(("reserve", pfc.reserve)),
            Headroom::Bytes(bytes) => Some(("headroom", bytes)),
            Headroom::Auto => None,
        });
        let part = part.filter(|(key, _)| cx.is_given(&format!("{path}.pfc.{key}")));
        let at = match part {
            Some((key, _)) => format!("{path}.pfc.{key}"),
            None => format!("{path}.buffer"),
        };
        let need_of = |link| pfc.map_or(Bytes::ZERO, |pfc| needed_headroom(link, pfc, root));
        let needs = links_of(number, layout).map(need_of);
        Self {
            name: quoted(&layout.switches[number].to_string()),
            ports: memory.ports.len(),
            taken: memory.set_apart(),
            needed: needs.fold(reserves, Bytes::saturating_add),
            capacity: memory.capacity,
            part,
            place: cx.place_of(&at),
            at,
        }
    }

    fn help(&self) -> String {
        match self.part {
            Some(("reserve", _)) => "a smaller reserve, or a larger buffer".to_owned(),
            Some(_) if self.needed < self.capacity => {
                "headroom = \"auto\", the need of each link; or a larger buffer".to_owned()
            }
            _ => format!(
                "a buffer above {}, which is the need of its links; or fewer ports, shorter cables, a smaller reserve",
                self.needed
            ),
        }
    }

    fn message(&self, others: usize) -> String {
        let Self {
            name,
            ports,
            taken,
            capacity,
            ..
        } = self;
        let others = match others {
            0 => String::new(),
            1 => "; so it is at another switch".to_owned(),
            others => format!("; so it is at {others} other switches"),
        };
        let sum = format!("the headrooms and reserves of its {ports} ports take {taken}");
        match self.part {
            Some((key, value)) => format!(
                "{key} of {value} is too large for the buffer of {capacity} of {name}: {sum}, and nothing is left to share{others}"
            ),
            None => format!(
                "the buffer of {capacity} of {name} is too small: {sum}, and nothing is left to share{others}"
            ),
        }
    }
}

/// Reports such switches, one error for each place: the first switch of those that need most.
pub(super) fn report(crowded: &[Crowded], cx: &mut Context<'_>) {
    for (number, first) in crowded.iter().enumerate() {
        let same = |one: &&Crowded| one.place == first.place;
        if crowded[..number].iter().any(|one| same(&one)) {
            continue;
        }
        let others = crowded[number + 1..].iter().filter(same);
        let worst = others.clone().fold(first, |worst, one| {
            if one.needed > worst.needed {
                one
            } else {
                worst
            }
        });
        cx.error_at(&worst.at, worst.message(others.count()))
            .help(worst.help());
    }
}
