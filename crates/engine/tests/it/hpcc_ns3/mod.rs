//! Queue pairs, PFC and the controls of RDMA, flow by flow against HPCC's ns-3 simulator.
//!
//! The cases are not part of the project: `INCASTLE_ORACLE` names the folder with `ns3-rdma` and `ns3-rdma-paths`;
//! without it the tests compare nothing and print that. HPCC, TIMELY and DCTCP in rate form draw no random numbers
//! there; each of their FCTs is compared. DCQCN is random there (`dcqcn`).
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the cases are files outside of the project"
)]

mod case;
mod dcqcn;
mod run;

use std::collections::BTreeMap;
use std::path::PathBuf;

use case::{Case, Flow};
use incastle_units::{Span, Time};

/// The folder of the cases, where one is named. A folder without cases fails the test that reads it.
fn oracle() -> Option<PathBuf> {
    let folder = std::env::var_os("INCASTLE_ORACLE").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: INCASTLE_ORACLE names no folder with cases of HPCC's simulator");
    }
    folder
}

/// The relative differences of all flows. Flows of one start and size at one receiver are compared sorted.
fn differences(case: &Case) -> Vec<f64> {
    let mut groups: BTreeMap<(Time, u64, usize), [Vec<Span>; 2]> = BTreeMap::new();
    for (flow, ours) in case.flows.iter().zip(case.run(1)) {
        let Flow {
            start, bytes, to, ..
        } = *flow;
        let [theirs, own] = groups.entry((start, bytes, to)).or_default();
        theirs.push(flow.fct.expect("no packet is lost in these cases"));
        own.push(ours.expect("nor here"));
    }
    let compare = |[theirs, ours]: &mut [Vec<Span>; 2]| {
        theirs.sort();
        ours.sort();
        let pairs = theirs.iter().zip(ours.iter());
        let relative = |(theirs, ours): (&Span, &Span)| {
            let (theirs, ours) = (theirs.as_ps() as f64, ours.as_ps() as f64);
            (ours - theirs).abs() / theirs
        };
        pairs.map(relative).collect::<Vec<f64>>()
    };
    groups.values_mut().flat_map(compare).collect()
}

/// Over all cases of a control: the median difference is below 0.1 %, and 95 % of flows are within 1 %.
fn check(folder: &str, mode: u64) {
    let Some(oracle) = oracle() else { return };
    let cases = Case::all(&oracle.join(folder));
    let cases: Vec<&Case> = cases
        .iter()
        .filter(|case| case.keys.whole("CC_MODE") == mode)
        .collect();
    assert!(!cases.is_empty(), "{folder} has cases of mode {mode}");
    let mut all = Vec::new();
    for case in cases {
        let of_case = differences(case);
        let equal = of_case.iter().filter(|difference| **difference == 0.0);
        println!(
            "{}: {} of {} flows equal",
            case.name,
            equal.count(),
            of_case.len()
        );
        all.extend(of_case);
    }
    all.sort_by(f64::total_cmp);
    let median = all[all.len() / 2];
    let within = all.iter().filter(|difference| **difference < 0.01).count();
    let share = within as f64 / all.len() as f64;
    assert!(median < 0.001, "median {median}");
    assert!(share >= 0.95, "{share} of {} flows within 1 %", all.len());
}

#[test]
fn hpcc_at_one_switch() {
    check("ns3-rdma", 3);
}

#[test]
fn timely_at_one_switch() {
    check("ns3-rdma", 7);
}

#[test]
fn dctcp_at_one_switch() {
    check("ns3-rdma", 8);
}

#[test]
fn hpcc_over_several_hops_and_pfc() {
    check("ns3-rdma-paths", 3);
}

#[test]
fn timely_over_several_hops_and_pfc() {
    check("ns3-rdma-paths", 7);
}

#[test]
fn dctcp_over_several_hops_and_pfc() {
    check("ns3-rdma-paths", 8);
}
