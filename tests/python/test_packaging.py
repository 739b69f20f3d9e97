"""Packaging: the container's files."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")
CONTEXT = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()


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
    assert not list(tmp_path.rglob("*.so"))
