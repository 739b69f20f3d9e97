"""How far the claims of a paper depend on what is varied: one thing at a time, then all together.

A *variant* has one parameter at another value, or another seed; everything else is as taken. It has
a single seed, so that the value alone decides each verdict; seeds are a parameter like others.
Variants come in turn: of every parameter the first other value, then of each the second.

Leaves out: two parameters at a time, but for Sobol indices (`incastle.variation.sobol`).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from incastle.reproduction.changes import Parameter, open_points
from incastle.units import parse
from incastle.variation.trials import CannotRun, Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from incastle.reproduction.changes import Setting
    from incastle.reproduction.claims import Judged, Verdict
    from incastle.reproduction.papers import Paper
    from incastle.variation.sobol import Indices
    from incastle.variation.trials import Trials

SHARED = Path(__file__).parent / "robust.toml"
"""What is varied of every paper."""
SEED = "seed"
SEEDS = range(1, 9)
"""The first is that of every other variant."""


@dataclass(frozen=True)
class Variant:
    """A parameter at a value: by a setting, or the seed."""

    parameter: str
    value: str
    settings: tuple[Setting, ...] = ()
    seed: int = SEEDS[0]

    def __str__(self) -> str:
        """Name it."""
        return f"{self.parameter}: {self.value}"


TAKEN = Variant("", "as taken")


@dataclass(frozen=True)
class Robustness:
    """What was tried.

    Attributes:
        trials: of which paper, at which length.
        parameters: the values of each parameter, in their order; the first is the one taken.
        tried: the verdicts of every variant, `TAKEN` first.
        refused: variants that cannot run, and why.
        idle: parameters that change no run of the claims.
        stopped: why it ended early, if it did.
        indices: Sobol indices, if they were asked for.

    """

    trials: Trials
    parameters: Mapping[str, tuple[str, ...]]
    tried: Mapping[Variant, Mapping[str, Judged]]
    refused: Mapping[Variant, str]
    idle: tuple[str, ...]
    stopped: Stop
    indices: Indices | None = None

    def verdict(self, claim: str, variant: Variant = TAKEN) -> Verdict:
        """Return the verdict of a claim under a variant."""
        return self.tried[variant][claim].verdict

    def same(self, claim: str) -> int:
        """Count the variants, that as taken among them, under which a claim has one verdict."""
        return sum(self.verdict(claim, one) is self.verdict(claim) for one in self.tried)

    def turns(self, claim: str) -> list[str]:
        """Tell where the verdict of a claim is another: "RTO_min below 5 ms"."""
        found = []
        for parameter, values in self.parameters.items():
            known = {one.value: one for one in self.tried if one.parameter == parameter}
            same = {values[0]: True} | {
                value: self.verdict(claim, one) is self.verdict(claim)
                for value, one in known.items()
            }
            if all(same.values()):
                continue
            others = list(same.values()).count(False)
            of_seeds = f"{others} of {len(same) - 1} other seeds"
            found.append(of_seeds if parameter == SEED else f"{parameter} {_where(same)}")
        return found


def _where(same: Mapping[str, bool]) -> str:
    """Tell the values that turn: beyond the last that does not where they are quantities."""
    others = [value for value, stays in same.items() if not stays]
    sizes = {value: _size(value) for value in same}
    if len(others) < 2 or None in sizes.values():  # noqa: PLR2004
        return ", ".join(others)
    ordered = sorted(same, key=lambda value: sizes[value] or 0.0)
    stays = [value for value in ordered if same[value]]
    if ordered[: len(others)] == sorted(others, key=ordered.index):
        return f"below {stays[0]}"
    if ordered[len(stays) :] == sorted(others, key=ordered.index):
        return f"above {stays[-1]}"
    return ", ".join(others)


def _size(value: str) -> float | None:
    parsed = parse(value.removeprefix("x "))
    return None if parsed is None else parsed[0]


def parameters_of(paper: Paper) -> list[Parameter]:
    """Return what is varied of a paper: what is varied of all, and what it leaves open."""
    shared = tomllib.loads(SHARED.read_text(encoding="utf-8"))["vary"]
    return [*(Parameter.of(one, SHARED) for one in shared), *open_points(paper.folder).parameters]


def variants(parameters: Sequence[Parameter]) -> list[Variant]:
    """Return the variants of some parameters and of the seed, each parameter's first first."""
    of_seed = [Variant(SEED, str(seed), (), seed) for seed in SEEDS[1:]]
    of = [[Variant(one.name, value.name, (value,)) for value in one.others] for one in parameters]
    return [one for row in zip_longest(of_seed, *of) for one in row if one is not None]


def explore(
    trials: Trials, parameters: Sequence[Parameter], told: Callable[[int, int], object]
) -> Robustness:
    """Try the variants of a paper, as far as the budget goes.

    Args:
        trials: the paper's.
        parameters: what is varied, besides seeds.
        told: called before each trial with the number of trials so far, and of all.

    Raises:
        CannotRun: the paper's own experiments cannot run.
        Interrupted: Ctrl-C before they were tried.

    """
    found = _Exploration(trials)
    found.tried[TAKEN] = trials.judge((), (TAKEN.seed,))
    idle = [one.name for one in parameters if not found.changes(one)]
    planned = [one for one in variants(parameters) if one.parameter not in idle]
    for count, variant in enumerate(planned):
        told(count, len(planned))
        found.attempt(variant)
    values = {SEED: tuple(map(str, SEEDS))}
    values |= {one.name: (one.taken.name, *(of.name for of in one.others)) for one in parameters}
    return Robustness(trials, values, found.tried, found.refused, tuple(idle), found.stopped)


@dataclass(eq=False)
class _Exploration:
    trials: Trials
    tried: dict[Variant, dict[str, Judged]] = field(default_factory=dict)
    refused: dict[Variant, str] = field(default_factory=dict)
    stopped: Stop = Stop.NOT

    def changes(self, parameter: Parameter) -> bool:
        """Whether a parameter changes any run; one that cannot run is to be named, so it counts."""
        try:
            return any(self.trials.touches((one,)) for one in parameter.others)
        except CannotRun:
            return True

    def attempt(self, variant: Variant) -> None:
        """Try a variant, unless the study has to end."""
        asked = (variant.settings, (variant.seed,))
        if self.stopped is Stop.INTERRUPTED:
            return
        try:
            if self.trials.budget.allows(self.trials.work(*asked)):
                self.tried[variant] = self.trials.judge(*asked)
            else:
                self.stopped = Stop.BUDGET
        except CannotRun as error:
            self.refused[variant] = str(error)
        except KeyboardInterrupt:
            self.stopped = Stop.INTERRUPTED
