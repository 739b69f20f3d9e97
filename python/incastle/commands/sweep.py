"""`incastle sweep`: every combination of the values of some keys, each with several seeds."""

from __future__ import annotations

import math
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.markup import escape

from incastle import terminal
from incastle.analysis.completions import ends_of
from incastle.analysis.measures import FAILED, PAUSED, groups_of, unit_of
from incastle.analysis.seeds import over_seeds
from incastle.commands import many_runs
from incastle.commands.many_runs import (
    UNFINISHED,
    Force,
    Jobs,
    Resume,
    Seed,
    Seeds,
    default_place,
    headings,
    number,
)
from incastle.commands.options import AsJson, On, Unverified, option
from incastle.errors import IncastleError, ResultError
from incastle.runner import cores
from incastle.storage.results import file_name
from incastle.terminal import aligned
from incastle.units import between, scale_of, si

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import polars as pl
    from rich.table import Table

    from incastle.plotting.sweeps import Axes
    from incastle.sweeps.forecast import Forecast
    from incastle.sweeps.plan import Checked, Plan
    from incastle.sweeps.sweep import Sweep
    from incastle.sweeps.work import Execution, Place

EXAMPLES = (
    "incastle sweep my.toml --set flows.storage.count=2,4,8,16 --seeds 5",
    "incastle sweep my.toml --set transport.congestion=dctcp,cubic --set network.senders=10..20",
    "incastle sweep my.toml --set network.senders=2,4,8 --on tcp://scheduler:8786 --resume",
    'incastle sweep results/DIR --plot "x=network.senders y=goodput hue=transport.congestion"',
)

MANY = 10_000
"""More runs than this are begun only after a question, or with --yes."""

MAX_ROWS = 40
"""Rows of the table of combinations."""

DIGITS = 4
"""Of a mean that has an interval."""

SHOWN = {
    "goodput_bit_s": "goodput",
    "completion_median_s": "FCT\nmedian",
    "completion_p99_s": "FCT\n99th",
    "slowdown_median": "slowdown\nmedian",
    "slowdown_p99": "slowdown\n99th",
    "round_median_s": "round\nmedian",
    "round_p99_s": "round\n99th",
    "unfinished": "unfinished",
    "queue_mean_packets": "packets\nwaiting",
    PAUSED: "paused share\nof all ports",
    FAILED: "failed\nqueue pairs",
    "timeouts": "timeouts",
    "drops": "drops",
}
"""Columns of the table: those that have a value in any run, some of them one above 0."""
ABOVE_ZERO = ("unfinished", PAUSED, FAILED)

STATISTICS = ("completion_", "slowdown_", "round_")
"""Columns that are of one group of flows alone where there are several."""

WHOLE_RUN = {
    "goodput_bit_s": "goodput (sum of all hosts)",
    PAUSED: "paused share of all ports (their mean: those that were never paused count as 0)",
    FAILED: "failed queue pairs",
    "timeouts": "timeouts",
    "drops": "drops",
}
"""Columns that cover the whole run, as their headings say where others do not."""
WHOLE = "whole run"

LONG = ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))

Tables = Annotated[
    str | None, option("Keep further tables, such as flows,links.", metavar="NAME,...")
]


Source = Annotated[
    list[str],
    typer.Argument(
        metavar="SCENARIO", help="A scenario in TOML, or the directory of an earlier sweep."
    ),
]
Lists = Annotated[
    list[str] | None,
    option(
        "Values of a key: 2,4,8 or 1..20 or a TOML list. Repeatable.",
        "--set",
        metavar="KEY=VALUES",
    ),
]
Plot = Annotated[
    str | None, option("Draw a figure of the results.", metavar="'x=KEY y=MEASURE hue=KEY'")
]
Figure = Annotated[
    Path | None, option("File of the figure: .png, .svg or .pdf.", default="DIR/Y-by-X.png")
]
Out = Annotated[Path | None, option("Directory of the dataset.", default="results/NAME-by-KEYS")]
Yes = Annotated[bool, option(f"Start more than {MANY:,} runs without confirmation.", "--yes")]


def sweep(
    place: Source,
    settings: Lists = None,
    seeds: Seeds = 1,
    seed: Seed = None,
    out: Out = None,
    resume: Resume = False,
    force: Force = False,
    tables: Tables = None,
    on: On = None,
    jobs: Jobs = None,
    plot: Plot = None,
    figure: Figure = None,
    as_json: AsJson = False,
    yes: Yes = False,
    unverified: Unverified = False,
) -> None:
    """Simulate every combination of the values of some keys, with one or more seeds each.

    All combinations are checked before the first run starts. The results are a directory of
    Parquet files. Ctrl-C loses the runs in progress; a crash or power failure also loses up to one
    second of finished runs. --resume runs what is missing, lost or changed. A large sweep requires
    confirmation, with its expected time and disk space. A failed run does not stop the sweep: it
    is reported at the end, and the exit status is not 0. A directory in place of a scenario prints
    that sweep again.
    """
    from incastle.plotting import style  # noqa: PLC0415  only here
    from incastle.plotting import sweeps as picture  # noqa: PLC0415  slow to import
    from incastle.sweeps.sweep import Sweep  # noqa: PLC0415
    from incastle.sweeps.work import Execution  # noqa: PLC0415

    axes = None if plot is None else picture.Axes.parse([*_words(plot), *place[1:]])
    if plot is None and len(place) > 1:
        raise IncastleError(_not_one(place, settings))
    if figure is not None:
        style.check_file(figure)
        if plot is None:
            raise IncastleError("--figure is the file of --plot: say there what is drawn")
    if Path(place[0]).is_dir():
        if settings or on or resume or force:
            raise IncastleError(f"{place[0]} is a directory: give the scenario to do more runs")
        outcome = Sweep.load(place[0], verify=not unverified)
        axes = _with_whole_keys(axes, outcome.header.keys)
        if axes is not None and not outcome.frame.is_empty():
            picture.column_of(outcome, axes)  # reported instead of the table, not below it
    else:
        plan = many_runs.read_plan(place[0], settings, seeds, seed)
        if plan.number_of_runs > MANY and not yes:
            _ask(plan, Path(os.devnull) if force else out, _names(tables), on, jobs)
        checked = _checked(plan)
        axes = _with_whole_keys(axes, [axis.key for axis in plan.axes])
        if axes is not None:
            _check_axes(axes, plan, checked)
        where = many_runs.place_of(out or default_place(plan, "by"), resume=resume, force=force)
        with terminal.json_alone(as_json):
            outcome = _do(plan, checked, where, _names(tables), Execution(on, jobs))
    try:
        if axes is not None:
            # Before anything is printed: a reader such as `head` may end the command there.
            directory = outcome.directory or Path()
            name = file_name(f"{axes.y}-by-{axes.x}") + ".png"
            _draw(outcome, axes, figure or directory / name)
    finally:
        _show(outcome, as_json=as_json)
    many_runs.leave(outcome)


def _with_whole_keys(axes: Axes | None, keys: Sequence[str]) -> Axes | None:
    """Return axes with the whole keys of their last parts, `load` for `flows.web.load`."""
    from incastle.plotting.sweeps import whole_key  # noqa: PLC0415  slow to import

    if axes is None:
        return None
    hue = None if axes.hue is None else whole_key(axes.hue, keys)
    fixed = {whole_key(key, keys): value for key, value in axes.fixed.items()}
    return replace(axes, x=whole_key(axes.x, keys), hue=hue, fixed=fixed)


def _words(text: str) -> list[str]:
    """Take apart what stands after --plot; quotes hold a value with blanks together."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise IncastleError(f"--plot {text}: {error}") from None


def _ask(
    plan: Plan, out: Path | None, tables: Sequence[str], on: str | None, jobs: int | None
) -> None:
    """Ask before a large sweep, with its expected cost; without a terminal --yes is required.

    Raises:
        IncastleError: there is no terminal.

    """
    from incastle.sweeps.forecast import forecast  # noqa: PLC0415  slow to import
    from incastle.sweeps.work import check_tables  # noqa: PLC0415

    wanted = check_tables(tables)
    missing = plan.number_of_runs - _finished_in(out or default_place(plan, "by"))
    if missing <= MANY:
        return
    lists = " x ".join(f"{len(axis.choices):,} of {axis.key}" for axis in plan.axes)
    text = f"{plan.number_of_runs:,} runs ({lists or 'one'} x {len(plan.seeds):,} seeds)"
    if missing < plan.number_of_runs:
        text += f", of which {missing:,} are missing"
    price = cost(forecast(plan, missing, wanted), None if on else jobs or cores())
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise IncastleError(f"{text}: {price}; --yes starts them")
    terminal.note(f"{text}: {price}")
    if not typer.confirm("Start?", err=True):
        terminal.note("nothing was run")
        raise typer.Exit(IncastleError.exit_status)


def _finished_in(directory: Path) -> int:
    """Count the finished runs of a directory, whose runs need not be those of the plan."""
    from incastle.sweeps.dataset import Dataset  # noqa: PLC0415  slow to import

    try:
        return Dataset.load(directory, repair=True).size
    except ResultError:
        return 0  # reported when it is opened


def _checked(plan: Plan) -> Checked:
    """Check every combination."""
    with terminal.counting("checking", plan.number_of_cells) as report:
        checked = plan.check(report)
    terminal.diagnostics(checked.warnings)
    if plan.number_of_runs == 1:
        terminal.note("one run: --set KEY=VALUES has several values of a key, --seeds N seeds")
    return checked


def _not_one(place: Sequence[str], settings: Sequence[str] | None) -> str:
    """Describe several scenarios; a blank in place of = makes two words of a setting."""
    key = next((one for one in settings or [] if "=" not in one), None)
    meant = "" if key is None else f": --set {key}={place[1]}"
    return f"one scenario, not {len(place)}: {' '.join(place)}{meant}"


def _check_axes(axes: Any, plan: Plan, checked: Checked) -> None:  # noqa: ANN401
    """Refuse a figure that cannot be drawn before an hour of runs, not after it."""
    from incastle.analysis.measures import columns_of  # noqa: PLC0415

    groups = list(checked.runs[0].scenario().to_dict()["flows"])
    words = {axis.key: [choice.words for choice in axis.choices] for axis in plan.axes}
    axes.check(words, columns_of(groups))


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _do(
    plan: Plan,
    checked: Checked,
    place: Place,
    tables: Sequence[str],
    execution: Execution,
) -> Sweep:
    from incastle.sweeps.work import run_plan  # noqa: PLC0415  slow to import

    name = checked.runs[0].scenario().name
    with many_runs.reporting_kept_runs(place.directory), many_runs.sweep_bar(name) as progress:
        execution = replace(execution, progress=progress)
        return run_plan(plan, checked.runs, place, tables, execution)


def _show(outcome: Sweep, *, as_json: bool) -> None:
    if as_json:
        terminal.print_json(outcome.to_json())
    else:
        _show_table(outcome)
    many_runs.failures(outcome)


def _draw(outcome: Sweep, axes: Any, path: Path) -> None:  # noqa: ANN401
    from incastle.plotting import sweeps as picture  # noqa: PLC0415

    picture.draw(outcome, axes, path)
    terminal.note(f"figure: {path}")


def long_time(seconds: float) -> str:
    """Write a long time."""
    size, unit = next((one for one in LONG if seconds >= 2 * one[0]), LONG[-1])
    return f"{seconds / size:,.3g} {unit}"


def cost(expected: Forecast | None, cores: int | None) -> str:
    """Describe the expected cost of a sweep and its basis; without cores of a cluster."""
    if expected is None:
        return "their cost is unknown: the first, middle and last one give no result"
    if cores is None:
        time_ = f"about {long_time(expected.seconds)} of processor time"
    else:
        here = f"{cores} core{'s' if cores > 1 else ''}"
        time_ = f"about {long_time(expected.seconds / cores)} on {here}"
    samples = expected.samples
    low, high = (si(end(one.seconds for one in samples), "s") for end in (min, max))
    each = low if low == high else f"{low} to {high}"
    basis = f"from {len(samples)} of them, {each} each" if len(samples) > 1 else f"from one, {each}"
    if not all(one.whole for one in samples):
        basis += ", long ones not to their end"
    return f"{time_} and at most {si(expected.bytes, 'B')} of disk ({basis})"


def _show_table(outcome: Sweep) -> None:
    """Show one row per combination: what comes of the seeds, and where the dataset is."""
    frame = outcome.frame
    if not frame.is_empty():
        shown = combinations(outcome)
        for title, table in shown.tables:
            many_runs.titled(title, table)
        terminal.output().print(f"\n{escape(shown.coverage)}", soft_wrap=True)
        if shown.unfinished is not None:
            terminal.note(shown.unfinished)
    held = f"{len(frame):,} run{'s' if len(frame) != 1 else ''} in {outcome.directory}"
    found = f", {outcome.found:,} of them from before" if outcome.found else ""
    terminal.note(held + found)
    many_runs.repaired(outcome)


class Combinations(NamedTuple):
    """What comes of the seeds: titled tables, what they cover, what unfinished flows change."""

    tables: list[tuple[str, Table]]
    coverage: str
    unfinished: str | None


def combinations(outcome: Sweep) -> Combinations:
    """Return a row per combination; of several groups of flows a second table has each alone."""
    frame, values = outcome.frame, outcome.header.values
    fixed = [key for key in values if len(values[key]) == 1]
    keys = [key for key in values if key not in fixed]
    cells = frame.select(keys).unique(maintain_order=True) if keys else frame.select().head(1)
    rows = [tuple(row) for row in cells.iter_rows()] or [()]
    held = (f"{key} = {_plain(values[key][0])}" for key in fixed)
    title = ", ".join([outcome.header.name, *held])
    several = frame["seed"].n_unique() > 1
    if several:
        title += ": mean of the seeds ± its 95 % interval; min\u2013max"
    if len(rows) > MAX_ROWS:
        title += f"; {MAX_ROWS:,} of {len(rows):,} combinations"
        rows = rows[:MAX_ROWS]
    groups = groups_of(frame.columns)
    # A percentile of all flows together is one of no group: only sums have a row for all.
    shown = [one for one in SHOWN if not (groups and one.startswith(STATISTICS))]
    table, measures = _rows(_with_unfinished(frame), keys, rows, shown)
    tables = [(title, table)]
    if groups:
        of_each = [(*row, group) for row in rows for group in groups]
        by_group = _with_unfinished(_by_group(frame, keys, groups))
        table, more = _rows(by_group, [*keys, "group"], of_each, [*SHOWN])
        tables.append(("each group of flows", table))
        measures += more
    measures = [one for one in SHOWN if one in measures]
    bounds, no_upper = "the bounds of the value are shown", "no upper bound"
    if several:
        bounds = "the cell spans the 95 % intervals of the lower and of the upper bounds' means"
        no_upper += ", and a is the mean of the lower ones"
    unfinished = many_runs.unfinished_note(frame, f"{bounds} (a to b; \u2265 a: {no_upper})")
    return Combinations(tables, _coverage(frame, measures), unfinished)


def _with_unfinished(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    return frame.with_columns(unfinished=pl.sum_horizontal(UNFINISHED))


def _by_group(frame: pl.DataFrame, keys: Sequence[str], groups: Sequence[str]) -> pl.DataFrame:
    """Return a row per run and group of flows, with the measures of the group."""
    import polars as pl  # noqa: PLC0415  slow to import: only where frames are read

    return pl.concat(
        frame.select(
            *keys,
            *("seed", "measured_from_s", "measured_to_s", "simulated_s"),
            pl.lit(group).alias("group"),
            *(
                pl.col(name).alias(name.removeprefix(f"{group}."))
                for name in frame.columns
                if name.startswith(f"{group}.") and name not in keys
            ),
        )
        for group in groups
    )


def _rows(
    frame: pl.DataFrame,
    keys: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    shown: Sequence[str],
) -> tuple[Table, list[str]]:
    """Return a table, a row per combination, and the measures that it has."""
    measures = [one for one in shown if one in frame.columns and _has_values(frame, one)]
    by_measure = {one: _by_cell(over_seeds(frame, keys, one), keys) for one in measures}
    runs = dict(_runs(frame, keys))
    scales = {one: _scale(one, by_measure[one].values()) for one in measures}
    of_all = "" if _is_whole(frame) else WHOLE
    covered = {one: of_all if one in WHOLE_RUN else "" for one in measures}
    names = (
        "\n".join(filter(None, (SHOWN[one], covered[one], scales[one][1]))) for one in measures
    )
    table = aligned(None, *headings(keys), "runs", *names)
    for row in rows:
        words = [escape(_plain(value)) for value in row]
        numbers = (of_seeds(by_measure[one].get(row), scales[one][0]) for one in measures)
        table.add_row(*words, str(runs[row]), *numbers)
    return table, measures


def _coverage(frame: pl.DataFrame, measures: Sequence[str]) -> str:
    """Describe the time, hosts and ports that the columns cover."""
    begin, end = frame["measured_from_s"], frame["measured_to_s"]
    interval = "the measured interval ([measure] warmup to until)"
    if _is_whole(frame):
        interval = "the whole run"
    elif begin.n_unique() == end.n_unique() == 1:
        interval = f"the measured interval, {between(begin[0], end[0], 's')}"
    whole = [text for one, text in WHOLE_RUN.items() if one in measures]
    queue = "queue_mean_packets"
    begun = [SHOWN[one].partition("\n")[0] for one in measures if one not in {*WHOLE_RUN, queue}]
    parts = []
    if begun:
        parts.append(f"{', '.join(dict.fromkeys(begun))}: transfers that began in {interval}")
    if queue in measures:
        parts.append(
            f"packets waiting: of each run the port with the longest mean queue, in {interval}"
        )
    return "; ".join([*parts, f"{', '.join(whole)}: the whole run"])


def _is_whole(frame: pl.DataFrame) -> bool:
    """Return whether the measured interval is the whole run, of all runs."""
    return bool((frame["measured_from_s"] == 0).all()) and frame["measured_to_s"].equals(
        frame["simulated_s"]
    )


def _has_values(frame: pl.DataFrame, column: str) -> bool:
    if column in ABOVE_ZERO:
        return bool(frame[column].sum())
    ends = [one for one in (column, *ends_of(column)) if one in frame.columns]
    return any(frame[one].count() for one in ends)


def _runs(frame: pl.DataFrame, keys: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Yield the number of runs of each combination."""
    if not keys:
        yield (), len(frame)
        return
    for *cell, count in frame.group_by(keys).len().iter_rows():
        yield tuple(cell), count


def _by_cell(
    frame: pl.DataFrame, keys: Sequence[str]
) -> dict[tuple[Any, ...], dict[str, float | None]]:
    """Return the statistics over the seeds by combination."""
    rows = frame.iter_rows(named=True)
    return {tuple(row[key] for key in keys): row for row in rows}


def _scale(column: str, rows: Iterable[Mapping[str, Any]]) -> tuple[float, str]:
    """Return the unit in which the middle one of a column's means is written best."""
    from statistics import median  # noqa: PLC0415  slow to import

    means = [row["low"] for row in rows]
    factor, unit = scale_of([median(means)] if means else [], unit_of(column))
    return factor, "" if unit == "packets" else unit  # as in the heading


def of_seeds(row: Mapping[str, Any] | None, factor: float) -> str:
    """Write a measure over the seeds: mean and half of its interval, below them min to max.

    Where only bounds of the mean are known, its whole interval from `mean_from` to `mean_to`; where
    there is no upper one, the lower one itself: the interval of what has no limit tells nothing.
    """
    if row is None:
        return "-"
    low, high, end = row["low"], row["high"], row["mean_to"]
    if end is None or row["min"] == row["max"]:
        return _ends(low / factor, high / factor, " to ")
    if low == high:
        mean = _with_half(low / factor, (end - low) / factor)
    else:
        first = low if math.isinf(end) else row["mean_from"]
        mean = _ends(first / factor, end / factor, " to ")
    return f"{mean}\n[dim]{_ends(row['min'] / factor, row['max'] / factor)}[/]"


def _with_half(mean: float, half: float) -> str:
    """Write `9.41\u00b10.02`: two digits of the half are enough, and `DIGITS` of the mean."""
    digits = DIGITS - 1 - math.floor(math.log10(abs(mean))) if mean else 0
    if half:
        digits = min(digits, 1 - math.floor(math.log10(half)))
    digits = max(0, digits)
    return f"{mean:,.{digits}f}\u00b1{half:,.{digits}f}"


def _ends(low: float, high: float, sign: str = "\u2013") -> str:
    """Write one number, a range, or a lower end."""
    if math.isinf(high):
        return f"\u2265 {number(low)}"
    first, last = number(low), number(high)
    return first if first == last else f"{first}{sign}{last}"


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
