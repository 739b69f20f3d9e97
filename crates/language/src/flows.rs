//! `[flows.NAME]`: senders, receivers, workload and instants.

use incastle_units::{Bytes, Rate, Span};

use crate::arrivals::Arrivals;
use crate::collective::AllReduce;
use crate::grammar::declare::{choice, table, word_or, words};
use crate::grammar::range::{above, above_to, between, fraction, within_a_day};
use crate::limits::Rounds;
use crate::network::{MAX_HOSTS, rates};
use crate::selection::Selection;
use crate::sizes::{MAX_BYTES, Sizes};
use crate::transport::Transport;

table! {
    /// `[flows.NAME]`
    pub struct Group {
        /// The workload of the flows.
        flat workload: Workload;
        /// The hosts that send the data (for requests: the servers).
        value from: Selection;
        /// The hosts that receive them (for requests: the clients).
        value to: Selection;
        /// The number of flows, or one for each pair of hosts of `pairs`. For requests: the number of
        /// servers of each client, all of them different hosts. For incasts: the number of hosts of
        /// `from` that send at once. Without effect on Poisson flows, lists, permutations and all-reduces.
        value count: Count = Count::Each;
        /// The pairs of hosts: the first `from` with the first `to`, the next with the next, cyclically,
        /// or each `from` with every `to`. No host sends
        /// to itself.
        value pairs: Pairs = Pairs::RoundRobin;
        /// When the flows start.
        value start: Span = Span::ZERO;
        /// Each flow starts a random time from 0 to this after `start`; `"rtt"` is one idle round
        /// trip between its hosts.
        value start_spread: Spread = Spread::Rtt;
        /// When the flows stop sending new data.
        value stop: Stop = Stop::End;
        /// Their transport: keys that are not given are those of `[transport]`.
        section transport: Transport;
    }
}

impl Group {
    /// Whether its work is finite: a size, a number of rounds, a list, or an instant at which it
    /// stops.
    pub fn is_finite(&self) -> bool {
        let counted = |rounds: Rounds| matches!(rounds, Rounds::Number(_));
        let sized = |size: Size| matches!(size, Size::Of(_));
        let by_itself = match &self.workload {
            Workload::Bulk(bulk) => sized(bulk.size),
            Workload::Permutation(permutation) => sized(permutation.size),
            Workload::BarrierIncast(barrier) => counted(barrier.rounds),
            Workload::Query(query) => counted(query.rounds),
            Workload::AllToAll(all) => counted(all.rounds),
            Workload::AllReduce(all) => counted(all.rounds),
            Workload::FlowList(_) => true,
            Workload::Cbr(_)
            | Workload::OnOff(_)
            | Workload::Poisson(_)
            | Workload::RandomIncast(_)
            | Workload::PoissonDatagrams(_) => false,
        };
        by_itself || matches!(self.stop, Stop::At(_))
    }
}

choice! {
    /// The workload of the flows.
    pub enum Workload by workload {
        /// as much as the transport can send, or `size`
        "bulk" => Bulk(Bulk),
        /// messages at a constant rate
        "cbr" => Cbr(Cbr),
        /// messages at a constant rate in periods, silence between them
        "on-off" => OnOff(OnOff),
        /// a client sends requests to all servers at once, and again after the last response
        "barrier-incast" => BarrierIncast(BarrierIncast),
        /// a client queries all servers at once, at random instants or again and again after the last response (partition/aggregate)
        "query" => Query(Query),
        /// every client sends requests to all servers at once, in rounds that all clients begin together
        "all-to-all" => AllToAll(AllToAll),
        /// each host sends to one other host, by a random permutation without fixed points
        "permutation" => Permutation(Permutation),
        /// finite flows at random instants (Poisson by default, see `interarrival_distribution`), sizes from a distribution
        "poisson" => Poisson(Poisson),
        /// at random instants several random hosts send to one random host, all at once
        "random-incast" => RandomIncast(RandomIncast),
        /// finite flows at given instants or after others, each between two given hosts
        "flow-list" => FlowList(FlowList),
        /// every host sends parts of a vector to others and gets the sum of all, in steps that wait for each other
        "all-reduce" => AllReduce(AllReduce),
        /// datagrams at random instants (Poisson)
        "poisson-datagrams" => PoissonDatagrams(PoissonDatagrams),
    }
}

impl Workload {
    /// The time in which its transfers are to be complete.
    pub fn deadline(&self) -> Option<Span> {
        match self {
            Self::Bulk(bulk) => bulk.deadline,
            Self::Permutation(permutation) => permutation.deadline,
            Self::BarrierIncast(barrier) => barrier.deadline,
            Self::Query(query) => query.deadline,
            Self::AllToAll(all) => all.deadline,
            Self::Poisson(poisson) => poisson.deadline,
            Self::RandomIncast(incast) => incast.deadline,
            Self::FlowList(list) => list.deadline,
            Self::Cbr(_) | Self::OnOff(_) | Self::AllReduce(_) | Self::PoissonDatagrams(_) => None,
        }
    }

    /// Whether clients send requests to servers, and wait for all responses.
    pub fn is_requests(&self) -> bool {
        matches!(
            self,
            Self::BarrierIncast(_) | Self::Query(_) | Self::AllToAll(_)
        )
    }

    /// Whether several transfers make a round, which is complete with the last of them.
    pub fn has_rounds(&self) -> bool {
        self.is_requests() || matches!(self, Self::RandomIncast(_) | Self::AllReduce(_))
    }

    /// Its `load` and `load_of`, if it can have them.
    pub fn load(&self) -> Option<Load> {
        let (fraction, of) = match self {
            Self::Poisson(poisson) => (poisson.load, poisson.load_of),
            Self::RandomIncast(incast) => (incast.load, incast.load_of),
            Self::PoissonDatagrams(poisson) => (poisson.load, poisson.load_of),
            _ => return None,
        };
        Some(Load { fraction, of })
    }

    /// Whether its flows are drawn during the run.
    pub fn is_drawn(&self) -> bool {
        matches!(self, Self::Poisson(_) | Self::RandomIncast(_))
    }
}

/// The `load` of a group, where it is given, and the links that this is a fraction of.
#[derive(Clone, Copy)]
pub struct Load {
    /// The fraction, where the load is given as one.
    pub fraction: Option<f64>,
    /// The links.
    pub of: LoadOf,
}

table! {
    /// Bulk transfer.
    pub struct Bulk {
        /// Application bytes of each flow.
        value size: Size = Size::Unlimited;
        /// The time from a flow's start within which its bytes should arrive. Senders with
        /// `congestion = "d2tcp"` use it; otherwise it is only counted.
        option deadline: Span, in above(Span::ZERO);
    }
}

table! {
    /// Constant bit rate.
    pub struct Cbr {
        /// Application bytes per second of each flow, as a bit rate.
        value rate: Rate, in rates();
        /// Application bytes written at once; `"packet"` fills one packet.
        value message: Message = Message::Packet;
    }
}

table! {
    /// On and off.
    pub struct OnOff {
        /// Application bytes per second of each flow while it is on, as a bit rate.
        value rate: Rate, in rates();
        /// Application bytes written at once; `"packet"` fills one packet.
        value message: Message = Message::Packet;
        /// The length of the periods in which it sends.
        value on: Span, in within_a_day();
        /// The length of the silences between them.
        value off: Span;
        /// Whether `on` and `off` are the lengths themselves, or the means of random ones.
        value periods: Periods = Periods::Constant;
    }
}

table! {
    /// Requests with a barrier.
    pub struct BarrierIncast {
        /// Application bytes of a request.
        value request: Bytes = Bytes::new(64), in above_to(Bytes::ZERO, MAX_BYTES);
        /// Application bytes of each server's response. Either this or `total_size`.
        option sru: Bytes, in above_to(Bytes::ZERO, MAX_BYTES);
        /// Application bytes of all responses to one request together, split evenly. Either this or
        /// `sru`.
        option total_size: Bytes, in above_to(Bytes::ZERO, MAX_BYTES);
        /// The time from the last response to the next request.
        value think_time: Span = Span::ZERO;
        /// Each request is sent a random time from 0 to this after the beginning of the round.
        value request_jitter: Span = Span::ZERO;
        /// The time from its request within which each response should arrive. Servers with
        /// `congestion = "d2tcp"` use it; otherwise it is only counted.
        option deadline: Span, in above(Span::ZERO);
        /// The number of requests of each client.
        value rounds: Rounds = Rounds::Unlimited;
    }
}

table! {
    /// Queries.
    pub struct Query {
        /// Application bytes of a query.
        value request: Bytes = Bytes::new(1_600), in above_to(Bytes::ZERO, MAX_BYTES);
        /// Application bytes of each server's response: 2 KB unless this or `total_size` is given.
        option response_size: Bytes, in above_to(Bytes::ZERO, MAX_BYTES);
        /// Application bytes of all responses to one query together, split evenly. Instead of `response_size`.
        option total_size: Bytes, in above_to(Bytes::ZERO, MAX_BYTES);
        /// Queries per second of each client, independent of earlier responses.
        /// Without it a client queries again after the last response.
        option rate: f64, in above(0.0);
        /// With `rate`: the distribution of the gaps between two queries of a client.
        flat interarrival: InterarrivalDistribution;
        /// Without `rate`: the time from the last response to the next query.
        value think_time: Span = Span::ZERO;
        /// Each request is sent a random time from 0 to this after the beginning of the query.
        value request_jitter: Span = Span::ZERO;
        /// The time from its query within which each response should arrive. Servers with
        /// `congestion = "d2tcp"` use it; otherwise it is only counted.
        option deadline: Span, in above(Span::ZERO);
        /// The number of queries of each client.
        value rounds: Rounds = Rounds::Unlimited;
    }
}

table! {
    /// Requests of all clients together.
    pub struct AllToAll {
        /// Application bytes of a request.
        value request: Bytes = Bytes::new(64), in above_to(Bytes::ZERO, MAX_BYTES);
        /// Application bytes of each server's response. Either this or `total_size`.
        option response_size: Bytes, in above_to(Bytes::ZERO, MAX_BYTES);
        /// Application bytes of all responses to one request together, split evenly. Either this or
        /// `response_size`.
        option total_size: Bytes, in above_to(Bytes::ZERO, MAX_BYTES);
        /// The time from the last response to any client to the next round.
        value think_time: Span = Span::ZERO;
        /// Each request is sent a random time from 0 to this after the beginning of the round.
        value request_jitter: Span = Span::ZERO;
        /// The time from its request within which each response should arrive. Servers with
        /// `congestion = "d2tcp"` use it; otherwise it is only counted.
        option deadline: Span, in above(Span::ZERO);
        /// The number of requests of each client.
        value rounds: Rounds = Rounds::Unlimited;
    }
}

table! {
    /// A permutation.
    pub struct Permutation {
        /// Application bytes of each flow.
        value size: Size = Size::Unlimited;
        /// The time from a flow's start within which its bytes should arrive. Senders with
        /// `congestion = "d2tcp"` use it; otherwise it is only counted.
        option deadline: Span, in above(Span::ZERO);
    }
}

choice! {
    /// The distribution of the gaps between arrivals, all with the same mean.
    pub enum InterarrivalDistribution by interarrival_distribution = "exponential" {
        /// independent of each other: a Poisson process
        "exponential" => Exponential(Exponential),
        /// heavy-tailed: bursts, and long pauses between them
        "log-normal" => LogNormal(LogNormal),
    }
}

table! {
    /// Exponential gaps have no parameters.
    pub struct Exponential {}
}

table! {
    /// Log-normal gaps.
    pub struct LogNormal {
        /// The standard deviation of a gap's logarithm.
        value sigma: f64 = 2.0, in above_to(0.0, 4.0);
    }
}

table! {
    /// Poisson flows: each has a separate connection, between a random `from` and a random `to`.
    pub struct Poisson {
        /// Their sizes: `"websearch"`, `"datamining"`, `"hadoop"`, one size such as `"64 KB"`, a
        /// file of bytes and cumulative percentages (`"my.cdf"`), or the points of such a file.
        value sizes: Sizes;
        /// The time from a flow's start within which its bytes should arrive. Senders with
        /// `congestion = "d2tcp"` use it; otherwise it is only counted.
        option deadline: Span, in above(Span::ZERO);
        /// The mean of the application bytes offered, as a fraction of the rate of the links of
        /// `load_of`. Either this or `flow_rate`.
        option load: f64, in fraction();
        /// With `load`: the links whose rate it is a fraction of.
        value load_of: LoadOf = LoadOf::Hosts;
        /// Flows per second in all. Either this or `load`.
        option flow_rate: f64, in above(0.0);
        /// The distribution of the gaps between two flows.
        flat interarrival: InterarrivalDistribution;
    }
}

table! {
    /// Incasts: each flow has a separate connection.
    pub struct RandomIncast {
        /// Application bytes of each sender. Either this or `total_size`.
        option sru: Bytes, in above_to(Bytes::ZERO, MAX_BYTES);
        /// Application bytes of all senders of an incast together, split evenly. Either this or `sru`.
        option total_size: Bytes, in above_to(Bytes::ZERO, MAX_BYTES);
        /// The time from its start within which each sender's bytes should arrive. Senders with
        /// `congestion = "d2tcp"` use it; otherwise it is only counted.
        option deadline: Span, in above(Span::ZERO);
        /// The mean of the application bytes offered, as a fraction of the rate of the links of
        /// `load_of`. Either this or `incast_rate`.
        option load: f64, in fraction();
        /// With `load`: the links whose rate it is a fraction of.
        value load_of: LoadOf = LoadOf::Hosts;
        /// Incasts per second in all. Either this or `load`.
        option incast_rate: f64, in above(0.0);
        /// The distribution of the gaps between two incasts.
        flat interarrival: InterarrivalDistribution;
    }
}

table! {
    /// Transfers from a list: each has a separate connection.
    pub struct FlowList {
        /// A file of comma-separated values under the line `start_s,source,destination,bytes`, ordered
        /// by start: seconds after `start`, a host of `from`, a host of `to`, application bytes. With
        /// the further columns `,after,acknowledged,arrived`, transfers wait for others. Or such a list.
        value transfers: Arrivals;
        /// The time from a flow's start within which its bytes should arrive. Senders with
        /// `congestion = "d2tcp"` use it; otherwise it is only counted.
        option deadline: Span, in above(Span::ZERO);
    }
}

table! {
    /// Poisson datagrams, independent on each flow.
    pub struct PoissonDatagrams {
        /// Application bytes of each datagram; `"packet"` fills one packet.
        value message: Message = Message::Packet;
        /// The mean of the bytes offered, headers included, as a fraction of the rate of the links
        /// of `load_of`. Either this or `datagram_rate`.
        option load: f64, in fraction();
        /// With `load`: the links whose rate it is a fraction of.
        value load_of: LoadOf = LoadOf::Hosts;
        /// Datagrams per second in all. Either this or `load`.
        option datagram_rate: f64, in above(0.0);
    }
}

word_or! {
    /// The number of flows.
    pub enum Count {
        /// One for each pair.
        "each" => Each,
        /// This many.
        Number(u32) in between(1, MAX_HOSTS),
    }
}

words! {
    /// Which hosts the flows connect.
    pub enum Pairs {
        /// Around both sets.
        "round-robin" => RoundRobin,
        /// Each with every one.
        "all" => All,
    }
}

word_or! {
    /// Over which time the starts are spread.
    pub enum Spread {
        /// One idle round trip.
        "rtt" => Rtt,
        /// This long.
        Over(Span),
    }
}

word_or! {
    /// An instant.
    pub enum Stop {
        /// The end of the run.
        "end" => End,
        /// This long after the beginning.
        At(Span),
    }
}

word_or! {
    /// A number of application bytes.
    pub enum Size {
        /// As many as there is time for.
        "unlimited" => Unlimited,
        /// This many.
        Of(Bytes),
    }
}

word_or! {
    /// The application bytes written at once.
    pub enum Message {
        /// One full packet.
        "packet" => Packet,
        /// This many.
        Of(Bytes),
    }
}

words! {
    /// The links whose rate a load is a fraction of.
    pub enum LoadOf {
        /// The access links of all `to` hosts.
        "hosts" => Hosts,
        /// The links between leaves and spines, or between edge and aggregation switches.
        "uplinks" => Uplinks,
        /// The links between aggregation and core switches.
        "core" => Core,
        /// The bottleneck of a dumbbell, or the links between the switches of a tree.
        "trunk" => Trunk,
    }
}

words! {
    /// The distribution of the lengths of periods.
    pub enum Periods {
        /// All alike.
        "constant" => Constant,
        /// From the exponential distribution.
        "exponential" => Exponential,
    }
}

impl RandomIncast {
    /// Application bytes of an incast of `senders` senders; each sends one at least.
    pub fn bytes(&self, senders: usize) -> u64 {
        let senders = senders as u64;
        match (self.sru, self.total_size) {
            (Some(unit), _) => unit.count().saturating_mul(senders),
            (None, Some(total)) => total.count().max(senders),
            // Reported elsewhere.
            (None, None) => 0,
        }
    }

    /// The mean of those bytes, where each of `to` receives as often as any other.
    pub fn mean_bytes(&self, count: Count, from: &[usize], to: &[usize]) -> f64 {
        let senders = |receiver: &usize| match count {
            Count::Number(wanted) => wanted as usize,
            Count::Each => from.iter().filter(|&host| host != receiver).count(),
        };
        let all = to
            .iter()
            .map(|receiver| self.bytes(senders(receiver)) as f64);
        all.sum::<f64>() / to.len() as f64
    }
}

impl Query {
    /// Application bytes of each server's response, unless `total_size` sets it.
    pub const UNIT: Bytes = Bytes::new(2_000);
}
