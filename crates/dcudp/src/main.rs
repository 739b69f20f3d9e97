//! The binary `dcudp`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(incastle_dcudp::run(std::env::args_os()))
}
