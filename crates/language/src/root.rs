//! The top of a scenario, with `[run]` and `[host]`.

use incastle_units::Span;

use crate::flows::Group;
use crate::grammar::declare::{table, words};
use crate::grammar::range::{DAY, above_to, at_least, between};
use crate::limits::Capacity;
use crate::measure::Measure;
use crate::network::Network;
use crate::qcn::ReactionPoints;
use crate::switch::{Switch, SwitchGroup};
use crate::transport::Transport;

table! {
    /// A whole scenario.
    pub struct Root {
        /// The name of the scenario and of its results: letters, digits, `-`, `_` and `.`.
        value name: String = "scenario".to_owned(), shown "the file's name without `.toml`";
        /// Duration and seed.
        section run: Run;
        /// Hosts, switches and links.
        section network: Network;
        /// The switches: buffers and queue disciplines.
        section switch: Switch;
        /// Switches that differ from `[switch]`, under labels of your own.
        each switches: SwitchGroup;
        /// The hosts' NICs.
        section host: Host;
        /// The transport of all flows, unless a group sets another.
        section transport: Transport;
        /// The groups of flows, under names of your own.
        each flows: Group;
        /// The recorded data.
        section measure: Measure;
    }
}

table! {
    /// `[run]`
    pub struct Run {
        /// The simulated duration; with `stop = "when-done"` at most.
        value duration: Span, in above_to(Span::ZERO, Span::from_secs(100 * DAY));
        /// When the run ends.
        value stop: RunStop = RunStop::Duration;
        /// Another simulator's oddities, for comparisons with its results. Without it there are none.
        option compat: Compat;
        /// The seed of every random substream; the same scenario and seed give the same result.
        value seed: u64 = 1;
    }
}

table! {
    /// `[host]`
    pub struct Host {
        /// Packets leave a random time from 0 to this later (a jitter never reorders).
        value jitter: Span = Span::ZERO, in between(Span::ZERO, Span::from_secs(1));
        /// The packets with jitter: those with data, or acknowledgements and control packets too.
        value jitter_applies_to: JitterAppliesTo = JitterAppliesTo::Data;
        /// The number of segments that leave together (segmentation offload), at most half a window. As many
        /// contiguous arrivals are delivered to the transport at once. 1 turns both off.
        value tso_burst: u32 = 1, in at_least(1);
        /// The time that the first arrival of a burst waits for others; without effect at `tso_burst = 1`.
        value interrupt_coalescing: Span = Span::from_us(5), in between(Span::ZERO, Span::from_secs(1));
        /// The capacity of the NIC's queue; a full one drops.
        value queue: Capacity = Capacity::Unlimited;
        /// The reaction points of NICs (QCN).
        section qcn: ReactionPoints;
    }
}

words! {
    /// When a run ends.
    pub enum RunStop {
        /// After its duration.
        "duration" => Duration,
        /// When its finite work is done: all flows with a size are complete, all requests have their responses, all
        /// rounds are over. Groups with infinite work do not count. The duration is the limit.
        "when-done" => WhenDone,
    }
}

words! {
    /// Another simulator whose oddities are to be repeated.
    pub enum Compat {
        /// HPCC's simulator (branch m3 of its fork by kwzhao), for `kind = "rdma"`: times cut to nanoseconds, its order of simultaneous events, thresholds of PFC in 32 bits, marks at dequeue, pauses without expiry.
        "hpcc-ns3" => HpccNs3,
    }
}

words! {
    /// Which packets a jitter delays.
    pub enum JitterAppliesTo {
        /// Those with data.
        "data" => Data,
        /// All.
        "all" => All,
    }
}
