"""Pictures: every kind in every format, and clear words where there is nothing to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib.patches import StepPatch

import incastle as ic
from conftest import SMALL
from incastle.plotting import kinds
from incastle.plotting.style import SERIES

if TYPE_CHECKING:
    from pathlib import Path


MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


BARRIER = """\
name = "barrier"
network = { topology = "star", senders = 8 }
transport = { handshake = false, delayed_ack_count = 1 }
run = { duration = "40 ms" }

[switch.qcn]

[flows.storage]
workload = "barrier-incast"
from = "senders"
to = "receiver"
sru = "64 KiB"

[measure]
qcn = { flows = "all", ports = "all" }
"""
OF_BARRIERS = {"rates", "feedback", "rounds"}
"""Kinds that need requests with a barrier, or QCN."""
OF_SLOWDOWNS = {"slowdown"}
OF_PAUSES = """\
name = "pauses"
network = { topology = "star", senders = 4, rate = "100 Gbit/s", delay = "1 us" }
transport = { kind = "rdma", congestion = "timely", traffic_class = 3 }
run = { duration = "1 ms" }

[switch]
buffer = { shared = "500 KB" }
queue = { kind = "priorities" }
pfc = { priorities = [3] }

[flows.incast]
workload = "bulk"
from = "senders"
to = "receiver"
size = "1 MB"

[measure]
pauses = true
"""
OF_DCUDP = {"dcudp-rates", "dcudp-modes"}
DCUDP = """\
name = "dcudp"
network = { topology = "star", senders = 2, rate = "1 Gbit/s" }
transport = { kind = "dcudp", handshake = false }
run = { duration = "20 ms" }

[switch.queue]
kind = "threshold"
marking_threshold = "15 packets"

[flows.bulk]
workload = "bulk"
from = "senders"
to = "receiver"

[measure]
window = "bulk"
dcudp = { flows = "all", every = "1 ms" }
"""


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_every_kind(result: ic.Result, kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"{kind}.png"
    if kind in OF_SLOWDOWNS:
        result = ic.run(ic.Scenario.from_text(SMALL + "[measure]\nslowdown = true\n"))
    elif kind == "pauses":
        result = ic.run(ic.Scenario.from_text(OF_PAUSES))
    elif kind in OF_BARRIERS | OF_DCUDP:
        file = tmp_path / "needed.toml"
        file.write_text(BARRIER if kind in OF_BARRIERS else DCUDP)
        result = ic.run(ic.load(file))
        file.unlink()
    _, source = kinds.draw(result, kind, out=path)
    assert "parquet" in source
    assert path.stat().st_size > 5000
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", MAGIC)
def test_every_format(result: ic.Result, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"queue.{suffix}"
    result.plot("queue", out=path)
    assert path.read_bytes().startswith(MAGIC[suffix])


def test_queue_says_what_it_is_drawn_from(
    result: ic.Result, scenario: ic.Scenario, tmp_path: Path
) -> None:
    assert "samples" in kinds.draw(result, "queue", out=tmp_path / "a.png")[1]
    assert "histogram" in kinds.draw(ic.run(scenario), "queue", out=tmp_path / "b.png")[1]


def test_no_such_kind_or_format(result: ic.Result, tmp_path: Path) -> None:
    with pytest.raises(ic.PlotError, match="did you mean queue or queue-cdf"):
        result.plot("qeue", out=tmp_path / "a.png")
    with pytest.raises(ic.PlotError, match=r"\.png, \.svg, \.pdf"):
        result.plot("queue", out=tmp_path / "a.gif")


def test_nothing_to_draw(scenario: ic.Scenario, tmp_path: Path) -> None:
    plain = scenario.with_overrides({"transport.congestion": "new-reno", "measure.window": "long"})
    with pytest.raises(ic.PlotError, match="alpha"):
        ic.run(plain).plot("alpha", out=tmp_path / "a.png")
    with pytest.raises(ic.TableMissing, match="throughput"):
        ic.run(plain).plot("throughput", out=tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_more_lines_than_colours(scenario: ic.Scenario, tmp_path: Path) -> None:
    many = scenario.with_overrides({"network.senders": 20, "measure.window": "long"})
    ic.run(many).plot("window", out=tmp_path / "a.svg")
    assert "and 12 more" in (tmp_path / "a.svg").read_text()


def _legend(result: ic.Result, kind: str) -> tuple[list[str], str]:
    """Draw, and give the names of the lines in their order and the vertical axis's label."""
    (axes,) = result.plot(kind).axes
    return axes.get_legend_handles_labels()[1], axes.get_ylabel()


def test_busiest_ports_are_drawn_and_idle_ones_counted(scenario: ic.Scenario) -> None:
    many = scenario.with_overrides({"network.senders": 12, "measure.queue": {"every": "100 us"}})
    result = ic.run(many)
    assert result.queue_samples["port"].n_unique() > len(SERIES)
    figure, source = kinds.draw(result, "queue")
    assert figure.axes[0].get_ylabel() == "queue at switch->receiver (packets)"
    idle = result.queue_samples["port"].n_unique() - len(figure.axes[0].lines)
    assert f"{idle} idle ports are not drawn" in source


def test_samples_that_met_only_empty_queues(scenario: ic.Scenario, tmp_path: Path) -> None:
    once = scenario.with_overrides({"measure.queue": {"every": "15 ms"}, "flows.long.stop": "5 ms"})
    _, source = kinds.draw(ic.run(once), "queue", out=tmp_path / "a.png")
    assert "every sample met an empty queue" in source


def test_flows_in_their_order_and_rates_in_a_unit_that_fits(scenario: ic.Scenario) -> None:
    result = ic.run(
        scenario.with_overrides(
            {"measure.window": "long", "measure.throughput": {"every": "1 ms"}, "run.seed": 3}
        )
    )
    drawn, _ = _legend(result, "window")
    assert drawn == [f"long:{index}" for index in range(4)]
    _, label = _legend(result, "goodput")
    assert label == "goodput per millisecond (Mbit/s)"
    drawn, _ = _legend(result, "throughput")
    delivered = result.flows.sort("delivered_bytes", descending=True)
    assert drawn == [f"{one['group']}:{one['index']}" for one in delivered.iter_rows(named=True)]


def of_dcudp(tmp_path: Path) -> ic.Result:
    file = tmp_path / "dcudp.toml"
    file.write_text(DCUDP)
    return ic.run(ic.load(file))


def test_dcudp_has_no_window_and_says_what_it_has(tmp_path: Path) -> None:
    with pytest.raises(ic.IncastleError, match=r"has a window;.*plot dcudp-rates"):
        of_dcudp(tmp_path).plot("window", out=tmp_path / "window.png")


def test_rates_of_a_dcudp_run_are_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(ic.IncastleError, match=r"QCN's; those of DCUDP are in dcudp_rates"):
        of_dcudp(tmp_path).plot("rates", out=tmp_path / "rates.png")


def test_a_row_of_modes_is_filled_while_the_flow_is_in_congestion_mode(tmp_path: Path) -> None:
    result = of_dcudp(tmp_path)
    (axes,) = result.plot("dcudp-modes").axes
    spans = [[path.get_extents() for path in bars.get_paths()] for bars in axes.collections]
    filled = [sum(span.width for span in row) for row in spans]
    counted = result.table("udt").sort("flow")["congestion_s"].to_list()
    assert filled == pytest.approx(counted, abs=1e-9)
    assert min(filled) > 0


def test_areas_of_pauses_are_the_paused_times() -> None:
    result = ic.run(ic.Scenario.from_text(OF_PAUSES))
    (axes,) = result.plot("pauses").axes
    ports = [label.get_text() for label in axes.get_yticklabels()]
    paused_ms = dict.fromkeys(ports, 0.0)
    for patch in axes.patches:
        assert isinstance(patch, StepPatch)
        top, edges, bottom = patch.get_data()
        height = np.asarray(bottom) - np.asarray(top)
        assert height.min() > -1e-9
        assert height.max() <= 0.8 + 1e-9
        port = ports[round(float(np.max(bottom)) - 0.4)]
        paused_ms[port] += float((height * np.diff(edges)).sum()) / 0.8
    pauses = result.pauses.filter(result.pauses["pauses"] > 0)
    table = dict(pauses.select("port", "paused_s").iter_rows())
    assert paused_ms == pytest.approx({port: 1e3 * paused for port, paused in table.items()})
    # Hosts are paused in bursts: a filled bar over all of them would be longer by far.
    assert max(table.values()) < 0.9e-3
    labels = axes.get_legend_handles_labels()[1]
    words = ["%: of all paused time", "height: share of each 2.5 us"]
    assert labels == ["root switch->receiver: 100.0 %", *words]


def test_pauses_have_the_width_of_the_figure() -> None:
    figure = ic.run(ic.Scenario.from_text(OF_PAUSES)).plot("pauses")
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert axes.get_legend() is None
    [legend] = figure.legends
    assert next(text.get_text() for text in legend.get_texts()).startswith("root ")
    # The names of ports take some of it; a legend beside the panel would take more.
    assert axes.get_position().width > 0.7
    assert legend.get_window_extent().y1 < axes.get_window_extent().y0


def test_rows_of_pauses_name_priorities_where_there_are_several() -> None:
    both = OF_PAUSES.replace("priorities = [3]", "priorities = [3, 4]").replace("500 KB", "1 MB")
    both += """
[flows.other]
workload = "bulk"
from = "senders"
to = "receiver"
size = "1 MB"
transport = { kind = "rdma", congestion = "timely", traffic_class = 4 }
"""
    (axes,) = ic.run(ic.Scenario.from_text(both)).plot("pauses").axes
    rows = {label.get_text() for label in axes.get_yticklabels()}
    assert {"sender:0->switch, priority 3", "sender:0->switch, priority 4"} <= rows
