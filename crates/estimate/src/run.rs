//! A run of the network around a link.

use incastle_engine::probe::NoProbe;
use incastle_engine::{Simulation, Status};
use incastle_units::Time;

use crate::surroundings::{Sharing, Visit, Whole};
use incastle_experiment::{Overseer, RunError, SLICE};
use incastle_workload::Replay;

/// The result of a run.
pub(super) struct Ran {
    /// By visit: the arrival of the last byte.
    pub(super) arrived: Vec<Option<Time>>,
    pub(super) packet_hops: u64,
}

impl Whole<'_> {
    /// Simulates the visits of a link until the end of the scenario; absent if the overseer ended
    /// that.
    pub(super) fn run(
        &self,
        link: usize,
        visits: &[Visit<'_>],
        sharing: Sharing,
        overseer: &impl Overseer,
    ) -> Result<Option<Ran>, RunError> {
        let (network, rows) = self.around(link, visits, sharing)?;
        let (replay, arrivals) = Replay::new(rows);
        let mut simulation = Simulation::new(network, NoProbe);
        simulation.add_application(Box::new(replay));
        let end = Time::ZERO + self.scenario.duration();
        while simulation.run(end, SLICE)? == Status::Paused {
            if !overseer.continues(simulation.now()) {
                return Ok(None);
            }
        }
        simulation.check_conservation();
        Ok(Some(Ran {
            arrived: arrivals.take(),
            packet_hops: simulation.totals().packet_hops,
        }))
    }
}
