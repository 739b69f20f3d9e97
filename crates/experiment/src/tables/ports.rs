//! The tables by port and host: `queues`, `links`, `queue_samples`, `memory`, `goodput`.

use std::sync::Arc;

use incastle_engine::{HOST_BIN, HostIndex, Network, Node, PortIndex, Recorder, SwitchIndex};
use incastle_units::{Bytes, Rate, Time};

use super::{Interval, real, table, text, whole};
use crate::output::{Column, Table};
use incastle_scenario::topology::layout::Layout;

/// What ports and hosts have seen.
pub(super) struct Ports<'a> {
    pub(super) network: &'a Network,
    pub(super) layout: &'a Layout,
    pub(super) recorder: &'a Recorder,
    pub(super) interval: Interval,
    /// When the run ended.
    pub(super) now: Time,
}

impl Ports<'_> {
    fn of_switches(&self) -> impl Iterator<Item = PortIndex> + '_ {
        let from_switch = |port: &PortIndex| matches!(self.network.ends(*port).0, Node::Switch(_));
        self.network.ports().filter(from_switch)
    }

    /// Whether anything was measured: the run may have ended before.
    fn is_measured(&self) -> bool {
        self.interval.to > self.interval.from
    }

    fn span(&self) -> f64 {
        let Interval { from, to } = self.interval;
        to.saturating_since(from).as_ps() as f64
    }

    pub(super) fn histograms(&self) -> Table {
        let (mut ports, mut packets, mut spans) = (Vec::new(), Vec::new(), Vec::new());
        for port in self.of_switches().filter(|_| self.is_measured()) {
            let name: Arc<str> = self.network.port_name(port).into();
            for (length, span) in self.recorder.queue(port).bins() {
                ports.push(Arc::clone(&name));
                packets.push(length);
                spans.push(span.as_secs_lossy());
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

    pub(super) fn links(&self, accepted: &[Vec<Bytes>; 2]) -> Table {
        let rows: Vec<PortIndex> = self.network.ports().collect();
        let counters = |port: &PortIndex| self.network.counters(*port);
        let queue = |port: &PortIndex| self.recorder.queue(*port);
        let is_switch = |port: &PortIndex| matches!(self.network.ends(*port).0, Node::Switch(_));
        let mean = |port: &PortIndex| {
            if is_switch(port) && self.is_measured() {
                queue(port).area() as f64 / self.span()
            } else {
                f64::NAN
            }
        };
        let longest = |port: &PortIndex| {
            if is_switch(port) && self.is_measured() {
                f64::from(queue(port).longest())
            } else {
                f64::NAN
            }
        };
        let most_stored = |port: &PortIndex| {
            if is_switch(port) {
                counters(port).most_stored as f64
            } else {
                f64::NAN
            }
        };
        table(
            "links",
            vec![
                (
                    "port",
                    text(&rows, |port| self.network.port_name(*port).into()),
                ),
                (
                    "packets",
                    whole(&rows, |port| {
                        counters(port).offered - counters(port).dropped
                    }),
                ),
                ("bytes", whole(&rows, |port| counters(port).accepted_bytes)),
                ("drops", whole(&rows, |port| counters(port).dropped)),
                ("marks", whole(&rows, |port| counters(port).marked)),
                ("cnms", whole(&rows, |port| self.network.cnms(*port))),
                (
                    "utilisation",
                    real(&rows, |port| self.utilisation(*port, accepted)),
                ),
                ("mean_queue_packets", real(&rows, mean)),
                ("max_queue_packets", real(&rows, longest)),
                ("max_bytes", real(&rows, most_stored)),
            ],
        )
    }

    /// The share of the interval in which the port sent, counted where packets enter its memory: a
    /// queue that has grown meanwhile is not yet sent, hence the limit.
    fn utilisation(&self, port: PortIndex, accepted: &[Vec<Bytes>; 2]) -> f64 {
        if !self.is_measured() {
            return f64::NAN;
        }
        let [before, after] = accepted;
        let (Some(before), Some(after)) = (before.get(port.index()), after.get(port.index()))
        else {
            return f64::NAN;
        };
        let bytes = (*after - *before).count() as f64;
        (bytes / self.capacity(port)).min(1.0)
    }

    /// The bytes that the port could have sent within the interval, at all rates that it had.
    fn capacity(&self, port: PortIndex) -> f64 {
        // Each link of the layout has given two ports, in order.
        let link = &self.layout.links[port.index() / 2];
        let Interval { from, to } = self.interval;
        let mut rates: Vec<(Time, Rate)> = vec![(Time::ZERO, link.rate)];
        rates.extend(
            link.schedule
                .iter()
                .map(|&(at, rate)| (Time::ZERO + at, rate)),
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
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        let ports = self.network.ports();
        ports
            .map(|port| self.network.port_name(port).into())
            .collect()
    }

    pub(super) fn samples(&self) -> Table {
        let rows = &self.recorder.queue_samples;
        let names = self.names();
        table(
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
        )
    }

    /// What switches stored at regular instants, in all and at each port that stored anything.
    pub(super) fn memory(&self) -> Table {
        let rows = &self.recorder.memory_samples;
        let ports = self.names();
        let switches: Vec<Arc<str>> = (0..self.network.switch_count())
            .map(|switch| Node::Switch(SwitchIndex::from_index(switch)))
            .map(|switch| self.network.node_name(switch).into())
            .collect();
        let all: Arc<str> = Arc::from("all");
        let port = |port: Option<PortIndex>| port.map_or(&all, |port| &ports[port.index()]);
        let limit = |limit: Option<Bytes>| limit.map_or(f64::NAN, |bytes| bytes.count() as f64);
        table(
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
        )
    }
}

/// What receiving hosts got, in each bin in which something arrived.
pub(super) fn goodput(ports: &Ports<'_>) -> Table {
    let width = HOST_BIN.as_secs_lossy();
    let (mut times, mut hosts) = (Vec::new(), Vec::new());
    let (mut bytes, mut ip_bytes) = (Vec::new(), Vec::new());
    for (host, series) in ports.recorder.hosts.iter().enumerate() {
        // Receivers only: on a fabric of senders the rest is most of the table, and ACKs alone.
        if series.bins().all(|bin| bin.bytes.delivered == 0) {
            continue;
        }
        let name: Arc<str> = ports
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
