"""Figures of several results: what is drawn against the tables, and how it looks in print."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import incastle as ic
from conftest import SMALL, WEB
from incastle.analysis.completions import quantile_of
from incastle.analysis.parameters import told_apart
from incastle.analysis.seeds import over_seeds
from incastle.plotting import kinds, options, style
from incastle.plotting.series import series_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from conftest import Output

    Parameters = dict[str, int | float | str | bool | None]
    Cli = Callable[..., Output]

KEY = "transport.congestion"


@pytest.fixture(scope="module")
def sweep() -> ic.Sweep:
    """Two algorithms with three seeds each; the largest flows stay unfinished."""
    scenario = ic.Scenario.from_text(WEB)
    values = {KEY: ["dctcp", "new-reno"]}
    return ic.sweep(scenario, values, seeds=3, tables=["transfers", "queues", "goodput"])


@pytest.fixture(scope="module")
def results() -> list[ic.Result]:
    """Return the runs of the same as results."""
    scenario = ic.Scenario.from_text(WEB)
    return ic.run_many(
        [(scenario, {KEY: name}, seed) for name in ("dctcp", "new-reno") for seed in (1, 2, 3)]
    )


def curves(axes: Axes) -> dict[str, Line2D]:
    """Return the lines of a panel that have a name."""
    named = {str(one.get_label()): one for one in axes.lines}
    return {name: one for name, one in named.items() if not name.startswith("_")}


def of_control(sweep: ic.Sweep, name: str) -> pl.DataFrame:
    """Return the flows of one algorithm with the ends of their slowdowns, by hand."""
    lasted = 0.06 - pl.col("started_s")
    return (
        sweep.tables["transfers"]
        .filter(pl.col(KEY) == name)
        .with_columns(
            low=pl.col("slowdown").fill_null(lasted / pl.col("ideal_fct_s")),
            high=pl.col("slowdown").fill_null(math.inf),
        )
    )


def test_slowdowns_by_size_are_means_of_the_seeds_percentiles(sweep: ic.Sweep) -> None:
    figure = ic.plot.slowdown(sweep, bins=(10_000, 1_000_000), percentiles=("median", "p99"))
    assert [axes.get_title("left") for axes in figure.axes] == ["median", "99th percentile"]
    edges = [0, 10_000, 1_000_000, 10**12]
    hidden = 0
    for axes, share in zip(figure.axes, (0.5, 0.99), strict=True):
        for label, name in (("DCTCP", "dctcp"), ("NewReno", "new-reno")):
            line = curves(axes)[label]
            drawn = np.asarray(line.get_ydata(), float)
            assert len(drawn) == 3
            for value, low, high in zip(drawn, edges, edges[1:], strict=False):
                flows = of_control(sweep, name).filter(
                    (pl.col("bytes") >= low) & (pl.col("bytes") < high)
                )
                ends = flows.group_by("seed").agg(
                    quantile_of(pl.col("low"), share), quantile_of(pl.col("high"), share)
                )
                bounds = [float(np.mean(ends[end].to_numpy())) for end in ("low", "high")]
                if bounds[1] <= 1.005 * bounds[0]:
                    assert value == pytest.approx(bounds[0])
                else:  # never one number where the ends disagree
                    assert math.isnan(value)
                    hidden += 1
    assert 0 < hidden < 12


@pytest.fixture(scope="module")
def mixed() -> ic.Result:
    """Return a run with two groups of flows, of which one has a single size."""
    incast = """
[flows.incast]
workload = "random-incast"
from = "senders"
to = "receiver"
count = 3
sru = "20 KB"
load = 0.1
"""
    return ic.run(ic.Scenario.from_text(WEB.replace("[measure]", f"{incast}\n[measure]")))


def test_each_group_of_flows_has_panels_of_its_own(mixed: ic.Result) -> None:
    figure = ic.plot.slowdown(mixed, style="ieee")
    assert [axes.get_title("left") for axes in figure.axes[:2]] == ["web", "incast"]
    rows = [axes.get_ylabel() for axes in figure.axes[::2]]
    assert rows == ["median", "95th\npercentile", "99th\npercentile"]
    assert [len(axes.get_xticks()) for axes in figure.axes[:2]] == [10, 1]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    flows = mixed.observed.filter(group="incast", kind="flow")
    left = flows["fct_s"].null_count()
    assert [text.get_text() for text in figure.axes[1].texts] == [f"{left}"] * (left > 0)
    (axes,) = ic.plot.slowdown(mixed, percentiles=("median",), pool=True).axes
    assert axes.get_title("left") == "median"


def test_what_is_measured_of_completion_times_is_named(mixed: ic.Result) -> None:
    figure = ic.plot.fct(mixed)
    names = [axes.get_title("left") for axes in figure.axes]
    assert names == ["web: flows", "incast: flows", "incast: rounds"]
    assert figure.axes[1].get_xlabel().startswith("completion time")
    one = ic.plot.fct(mixed, groups="web").axes[0]
    assert one.get_xlabel().startswith("flow completion time")
    assert ic.plot.fct(mixed, pool=True).axes[0].get_title("left") == "flows"
    alone = ic.run(ic.Scenario.from_text(WEB.replace("flows.web", "flows.rpc")))
    both = ic.plot.fct({"mixed": mixed, "alone": alone}).axes
    assert [list(curves(axes)) for axes in both] == 4 * [["mixed", "alone"]]


def test_panels_of_completion_times_share_an_axis_with_two_names(mixed: ic.Result) -> None:
    panels = ic.plot.fct(mixed).axes
    assert len({axes.get_xlim() for axes in panels}) == 1
    low, high = panels[0].get_xlim()
    ticks = [tick for tick in panels[0].get_xticks() if low <= tick <= high]
    assert len(ticks) >= 2


def test_panels_of_papers_are_above_each_other_for_any_size(sweep: ic.Sweep) -> None:
    figure = ic.plot.slowdown(sweep, style="ieee", size=(3.5, 3.2), bins=[10_000, 100_000])
    assert len({round(axes.get_position().x0, 6) for axes in figure.axes}) == 1
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "median",
        "95th\npercentile",
        "99th\npercentile",
    ]
    wide = ic.plot.slowdown(sweep, style="ieee", size=(7.0, 2.5))
    assert len({round(axes.get_position().y0, 6) for axes in wide.axes}) == 1


def test_a_size_is_kept_or_refused(sweep: ic.Sweep) -> None:
    with pytest.raises(ic.PlotError, match=r"3 panels next to each other need 4\.5 inches"):
        ic.plot.slowdown(sweep, size=(3.5, 3.2))
    assert len(ic.plot.slowdown(sweep, size=(3.5, 3.2), style="ieee").axes) == 3
    over = ic.plot.draw(sweep, "goodput", by=sweep.header.keys[0], size=(4.0, 3.0))
    assert over.get_size_inches().tolist() == [4.0, 3.0]
    narrow = ic.plot.fct(sweep, size=(3.0, 4.0))
    words = [text.get_text() for legend in narrow.legends for text in legend.get_texts()]
    assert any("\n" in one for one in words)


def test_intervals_of_slowdowns_are_cut_at_one(sweep: ic.Sweep) -> None:
    figure = ic.plot.slowdown(sweep)
    for axes in figure.axes:
        bars = [bar for one in axes.containers for bar in one[2][0].get_segments()]
        assert all(min(y for _, y in bar) >= min(1.0, max(y for _, y in bar)) for bar in bars)


def test_measures_over_a_key_have_a_panel_for_each_group(mixed: ic.Result) -> None:
    scenario = ic.Scenario.from_text(mixed.scenario)
    swept = ic.sweep(scenario, {"flows.web.load": [0.1, 0.2]}, seeds=2)
    figure = ic.plot.slowdown(swept, by="flows.web.load")
    assert [axes.get_title("left") for axes in figure.axes[:2]] == ["web", "incast"]
    assert [axes.get_xlabel() for axes in figure.axes[2:]] == 2 * ["offered load of web"]
    assert len(ic.plot.slowdown(swept, by="flows.web.load", groups="web").axes) == 2
    pooled = ic.plot.draw(swept, "slowdown_median", by="flows.web.load", pool=True).axes[0]
    assert pooled.get_ylabel() == "all groups: median slowdown"
    (legend,) = figure.legends
    assert "95 % interval over 2 seeds" in [text.get_text() for text in legend.get_texts()]


def test_groups_from_the_command_line(mixed: ic.Result, cli: Cli, folder: Path) -> None:
    mixed.save(folder / "mixed")
    one = cli("plot", "mixed", "slowdown", "--group", "web", "--bins", "4", "--out", "web.png")
    assert f"{mixed.observed.filter(pl.col('group') == 'web').height:,} flows" in one.out
    both = cli("plot", "mixed", "slowdown", "--pool", "--out", "all.png")
    assert "because many flows have one size: --bins takes sizes, too" in both.out
    wrong = cli("plot", "mixed", "fct", "--group", "wbe")
    assert (wrong.status, "no group 'wbe'" in wrong.err) == (2, True)


def test_bars_are_the_intervals_of_the_mean(sweep: ic.Sweep) -> None:
    (axes,) = ic.plot.slowdown(sweep, bins=1, percentiles=("median",)).axes
    for container, name in zip(axes.containers, ("dctcp", "new-reno"), strict=True):
        medians = (
            of_control(sweep, name)
            .group_by("seed")
            .agg(pl.col("slowdown").fill_null(math.inf).median())["slowdown"]
        )
        mean, deviation = (
            float(np.mean(medians.to_numpy())),
            float(np.std(medians.to_numpy(), ddof=1)),
        )
        (bars,) = container[2]
        (segment,) = bars.get_segments()
        assert segment[1][1] == pytest.approx(mean + 4.302653 * deviation / math.sqrt(3), rel=1e-5)


def test_results_and_a_sweep_of_the_same_runs_are_the_same_figure(
    sweep: ic.Sweep, results: list[ic.Result]
) -> None:
    for kind in ("slowdown", "fct", "queue-cdf", "total-goodput"):
        both = [ic.plot.draw(drawn, kind) for drawn in (sweep, results)]
        lines = [[curves(axes) for axes in figure.axes] for figure in both]
        for of_sweep, of_results in zip(*lines, strict=True):
            assert list(of_sweep) == list(of_results)
            assert [name.partition(" ")[0] for name in of_sweep] == ["DCTCP", "NewReno"]
            for name, line in of_sweep.items():
                assert np.array_equal(
                    line.get_ydata(), of_results[name].get_ydata(), equal_nan=True
                )


@pytest.mark.parametrize("ccdf", [False, True])
def test_a_distribution_ends_at_what_was_completed(sweep: ic.Sweep, ccdf: bool) -> None:
    (axes,) = ic.plot.fct(sweep, ccdf=ccdf).axes
    for line, name in zip(curves(axes).items(), ("dctcp", "new-reno"), strict=True):
        _, curve = line
        flows = sweep.tables["transfers"].filter(pl.col(KEY) == name)
        left = flows["fct_s"].null_count()
        assert f"{left:,} of {len(flows):,}" in [text.get_text() for text in axes.texts]
        at, share = (np.asarray(values) for values in (curve.get_xdata(), curve.get_ydata()))
        finite = np.isfinite(at)
        done = (len(flows) - left) / len(flows)
        assert share[finite][-1] == pytest.approx(1 - done if ccdf else done)
        half = flows["fct_s"].fill_null(math.inf).sort()[len(flows) // 2]
        (place,) = np.nonzero(np.isclose(at * 1e-3, half, rtol=1e-12, atol=0))[:1]
        below = (flows["fct_s"] <= half).sum() / len(flows)
        assert share[place[-1]] == pytest.approx(1 - below if ccdf else below)
    assert len(axes.collections) == 2, "a band for what is open, of each"


def test_total_goodput_sums_hosts_and_goes_on_in_silence() -> None:
    result = ic.run(ic.Scenario.from_text(SMALL).with_overrides({"flows.long.stop": "5 ms"}))
    (axes,) = result.plot("total-goodput").axes
    (line,) = axes.lines
    times, rates = (np.asarray(values) for values in (line.get_xdata(), line.get_ydata()))
    assert len(times) == 20
    assert times[-1] == pytest.approx(19)
    assert axes.get_xlabel() == "time (ms)"
    assert axes.get_ylabel() == "total goodput (Mbit/s)"
    assert rates.sum() * 1e6 * 1e-3 / 8 == pytest.approx(result.goodput["bytes"].sum())
    assert rates[-1] == 0


def test_bands_over_time_are_of_two_series_at_most(results: list[ic.Result]) -> None:
    two, three = results[:2], results[:3]
    (axes,) = ic.plot.total_goodput({"a": two, "b": two}).axes
    assert len(axes.collections) == 2
    figure = ic.plot.total_goodput({"a": two, "b": two, "c": three})
    assert not figure.axes[0].collections
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert any(word.startswith("95 % interval over 3 seeds: \u00b1") for word in words)


def test_panels_of_several_results_show_all_of_each() -> None:
    scenario = ic.Scenario.from_text(SMALL + '[measure]\nwindow = ["long:0"]\n')
    runs = [ic.run(scenario.with_overrides({KEY: name})) for name in ("dctcp", "new-reno")]
    figure = ic.plot.draw(runs, "window")
    assert [axes.get_title("left").partition(":")[0] for axes in figure.axes] == [
        "DCTCP",
        "NewReno",
    ]
    for axes, run in zip(figure.axes, runs, strict=True):
        peak = float(np.max(run.windows["cwnd_bytes"].to_numpy())) / 1000
        assert max(np.asarray(axes.lines[0].get_ydata())) == pytest.approx(peak)
        assert axes.get_ylim()[1] > peak


def test_a_sweep_over_a_key_has_a_panel_for_each_measure(sweep: ic.Sweep) -> None:
    figure = ic.plot.slowdown(sweep, by=KEY)
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "median slowdown",
        "99th percentile of slowdown",
    ]
    (axes,) = ic.plot.draw(sweep, "goodput", by=KEY).axes
    means = sweep.frame.group_by(KEY, maintain_order=True).agg(pl.col("goodput_bit_s").mean())
    drawn = np.asarray(axes.lines[0].get_ydata(), float) * 1e9
    assert drawn == pytest.approx(means["goodput_bit_s"].to_numpy())
    assert axes.get_ylabel() == "goodput (Gbit/s)"


def test_points_over_a_key_are_hollow_where_flows_were_unfinished(sweep: ic.Sweep) -> None:
    unfinished = sweep.frame.group_by(KEY, maintain_order=True).agg(pl.col("unfinished").sum())
    assert unfinished["unfinished"].to_list()[0] > 0
    axes = ic.plot.draw(sweep, "completion_median", by=KEY).axes[0]
    hollow = [line for line in axes.lines if line.get_label() == "_open"]
    points = over_seeds(sweep.frame, [KEY], "completion_median_s").join(unfinished, on=KEY)
    expected = points.filter((pl.col("low") == pl.col("high")) & (pl.col("unfinished") > 0))
    assert len(expected) > 0
    assert sum(np.size(line.get_xdata()) for line in hollow) == len(expected)
    assert [text.get_text() for text in axes.texts] == [
        f"{count:.0f}" for count in unfinished["unfinished"] if count
    ]


def test_the_number_of_unfinished_flows_stands_with_each_size(sweep: ic.Sweep) -> None:
    axes = ic.plot.slowdown(sweep, bins=(10_000, 1_000_000)).axes[0]
    shown = sum(int(text.get_text().replace(",", "")) for text in axes.texts)
    assert shown == sweep.frame["unfinished"].sum() > 0


def test_bars_without_points_are_within_the_axis(sweep: ic.Sweep) -> None:
    for axes in ic.plot.slowdown(sweep, by=KEY).axes:
        low, high = axes.get_xlim()
        assert low < 0
        assert high > 1


@pytest.mark.parametrize(("name", "width"), [("ieee", 3.5), ("acm", 3.33)])
def test_columns_of_papers_fit_and_embed_type_42(
    sweep: ic.Sweep, name: str, width: float, tmp_path: Path
) -> None:
    path = tmp_path / "new" / "slowdown.pdf"
    figure = ic.plot.slowdown(sweep, style=name, out=path)
    assert figure.get_size_inches()[0] == pytest.approx(width)
    assert not figure.get_suptitle()
    pdf = path.read_bytes()
    assert b"/Type3" not in pdf
    assert b"/FontFile2" in pdf
    assert f"/MediaBox [ 0 0 {width * 72:g}".encode() in pdf


def test_all_figures_embed_type_42(tmp_path: Path) -> None:
    with style.canvas() as figure:
        figure.text(0.1, 0.1, "text")
        style.save(figure, tmp_path / "a.pdf")
    assert b"/Type3" not in (tmp_path / "a.pdf").read_bytes()


def test_series_differ_without_their_colours() -> None:
    looks = [style.look(place) for place in range(len(style.SERIES))]
    for one, other in combinations(looks, 2):
        assert one["linestyle"] != other["linestyle"]
        assert one["marker"] != other["marker"]
        assert one["color"] != other["color"]
    weights = (0.2126, 0.7152, 0.0722)
    greys = [
        sum(w * c for w, c in zip(weights, to_rgb(one["color"]), strict=True)) for one in looks
    ]
    assert max(greys) < 0.75, "none is pale on white"


def test_what_is_chosen_is_drawn(sweep: ic.Sweep, results: list[ic.Result]) -> None:
    figure = ic.plot.fct({"ours": results[:3], "theirs": results[3:]}, title="T", size=(4, 3))
    assert figure.get_suptitle() == "T"
    assert list(figure.get_size_inches()) == [4, 3]
    assert [name.partition(" (")[0] for name in curves(figure.axes[0])] == ["ours", "theirs"]
    named = ic.plot.total_goodput(sweep, labels=["x", "y"])
    assert list(curves(named.axes[0])) == ["x", "y"]
    with pytest.raises(ic.PlotError, match=r"1 labels for 2 series \(DCTCP, NewReno\)"):
        ic.plot.fct(sweep, labels=["x"])
    ports = ic.plot.queue_cdf(results[0], ports="switch->rec*")
    assert ports.axes[0].get_xlabel() == "queue at switch->receiver (packets)"
    with pytest.raises(ic.PlotError, match=r"no port 'swich->receiver'.*did you mean switch->rec"):
        ic.plot.queue_cdf(results[0], ports="swich->receiver")
    with pytest.raises(ic.PlotError, match="the name of the figure's file is empty"):
        ic.plot.fct(sweep, out="")
    with pytest.raises(ic.PlotError, match="did you mean ieee"):
        ic.plot.fct(results[0], style="iee")
    assert isinstance(results[0].plot("fct"), Figure)


def test_names_are_what_differs() -> None:
    dctcp: Parameters = {
        "transport.congestion": "dctcp",
        "transport.g": 0.0625,
        "transport.ecn": "dctcp",
    }
    reno: Parameters = {"transport.congestion": "new-reno", "transport.ecn": "off"}
    own: Parameters = {"transport.congestion": "delay.py:Delay", "transport.ecn": "off"}
    assert told_apart([dctcp, reno, own]) == ["DCTCP", "NewReno", "Delay"]
    loads: list[Parameters] = [
        one | {"flows.web.load": load} for one in (dctcp, reno) for load in (0.5, 0.8)
    ]
    names = told_apart(loads)
    assert names is not None
    assert names[::3] == ["DCTCP, load 0.5", "NewReno, load 0.8"]
    gains = [dctcp, dctcp | {"transport.g": 0.5}]
    assert told_apart(gains) == ["g 0.0625", "g 0.5"]
    assert told_apart([dctcp, dctcp]) is None
    pauses: list[Parameters] = [{"switch.pfc": "off"}, {"switch.pfc.xoff": 9}]
    assert told_apart(pauses) == ["pfc off, no xoff", "pfc on, xoff 9"]
    buffers: list[Parameters] = [{"switch.buffer": "1 MB"}, {"switch.buffer.shared": "9 MB"}]
    assert told_apart(buffers) == ["buffer 1 MB, no shared", "buffer (table), shared 9 MB"]


def test_own_controllers_have_the_names_of_their_classes() -> None:
    dctcp: Parameters = {"transport.congestion": "dctcp", "transport.g": 0.0625}

    def own(controller: str, source: str, **parameters: float) -> Parameters:
        return {
            "transport.congestion": "custom",
            "transport.controller": controller,
            "transport.controller_source": source,
            "flows.web.transport.controller_source": source,
            **{f"transport.parameters.{key}": value for key, value in parameters.items()},
        }

    lean, other = own("lean.py:Lean", "5ae548f2"), own("lean.py:Calm", "5ae548f2")
    assert told_apart([dctcp, lean, other]) == ["DCTCP", "Lean", "Calm"]
    assert told_apart([dctcp, lean, own("old.py:Lean", "77aa")]) == [
        "DCTCP",
        "Lean (lean.py)",
        "Lean (old.py)",
    ]
    changed = [lean, own("lean.py:Lean", "77aa548f")]
    assert told_apart(changed) == ["controller source 5ae5", "controller source 77aa"]
    gains = [own("lean.py:Lean", "5ae548f2", gain=gain) for gain in (0.5, 1.0)]
    assert told_apart([dctcp, *gains]) == ["DCTCP, no gain", "Lean, gain 0.5", "Lean, gain 1.0"]


def test_seeds_are_one_series_and_repeated_runs_are_not(results: list[ic.Result]) -> None:
    assert [(one.label, len(one.runs)) for one in series_of(results)] == [
        ("DCTCP", 3),
        ("NewReno", 3),
    ]
    again = series_of([results[0], results[0]])
    assert [(one.label, len(one.runs)) for one in again] == [("run 1", 1), ("run 2", 1)]


def test_words_of_the_command_line() -> None:
    assert options.bins("10 KB,1 MB") == (10_000, 1_000_000)
    assert options.bins("7") == 7
    assert options.percentiles("50, 99.9") == ("median", "p99_9")
    assert options.inches("89x60 mm") == pytest.approx((3.504, 2.362), abs=1e-3)
    for wrong in (lambda: options.bins("ten"), lambda: options.inches("3.5")):
        with pytest.raises(ic.PlotError, match="expected"):
            wrong()
    with pytest.raises(ic.PlotError, match=r"there are 50, 95, 99, 99\.9"):
        options.percentiles("98")
    with pytest.raises(ic.PlotError, match="from 1"):
        options.Options(bins=0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("one", "slodown"), "no plot 'slodown': did you mean slowdown?"),
        (("one", "completion"), "it is 'fct' now"),
        (("one", "slowdown"), "small, seed 1: it has no slowdowns, which its scenario did not ask"),
        (("one", "fct", "--out", ""), "--out needs a value"),
        (("one", "fct", "--by", "network.senders"), "--set network.senders=VALUES makes one"),
        (("one", "fct", "--by", "size"), "--by size is the axis of slowdown, not of fct"),
        (("one", "fct", "--size", "big"), "expected WIDTHxHEIGHT"),
        (("one", "queue", "--ccdf"), "--ccdf is for fct and queue-cdf, not for queue"),
        (("one", "fct", "--ports", "switch*"), "--ports is for queue and queue-cdf and feedback"),
        (("queue", "one"), "the kind comes last: incastle plot one queue"),
        (("network.senders=2", "swept"), "network.senders=2 comes last"),
        (("one", "fct", "network.senders=2"), "KEY=VALUE chooses points of a sweep"),
        (("swept", "goodput", "network.senders=3"), "has no value '3': it has 2, 4"),
        (("swept", "goodput", "senders=2", "senders=4"), "senders=A,B has both"),
        (("swept", "goodput", "sender=2"), "'sender' is not a swept key: there are"),
        (("swept", "goodput", "--by", "network.senders", "--group", "a"), "--group has no effect"),
        (("swept", "slowdown"), "keeps the summary alone"),
    ],
)
def test_answers(cli: Cli, words: tuple[str, ...], message: str) -> None:
    assert cli("run", "small.toml", "--out", "one").status == 0
    assert cli("sweep", "small.toml", "--set", "network.senders=2,4", "--out", "swept").status == 0
    output = cli("plot", *words)
    assert (output.status, output.out) == (2, "")
    assert message in output.err


def test_seeds_sweeps_and_folders_from_the_command_line(cli: Cli, folder: Path) -> None:
    assert cli("run", "small.toml", "--seeds", "2", "--out", "seeds").status == 0
    assert cli("sweep", "small.toml", "--set", "network.senders=2,4", "--out", "swept").status == 0
    output = cli("plot", "seeds", "fct", "--style", "ieee", "--out", "new/dir/fct.pdf")
    assert (output.status, output.err) == (0, "")
    assert (folder / "new/dir/fct.pdf").exists()
    assert cli("plot", "seeds", "queue-cdf", "--title", "").status == 0
    assert (folder / "queue-cdf.png").exists()
    assert cli("plot", "swept", "goodput", "--by", "network.senders").status == 0
    assert (folder / "swept" / "goodput-by-network.senders.png").exists()


def test_figures_are_drawn_although_nobody_reads_the_tables(folder: Path, cli: Cli) -> None:
    assert cli("run", "small.toml", "--out", "a").status == 0
    assert cli("run", "small.toml", "--set", f"{KEY}=cubic", "--out", "b").status == 0
    assert cli("sweep", "small.toml", "--set", "network.senders=2,4", "--out", "s").status == 0
    for words in (
        ("diff", "a", "b", "--figure", "f.png"),
        ("explain", "a", "--plot", "f.png"),
        ("sweep", "s", "--plot", "x=network.senders y=drops", "--figure", "f.png"),
    ):
        command = [sys.executable, "-m", "incastle", *words]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=-3) as child:
            assert child.stdout is not None
            child.stdout.close()  # as `head` does
        assert (folder / "f.png").exists(), words[0]
        (folder / "f.png").unlink()


def test_points_of_a_sweep_are_chosen(sweep: ic.Sweep, cli: Cli) -> None:
    (axes,) = ic.plot.fct(sweep, where={KEY: "new-reno"}).axes
    assert len(axes.lines) == 1
    assert len(ic.plot.slowdown([sweep], where={KEY: ["dctcp", "new-reno"]}).axes[0].containers) > 1
    values = ("--set", "network.senders=2..4", "--set", f"{KEY}=dctcp,cubic")
    assert cli("sweep", "small.toml", *values, "--out", "swept").status == 0
    words = ("goodput", "senders=2,4", "--by", KEY)
    output = cli("plot", "swept", *words, "--out", "a.png")
    assert (output.status, output.err) == (0, "")


def test_more_series_than_can_be_told_apart_are_refused(results: list[ic.Result]) -> None:
    many = {str(number): results[0] for number in range(9)}
    with pytest.raises(ic.PlotError, match=r"9 series, and 8 can be told apart: draw fewer"):
        ic.plot.fct(many)
    swept = ic.sweep(
        ic.Scenario.from_text(SMALL), {"network.senders": range(2, 11)}, tables=["transfers"]
    )
    with pytest.raises(ic.PlotError, match=r"9 series.* KEY=VALUE after .* as network.senders=2$"):
        ic.plot.fct(swept)
    every = results[0].queues["port"].unique().to_list()
    with pytest.raises(ic.PlotError, match=r"2 series of 5 ports are 10 curves, .*queue-cdf draws"):
        ic.plot.queue_cdf({"a": results[0], "b": results[1]}, ports=every)


@pytest.mark.parametrize("wrong", [["a"], "results/a", 3, {"a": "b"}, {"a": ["b"]}])
def test_what_is_no_result_is_a_type_error(wrong: object) -> None:
    with pytest.raises(TypeError, match="a figure is drawn of results, a sweep"):
        ic.plot.queue(wrong)  # type: ignore[arg-type]


def test_the_busiest_port_is_one_for_all_series(results: list[ic.Result]) -> None:
    def with_queues(result: ic.Result, **means: int) -> ic.Result:
        queues = pl.DataFrame(
            {"port": list(means), "packets": list(means.values()), "seconds": 1.0}
        )
        return dataclasses.replace(result, tables={**result.tables, "queues": queues})

    a, b = with_queues(results[0], p=10, q=9, r=0), with_queues(results[3], p=1, q=9, r=0)
    figure, source = kinds.draw([a, b], "queue-cdf")
    (axes,) = figure.axes
    assert axes.get_xlabel() == "queue at q (packets)"
    assert list(curves(axes)) == ["DCTCP", "NewReno"]
    assert "q has the longest mean queue of all of them" in source
    (axes,) = ic.plot.queue_cdf([a, b], ports="[pr]").axes
    assert axes.get_xlabel() == "queue, 2 ports [pr] (packets)"
    line = curves(axes)["DCTCP"]
    assert list(np.asarray(line.get_xdata())) == [0, 10]
    assert list(np.asarray(line.get_ydata())) == pytest.approx([0.5, 1.0])


def test_ports_that_are_left_out_are_counted(results: list[ic.Result]) -> None:
    queues = pl.DataFrame({"port": list("abcdefghijk"), "packets": range(11), "seconds": 1.0})
    result = dataclasses.replace(results[0], tables={**results[0].tables, "queues": queues})
    figure, source = kinds.draw(result, "queue-cdf")
    assert "8 of 10 ports with queues" in source
    assert "1 idle port is not drawn" in source
    assert "and 2 more ports" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_an_empty_table_says_whose_it_is_and_what_to_do() -> None:
    result = ic.run(ic.Scenario.from_text(SMALL))
    for name, kind, remedy in (
        ("goodput", "total-goodput", "a longer run.duration"),
        ("queues", "queue-cdf", "only switches have queues"),
        ("transfers", "fct", r"earlier \[measure\] warmup"),
    ):
        result.tables[name] = result.tables[name].clear()
        with pytest.raises(ic.PlotError, match=f"nothing to draw of small, seed 1: .*{remedy}"):
            result.plot(kind)
