//! The trajectory of two flows of the revised DCUDP over one link, one of which comes and goes: unchanged to the last
//! digit.

use incastle_cases::assert_snapshot;

use crate::support::shared::csv;

/// After a deliberate change: `cargo run -p incastle-xtask snapshots`, and read the difference.
#[test]
fn the_trajectory_is_that_of_the_snapshot() {
    assert_snapshot(&csv(), include_str!("../../snapshots/dcudp_r.csv"));
}
