"""Figures of queue histograms, whose bins beyond a thousand packets are of several lengths."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incastle as ic
from conftest import SMALL
from incastle.analysis import queues
from incastle.analysis.seeds import over_seeds


def _with_queues(packets: list[int], seconds: list[float], longest: int) -> ic.Result:
    result = ic.run(ic.Scenario.from_text(SMALL))
    result.tables["queues"] = pl.DataFrame({"port": "p", "packets": packets, "seconds": seconds})
    links = result.links.head(1).with_columns(port=pl.lit("p"), max_queue_packets=longest)
    result.tables["links"] = links
    return result


def test_bins_of_several_lengths_are_bands_up_to_the_longest_queue() -> None:
    result = _with_queues([0, 5, 1024, 1025, 2048], [1.0, 2.0, 3.0, 2.0, 2.0], 2500)
    (axes,) = result.plot("queue-cdf").axes
    (line,) = axes.lines
    at, shares = (np.asarray(values) for values in (line.get_xdata(), line.get_ydata()))
    known = ~np.isnan(at)
    assert list(at[known]) == [0, 5, 1024, 1025, 2047, 2048, 2500]
    assert list(shares[known]) == pytest.approx([0.1, 0.3, 0.6, 0.6, 0.8, 0.8, 1.0])
    bands = [path.get_datalim(axes.transData).extents for path in axes.collections]
    assert np.allclose(bands, [(1025, 0.6, 2047, 0.8), (2048, 0.8, 2500, 1.0)])
    assert axes.get_xlabel() == "queue at p (packets)"
    (words,) = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert words == "left open: lengths that share a bin"


def test_distributions_of_queues_begin_where_the_curves_do() -> None:
    result = _with_queues([0, 5, 9], [7.7, 1.3, 1.0], 9)
    (axes,) = result.plot("queue-cdf").axes
    assert axes.get_ylim()[0] == pytest.approx(0.75)
    assert "(axis from 0.75)" in axes.get_ylabel()
    (axes,) = result.plot("queue-cdf", ccdf=True).axes
    assert axes.get_yscale() == "log"
    assert np.asarray(axes.lines[0].get_ydata()) == pytest.approx([0.23, 0.1, 0.05])


def test_a_percentile_of_queues_in_a_wide_bin_is_an_interval() -> None:
    column = "queue_p99_packets"
    frame = pl.DataFrame(
        {
            "n": [1, 1, 2, 3],
            column: [1025, 1025, 1024, 2048],
            queues.LONGEST: [1784, 9999, 3000, 2100],
        }
    )
    rows = over_seeds(frame, ["n"], column).to_dicts()
    assert [(row["low"], row["high"]) for row in rows] == [
        (1025, 1915.5),
        (1024, 1024),
        (2048, 2100),
    ]
    ends = [queues.ends_in(row, column) for row in frame.to_dicts()]
    assert ends == [(1025, 1784), (1025, 2047), (1024, 1024), (2048, 2100)]


def test_rare_long_queues_do_not_squeeze_the_others() -> None:
    result = ic.run(ic.Scenario.from_text(SMALL))
    result.tables["queues"] = pl.DataFrame(
        {"port": "p", "packets": [0, 10, 900], "seconds": [1.0, 8.995, 0.005]}
    )
    (axes,) = result.plot("queue-cdf").axes
    assert axes.get_xlim() == (0, 10)
    assert axes.get_xlabel() == "queue at p (packets, at most 900)"
