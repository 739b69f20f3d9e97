# ruff: noqa: INP001
"""Runs what `cargo deny` can check without a network: licences, duplicates, sources.

Advisories need a database that is fetched over the network: `make deny` checks those, too.
"""

import shutil
import subprocess
import sys
from pathlib import Path

SKIPPED = 77


def main() -> None:
    """Run it where it is installed, else skip it."""
    if shutil.which("cargo-deny") is None:
        print("skipped: cargo-deny is not installed (cargo install --locked cargo-deny)")
        sys.exit(SKIPPED)
    root = Path(__file__).resolve().parent.parent
    command = ["cargo", "deny", "--offline", "--locked", "check", "--hide-inclusion-graph"]
    done = subprocess.run([*command, "licenses", "bans", "sources"], cwd=root, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
