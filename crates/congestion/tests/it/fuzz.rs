//! The fuzz target of the controllers without libFuzzer.

#[path = "../../../../fuzz/controllers.rs"]
mod body;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

#[test]
fn a_controller_lives_through_any_operations() {
    replay::run("controllers", body::controllers);
}
