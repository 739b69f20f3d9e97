//! The trajectories of the rate-based controllers over one bottleneck: unchanged to the last digit.

use crate::support::rates::csv;

/// After a deliberate change: `cargo run -p incastle-xtask snapshots`, and read the difference.
#[test]
fn the_trajectories_are_those_of_the_snapshot() {
    let snapshot = include_str!("../snapshots/rates.csv");
    for (now, then) in csv().lines().zip(snapshot.lines()) {
        assert_eq!(now, then);
    }
    assert_eq!(csv().lines().count(), snapshot.lines().count());
}
