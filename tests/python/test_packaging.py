"""What is built for others: the release build with its profile, and the container's files."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]
CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")
CONTEXT = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
PROFILE = ("compiler", "dependencies", "engine.profdata")
FLAGS = "CARGO_ENCODED_RUSTFLAGS"


def release_profile(folder: Path) -> ModuleType:
    """Give the script as it is in a folder."""
    path = folder / "scripts" / "release_profile.py"
    spec = importlib.util.spec_from_file_location("release_profile_of_a_folder", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def profiled(tmp_path: Path) -> Path:
    """Make a folder with a profile for this machine's compiler, and the script."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "release_profile.py", tmp_path / "scripts")
    shutil.copy(ROOT / "Cargo.lock", tmp_path)
    (tmp_path / "profile").mkdir()
    script = release_profile(tmp_path)
    texts = (script.identity(), script.dependencies(), "counts")
    for name, text in zip(PROFILE, texts, strict=True):
        (tmp_path / "profile" / name).write_text(text)
    return tmp_path


def build(folder: Path) -> tuple[str, str]:
    """Run what stands for a release build; give the flags that it finds, and what was said."""
    program = f"import os; print(os.environ.get('{FLAGS}', ''))"
    left_out = {"INCASTLE_PROFILE", "RUSTFLAGS", FLAGS}
    done = subprocess.run(
        [
            sys.executable,
            folder / "scripts/release_profile.py",
            "--",
            sys.executable,
            "-c",
            program,
        ],
        env={name: value for name, value in os.environ.items() if name not in left_out},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip(), done.stderr


def test_a_release_build_uses_a_whole_profile(profiled: Path) -> None:
    flags, said = build(profiled)
    assert f"-Cprofile-use={profiled}/profile/engine.profdata" in flags
    assert said == ""


@pytest.mark.parametrize("gone", [*((name,) for name in PROFILE), PROFILE])
def test_a_release_build_goes_on_without_a_torn_profile(
    profiled: Path, gone: tuple[str, ...]
) -> None:
    for name in gone:
        (profiled / "profile" / name).unlink()
    flags, said = build(profiled)
    assert flags == ""
    (line,) = said.splitlines()
    assert line.startswith("release build without profile/, which lacks ")
    assert all(name in line.partition("(")[0] for name in gone)
    assert "`git restore profile`" in line


def test_the_container_is_built_by_the_compiler_of_the_profile() -> None:
    release = re.search(r"^release: (.+)$", (ROOT / "profile/compiler").read_text(), re.MULTILINE)
    assert release is not None
    assert f"\nARG RUST={release[1]}\n" in CONTAINERFILE


def test_the_container_names_its_images_in_full_and_copies_what_is_made() -> None:
    images = re.findall(r"^FROM (\S+)", CONTAINERFILE, re.MULTILINE)
    assert len(images) == 2
    assert all(image.startswith("${REGISTRY}/") for image in images)
    assert re.search(r"^ARG REGISTRY=[a-z]+\.[a-z]+/", CONTAINERFILE, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    assert images[1].startswith(f"${{REGISTRY}}/python:{oldest}-"), "the tested Python"
    made = re.search(r"check_wheel\.py --out (\w+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert made is not None
    assert f"COPY --from=build /src/{made[1]} /tmp/incastle/" in CONTAINERFILE


def test_what_the_container_is_built_from_is_enough_for_the_wheel(tmp_path: Path) -> None:
    kept = [ROOT.glob(line[1:]) for line in CONTEXT if line.startswith("!")]
    left_out = shutil.ignore_patterns(
        *(line.removeprefix("**/") for line in CONTEXT if line.startswith("**/"))
    )
    for lines in kept:
        found = list(lines)
        assert found, "a name in .dockerignore that stands for nothing"
        for path in found:
            if path.is_dir():
                shutil.copytree(path, tmp_path / path.name, ignore=left_out)
            else:
                shutil.copy(path, tmp_path)
    for command in (
        # Make finds everything that the wheel depends on, cargo every crate.
        ["make", "--dry-run", "wheel"],
        ["cargo", "metadata", "--offline", "--locked", "--no-deps", "--format-version=1"],
    ):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))
    assert (tmp_path / project["project"]["readme"]).is_file()
    assert (tmp_path / "profile" / "engine.profdata").is_file()
    assert not list(tmp_path.rglob("*.so"))
