"""`incastle kernel`: the kernel's TCP under one of our controls."""

from __future__ import annotations

from typing import Annotated

import typer

EXAMPLES = (
    "sudo incastle kernel --cc my.py:Mine -- iperf3 -c 192.0.2.1 -C incastle_bridge",
    "sudo incastle kernel --cc dctcp -- iperf3 -c 192.0.2.1 -C incastle_dctcp",
    "sudo incastle kernel --cc swift --set transport.ecn=off",
)


def kernel(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="Until its end; without one, to Ctrl-C."),
    ] = None,
    cc: Annotated[
        str, typer.Option("--cc", metavar="NAME", help="A control of TCP, or FILE.py:CLASS.")
    ] = "dctcp",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A key of its transport. Repeatable."),
    ] = None,
) -> None:
    """Give the kernel's TCP one of our congestion controls, your own included (eBPF).

    Needs root, Linux 6.10 or later, and `make kernel`. DCTCP runs in the kernel, as
    incastle_dctcp. Every other control decides in this process, through incastle_bridge, or
    incastle_b_ecn where transport.ecn is "dctcp". A socket gets it by its option TCP_CONGESTION;
    `ss -ti` shows it. Details: docs/kernel.md.
    """
    from incastle.worlds import serving  # noqa: PLC0415  slow to import

    pairs = [(key.strip(), value) for key, _, value in map(_parts, settings or [])]
    raise typer.Exit(serving.serve(cc, pairs, command or []))


def _parts(text: str) -> tuple[str, str, str]:
    parts = text.partition("=")
    if not parts[1]:
        raise typer.BadParameter(f"--set {text}: KEY=VALUE is expected, as in transport.ecn=off")
    return parts
