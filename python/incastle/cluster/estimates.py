"""The links of an estimate on a Dask cluster: the same delays as on threads.

A task carries the scenario as a string and the numbers of some links. A worker decomposes the
scenario once, fluid included, and keeps that for the next task. The sums along paths are computed
by the caller.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from incastle.cluster.dask import Call, Callbacks, check_build, connected
from incastle.decomposition import failed, take_apart
from incastle.errors import RunError
from incastle.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from incastle import _engine

SHARES = 200
"""A task has at least this share of the work: small links go together, large ones alone."""


class Bundle(NamedTuple):
    """Links that one task simulates: their numbers, and their share of all work."""

    numbers: tuple[int, ...]
    share: float


class Task(NamedTuple):
    """An estimate to do: the scenario, the number of similar links to simulate, and its links."""

    scenario: Scenario
    links: int | None
    apart: _engine.Estimation


class Delays(NamedTuple):
    """Delays by link; `keep` is called with each new link and its delays, in this thread."""

    known: dict[int, bytes]
    keep: Callable[[int, bytes], object]


def simulate(
    on: Any,  # noqa: ANN401  an address, a cluster or a client
    task: Task,
    delays: Delays,
    progress: Callable[[float], object],
) -> None:
    """Simulate the links whose delays are missing, and add these.

    Args:
        on: the cluster.
        task: what is estimated.
        delays: those that are known, and where new ones go.
        progress: called with the share of the work that is done.

    Raises:
        ClusterError: the cluster cannot be used.
        RunError: a link could not be simulated, or its worker died each time.

    """
    jobs = task.apart.jobs()
    known = delays.known
    whole = sum(work for _, work in jobs)
    missing = [job for job in jobs if job[0] not in known]
    done = sum(work for link, work in jobs if link in known) / max(whole, 1)

    def over(bundle: Bundle, found: list[bytes]) -> None:
        nonlocal done
        for number, found_there in zip(bundle.numbers, found, strict=True):
            known[number] = found_there
            delays.keep(number, found_there)
        done += bundle.share
        progress(min(done, 1.0))

    def lost(bundle: Bundle, why: str) -> None:
        raise RunError(
            f"{task.scenario.name}: {len(bundle.numbers)} links were not simulated: {why}"
        )

    text = task.scenario.resolved

    def call(bundle: Bundle) -> Call:
        return Call(str(bundle.numbers[0]), simulate_links, (text, task.links, bundle.numbers))

    with connected(on) as cluster:
        callbacks = Callbacks(over, lost, lambda _: None)
        cluster.execute(list(bundles(missing, whole)), call, callbacks)


def bundles(jobs: Sequence[tuple[int, int]], whole: int) -> Iterator[Bundle]:
    """Put jobs together, in their order, until each bundle has its share of the work."""
    enough = sum(work for _, work in jobs) / SHARES
    numbers: list[int] = []
    work = 0
    for number, own in jobs:
        numbers.append(number)
        work += own
        if work >= enough:
            yield Bundle(tuple(numbers), work / max(whole, 1))
            numbers, work = [], 0
    if numbers:
        yield Bundle(tuple(numbers), work / max(whole, 1))


def simulate_links(build: str, text: str, links: int | None, numbers: Sequence[int]) -> list[bytes]:
    """Simulate some links on a worker: the delays at each.

    Raises:
        WrongVersion: this worker has another build of Incastle.
        RunError: a link could not be simulated.

    """
    check_build(build)
    apart = _taken_apart(text, links)
    return [_simulated(apart, number) for number in numbers]


@lru_cache(maxsize=1)
def _taken_apart(text: str, links: int | None) -> _engine.Estimation:
    return take_apart(Scenario.from_text(text), links, threads=1)


def _simulated(apart: _engine.Estimation, number: int) -> bytes:
    delays, failure = apart.simulate(number)
    if failure is not None:
        raise failed("a link", failure)
    assert delays is not None  # noqa: S101  one of the two is there
    return delays
