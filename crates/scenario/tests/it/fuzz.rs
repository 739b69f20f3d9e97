//! The fuzz target of the scenario language without libFuzzer.

#[path = "../../../../fuzz/scenario.rs"]
mod body;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

#[test]
fn any_text_is_a_scenario_or_has_its_mistakes_told() {
    replay::run("scenario", body::scenario);
}
