//! The engine for the browser: scenarios come in as text; progress, samples and tables go out.
//!
//! Thin: objects of JavaScript around `incastle-experiment`. A page runs it in a worker, which calls
//! [`Run::advance`] for some milliseconds at a time and reads its messages between the calls.
//! Small results are JSON, samples are typed arrays, tables are streams of Arrow's IPC format.
//! Leaves out: clocks, threads and files, which a page does not have; estimates; captures.

mod check;
mod controllers;
mod explainer;
mod outcome;
mod picture;
mod run;
mod samples;

use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

pub use check::check;
pub use explainer::Explainer;
pub use outcome::Outcome;
pub use run::Run;
pub use samples::Samples;

/// Has a panic throw its message: the instance is of no more use then, and its worker starts another.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| {
        wasm_bindgen::throw_str(&format!("a defect of Incastle: {panic}"));
    }));
}

/// The version of the engine.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The JSON Schema of the scenario language.
#[wasm_bindgen]
pub fn schema() -> String {
    incastle_scenario::schema()
}

/// JSON of plain data.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("its maps have texts as keys")
}
