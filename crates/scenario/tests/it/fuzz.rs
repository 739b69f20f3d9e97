//! The fuzz target of the scenario language without libFuzzer. `SCENARIO_FUZZ=1000000` generates that many
//! inputs.

#[path = "../../../../fuzz/scenario.rs"]
mod body;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

#[test]
fn any_text_is_a_scenario_or_has_its_mistakes_told() {
    replay::run("scenario", "SCENARIO_FUZZ", body::scenario);
}
