//! The binary `softswitch`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(incastle_softswitch::run(std::env::args_os()))
}
