//! Random networks with every queue discipline, control, preset, recovery and degradation, in any
//! combination.
//!
//! All bytes of all transfers arrive, once, and not sooner than an idle network could deliver them; each packet
//! is delivered, dropped, lost, corrupted or still under way; and threads change nothing.

use std::cell::Cell;
use std::collections::BTreeMap;

use incastle_cases::cases;
use incastle_driver::{Control, run_in_parts};
use incastle_experiment::{Output, Overseer, alone_because, simulate};
use incastle_scenario::{End, Scenario};
use incastle_units::Time;
use proptest::prelude::*;

use crate::common::{real, text, whole};
use draw::{Draw, LINK_DELAY_S, draws};

mod draw;
#[path = "../../../engine/tests/it/common/shapes.rs"]
#[allow(dead_code, reason = "the choice among equal paths is a key here")]
mod shapes;

/// More slices of events than any of them has. The search for ideal FCTs asks, too.
const SLICES: u32 = 5_000;

/// Interrupts a run that goes on for too many events.
struct Bounded(Cell<u32>);

impl Overseer for Bounded {
    fn continues(&self, _: Time) -> bool {
        self.0.set(self.0.get() + 1);
        self.0.get() < SLICES
    }

    fn slice(&self) -> u64 {
        1_000
    }
}

/// Everything but the wall clock.
fn comparable(mut output: Output) -> String {
    output.wall_s = 0.0;
    format!("{output:?}")
}

/// Whether a network is divided among threads where that is possible.
fn check_threads(draw: &Draw, scenario: &Scenario) -> Result<(), TestCaseError> {
    let links = scenario.layout().links.iter().map(|link| link.ends);
    let mut switches: Vec<usize> = links
        .filter_map(|ends| match ends {
            (End::Host(_), End::Switch(switch)) | (End::Switch(switch), End::Host(_)) => {
                Some(switch)
            }
            _ => None,
        })
        .collect();
    switches.sort_unstable();
    switches.dedup();
    let divided = !draw.closed && switches.len() > 1;
    prop_assert_eq!(alone_because(scenario).is_none(), divided);
    Ok(())
}

/// All transfers are complete, none sooner than over idle links as they are without degradation.
fn check_transfers(output: &Output) -> Result<(), TestCaseError> {
    prop_assert!(!output.interrupted);
    let completed = real(output, "transfers", "completed_s");
    let slowdowns = real(output, "transfers", "slowdown");
    let kinds = text(output, "transfers", "kind");
    for (row, kind) in kinds.iter().enumerate() {
        prop_assert!(
            completed[row].is_finite(),
            "transfer {row}: {:?}",
            output.totals
        );
        // An all-reduce and its messages have no ideal.
        let known = kind == "flow" || kind == "response";
        prop_assert!(
            slowdowns[row] >= 1.0 || !known,
            "transfer {row} {kind}: {}",
            slowdowns[row]
        );
    }
    Ok(())
}

/// The bytes of the transfers are those that the flows delivered.
fn check_bytes(output: &Output) -> Result<(), TestCaseError> {
    let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
    let kinds = text(output, "transfers", "kind");
    let bytes = whole(output, "transfers", "bytes");
    for (row, flow) in whole(output, "transfers", "flow").into_iter().enumerate() {
        if kinds[row] != "round" {
            *expected.entry(flow).or_default() += bytes[row];
        }
    }
    let groups = text(output, "flows", "group");
    let delivered = whole(output, "flows", "delivered_bytes");
    for (row, flow) in whole(output, "flows", "flow").into_iter().enumerate() {
        if groups[row] != "noise" {
            prop_assert_eq!(delivered[row], expected[&flow], "flow {}", flow);
        }
    }
    Ok(())
}

/// Ports and flows account for the same drops. Those of congestion notifications are in no total.
fn check_drops(output: &Output) -> Result<(), TestCaseError> {
    let totals = &output.totals;
    let counts = [
        ("drops", totals.drops),
        ("lost_on_wire", totals.lost_on_wire),
        ("corrupted", totals.corrupted),
    ];
    for (column, total) in counts {
        let links: u64 = whole(output, "links", column).iter().sum();
        prop_assert!(
            links == total || totals.cnms > 0 && links > total,
            "{column}: {links} of {total}"
        );
    }
    let flows: u64 = whole(output, "flows", "drops").iter().sum();
    prop_assert_eq!(flows, totals.drops);
    prop_assert!(totals.lost_on_wire + totals.corrupted + totals.failure_drops <= totals.drops);
    Ok(())
}

/// Without losses, and where packets keep their order, there are no recoveries. A needless timeout may repeat so much
/// that Reno takes the duplicate ACKs for a loss.
fn check_recoveries(draw: &Draw, output: &Output) -> Result<(), TestCaseError> {
    let calm = output.totals.drops == 0 && output.totals.timeouts == 0;
    if calm && !draw.reorders() {
        prop_assert_eq!(output.totals.fast_retransmits, 0);
    }
    Ok(())
}

/// Smoothed round trips are not below the delay of the shortest path, two links forth and back; and a window has
/// room for a segment, except under Swift.
fn check_round_trips(draw: &Draw, output: &Output) -> Result<(), TestCaseError> {
    if !draw.closed {
        return Ok(());
    }
    let least = 4.0 * LINK_DELAY_S;
    let round_trips = real(output, "windows", "rtt_s");
    let windows = real(output, "windows", "cwnd_bytes");
    for (rtt, cwnd) in round_trips.into_iter().zip(windows) {
        prop_assert!(rtt.is_nan() || rtt >= least, "a round trip of {rtt} s");
        prop_assert!(
            cwnd.is_nan() || cwnd >= draw.least_window(),
            "a window of {cwnd} bytes"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(2_400)))]

    #[test]
    fn every_network_delivers_all(draw in draws()) {
        let scenario = draw.scenario();
        check_threads(&draw, &scenario)?;
        let output = simulate(&scenario, &Bounded(Cell::new(0))).expect("the network can be built");
        check_transfers(&output)?;
        check_bytes(&output)?;
        check_drops(&output)?;
        check_recoveries(&draw, &output)?;
        check_round_trips(&draw, &output)?;
        // Where it runs on one thread, this repeats it.
        let again = run_in_parts(&scenario, &Control::default(), draw.threads);
        prop_assert!(comparable(again.expect("the network can be built")) == comparable(output));
    }
}
