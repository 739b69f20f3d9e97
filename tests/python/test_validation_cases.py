"""Cases of the other simulator: both layouts, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hpcc_files import FCTS, SPREAD, changed, oracle, put_case, put_shard
from incastle.errors import IncastleError
from incastle.importers.hpcc_keys import Control
from incastle.importers.hpcc_topology import SHARD
from incastle.importers.lines import BrokenFile
from incastle.validation.cases import Layout, read_cases

if TYPE_CHECKING:
    from pathlib import Path

    from incastle.validation.cases import Case

HPCC = changed(("CC_MODE 1", "CC_MODE 3"))


def test_a_folder_has_cases_of_both_layouts(tmp_path: Path) -> None:
    for name in ("shard10", "shard9"):
        put_shard(tmp_path, name)
    put_case(tmp_path, "star-hpcc", HPCC)
    put_case(tmp_path, "star-dcqcn")
    (tmp_path / "spread-dcqcn.csv").write_text(SPREAD)
    (tmp_path / "summary.csv").write_text("shard\n")
    (tmp_path / "empty").mkdir()
    cases = read_cases(tmp_path)
    assert [(case.name, case.layout) for case in cases] == [
        ("shard9", Layout.SHARDS),
        ("shard10", Layout.SHARDS),
        ("star-dcqcn", Layout.PATHS),
        ("star-hpcc", Layout.PATHS),
    ]
    assert [case.control for case in cases[2:]] == [Control.DCQCN, Control.HPCC]
    assert [case.spread for case in (cases[0], cases[3])] == [None, None]
    assert cases[2].spread == ((3500, 3600, 3400), (5350, 5500, 5300))


def test_a_folder_of_folders_and_a_case_alone_are_read(tmp_path: Path) -> None:
    put_shard(tmp_path / "one", "shard1")
    case = put_case(tmp_path / "two", "star-dcqcn")
    (tmp_path / "two" / "spread-dcqcn.csv").write_text(SPREAD)
    assert [one.name for one in read_cases(tmp_path)] == ["shard1", "star-dcqcn"]
    (alone,) = read_cases(case)
    assert alone.name == "star-dcqcn"
    assert alone.spread is not None


def test_patterns_choose_cases(tmp_path: Path) -> None:
    for name in ("shard1", "shard10", "shard2"):
        put_shard(tmp_path, name)
    counts: list[tuple[int, int]] = []
    cases = read_cases(tmp_path, ["shard1*"], lambda *count: counts.append(count))
    assert [case.name for case in cases] == ["shard1", "shard10"]
    assert counts == [(1, 2), (2, 2)]
    with pytest.raises(
        IncastleError, match=r"no case is named star-\*; there are shard1, shard2, shard10"
    ):
        read_cases(tmp_path, ["star-*"])


def test_flows_are_in_the_order_in_which_the_simulator_starts_them(tmp_path: Path) -> None:
    (case,) = read_cases(put_case(tmp_path, "star"))
    assert [(flow.number, flow.fct_ns) for flow in case.flows] == [(0, 3010), (1, 3500), (2, 5350)]
    assert case.topology.hosts == [0, 1, 2]
    assert [link.rate for link in case.topology.links] == [25 * 10**9] * 3


def test_a_start_may_have_lost_a_nanosecond_and_a_flow_its_end(tmp_path: Path) -> None:
    fcts = FCTS.replace("1000050000,5350", "1000049999,")
    (case,) = read_cases(put_case(tmp_path, "star", fcts=fcts))
    assert (case.flows[2].start_ns, case.flows[2].fct_ns) == (1_000_050_000, None)


def test_packets_are_lost_on_paths_without_pfc(tmp_path: Path) -> None:
    without = changed(("ENABLE_PFC 1", "ENABLE_PFC 0"))
    put_shard(tmp_path, "shard1", without)
    put_case(tmp_path, "hol", without)
    put_case(tmp_path, "star")
    assert [case.loses_packets for case in read_cases(tmp_path)] == [False, True, False]


BROKEN = [
    ("fct.csv", "src,dst", "src,dest", "fct.csv:1: expected the columns flow,src,dst,size_B,"),
    ("fct.csv", ",5350,5350", ",5350", "fct.csv:2: expected 7 cells as in line 1, found 6"),
    ("fct.csv", ",3010,", ",3010.5,", "fct.csv:3: fct_ns must be a whole number from 1, found"),
    ("fct.csv", "1,1,2", "1,2,2", "fct.csv:4: host 2 sends to itself"),
    ("fct.csv", "1,1,2", "1,3,2", "fct.csv:4: 3 is no host; hosts are numbered 0 to 2"),
    ("fct.csv", "1,1,2,2000", "1,1,2,2001", "flows.txt:3: 2000 B from 1 to 2 at 1000000000 ns: no"),
    ("fct.csv", "1000050000", "1000050002", "flows.txt:4: 9000 B from 0 to 1 at 1000050000 ns: no"),
    ("flows.txt", "3\n0", "2\n0", "fct.csv:2: no such flow in "),
    ("topology.txt", "25Gbps", "fast", "topology.txt:3: expected a rate such as"),
    ("config.txt", "CC_MODE 1", "CC_MODE 9", "config.txt:6: CC_MODE 9: there is no such control"),
]


@pytest.mark.parametrize(("name", "good", "bad", "message"), BROKEN)
def test_each_mistake_has_its_place(
    tmp_path: Path, name: str, good: str, bad: str, message: str
) -> None:
    file = put_case(tmp_path, "star") / name
    text = file.read_text()
    assert good in text
    file.write_text(text.replace(good, bad, 1))
    with pytest.raises(BrokenFile) as refused:
        read_cases(tmp_path)
    assert str(refused.value).startswith(str(file.parent / message))


def test_a_spread_has_whole_numbers(tmp_path: Path) -> None:
    put_case(tmp_path, "star-dcqcn")
    (tmp_path / "spread-dcqcn.csv").write_text(SPREAD.replace("3600", "x"))
    with pytest.raises(BrokenFile, match=r"spread-dcqcn\.csv:3: median_fct_ns must be a whole"):
        read_cases(tmp_path)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(IncastleError, match="absent: no such directory; expected one with cases"):
        read_cases(tmp_path / "absent")
    with pytest.raises(IncastleError, match=r"no cases; expected NAME\.conf with NAME\.csv, or"):
        read_cases(tmp_path)
    (put_case(tmp_path, "star") / "flows.txt").unlink()
    with pytest.raises(IncastleError, match=r"star: flows\.txt is not there"):
        read_cases(tmp_path)
    put_shard(tmp_path, "shard1").with_suffix(".csv").unlink()
    with pytest.raises(IncastleError, match=r"shard1\.conf: its FCTs, shard1\.csv, are not there"):
        read_cases(tmp_path)


def ideal_ns(case: Case, source: int, destination: int, size: int) -> int:
    """Return the ideal FCT over one switch as third.cc computes it (qp_delivered)."""
    links = {link.a.number: link for link in case.topology.links}
    path = (links[source], links[destination])
    header, payload = 48, case.config.payload_bytes
    slowest = min(*(link.rate for link in path), 10 * 10**9)
    head = min(payload, size)
    first = sum((head + header) * 8 * 10**9 // link.rate for link in path)
    rest = (size - head) * 8 * 10**9 // slowest
    headers = (size - 1) // payload * (header * 8 * 10**9 // slowest)
    return sum(link.delay for link in path) // 1000 + first + rest + headers


def test_the_oracle_is_read_and_its_topology_gives_its_ideal_fcts() -> None:
    assert [link.rate for link in SHARD.links] == [10 * 10**9, 100 * 10**12, 10 * 10**9]
    cases = read_cases(oracle())
    assert {case.layout for case in cases} == set(Layout)
    for case in cases:
        assert case.spread is None or case.control is Control.DCQCN
        for flow in case.flows if case.layout is Layout.SHARDS else ():
            expected = ideal_ns(case, flow.source, flow.destination, flow.bytes)
            assert flow.ideal_ns == expected, (case.name, flow)
