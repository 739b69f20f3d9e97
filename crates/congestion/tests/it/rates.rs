//! The trajectories of the rate-based controllers over one bottleneck: unchanged to the last digit.

use incastle_cases::assert_snapshot;

use crate::support::rates::csv;

/// After a deliberate change: `cargo run -p incastle-xtask snapshots`, and read the difference.
#[test]
fn the_trajectories_are_those_of_the_snapshot() {
    assert_snapshot(&csv(), include_str!("../snapshots/rates.csv"));
}
