//! `[network.degraded.LABEL]`: links that are slower, longer, lossy, noisy or irregular for a time.

use incastle_units::{Rate, Span};
use serde_json::json;

use crate::grammar::declare::{table, words};
use crate::grammar::describe::Shape;
use crate::grammar::range::{self, Range, above_to, at_least, below_one};
use crate::grammar::reader::{Table, read_table};
use crate::grammar::value::{Value, wrong};
use crate::network::{delays, rates};
use crate::selection::Selection;
use crate::text::context::Context;
use crate::text::node::{Content, Node, quoted};

table! {
    /// `[network.degraded.LABEL]`
    pub struct Degraded {
        /// Two sets of hosts and switches: every link between one of the first and one of the second is degraded.
        value between: Vec<Selection>;
        /// The one of parallel links of a graph, from 1 on as in `"left->right#2"`; without it all of them.
        option number: u32, in at_least(1);
        /// The directions that are degraded.
        value direction: Direction = Direction::Both;
        /// When it begins.
        value from: Span = Span::ZERO;
        /// When it ends; without it the links stay degraded.
        option until: Span;
        /// Their rate, below the one that they have otherwise.
        option rate: Rate, in rates();
        /// Their one-way delay, above the one that they have otherwise.
        option delay: Span, in delays();
        /// The share of packets lost on the wire: `"0.1 %"`, independently of each other; or
        /// `{ good_to_bad = "0.01 %", bad_to_good = "20 %" }`, in bursts (Gilbert 1960, Elliott 1963).
        option loss: Loss;
        /// The probability that a bit arrives wrong. The receiver discards a packet with a wrong bit.
        value bit_error_rate: f64 = 0.0, in below_one();
        /// The mean of a random delay of each packet, in addition to `delay`.
        value jitter: Span = Span::ZERO, in range::between(Span::ZERO, Span::from_secs(10));
        /// Its distribution; without it uniform.
        option jitter_distribution: JitterDistribution;
        /// Whether packets may overtake each other; otherwise none arrives before those sent before it.
        value reorder: bool = false;
    }
}

words! {
    /// Directions of links.
    pub enum Direction {
        /// Both.
        "both" => Both,
        /// From the first set of nodes to the second.
        "forward" => Forward,
    }
}

words! {
    /// The distribution of a random delay with the mean J.
    pub enum JitterDistribution {
        /// Uniform from 0 to 2 J.
        "uniform" => Uniform,
        /// Normal with the standard deviation J/3, cut off at 0 and 2 J.
        "normal" => Normal,
        /// Exponential.
        "exponential" => Exponential,
        /// Pareto's, from 0 on, with the shape 3.
        "pareto" => Pareto,
    }
}

/// The law by which packets are lost.
#[derive(Debug, Clone, PartialEq)]
pub enum Loss {
    /// Each with this probability.
    Independent(Percent),
    /// In bursts.
    Bursts(GilbertElliott),
}

table! {
    /// Losses in bursts: a link is good or bad, and may change after each packet (Gilbert 1960, Elliott 1963).
    pub struct GilbertElliott {
        /// The probability that a good link is bad for the next packet: netem's p.
        value good_to_bad: Percent, in percentages();
        /// The probability that a bad link is good for the next packet: netem's r. A bad period lasts 1/r packets on
        /// average.
        value bad_to_good: Percent, in above_to(Percent(0.0), Percent(100.0));
        /// The probability that a bad link loses a packet: netem's 1-h.
        value loss_in_bad: Percent = Percent(100.0), in percentages();
        /// The probability that a good link loses a packet: netem's 1-k.
        value loss_in_good: Percent = Percent(0.0), in percentages();
    }
}

/// A probability or a share, in percent.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Percent(pub f64);

impl Percent {
    /// As a fraction of 1.
    pub fn fraction(self) -> f64 {
        self.0 / 100.0
    }
}

fn percentages() -> Range<Percent> {
    range::between(Percent(0.0), Percent(100.0))
}

impl Value for Percent {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        let percent = match &node.content {
            Content::Text(text) => text.trim().strip_suffix('%'),
            _ => None,
        };
        let value = percent.and_then(|percent| percent.trim().parse::<f64>().ok());
        let value = value.filter(|value| value.is_finite());
        if value.is_none() {
            wrong(node, key, &Self::shape().words, cx);
        }
        value.map(Self)
    }

    fn write(&self) -> String {
        quoted(&format!("{} %", self.0))
    }

    fn shape() -> Shape {
        Shape {
            words: "a percentage such as \"0.1 %\"".to_owned(),
            json: json!({ "type": "string", "pattern": "^\\s*[0-9.]+(e-?[0-9]+)?\\s*%\\s*$" }),
        }
    }
}

impl Value for Loss {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        if let Content::Table(entries) = &node.content {
            let bursts: GilbertElliott = read_table(key.to_owned(), node.place, entries, cx)?;
            if bursts.loses_all() {
                cx.error(node.place, key, "loss: neither state lets a packet pass")
                    .help(FAILS);
                return None;
            }
            return Some(Self::Bursts(bursts));
        }
        let share = Percent::read(node, key, cx)?;
        if !(0.0..100.0).contains(&share.0) {
            let message = format!(
                "loss must be at least \"0 %\" and below \"100 %\", found {}",
                share.write()
            );
            cx.error(node.place, key, message).help(FAILS);
            return None;
        }
        Some(Self::Independent(share))
    }

    fn write(&self) -> String {
        match self {
            Self::Independent(share) => share.write(),
            Self::Bursts(bursts) => crate::grammar::declare::inline(bursts),
        }
    }

    fn shape() -> Shape {
        let share = Percent::shape();
        Shape {
            words: format!(
                "{}, or {{ good_to_bad = \"0.01 %\", bad_to_good = \"20 %\" }}",
                share.words
            ),
            json: json!({
                "anyOf": [share.json, crate::grammar::json::object(&GilbertElliott::description())]
            }),
        }
    }
}

const FAILS: &str = "links that lose everything fail: [network.failures.LABEL]";

impl GilbertElliott {
    /// Whether every packet is lost: the link is good at first, and again after any bad period.
    fn loses_all(&self) -> bool {
        let all = Percent(100.0);
        self.loss_in_good >= all && (self.loss_in_bad >= all || self.good_to_bad <= Percent(0.0))
    }
}

impl Degraded {
    /// Whether it loses or delays packets, besides its rate.
    pub fn affects_packets(&self) -> bool {
        self.delay.is_some()
            || self.loss.is_some()
            || self.bit_error_rate > 0.0
            || self.jitter > Span::ZERO
    }
}
