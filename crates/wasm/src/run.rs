//! A run that the page advances.

use incastle_experiment::{Overseer, Run as Simulated, Shortage};
use incastle_scenario::Scenario;
use incastle_units::{Span, Time};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::check::{messages, parse};
use crate::controllers::{Faults, controllers};
use crate::outcome::Outcome;
use crate::picture::picture;
use crate::samples::{Read, Samples};

/// Bytes that records and tables may still take. The address space ends at 4 GiB; a tab should stay far below.
const MAX_RECORDS: u64 = 1 << 30;

/// The lone runs that give ideal FCTs go to their end.
struct Unattended;

impl Overseer for Unattended {
    fn continues(&self, _now: Time) -> bool {
        true
    }
}

/// A run of a scenario.
#[wasm_bindgen]
pub struct Run {
    scenario: Scenario,
    inner: Simulated,
    read: Read,
    faults: Faults,
}

#[wasm_bindgen]
impl Run {
    /// Starts a run. `overrides` is JSON of `[key, value][]`. The message of its error is JSON of diagnostics.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str, overrides: &str) -> Result<Run, JsError> {
        let (scenario, _) =
            parse(text, overrides).map_err(|errors| JsError::new(&messages(errors)))?;
        let faults = Faults::default();
        let named = controllers(&scenario.custom_controllers(), &faults);
        let scenario = scenario.with_controllers(&named);
        let inner = Simulated::start(&scenario, affords)?;
        Ok(Self {
            scenario,
            inner,
            read: Read::default(),
            faults,
        })
    }

    /// JSON of the network.
    pub fn picture(&self) -> String {
        picture(&self.scenario, self.inner.simulation().network())
    }

    /// Simulates at most `events` events, and none after `until_s`. Returns the instant reached, in seconds.
    /// Fails where a controller in JavaScript does.
    pub fn advance(&mut self, until_s: f64, events: u32) -> Result<f64, JsError> {
        let until = Time::ZERO + Span::from_secs_lossy(until_s);
        self.inner.advance(until, u64::from(events), affords)?;
        if let Some(fault) = self.faults.first() {
            return Err(JsError::new(&fault));
        }
        Ok(self.inner.now().as_secs_lossy())
    }

    /// Whether the run has reached its end.
    pub fn is_done(&self) -> bool {
        self.inner.is_done()
    }

    /// The packet-hops so far: packets of any kind fully received over a link.
    pub fn packet_hops(&self) -> f64 {
        self.inner.simulation().totals().packet_hops as f64
    }

    /// The records that are new since the last call.
    pub fn samples(&mut self) -> Samples {
        Samples::new(&self.scenario, &self.inner, &mut self.read)
    }

    /// The result; a run that has not reached its end is marked as interrupted.
    pub fn finish(self) -> Result<Outcome, JsError> {
        let output = self.inner.finish(&self.scenario, &Unattended);
        Ok(Outcome::new(output, self.scenario.resolved())?)
    }
}

fn affords(bytes: u64) -> Result<(), Shortage> {
    let shortage = Shortage {
        free: MAX_RECORDS,
        limit: "in a tab of a browser",
    };
    if bytes > MAX_RECORDS {
        Err(shortage)
    } else {
        Ok(())
    }
}
