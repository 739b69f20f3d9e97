//! `[measure]`: the data recorded in addition to those of the default probes.

use std::collections::BTreeSet;

use incastle_units::{Bytes, Span};

use crate::flows::Stop;
use crate::grammar::declare::{table, words};
use crate::grammar::describe::Shape;
use crate::grammar::range::{above, between};
use crate::grammar::reader::Table;
use crate::grammar::reader::read_table;
use crate::grammar::value::Value;
use crate::selection::Selection;
use crate::text::context::Context;
use crate::text::node::{Content, Entry, Node};

table! {
    /// `[measure]`
    pub struct Measure {
        /// Where the histograms and means of queues and links begin. FCTs and slowdowns are of transfers
        /// that begin from here to `until`.
        value warmup: Span = Span::ZERO;
        /// Where they end.
        value until: Stop = Stop::End;
        /// Samples of queues: `{ every = "100 us" }`, of all switch ports or of `ports`.
        value queue: Sampling<QueueSampling> = Sampling::Off;
        /// Samples of the bytes that switches store: `{ every = "1 ms" }`, of all switches or of `switches`.
        value buffer_occupancy: Sampling<OccupancySampling> = Sampling::Off;
        /// Window, threshold, alpha and round-trip time of flows: `["storage:0", "storage:1"]`, or
        /// `{ flows = "storage", every = "1 ms" }`.
        value window: Sampling<WindowSampling> = Sampling::Off;
        /// Bytes delivered by flows per interval: `{ flows = "storage", every = "10 ms" }`.
        value throughput: Sampling<ThroughputSampling> = Sampling::Off;
        /// The modes of DCUDP flows at each change, and the rates of their law:
        /// `{ flows = "all", every = "1 ms" }`.
        value dcudp: Sampling<DcudpSampling> = Sampling::Off;
        /// Congestion notification over time: the rates of limited flows, and the notifications of
        /// congestion points: `{ flows = "storage", ports = "switch->receiver" }`.
        value qcn: Sampling<QcnEvents> = Sampling::Off;
        /// Captures of links, a file in pcapng for each: `["switch->receiver"]`, or
        /// `{ ports = "switch<->receiver", snaplen = "1600 B" }`.
        value pcap: Sampling<Capture> = Sampling::Off;
        /// Whether `transfers` has a row for each response to a request, and for each message of an
        /// all-reduce. Without them long runs need much less memory; rounds are kept, deadlines of single
        /// responses are not counted.
        value responses: bool = true;
        /// The ideal FCT of each transfer and, of those that are complete, the slowdown, in `transfers`.
        value slowdown: bool = false;
        /// The definition of the ideal FCT, with `slowdown`.
        value ideal: Ideal = Ideal::LineRate;
        /// Every pause of PFC, with the queue that caused it and the root of its congestion tree: the table
        /// `pause_record`, of the first million.
        value pauses: bool = false;
        /// Every retransmission timeout with its kind and cause.
        value timeouts: bool = false;
        /// With `timeouts`: how long the link to the receiver was idle, `idle_s` of `timeouts` and `rounds`.
        /// Long runs of many short transfers need much less memory without.
        value receiver_idle: bool = true;
        /// Every event of flows, of their packets and their endpoints, for `incastle explain`:
        /// `["storage:0", "storage:1"]`, or `{ flows = "storage", max_events = 100000 }`.
        value events: Sampling<EventRecord> = Sampling::Off;
        /// The table `goodput`, a row for each host and each millisecond in which something arrived; many
        /// short runs are faster without.
        value goodput: bool = true;
    }
}

table! {
    /// Samples of queues.
    pub struct QueueSampling {
        /// The interval.
        value every: Span, in above(Span::ZERO);
        /// Names of ports, such as `"switch->receiver"`; `"all"` are those of all switches.
        value ports: Vec<String> = vec!["all".to_owned()];
    }
}

table! {
    /// Samples of memories.
    pub struct OccupancySampling {
        /// The interval.
        value every: Span, in above(Span::ZERO);
        /// Names of switches; `"all"` are all of them.
        value switches: Selection = Selection::everything();
    }
}

table! {
    /// Samples of the control state.
    pub struct WindowSampling {
        /// The flows: `"storage"` is a whole group, `"storage:0..3"` some of it, `"all"` all flows.
        value flows: Selection = Selection::everything();
        /// The interval.
        value every: Span = Span::from_us(100), in above(Span::ZERO);
    }
}

table! {
    /// Samples of the throughput.
    pub struct ThroughputSampling {
        /// The flows, as for `window`.
        value flows: Selection = Selection::everything();
        /// The interval.
        value every: Span = Span::from_ms(1), in above(Span::ZERO);
    }
}

table! {
    /// Samples of DCUDP's law.
    pub struct DcudpSampling {
        /// The flows, as for `window`.
        value flows: Selection = Selection::everything();
        /// The least time between two samples of the rates; a change of the mode is one too.
        value every: Span = Span::from_ms(1), in above(Span::ZERO);
    }
}

table! {
    /// The recorded data of congestion notification.
    pub struct QcnEvents {
        /// The flows whose rates are kept, as for `window`.
        value flows: Selection = Selection::everything();
        /// The ports whose notifications are kept; `"all"` are those of all switches.
        value ports: Vec<String> = vec!["all".to_owned()];
    }
}

table! {
    /// The record of every event of flows.
    pub struct EventRecord {
        /// The flows, as for `window`; for random flows any number may be named.
        value flows: Selection = Selection::everything();
        /// The maximum number of events stored, for all flows together; a packet has about four of them.
        value max_events: u32 = 1_000_000, in between(1, MAX_EVENTS);
    }
}

/// Events in one record: some gigabytes.
const MAX_EVENTS: u32 = 50_000_000;

table! {
    /// Captures of frames.
    pub struct Capture {
        /// The ports whose frames are kept: `"switch->receiver"` one direction of a link, `"switch<->receiver"`
        /// both directions, `"all"` every link.
        value ports: Vec<String> = vec!["all".to_owned()];
        /// Bytes kept of each frame; the default has room for all headers. Wireshark takes a RoCEv2 packet that was
        /// cut for malformed.
        value snaplen: Bytes = Bytes::new(128), in between(Bytes::new(64), Bytes::new(65_535));
        /// Frames are kept from here.
        value from: Span = Span::ZERO;
        /// Until here.
        value until: Stop = Stop::End;
    }
}

impl Capture {
    /// The names of single ports, with `"a<->b"` taken apart; `"all"` as it stands.
    pub fn port_names(&self) -> BTreeSet<String> {
        let directions = |name: &String| match name.split_once("<->") {
            Some((a, b)) => {
                // The number of a parallel link stands behind either name.
                let (b, number) = b.split_at(b.find('#').unwrap_or(b.len()));
                vec![format!("{a}->{b}{number}"), format!("{b}->{a}{number}")]
            }
            None => vec![name.clone()],
        };
        self.ports.iter().flat_map(directions).collect()
    }
}

words! {
    /// The definition of the ideal FCT.
    pub enum Ideal {
        /// The least time from the write to the last byte at the receiver on the empty network, under any
        /// transport: packets back to back over the fastest path.
        "line-rate" => LineRate,
        /// The FCT of the same transfer alone, under its own transport and controller. Each size on each kind of
        /// path is simulated once, which takes additional time. Slow start is part of this ideal, and adds no slowdown.
        "own-transport" => OwnTransport,
    }
}

/// Something that is sampled, or not.
#[derive(Debug, Clone, PartialEq)]
pub enum Sampling<T> {
    /// It is not.
    Off,
    /// It is, like this.
    On(T),
}

/// The short form of a table: a string or a list.
pub(crate) trait Short {
    /// The key of the table that takes it.
    const KEY: Option<&'static str>;
    /// A table, for messages.
    const EXAMPLE: &'static str = "{ every = \"100 us\" }";

    /// The shape of that string or list.
    fn shape() -> Shape {
        Shape {
            words: "flows such as [\"storage:0\"]".to_owned(),
            ..Selection::shape()
        }
    }
}

impl Short for QueueSampling {
    const KEY: Option<&'static str> = None;
}

impl Short for OccupancySampling {
    const KEY: Option<&'static str> = None;
    const EXAMPLE: &'static str = "{ every = \"1 ms\" }";
}

impl Short for WindowSampling {
    const KEY: Option<&'static str> = Some("flows");
}

impl Short for ThroughputSampling {
    const KEY: Option<&'static str> = Some("flows");
}

impl Short for DcudpSampling {
    const KEY: Option<&'static str> = Some("flows");
}

impl Short for EventRecord {
    const KEY: Option<&'static str> = Some("flows");
    const EXAMPLE: &'static str = "{ flows = \"all\" }";
}

impl Short for QcnEvents {
    const KEY: Option<&'static str> = Some("flows");
    const EXAMPLE: &'static str = "{ flows = \"all\" }";
}

impl Short for Capture {
    const KEY: Option<&'static str> = Some("ports");
    const EXAMPLE: &'static str = "{ ports = \"switch<->receiver\" }";

    fn shape() -> Shape {
        Shape {
            words: "ports such as [\"switch->receiver\"]".to_owned(),
            ..<Vec<String> as Value>::shape()
        }
    }
}

impl<T: Table + Short> Value for Sampling<T> {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        let read = |entries: &[Entry], cx: &mut Context<'_>| {
            read_table(key.to_owned(), node.place, entries, cx).map(Self::On)
        };
        match (&node.content, T::KEY) {
            (Content::Text(text), _) if text == "off" => Some(Self::Off),
            (Content::Table(entries), _) => read(entries, cx),
            (Content::Text(_) | Content::List(_), Some(short)) => {
                let entry = Entry {
                    key: short.to_owned(),
                    place: node.place,
                    node: node.clone(),
                    inherited: false,
                };
                read(&[entry], cx)
            }
            _ => {
                crate::grammar::value::wrong(node, key, &Self::shape().words, cx);
                None
            }
        }
    }

    fn write(&self) -> String {
        match self {
            Self::Off => "\"off\"".to_owned(),
            Self::On(table) => crate::grammar::declare::inline(table),
        }
    }

    fn shape() -> Shape {
        let mut any = vec![
            serde_json::json!({ "const": "off" }),
            crate::grammar::json::object(&T::description()),
        ];
        let mut words = format!("\"off\" or a table such as {}", T::EXAMPLE);
        if T::KEY.is_some() {
            let short = <T as Short>::shape();
            any.push(short.json);
            words = format!("{words}, or {}", short.words);
        }
        Shape {
            words,
            json: serde_json::json!({ "anyOf": any }),
        }
    }
}
