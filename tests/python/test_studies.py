"""`incastle choose-k` and `incastle collapse`, with few and short runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Output


def test_choose_k_prints_a_row_for_each_threshold(
    cli: Callable[..., Output], tmp_path: Path
) -> None:
    figure = tmp_path / "k.png"
    short = ("--k", "10,65", "--seeds", "1", "--duration", "60 ms", "--beside", "cubic")
    output = cli("choose-k", *short, "--out", str(figure))
    assert output.status == 0
    assert "C x RTT                                     85.3 packets" in output.out
    assert "share, %" in output.out
    assert output.out.splitlines()[-1].startswith("least K of these within 1 % of the best: ")
    assert figure.stat().st_size > 1000


def test_collapse_finds_where_the_goodput_collapses(
    cli: Callable[..., Output], tmp_path: Path
) -> None:
    figure = tmp_path / "collapse.svg"
    few = ("--servers", "4,32", "--remedies", "none,dctcp", "--rounds", "20", "--seeds", "1")
    output = cli("collapse", *few, "--buffer", "128 KiB", "--out", str(figure))
    assert output.status == 0
    rows = [line.split() for line in output.out.splitlines() if line.startswith(("none", "dctcp"))]
    assert len(rows) == 3 * 2
    assert rows[0][-3:] == ["5", "to", "32"]
    assert figure.stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("choose-k", "--rate", "10 Gbits"), "--rate: "),
        (("choose-k", "--k", "0,20"), "--k 0,20: '0' is not an integer above 0"),
        (("choose-k", "--out", "k.bmp"), "k.bmp must end in one of .png, .svg, .pdf"),
        (("collapse", "--remedies", "rto,bigger"), "no remedy is called 'bigger'; there are none"),
        (("collapse", "--servers", "4;8"), "--servers 4;8: '4;8' is not an integer above 0"),
        (("collapse", "--min-rto", "fast"), "--min-rto: "),
        (("collapse", "--set", "network.topology=dumbbell"), "only a star is swept"),
    ],
)
def test_mistakes_are_told_by_option(
    cli: Callable[..., Output], words: tuple[str, ...], message: str
) -> None:
    output = cli(*words)
    assert output.status == 2
    assert message in output.err
    assert "Traceback" not in output.err
