//! The load that each group offers to each link, and the sums of tiers.

use serde_json::{Value, json};

use crate::language::flows::{Group, LoadOf, Workload};
use crate::language::root::Root;
use crate::load::demand::{self, Offer, Unknown, offers, period};
use crate::load::spread::Network;
use crate::topology::layout::Layout;
use crate::topology::tier::{Direction, Tier};

/// The load that a scenario offers to the links of its network.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfferedLoad {
    /// The maximum over time of all groups together, by tier and direction.
    pub together: Vec<TierLoad>,
    /// Each group, in the order of the scenario.
    pub groups: Vec<GroupLoad>,
    /// Groups that are not counted.
    pub left_out: Vec<LeftOut>,
}

/// The load of one group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupLoad {
    /// Its name.
    pub group: String,
    /// Application bytes per second, on average.
    pub application: f64,
    /// Whether its instants and sizes are drawn at random: a run then has another load.
    pub drawn: bool,
    /// The start and the end of its load, in seconds.
    pub period: (f64, f64),
    /// The tiers that its data cross.
    pub tiers: Vec<TierLoad>,
}

/// A group that is not counted.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// Its name.
    pub group: String,
    /// Its workload.
    pub workload: &'static str,
    /// The reason.
    pub reason: &'static str,
}

/// The load of the links of a tier in one direction, or in both where they are equal. Loads are fractions of the
/// rates of links that data cross.
#[derive(Debug, Clone, PartialEq)]
pub struct TierLoad {
    /// `hosts`, `uplinks`, `core`, `trunk`, or `links` between the switches of a graph.
    pub tier: &'static str,
    /// `up`, `down`, `both`, or `any`.
    pub direction: &'static str,
    /// Links that data cross; where the direction is `any`, each direction of a link counts.
    pub links: usize,
    /// Links of the tier, counted likewise.
    pub of: usize,
    /// Application bytes, on average over the links that data cross.
    pub application: f64,
    /// The same on the wire: with headers and framing, each packet once, without ACKs and handshakes.
    pub wire: f64,
    /// The maximum over all links, on the wire.
    pub max: f64,
    /// The name of that link.
    pub max_link: String,
}

/// A group and its load on directed links.
pub(super) struct Loaded<'a> {
    pub(super) name: &'a str,
    pub(super) group: &'a Group,
    /// Application bytes per second.
    pub(super) application: f64,
    /// By number of a directed link, in order: bytes per second of the application, and on the wire.
    pub(super) links: Vec<(usize, [f64; 2])>,
}

/// The load of a tier in one direction, with its maximum.
pub(super) struct Row {
    pub(super) tier: Tier,
    pub(super) direction: Direction,
    /// The crossed links: their number, their rates and the bytes per second on them together.
    pub(super) crossed: usize,
    pub(super) rate: f64,
    pub(super) bytes: [f64; 2],
    /// The directed link with the maximum load: its number, and that load.
    pub(super) max: (usize, f64),
}

/// The maximum number of bytes per second, so that sums and quotients are finite.
const MOST: f64 = 1e200;

/// Loads this close are equal: sums in another order differ by as much.
pub(super) const SAME: f64 = 1e-9;

/// The load of all groups of a scenario that begin independently of the network.
pub(super) struct Offered<'a> {
    pub(super) network: Network<'a>,
    pub(super) tiers: Vec<Tier>,
    pub(super) groups: Vec<Loaded<'a>>,
    pub(super) left_out: Vec<(&'a str, &'a Group, Unknown)>,
}

/// The bytes per second at a load of 1, for a group of a checked scenario.
pub fn capacity(group: &Group, load_of: LoadOf, layout: &Layout) -> f64 {
    let capacity = demand::capacity(group, load_of, &Network::new(layout));
    capacity.expect("a checked scenario has links of this tier that can be looked at")
}

impl<'a> Offered<'a> {
    pub(super) fn new(root: &'a Root, layout: &'a Layout) -> Self {
        let mut offered = Self {
            network: Network::new(layout),
            tiers: Tier::among(layout),
            groups: Vec::new(),
            left_out: Vec::new(),
        };
        for (name, group) in &root.flows {
            let found = offers(root, group, &offered.network);
            let loaded = found.and_then(|all| {
                Ok(Loaded {
                    name,
                    group,
                    application: all.iter().map(|one| one.application).sum(),
                    links: offered.links(&all)?,
                })
            });
            match loaded {
                Ok(loaded) => offered.groups.push(loaded),
                Err(unknown) => offered.left_out.push((name, group, unknown)),
            }
        }
        offered
    }

    /// The load of offers on each link.
    fn links(&self, offers: &[Offer]) -> Result<Vec<(usize, [f64; 2])>, Unknown> {
        let mut links = Vec::new();
        for offer in offers {
            let shares = self.network.shares(&offer.matrix);
            let shares = shares.ok_or(Unknown::TooLarge)?.into_iter();
            let rates = [offer.application, offer.wire].map(|rate| rate.min(MOST));
            links.extend(shares.map(|(number, share)| (number, rates.map(|rate| rate * share))));
        }
        Ok(summed(links))
    }

    /// The tiers of a network in both directions, as some groups together load them.
    fn rows(&self, groups: &[&Loaded<'_>]) -> Vec<Row> {
        let all = match groups {
            [only] => only.links.clone(),
            several => summed(several.iter().flat_map(|one| one.links.clone()).collect()),
        };
        let mut rows: Vec<Row> = Vec::new();
        for tier in &self.tiers {
            rows.extend(tier.directions().iter().map(|&direction| Row {
                tier: *tier,
                direction,
                crossed: 0,
                rate: 0.0,
                bytes: [0.0; 2],
                max: (0, 0.0),
            }));
        }
        for (number, bytes) in all {
            let class = self.network.class(number);
            let row = rows
                .iter_mut()
                .find(|row| (row.tier, row.direction) == class);
            let row = row.expect("every link has a tier of its network");
            let rate = self.network.rate(number);
            row.crossed += 1;
            row.rate += rate;
            row.bytes = [row.bytes[0] + bytes[0], row.bytes[1] + bytes[1]];
            if bytes[1] / rate > row.max.1 * (1.0 + SAME) {
                row.max = (number, bytes[1] / rate);
            }
        }
        rows
    }

    /// The maximum load of each tier and direction, and the groups that offer it together.
    pub(super) fn peaks(
        &self,
        root: &Root,
        counts: impl Fn(&Group) -> bool,
    ) -> Vec<(Row, Vec<&Loaded<'a>>)> {
        let duration = root.run.duration;
        let counted = || self.groups.iter().filter(|one| counts(one.group));
        let mut instants: Vec<_> = counted().map(|one| one.group.start).collect();
        instants.sort_unstable();
        instants.dedup();
        let mut peaks: Vec<(Row, Vec<&Loaded<'a>>)> = Vec::new();
        for instant in instants {
            let send = |one: &&Loaded<'_>| {
                let (start, stop) = period(one.group, duration);
                start <= instant && instant < stop
            };
            let sending: Vec<&Loaded<'a>> = counted().filter(send).collect();
            for (place, row) in self.rows(&sending).into_iter().enumerate() {
                match peaks.get_mut(place) {
                    Some((most, _)) if row.max.1 <= most.max.1 * (1.0 + SAME) => {}
                    Some(most) => *most = (row, sending.clone()),
                    None => peaks.push((row, sending.clone())),
                }
            }
        }
        peaks
    }

    /// The rows of results: equal directions as one, and no direction that is not crossed where the other
    /// one is.
    fn table(&self, rows: &[&Row]) -> Vec<TierLoad> {
        let mut table = Vec::new();
        for &tier in &self.tiers {
            let of_tier = || rows.iter().filter(|row| row.tier == tier);
            let crossed: Vec<&&Row> = of_tier().filter(|row| row.crossed > 0).collect();
            match crossed.as_slice() {
                [up, down] if up.is_like(down) => table.push(self.entry(up, "both")),
                [] => table.extend(of_tier().next().map(|row| self.entry(row, "both"))),
                some => table.extend(some.iter().map(|row| self.entry(row, row.direction.word()))),
            }
        }
        table
    }

    fn entry(&self, row: &Row, direction: &'static str) -> TierLoad {
        let links = self.network.layout.links.iter();
        let directions = if row.direction == Direction::Any {
            2
        } else {
            1
        };
        let [application, wire] = row.means();
        TierLoad {
            tier: row.tier.word(),
            direction,
            links: row.crossed,
            of: directions * links.filter(|link| Tier::of(link) == row.tier).count(),
            application,
            wire,
            max: row.max.1,
            max_link: match row.crossed {
                0 => String::new(),
                _ => self.network.name(row.max.0),
            },
        }
    }

    pub(super) fn result(&self, root: &Root) -> OfferedLoad {
        let peaks = self.peaks(root, |_| true);
        let together: Vec<&Row> = peaks.iter().map(|(row, _)| row).collect();
        let groups = self.groups.iter().map(|one| {
            let rows = self.rows(&[one]);
            let (start, stop) = period(one.group, root.run.duration);
            GroupLoad {
                group: one.name.to_owned(),
                application: one.application.min(MOST),
                drawn: one.group.workload.is_drawn(),
                period: (start.as_secs_lossy(), stop.as_secs_lossy()),
                tiers: self.table(&rows.iter().collect::<Vec<&Row>>()),
            }
        });
        let left_out = self.left_out.iter().map(|(name, group, unknown)| LeftOut {
            group: (*name).to_owned(),
            workload: group.workload.word(),
            reason: unknown.words(),
        });
        OfferedLoad {
            together: self.table(&together),
            groups: groups.collect(),
            left_out: left_out.collect(),
        }
    }
}

/// The same links, each once.
fn summed(mut links: Vec<(usize, [f64; 2])>) -> Vec<(usize, [f64; 2])> {
    links.sort_by_key(|(number, _)| *number);
    links.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1 = [earlier.1[0] + later.1[0], earlier.1[1] + later.1[1]];
        }
        same
    });
    links
}

impl Row {
    /// The loads of the links that are crossed, on average: of the application, and on the wire.
    pub(super) fn means(&self) -> [f64; 2] {
        match self.crossed {
            0 => [0.0; 2],
            _ => self.bytes.map(|bytes| bytes / self.rate),
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= SAME * a.max(b);
        let ([a, b], [c, d]) = (self.means(), other.means());
        self.crossed == other.crossed && near(a, c) && near(b, d) && near(self.max.1, other.max.1)
    }
}

impl Unknown {
    fn words(self) -> &'static str {
        match self {
            Self::Adapts => "adapts to the network",
            Self::AtOnce => "all that begin do so at once",
            Self::Late => "sends nothing before the end",
            Self::TooLarge => "the network is too large",
            Self::Elsewhere => "crosses none of the links of its load",
        }
    }
}

impl OfferedLoad {
    /// As JSON.
    pub fn to_json(&self) -> String {
        let groups = self.groups.iter();
        let left_out = self.left_out.iter();
        let all = json!({
            "together": tiers(&self.together),
            "groups": groups
                .map(|one| json!({
                    "group": one.group, "application_bytes_s": one.application, "drawn": one.drawn,
                    "from_s": one.period.0, "until_s": one.period.1, "tiers": tiers(&one.tiers),
                }))
                .collect::<Value>(),
            "left_out": left_out
                .map(|one| json!({
                    "group": one.group, "workload": one.workload, "reason": one.reason,
                }))
                .collect::<Value>(),
        });
        all.to_string()
    }
}

fn tiers(all: &[TierLoad]) -> Value {
    let all = all.iter();
    all.map(|one| {
        json!({
            "tier": one.tier, "direction": one.direction, "links": one.links, "of": one.of,
            "application": one.application, "wire": one.wire,
            "max": one.max, "max_link": one.max_link,
        })
    })
    .collect()
}

/// Whether a group that overloads links gets a warning: a list may be a deliberate burst.
pub(super) fn is_steady(group: &Group) -> bool {
    !matches!(group.workload, Workload::FlowList(_))
}
