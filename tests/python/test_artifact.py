"""`incastle pack` and `incastle verify`: artifacts that repeat a report or results."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest

import incastle as ic
from conftest import SMALL, with_finished_runs
from incastle.artifact import pack, verify
from incastle.artifact.crate import METADATA, PROFILE
from incastle.artifact.layout import SUMS, ArtifactError, files_of, write_sums
from incastle.reproduction import main as reproduce
from incastle.reproduction.papers import discover
from incastle.storage.hashes import file_hash

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Output

pytestmark = pytest.mark.xdist_group("artifact")

NAME, FIGURE = "dctcp-ns2", "2"
COMMAND = f"incastle reproduce {NAME} --figure {FIGURE} --quick"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the quick report of one figure of a paper."""
    place = with_finished_runs(tmp_path_factory.mktemp("made") / "report")
    assert reproduce.main([NAME], FIGURE, "quick", place) == 0
    return place


@pytest.fixture(scope="module")
def packed(report: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return its artifact."""
    return pack.pack(report, tmp_path_factory.mktemp("packed") / "artifact", ["Jo Doe"])


@pytest.fixture
def artifact(packed: Path, tmp_path: Path) -> Path:
    """Return a copy of the artifact, to be changed."""
    shutil.copytree(packed, tmp_path / "artifact")
    return tmp_path / "artifact"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the results of two seeds."""
    folder = tmp_path_factory.mktemp("results") / "two"
    for seed in (1, 2):
        ic.run(ic.Scenario.from_text(SMALL), seed).save(folder / f"seed-{seed}")
    return folder


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_an_artifact_of_a_report_gives_the_same_from_an_empty_folder(
    artifact: Path, cli: Callable[..., Output], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    output = cli("verify", str(artifact))
    assert output.status == 0, output.err
    claims = len(read(artifact / "report" / "claims.json"))
    assert claims > 2
    assert f"verdicts: {claims} of {claims} are the same" in output.out
    assert f"values: {claims} of {claims} are the same" in output.out
    assert "digests of runs: 6 of 6 are the same" in output.out
    assert output.out.endswith("data of figures: none differ\nverified\n")
    assert not list(Path.cwd().iterdir())


def test_an_artifact_has_all_that_repeats_it(packed: Path, report: Path) -> None:
    declaration = read(packed / "artifact.json")
    assert declaration["command"] == COMMAND
    assert declaration["version"] == ic.__version__
    assert declaration["environment"]["packages"]["polars"]
    folder = discover()[NAME].folder
    assert (packed / "papers" / NAME / "claims.toml").read_bytes() == (
        folder / "claims.toml"
    ).read_bytes()
    assert tomllib.loads((packed / "papers" / NAME / "scenarios" / "tcp.toml").read_text())
    for name in ("claims.json", "index.html", f"{NAME}/runs.csv.gz", f"{NAME}/figure-2.csv.gz"):
        assert (packed / "report" / name).read_bytes() == (report / name).read_bytes()
    assert not (packed / "report" / "runs").exists()
    assert {"LICENSE", "LICENSE-MIT", "LICENSE-APACHE", "CITATION.cff"} <= set(files_of(packed))
    readme = (packed / "README.md").read_text(encoding="utf-8")
    assert "\n    incastle verify .\n" in readme
    assert f"\n    {COMMAND}\n" in readme
    sums = dict(line.split("  ")[::-1] for line in (packed / SUMS).read_text().splitlines())
    assert sums == {name: file_hash(packed / name) for name in files_of(packed) if name != SUMS}


def test_the_metadata_are_whole(packed: Path) -> None:
    """The check `artifact` of the full tier has it validated by a validator of RO-Crates."""
    graph = {one["@id"]: one for one in read(packed / METADATA)["@graph"]}
    root, run = graph["./"], graph["#run"]
    assert root["conformsTo"] == {"@id": PROFILE}
    files = {unquote(one["@id"]) for one in root["hasPart"]}
    assert files == set(files_of(packed)) - {METADATA, SUMS}
    assert all(graph[one["@id"]]["contentSize"].isdigit() for one in root["hasPart"])
    assert run["name"] == COMMAND
    assert graph[run["instrument"]["@id"]]["softwareVersion"] == ic.__version__
    assert graph[run["agent"]["@id"]]["name"] == "Jo Doe"
    assert {"@id": f"papers/{NAME}/claims.toml"} in run["object"]
    assert {"@id": "report/claims.json"} in run["result"]
    references = re.findall(r'\{"@id": "([^"]+)"\}', json.dumps(list(graph.values())))
    assert {one for one in references if "://w3id.org/ro/crate" not in one} <= graph.keys()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("edit", "report/claims.json: changed since it was packed (its SHA-256 is another)"),
        ("remove", "report/claims.json: missing"),
        ("add", f"report/new.txt: not in {SUMS}"),
        ("link", "report/claims.json: changed since it was packed"),
        ("line", f"{SUMS}:1: expected a SHA-256 and a name"),
        ("path", f"{SUMS}:1: the name '../other' has an empty part"),
        ("unlisted", f"is no artifact of `incastle pack`: it has no {SUMS}"),
    ],
)
def test_a_changed_artifact_is_refused_by_the_name_of_the_file(
    artifact: Path, cli: Callable[..., Output], change: str, message: str
) -> None:
    claims, sums = artifact / "report" / "claims.json", artifact / SUMS
    text = claims.read_text(encoding="utf-8")
    if change == "edit":
        assert "holds" in text
        claims.write_text(text.replace("holds", "fails"), encoding="utf-8")
    elif change == "remove":
        claims.unlink()
    elif change == "add":
        (artifact / "report" / "new.txt").write_text("new")
    elif change == "link":
        claims.rename(artifact.parent / "moved")
        claims.symlink_to(artifact.parent / "moved")
    elif change == "unlisted":
        sums.unlink()
    else:
        line = "what is it\n" if change == "line" else f"{'0' * 64}  ../other\n"
        sums.write_text(line + sums.read_text())
    for words in ((), ("--no-run",)):
        output = cli("verify", str(artifact), *words)
        assert output.status == 2
        assert message in output.err
        assert not output.out


def test_without_a_run_the_files_alone_are_checked(
    artifact: Path, cli: Callable[..., Output]
) -> None:
    output = cli("verify", str(artifact), "--no-run")
    assert output.status == 0, output.err
    assert output.out == f"{len(files_of(artifact)) - 1} files are as they were packed\n"
    output = cli("verify", str(artifact), "--no-run", "--out", "again")
    assert output.status == 2
    assert "--out keeps the second run, and --no-run has none" in output.err


def test_an_artifact_of_another_version_is_refused_with_one_message(
    artifact: Path, cli: Callable[..., Output]
) -> None:
    declaration = read(artifact / "artifact.json")
    (artifact / "artifact.json").write_text(json.dumps({**declaration, "version": "0.0.9"}))
    (artifact / SUMS).unlink()
    write_sums(artifact)
    output = cli("verify", str(artifact))
    assert output.status == 2
    assert f"was packed by Incastle 0.0.9, and this is {ic.__version__}" in output.err
    assert output.err.count("error") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is no JSON"), ('{"version": "1"}', "lacks one of version, kind, command")],
)
def test_a_declaration_that_is_none_is_refused(artifact: Path, text: str, message: str) -> None:
    (artifact / "artifact.json").write_text(text)
    (artifact / SUMS).unlink()
    write_sums(artifact)
    with pytest.raises(ArtifactError, match=message):
        verify.check_files(artifact)


def test_a_verdict_that_does_not_come_out_again_is_reported(
    artifact: Path, cli: Callable[..., Output]
) -> None:
    claims = artifact / "report" / "claims.json"
    entries = read(claims)
    entries[0]["verdict"] = "unclear"
    claims.write_text(json.dumps(entries))
    (artifact / SUMS).unlink()
    write_sums(artifact)
    output = cli("verify", str(artifact), "--out", str(artifact.parent / "again"))
    assert output.status == 1
    assert f"verdicts: {len(entries) - 1} of {len(entries)} are the same" in output.out
    assert f"unclear -> {read(artifact.parent / 'again' / 'claims.json')[0]['verdict']}" in (
        output.out
    )
    assert output.out.endswith("not verified: a second run gave something else\n")


def test_claims_other_than_those_of_this_build_are_refused(artifact: Path) -> None:
    claims = artifact / "papers" / NAME / "claims.toml"
    claims.write_text(claims.read_text(encoding="utf-8") + "\n# another\n", encoding="utf-8")
    with pytest.raises(ArtifactError, match=f"papers/{NAME}/claims.toml is not that of this"):
        verify.run_again(artifact, "report", artifact.parent / "again", 1)


def test_results_are_packed_and_verified(
    results: Path, cli: Callable[..., Output], tmp_path: Path
) -> None:
    for place, count in ((results, 2), (results / "seed-2", 1)):
        out = tmp_path / f"of-{count}"
        output = cli("pack", str(place), "--out", str(out))
        assert output.status == 0, output.err
        assert output.out == f"{out}\n"
        assert f"incastle verify {out}" in output.err
        assert "results/seed-2/scenario.toml" in read(out / "artifact.json")["command"]
        assert 'authors:\n  - name: "anonymous"' in (out / "CITATION.cff").read_text()
        output = cli("verify", str(out))
        assert output.status == 0, output.err
        assert f"digests of runs: {count} of {count} are the same\nverified\n" in output.out


def test_a_result_that_does_not_come_out_again_is_reported(
    results: Path, cli: Callable[..., Output], tmp_path: Path
) -> None:
    out = pack.pack(results / "seed-1", tmp_path / "artifact")
    shutil.rmtree(out / "results" / "seed-1")
    other = ic.run(ic.Scenario.from_text(SMALL.replace("64 KB", "32 KB")))
    other.save(out / "results" / "seed-1")
    scenario = out / "results" / "seed-1" / "scenario.toml"
    same = ic.run(ic.Scenario.from_text(SMALL))
    # A result whose hashes are whole, and whose scenario gives another one.
    changed = out / "changed"
    ic.Result(**{**vars(other), "scenario": same.scenario}).save(changed)
    shutil.rmtree(scenario.parent)
    changed.rename(scenario.parent)
    (out / SUMS).unlink()
    write_sums(out)
    output = cli("verify", str(out))
    assert output.status == 1
    assert f"digest {other.digest} was packed, {same.digest} came out" in output.out
    assert "the table transfers is another" in output.out


def test_what_cannot_be_repeated_is_not_packed(
    report: Path, results: Path, cli: Callable[..., Output], tmp_path: Path
) -> None:
    old = tmp_path / "old"
    shutil.copytree(report, old, ignore=shutil.ignore_patterns("runs"))
    header = read(old / "report.json")
    (old / "report.json").write_text(json.dumps({**header, "version": "0.0.9"}))
    nothing, out = tmp_path / "nothing", str(tmp_path / "out")
    nothing.mkdir()
    stopped = ic.Result(**{**vars(ic.Result.load(results / "seed-1")), "interrupted": True})
    stopped.save(tmp_path / "stopped")
    cases = {
        (str(old),): f"was computed by Incastle 0.0.9, and this is {ic.__version__}",
        (str(nothing),): "is neither a report nor a result",
        (str(tmp_path / "stopped"),): "was interrupted, so that no other run can be identical",
        (str(report), "--out", str(tmp_path)): "already exists: choose another --out",
        (str(report), "--out", str(tmp_path / "no" / "out")): "is not a directory",
    }
    for words, message in cases.items():
        output = cli("pack", *words, *(() if "--out" in words else ("--out", out)))
        assert output.status == 2
        assert message in output.err
    (old / "report.json").unlink()
    output = cli("pack", str(old), "--out", out)
    assert output.status == 2
    assert "because an earlier Incastle wrote it: `incastle reproduce` makes it again" in output.err
    assert not Path(out).exists()
