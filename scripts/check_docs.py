# ruff: noqa: INP001
"""Runs the commands of the README and the tutorials, in their order.

In a ```sh block, the lines that begin with `incastle`, `python examples/` or, where installed,
`tshark -r` are run, but not installation and `reproduce`, which other tests cover. A ```python
block is run, or saved if the line above it ends in `NAME.py`:. A ```toml block is saved under the
name in the line above it. A ```text block shows some lines that the command before it prints, in
order. Each document has a separate folder; two are tried at a time. ```console blocks, which show
a session with servers, are run by `consoles`. Arguments are the documents to try; without one all
are tried.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from consoles import try_consoles

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    "README.md",
    "docs/tutorial.md",
    "docs/storage-cluster.md",
    "docs/choose-k.md",
    "docs/sweep.md",
    "docs/diff.md",
    "docs/artifact.md",
    "docs/figures.md",
    "docs/explain.md",
    "docs/trace.md",
    "docs/captures.md",
    "docs/rdma.md",
    "docs/coming-from-ns-3.md",
    "docs/own-controller.md",
    "docs/estimate.md",
    "docs/import.md",
    "docs/validate.md",
    "docs/dcudp-python.md",
    "docs/dcudp.md",
]
TOGETHER = 2
"""Documents that are tried at the same time."""
PROGRAMS = ("incastle ", "python examples/", *(["tshark -r "] if shutil.which("tshark") else []))
SAVED = re.compile(r"`([\w.-]+\.py)`:\s*$")
FENCE = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


@dataclass
class Step:
    """A command of a document: its name, how it is run, and the lines that it should print."""

    title: str
    command: list[str]
    shown: str = ""

    def missing(self, printed: str) -> list[str]:
        """Return the first line shown that was not printed, or not in this order."""
        lines = (line.rstrip() for line in printed.splitlines())
        wanted = [line.rstrip() for line in self.shown.splitlines() if line.strip()]
        return [line for line in wanted if line not in lines][:1]


def commands(document: str, folder: Path) -> list[Step]:
    """Return the commands of a document, and save its files in `folder`."""
    text = (ROOT / document).read_text(encoding="utf-8")
    found: list[Step] = []
    for block in FENCE.finditer(text):
        language, body = block[1], textwrap.dedent(block[2])
        place = f"{document}:{text.count(chr(10), 0, block.start()) + 1}"
        if language == "toml":
            names = re.findall(r"`([\w.-]+\.toml)`", text[: block.start()])
            (folder / names[-1]).write_text(body, encoding="utf-8")
        elif saved := SAVED.search(text, 0, block.start()):
            (folder / saved[1]).write_text(body, encoding="utf-8")
        elif language == "python":
            found.append(Step(f"{place} python", [sys.executable, "-c", body]))
        elif language == "text":
            found[-1].shown += body
        elif language == "sh":
            lines = [line.partition("  #")[0].strip() for line in body.splitlines()]
            # A shell, because the documents use its quotes and redirections.
            found += [
                Step(f"{place} {line}", ["sh", "-c", line])
                for line in lines
                if line.startswith(PROGRAMS) and " reproduce" not in line
            ]
    return found


def try_document(document: str) -> list[str]:
    """Run a document's commands; return those that failed, after showing their output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    failed = []
    passed = 0
    with tempfile.TemporaryDirectory(prefix="incastle-docs-") as name:
        folder = Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        for step in commands(document, folder):
            done = subprocess.run(
                step.command,
                cwd=folder,
                env=os.environ | {"PATH": path, "MPLBACKEND": "Agg"},
                capture_output=True,
                text=True,
                check=False,
            )
            missing = step.missing(done.stdout)
            if done.returncode == 0 and not missing:
                passed += 1
                continue
            failed.append(step.title)
            print(f"{step.title}\n{done.stdout}{done.stderr}")
            for line in missing:
                print(f"the document shows a line that is not printed:\n{line}")
    consoles, wrong = try_consoles(ROOT / document, path)
    passed += consoles
    failed += wrong
    word = "FAILED" if failed else "ok"
    # In the format of cargo's runner, so that one counter reads both.
    print(f"test result: {word}. {passed} passed; {len(failed)} failed; 0 ignored; {document}")
    return failed


def main() -> None:
    """Try the documents that are named, else all."""
    named = sys.argv[1:]
    if others := [one for one in named if one not in DOCUMENTS]:
        sys.exit(f"error: {', '.join(others)}: there are {', '.join(DOCUMENTS)}")
    with ThreadPoolExecutor(TOGETHER) as pool:
        failures = list(chain.from_iterable(pool.map(try_document, named or DOCUMENTS)))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
