"""What a notebook shows of a result and of a scenario: HTML without scripts.

A result is one figure and its totals, a scenario its facts and its text. Both have the call that
opens the lab. Notebooks in dark mode keep their colours; the figure has a white ground.
"""

from __future__ import annotations

import base64
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from incastle.analysis.parameters import CONTROLLER, flat, summary
from incastle.errors import IncastleError
from incastle.plotting import kinds
from incastle.plotting.options import Options
from incastle.templates import templates
from incastle.units import si

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from incastle.errors import Diagnostic
    from incastle.results import Result

FIGURES = (("queue", "queue_samples"), ("fct", "transfers"), ("queue-cdf", "queues"))
"""Kinds of plots with the table of each: the first that the result has data for is shown."""
SIZE_IN = (6.0, 2.8)
TOTALS = {
    "flows": "flows",
    "delivered_bytes": "delivered",
    "transfers": "transfers complete",
    "packet_hops": "packet-hops",
    "drops": "drops",
    "marks": "marks",
    "retransmissions": "retransmissions",
    "timeouts": "timeouts",
    "pauses": "pauses by PFC",
    "cnms": "notifications of QCN",
    "failure_drops": "lost on failed links",
    "lost_on_wire": "lost on degraded links",
    "corrupted": "corrupted on degraded links",
    "headroom_drops": "drops in headroom",
    "send_buffer_drops": "drops in send buffers",
    "missed_deadlines": "missed deadlines",
}
"""The totals in words, in their order; `Result.totals` has all."""
ALWAYS = frozenset({"flows", "delivered_bytes", "drops", "marks", "retransmissions", "timeouts"})
"""Those whose zero says something."""
IN_THE_LAB = "opens it in the lab, in motion."
NOT_IN_THE_LAB = "The lab does not run it: its controllers are in Python."


def of_result(result: Result) -> str:
    """Return a figure, the totals and how to see the run in motion."""
    simulated = f"{si(float(result.totals['simulated_s']), 's')} simulated"
    facts = [f"Seed {result.seed}", simulated, f"digest {result.digest}"]
    return _rendered(
        "result",
        title=f"{result.name}: {summary(result.scenario)}",
        facts=facts + ["interrupted"] * result.interrupted,
        warnings=result.warnings,
        image=_image(result),
        totals=_totals(result.totals),
        call="ic.lab(result)" if _runs_in_the_lab(result.scenario) else "",
    )


def of_scenario(
    *,
    resolved: str,
    text: str,
    overrides: Sequence[tuple[str, str]],
    warnings: Sequence[Diagnostic],
) -> str:
    """Return the facts of a scenario, its text as it was written, and how to see it in motion."""
    every = tomllib.loads(resolved)
    return _rendered(
        "scenario",
        title=f"{every['name']}: {summary(resolved)}",
        facts=[f"Seed {every['run']['seed']}", f"{every['run']['duration']} to simulate"],
        warnings=[one.message for one in warnings],
        text=text.strip(),
        overrides=overrides,
        call="ic.lab(scenario)" if _runs_in_the_lab(resolved) else "",
    )


def _rendered(template: str, **shown: object) -> str:
    page = templates(Path(__file__).parent).get_template(f"{template}.html.jinja")
    return page.render(in_the_lab=IN_THE_LAB, not_in_the_lab=NOT_IN_THE_LAB, **shown)


def _runs_in_the_lab(resolved: str) -> bool:
    """Return whether a browser can run a scenario: its engine has no Python."""
    return not any(key.endswith(CONTROLLER) for key in flat(tomllib.loads(resolved)))


def _totals(totals: Mapping[str, int | float]) -> list[tuple[str, str]]:
    return [
        (words, si(totals[name], "B") if name.endswith("_bytes") else f"{totals[name]:,}")
        for name, words in TOTALS.items()
        if name in totals and (totals[name] or name in ALWAYS)
    ]


def _image(result: Result) -> str:
    """Return the address of the figure's image; empty where there is nothing to draw."""
    for kind, table in FIGURES:
        if table not in result.tables:
            continue
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "figure.png"
            try:
                kinds.draw(result, kind, Options(title="", size=SIZE_IN), out=place)
            except IncastleError:  # the table is empty
                continue
            image = base64.b64encode(place.read_bytes()).decode()
        return f"data:image/png;base64,{image}"
    return ""
