"""`incastle plot`: one figure of one or several results, or of a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incastle.commands.options import Size, Style, Unverified  # noqa: TC001  typer looks at it
from incastle.errors import IncastleError
from incastle.results import Result
from incastle.storage.places import HEADER, SUMMARY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incastle.sweeps.sweep import Sweep

EXAMPLES = (
    "incastle plot results/incast-20-1a2b3c4d queue",
    "incastle plot results/dctcp results/cubic slowdown --style ieee --out slowdown.pdf",
    "incastle plot results/web-by-load slowdown --by flows.web.load",
    "incastle plot results/web-by-load slowdown flows.web.load=0.5",
    "incastle plot results/dctcp results/cubic fct --ccdf --label DCTCP --label CUBIC",
)

SIZE = "size"
OF_SEEDS = "seed-*"

Words = Annotated[
    list[str],
    typer.Argument(
        metavar="RESULT... KIND [KEY=VALUE...]",
        help="Directories of results or sweeps, or of the seeds of one run; then the kind of plot "
        "(see `incastle list plots`), or with --by KEY a measure; then points of a sweep.",
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        metavar="size|KEY",
        help="Horizontal axis: flow size (slowdown), or a key of a sweep.",
    ),
]
Percentiles = Annotated[
    str | None,
    typer.Option(
        metavar="P,...",
        help="Percentiles of slowdowns by size, a panel each. Over a KEY the kinds have median and "
        "99th; measures such as slowdown_p99 have one.",
        show_default="50,95,99",
    ),
]
Bins = Annotated[
    str | None,
    typer.Option(
        metavar="N|classes|SIZE,...",
        help="Bins of flow sizes: a number of equal counts, DCTCP's classes, or where they begin.",
        show_default="10",
    ),
]
Ports = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="Ports, as 'leaf:*->host:0'. Repeatable."),
]
Groups = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="PATTERN", help="Groups of flows (slowdown, fct). Repeatable."),
]
Labels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="TEXT", help="Name of a series. Repeatable, in their order."),
]


def plot(
    words: Words,
    by: By = None,
    percentiles: Percentiles = None,
    bins: Bins = None,
    ccdf: Annotated[
        bool, typer.Option("--ccdf", help="Draw the share above each value (fct, queue-cdf).")
    ] = False,
    group: Groups = None,
    pool: Annotated[
        bool, typer.Option("--pool", help="All groups of flows together (slowdown, fct).")
    ] = False,
    ports: Ports = None,
    label: Labels = None,
    title: Annotated[
        str | None, typer.Option(help="Title; an empty one is none.", show_default="NAME, seeds")
    ] = None,
    style: Style = "screen",
    size: Size = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File of the figure: .png, .svg or .pdf.", show_default="RESULT/KIND.png"
        ),
    ] = None,
    unverified: Unverified = False,
) -> None:
    """Draw one figure of one or several results, or of a sweep.

    Results that differ in their seeds alone are one curve; the others are named by what differs.
    Each group of flows has a panel. Points are means over the seeds, thin bars their 95 %
    intervals. What unfinished flows leave open is drawn as a range: a wide pale bar without a
    point, or a band. Several results go to KIND.png in the working folder. The queue is drawn from
    samples where the scenario records them, else from the time-weighted histogram; the output names
    the source. KEY=VALUE,... draws a sweep at these values alone.
    """
    from incastle.plotting import kinds, options  # noqa: PLC0415  only here

    first = next((at for at, word in enumerate(words) if _is_condition(word)), len(words))
    if first == 0:
        raise IncastleError(f"{words[0]} comes last: incastle plot RESULT KIND {words[0]}")
    *places, kind = words[:first]
    _check_kind(places, kind, by)
    chosen = options.Options(
        by=by,
        **options.with_defaults(
            None if percentiles is None else options.percentiles(percentiles),
            None if bins is None else options.bins(bins),
        ),
        ccdf=ccdf,
        groups=tuple(group or ()),
        pool=pool,
        ports=tuple(ports or ()),
        title=title,
        size=None if size is None else options.inches(size),
        style=style,
        where=_where(words[first:]),
        typed=True,
    )
    place = out or _default_place(places, kind, by, style)
    drawn = [one for place in places for one in _load(Path(place), verify=not unverified)]
    _, source = kinds.draw(drawn, kind, chosen, labels=label, out=place)
    print(f"{place}, drawn from {source}")


def _is_condition(word: str) -> bool:
    return "=" in word and not Path(word).exists()


def _where(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Read KEY=VALUE,... of each key."""
    found = {}
    for word in words:
        key, equals, values = word.partition("=")
        if not (key and equals and values):
            raise IncastleError(f"{word!r} is not KEY=VALUE: after the kind come points of a sweep")
        if key in found:
            raise IncastleError(f"{key} is given twice: {key}=A,B has both")
        found[key] = tuple(value.strip() for value in values.split(","))
    return found


def _check_kind(places: Sequence[str], kind: str, by: str | None) -> None:
    """Check the kind before results are read: they may be large."""
    from incastle.plotting import kinds  # noqa: PLC0415  only here

    if places and places[0] in kinds.KINDS and not Path(places[0]).exists():
        results = " ".join([*places[1:], kind])
        raise IncastleError(f"the kind comes last: incastle plot {results} {places[0]}")
    if not places or (kind not in kinds.KINDS and Path(kind).exists()):
        results = " ".join([*places, kind]) if Path(kind).exists() else "RESULT"
        raise IncastleError(f"incastle plot {results} KIND: the kinds are {', '.join(kinds.KINDS)}")
    if by in {None, SIZE}:
        kinds.kind_of(kind)
    if by == SIZE and kind != "slowdown":
        raise IncastleError(f"--by size is the axis of slowdown, not of {kind}")


def _default_place(places: Sequence[str], kind: str, by: str | None, style: str) -> Path:
    """Return the file that is written without --out."""
    from incastle.plotting.style import STYLES  # noqa: PLC0415  only here
    from incastle.storage.results import file_name  # noqa: PLC0415

    form = STYLES[style].form
    name = kind if by in {None, SIZE} else file_name(f"{kind}-by-{by}")
    inside = len(places) == 1 and any(
        (Path(places[0]) / one).is_file() for one in (SUMMARY, HEADER)
    )
    return (Path(places[0]) if inside else Path()) / f"{name}.{form}"


def _load(place: Path, *, verify: bool) -> list[Result | Sweep]:
    """Read a result, a sweep, or the results of several seeds."""
    if (place / HEADER).is_file():
        from incastle.sweeps.sweep import Sweep  # noqa: PLC0415  slow to import

        return [Sweep.load(place, verify=verify)]
    seeds = [one.parent for one in place.glob(f"{OF_SEEDS}/{SUMMARY}")]
    if seeds and not (place / SUMMARY).is_file():
        return [Result.load(one, verify=verify) for one in sorted(seeds, key=_number)]
    return [Result.load(place, verify=verify)]


def _number(place: Path) -> tuple[int, str]:
    """Order seed-2 before seed-10."""
    return len(place.name), place.name
