"""The figures of qcn-incast that show numbers over servers: 2 to 5, 9 to 18, tables II and III."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incastle.reproduction.papers import FigureSpec

from .curves import GOODPUT, PAPER, Curve, Curves, Draw, Panel, by_buffer, labelled
from .plan import TRACED
from .points import BUFFERS, SYSTEMS, VARIANTS
from .runs import REST, UDP, notifications, queue_kilobytes, timeouts_per_flow, udp_goodput

if TYPE_CHECKING:
    from collections.abc import Mapping

_G, _T, _U = "goodput of the requests", "timeouts per flow in 20 s", "goodput of UDP"
_TIMEOUTS = Panel("timeouts per flow", scale="symlog")
_BESIDE = Panel("goodput (Mbit/s)", REST / 2, 1000, width=1.4)
_OF_UDP = Panel("goodput (Mbit/s)", UDP, 1000)
_QUEUE = Panel("mean queue (KB)", top=256)

# The paper's tables II and III, by variant and number of servers.
TABLE_2: Mapping[str, Mapping[int, float]] = {
    "I": {2: 4740, 4: 5535, 8: 6530, 16: 8844, 32: 14551, 64: 21846},
    "II": {2: 7282, 4: 10514, 8: 10613, 16: 15494, 32: 30779, 64: 156161},
    "III": {2: 11716, 4: 10299, 8: 15386, 16: 19894, 32: 42621, 64: 121382},
    "IV": {2: 3357, 4: 4454, 8: 7879, 16: 10840, 32: 21912, 64: 54405},
    "V": {2: 3337, 4: 5920, 8: 8762, 16: 12150, 32: 20146, 64: 36076},
    "VI": {2: 8905, 4: 4853, 8: 8687, 16: 13444, 32: 28112, 64: 62553},
}
_TABLE_3: Mapping[str, Mapping[int, float]] = {
    "I": {16: 0.12, 32: 0.44, 64: 9.28},
    "II": {16: 0, 32: 0, 64: 0.22},
    "III": {16: 0, 32: 0, 64: 0.28},
    "IV": {16: 0.06, 32: 0.96, 64: 4.31},
    "V": {16: 0, 32: 0, 64: 0.21},
    "VI": {16: 0, 32: 0, 64: 0.22},
}


def _alone(
    number: str, title: str, system: str, rto: str, claims: tuple[str, ...], *also: str
) -> FigureSpec:
    """Give a figure of goodput over n at the four buffers, with the timeouts beside it."""
    return FigureSpec(
        number=number,
        title=title,
        caption="Application bytes of the requests per second at the client, and timeouts per "
        "flow in 20 s (linear up to 1), over the number of servers; lines are the median over the "
        "seeds, bands their range. Below the dashed line the goodput has collapsed.",
        uses=(f"{system}/rto={rto}/", *also),
        claims=claims,
        data=Curves(
            (
                *by_buffer(_G, system, rto),
                *by_buffer(_T, system, rto, what=timeouts_per_flow),
            )
        ),
        draw=Draw({_G: GOODPUT, _T: _TIMEOUTS}, legend="buffer per port"),
    )


def _udp(
    number: str, title: str, system: str, rto: str, claims: tuple[str, ...], *also: str
) -> FigureSpec:
    """Give a figure of both goodputs beside UDP at the four buffers."""
    return FigureSpec(
        number=number,
        title=title,
        caption="As figure 2, with a further node that sends 400 Mbit/s of UDP to the client; on "
        "the right what UDP delivers. The dashed lines are half of what UDP leaves of the link, "
        "and what UDP sends.",
        uses=(f"udp/{system}/rto={rto}/", *also),
        claims=claims,
        data=Curves(
            (
                *by_buffer(_G, system, rto, "udp/"),
                *by_buffer(_U, system, rto, "udp/", udp_goodput),
            )
        ),
        draw=Draw({_G: _BESIDE, _U: _OF_UDP}, legend="buffer per port"),
    )


_ALONE = (
    _alone(
        "2",
        "Unmodified TCP: NewReno, RTO_min 200 ms",
        "tcp",
        "200ms",
        ("fig2-collapse-32", "fig2-collapse-256"),
    ),
    _alone(
        "3",
        "TCP with an RTO_min of 10 ms",
        "tcp",
        "10ms",
        ("fig3-large", "fig3-32", "fig3-64"),
    ),
    _alone("3-1ms", "TCP with an RTO_min of 1 ms", "tcp", "1ms", ("fig3-1ms",), "tcp/rto=10ms/"),
    _alone(
        "4",
        "Unmodified TCP over unmodified QCN",
        "I",
        "200ms",
        ("fig4-small", "fig4-large"),
        "tcp/rto=200ms/",
    ),
    _alone(
        "5",
        "TCP with an RTO_min of 10 ms over unmodified QCN",
        "I",
        "10ms",
        ("fig5-limit", "fig5-dip", "fig5-before"),
        "I/rto=200ms/",
    ),
)
_MODIFIED = (
    _alone("9", "Congestion-memory sampling (II)", "II", "200ms", ()),
    _alone("10", "Detailed sampling (III)", "III", "200ms", ()),
    _alone(
        "11",
        "Adaptive R_AI (IV)",
        "IV",
        "200ms",
        ("fig11-better", "fig11-collapse"),
        "I/rto=200ms/",
    ),
    _alone("12", "Adaptive R_AI with congestion-memory sampling (V)", "V", "200ms", ()),
    _alone("13", "Adaptive R_AI with detailed sampling (VI)", "VI", "200ms", ()),
)
_BESIDE_UDP = (
    _udp("14", "Unmodified TCP beside UDP", "tcp", "200ms", ("fig14-half",), "tcp/rto=200ms/"),
    _udp(
        "15",
        "TCP with an RTO_min of 10 ms beside UDP",
        "tcp",
        "10ms",
        ("fig15-udp", "fig15-rest"),
    ),
    _udp(
        "16",
        "Unmodified QCN beside UDP",
        "I",
        "200ms",
        ("fig16-better", "fig16-dip"),
        "udp/tcp/rto=10ms/",
    ),
    _udp(
        "17",
        "Adaptive R_AI and congestion-memory sampling (V) beside UDP",
        "V",
        "200ms",
        (),
    ),
    _udp(
        "18",
        "Adaptive R_AI and detailed sampling (VI) beside UDP",
        "VI",
        "200ms",
        (
            *("fig17-18-large", "fig17-18-small", "fig17-18-large-all", "fig17-18-small-all"),
            "fig17-18-dip",
        ),
        "udp/V/rto=200ms/",
    ),
)


def _panel_of(buffer: int) -> str:
    return f"buffer {buffer} KiB"


def _compared(systems: tuple[str, ...], rto: str = "200ms") -> tuple[Curves, Draw]:
    """Give systems against each other, in a panel for each buffer."""
    curves = [
        curve
        for buffer in BUFFERS
        for curve in labelled(_panel_of(buffer), [(one, rto) for one in systems], buffer)
    ]
    panels = {
        _panel_of(buffer): Panel("goodput (Mbit/s)", GOODPUT.line, 1000) for buffer in BUFFERS
    }
    return Curves(tuple(curves)), Draw(panels, columns=2, height=2.4)


def _comparison(
    number: str, title: str, caption: str, systems: tuple[str, ...], claims: tuple[str, ...],
    rtos: tuple[str, ...] = ("200ms",),
) -> FigureSpec:  # fmt: skip
    data, draw = _compared(systems)
    uses = tuple(f"{one}/rto={rto}/" for one in systems for rto in rtos)
    return FigureSpec(number, title, caption, uses, claims, data, draw)


_SAMPLING = _comparison(
    "9-sampling",
    "Sampling: version 2.2, the older rule, every packet, II and III",
    "Goodput at each buffer, RTO_min 200 ms; median over the seeds and their range.",
    ("I", "older", "every", "II", "III"),
    ("every-collapse", "every-cnms", "older-sampling", "fig9-10-every", "fig9-10-better"),
)
_ALL = _comparison(
    "13-all",
    "The six variants of QCN",
    "Goodput at each buffer, RTO_min 200 ms; median over the seeds and their range. The claims "
    "beside it are those of figures 12 and 13.",
    VARIANTS,
    ("fig12-13-best", "fig12-13-256", "fig12-13-32", "fig12-13-rto"),
    ("200ms", "10ms"),
)

_NO_UDP, _WITH_UDP = "requests alone", "beside UDP"
_QUEUES = FigureSpec(
    number="13-queue",
    title="Mean queue at 256 KiB",
    caption="Time-weighted mean of what waits at the switch's port to the client. Hollow "
    "circles, dotted: the paper's numbers for NewReno with 10 ms and for unmodified QCN (section "
    "V).",
    uses=tuple(
        f"{prefix}{system}/rto={rto}/"
        for prefix in ("", "udp/")
        for system, rto in (
            *(("tcp", "10ms"), ("I", "200ms"), ("III", "200ms"), ("V", "200ms"), ("VI", "200ms")),
            *((("I", "10ms"),) if not prefix else ()),
        )
    ),
    claims=(
        *("queue-tcp-8", "queue-tcp-64", "queue-qcn-8", "queue-qcn-64", "fig12-13-queue"),
        *("udp-queue-tcp", "udp-queue-combined", "udp-queue-detailed"),
    ),
    data=Curves(
        tuple(
            Curve(panel, label, system, rto, 256, prefix, queue_kilobytes)
            for panel, prefix in ((_NO_UDP, ""), (_WITH_UDP, "udp/"))
            for label, system, rto in (
                ("NewReno, 10 ms", "tcp", "10ms"),
                (SYSTEMS["I"].label, "I", "200ms"),
                (SYSTEMS["III"].label, "III", "200ms"),
                (SYSTEMS["V"].label, "V", "200ms"),
                (SYSTEMS["VI"].label, "VI", "200ms"),
            )
        ),
        (
            (_NO_UDP, f"{PAPER}, NewReno", {8: 140}),
            (_NO_UDP, f"{PAPER}, I", {8: 20, 64: 70}),
        ),
    ),
    draw=Draw({_NO_UDP: _QUEUE, _WITH_UDP: _QUEUE}),
)


def _table(
    number: str,
    title: str,
    caption: str,
    paper: Mapping[str, Mapping[int, float]],
    rto: str,
    panel: Panel,
    what: object,
    claims: tuple[str, ...],
) -> FigureSpec:
    """Give a table of the paper as a panel for each variant, with the paper's own values."""
    servers = tuple(next(iter(paper.values())))
    return FigureSpec(
        number=number,
        kind="table",
        title=title,
        caption=f"{caption} Buffer 128 KiB; hollow circles, dotted: the paper's values.",
        uses=tuple(f"{system}/rto={rto}/" for system in VARIANTS),
        claims=claims,
        data=Curves(
            tuple(
                Curve(SYSTEMS[one].label, SYSTEMS[one].label, one, rto, TRACED, "", what, servers)  # type: ignore[arg-type]
                for one in VARIANTS
            ),
            tuple((SYSTEMS[one].label, PAPER, paper[one]) for one in VARIANTS),
        ),
        draw=Draw({SYSTEMS[one].label: panel for one in VARIANTS}, columns=3, height=2.1),
    )


_TABLES = (
    _table(
        "II",
        "Notifications sent in 20 s",
        "Notifications (CNMs) that the switch's port to the client sends.",
        TABLE_2,
        "200ms",
        Panel("notifications", scale="log"),
        notifications,
        ("table2-more", "table2-fewer"),
    ),
    _table(
        "III",
        "Timeouts per flow in 20 s",
        "TCP with an RTO_min of 10 ms; linear up to 1.",
        _TABLE_3,
        "10ms",
        Panel("timeouts per flow", scale="symlog"),
        timeouts_per_flow,
        ("table3-few", "table3-many"),
    ),
)

_FAIR = FigureSpec(
    number="16-fair",
    title="Unmodified QCN with fair queueing at the switch",
    caption="As figure 4, with deficit round robin at the switch's ports (quantum 1500 B; a full "
    "buffer drops from the longest queue): the remedy for unfairness at small timescales that "
    "section VI names and leaves.",
    uses=("drr/", "I/rto=200ms/"),
    claims=("fair-queueing",),
    data=Curves(
        (
            *by_buffer("with fair queueing", "I", "200ms", "drr/"),
            *by_buffer("without (figure 4)", "I", "200ms"),
        )
    ),
    draw=Draw(
        {
            "with fair queueing": Panel("goodput (Mbit/s)", GOODPUT.line, 1000),
            "without (figure 4)": Panel("goodput (Mbit/s)", GOODPUT.line, 1000),
        },
        legend="buffer per port",
    ),
)

TCP_AND_QCN = _ALONE
MODIFICATIONS = (_SAMPLING, *_MODIFIED, _ALL, _QUEUES, *_TABLES)
MIXED = (*_BESIDE_UDP, _FAIR)
