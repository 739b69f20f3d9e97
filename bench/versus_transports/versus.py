"""Measures Incastle's DCUDP and UDT and other transports, one after the other, on this machine.

    python3 bench/versus_transports/versus.py [--quick] [--only NAME ...] [--out FILE]

Prints tables in Markdown and writes every single measurement as JSON. What is not installed is left
out, with a message. Nothing is asserted; README.md in this folder describes the method. Needs root.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import ends
import lab
import machine
import tables
import transports
from records import Record
from transports import TRANSPORTS, Transport

LOSS = 0.01


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes:
        seconds, pings: length of one measurement.
        repeats: measurements of each transport.
        patience_s, patience_lossy_s: time to deliver buffered data after the measurement, without
            and with losses.
        budget_s: total time; no measurement begins after it.

    """

    seconds: int
    pings: int
    repeats: int
    patience_s: int
    patience_lossy_s: int
    budget_s: int


FULL = Plan(seconds=4, pings=10_000, repeats=3, patience_s=10, patience_lossy_s=100, budget_s=600)
QUICK = Plan(seconds=2, pings=5_000, repeats=1, patience_s=10, patience_lossy_s=30, budget_s=190)


@dataclass(frozen=True)
class Setting:
    """A traffic pattern and a path."""

    how: str
    offloads: bool
    loss: float = 0.0

    def includes(self, transport: Transport) -> bool:
        """Tell whether a transport is measured so."""
        return self.loss == 0.0 or transport.losses

    def comes(self, repeat: int) -> bool:
        """Tell whether it is measured this time: under losses once, some take long to deliver."""
        return self.loss == 0.0 or repeat == 0

    def __str__(self) -> str:
        """Return it as a string."""
        loss = f", {self.loss:.0%} loss" if self.loss else ""
        return f"{self.how}, offloads {'on' if self.offloads else 'off'}{loss}"


SETTINGS = (
    Setting("send", offloads=False),
    Setting("send", offloads=True),
    Setting("ping", offloads=False),
    Setting("ping", offloads=True),
    Setting("send", offloads=False, loss=LOSS),
)


def main() -> None:
    """Measure, print and write."""
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
    plan = QUICK if options.quick else FULL
    with lab.opened() as opened:
        chosen, left_out = prepared(options.only)
        before = machine.description()
        records = all_records(opened, chosen, plan)
    document = {
        "machine": before,
        "versions": transports.versions(),
        "plan": vars(plan),
        "left_out": left_out,
        "records": [record.fields() for record in records],
    }
    options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(tables.everything(document, records))
    print(f"\nEvery measurement: {options.out}")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="once and briefly, below 4 minutes")
    names = [one.name for one in TRANSPORTS]
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=names, help=f"of {', '.join(map(repr, names))}"
    )
    default = transports.WORK / "result.json"
    parser.add_argument("--out", type=Path, default=default, help="the JSON file")
    options = parser.parse_args()
    try:
        # Now, not after ten minutes.
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.touch()
    except OSError as error:
        parser.error(f"--out {options.out}: {error.strerror}")
    return options


def prepared(only: list[str] | None) -> tuple[list[Transport], dict[str, str]]:
    """Build what is measured; return it, and why the rest is not."""
    reasons: dict[str, str | None] = {}
    chosen, left_out = [], {}
    for transport in TRANSPORTS:
        if only and transport.name not in only:
            continue
        if transport.part not in reasons:
            log(f"building {transport.part}")
            reasons[transport.part] = transports.build(transport.part)
        reason = reasons[transport.part]
        if reason is None:
            chosen.append(transport)
        else:
            log(f"{transport.name} is left out: {reason}")
            left_out[transport.name] = reason
    return chosen, left_out


def all_records(opened: lab.Lab, chosen: list[Transport], plan: Plan) -> list[Record]:
    """Measure the transports in turn in each setting, then all of it again."""
    records: list[Record] = []
    end = time.monotonic() + plan.budget_s
    for repeat in range(plan.repeats):
        for setting in (one for one in SETTINGS if one.comes(repeat)):
            opened.offloads(on=setting.offloads)
            with opened.loss(setting.loss):
                for transport in filter(setting.includes, chosen):
                    if time.monotonic() > end:
                        log(f"{plan.budget_s} s are over: the rest is left out")
                        return records
                    record = one_record(opened, setting, transport, plan)
                    log(f"{repeat + 1}/{plan.repeats} {setting}: {transport.name}: {record}")
                    records.append(record)
    return records


def one_record(opened: lab.Lab, setting: Setting, transport: Transport, plan: Plan) -> Record:
    """Measure once."""
    amount = plan.pings if setting.how == "ping" else plan.seconds
    server = opened.inside("receiver", *transport.server(setting.how))
    client = opened.inside("sender", *transport.client(setting.how, str(amount)))
    record = Record(transport.name, setting.how, setting.offloads, setting.loss)
    limit = plan.seconds + (plan.patience_lossy_s if setting.loss else plan.patience_s)
    before = opened.arrived()
    try:
        outcome = ends.measured(server, client, transport.environment, limit)
        if setting.how == "ping":
            return record.with_pings(transport.pings(outcome), outcome)
        traffic = opened.arrived() - before
        record = record.with_goodput(transport.goodput(outcome), outcome, traffic)
    except ends.FailedError as failure:
        return record.with_failure(str(failure))
    if not setting.offloads and traffic.bytes > traffic.packets * (lab.MTU + lab.HEADER):
        return record.with_failure("super-packets crossed the link")
    return record


def log(message: str) -> None:
    """Tell how far it is."""
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted")
