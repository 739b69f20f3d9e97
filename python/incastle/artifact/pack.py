"""Packs a report or results into an artifact, a folder that repeats them.

It holds what was run (the declarations of papers, or scenarios), what came out of it, the digests
of runs, the environment, a citation, the licences, and a README with the one command that checks
it. Its metadata are an RO-Crate (`crate`).
"""

from __future__ import annotations

import json
import platform
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incastle import _engine
from incastle.artifact import crate
from incastle.artifact.layout import (
    DECLARATION,
    PAPERS,
    REPORT,
    RESULTS,
    ArtifactError,
    files_of,
    write_sums,
)
from incastle.build import engine_build
from incastle.reproduction.papers import discover
from incastle.results import Result
from incastle.storage.files import put_in_place, scratch_folder
from incastle.storage.places import CLAIMS, REPORT_HEADER, SUMMARY, described

if TYPE_CHECKING:
    from collections.abc import Sequence

ANONYMOUS = "anonymous"
LEFT_OUT = "runs"
"""The folder of a report that holds its finished runs, which `verify` makes again."""


@dataclass(frozen=True)
class Content:
    """What an artifact is made of.

    Attributes:
        kind: `report` or `results`.
        title: of the artifact.
        command: the command that was run.
        copies: each file that is copied, by its name in the artifact.
        inputs: the names of those that were read, as far as they are no results.
        cited: titles and authors of the papers.

    """

    kind: str
    title: str
    command: str
    copies: dict[str, Path]
    inputs: list[str]
    cited: list[tuple[str, str]]


def pack(place: Path, out: Path, authors: Sequence[str] = ()) -> Path:
    """Pack a report, a result, or the results of several seeds.

    Args:
        place: its folder.
        out: the folder of the artifact, which must not exist.
        authors: their names; without them the artifact is anonymous.

    Raises:
        ArtifactError: there is nothing to pack, or it cannot be repeated.
        ResultError: a result was changed since it was written.
        OSError: it cannot be read or written.

    """
    if out.exists():
        raise ArtifactError(f"{out} already exists: choose another --out")
    content = _of_report(place) if (place / CLAIMS).is_file() else _of_results(place)
    if not out.absolute().parent.is_dir():
        raise ArtifactError(f"{out.parent} is not a directory")
    with scratch_folder(out) as scratch:
        _fill(scratch, content, list(authors) or [ANONYMOUS])
        put_in_place(scratch, out)
    return out


def _of_report(place: Path) -> Content:
    header = read_header(place)
    names = [name for name in files_of(place) if name.split("/")[0] != LEFT_OUT]
    copies = {f"{REPORT}/{name}": place / name for name in names}
    papers = discover()
    inputs, cited = [], []
    for name in header["papers"]:
        paper = papers[name]
        about = paper.about()
        cited += [(about["title"], about["authors"])] if paper.document else []
        for one in declared(paper.folder):
            inputs.append(f"{PAPERS}/{name}/{one}")
            copies[inputs[-1]] = paper.folder / one
    title = f"Reproduction of {', '.join(header['papers'])} with Incastle {header['version']}"
    return Content(REPORT, title, header["command"], copies, inputs, cited)


def read_header(place: Path) -> dict[str, Any]:
    """Read what a report was made of.

    Raises:
        ArtifactError: an earlier version wrote it, or another one, so that it cannot be repeated.

    """
    path = place / REPORT_HEADER
    if not path.is_file():
        raise ArtifactError(
            f"{place} has no {REPORT_HEADER}, because an earlier Incastle wrote it: "
            "`incastle reproduce` makes it again"
        )
    header = read_declaration(path, ("papers", "figure", "length", "command"))
    if header["version"] != _engine.__version__:
        raise ArtifactError(
            f"{place} was computed by Incastle {header['version']}, and this is "
            f"{_engine.__version__}: use that version, or reproduce it again"
        )
    return header


def read_declaration(path: Path, keys: Sequence[str]) -> dict[str, Any]:
    """Read a JSON file with a version and these keys.

    Raises:
        ArtifactError: it is none.

    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ArtifactError(f"{path} is no JSON: {error}") from None
    if not isinstance(found, dict) or not {"version", *keys} <= found.keys():
        raise ArtifactError(f"{path} lacks one of version, {', '.join(keys)}")
    return found


def declared(folder: Path) -> list[str]:
    """Return the files of a paper's folder that are part of its declaration."""
    return [name for name in files_of(folder) if "__pycache__" not in name]


def _of_results(place: Path) -> Content:
    inside = [place] if (place / SUMMARY).is_file() else sorted(_seeds(place))
    if not inside:
        why = described(place) or f"it has neither {CLAIMS} nor {SUMMARY}"
        raise ArtifactError(f"{place} is neither a report nor a result: {why}")
    copies: dict[str, Path] = {}
    inputs, commands = [], []
    for folder in inside:
        result = Result.load(folder)
        _check_repeatable(folder, result)
        entries = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        base = f"{RESULTS}/{folder.absolute().name}"
        copies |= {f"{base}/{name}": folder / name for name in (SUMMARY, *entries["files"])}
        inputs += [f"{base}/scenario.toml", *(f"{base}/{name}" for name in result.sources)]
        commands.append(f"incastle run {base}/scenario.toml")
    title = f"Results of {result.name} with Incastle {result.version}"
    return Content(RESULTS, title, " && ".join(commands), copies, inputs, [])


def _seeds(place: Path) -> list[Path]:
    return [one.parent for one in place.glob(f"seed-*/{SUMMARY}")]


def _check_repeatable(folder: Path, result: Result) -> None:
    if result.version != _engine.__version__:
        raise ArtifactError(
            f"{folder} was run by Incastle {result.version}, and this is {_engine.__version__}: "
            "use that version, or run it again"
        )
    if result.interrupted:
        raise ArtifactError(f"{folder} was interrupted, so that no other run can be identical")
    if "crossed_links" in result.tables:
        raise ArtifactError(f"{folder} is an estimate, which has no digest of a whole run")


def _fill(scratch: Path, content: Content, authors: list[str]) -> None:
    for name, source in content.copies.items():
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, scratch / name)
    for licence in _licences():
        shutil.copyfile(licence, scratch / licence.name)
    today = datetime.now(UTC).date().isoformat()
    texts = {
        DECLARATION: json.dumps(_declaration(content), indent=2) + "\n",
        "CITATION.cff": _citation(content, authors, today),
        "README.md": _readme(content),
    }
    for name, text in texts.items():
        (scratch / name).write_text(text, encoding="utf-8")
    about = crate.About(
        name=content.title,
        description=f"All that repeats `{content.command}`, and its results.",
        authors=authors,
        version=_engine.__version__,
        published=today,
        ended=_ended(content),
        command=content.command,
        inputs=content.inputs,
        outputs=[name for name in content.copies if name not in content.inputs],
    )
    document = crate.metadata(scratch, files_of(scratch), about)
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    (scratch / crate.METADATA).write_text(text, encoding="utf-8")
    write_sums(scratch)


def _ended(content: Content) -> str:
    """Return when the last of the results was written."""
    last = max(path.stat().st_mtime for path in content.copies.values())
    return datetime.fromtimestamp(int(last), UTC).isoformat()


def _licences() -> list[Path]:
    found = metadata.distribution("incastle").files or []
    return [Path(str(one.locate())) for one in found if one.parent.name == "licenses"]


def _declaration(content: Content) -> dict[str, Any]:
    packages = {one.name: one.version for one in metadata.distributions()}
    return {
        "kind": content.kind,
        "version": _engine.__version__,
        "command": content.command,
        "environment": {
            "engine": engine_build(),
            "python": platform.python_version(),
            "system": platform.platform(),
            "packages": dict(sorted(packages.items())),
        },
    }


def _citation(content: Content, authors: Sequence[str], today: str) -> str:
    """Return the citation of the artifact: YAML whose strings are those of JSON."""
    cited = [
        ("software", f"Incastle {_engine.__version__}", "The Incastle authors"),
        *(("generic", title, by) for title, by in content.cited),
    ]
    lines = [
        "cff-version: 1.2.0",
        'message: "Cite this artifact, and Incastle with its version."',
        f"title: {json.dumps(content.title, ensure_ascii=False)}",
        "type: dataset",
        f"date-released: {today}",
        "license: [Apache-2.0, MIT]",
        "authors:",
        *(f"  - name: {json.dumps(name, ensure_ascii=False)}" for name in authors),
        "references:",
    ]
    for kind, title, by in cited:
        lines += [
            f"  - type: {kind}",
            f"    title: {json.dumps(title, ensure_ascii=False)}",
            f"    authors: [{{name: {json.dumps(by, ensure_ascii=False)}}}]",
        ]
    return "\n".join(lines) + "\n"


def _readme(content: Content) -> str:
    result = "verdict, value and digest" if content.kind == REPORT else "digest and table"
    return f"""# {content.title}

With Incastle {_engine.__version__} installed, this checks the files, runs all of it again
and compares each {result}:

    incastle verify .

`incastle verify . --no-run` checks the files alone, as `sha256sum --check SHA256SUMS` does.
The results are those of

    {content.command}

`{DECLARATION}` has the environment, `{crate.METADATA}` the metadata
(RO-Crate 1.1, Process Run Crate 0.5).
"""
