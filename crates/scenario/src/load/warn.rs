//! Messages about loads: a missing tier, and links above 100 %.

use incastle_units::Rate;

use crate::language::flows::{Group, Load, LoadOf, Workload};
use crate::language::grammar::value::Value;
use crate::language::root::Root;
use crate::load::demand::{Unknown, is_there};
use crate::load::offered::{Loaded, Offered, OfferedLoad, Row, SAME, is_steady};
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::layout::Layout;
use crate::topology::tier::Tier;

/// Returns the offered load of a scenario without errors, else none. Reports loads of links that are never crossed, and
/// overloaded links.
pub(crate) fn check(root: &Root, layout: &Layout, cx: &mut Context<'_>) -> OfferedLoad {
    if cx.has_errors() || cx.is_partial() {
        return OfferedLoad::default();
    }
    let offered = Offered::new(root, layout);
    offered.check_loads(cx);
    let peaks = offered.peaks(root, is_steady);
    for &tier in &offered.tiers {
        let peaks = peaks.iter().filter(|(row, _)| row.tier == tier);
        // The first of two equal ones: the direction up.
        if let Some((row, groups)) = peaks.rev().max_by(|a, b| a.0.max.1.total_cmp(&b.0.max.1)) {
            offered.warn(row, groups, cx);
        }
    }
    offered.result(root)
}

/// Checks `load_of` of all groups, as far as possible without other checks.
pub(crate) fn check_tiers(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    let tiers = Tier::among(layout);
    for (name, group) in &root.flows {
        if let Some(load) = group.workload.load() {
            check_load_of(&format!("flows.{name}"), load, &tiers, cx);
        }
    }
}

/// Reports a `load_of` without `load`, or of a missing tier.
fn check_load_of(path: &str, load: Load, tiers: &[Tier], cx: &mut Context<'_>) {
    let key = format!("{path}.load_of");
    if !is_there(load.of, tiers) {
        let words = tiers.iter().filter_map(|tier| tier.load_of());
        let words: Vec<String> = words.map(|word| word.write()).collect();
        cx.error_at(&key, format!("this network has no {}", noun(load.of)))
            .help(format!("valid: {}", words.join(", ")));
    } else if load.fraction.is_none() && load.of != LoadOf::Hosts {
        cx.error_at(&key, "`load_of` without `load`")
            .help("give load, such as load = 0.5, in place of arrivals");
    }
}

/// The links of a load, in messages.
fn noun(of: LoadOf) -> &'static str {
    let mut tiers = Tier::ALL.into_iter();
    let tier = tiers.find(|tier| tier.load_of() == Some(of));
    tier.expect("each word is that of a tier").noun()
}

impl Offered<'_> {
    /// Reports groups whose load is a fraction of links that they do not cross, or whose network is too large to search.
    fn check_loads(&self, cx: &mut Context<'_>) {
        for &(name, group, unknown) in &self.left_out {
            let load = group.workload.load();
            let Some(Load { of, .. }) = load.filter(|load| load.fraction.is_some()) else {
                continue;
            };
            let message = match unknown {
                Unknown::Elsewhere => {
                    format!("nothing of this group crosses the {}", noun(of))
                }
                Unknown::TooLarge if of != LoadOf::Hosts => {
                    "the network is too large for loads of links between switches".to_owned()
                }
                _ => continue,
            };
            cx.error_at(&format!("flows.{name}.load_of"), message)
                .help("load_of = \"hosts\" means the access links of the receivers");
        }
    }

    /// Warns of an overloaded link: at each group that overloads it alone,
    /// or else at the group that offers the most.
    fn warn(&self, row: &Row, groups: &[&Loaded<'_>], cx: &mut Context<'_>) {
        let (number, load) = row.max;
        if load <= 1.0 + SAME {
            return;
        }
        let rate = self.network.rate(number);
        let own = groups.iter().map(|one| (one, one.wire_on(number) / rate));
        let mut shares: Vec<_> = own.filter(|(_, load)| *load > 0.0).collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        let alone = shares.iter().filter(|(_, load)| *load > 1.0 + SAME).count();
        for &(one, own) in &shares[..alone.max(1)] {
            let who = match shares.len() {
                1 => "this group offers".to_owned(),
                count if own > 1.0 + SAME => {
                    format!("this group offers {}, all {count} groups", percent(own))
                }
                count => format!("{count} groups together offer"),
            };
            cx.warn_at(
                &format!("flows.{}.{}", one.name, key(one.group)),
                format!(
                    "{who} {} of what {} carries, headers included ({} of the {} on average): \
                     ever more data wait",
                    percent(load),
                    quoted(&self.network.name(number)),
                    percent(row.means()[1]),
                    row.tier.noun(),
                ),
            )
            .help(remedy(one.group, row.tier, own, load - own));
        }
    }
}

impl Loaded<'_> {
    /// Bytes per second on the wire of a directed link.
    fn wire_on(&self, number: usize) -> f64 {
        let place = self
            .links
            .binary_search_by_key(&number, |(number, _)| *number);
        place.map_or(0.0, |place| self.links[place].1[1])
    }
}

/// The key of a group's load.
fn key(group: &Group) -> &'static str {
    match &group.workload {
        Workload::Cbr(_) | Workload::OnOff(_) | Workload::Query(_) => "rate",
        workload => match workload.load() {
            Some(load) if load.fraction.is_some() => "load",
            _ => match workload {
                Workload::RandomIncast(_) => "incast_rate",
                Workload::PoissonDatagrams(_) => "datagram_rate",
                _ => "flow_rate",
            },
        },
    }
}

/// The value with which a group does not overload its link, given the others.
fn remedy(group: &Group, tier: Tier, own: f64, others: f64) -> String {
    let factor = (1.0 - others) / own;
    let number = |value: f64| {
        format!(
            "{} = {} makes it 100 %",
            key(group),
            rounded(value * factor)
        )
    };
    if factor <= 0.0 {
        return format!("the other groups offer {} by themselves", percent(others));
    }
    let value = match &group.workload {
        Workload::Cbr(cbr) => return rate_remedy(cbr.rate, factor),
        Workload::OnOff(on_off) => return rate_remedy(on_off.rate, factor),
        Workload::Query(query) => query.rate,
        Workload::Poisson(poisson) => poisson.load.or(poisson.flow_rate),
        Workload::RandomIncast(incast) => incast.load.or(incast.incast_rate),
        Workload::PoissonDatagrams(poisson) => poisson.load.or(poisson.datagram_rate),
        _ => None,
    };
    let help = number(value.expect("what is warned of has a number that says how much"));
    match (group.workload.load(), tier.load_of()) {
        (Some(load), Some(word)) if load.fraction.is_some() && load.of != word => {
            format!(
                "{help}; load_of = {} makes `load` a fraction of them",
                word.write()
            )
        }
        _ => help,
    }
}

fn rate_remedy(rate: Rate, factor: f64) -> String {
    let bits = rounded_down(rate.bits_per_second() as f64 * factor);
    let rate = Rate::from_bits_per_second(bits as u64);
    format!("rate = {} makes it 100 %", rate.write())
}

/// A load in messages: with all digits, unless these are too many to be read.
fn percent(load: f64) -> String {
    let load = 100.0 * load;
    if load < 1e6 {
        format!("{load:.1} %")
    } else {
        format!("{load:.1e} %")
    }
}

/// The first three digits of a number above 0, the others 0: no more than it.
fn rounded_down(value: f64) -> f64 {
    let text = format!("{value:e}");
    let (digits, power) = text.split_once('e').expect("a number has an exponent");
    let digits = &digits[..digits.len().min("1.23".len())];
    let value = format!("{digits}e{power}").parse();
    value.expect("digits and an exponent are a number")
}

/// The same as TOML has it.
fn rounded(value: f64) -> String {
    let value = rounded_down(value).write();
    value.trim_end_matches(".0").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_remedies_have_three_digits_and_are_no_more() {
        for (value, words) in [
            (0.423_9, "0.423"),
            (81_099.9, "81000"),
            (0.5, "0.5"),
            (1e-300, "1e-300"),
            (7.0, "7"),
        ] {
            assert_eq!(rounded(value), words);
        }
        assert_eq!(percent(1.138), "113.8 %");
        assert_eq!(percent(1e200), "1.0e202 %");
    }
}
