//! Lists in which transfers wait for others, drawn at random: each begins when it should, whatever the
//! network does to those before it.

use crate::common::{STAR, assert_near, real, result, whole};
use std::collections::BTreeMap;
use std::fmt::Write as _;

use incastle_cases::cases;
use proptest::prelude::*;

/// A transfer: hosts, bytes, delay, the counts that it waits for with their values, the count that it
/// advances when it has arrived.
#[derive(Debug, Clone)]
struct Drawn {
    hosts: (u32, u32),
    bytes: u64,
    start_us: u64,
    after: Vec<(usize, u64)>,
    arrived: usize,
}

const COUNTS: usize = 4;

/// Transfers of which each waits for what those above it alone can reach, or for nothing.
fn lists() -> impl Strategy<Value = Vec<Drawn>> {
    let one = (
        (0..4_u32, 1..4_u32),
        1..40_000_u64,
        0..200_u64,
        prop::collection::vec((0..COUNTS, 1..6_u64), 0..3),
        0..COUNTS,
    );
    prop::collection::vec(one, 1..40).prop_map(|drawn| {
        let mut most = [0_u64; COUNTS];
        let rows = drawn
            .into_iter()
            .map(|((from, by), bytes, start_us, after, arrived)| {
                let mut after = after;
                after.retain(|(count, _)| most[*count] > 0);
                for (count, value) in &mut after {
                    *value = (*value).min(most[*count]);
                }
                most[arrived] += 1;
                let hosts = (from, (from + by) % 4);
                Drawn {
                    hosts,
                    bytes,
                    start_us,
                    after,
                    arrived,
                }
            });
        let mut rows: Vec<Drawn> = rows.collect();
        // The starts of rows that wait for no other ascend.
        let mut starts: Vec<u64> = rows
            .iter()
            .filter(|row| row.after.is_empty())
            .map(|row| row.start_us)
            .collect();
        starts.sort_unstable();
        let free = rows.iter_mut().filter(|row| row.after.is_empty());
        free.zip(starts)
            .for_each(|(row, start)| row.start_us = start);
        rows
    })
}

fn written(rows: &[Drawn]) -> String {
    let mut list = String::new();
    for row in rows {
        let after: Vec<String> = row
            .after
            .iter()
            .map(|(count, value)| format!("c{count}:{value}"))
            .collect();
        writeln!(
            list,
            "[\"{} us\", \"sender:{}\", \"sender:{}\", {}, \"{}\", \"\", \"c{}\"],",
            row.start_us,
            row.hosts.0,
            row.hosts.1,
            row.bytes,
            after.join(" "),
            row.arrived
        )
        .expect("writing to a string cannot fail");
    }
    format!(
        "{STAR}[flows.trace]\nworkload = \"flow-list\"\nfrom = \"all\"\nto = \"all\"\ntransfers = {{ list = [\n{list}] }}\n"
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]
    #[test]
    fn each_begins_when_the_last_count_that_it_waits_for_has_its_value(
        rows in lists(),
        buffer in prop_oneof![Just("unlimited"), Just("6 KB")],
        handshake in any::<bool>(),
    ) {
        let handshake = handshake.to_string();
        let sets = [
            ("run.duration", "100 s"),
            ("switch.buffer", buffer),
            ("transport.handshake", &handshake),
        ];
        let output = result(&written(&rows), &sets);
        let index = whole(&output, "transfers", "index");
        let (started, over) = (real(&output, "transfers", "started_s"), real(&output, "transfers", "completed_s"));
        prop_assert_eq!(index.len(), rows.len());
        let mut arrivals: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (place, &over) in index.iter().zip(&over) {
            arrivals.entry(rows[*place as usize].arrived).or_default().push(over);
        }
        for list in arrivals.values_mut() {
            list.sort_by(f64::total_cmp);
        }
        for (place, &started) in index.iter().zip(&started) {
            let row = &rows[*place as usize];
            let reached = row.after.iter().map(|(count, value)| arrivals[count][*value as usize - 1]);
            let expected = reached.fold(0.0, f64::max) + row.start_us as f64 * 1e-6;
            assert_near(started, expected, 1e-9 * 1e-3 + started * 1e-15);
        }
    }
}
