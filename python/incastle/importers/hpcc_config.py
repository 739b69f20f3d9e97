"""Configurations of HPCC's ns-3 simulator: control, windows, PFC, buffers, marking.

    CC_MODE 3                                   a key and its value
    RATE_AI 50Mb/s {Additive increase}          a remark at the end of a line
    KMAX_MAP 1 25000000000 400                  pairs of a rate in bit/s and a threshold in KB

Source: kwzhao/High-Precision-Congestion-Control, branch m3, simulation/scratch/third.cc and
src/point-to-point/model/. The units and defaults are the simulator's own:

- Sizes in KMIN_MAP and KMAX_MAP are thousands of bytes; BUFFER_SIZE counts KiB (MB in the
  repository that branch m3 is from).
- Intervals of DCQCN are whole microseconds: MicroSeconds() takes an integer, a fraction is cut.
- Without EWMA_GAIN the gain is 0: the program divides two integers.
- L2_BACK_TO_ZERO 1 goes back to the start of a chunk, and 0 to the packet that is missing;
  config_doc.txt has them the other way round.
- L2_ACK_INTERVAL is compared with a position in the flow: every packet has an ACK, except those
  before that byte.

Leaves out: HPCC-PINT (CC_MODE 10), and other numbers of CC_MODE, which are no control at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias, cast

from incastle.importers.hpcc_keys import KEYS, MAX_COUNT, MODES, Control, Given, read_keys
from incastle.units import PS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from incastle.importers.lines import Lines, Note

KB, KIB = 1000, 1024
PINT = 10
EVERY_PACKET = 1
"""The L2_ACK_INTERVAL with which even a flow of one byte has an ACK."""


@dataclass(frozen=True)
class Dcqcn:
    """DCQCN in the form of Mellanox: intervals in microseconds, rates in bit/s."""

    alpha_interval_us: int
    decrease_interval_us: int
    increase_interval_us: int
    gain: float
    fast_recovery_times: int
    rate_ai: int
    rate_hai: int
    clamp_target_rate: bool


@dataclass(frozen=True)
class Hpcc:
    """HPCC: the base RTT T in nanoseconds, the increase in bit/s.

    Attributes:
        target_utilization: eta.
        max_stage: increases before a multiplicative step.
        fast_react: react to every ACK; else once per RTT.
        rate_per_hop: a rate for each hop, the least of which counts.
        sample_feedback: between the updates of an RTT, skip hops with an empty queue.
        int_multi: multiplies the units in which INT has bytes and queues.

    """

    base_rtt_ns: int
    target_utilization: float
    max_stage: int
    rate_ai: int
    fast_react: bool
    rate_per_hop: bool
    sample_feedback: bool
    int_multi: int


@dataclass(frozen=True)
class Timely:
    """TIMELY: thresholds of the RTT in nanoseconds, increases in bit/s."""

    t_low_ns: int
    t_high_ns: int
    beta: float
    rate_ai: int
    rate_hai: int


@dataclass(frozen=True)
class RateDctcp:
    """DCTCP in rate form: the gain g, the increase per RTT in bit/s."""

    gain: float
    rate_ai: int


Parameters: TypeAlias = Dcqcn | Hpcc | Timely | RateDctcp


class Ecn(NamedTuple):
    """Marking of a port: from 0 at Kmin to Pmax at Kmax, in bytes; certain above Kmax."""

    kmin_bytes: int
    kmax_bytes: int
    pmax: float


class Window(NamedTuple):
    """The most bytes in flight of a flow; `scaled` by its rate over its largest rate."""

    bytes: int
    scaled: bool


class LinkDown(NamedTuple):
    """The link of two nodes that fails, and when, in picoseconds."""

    at_ps: int
    a: int
    b: int


@dataclass(frozen=True)
class HpccConfig:
    """A configuration. Rates in bit/s, sizes in bytes, times in picoseconds.

    Attributes:
        file: the file as it was named.
        parameters: those of the control, and of no other.
        payload_bytes: of a full packet, without headers.
        min_rate: of a flow.
        max_rate: of a flow that begins, and of its window; no later limit in every control.
        rate_bound: whether flows are paced by their rate; else by their largest one.
        window: None where flows have none.
        ack_high_prio: ACKs have the highest priority; else that of data.
        pfc: whether pauses are obeyed; switches send them in any case.
        buffer_bytes: of each switch, all ports together.
        ecn: marking by the rate of a port.
        go_back_chunk_bytes: a loss goes back to a multiple of it; None goes back to the loss.
        error_rate: probability that a packet is lost on a link without another one.
        link_down: None where no link fails.
        stop_ps: the end of the simulation.
        topology_file: as it is named there; empty where the configuration names none.
        flow_file: the same of flows.
        inert: keys of the file that act on no flow, and why.
        notes: what the file has and a reader would take for something else.

    """

    file: str
    parameters: Parameters
    payload_bytes: int
    min_rate: int
    max_rate: int
    rate_bound: bool
    window: Window | None
    ack_high_prio: bool
    pfc: bool
    buffer_bytes: int
    ecn: Mapping[int, Ecn]
    go_back_chunk_bytes: int | None
    error_rate: float
    link_down: LinkDown | None
    stop_ps: int
    topology_file: str
    flow_file: str
    inert: Mapping[str, str]
    notes: Sequence[Note]

    @property
    def control(self) -> Control:
        """The control."""
        return CONTROLS[type(self.parameters)]

    def ecn_of(self, rate: int) -> Ecn:
        """Return the marking of a port; one of a rate without marking marks above an empty queue.

        The simulator's maps return 0 for a rate that they do not have (`std::unordered_map`), where
        its assertions are compiled out.
        """
        return self.ecn.get(rate, Ecn(0, 0, 0.0))


CONTROLS: dict[type[Parameters], Control] = {
    Dcqcn: Control.DCQCN,
    Hpcc: Control.HPCC,
    Timely: Control.TIMELY,
    RateDctcp: Control.RATE_DCTCP,
}


def read(lines: Lines) -> HpccConfig:
    """Read a configuration.

    Raises:
        BrokenFile: a key is unknown, missing or given twice, or its value is not right.

    """
    given = _Values(lines, read_keys(lines))
    control = _control(given)
    parameters = _PARAMETERS[control](given)
    chunk = _chunk(given)
    _note_ack_interval(given)
    return HpccConfig(
        file=lines.file,
        parameters=parameters,
        payload_bytes=given.count("PACKET_PAYLOAD_SIZE", 1),
        min_rate=given.count("MIN_RATE"),
        max_rate=given.count("MAX_RATE"),
        rate_bound=given.flag("RATE_BOUND"),
        window=_window(given, control),
        ack_high_prio=given.flag("ACK_HIGH_PRIO"),
        pfc=given.flag("ENABLE_PFC"),
        buffer_bytes=KIB * given.count("BUFFER_SIZE", 1, MAX_COUNT // KIB),
        ecn=_ecn(given),
        go_back_chunk_bytes=chunk,
        error_rate=given.share("ERROR_RATE_PER_LINK"),
        link_down=_link_down(given),
        stop_ps=given.seconds("SIMULATOR_STOP_TIME"),
        topology_file=given.word("TOPOLOGY_FILE"),
        flow_file=given.word("FLOW_FILE"),
        inert=_inert(given, control),
        notes=lines.notes,
    )


MOST = 2**63 - 1
"""The greatest whole number of a scenario."""


class _Values:
    """Values by key, with third.cc's default where the file has none."""

    def __init__(self, lines: Lines, found: Mapping[str, Given]) -> None:
        self.lines = lines
        self.found = found

    def line(self, name: str) -> int:
        """Return the line of a key; 0, the whole file, where it is not there."""
        return self.found[name].line if name in self.found else 0

    def fail_for(self, name: str, message: str) -> NoReturn:
        self.lines.fail(self.line(name), message)

    def _value(self, name: str) -> object:
        if name in self.found:
            return self.found[name].value
        if KEYS[name].default is None:
            self.lines.fail(0, f"{name} is missing: the simulator has no default for it")
        return KEYS[name].default

    def flag(self, name: str) -> bool:
        return bool(self._value(name))

    def word(self, name: str) -> str:
        return str(self._value(name))

    def count(self, name: str, minimum: int = 0, maximum: int = MOST) -> int:
        """Return a whole number within bounds."""
        value = cast("int", self._value(name))
        if not minimum <= value <= maximum:
            allowed = f"at least {minimum}" if maximum == MOST else f"{minimum} to {maximum}"
            missing = "" if name in self.found else ", the default of a missing key"
            self.fail_for(name, f"{name} {value}{missing}: {allowed} is allowed")
        return value

    def number(self, name: str) -> float:
        return cast("float", self._value(name))

    def share(self, name: str) -> float:
        """Return a number from 0 to 1."""
        value = self.number(name)
        if value > 1:
            self.fail_for(name, f"{name} {value:g}: 0 to 1 is allowed")
        return value

    def microseconds(self, name: str) -> int:
        """Return an interval, without its fraction; one of 0 would never let time pass."""
        value = self.number(name)
        if value < 1:
            self.fail_for(name, f"{name} {value:g}: at least 1 (microsecond) is allowed")
        if not value.is_integer():
            self.lines.note(
                self.line(name),
                f"{name} {value:g}: the simulator cuts the fraction: {int(value)} us",
            )
        return int(value)

    def seconds(self, name: str) -> int:
        """Return a time in picoseconds."""
        return round(self.number(name) * PS_PER_S)

    def triple(self, name: str) -> tuple[int, int, int]:
        return cast("tuple[int, int, int]", self._value(name))

    def by_rate(self, name: str) -> dict[int, float]:
        """Return a map from rates in bit/s."""
        return cast("dict[int, float]", self._value(name))


def _control(given: _Values) -> Control:
    mode = given.count("CC_MODE")
    if mode not in MODES:
        allowed = ", ".join(f"{number} ({control})" for number, control in MODES.items())
        what = "HPCC-PINT is not read here" if mode == PINT else "there is no such control"
        given.fail_for("CC_MODE", f"CC_MODE {mode}: {what}; {allowed} are allowed")
    return MODES[mode]


def _gain(given: _Values) -> float:
    if "EWMA_GAIN" not in given.found:
        given.lines.note(
            0, "EWMA_GAIN is missing: the gain is 0, as the simulator's default 1 / 16 is in C++"
        )
    return given.share("EWMA_GAIN")


def _dcqcn(given: _Values) -> Dcqcn:
    return Dcqcn(
        alpha_interval_us=given.microseconds("ALPHA_RESUME_INTERVAL"),
        decrease_interval_us=given.microseconds("RATE_DECREASE_INTERVAL"),
        increase_interval_us=given.microseconds("RP_TIMER"),
        gain=_gain(given),
        fast_recovery_times=given.count("FAST_RECOVERY_TIMES"),
        rate_ai=given.count("RATE_AI"),
        rate_hai=given.count("RATE_HAI"),
        clamp_target_rate=given.flag("CLAMP_TARGET_RATE"),
    )


def _hpcc(given: _Values) -> Hpcc:
    target = given.share("U_TARGET")
    if target == 0:
        given.fail_for("U_TARGET", "U_TARGET 0: above 0, up to 1 is allowed")
    return Hpcc(
        # HPCC divides by T, and INT counts in multiples.
        base_rtt_ns=given.count("BASE_RTT", 1),
        target_utilization=target,
        max_stage=given.count("MI_THRESH"),
        rate_ai=given.count("RATE_AI"),
        fast_react=given.flag("FAST_REACT"),
        rate_per_hop=given.flag("MULTI_RATE"),
        sample_feedback=given.flag("SAMPLE_FEEDBACK"),
        int_multi=given.count("INT_MULTI", 1),
    )


def _timely(given: _Values) -> Timely:
    low, high = given.count("TIMELY_T_LOW", 1), given.count("TIMELY_T_HIGH", 1)
    if low > high:
        given.fail_for("TIMELY_T_LOW", f"TIMELY_T_LOW {low} is above TIMELY_T_HIGH {high}")
    beta = given.share("TIMELY_BETA")
    return Timely(low, high, beta, given.count("RATE_AI"), given.count("RATE_HAI"))


def _rate_dctcp(given: _Values) -> RateDctcp:
    return RateDctcp(_gain(given), given.count("DCTCP_RATE_AI"))


_PARAMETERS: dict[Control, Callable[[_Values], Parameters]] = {
    Control.DCQCN: _dcqcn,
    Control.HPCC: _hpcc,
    Control.TIMELY: _timely,
    Control.RATE_DCTCP: _rate_dctcp,
}


def _window(given: _Values, control: Control) -> Window | None:
    # third.cc hands a window of 0, which is none, to flows without HAS_WIN.
    size = given.count("FIXED_WIN") if given.flag("HAS_WIN") else 0
    if size:
        return Window(size, given.flag("VAR_WIN"))
    if control is Control.HPCC:
        name = "FIXED_WIN" if given.flag("HAS_WIN") else "HAS_WIN"
        given.fail_for(name, "HPCC needs a window: HAS_WIN 1 and FIXED_WIN from 1")
    return None


def _ecn(given: _Values) -> dict[int, Ecn]:
    kmin, kmax, pmax = (given.by_rate(name) for name in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP"))
    for name, values in (("KMIN_MAP", kmin), ("PMAX_MAP", pmax)):
        if values.keys() != kmax.keys():
            rate = min(values.keys() ^ kmax.keys())
            given.fail_for(name, f"{name} and KMAX_MAP differ in the rate {rate}")
    for rate, low in kmin.items():
        if low > kmax[rate]:
            above = f"Kmin {low} KB is above Kmax {kmax[rate]} KB"
            given.fail_for("KMIN_MAP", f"KMIN_MAP, rate {rate}: {above}")
        if pmax[rate] > 1:
            found = f"{pmax[rate]:g}: 0 to 1 is allowed"
            given.fail_for("PMAX_MAP", f"PMAX_MAP, rate {rate}: {found}")
    return {
        rate: Ecn(KB * int(kmin[rate]), KB * int(kmax[rate]), float(pmax[rate])) for rate in kmax
    }


def _chunk(given: _Values) -> int | None:
    if not given.flag("L2_BACK_TO_ZERO"):
        return None
    size = given.count("L2_CHUNK_SIZE")
    line = given.line("L2_BACK_TO_ZERO")
    if size == 0:
        given.lines.fail(line, "L2_BACK_TO_ZERO 1 needs L2_CHUNK_SIZE from 1: it divides by it")
    given.lines.note(
        line,
        f"L2_BACK_TO_ZERO 1: a loss goes back to a multiple of {size} B; config_doc.txt "
        "describes 0 and 1 the other way round",
    )
    return size


def _note_ack_interval(given: _Values) -> None:
    interval = given.count("L2_ACK_INTERVAL")
    line = given.line("L2_ACK_INTERVAL")
    if interval < EVERY_PACKET:
        given.lines.fail(line, "L2_ACK_INTERVAL 0: senders would ignore every ACK; 1 is allowed")
    if interval > EVERY_PACKET:
        given.lines.note(
            line,
            f"L2_ACK_INTERVAL {interval}: every packet has an ACK all the same, except those that "
            f"end before byte {interval} of a flow",
        )


def _link_down(given: _Values) -> LinkDown | None:
    after_us, a, b = given.triple("LINK_DOWN")
    # third.cc counts from 2 s.
    return LinkDown((2_000_000 + after_us) * 10**6, a, b) if after_us else None


def _inert(given: _Values, control: Control) -> dict[str, str]:
    """Return the keys of the file that act on no flow, and why; they are noted in one line."""
    found = {name: KEYS[name].inert for name in given.found if KEYS[name].inert}
    for name in given.found:
        if control not in KEYS[name].controls:
            found[name] = f"{control} does not use it"
    unless = {
        "L2_CHUNK_SIZE": ("L2_BACK_TO_ZERO", given.flag("L2_BACK_TO_ZERO")),
        "FIXED_WIN": ("HAS_WIN", given.flag("HAS_WIN")),
        "VAR_WIN": ("HAS_WIN", given.flag("HAS_WIN")),
    }
    for name, (switch, on) in unless.items():
        if name in given.found and not on:
            found[name] = f"{switch} is 0"
    if given.count("L2_ACK_INTERVAL") == EVERY_PACKET:
        found["L2_ACK_INTERVAL"] = "every packet has an ACK"
    if found:
        line = min(given.line(name) for name in found)
        given.lines.note(line, f"without effect on any flow: {', '.join(found)}")
    return found
