# ruff: noqa: INP001
"""Builds and checks crates/kernel, our congestion controls in Linux by eBPF.

It is no part of the workspace: it needs Linux, clang, libelf and zlib.

    scripts/kernel.py build    the module, to where `incastle run --world linux` finds it
    scripts/kernel.py try      the same, skipped where the machine lacks something
    scripts/kernel.py lint     formatting, clippy, licences
    scripts/kernel.py test     the tests in Rust
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import check_crates

ROOT = Path(__file__).resolve().parent.parent
CRATE = ROOT / "crates" / "kernel"
MODULE = ROOT / "python" / "incastle" / "_kernel.abi3.so"
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "kernel"
LIBRARY = TARGET / "release" / "libincastle_kernel.so"
CLANGS = ("clang", *(f"clang-{version}" for version in (21, 20, 19, 18, 17, 16, 15, 14)))
HEADERS = {"libelf.h": "libelf-dev", "zlib.h": "zlib1g-dev"}
SKIPPED = 77


def missing() -> list[str]:
    """Return what the build needs and this machine lacks, by its Debian packages."""
    if sys.platform != "linux":
        return ["Linux"]
    found = []
    if "CLANG" not in os.environ and not any(map(shutil.which, CLANGS)):
        found.append("clang")
    folders = [Path("/usr/include"), Path("/usr/local/include")]
    found += [
        package
        for header, package in HEADERS.items()
        if not any((folder / header).exists() for folder in folders)
    ]
    found += [name for name in ("make", "pkg-config") if shutil.which(name) is None]
    return found


def cargo(*words: str, features: bool = True) -> None:
    """Run cargo on the crate, or leave with its status."""
    words = (*words, "--locked", "--target-dir", str(TARGET))
    if features:
        words = (*words, "--features", "python")
    command = ["cargo", *words]
    done = subprocess.run(command, cwd=CRATE, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)


def build() -> None:
    """Build the module, and put it where Python finds it."""
    print("building the controls for the kernel (a minute the first time)")
    cargo("build", "--quiet", "--release")
    # A process that has the old one keeps it.
    new = MODULE.with_suffix(".new")
    shutil.copy(LIBRARY, new)
    new.replace(MODULE)
    print(f"ready: {MODULE.relative_to(ROOT)}")


def lint() -> None:
    """Check formatting, lints and licences."""
    target = ("--locked", "--target-dir", str(TARGET), "--features", "python")
    clippy = ["cargo", "clippy", "--quiet", "--all-targets", *target, "--", "-D", "warnings"]
    for command in (["cargo", "fmt", "--check"], clippy):
        done = subprocess.run(command, cwd=CRATE, check=False)
        if done.returncode != 0:
            sys.exit(done.returncode)
    packages = check_crates.metadata(CRATE)["packages"]
    if complaints := check_crates.licences(packages):
        sys.exit("\n".join(complaints))
    print(f"the licences of {len(packages)} crates are allowed")


def main() -> None:
    """Do what was requested; without what it needs, a check skips and the build fails."""
    what = sys.argv[1] if len(sys.argv) == 2 else ""  # noqa: PLR2004  one word
    if what not in {"build", "try", "lint", "test"}:
        sys.exit(f"usage: scripts/kernel.py build|try|lint|test\n\n{__doc__}")
    if lacking := missing():
        what_is = f"the controls for the kernel need {', '.join(lacking)}"
        print(f"{what_is}: scripts/system.sh installs them (as root)")
        sys.exit(2 if what == "build" else SKIPPED)
    if what == "test":
        cargo("test", features=False)
    else:
        {"build": build, "try": build, "lint": lint}[what]()


if __name__ == "__main__":
    main()
