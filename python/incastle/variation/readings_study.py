"""What a search of readings found, as sentences and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from incastle.errors import IncastleError
from incastle.reproduction.changes import open_points
from incastle.reproduction.scores import share
from incastle.variation.prepared import progress
from incastle.variation.readings import DEFAULT, search
from incastle.variation.study import Study, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from incastle.variation.prepared import Asked
    from incastle.variation.readings import Findings, Reading, Split

KIND = "readings"
_NAMED = 3
"""Claims of a group that a table names."""


def main(asked: Asked) -> int:
    """Search the readings of a paper, and show what was found; return the exit status."""
    trials = asked.trials()
    parameters = open_points(trials.paper.folder).parameters
    if not parameters:
        raise IncastleError(f"{asked.paper} declares no open point with other values")
    with progress(trials, KIND) as told:
        found = search(trials, parameters, told)
    return asked.finish(study(found), found.stopped)


def study(found: Findings) -> Study:
    """Describe what a search found."""
    paper = found.trials.paper.name
    return Study(
        paper=paper,
        kind=KIND,
        title=f"Readings of {paper}",
        length=found.trials.length,
        words=tuple(
            filter(None, (_tried(found), _nearest(found), _held_out(found), *_lists(found)))
        ),
        tables=(_points(found), _splits(found), _claims(found), _readings(found)),
        data=_data(found),
    )


# ---- sentences


def _tried(found: Findings) -> str:
    values = sum(len(one.others) for one in found.parameters)
    alone = sum(len(one) == 1 for one in found.tried)
    early = f"; {alone} of the values alone: the search ended early, as {found.stopped}"
    refused = f"; {len(found.refused)} cannot run" if found.refused else ""
    how = f"{refused}{early if found.stopped else ''}"
    return (
        f"{len(found.tried)} readings were tried, of {len(found.parameters)} open points with "
        f"{values} other values{how}. Each experiment has {_seeds(found)}."
    )


def _seeds(found: Findings) -> str:
    """Tell how many seeds the means are over."""
    counts = {len(case.values) for one in found.tried[DEFAULT].values() for case in one.cases}
    low, high = min(counts), max(counts)
    return f"{low} to {high} seeds" if low < high else f"{high} seed{'s' if high > 1 else ''}"


def _nearest(found: Findings) -> str:
    count, default = len(found.trials.claims), found.score(DEFAULT)
    if found.nearest == DEFAULT:
        return f"The default holds {default:.1f} of {count} claims, and no reading more."
    return (
        f"The default holds {default:.1f} of {count} claims. The nearest reading holds "
        f"{found.score(found.nearest):.1f}, on the claims by which it was chosen: "
        f"{named(found.nearest)}."
    )


def _held_out(found: Findings) -> str:
    """Tell what the held-out groups say, and whether that is enough."""
    gains, around = found.gains, found.interval
    if around is None:
        return (
            f"A held-out score needs two groups of claims that share no runs and that a reading "
            f"changes; there {'is' if len(gains) == 1 else 'are'} {len(gains)}. Nothing is shown."
        )
    measured = (
        f"{_gain(sum(gains))} claims against the default in {len(gains)} groups (95 % interval "
        f"{_gain(around[0])} to {_gain(around[1])})"
    )
    if found.is_better:
        return f"On experiments that they were not chosen by, readings gain {measured}: better."
    return (
        f"On experiments that they were not chosen by, readings have {measured}: no reading is "
        "shown to be better than the default."
    )


def _gain(claims: float) -> str:
    """Write a gain with its sign; what rounds to zero has a plus."""
    return f"{round(claims, 1) + 0.0:+.1f}"


def _lists(found: Findings) -> list[str]:
    texts = {
        "Nearer to their bands under the nearest reading": found.moved(up=True),
        "Further away": found.moved(up=False),
        "Whole under no reading that was tried": found.never(),
    }
    return [f"{text}: {', '.join(names)}." for text, names in texts.items() if names]


# ---- tables


def named(reading: Reading) -> str:
    """Name a reading by what differs from the default."""
    return "; ".join(map(str, reading)) or "default"


def _points(found: Findings) -> Table:
    chosen = {value.parameter: value.name for value in found.nearest}
    default = found.score(DEFAULT)
    rows = []
    for one in found.parameters:
        gains = [
            f"{value.name} {_gain(found.score((value,)) - default)}"
            for value in one.others
            if (value,) in found.tried
        ]
        nearest = chosen.get(one.name, "as taken")
        rows.append((one.name, one.taken.name, nearest, ", ".join(gains) or "-", one.place))
    head = ("open", "taken", "nearest reading", "claims gained alone", "left open in")
    return Table("What is open", head, tuple(rows))


def _splits(found: Findings) -> Table:
    rows = [
        (
            _group(split),
            str(len(split.held)),
            named(split.chosen),
            f"{split.default:.1f}",
            f"{split.score:.1f}",
            _gain(split.gain) if split.counts else "no reading changes it",
        )
        for split in found.splits
    ]
    head = ("held out", "claims", "chosen on all others", "default", "chosen", "gain")
    return Table("Every group of claims that share runs, held out", head, tuple(rows))


def _group(split: Split) -> str:
    more = len(split.held) - _NAMED
    return ", ".join(split.held[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _claims(found: Findings) -> Table:
    rows = []
    for name in found.trials.claims:
        shares = {reading: share(of[name]) for reading, of in found.tried.items()}
        best = max(shares, key=lambda one: (shares[one], -len(one)))
        by = named(best) if shares[best] > shares[DEFAULT] else "-"
        cells = (shares[DEFAULT], shares[found.nearest], shares[best])
        rows.append((name, *(f"{cell:.0%}" for cell in cells), by))
    head = ("claim", "default", "nearest", "best of any", "under")
    return Table("Share of each claim's cases in the band", head, tuple(rows), brief=False)


def _readings(found: Findings) -> Table:
    ranked = sorted(found.tried, key=lambda one: -found.score(one))
    rows = [(named(one), f"{found.score(one):.2f}") for one in ranked]
    rows += [(named(one), f"cannot run: {why}") for one, why in found.refused.items()]
    title = f"Readings, by their scores of {len(found.trials.claims)}"
    return Table(title, ("reading", "score"), tuple(rows), brief=False)


# ---- data


def _data(found: Findings) -> dict[str, Any]:
    return {
        "stopped": found.stopped,
        "nearest": _values(found.nearest),
        "default_score": found.score(DEFAULT),
        "nearest_score": found.score(found.nearest),
        "held_out_gain": sum(found.gains),
        "held_out_interval": found.interval,
        "better": found.is_better,
        "never": found.never(),
        "splits": [
            {
                "held": list(split.held),
                "chosen": _values(split.chosen),
                "default": split.default,
                "score": split.score,
                "counts": split.counts,
            }
            for split in found.splits
        ],
        "tried": [
            {
                "reading": _values(reading),
                "score": found.score(reading),
                "claims": {name: share(one) for name, one in of.items()},
                "verdicts": {name: str(one.verdict) for name, one in of.items()},
            }
            for reading, of in found.tried.items()
        ],
        "refused": [{"reading": _values(one), "why": why} for one, why in found.refused.items()],
    }


def _values(reading: Iterable[Any]) -> dict[str, str]:
    return {value.parameter: value.name for value in reading}
