"""Builds HPCC's ns-3 simulator from its sources with g++, without its own build system.

The sources are those of kwzhao/High-Precision-Congestion-Control, branch m3, which whoever runs the
benchmark fetches: they are never part of this repository. Of the modules that scratch/third.cc
needs, every source that their wscripts list is compiled, without tests and without what
needs GTK, SQLite, XML, Windows or the Network Simulation Cradle. ns-3 has its fastest settings:
-O3, and neither logging nor assertions.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MODULES = (
    *("core", "network", "internet", "point-to-point", "applications"),
    *("bridge", "mpi", "config-store", "stats", "tools"),
)
FLAGS = ("-std=gnu++11", "-fpermissive", "-w", "-O3")
LEFT_OUT = (
    *("win32", "gtk", "model-node-creator", "model-typeid-creator", "display-functions"),
    *("cairo", "sqlite", "xml-config", "-ns2", "nsc-", "module_helpers"),
)
# The results of its configure step on 64-bit Linux.
CONFIG = """\
#define HAVE___UINT128_T 1
#define INT64X64_USE_128 1
#define HAVE_STDINT_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_SYS_INT_TYPES_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_DIRENT_H 1
#define HAVE_STDLIB_H 1
#define HAVE_GETENV 1
#define HAVE_SIGNAL_H 1
#define HAVE_PTHREAD_H 1
#define HAVE_RT 1
"""


class UnavailableError(Exception):
    """The simulator cannot be built or run here; the message says why."""


def built(sources: Path, out: Path) -> Path:
    """Return the program, which is built where it is missing.

    Args:
        sources: the folder `simulation` of the repository.
        out: where objects and program lie.

    Raises:
        UnavailableError: no sources, no compiler, or a file that does not compile.

    """
    program = out / "third"
    if program.exists():
        return program
    if not (sources / "scratch" / "third.cc").exists():
        raise UnavailableError(f"no scratch/third.cc in {sources}")
    if shutil.which("g++") is None:
        raise UnavailableError("no g++")
    headers = out / "ns3"
    headers.mkdir(parents=True, exist_ok=True)
    _copy_headers(sources, headers)
    files = [*_listed(sources), sources / "scratch" / "third.cc"]
    print(f"compiling {len(files)} files of HPCC's ns-3 (minutes)", file=sys.stderr, flush=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda file: _compiled(file, sources, out), files))
    _run(["g++", "-O3", "-o", str(program), *objects, "-lpthread", "-lrt"])
    return program


def _names(sources: Path, module: str, ending: str) -> list[Path]:
    """Return the files that a module's wscript lists."""
    folder = sources / "src" / module
    text = (folder / "wscript").read_text(encoding="utf-8")
    found = [folder / name for name in re.findall(rf"['\"]([\w./-]+\.{ending})['\"]", text)]
    kept = (file for file in found if file.exists() and "/test/" not in str(file))
    return [file for file in kept if not any(word in file.name for word in LEFT_OUT)]


def _listed(sources: Path) -> list[Path]:
    return [file for module in MODULES for file in _names(sources, module, "(?:cc|c)")]


def _copy_headers(sources: Path, headers: Path) -> None:
    """Lay out headers as the simulator's own build does: all in one folder, one more a module."""
    for module in MODULES:
        for file in (sources / "src" / module).rglob("*.h"):
            if "/test/" not in str(file):
                shutil.copy(file, headers / file.name)
        names = dict.fromkeys(file.name for file in _names(sources, module, "h"))
        lines = "".join(f'#include "ns3/{name}"\n' for name in names)
        (headers / f"{module}-module.h").write_text(lines, encoding="utf-8")
    (headers / "core-config.h").write_text(CONFIG, encoding="utf-8")
    (headers / "config-store-config.h").write_text('#define PYTHONDIR ""\n', encoding="utf-8")


def _compiled(file: Path, sources: Path, out: Path) -> str:
    place = file.relative_to(sources).with_suffix(".o")
    target = out / "_".join(place.parts)
    if not target.exists():
        part = target.with_suffix(".part")
        _run(["g++", *FLAGS, "-I", str(out), "-c", str(file), "-o", str(part)])
        part.rename(target)
    return str(target)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnavailableError(f"{command[-3]}: {done.stderr[:2000]}")
