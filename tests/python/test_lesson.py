"""The lesson and its exercises: their digests and numbers against runs of the lab's gallery.

Answers are also held against the settings around them, which must not be answers.
"""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path

import polars as pl
import pytest

import incastle as ic

REPOSITORY = Path(__file__).parents[2]
GALLERY = REPOSITORY / "lab" / "src" / "gallery"
DOCS = REPOSITORY / "docs"

Settings = tuple[tuple[str, str], ...]


@cache
def run(experiment: str, settings: Settings = ()) -> ic.Result:
    """Run an experiment as the lab's page does: its scenario, and settings as text."""
    result = ic.run(ic.load(GALLERY / f"{experiment}.toml", settings))
    assert isinstance(result, ic.Result)
    return result


def rows(page: str, title: str) -> list[dict[str, str]]:
    """Read the first table below a title."""
    text = (DOCS / page).read_text(encoding="utf-8").partition(f"## {title}\n")[2]
    lines = re.findall(r"^\|(.*)\|$", text.partition("\n## ")[0], re.MULTILINE)
    head, _, *body = [[cell.strip() for cell in line.split("|")] for line in lines]
    return [dict(zip(head, cells, strict=True)) for cells in body]


def of_row(row: dict[str, str]) -> ic.Result:
    """Run what a row names."""
    settings = re.findall(r"`([^`=]+)=([^`]*)`", row["settings"])
    return run(row["experiment"].strip("`"), tuple(settings))


def use(result: ic.Result, port: str) -> float:
    """Return the part of the run in which a port sends."""
    return float(result.links.row(by_predicate=pl.col("port") == port, named=True)["utilisation"])


def times(result: ic.Result, group: str, kind: str) -> list[float]:
    """Return the completion times of a group, in their order; of complete transfers only."""
    chosen = result.transfers.filter(group=group, kind=kind)
    return chosen["fct_s"].drop_nulls().sort().to_list()


def percentile(ordered: list[float], part: float) -> float:
    """Return the time within which a part of the transfers was complete, as the page does."""
    return ordered[math.ceil(part * len(ordered) - 1e-9) - 1]


LESSON, SOLUTIONS = "lesson.md", "lesson-solutions.md"
PORTS = rows(LESSON, "Ports")
COMPLETION_TIMES = rows(LESSON, "Completion times")
ANSWERS = rows(SOLUTIONS, "Table of solutions")


def told(exercise: int, words: str) -> None:
    """Assert that the solution of an exercise has these words."""
    text = (DOCS / SOLUTIONS).read_text(encoding="utf-8")
    assert words in text.partition(f"\n## {exercise}. ")[2].partition("\n## ")[0]


def test_there_are_five_solutions() -> None:
    assert [row["exercise"] for row in ANSWERS] == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    "row", [*PORTS, *COMPLETION_TIMES, *ANSWERS], ids=lambda row: row["digest"]
)
def test_a_digest_of_the_pages_is_that_of_its_run(row: dict[str, str]) -> None:
    assert of_row(row).digest == row["digest"].strip("`")


@pytest.mark.parametrize("row", PORTS, ids=lambda row: row["digest"])
def test_a_port_of_the_lesson_has_its_numbers(row: dict[str, str]) -> None:
    result = of_row(row)
    port = result.links.row(by_predicate=pl.col("port") == row["port"].strip("`"), named=True)
    measured = {
        "use": f"{100 * port['utilisation']:.1f} %",
        "mean queue": f"{port['mean_queue_packets']:.1f}",
        "drops": f"{result.totals['drops']:,}",
    }
    assert measured == {name: row[name] for name in measured}


@pytest.mark.parametrize("row", COMPLETION_TIMES, ids=lambda row: row["digest"])
def test_transfers_of_the_lesson_have_their_numbers(row: dict[str, str]) -> None:
    result = of_row(row)
    group, kind = row["transfers"].split()
    complete = times(result, group, kind.removesuffix("s"))
    begun = result.transfers.filter(group=group, kind=kind.removesuffix("s")).height
    measured = {
        "complete": f"{len(complete):,} of {begun:,}",
        "half within": in_words(percentile(complete, 0.5)) if complete else "-",
        "99 % within": in_words(percentile(complete, 0.99)) if complete else "-",
    }
    assert measured == {name: row[name] for name in measured}


def in_words(seconds: float) -> str:
    """Write a time as the page does: three digits."""
    for unit, factor in (("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{float(f'{seconds * factor:.3g}'):g} {unit}"
    raise ValueError(seconds)


def packets(key: str, count: int) -> tuple[str, str]:
    return key, f"{count} packets"


NEW_RENO = (("transport.congestion", "new-reno"), ("switch.queue.kind", "drop-tail"))
DCTCP = (
    ("transport.congestion", "dctcp"),
    ("switch.queue.kind", "threshold"),
    packets("switch.queue.marking_threshold", 20),
)


def test_exercise_1_one_packet_of_k_below_the_link_is_idle_at_times() -> None:
    def used(k: int) -> float:
        settings = (packets("switch.queue.marking_threshold", k),)
        return use(run("choose-k", settings), "switch->receiver")

    assert used(14) > 0.99
    assert max(used(k) for k in range(1, 14)) < 0.99
    told(
        1, f"{used(14):.1%} at 14, {used(13):.1%} at 13 and {used(12):.1%} at 12".replace("%", " %")
    )


def test_exercise_2_a_smaller_buffer_does_not_fill_the_link() -> None:
    def used(buffer: int) -> float:
        settings = (*NEW_RENO, packets("switch.buffer", buffer))
        return use(run("tcp-dctcp", settings), "left->right")

    assert used(10) < 0.99 < used(20)
    told(2, f"the use of the link is {100 * used(20):.1f} %")
    told(2, f"With 10 packets it is {100 * used(10):.1f} %")
    answer = of_row(ANSWERS[1])
    port = answer.links.row(by_predicate=pl.col("port") == "left->right", named=True)
    told(2, f"{answer.totals['drops']} drops and a mean queue of {port['mean_queue_packets']:.1f}")


def test_exercise_3_with_fewer_servers_rounds_are_fast() -> None:
    def half_within_s(servers: int) -> float:
        result = run("incast-collapse", (*DCTCP, ("network.senders", str(servers))))
        return percentile(times(result, "storage", "round"), 0.5)

    assert max(half_within_s(servers) for servers in range(20, 49)) < 0.2 < half_within_s(49)
    told(3, f"{in_words(half_within_s(49))} or more. With 48 it is {in_words(half_within_s(48))}")


def test_exercise_4_only_a_window_of_one_packet_avoids_drops() -> None:
    def drops(window: int) -> int:
        settings = (*DCTCP, ("network.senders", "64"), packets("transport.initial_window", window))
        return int(run("incast-collapse", settings).totals["drops"])

    assert drops(1) == 0
    assert all(drops(window) > 0 for window in (2, 3, 4, 10))
    rounds = times(of_row(ANSWERS[3]), "storage", "round")
    told(4, f"Rounds take {in_words(percentile(rounds, 0.5))}, and the link is full")
    assert use(of_row(ANSWERS[3]), "switch->receiver") > 0.99


def test_exercise_5_less_memory_or_another_control_is_too_slow() -> None:
    def within_s(congestion: str, memory: int) -> float:
        settings = (
            ("transport.congestion", congestion),
            ("switch.buffer.shared", f"{memory} MiB"),
        )
        return percentile(times(run("victim-flow", settings), "victim", "flow"), 0.99)

    assert within_s("hpcc", 2) < 100e-6 < within_s("hpcc", 1)
    for congestion in ("dcqcn", "timely", "rate-dctcp"):
        assert min(within_s(congestion, memory) for memory in (1, 2, 16)) > 100e-6
        told(5, f"{in_words(within_s(congestion, 16))} even with 16 MiB")
    told(5, f"{in_words(within_s('hpcc', 2))}. With 1 MiB it is {in_words(within_s('hpcc', 1))}")
