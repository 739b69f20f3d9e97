"""The command line.

Exit status: 0 done; 2 bad input or a place that cannot be written, with one message; 3 a defect of
Incastle; 130 interrupted, with what was finished kept. A traceback never reaches the user,
unless INCASTLE_TRACEBACK is set.
"""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from incastle import __version__, interrupts, terminal, usage
from incastle.commands.options import examples
from incastle.errors import IncastleError, InternalError, ScenarioError
from incastle.interrupts import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable

COMMANDS = {
    "run": "Simulate a scenario and save the result.",
    "check": (
        "Check scenarios without running them: each mistake with its line and the valid choices."
    ),
    "sweep": "Simulate every combination of the values of some keys, with one or more seeds each.",
    "find": "Find the limit of a condition along a key, or the best values for a measure.",
    "estimate": (
        "Estimate flow completion times link by link, for networks too large for one simulation."
    ),
    "explain": "Explain why a flow was slow: what it waited for, and the cause of each timeout.",
    "diff": "Show what differs between two results, or between two reports.",
    "report": "Write one HTML page about a run: scenario, figures, tables, its slowest flows.",
    "plot": "Draw one figure of one or several results, or of a sweep.",
    "choose-k": "Find the marking threshold K of a switch port for its rate, RTT and hosts.",
    "collapse": (
        "Find the number of servers at which a storage cluster collapses, and what remedies gain."
    ),
    "lab": "Experiment in the browser, with the same engine.",
    "reproduce": "Reproduce the figures of papers, and judge their claims one by one.",
    "readings": (
        "Search what a paper leaves open for the reading under which most of its claims hold."
    ),
    "robust": (
        "Try each claim of a paper over seeds, packet size, jitter, RTT and what is left open."
    ),
    "pack": "Pack a report or results with all that repeats them, as an RO-Crate.",
    "verify": "Verify an artifact: its files, and that a second run gives the same.",
    "list": (
        "List the names that a scenario can use, the papers, the measures or the kinds of plots."
    ),
    "schema": "Print the JSON Schema of the scenario language, for use in editors.",
    "import": "Make a scenario from files of other simulators.",
    "validate": "Simulate cases of HPCC's ns-3 simulator and compare the FCTs flow by flow.",
    "validate-worlds": (
        "Run scenarios in real time and in the simulator, and compare what comes out."
    ),
    "kernel": "Give the kernel's TCP one of our congestion controls, your own included (eBPF).",
    "bench": "Measure the speed of the engine in packet-hops per second.",
}
"""Each command and the first line of its help, in the order of `incastle --help`."""


class _Commands(TyperGroup):
    """The commands; reports a Ctrl-C that no command has reported, as Typer does not."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  the contexts and results of Typer's core
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            terminal.error("interrupted")
            raise typer.Exit(INTERRUPTED) from None


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"incastle {__version__}")
        raise typer.Exit


def incastle(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Congestion control in data centers, simulated packet by packet."""
    del version
    if context.invoked_subcommand is None:
        print(context.get_help())


def application(name: str | None = None) -> typer.Typer:
    """Return the command line with one command, or with names and short help of all.

    Importing all commands would take longer than any short one.
    """
    app = typer.Typer(
        name="incastle",
        cls=_Commands,
        invoke_without_command=True,
        add_completion=False,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(
        epilog=examples(
            "incastle run examples/incast.toml",
            "incastle reproduce --quick",
            "incastle run --help",
        )
    )(incastle)
    if name in COMMANDS:
        function, lines = command(name)
        app.command(name, epilog=examples(*lines))(function)
        return app
    for other, line in COMMANDS.items():
        app.command(other, help=line)(lambda: None)
    return app


def command(name: str) -> tuple[Callable[..., None], tuple[str, ...]]:
    """Import a command; return its function and the examples of its help."""
    # `list` and `import` are names of Python, and have no dash.
    word = name.replace("-", "_")
    place = f"incastle.commands.{word}" if name != "kernel" else "incastle.worlds.kernel_command"
    module = import_module(f"{place}_" if word == "import" else place)
    return getattr(module, word, None) or getattr(module, f"{word}_"), module.EXAMPLES


def main() -> NoReturn:
    """Run the command line; every exception becomes one message and an exit status."""
    warnings.showwarning = terminal.show_warning
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        # Where a shell has closed one (>&-), there is no stream at all.
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
        _run_and_report()


def _run_and_report() -> NoReturn:
    if os.environ.get("INCASTLE_TRACEBACK"):
        sys.exit(_run_app())
    try:
        sys.exit(_run_app())
    except TyperException as error:
        _explain_usage(error)
    except ScenarioError as error:
        terminal.scenario_error(error)
        sys.exit(error.exit_status)
    except InternalError as error:
        _report_defect(str(error))
    except IncastleError as error:
        terminal.error(str(error))
        sys.exit(error.exit_status)
    except OSError as error:
        terminal.error(_os_error(error))
        _abandon_output()
        sys.exit(IncastleError.exit_status)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001  the last resort: no traceback for users
        _report_defect(f"{type(error).__name__}: {error}")


def _run_app() -> int | None:
    interrupts.raise_again()
    for option, value in pairwise(sys.argv[1:]):
        if option.startswith("--") and option != "--title" and not value:
            raise IncastleError(f"{option} needs a value, found an empty one")
    try:
        name = next((word for word in sys.argv[1:] if not word.startswith("-")), None)
        status: int | None = application(name)(prog_name="incastle", standalone_mode=False)
        # A full disk behind a redirection shows itself here, where it can still be reported.
        sys.stdout.flush()
    except OSError as error:
        # Other files have a name.
        error.filename = error.filename or "standard output"
        raise
    return status


def _abandon_output() -> None:
    """Keep the interpreter from failing once more on what standard output could not take."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain_usage(error: TyperException) -> NoReturn:
    context = getattr(error, "ctx", None)
    words = sys.argv[1:]
    name = next((word for word in words if word in COMMANDS), None)
    command = f"incastle {name}" if name else "incastle"
    if context is not None and context.info_name in COMMANDS:
        command = context.command_path
    terminal.error(usage.message(error.format_message(), words, COMMANDS))
    terminal.note(f"  {command} --help shows what is right")
    sys.exit(IncastleError.exit_status)


def _os_error(error: OSError) -> str:
    """Describe the file and the system's reason."""
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _report_defect(message: str) -> NoReturn:
    terminal.error(f"internal error: {message}")
    terminal.note(
        f"This is a defect of Incastle {__version__}, not of your input. Please report it, "
        "with the scenario, the seed and the line above."
    )
    sys.exit(InternalError.exit_status)
