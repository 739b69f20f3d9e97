"""Queue pairs whose retry limit was exceeded: what a run prints of them, and no false remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from queue_pair import ONE
from ten_packets import cut

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Output

SHORT = ("--set", "transport.retry_limit=2", "--set", "transport.ack_timeout=1 us")
"""An acknowledgement takes four propagation delays, 4 us."""
SLOW = """
[flows.slow]
workload = "bulk"
from = "sender:1"
to = "sender:0"
size = "1 GB"
"""
LOST = cut(0.5, us=30_000)
"""The link is down until the end of the run."""
LONGER = "longer run.duration"


def printed(cli: Callable[..., Output], text: str, *options: str) -> str:
    Path("one.toml").write_text(text, encoding="utf-8")
    outcome = cli("run", "one.toml", "--force", *options)
    assert outcome.status == 0
    return " ".join(outcome.out.split())


def test_a_timer_below_the_round_trip_fails_the_queue_pair(cli: Callable[..., Output]) -> None:
    words = printed(cli, ONE, *SHORT)
    assert "1 of 1 queue pairs failed: retry_limit (2) was exceeded" in words
    assert "No packet of them was dropped: set a transport.ack_timeout above" in words
    assert "ack_timeout is 1 us" in words
    assert LONGER not in words


def test_losses_fail_the_queue_pair(cli: Callable[..., Output]) -> None:
    limits = ("--set", "transport.retry_limit=2", "--set", "transport.ack_timeout=1 ms")
    words = printed(cli, ONE + LOST, *limits)
    assert "1 of 1 queue pairs failed" in words
    assert "Packets of each were dropped: prevent losses" in words
    assert "They never complete, because their queue pairs failed" in words
    assert LONGER not in words


def test_the_default_timer_is_written_for_readers(cli: Callable[..., Output]) -> None:
    limits = ("--set", "transport.retry_limit=1", "--set", "run.duration=300 ms")
    words = printed(cli, ONE + cut(0.5, us=400_000), *limits)
    assert "ack_timeout is 67.1 ms" in words


def test_others_may_need_a_longer_run(cli: Callable[..., Output]) -> None:
    limits = ("--set", "transport.retry_limit=2", "--set", "transport.ack_timeout=1 ms")
    words = printed(cli, ONE + LOST + SLOW, *limits)
    assert "1 of 2 queue pairs failed" in words
    assert "1 of 2 flows never complete: their queue pairs failed. To complete the others" in words
    assert LONGER in words


@pytest.mark.parametrize("seeds", [[], ["--seeds", "2"]])
def test_a_queue_pair_that_still_retries_has_not_failed(
    cli: Callable[..., Output], seeds: list[str]
) -> None:
    words = printed(cli, ONE + LOST, *seeds)
    assert "failed: retry_limit" not in words
    assert LONGER in words
    words = printed(cli, ONE, *SHORT, *seeds)
    count = 2 if seeds else 1
    assert f"{count} of {count} queue pairs failed" in words
    assert LONGER not in words


def swept(cli: Callable[..., Output], text: str, limits: str) -> str:
    Path("one.toml").write_text(text, encoding="utf-8")
    sets = ("--set", "transport.ack_timeout=1 ms", "--set", f"transport.retry_limit={limits}")
    output = cli("sweep", "one.toml", "--out", "swept", *sets)
    assert output.status == 0
    return " ".join((output.out + output.err).split())


def test_a_sweep_has_failed_queue_pairs_and_no_false_remedy(cli: Callable[..., Output]) -> None:
    words = swept(cli, ONE + LOST, "1,2")
    assert "2 transfers and rounds were unfinished" in words
    assert "They never complete, because their queue pairs failed. `incastle run`" in words
    assert LONGER not in words
    rows = json.loads(cli("sweep", "swept", "--json").out)["runs"]
    assert [(row["failed_queue_pairs"], row["failed_unfinished"]) for row in rows] == [(1, 1)] * 2


def test_a_sweep_advises_a_longer_run_for_the_others(cli: Callable[..., Output]) -> None:
    words = swept(cli, ONE + LOST + SLOW, "2")
    assert "1 of 2 flows never complete: their queue pairs failed. To complete the others" in words
    assert LONGER in words


def test_a_search_has_no_false_remedy(cli: Callable[..., Output]) -> None:
    Path("one.toml").write_text(ONE + cut(0.5, us=3_000), encoding="utf-8")
    search = ("find", "one.toml", "--smallest", "transport.retry_limit=1..7", "--seeds", "1")
    timer = ("--set", "transport.ack_timeout=1 ms")
    output = cli(*search, *timer, "--where", "completion_p99 < 1 s", "--out", "found")
    assert output.status == 0
    words = " ".join(output.err.split())
    assert "undecided at 1" in words
    assert "They never complete, because their queue pairs failed" in words
    assert LONGER not in words
