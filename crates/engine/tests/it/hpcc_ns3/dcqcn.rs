//! DCQCN, whose marks are random in HPCC's ns-3 simulator as here: ranges are compared, by goals chosen before.
//!
//! Percentiles are the element floor(share x count) of the sorted list, as in the published results.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use incastle_units::Span;

use super::case::Case;
use super::oracle;

const DCQCN: u64 = 1;

fn percentile<T: Copy>(sorted: &[T], percent: usize) -> T {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

/// A quantile of seeds, linear between elements.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = place as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn cases(folder: &Path) -> Vec<Case> {
    let mut cases = Case::all(folder);
    cases.retain(|case| case.keys.whole("CC_MODE") == DCQCN);
    assert!(!cases.is_empty(), "there are cases of DCQCN");
    cases
}

/// The FCTs of all flows with a seed.
fn fcts(case: &Case, seed: u64) -> Vec<Span> {
    let fcts = case.run(seed).into_iter();
    fcts.map(|fct| fct.expect("every flow finishes")).collect()
}

/// By case: the median and the last FCT of each run of the simulator, in nanoseconds.
fn spread(folder: &Path) -> BTreeMap<String, Vec<[f64; 2]>> {
    let text = fs::read_to_string(folder.join("spread-dcqcn.csv")).expect("five runs of each case");
    let mut runs: BTreeMap<String, Vec<[f64; 2]>> = BTreeMap::new();
    for row in text.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let of_run = [4, 5].map(|place| fields[place].parse().expect("a number"));
        runs.entry(fields[0].to_owned()).or_default().push(of_run);
    }
    runs
}

/// For each case, the median over five seeds of its median FCT and of its last FCT lies in the range of the
/// simulator's five runs, widened by 5 %. Where nothing is marked, FCTs are equal.
#[test]
fn dcqcn_over_several_hops_and_pfc() {
    let Some(oracle) = oracle() else { return };
    let folder = oracle.join("ns3-rdma-paths");
    let spread = spread(&folder);
    for case in cases(&folder) {
        let Some(theirs) = spread.get(&case.name) else {
            let theirs: Vec<Span> = case.flows.iter().filter_map(|flow| flow.fct).collect();
            assert_eq!(fcts(&case, 1), theirs, "{}", case.name);
            continue;
        };
        let runs = (1..=5).map(|seed| {
            let mut fcts = fcts(&case, seed);
            fcts.sort();
            [50, 100].map(|percent| percentile(&fcts, percent).as_ps() as f64 / 1_000.0)
        });
        let ours: Vec<[f64; 2]> = runs.collect();
        for (place, what) in ["median", "last"].into_iter().enumerate() {
            let of_runs = |runs: &[[f64; 2]]| sorted(runs.iter().map(|run| run[place]).collect());
            let (ours, theirs) = (of_runs(&ours)[2], of_runs(theirs));
            let range = theirs[0] * 0.95..=theirs[theirs.len() - 1] * 1.05;
            println!("{}: {what} {ours:.0} ns in {range:.0?}", case.name);
            assert!(
                range.contains(&ours),
                "{}: {what} {ours} {range:?}",
                case.name
            );
        }
    }
}

/// The published 50th and 99th percentiles of slowdown lie in the middle 95 % of twenty seeds, widened by 1 %, in at least
/// 90 % of cases; the ratio of the means is within 3 % of 1 on average.
#[test]
fn dcqcn_at_one_switch() {
    let Some(oracle) = oracle() else { return };
    let (mut inside, mut ratios) = (Vec::new(), Vec::new());
    for case in cases(&oracle.join("ns3-rdma")) {
        let slowdowns = |fcts: Vec<Span>| {
            let flows = case.flows.iter().zip(fcts);
            let slowdown =
                |(flow, fct): (&super::Flow, Span)| fct.as_ps() as f64 / flow.ideal.as_ps() as f64;
            sorted(flows.map(slowdown).collect())
        };
        let theirs = case.flows.iter().filter_map(|flow| flow.fct).collect();
        let theirs: Vec<f64> = slowdowns(theirs);
        let ours: Vec<Vec<f64>> = (1..=20).map(|seed| slowdowns(fcts(&case, seed))).collect();
        for percent in [50, 99] {
            let of_seeds = sorted(ours.iter().map(|one| percentile(one, percent)).collect());
            let theirs = percentile(&theirs, percent);
            let range = quantile(&of_seeds, 0.025) * 0.99..=quantile(&of_seeds, 0.975) * 1.01;
            let mean = of_seeds.iter().sum::<f64>() / 20.0;
            println!(
                "{}: p{percent} {theirs:.3} in {range:.3?}, mean {mean:.3}",
                case.name
            );
            inside.push(range.contains(&theirs));
            ratios.push(mean / theirs);
        }
    }
    let share = inside.iter().filter(|inside| **inside).count() as f64 / inside.len() as f64;
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    println!("{share:.3} inside, mean ratio {mean:.4}");
    assert!(share >= 0.9, "{share} of the percentiles are inside");
    assert!((mean - 1.0).abs() < 0.03, "the mean ratio is {mean}");
}
