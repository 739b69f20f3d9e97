//! Packets larger than a link carries. Nothing is fragmented: such a transport is refused.

use incastle_units::Bytes;

use crate::check::group_transport::{GroupTransport, written};
use crate::check::rdma::MTUS;
use crate::language::transport::Kind;
use crate::language::wire::WireFormat;
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::layout::{Layout, Link};

pub(super) fn check(transport: GroupTransport<'_>, cx: &mut Context<'_>) {
    let GroupTransport {
        path,
        group,
        layout,
        passed,
        ..
    } = transport;
    let format = WireFormat::of(&group.transport);
    let size = Bytes::new(format.ip_size(format.payload));
    // The first one with the lowest MTU.
    let narrow = passed
        .links(layout)
        .filter(|link| link.mtu < size)
        .min_by_key(|link| link.mtu);
    let Some(link) = narrow else { return };
    let headers = format.headers;
    let (key, most) = match group.transport.kind {
        Kind::Tcp(_) => ("mss", link.mtu.count() - headers),
        Kind::Rdma(_) => ("mtu", path_mtu(link.mtu.count().saturating_sub(headers))),
        Kind::Datagram(_) => ("payload", link.mtu.count() - headers),
        Kind::Udt(_) | Kind::Dcudp(_) => ("packet_size", link.mtu.count()),
    };
    cx.error_at(
        &written(path, &[key, "kind"], cx),
        format!(
            "a packet of {size} is above the mtu of {} of the link {}",
            link.mtu,
            between(link, layout)
        ),
    )
    .help(format!(
        "{path}.{key} = \"{}\" at most, or mtu = \"{size}\" at least under [network], headers included",
        Bytes::new(most)
    ));
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
