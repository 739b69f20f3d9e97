# ruff: noqa: INP001
"""The release build's profile: which branches the engine takes, counted once for the optimizer.

    release_profile.py [--] COMMAND...   run COMMAND, a release build, with the profile
    release_profile.py --record          count anew and write profile/ (`make profile`)

rustc's "profile-guided optimisation" (its book, chapter of that name): a build with counters runs
the benchmarks, the papers and a file transfer, and the counts lie in profile/engine.profdata. They
decide about the layout of the code alone, never about results. They are keyed by the compiler's
version, and functions by their crate with its dependencies: another compiler builds without them,
and with other dependencies they are of little use; both are said, as is a part that is missing.
INCASTLE_PROFILE=off builds without them, for comparisons of two versions of the hot path, of which
a profile knows one at most.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNTS = ROOT / "profile" / "engine.profdata"
COMPILER = ROOT / "profile" / "compiler"
"""Which rustc can read the counts: the lines of `rustc -vV` that name it."""
DEPENDENCIES = ROOT / "profile" / "dependencies"
"""The SHA-256 of the Cargo.lock that they were counted with."""

TOO_LARGE = {"fat-tree-8192", "star-20-long"}
"""Benchmarks that would tell nothing that smaller ones do not."""
WEIGHTS = {"bench": 16, "reproduce": 1, "dcudp": 16}
"""What papers simulate takes so many times as long as the others: none is to drown the rest."""
MEGABYTES = 64
CONTROLS = ("udt", "dcudp")


def compiler() -> dict[str, str]:
    """Return what `rustc -vV` says."""
    lines = rustc("-vV").splitlines()
    return dict(line.split(": ", 1) for line in lines if ": " in line)


def rustc(*words: str) -> str:
    """Return what rustc prints."""
    # The one that cargo finds too.
    command = ["rustc", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def identity() -> str:
    """Return the lines that tell this compiler from all whose counts would be of no use."""
    said = compiler()
    keys = ("release", "commit-hash", "host", "LLVM version")
    return "".join(f"{key}: {said.get(key, 'unknown')}\n" for key in keys)


def dependencies() -> str:
    """Return what stands for the versions of all crates."""
    return hashlib.sha256((ROOT / "Cargo.lock").read_bytes()).hexdigest() + "\n"


def environment() -> dict[str, str]:
    """Return the environment of a release build: with the profile, where the compiler reads it."""
    if os.environ.get("INCASTLE_PROFILE") == "off":
        return dict(os.environ)
    if missing := [path.name for path in (COUNTS, COMPILER, DEPENDENCIES) if not path.is_file()]:
        print(
            f"release build without profile/, which lacks {' and '.join(missing)} (some 15 % "
            "slower; `git restore profile` brings back what was deleted, `make profile` counts "
            "anew)",
            file=sys.stderr,
        )
        return dict(os.environ)
    if COMPILER.read_text(encoding="utf-8") != identity():
        said = compiler()
        print(
            f"release build without profile/: rustc {said['release']} for {said['host']} "
            "cannot use it (some 15 % slower; `make profile` records one)",
            file=sys.stderr,
        )
        return dict(os.environ)
    if DEPENDENCIES.read_text(encoding="utf-8") != dependencies():
        print(
            "release build with an old profile/: Cargo.lock has changed since, and the functions "
            "of crates whose dependencies have changed are not found (`make profile` counts anew)",
            file=sys.stderr,
        )
    # A function that has changed since is built without counts: no reason for a warning each time.
    flags = with_flags([f"-Cprofile-use={COUNTS}", "-Cllvm-args=-no-pgo-warn-mismatch"])
    return {**flags, "INCASTLE_PROFILED": "1"}


def with_flags(flags: list[str]) -> dict[str, str]:
    """Return this process's environment with more flags for rustc; paths may have spaces."""
    before = os.environ.get("RUSTFLAGS", "").split()
    return {**os.environ, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join([*before, *flags])}


def profdata() -> str:
    """Return LLVM's program that adds up counts, of the compiler's own version."""
    version = compiler().get("LLVM version", "").split(".")[0]
    own = Path(rustc("--print", "sysroot")).glob("lib/rustlib/*/bin/llvm-profdata")
    found = shutil.which(f"llvm-profdata-{version}") or next(map(str, own), None)
    if found is None:
        sys.exit(
            f"llvm-profdata of LLVM {version} is not to be found.\n"
            f"On Debian: apt-get install llvm-{version}; with rustup: "
            "rustup component add llvm-tools"
        )
    return found


def counting_build(folder: Path) -> Path:
    """Build with counters; return where the package lies."""
    maturin = Path(sys.executable).with_name("maturin")
    target = ROOT / "target" / "profile"
    # Build scripts count as well, into files that nobody wants.
    flags = with_flags([f"-Cprofile-generate={target / 'thrown-away'}"])
    built = {**flags, "CARGO_TARGET_DIR": str(target)}
    command = [str(maturin), "build", "--quiet", "--release", "--locked", "--out"]
    subprocess.run([*command, str(folder / "wheel")], cwd=ROOT, env=built, check=True)
    wheel = next((folder / "wheel").glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "package")
    return folder / "package"


def work(folder: Path, package: Path) -> None:
    """Do what is to be fast."""

    def env(kind: str) -> dict[str, str]:
        # %m: processes of one build add their counts up in one file.
        counts = folder / f"{kind}-%m.profraw"
        return {**os.environ, "PYTHONPATH": str(package), "LLVM_PROFILE_FILE": str(counts)}

    def run(*words: str) -> None:
        print("  incastle", *words, flush=True)
        command = [sys.executable, "-m", "incastle", *words]
        quiet = subprocess.DEVNULL
        counting = env(words[0])
        subprocess.run(command, cwd=folder, env=counting, check=True, stdout=quiet, stderr=quiet)

    scenarios = (ROOT / "python" / "incastle" / "benchmarks").glob("*.toml")
    for name in sorted({path.stem for path in scenarios} - TOO_LARGE):
        run("bench", "--json", "--scenario", name)
    run("reproduce", "--quick")
    transfer(folder, env("dcudp"))


def transfer(folder: Path, env: dict[str, str]) -> None:
    """Send a file through loopback, with each control, without and with a key."""
    (folder / "sent.bin").write_bytes(os.urandom(MEGABYTES * 1_000_000))
    dcudp = [sys.executable, "-m", "incastle.dcudp"]
    key = folder / "the.key"
    key.touch(mode=0o600)
    made = subprocess.run([*dcudp, "key"], env=env, capture_output=True, check=True)
    key.write_bytes(made.stdout)
    ways = [
        ["--cc", control, *keyed]
        for keyed in ([], ["--key-file", str(key)])
        for control in CONTROLS
    ]
    for number, words in enumerate(ways):
        print("  dcudp send", *words, flush=True)
        served = folder / f"served-{number}"
        served.mkdir()
        serve = [*dcudp, "serve", str(served), "--listen", "127.0.0.1:0", *words]
        with subprocess.Popen(serve, env=env, stdout=subprocess.PIPE, text=True) as server:
            address = server.stdout.readline().split()[-1] if server.stdout else ""
            send = [*dcudp, "send", str(folder / "sent.bin"), address, *words]
            subprocess.run(send, env=env, check=True, stdout=subprocess.DEVNULL)
            # Counts are written at the end of a process that ends by itself.
            server.send_signal(signal.SIGINT)


def record() -> None:
    """Count anew, and write the counts with the compiler that they are for."""
    program = profdata()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="incastle-profile-") as name:
        folder = Path(name)
        print("building with counters (some minutes)", flush=True)
        package = counting_build(folder)
        print("counting what these do", flush=True)
        work(folder, package)
        counted = [(kind, path) for kind in WEIGHTS for path in folder.glob(f"{kind}-*.profraw")]
        weighed = [f"--weighted-input={WEIGHTS[kind]},{path}" for kind, path in counted]
        # Sparse: of what never ran nothing is said, rather than that it is cold.
        merge = [program, "merge", "--sparse", f"--output={COUNTS}", *weighed]
        subprocess.run(merge, check=True)
    COMPILER.write_text(identity(), encoding="utf-8")
    DEPENDENCIES.write_text(dependencies(), encoding="utf-8")
    size = COUNTS.stat().st_size / 1e3
    print(f"profile/engine.profdata: {size:.0f} kB, {time.monotonic() - started:.0f} s")
    print("`make setup` builds with it from now on")


def main() -> int:
    """Record, or run a command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", action="store_true", help="count anew and write profile/")
    parser.add_argument("command", nargs="*", help="a release build")
    chosen = parser.parse_args()
    if chosen.record:
        record()
        return 0
    if not chosen.command:
        parser.error("a command, or --record")
    return subprocess.run(chosen.command, env=environment(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
