//! Compiles our eBPF programs by clang, with the headers of the vendored libbpf.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names under which Debian has clang.
const CLANGS: [&str; 8] = [
    "clang", "clang-21", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14",
];

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    let include = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys gives its headers");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let clang = clang();
    for name in ["dctcp", "bridge"] {
        let (source, object) = (
            format!("bpf/{name}.bpf.c"),
            out.join(format!("{name}.bpf.o")),
        );
        compile(&clang, &include, Path::new(&source), &object);
    }
}

fn clang() -> String {
    if let Ok(chosen) = env::var("CLANG") {
        return chosen;
    }
    let works = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    let found = CLANGS.iter().find(works);
    (*found.expect("clang is needed: `make system` installs it, and CLANG names another"))
        .to_owned()
}

fn compile(clang: &str, include: &str, source: &Path, object: &Path) {
    let done = Command::new(clang)
        .args([
            "-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", "-I", include,
        ])
        .args(["-D__TARGET_ARCH_x86", "-Wno-unused-function", "-c", "-o"])
        .arg(object)
        .arg(source)
        .status();
    let done = done.unwrap_or_else(|error| panic!("{clang}: {error}"));
    assert!(
        done.success(),
        "{clang} could not compile {}",
        source.display()
    );
}
