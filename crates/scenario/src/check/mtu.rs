//! Packets larger than a link carries. Nothing is fragmented: such a transport is refused.
//!
//! Groups that share a wrong value share its error, which stands where the value was written.

use incastle_units::Bytes;

use crate::check::group_transport::{GroupTransport, written};
use crate::check::rdma::MTUS;
use crate::language::root::Root;
use crate::language::transport::Kind;
use crate::language::wire::WireFormat;
use crate::packet_sizes::extended_header;
use crate::text::context::Context;
use crate::text::node::{Place, quoted};
use crate::topology::layout::{Layout, Link};

/// The packets of a group that are larger than a link on its paths.
pub(super) struct Oversized {
    size: Bytes,
    /// The first link with the lowest MTU.
    link: Link,
    /// The key of the packets' size, and its greatest value for the link.
    key: String,
    most: Bytes,
    /// The key at whose place the error stands.
    at: String,
    place: Place,
}

impl Oversized {
    /// Those of a group, if there are any.
    pub(super) fn of(transport: GroupTransport<'_>, cx: &Context<'_>) -> Option<Self> {
        let GroupTransport {
            path,
            group,
            root,
            layout,
            passed,
        } = transport;
        let format = WireFormat::of(&group.transport);
        let extension = extended_header(&group.transport, root);
        let size = Bytes::new(format.ip_size(format.payload) + extension);
        let narrow = passed.links(layout).filter(|link| link.mtu < size);
        let link = narrow.min_by_key(|link| link.mtu)?;
        let payload = link.mtu.count().saturating_sub(format.headers + extension);
        let (name, most) = match group.transport.kind {
            Kind::Tcp(_) => ("mss", payload),
            Kind::Rdma(_) => ("mtu", path_mtu(payload)),
            Kind::Datagram(_) => ("payload", payload),
            Kind::Udt(_) | Kind::Dcudp(_) => ("packet_size", link.mtu.count()),
        };
        let key = format!("{}.{name}", table_of(path, name, cx));
        let at = if cx.is_given(&key) {
            key.clone()
        } else {
            let given = mtu_key(link, root).filter(|mtu| cx.is_given(mtu));
            given.unwrap_or_else(|| written(path, &["kind"], cx))
        };
        Some(Self {
            size,
            link: link.clone(),
            most: Bytes::new(most),
            place: cx.place_of(&at),
            key,
            at,
        })
    }

    /// By how much they exceed the MTU.
    fn excess(&self) -> Bytes {
        self.size - self.link.mtu
    }
}

/// Reports the packets of all groups, one error for each place.
pub(super) fn report(found: &[Oversized], root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    for (number, first) in found.iter().enumerate() {
        if found[..number].iter().any(|one| one.place == first.place) {
            continue;
        }
        let same = || found.iter().filter(|one| one.place == first.place);
        // The first one of those that exceed most.
        let worst = same().fold(first, |worst, one| {
            if one.excess() > worst.excess() {
                one
            } else {
                worst
            }
        });
        let mut smaller: Vec<String> = same()
            .map(|one| format!("{} = \"{}\"", one.key, one.most))
            .collect();
        smaller.sort();
        smaller.dedup();
        let larger = mtu_key(&worst.link, root).unwrap_or_else(|| "mtu of the link".to_owned());
        cx.error_at(
            &worst.at,
            format!(
                "a packet of {} is above the mtu of {} of the link {}",
                worst.size,
                worst.link.mtu,
                between(&worst.link, layout)
            ),
        )
        .help(format!(
            "{} at most, or {larger} = \"{}\" at least, headers included",
            smaller.join(" and "),
            worst.size
        ));
    }
}

/// The table that gives a key of a group's transport: the group's own, or the one that all inherit. A key that no table
/// has belongs where the protocol is chosen.
fn table_of<'a>(path: &'a str, key: &str, cx: &Context<'_>) -> &'a str {
    let given = [key, "kind"]
        .into_iter()
        .find(|key| cx.is_given(&format!("{path}.{key}")));
    let is_own = given.is_some_and(|key| {
        cx.place_of(&format!("{path}.{key}")) != cx.place_of(&format!("transport.{key}"))
    });
    if is_own { path } else { "transport" }
}

/// The key of the MTU of a link; absent where several may have set it.
fn mtu_key(link: &Link, root: &Root) -> Option<String> {
    let groups = root.network.links.iter();
    let mut setters = groups.filter(|(_, group)| group.mtu == Some(link.mtu));
    let of_all = link.mtu == root.network.mtu;
    match (setters.next(), setters.next()) {
        (None, _) => Some("network.mtu".to_owned()),
        (Some((label, _)), None) if !of_all => Some(format!("network.links.{label}.mtu")),
        _ => None,
    }
}

/// The greatest MTU of queue pairs up to this; the least where there is none.
fn path_mtu(most: u64) -> u64 {
    let mut fitting = MTUS.iter().rev().filter(|mtu| **mtu <= most);
    *fitting.next().unwrap_or(&MTUS[0])
}

/// The nodes of a link, in messages.
fn between(link: &Link, layout: &Layout) -> String {
    let (a, b) = link.ends;
    let name = |end| quoted(&layout.name(end).to_string());
    format!("between {} and {}", name(a), name(b))
}
