# ruff: noqa: INP001
"""Packs results and has a validator of RO-Crates read the metadata of the artifact.

The validator is of another hand, and its environment is another: artifact.lock. So that it is known
to refuse anything, it also reads an artifact that lacks its date.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from check_wheel import NO_NETWORK, SKIPPED

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "artifact-env"
LOCK = ROOT / "scripts" / "artifact.lock"
METADATA = "ro-crate-metadata.json"


def validator() -> Path:
    """Return the interpreter of the validator's environment, which is made if it is not there."""
    python = ENVIRONMENT / "bin" / "python"
    made = ENVIRONMENT / LOCK.name
    if made.is_file() and made.read_bytes() == LOCK.read_bytes():
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "-r", LOCK]
    done = subprocess.run([python, *install], capture_output=True, text=True, check=False)
    if NO_NETWORK in done.stderr + done.stdout:
        print("skipped: no package registry is reachable")
        sys.exit(SKIPPED)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    made.write_bytes(LOCK.read_bytes())
    return python


def incastle(*words: str) -> None:
    """Run the command line."""
    program = Path(sys.executable).with_name("incastle")
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"incastle {' '.join(words)}: status {done.returncode}\n{done.stderr}")


def main() -> None:
    """Pack, validate, break, validate."""
    python = validator()
    with tempfile.TemporaryDirectory(prefix="incastle-artifact-") as name:
        folder = Path(name)
        report, run = folder / "report", folder / "results of a run"
        words = ("dctcp-ns2", "--figure", "2", "--quick")
        incastle("reproduce", *words, "--out", str(report))
        incastle("run", str(ROOT / "examples" / "incast.toml"), "--out", str(run))
        crates = [folder / "of-report", folder / "of-run"]
        for place, crate in zip((report, run), crates, strict=True):
            incastle("pack", str(place), "--author", "Jo Doe", "--out", str(crate))
        validate = [python, ROOT / "scripts" / "validate_crate.py"]
        if subprocess.run([*validate, *crates], check=False).returncode:
            sys.exit("an artifact is no Process Run Crate")
        metadata = crates[0] / METADATA
        document = json.loads(metadata.read_text(encoding="utf-8"))
        for entity in document["@graph"]:
            entity.pop("datePublished", None)
        metadata.write_text(json.dumps(document), encoding="utf-8")
        broken = subprocess.run([*validate, crates[0]], capture_output=True, text=True, check=False)
        if "required: The Root Data Entity MUST have a `datePublished`" not in broken.stdout:
            sys.exit(f"an artifact without a date is valid:\n{broken.stdout}{broken.stderr}")


if __name__ == "__main__":
    main()
