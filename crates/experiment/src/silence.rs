//! The gaps between packets at a host that count as silence of its link.

use incastle_units::{Bytes, Rate, Span};

use incastle_scenario::Scenario;
use incastle_scenario::language::wire::WireFormat;
use incastle_scenario::topology::layout::{End, Link};

/// The shortest gap that counts: two full packets on the slowest access link.
pub(super) fn shortest(scenario: &Scenario) -> Span {
    let two = Bytes::new(2 * full_size(scenario));
    let rate = access_links(scenario)
        .map(|(_, link)| slowest(link, scenario))
        .min();
    rate.map_or(Span::from_us(100), |rate| rate.span_of(two))
}

/// By host: the time that a full packet takes on its access link, at the rate of the beginning.
pub(super) fn full_packets(scenario: &Scenario) -> Vec<Span> {
    let full = Bytes::new(full_size(scenario));
    let mut spans = vec![Span::ZERO; scenario.layout().hosts.len()];
    for (host, link) in access_links(scenario) {
        spans[host] = link.rate.span_of(full);
    }
    spans
}

/// The hosts with their links.
fn access_links(scenario: &Scenario) -> impl Iterator<Item = (usize, &Link)> {
    let links = scenario.layout().links.iter();
    links.filter_map(|link| match link.ends {
        (End::Host(host), _) | (_, End::Host(host)) => Some((host, link)),
        (End::Switch(_), End::Switch(_)) => None,
    })
}

/// The minimum rate that a link ever has.
fn slowest(link: &Link, scenario: &Scenario) -> Rate {
    let entries = &scenario.tables().network.degraded;
    let degraded = link.degraded.iter();
    let degraded = degraded.filter_map(|by| entries[by.entry].1.rate);
    let later = link.schedule.iter().map(|(_, rate)| *rate);
    later.chain(degraded).fold(link.rate, Rate::min)
}

/// The largest full packet of all flows on the wire.
fn full_size(scenario: &Scenario) -> u64 {
    let root = scenario.tables();
    let sizes = root.flows.iter().map(|(_, group)| {
        let format = WireFormat::of(&group.transport);
        format.wire_size(format.payload)
    });
    sizes.max().unwrap_or(0)
}
