"""The keys of a configuration of HPCC's ns-3 simulator: values, and the controls that use them.

Source: kwzhao/High-Precision-Congestion-Control, branch m3: simulation/scratch/third.cc (which keys
there are, their defaults), src/point-to-point/model/ (what reads them). The defaults are those of
third.cc, which overwrites those of the classes.

Leaves out: HPCC-PINT (CC_MODE 10) and its keys.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from enum import Enum, StrEnum, auto
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias

from incastle.importers import quantities
from incastle.importers.lines import WHOLE, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from incastle.importers.lines import Lines

Quantity: TypeAlias = "int | float | str | tuple[int, ...] | dict[int, int] | dict[int, float]"


class Control(StrEnum):
    """The controls that can be had here, by the names that they have here."""

    DCQCN = "dcqcn"
    HPCC = "hpcc"
    TIMELY = "timely"
    RATE_DCTCP = "rate-dctcp"


MODES = {1: Control.DCQCN, 3: Control.HPCC, 7: Control.TIMELY, 8: Control.RATE_DCTCP}
"""By CC_MODE."""
ECN_CONTROLS = (Control.DCQCN, Control.RATE_DCTCP)
"""The controls that react to marks."""


class Kind(Enum):
    """The kind of value after a key."""

    FLAG = auto()
    COUNT = auto()
    NUMBER = auto()
    RATE = auto()
    WORD = auto()
    LINK_DOWN = auto()
    COUNTS_BY_RATE = auto()
    NUMBERS_BY_RATE = auto()


class Given(NamedTuple):
    """A value of the file, and its line."""

    value: Quantity
    line: int


class Key(NamedTuple):
    """A key.

    Attributes:
        kind: of its value.
        default: the value without it; None where there is none.
        controls: whose code reads it.
        inert: why it acts on no flow, if so.

    """

    kind: Kind
    default: Quantity | None = None
    controls: tuple[Control, ...] = tuple(Control)
    inert: str = ""


UNREAD = "nothing in the simulator uses it"
OUTPUT = "it is about the simulator's output"
PINT = "it belongs to CC_MODE 10, HPCC-PINT"
NO_EXPIRY = "a pause lasts until the frame that resumes"

_INCREASE = (Control.DCQCN, Control.TIMELY, Control.HPCC)
_DCQCN, _HPCC, _TIMELY, _DCTCP = ((control,) for control in Control)

KEYS = {
    "ENABLE_QCN": Key(Kind.FLAG, 1, inert=UNREAD),
    "ENABLE_PFC": Key(Kind.FLAG, 1),
    "USE_DYNAMIC_PFC_THRESHOLD": Key(Kind.FLAG, 1, inert=UNREAD),
    "PAUSE_TIME": Key(Kind.NUMBER, 5.0, inert=NO_EXPIRY),
    "DATA_RATE": Key(Kind.WORD, "", inert=UNREAD),
    "LINK_DELAY": Key(Kind.WORD, "", inert=UNREAD),
    "PACKET_PAYLOAD_SIZE": Key(Kind.COUNT, 1000),
    "L2_CHUNK_SIZE": Key(Kind.COUNT, 0),
    "L2_ACK_INTERVAL": Key(Kind.COUNT),
    "L2_BACK_TO_ZERO": Key(Kind.FLAG, 0),
    "TOPOLOGY_FILE": Key(Kind.WORD, ""),
    "FLOW_FILE": Key(Kind.WORD, ""),
    "FLOW_ON_PATH_FILE": Key(Kind.WORD, "", inert=UNREAD),
    "FLOW_PATH_MAP_FILE": Key(Kind.WORD, "", inert=OUTPUT),
    "TRACE_FILE": Key(Kind.WORD, "", inert=OUTPUT),
    "TRACE_OUTPUT_FILE": Key(Kind.WORD, "", inert=OUTPUT),
    "FCT_OUTPUT_FILE": Key(Kind.WORD, "fct.txt", inert=OUTPUT),
    "PFC_OUTPUT_FILE": Key(Kind.WORD, "pfc.txt", inert=OUTPUT),
    "SIMULATOR_STOP_TIME": Key(Kind.NUMBER, 3.01),
    "CC_MODE": Key(Kind.COUNT, 1),
    "ALPHA_RESUME_INTERVAL": Key(Kind.NUMBER, 55.0, _DCQCN),
    "RATE_DECREASE_INTERVAL": Key(Kind.NUMBER, 4.0, _DCQCN),
    # A variable that third.cc does not set.
    "RP_TIMER": Key(Kind.NUMBER, None, _DCQCN),
    "CLAMP_TARGET_RATE": Key(Kind.FLAG, 0, _DCQCN),
    "FAST_RECOVERY_TIMES": Key(Kind.COUNT, 5, _DCQCN),
    # third.cc has 1 / 16, a division of integers.
    "EWMA_GAIN": Key(Kind.NUMBER, 0.0, ECN_CONTROLS),
    "RATE_AI": Key(Kind.RATE, None, _INCREASE),
    "RATE_HAI": Key(Kind.RATE, None, (Control.DCQCN, Control.TIMELY)),
    "MIN_RATE": Key(Kind.RATE, 10**8),
    "MAX_RATE": Key(Kind.RATE, 10**10),
    "DCTCP_RATE_AI": Key(Kind.RATE, 10**9, _DCTCP),
    "TIMELY_T_HIGH": Key(Kind.COUNT, 500_000, _TIMELY),
    "TIMELY_T_LOW": Key(Kind.COUNT, 50_000, _TIMELY),
    "TIMELY_BETA": Key(Kind.NUMBER, 0.8, _TIMELY),
    "ERROR_RATE_PER_LINK": Key(Kind.NUMBER, 0.0),
    "HAS_WIN": Key(Kind.FLAG, 1),
    "FIXED_WIN": Key(Kind.COUNT, 0),
    "VAR_WIN": Key(Kind.FLAG, 0),
    "BASE_RTT": Key(Kind.COUNT, 0, _HPCC),
    "GLOBAL_T": Key(Kind.FLAG, 1, inert=UNREAD),
    "FAST_REACT": Key(Kind.FLAG, 1, _HPCC),
    "U_TARGET": Key(Kind.NUMBER, 0.95, _HPCC),
    "MI_THRESH": Key(Kind.COUNT, 5, _HPCC),
    "INT_MULTI": Key(Kind.COUNT, 1, _HPCC),
    "MULTI_RATE": Key(Kind.FLAG, 1, _HPCC),
    "SAMPLE_FEEDBACK": Key(Kind.FLAG, 0, _HPCC),
    "PINT_LOG_BASE": Key(Kind.NUMBER, 1.05, inert=PINT),
    "PINT_PROB": Key(Kind.NUMBER, 1.0, inert=PINT),
    "RATE_BOUND": Key(Kind.FLAG, 1),
    "ACK_HIGH_PRIO": Key(Kind.FLAG, 0),
    "LINK_DOWN": Key(Kind.LINK_DOWN, (0, 0, 0)),
    "ENABLE_TRACE": Key(Kind.FLAG, 1, inert=OUTPUT),
    "KMAX_MAP": Key(Kind.COUNTS_BY_RATE, None, ECN_CONTROLS),
    "KMIN_MAP": Key(Kind.COUNTS_BY_RATE, None, ECN_CONTROLS),
    "PMAX_MAP": Key(Kind.NUMBERS_BY_RATE, None, ECN_CONTROLS),
    "BUFFER_SIZE": Key(Kind.COUNT, 16),
    "QLEN_MON_FILE": Key(Kind.WORD, "", inert=OUTPUT),
    # Read by variants of the program that sample queues more often.
    "QLEN_MON_INTERVAL": Key(Kind.COUNT, 100, inert=OUTPUT),
    "QLEN_MON_START": Key(Kind.COUNT, 2_000_000_000, inert=OUTPUT),
    "QLEN_MON_END": Key(Kind.COUNT, 2_100_000_000, inert=OUTPUT),
}

MAX_COUNT = 2**32 - 1
"""Most numbers are unsigned integers of 32 bits there."""
NANOSECONDS = ("QLEN_MON_START", "QLEN_MON_END", "BASE_RTT")
"""Keys whose numbers have 64 bits there."""
REMARK = re.compile(r"\{[^{}]*\}\s*$")
"""A remark at the end of a line, as in the family's config_doc.txt: no word of it is a key."""


def read_keys(lines: Lines) -> dict[str, Given]:
    """Read the keys of a file: each one once, in any order, in any division into lines.

    Raises:
        BrokenFile: a key is unknown or given twice, or its value is not right.

    """
    words = [
        (number, word) for number, line in lines.filled() for word in REMARK.sub("", line).split()
    ]
    found: dict[str, Given] = {}
    rest = iter(words)
    last = ""
    for line, name in rest:
        if name not in KEYS:
            lines.fail(line, _unknown(name, last))
        if name in found:
            lines.fail(line, f"{name} is given twice; the first is in line {found[name].line}")
        found[name] = Given(_Value(lines, name, line, rest).read(KEYS[name].kind), line)
        last = name
    return found


def _unknown(name: str, last: str) -> str:
    """Describe a word that is no key, with the one that is meant."""
    near = get_close_matches(name.upper(), KEYS, 1, 0.75)
    if near:
        return f"no key {shown(name)}: did you mean {near[0]}?"
    if name.startswith("#"):
        return f"no key {shown(name)}: a remark stands in braces at the end of a line, {{so}}"
    after = f" after {last} and its value" if last else ""
    return f"expected a key{after}, found {shown(name)}"


class _Value:
    """The words after one key."""

    def __init__(self, lines: Lines, name: str, line: int, rest: Iterator[tuple[int, str]]) -> None:
        self.lines = lines
        self.name = name
        self.line = line
        self.rest = rest

    def read(self, kind: Kind) -> Quantity:
        """Read as many words as the kind takes."""
        readers: dict[Kind, Callable[[], Quantity]] = {
            Kind.FLAG: self._flag,
            Kind.COUNT: self._whole,
            Kind.NUMBER: self._number,
            Kind.RATE: self._rate,
            Kind.WORD: self._next,
            Kind.LINK_DOWN: self._link_down,
            Kind.COUNTS_BY_RATE: self._thresholds,
            Kind.NUMBERS_BY_RATE: self._probabilities,
        }
        return readers[kind]()

    def _next(self, wanted: str = "a word") -> str:
        line, word = next(self.rest, (0, ""))
        if not word:
            self.lines.fail(self.line, f"{self.name} needs {wanted}, and the file ends")
        self.line = line
        return word

    def _fail(self, wanted: str, word: str) -> NoReturn:
        self.lines.fail(self.line, f"{self.name} needs {wanted}, found {shown(word)}")

    def _flag(self) -> int:
        word = self._next("0 or 1")
        if word not in ("0", "1"):
            self._fail("0 or 1", word)
        return int(word)

    def _count(self, wanted: str, limit: int) -> int:
        word = self._next(wanted)
        if WHOLE.fullmatch(word) is None or int(word) > limit:
            self._fail(f"{wanted} up to {limit}", word)
        return int(word)

    def _whole(self) -> int:
        limit = 2**63 - 1 if self.name in NANOSECONDS else MAX_COUNT
        return self._count("a whole number", limit)

    def _link_down(self) -> tuple[int, ...]:
        wanted = "a time in microseconds and two nodes"
        return tuple(self._count(wanted, MAX_COUNT) for _ in range(3))

    def _thresholds(self) -> dict[int, int]:
        return {rate: self._count("a threshold in KB", MAX_COUNT) for rate in self._rates()}

    def _probabilities(self) -> dict[int, float]:
        return {rate: self._number("a probability") for rate in self._rates()}

    def _number(self, wanted: str = "a number such as 0.5") -> float:
        word = self._next(wanted)
        value = quantities.number(word)
        if value is None:
            self._fail(wanted, word)
        return float(value)

    def _rate(self) -> int:
        word = self._next("a rate such as 100Mb/s")
        value = quantities.ns3_rate(word)
        if not value:
            self._fail("a rate such as 100Mb/s", word)
        return value

    def _rates(self) -> Iterator[int]:
        """Yield the rates of a map, whose values are read between."""
        seen: set[int] = set()
        for _ in range(self._count("the number of pairs", MAX_COUNT)):
            rate = self._count("a rate in bit/s", 2**63 - 1)
            if rate in seen:
                self.lines.fail(self.line, f"{self.name} has the rate {rate} twice")
            seen.add(rate)
            yield rate
