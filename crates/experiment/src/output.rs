//! The output of a run: totals, and tables in columns.

use std::sync::Arc;

use crate::notes::Note;

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// The hash of everything that happened at ports and endpoints: 16 hexadecimal digits.
    pub digest: String,
    /// Whether the run was stopped before its end.
    pub interrupted: bool,
    /// The counters.
    pub totals: Totals,
    /// Seconds from the start of building the network to tables in memory.
    pub wall_s: f64,
    /// Notes on its numbers.
    pub notes: Vec<Note>,
    /// The tables.
    pub tables: Vec<Table>,
    /// Captures of links.
    pub captures: Vec<Capture>,
}

/// The capture of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    /// A name that any file system takes.
    pub name: String,
    /// A file in pcapng.
    pub bytes: Vec<u8>,
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Names and values of its columns, all of one length.
    pub columns: Vec<(String, Column)>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Whole numbers.
    U64(Vec<u64>),
    /// Numbers; NaN where there is none.
    F64(Vec<f64>),
    /// Texts; rows with the same one share it.
    Text(Vec<Arc<str>>),
}

impl Column {
    /// The number of its values.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::U64(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }
}

/// The totals of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    /// Simulated seconds.
    pub simulated_s: f64,
    /// Where the measured interval began, in seconds.
    pub measured_from_s: f64,
    /// Where it ended: at the end of the run at the latest.
    pub measured_to_s: f64,
    /// Packets of any kind fully received over a link.
    pub packet_hops: u64,
    /// Packets with application data received by hosts.
    pub data_packets: u64,
    /// Events of the simulation.
    pub events: u64,
    /// Flows opened.
    pub flows: u64,
    /// In-order application bytes delivered.
    pub delivered_bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Those of them that failed links caused.
    pub failure_drops: u64,
    /// Those of them that degraded links lost.
    pub lost_on_wire: u64,
    /// Those of them that degraded links corrupted.
    pub corrupted: u64,
    /// Those of them that found the headroom of a lossless priority full.
    pub headroom_drops: u64,
    /// Pauses of ports by their peers (PFC), of each priority.
    pub pauses: u64,
    /// Packets marked.
    pub marks: u64,
    /// Congestion notifications sent by switches.
    pub cnms: u64,
    /// Datagrams and writes that found a full send buffer.
    pub send_buffer_drops: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Recoveries without a timeout.
    pub fast_retransmits: u64,
    /// Reductions of a window for marks.
    pub ecn_reductions: u64,
    /// The maximum bytes in the shared memory of any switch.
    pub max_memory_bytes: u64,
    /// Transfers completed.
    pub transfers: u64,
    /// Transfers completed within their deadline.
    pub met_deadlines: u64,
    /// Transfers whose deadline passed first.
    pub missed_deadlines: u64,
}

/// One of the totals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Total {
    /// A number of things.
    Count(u64),
    /// A time.
    Seconds(f64),
}

impl Totals {
    /// All totals with their names.
    pub fn entries(&self) -> Vec<(&'static str, Total)> {
        vec![
            ("simulated_s", Total::Seconds(self.simulated_s)),
            ("measured_from_s", Total::Seconds(self.measured_from_s)),
            ("measured_to_s", Total::Seconds(self.measured_to_s)),
            ("packet_hops", Total::Count(self.packet_hops)),
            ("data_packets", Total::Count(self.data_packets)),
            ("events", Total::Count(self.events)),
            ("flows", Total::Count(self.flows)),
            ("delivered_bytes", Total::Count(self.delivered_bytes)),
            ("drops", Total::Count(self.drops)),
            ("failure_drops", Total::Count(self.failure_drops)),
            ("lost_on_wire", Total::Count(self.lost_on_wire)),
            ("corrupted", Total::Count(self.corrupted)),
            ("headroom_drops", Total::Count(self.headroom_drops)),
            ("pauses", Total::Count(self.pauses)),
            ("marks", Total::Count(self.marks)),
            ("cnms", Total::Count(self.cnms)),
            ("send_buffer_drops", Total::Count(self.send_buffer_drops)),
            ("retransmissions", Total::Count(self.retransmissions)),
            ("timeouts", Total::Count(self.timeouts)),
            ("fast_retransmits", Total::Count(self.fast_retransmits)),
            ("ecn_reductions", Total::Count(self.ecn_reductions)),
            ("max_memory_bytes", Total::Count(self.max_memory_bytes)),
            ("transfers", Total::Count(self.transfers)),
            ("met_deadlines", Total::Count(self.met_deadlines)),
            ("missed_deadlines", Total::Count(self.missed_deadlines)),
        ]
    }

    /// One row.
    pub(crate) fn table(&self) -> Table {
        let column = |value| match value {
            Total::Count(count) => Column::U64(vec![count]),
            Total::Seconds(seconds) => Column::F64(vec![seconds]),
        };
        Table {
            name: "summary".to_owned(),
            columns: self
                .entries()
                .into_iter()
                .map(|(name, value)| (name.to_owned(), column(value)))
                .collect(),
        }
    }
}
