# ruff: noqa: INP001
"""Installs the wheel into an empty environment without Rust, and tries it there.

Its dependencies come from requirements.lock, by their hashes. With --out DIR the wheel is only
built into that directory (`make wheel`), with the lines of requirements.lock that it needs. The
size of the wheel and the time of `incastle --help` are printed, and not judged.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from email.parser import Parser
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = 77
NO_NETWORK = "Retrying (Retry("
"""The message of pip without a reply."""
LOCK = "requirements.lock"
SCENARIO = "incast.toml"


def build(out: Path) -> Path:
    """Build the wheel into a folder; where `make setup` was run nothing is compiled again."""
    maturin = Path(sys.executable).with_name("maturin")
    command = [maturin, "build", "--quiet", "--release", "--locked", "--out", out]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return max(out.glob("incastle-*.whl"), key=lambda path: path.stat().st_mtime)


def needed(wheel: Path) -> set[str]:
    """Return the names of all packages that the wheel needs to run, directly or not."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        own = Parser().parsestr(archive.read(name).decode())
    open_ends = [(text, frozenset[str]()) for text in own.get_all("Requires-Dist", [])]
    found: set[tuple[str, frozenset[str]]] = set()
    while open_ends:
        text, extras = open_ends.pop()
        requirement = Requirement(text)
        environments = [{"extra": extra} for extra in extras or {""}]
        marker = requirement.marker
        if marker is not None and not any(marker.evaluate(one) for one in environments):
            continue
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key not in found:
            found.add(key)
            more = metadata.requires(requirement.name) or []
            open_ends += [(text, key[1]) for text in more]
    return {name for name, _ in found}


def locked(names: set[str]) -> str:
    """Return the lines of requirements.lock for these packages."""
    text = (ROOT / LOCK).read_text(encoding="utf-8")
    entries = re.findall(r"^(?:[a-z0-9][^\n]*\\\n(?: +--hash[^\n]*\n?)+)", text, re.MULTILINE)
    kept = [one for one in entries if canonicalize_name(one.partition("==")[0]) in names]
    missing = names - {canonicalize_name(one.partition("==")[0]) for one in kept}
    if missing:
        sys.exit(f"{LOCK} lacks {', '.join(sorted(missing))}, which the wheel needs")
    return "".join(kept)


def write_lock(wheel: Path, folder: Path) -> Path:
    """Write what the wheel needs, with versions and hashes; return the file."""
    lock = folder / LOCK
    lock.write_text(locked(needed(wheel)), encoding="utf-8")
    return lock


def install(wheel: Path, folder: Path) -> Path:
    """Make an empty environment with the wheel in it; return where its programs are."""
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    programs = folder / "venv" / "bin"
    lock = write_lock(wheel, folder)
    pip = [programs / "python", "-m", "pip", "install", "--no-compile", "--no-deps"]
    done = subprocess.run(
        [*pip, "--quiet", "--require-hashes", "-r", lock],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if NO_NETWORK in done.stderr + done.stdout:
        print("skipped: no package registry is reachable")
        sys.exit(SKIPPED)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    subprocess.run([*pip, "--quiet", wheel], check=True)
    check = [programs / "python", "-m", "pip", "check", "--quiet"]
    subprocess.run(check, stdout=subprocess.DEVNULL, check=True)
    return programs


def output_of(programs: Path, folder: Path, *command: str) -> str:
    """Run a command where only the new environment is to be found; return what it prints."""
    environment = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
    }
    if shutil.which("cargo", path=environment["PATH"]):
        print("note: this machine has a cargo among its own programs")
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def digest(text: str) -> str:
    """Return the digest in what `incastle run` shows."""
    found = re.search(r"digest ([0-9a-f]{16})", text)
    if found is None:
        sys.exit(f"no digest in\n{text}")
    return found[1]


def tried(programs: Path, folder: Path) -> None:
    """Try the commands, and compare a digest with that of the sources' own environment."""
    shutil.copy(ROOT / "examples" / SCENARIO, folder)
    run = ("run", SCENARIO, "--out")
    here = os.fspath(Path(sys.executable).with_name("incastle"))
    outputs = [
        output_of(programs, folder, "incastle", *run, "wheel"),
        output_of(Path(here).parent, folder, here, *run, "sources"),
    ]
    first, second = map(digest, outputs)
    if first != second:
        sys.exit(f"the wheel's digest is {first}, that of the sources {second}")
    version = output_of(programs, folder, "incastle", "--version").split()[-1]
    of_dcudp = output_of(programs, folder, "dcudp", "--version")
    if version not in of_dcudp:
        sys.exit(f"incastle is {version}, but dcudp is {of_dcudp}")
    if "dctcp" not in output_of(programs, folder, "incastle", "list", "papers"):
        sys.exit("the wheel has no papers")
    output_of(programs, folder, "incastle", "reproduce", "dctcp", "--figure", "13", "--quick")
    # An artifact packed by the sources gives the same where there is nothing but the wheel.
    output_of(Path(here).parent, folder, here, "pack", "report-quick", "--out", "artifact")
    output_of(programs, folder, "incastle", "verify", "artifact")
    output_of(
        programs, folder, "python", "-c", "from incastle import dcudp, load; load('incast.toml')"
    )


def start_up(programs: Path, folder: Path) -> float:
    """Return the seconds of the third `incastle --help`: files are in memory then."""
    for _ in range(3):
        begun = time.monotonic()
        output_of(programs, folder, "incastle", "--help")
        took = time.monotonic() - begun
    return took


def main() -> None:
    """Build, install, try."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, metavar="DIR", help="only build the wheel, into DIR")
    out = parser.parse_args().out
    if out is not None:
        wheel = build(out)
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB; {write_lock(wheel, out)}")
        return
    with tempfile.TemporaryDirectory(prefix="incastle-wheel-") as name:
        folder = Path(name)
        wheel = build(folder)
        programs = install(wheel, folder)
        tried(programs, folder)
        size, seconds = wheel.stat().st_size / 1e6, start_up(programs, folder)
        print(f"{wheel.name}: {size:.1f} MB; incastle --help: {seconds:.2f} s")


if __name__ == "__main__":
    main()
