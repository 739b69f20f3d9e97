# ruff: noqa: INP001
"""Proves that clippy.toml is effective: it refuses the marked lines of scripts/forbidden alone.

A misspelt path in clippy.toml is silently ignored by clippy, and a crate that never breaks a rule
shows nothing either way. So a crate outside the workspace breaks each kind of rule once, on a line
that ends in `// refused`. This script compares those lines with clippy's complaints. It also keeps
the list of exempt places.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATE = ROOT / "scripts" / "forbidden"
LINTS = {"clippy::disallowed_methods", "clippy::disallowed_types"}

# The files that may allow those lints: the outer edge of the pure side, and tools.
EXEMPT_FILES = {
    "crates/driver/src/lib.rs",
    "crates/cases/src/lib.rs",
    "crates/xtask/src/main.rs",
}
# The crates that have separate rules.
EXEMPT_CRATES = {
    "crates/dcudp/clippy.toml",
    "crates/kernel/clippy.toml",
    "crates/python/clippy.toml",
    "crates/realtime/clippy.toml",
    "crates/socket/clippy.toml",
    "crates/softswitch/clippy.toml",
    "crates/testbed/clippy.toml",
}


def expected_lines() -> set[int]:
    """Return the lines of scripts/forbidden that announce a complaint."""
    text = (CRATE / "src" / "lib.rs").read_text(encoding="utf-8")
    return {n for n, line in enumerate(text.splitlines(), 1) if line.endswith("// refused")}


def refused_lines() -> set[int]:
    """Return the lines of scripts/forbidden that clippy complains about."""
    # Without the touch, cargo would use its cache, and clippy.toml would not be read again.
    (CRATE / "src" / "lib.rs").touch()
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "forbidden"
    command = ["cargo", "clippy", "--quiet", "--offline", "--message-format=json"]
    command += ["--target-dir", str(target)]
    done = subprocess.run(command, cwd=CRATE, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"clippy did not run on {CRATE}:\n{done.stderr}")
    lines: set[int] = set()
    for record in map(json.loads, done.stdout.splitlines()):
        message = record.get("message", {})
        if (message.get("code") or {}).get("code") in LINTS:
            lines.update(span["line_start"] for span in message["spans"] if span["is_primary"])
    return lines


def exemptions() -> list[str]:
    """Return a complaint for each place that escapes the rules without being on the list."""
    complaints = []
    for path in sorted((ROOT / "crates").rglob("*")):
        name = path.relative_to(ROOT).as_posix()
        if path.name in {"clippy.toml", ".clippy.toml"} and name not in EXEMPT_CRATES:
            complaints.append(f"{name}: this crate may not have separate lint rules")
        # Tests read their scenarios and expectations as they like: nothing is built on them.
        inside = not name.startswith("crates/python/") and "/tests/" not in name
        if path.suffix == ".rs" and inside:
            text = path.read_text(encoding="utf-8")
            if "clippy::disallowed_" in text and name not in EXEMPT_FILES:
                complaints.append(f"{name}: only the outermost module may allow these lints")
    return complaints


def main() -> None:
    """Compare, and leave with status 1 where they differ."""
    expected, refused = expected_lines(), refused_lines()
    complaints = [f"scripts/forbidden/src/lib.rs:{n}: not refused" for n in expected - refused]
    complaints += [f"scripts/forbidden/src/lib.rs:{n}: refused too" for n in refused - expected]
    complaints += exemptions()
    if complaints:
        sys.exit("\n".join(sorted(complaints)))
    print(f"clippy.toml refuses all {len(expected)} lines of scripts/forbidden, and no other")


if __name__ == "__main__":
    main()
