//! Runs a test in a process that has no other, whose size or threads it can measure.

use std::process::Command;

/// Runs the ignored test `name` of this binary in a child process, and shows what it prints if it fails.
pub(crate) fn run(name: &str) {
    let program = std::env::current_exe().unwrap();
    let child = Command::new(program)
        .args(["--ignored", "--exact", "--nocapture", name])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&child.stdout);
    let complained = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{printed}{complained}");
    assert!(printed.contains("1 passed"), "no test {name}: {printed}");
}
