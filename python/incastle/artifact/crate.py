"""The metadata of an artifact: RO-Crate 1.1 with the profile Process Run Crate 0.5.

One JSON-LD document lists the files and the run that made some of them of others. Sources:
https://w3id.org/ro/crate/1.1 and https://w3id.org/ro/wfrun/process/0.5. Leaves out the hashes of
files, which the context of RO-Crate 1.1 has no term for: SHA256SUMS has them.
"""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Reference: TypeAlias = "dict[str, str] | list[dict[str, str]]"
METADATA = "ro-crate-metadata.json"
RO_CRATE = "https://w3id.org/ro/crate/1.1"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
SOFTWARE, RUN = "#incastle", "#run"
FORMATS = {
    ".toml": "application/toml",
    ".parquet": "application/vnd.apache.parquet",
    ".pcapng": "application/vnd.tcpdump.pcap",
    ".cff": "application/yaml",
    ".md": "text/markdown",
    ".py": "text/x-python",
    "": "text/plain",
}
"""Media types by the ends of names, where the system's list may lack them."""


@dataclass(frozen=True)
class About:
    """What the metadata report of an artifact.

    Attributes:
        name: its title.
        description: one sentence.
        authors: their names.
        version: that of Incastle.
        published: the day of packing, as in ISO 8601.
        ended: when the last run was finished, as in ISO 8601.
        command: the command that was run.
        inputs: the files that the run read.
        outputs: the files that it wrote.

    """

    name: str
    description: str
    authors: Sequence[str]
    version: str
    published: str
    ended: str
    command: str
    inputs: Sequence[str]
    outputs: Sequence[str]


def metadata(folder: Path, files: Sequence[str], about: About) -> dict[str, Any]:
    """Return the document for the files of a folder."""
    authors = [
        {"@id": f"#author-{number}", "@type": "Person", "name": name}
        for number, name in enumerate(about.authors, 1)
    ]
    entities = [_descriptor(), _root(files, about), _profile(), _software(about), *authors]
    return {
        "@context": f"{RO_CRATE}/context",
        "@graph": [*entities, _run(about), *(_file(folder, name) for name in files)],
    }


def _descriptor() -> dict[str, Any]:
    return {
        "@id": METADATA,
        "@type": "CreativeWork",
        "conformsTo": {"@id": RO_CRATE},
        "about": {"@id": "./"},
    }


def _root(files: Sequence[str], about: About) -> dict[str, Any]:
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": about.name,
        "description": about.description,
        "datePublished": about.published,
        "license": {"@id": "LICENSE"},
        "author": _authors(about),
        "conformsTo": {"@id": PROFILE},
        "hasPart": _references(files),
        "mentions": {"@id": RUN},
    }


def _profile() -> dict[str, Any]:
    return {
        "@id": PROFILE,
        "@type": "CreativeWork",
        "name": "Process Run Crate",
        "version": "0.5",
    }


def _software(about: About) -> dict[str, Any]:
    return {
        "@id": SOFTWARE,
        "@type": "SoftwareApplication",
        "name": "Incastle",
        "description": "A packet-level simulator for congestion control in data centers.",
        "softwareVersion": about.version,
    }


def _run(about: About) -> dict[str, Any]:
    return {
        "@id": RUN,
        "@type": "CreateAction",
        "name": about.command,
        "description": f"The run of `{about.command}` that made the results.",
        "actionStatus": "http://schema.org/CompletedActionStatus",
        "agent": _authors(about),
        "endTime": about.ended,
        "instrument": {"@id": SOFTWARE},
        "object": _references(about.inputs),
        "result": _references(about.outputs),
    }


def _file(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    guessed, _ = mimetypes.guess_type(name)
    return {
        "@id": quote(name),
        "@type": "File",
        "name": name,
        "contentSize": str(path.stat().st_size),
        "encodingFormat": FORMATS.get(path.suffix, guessed or "application/octet-stream"),
    }


def _authors(about: About) -> Reference:
    return _one_or_all([{"@id": f"#author-{number}"} for number, _ in enumerate(about.authors, 1)])


def _references(names: Sequence[str]) -> Reference:
    return _one_or_all([{"@id": quote(name)} for name in names])


def _one_or_all(references: list[dict[str, str]]) -> Reference:
    """Return a single reference as RO-Crate wants it: without a list."""
    return references[0] if len(references) == 1 else references
