//! The tables by port and host: `queues`, `links`, `queue_samples`, `memory`, `goodput`.

use std::sync::Arc;

use incastle_engine::core::{HostIndex, Node, PortIndex, SwitchIndex};
use incastle_recorder::HOST_BIN;
use incastle_units::{Bytes, Rate, Span, Time};

use super::columns::{real, sampled, table, text, whole};
use crate::network::rates;
use crate::output::{Column, Table};
use crate::record::{Interval, Record};

fn of_switches<'a>(record: &'a Record<'_>) -> impl Iterator<Item = PortIndex> + 'a {
    let from_switch = |port: &PortIndex| matches!(record.network.owner(*port), Node::Switch(_));
    record.network.ports().filter(from_switch)
}

/// Whether anything was measured: the run may have ended before.
fn is_measured(record: &Record<'_>) -> bool {
    record.interval.to > record.interval.from
}

fn span(record: &Record<'_>) -> f64 {
    let Interval { from, to } = record.interval;
    to.saturating_since(from).as_ps() as f64
}

/// The time that each queue had each length.
pub(super) fn queues(record: &Record<'_>) -> Table {
    let (mut ports, mut packets, mut spans) = (Vec::new(), Vec::new(), Vec::new());
    for port in of_switches(record).filter(|_| is_measured(record)) {
        let name: Arc<str> = record.network.port_name(port).into();
        let queue = record.recorder.queue(port);
        let Interval { from, to } = record.interval;
        let observed = queue.bins().fold(Span::ZERO, |sum, bin| sum + bin.span);
        assert_eq!(observed, to - from, "{name} had a length at every instant");
        for bin in queue.bins() {
            ports.push(Arc::clone(&name));
            packets.push(bin.packets);
            spans.push(bin.span.as_secs_lossy());
        }
    }
    table(
        "queues",
        vec![
            ("port", Column::Text(ports)),
            ("packets", Column::U64(packets)),
            ("seconds", Column::F64(spans)),
        ],
    )
}

/// One row per port.
pub(super) fn links(record: &Record<'_>) -> Table {
    let rows: Vec<PortIndex> = record.network.ports().collect();
    for port in &rows {
        let counters = record.network.counters(*port);
        assert!(
            counters.dropped <= counters.offered && counters.marked <= counters.offered,
            "what is dropped or marked was offered"
        );
    }
    let counters = |port: &PortIndex| record.network.counters(*port);
    let wire = |port: &PortIndex| record.network.wire_counters(*port);
    let queue = |port: &PortIndex| record.recorder.queue(*port);
    let is_switch = |port: &PortIndex| matches!(record.network.owner(*port), Node::Switch(_));
    let mean = |port: &PortIndex| {
        if is_switch(port) && is_measured(record) {
            queue(port).area() as f64 / span(record)
        } else {
            f64::NAN
        }
    };
    let longest = |port: &PortIndex| {
        if is_switch(port) && is_measured(record) {
            f64::from(queue(port).longest())
        } else {
            f64::NAN
        }
    };
    let max_stored = |port: &PortIndex| {
        if is_switch(port) {
            counters(port).max_stored as f64
        } else {
            f64::NAN
        }
    };
    table(
        "links",
        vec![
            (
                "port",
                text(&rows, |port| record.network.port_name(*port).into()),
            ),
            (
                "packets",
                whole(&rows, |port| {
                    counters(port).offered - counters(port).dropped
                }),
            ),
            ("bytes", whole(&rows, |port| counters(port).accepted_bytes)),
            ("drops", whole(&rows, |port| counters(port).dropped)),
            ("lost_on_wire", whole(&rows, |port| wire(port).lost)),
            ("corrupted", whole(&rows, |port| wire(port).corrupted)),
            ("marks", whole(&rows, |port| counters(port).marked)),
            ("cnms", whole(&rows, |port| record.network.cnms(*port))),
            (
                "utilisation",
                real(&rows, |port| utilisation(record, *port)),
            ),
            ("mean_queue_packets", real(&rows, mean)),
            ("max_queue_packets", real(&rows, longest)),
            ("max_bytes", real(&rows, max_stored)),
        ],
    )
}

/// The share of the interval in which the port sent, counted where packets enter its memory. Packets that
/// are still queued at the end are counted but not sent, hence the upper limit. A link that fails loses packets
/// that may have entered before the interval, hence the lower one.
fn utilisation(record: &Record<'_>, port: PortIndex) -> f64 {
    if !is_measured(record) {
        return f64::NAN;
    }
    let [before, after] = &record.accepted;
    let (Some(before), Some(after)) = (before.get(port.index()), after.get(port.index())) else {
        return f64::NAN;
    };
    let bytes = after.saturating_sub(*before).count() as f64;
    (bytes / capacity(record, port)).min(1.0)
}

/// The bytes that the port could have sent within the interval, at all rates that it had.
fn capacity(record: &Record<'_>, port: PortIndex) -> f64 {
    // Each link of the layout has given two ports, in order.
    let links = &record.scenario.layout().links;
    assert_eq!(record.network.ports().count(), 2 * links.len());
    let link = &links[port.index() / 2];
    let Interval { from, to } = record.interval;
    let node = if port.index().is_multiple_of(2) {
        link.ends.0
    } else {
        link.ends.1
    };
    let of_link = rates(node, link, &record.scenario.tables().network);
    let mut rates: Vec<(Time, Rate)> = vec![(Time::ZERO, of_link.initial)];
    rates.extend(
        of_link
            .changes
            .iter()
            .map(|change| (change.at, change.rate)),
    );
    let ends = rates.iter().skip(1).map(|(at, _)| *at).chain([to]);
    let periods = rates.iter().zip(ends);
    periods
        .map(|(&(begins, rate), ends)| {
            let span = ends.min(to).saturating_since(begins.max(from));
            rate.bytes_per_second_lossy() * span.as_secs_lossy()
        })
        .sum()
}

/// The names of all ports, to be shared by their rows.
pub(super) fn names(record: &Record<'_>) -> Vec<Arc<str>> {
    let ports = record.network.ports();
    ports
        .map(|port| record.network.port_name(port).into())
        .collect()
}

/// The lengths of queues at regular instants.
pub(super) fn queue_samples(record: &Record<'_>) -> Option<Table> {
    sampled(&record.measure().queue)?;
    let rows = &record.recorder.queue_samples;
    let names = names(record);
    Some(table(
        "queue_samples",
        vec![
            ("time_s", real(rows, |row| row.at.as_secs_lossy())),
            (
                "port",
                text(rows, |row| Arc::clone(&names[row.port.index()])),
            ),
            ("packets", whole(rows, |row| u64::from(row.packets))),
            ("bytes", whole(rows, |row| row.bytes.count())),
        ],
    ))
}

/// The bytes that switches stored at regular instants, in all and at each port that stored any.
pub(super) fn buffer_occupancy(record: &Record<'_>) -> Option<Table> {
    sampled(&record.measure().buffer_occupancy)?;
    let rows = &record.recorder.memory_samples;
    let ports = names(record);
    let switches: Vec<Arc<str>> = (0..record.network.switch_count())
        .map(|switch| Node::Switch(SwitchIndex::from_index(switch)))
        .map(|switch| record.network.node_name(switch).into())
        .collect();
    let all: Arc<str> = Arc::from("all");
    let port = |port: Option<PortIndex>| port.map_or(&all, |port| &ports[port.index()]);
    let limit = |limit: Option<Bytes>| limit.map_or(f64::NAN, |bytes| bytes.count() as f64);
    Some(table(
        "buffer_occupancy",
        vec![
            ("time_s", real(rows, |row| row.at.as_secs_lossy())),
            (
                "switch",
                text(rows, |row| Arc::clone(&switches[row.switch.index()])),
            ),
            ("port", text(rows, |row| Arc::clone(port(row.port)))),
            ("bytes", whole(rows, |row| row.stored.count())),
            ("threshold_bytes", real(rows, |row| limit(row.limit))),
        ],
    ))
}

/// The data that receiving hosts got, in each bin with arrivals.
pub(super) fn goodput(record: &Record<'_>) -> Option<Table> {
    record.measure().goodput.then(|| bins(record))
}

fn bins(record: &Record<'_>) -> Table {
    let width = HOST_BIN.as_secs_lossy();
    let (mut times, mut hosts) = (Vec::new(), Vec::new());
    let (mut bytes, mut ip_bytes) = (Vec::new(), Vec::new());
    for (host, series) in record.recorder.hosts.iter().enumerate() {
        // Receivers only: on a fabric of senders the rest is most of the table, and ACKs alone.
        if series.bins().all(|bin| bin.bytes.delivered == 0) {
            continue;
        }
        let name: Arc<str> = record
            .network
            .node_name(Node::Host(HostIndex::from_index(host)))
            .into();
        for bin in series.bins() {
            times.push(bin.index as f64 * width);
            hosts.push(Arc::clone(&name));
            bytes.push(bin.bytes.delivered);
            ip_bytes.push(bin.bytes.ip);
        }
    }
    table(
        "goodput",
        vec![
            ("time_s", Column::F64(times)),
            ("host", Column::Text(hosts)),
            ("bytes", Column::U64(bytes)),
            ("ip_bytes", Column::U64(ip_bytes)),
        ],
    )
}
