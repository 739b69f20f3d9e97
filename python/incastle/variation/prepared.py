"""The beginning and the end of every study of a paper: trials with a budget; a page, printed."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from incastle import runner, terminal
from incastle.errors import IncastleError
from incastle.interrupts import INTERRUPTED
from incastle.reproduction import main, report
from incastle.reproduction.papers import Length, discover
from incastle.reproduction.run_cache import RunCache
from incastle.runner import cores
from incastle.variation.trials import Budget, Stop, Trials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from incastle.variation.study import Study

_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600}


def seconds_of(budget: str | None) -> float | None:
    """Read a budget; none is without end."""
    if budget is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?) *(s|m|min|h)", budget.strip())
    if found is None or not float(found[1]):
        raise IncastleError(f"--budget {budget}: expected a time such as 90s, 5m or 1h")
    return float(found[1]) * _SECONDS[found[2]]


@dataclass(frozen=True)
class Asked:
    """What the commands of studies are asked: their options."""

    paper: str
    length: str
    budget: str | None
    out: Path | None
    threads: int | None
    as_json: bool
    seeds: int | None = None

    def trials(self) -> Trials:
        """Prepare the trials, whose runs are kept in the folder of the report."""
        if self.length not in set(Length):
            raise IncastleError(f"--length {self.length}: expected {', '.join(Length)}")
        budget = Budget(seconds_of(self.budget))
        (part,) = main.choose(discover(), [self.paper], None)
        if not part.paper.measures:
            raise IncastleError(f"{self.paper} has no claims: it is a comparison")
        kept = RunCache(report.prepare_folder(self.folder) / report.RUNS)
        of = (part.paper, Length(self.length), kept, budget)
        return Trials(*of, threads=self.threads or cores(), seeds=self.seeds)

    @property
    def folder(self) -> Path:
        """The folder of the report."""
        return Path(main.FOLDERS[Length(self.length)]) if self.out is None else self.out

    def finish(self, study: Study, stopped: str) -> int:
        """Save a study and print it; return the exit status."""
        page = study.save(self.folder)
        if self.as_json:
            terminal.print_json(study.as_json())
        else:
            study.show(page)
        if stopped != Stop.INTERRUPTED:
            return 0
        terminal.error(
            "interrupted; finished runs are kept, and the same command goes on from there"
        )
        return INTERRUPTED


@contextmanager
def progress(trials: Trials, what: str) -> Iterator[Callable[[int, int], None]]:
    """Draw a bar over trials; yield a callable that takes how many steps are done, of how many."""
    with terminal.progress_bar(what, "steps") as show:
        done, total = 0, 1

        def told(finished: int, expected: int) -> None:
            nonlocal done, total
            done, total = finished, expected

        def within(share: float) -> None:
            show(runner.Progress(done, total, done + share, total))

        trials.progress = within
        yield told
