# ruff: noqa: INP001
"""Checks that files, functions, folders and crates stay small, and that imports have no circle.

Lines of Rust are counted without tests; clippy.toml limits Rust's functions, ESLint those of the
lab, whose files are counted here. Each paper counts as a folder. Imports for type
checkers alone are no part of a circle. Crates without examples in their documentation skip
rustdoc's tests (doctest = false), which takes seconds each.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "incastle"
FILE, FUNCTION, FOLDER, CRATE = 600, 70, 4_000, 13_000
PYTHON = ("python", "tests", "bench", "scripts", "examples")
LAB = ROOT / "lab"
LAB_SOURCES = (".ts", ".tsx", ".js", ".css")
LAB_GENERATED = ("node_modules", "e2e/node_modules", "dist", "src/engine")


def rust_lines(path: Path) -> int:
    """Count the lines of a file above its module of tests."""
    return len(
        path.read_text(encoding="utf-8").partition("\n#[cfg(test)]\nmod tests {")[0].splitlines()
    )


def manifest_of(path: Path) -> Path:
    """Return the manifest of a source file's crate."""
    return ROOT.joinpath(*path.relative_to(ROOT).parts[:2], "Cargo.toml")


def folder_of(module: tuple[str, ...]) -> str:
    """Return the folder of a module: each paper is one, and each module outside folders."""
    return ".".join(module[: 2 if module[0] == "papers" else 1])


def imported(tree: ast.Module) -> set[str]:
    """Return the folders of the package that a file imports when it runs."""
    names = []
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        pending += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "incastle":
            names += [f"incastle.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
    ours = [tuple(name.split(".")[1:]) for name in names if name.startswith("incastle.")]
    return {folder_of(module) for module in ours}


def lab_lines() -> dict[str, int]:
    """Count the lines of the lab's sources, without what its tools have written there."""
    generated = [LAB / name for name in LAB_GENERATED]
    return {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in LAB.rglob("*")
        if path.suffix in LAB_SOURCES
        and not any(path.is_relative_to(folder) for folder in generated)
    }


def untested_examples() -> list[str]:
    """List the files with an example whose crate has rustdoc's tests switched off."""
    return [
        f"{path.relative_to(ROOT)}: an example, but its crate has doctest = false"
        for path in (ROOT / "crates").glob("*/src/**/*.rs")
        if "bin" not in path.parts  # a program's documentation is never run
        and re.search(r"^ *//[/!] *```", path.read_text(encoding="utf-8"), re.MULTILINE)
        and "doctest = false" in manifest_of(path).read_text(encoding="utf-8")
    ]


def main() -> None:
    """Check, and leave with status 1 where something is too large."""
    sizes: dict[tuple[str, int], Counter[str]] = {
        (kind, limit): Counter()
        for kind, limit in {
            "crate": CRATE,
            "folder": FOLDER,
            "file": FILE,
            "function": FUNCTION,
        }.items()
    }
    crates, folders, files, functions = sizes.values()
    arrows: dict[str, set[str]] = {}
    for path in (ROOT / "crates").glob("*/**/*.rs"):
        name = str(path.relative_to(ROOT))
        files[name] = rust_lines(path)
        if "/src/" in name and path.stem != "tests" and "tests" not in path.parts:
            crates[path.relative_to(ROOT).parts[1]] += files[name]
    files.update(lab_lines())
    for path in (file for folder in PYTHON for file in (ROOT / folder).glob("**/*.py")):
        name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        if "/." in name:
            continue  # an environment
        files[name] = len(text.splitlines())
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions[f"{name}: {node.name}"] = (node.end_lineno or 0) - node.lineno + 1
        if path.is_relative_to(PACKAGE) and path != PACKAGE / "__init__.py":
            module = path.relative_to(PACKAGE).with_suffix("").parts
            folder = folder_of(module if module[-1] != "__init__" else module[:-1])
            folders[folder] += files[name]
            arrows.setdefault(folder, set()).update(imported(tree) - {folder})
    found = [
        f"{kind} {name}: {lines} lines, at most {limit}"
        for (kind, limit), counter in sizes.items()
        for name, lines in counter.items()
        if lines > limit
    ]
    found += untested_examples()
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        found.append(f"circle of imports: {' <- '.join(error.args[1])}")
    if found:
        sys.exit("\n".join(found))
    print(f"{len(files)} files, {len(crates)} crates and {len(folders)} folders are small enough")


if __name__ == "__main__":
    main()
