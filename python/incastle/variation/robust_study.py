"""How robust the claims of a paper are, as sentences, a table and a figure."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from incastle.plotting.style import FORMATS
from incastle.reproduction.figures import Drawing, render
from incastle.reproduction.papers import Length
from incastle.units import si
from incastle.variation import sobol, verdict_map
from incastle.variation.prepared import progress
from incastle.variation.robustness import TAKEN, explore, parameters_of
from incastle.variation.study import Study, Table
from incastle.variation.trials import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from incastle.reproduction.changes import Parameter
    from incastle.variation.prepared import Asked
    from incastle.variation.robustness import Robustness, Variant

KIND = "robust"
_NAMED = 3
"""Claims that turn most which a sentence names."""


def main(asked: Asked, *, full: bool = False) -> int:
    """Explore how robust the claims of a paper are, and show it; return the exit status.

    Args:
        asked: the options.
        full: whether Sobol indices are wanted, too.

    """
    trials = asked.trials()
    parameters = parameters_of(trials.paper)
    with progress(trials, KIND) as told:
        found = explore(trials, parameters, told)
    if full:
        with progress(trials, "Sobol indices") as told:
            found = with_indices(found, parameters, told)
    made = study(found)
    folder = made.place(asked.folder)
    folder.mkdir(parents=True, exist_ok=True)
    render(Drawing(folder / KIND, table(found), verdict_map.draw, FORMATS))
    return asked.finish(made, found.stopped)


def with_indices(
    found: Robustness, parameters: Sequence[Parameter], told: Callable[[int, int], object]
) -> Robustness:
    """Add Sobol indices of the parameters that change runs and whose values can all run."""
    broken = {variant.parameter for variant in found.refused}
    used = [one for one in parameters if one.name not in broken | set(found.idle)]
    if found.stopped:
        return replace(found, indices=sobol.none(f"not begun, as {found.stopped}"))
    try:
        return replace(found, indices=sobol.indices(found.trials, used, told))
    except KeyboardInterrupt:
        stopped = Stop.INTERRUPTED
        return replace(found, stopped=stopped, indices=sobol.none(f"not finished, as {stopped}"))


def study(found: Robustness) -> Study:
    """Describe what was tried, and what turned."""
    paper = found.trials.paper.name
    return Study(
        paper=paper,
        kind=KIND,
        title=f"Robustness of {paper}",
        length=found.trials.length,
        words=tuple(filter(None, (_tried(found), *_left_out(found), _whole(found), _sobol(found)))),
        tables=(_claims(found), *_indices(found), _by_parameter(found)),
        data=_data(found),
        figure=KIND,
    )


# ---- sentences


def _tried(found: Robustness) -> str:
    counts = _counts(found)
    listed = ", ".join(f"{name} ({count})" for name, count in counts.items() if count)
    early = f" It ended early, as {found.stopped}.{_pace(found)}" if found.stopped else ""
    if not listed:
        return f"No variant was tried.{early}"
    tried, parameters = len(found.tried) - 1, sum(map(bool, counts.values()))
    return (
        f"Variants of {parameters} of {len(counts)} parameters were tried, one at a time, each "
        f"with one seed, {tried} in all: {listed}.{early}"
    )


def _pace(found: Robustness) -> str:
    """Tell how long a variant takes, so that the next budget can be chosen."""
    seconds = found.trials.budget.seconds_for(found.trials.whole)
    if seconds is None or found.stopped is not Stop.BUDGET:
        return ""
    shorter = "" if found.trials.length is Length.QUICK else "; --length quick is shorter"
    return f" A variant takes about {si(seconds, 's', 2)} here{shorter}."


def _left_out(found: Robustness) -> list[str]:
    missing = [name for name, count in _counts(found).items() if not count]
    words = []
    if untried := [name for name in missing if name not in found.idle]:
        words.append(f"Not tried: {', '.join(untried)}.")
    if found.idle:
        words.append(f"No run of the claims depends on {', '.join(found.idle)}.")
    words += [f"Cannot run: {variant} ({why})." for variant, why in found.refused.items()]
    return words


def _whole(found: Robustness) -> str:
    claims = list(found.trials.claims)
    if list(found.tried) == [TAKEN]:
        return ""
    steady = [name for name in claims if found.same(name) == len(found.tried)]
    turning = sorted(set(claims) - set(steady), key=lambda one: (found.same(one), one))[:_NAMED]
    words = f"{len(steady)} of {len(claims)} claims have one verdict under all of them."
    if turning:
        count = len(found.tried)
        named = (f"{name} ({count - found.same(name)} of {count})" for name in turning)
        words += f" Turning most: {', '.join(named)}."
    return words


def _sobol(found: Robustness) -> str:
    """Tell how many Sobol indices are shown, and how many are too uncertain."""
    of = found.indices
    if of is None:
        return ""
    if of.why:
        return f"Sobol indices: none; {of.why}."
    return (
        f"Sobol indices, from {of.samples} samples ({of.trials} trials): {len(of.shown)} of "
        f"{len(of.found)} are shown, those whose 95 % interval is at most {sobol.WIDEST} wide."
    )


def _counts(found: Robustness) -> dict[str, int]:
    """Count the variants of each parameter."""
    return {name: sum(one.parameter == name for one in found.tried) for name in found.parameters}


# ---- tables


def _claims(found: Robustness) -> Table:
    rows = []
    for name in found.trials.claims:
        same = f"{found.verdict(name)} in {found.same(name)} of {len(found.tried)}"
        rows.append((name, same, "; ".join(found.turns(name)) or "-"))
    head = ("claim", "verdict as taken", "turns at")
    return Table("Each claim, as taken and under every variant", head, tuple(rows))


def _indices(found: Robustness) -> list[Table]:
    if found.indices is None or not found.indices.shown:
        return []
    rows = [
        (one.claim, one.parameter, one.kind, f"{one.value:.2f}", f"{one.low:.2f} to {one.high:.2f}")
        for one in found.indices.shown
    ]
    head = ("claim", "parameter", "order", "index", "95 % interval")
    return [Table("Sobol indices of the margin in the band", head, tuple(rows), brief=False)]


def _by_parameter(found: Robustness) -> Table:
    rows = []
    for variant in found.tried:
        if variant != TAKEN:
            turned = [
                name
                for name in found.trials.claims
                if found.verdict(name, variant) is not found.verdict(name)
            ]
            rows.append((variant.parameter, variant.value, str(len(turned)), ", ".join(turned)))
    order = list(found.parameters)
    rows.sort(key=lambda row: order.index(row[0]))
    head = ("parameter", "value", "claims that turn", "which")
    return Table("Each variant", head, tuple(rows), brief=False)


def table(found: Robustness) -> pl.DataFrame:
    """Give the table of the figure: a row for each claim and variant."""
    order = list(found.parameters)
    variants = sorted(
        found.tried, key=lambda one: order.index(one.parameter) if one != TAKEN else -1
    )
    rows = [
        (name, one.parameter, one.value, str(found.verdict(name, one)), _turned(found, name, one))
        for name in found.trials.claims
        for one in variants
    ]
    return pl.DataFrame(rows, ["claim", "parameter", "value", "verdict", "turned"], orient="row")


def _turned(found: Robustness, claim: str, variant: Variant) -> bool:
    return found.verdict(claim, variant) is not found.verdict(claim)


# ---- data


def _data(found: Robustness) -> Mapping[str, Any]:
    of = found.indices
    sobol_data = (
        None
        if of is None
        else {
            "samples": of.samples,
            "trials": of.trials,
            "why": of.why,
            "indices": [asdict(one) for one in of.shown],
        }
    )
    return {
        "sobol": sobol_data,
        "stopped": found.stopped,
        "parameters": {name: list(values) for name, values in found.parameters.items()},
        "idle": list(found.idle),
        "claims": {
            name: {
                "verdict": str(found.verdict(name)),
                "same": found.same(name),
                "of": len(found.tried),
                "turns": found.turns(name),
            }
            for name in found.trials.claims
        },
        "variants": [
            {
                "parameter": one.parameter,
                "value": one.value,
                "seed": one.seed,
                "verdicts": {name: str(judged.verdict) for name, judged in of.items()},
            }
            for one, of in found.tried.items()
        ],
        "refused": [{"variant": str(one), "why": why} for one, why in found.refused.items()],
    }
