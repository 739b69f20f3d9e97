# ruff: noqa: INP001
"""Builds and checks the lab: the engine for the browser, and the page.

    scripts/lab.py             the engine, then the page, into python/incastle/browser/page
    scripts/lab.py engine      only the engine, with its JavaScript, into lab/src/engine
    scripts/lab.py lint        types, rules and format of the page's sources
    scripts/lab.py test        tests of its functions
    scripts/lab.py drive       builds all, and drives the page in a browser

Needs Node with npm and, but for the sources, Rust's library for wasm32-unknown-unknown. Without one
of them it says so, and leaves with status 77. What is up to date is not built again.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAB = ROOT / "lab"
ENGINE = LAB / "src" / "engine"
PAGE = ROOT / "python" / "incastle" / "browser" / "page"
TARGET = "wasm32-unknown-unknown"
PROFILE = "browser"
SKIPPED = 77


def missing(*, engine: bool = True) -> str | None:
    """Return a missing prerequisite, of the page or of both, as a message."""
    if shutil.which("npm") is None:
        return "npm is not installed (Node.js 20 or newer)"
    library = call("rustc", "--print", "target-libdir", "--target", TARGET).strip()
    if engine and not Path(library).is_dir():
        return f"Rust's library for {TARGET} is not installed (rustup target add {TARGET})"
    return None


def call(*command: str, folder: Path = ROOT) -> str:
    """Run a command, and return what it prints; leave with its messages where it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(
            f"{' '.join(command)}: left with status {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def target() -> Path:
    """Return cargo's folder."""
    metadata = call("cargo", "metadata", "--format-version=1", "--no-deps", "--locked")
    return Path(json.loads(metadata)["target_directory"])


def build_engine() -> None:
    """Build the engine, and write its JavaScript."""
    print("building the engine for the browser (some minutes the first time)", flush=True)
    call(
        *("cargo", "build", "--quiet", "--locked", "-p", "incastle-wasm"),
        *("--target", TARGET, "--profile", PROFILE),
    )
    engine = target() / TARGET / PROFILE / "incastle_wasm.wasm"
    bindings = ("-p", "incastle-xtask", "--features", "bindings", "--bin", "bindings")
    call("cargo", "run", "--quiet", "--locked", *bindings, "--", str(engine), str(ENGINE))


def install() -> None:
    """Install the page's libraries, those of its lock file."""
    lock = LAB / "package-lock.json"
    installed = LAB / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        call("npm", "ci", "--no-audit", "--no-fund", folder=LAB)
        installed.touch()


def build_page() -> None:
    """Build the page."""
    print("building the page", flush=True)
    call("npm", "run", "--silent", "build", folder=LAB)
    shutil.rmtree(PAGE, ignore_errors=True)
    shutil.copytree(LAB / "dist", PAGE)
    print(f"{PAGE.relative_to(ROOT)}: {size()}")


def run(script: str) -> None:
    """Run a script of the page's package; leave with its status where it fails."""
    command = ["npm", "run", "--silent", script]
    # The command line whose digests the page has to show.
    env = os.environ | {"INCASTLE": f"{sys.executable} -m incastle"}
    done = subprocess.run(command, cwd=LAB, env=env, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)


def size() -> str:
    """Return the size of the page, as it is and compressed."""
    files = [path.read_bytes() for path in PAGE.rglob("*") if path.is_file()]
    plain = sum(map(len, files))
    packed = sum(len(gzip.compress(content)) for content in files)
    return f"{plain / 1e6:.2f} MB, {packed / 1e6:.2f} MB with gzip"


def main() -> None:
    """Build or check."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "part", nargs="?", default="all", choices=("all", "engine", "lint", "test", "drive")
    )
    part = parser.parse_args().part
    lacking = missing(engine=part not in {"lint", "test"})
    if lacking is not None:
        print(f"skipped: {lacking}")
        sys.exit(SKIPPED)
    if part in {"all", "engine", "drive"}:
        build_engine()
    if part != "engine":
        install()
    if part in {"all", "drive"}:
        build_page()
    if part in {"lint", "test", "drive"}:
        run("e2e" if part == "drive" else part)


if __name__ == "__main__":
    main()
