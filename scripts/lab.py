# ruff: noqa: INP001
"""Builds the lab: the engine for the browser, and the page, into python/incastle/lab/page.

    scripts/lab.py             everything
    scripts/lab.py --engine    only the engine, with its JavaScript, into lab/src/engine

Needs Node with npm, and Rust's library for wasm32-unknown-unknown. Without one of them it says so,
and leaves with status 77. What is up to date is not built again.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAB = ROOT / "lab"
ENGINE = LAB / "src" / "engine"
PAGE = ROOT / "python" / "incastle" / "lab" / "page"
TARGET = "wasm32-unknown-unknown"
PROFILE = "browser"
SKIPPED = 77


def missing() -> str | None:
    """Return a missing prerequisite, as a message."""
    if shutil.which("npm") is None:
        return "npm is not installed (Node.js 20 or newer)"
    if not Path(call("rustc", "--print", "target-libdir", "--target", TARGET).strip()).is_dir():
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


def build_page() -> None:
    """Build the page."""
    print("building the page", flush=True)
    lock = (LAB / "package-lock.json").stat().st_mtime
    installed = LAB / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock:
        call("npm", "ci", "--no-audit", "--no-fund", folder=LAB)
    call("npm", "run", "--silent", "build", folder=LAB)
    shutil.rmtree(PAGE, ignore_errors=True)
    shutil.copytree(LAB / "dist", PAGE)


def size() -> str:
    """Return the size of the page, as it is and compressed."""
    files = [path.read_bytes() for path in PAGE.rglob("*") if path.is_file()]
    plain = sum(map(len, files))
    packed = sum(len(gzip.compress(content)) for content in files)
    return f"{plain / 1e6:.2f} MB, {packed / 1e6:.2f} MB with gzip"


def main() -> None:
    """Build."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engine", action="store_true", help="only the engine")
    options = parser.parse_args()
    lacking = missing()
    if lacking is not None:
        print(f"skipped: {lacking}")
        sys.exit(SKIPPED)
    build_engine()
    if not options.engine:
        build_page()
        print(f"{PAGE.relative_to(ROOT)}: {size()}")


if __name__ == "__main__":
    main()
