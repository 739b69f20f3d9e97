//! Checks that every transfer of a list with dependences can begin.
//!
//! Counts never fall, so that the order of ends does not matter. Transfers that can begin
//! are found one after the other, each as if it ended at once. The others wait for counts that are never
//! reached, or in a cycle.

use crate::language::arrivals::{Arrival, Arrivals};
use crate::text::node::quoted;

/// A transfer that never begins, with the reason.
pub(super) fn never_begins(arrivals: &Arrivals) -> Option<(&Arrival, String)> {
    let list = arrivals.list();
    if !list.iter().any(Arrival::waits) {
        return None;
    }
    let run = Begun::all(arrivals);
    let left = || {
        list.iter()
            .zip(&run.missing)
            .filter(|(_, missing)| **missing > 0)
    };
    let mut ever = vec![0; run.values.len()];
    for count in list
        .iter()
        .filter_map(|one| one.dependence.as_ref())
        .flat_map(|one| one.advanced())
    {
        ever[count as usize] += 1;
    }
    // Reported first: the others may wait only for transfers with such counts.
    let mut too_much = left().filter_map(|(arrival, _)| {
        let after = arrival.dependence.iter().flat_map(|one| &one.after);
        let mut short = after.filter(|(count, value)| ever[*count as usize] < *value);
        Some((arrival, short.next()?))
    });
    if let Some((arrival, &(count, value))) = too_much.next() {
        let advanced = match ever[count as usize] {
            0 => "no transfer advances".to_owned(),
            1 => "only one transfer advances".to_owned(),
            ever => format!("only {ever} transfers advance"),
        };
        let waits = waits(arrivals, count, value);
        return Some((
            arrival,
            format!("never begins: it {waits}, which {advanced}"),
        ));
    }
    let (arrival, _) = left().next()?;
    let mut after = arrival.dependence.iter().flat_map(|one| &one.after);
    let &(count, value) = after.find(|(count, value)| run.values[*count as usize] < *value)?;
    let waits = waits(arrivals, count, value);
    let problem =
        format!("never begins: it {waits}, and there transfers wait for each other in a circle");
    Some((arrival, problem))
}

fn waits(arrivals: &Arrivals, count: u32, value: u64) -> String {
    let name = quoted(&arrivals.counts()[count as usize]);
    match value {
        1 => format!("waits for {name}"),
        _ => format!("waits until {name} has been advanced {value} times"),
    }
}

/// The transfers that have begun and ended.
struct Begun {
    /// By transfer: the number of its counts that have not reached their values.
    missing: Vec<usize>,
    /// By count: its value.
    values: Vec<u64>,
}

impl Begun {
    /// Begins all transfers that can begin.
    fn all(arrivals: &Arrivals) -> Self {
        let list = arrivals.list();
        let mut waiting: Vec<Vec<(u64, usize)>> = vec![Vec::new(); arrivals.counts().len()];
        let mut begun = Self {
            missing: Vec::with_capacity(list.len()),
            values: vec![0; waiting.len()],
        };
        for (place, arrival) in list.iter().enumerate() {
            let after = arrival.dependence.iter().flat_map(|one| &one.after);
            begun.missing.push(after.clone().count());
            for &(count, value) in after {
                waiting[count as usize].push((value, place));
            }
        }
        for list in &mut waiting {
            // The least value last.
            list.sort_unstable_by(|a, b| b.cmp(a));
        }
        let free = |place: &usize| begun.missing[*place] == 0;
        let mut ended: Vec<usize> = (0..list.len()).filter(free).collect();
        while let Some(place) = ended.pop() {
            let dependence = list[place].dependence.iter();
            for count in dependence.flat_map(|one| one.advanced()) {
                let count = count as usize;
                begun.values[count] += 1;
                let value = begun.values[count];
                while let Some((_, next)) = waiting[count].pop_if(|(wanted, _)| *wanted <= value) {
                    begun.missing[next] -= 1;
                    if begun.missing[next] == 0 {
                        ended.push(next);
                    }
                }
            }
        }
        begun
    }
}
