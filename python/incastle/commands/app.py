"""The command line.

Exit status: 0 done; 2 bad input or a place that cannot be written, told in one message; 3 a defect
of Incastle; 130 interrupted, with what was finished kept. A traceback never reaches the user,
unless INCASTLE_TRACEBACK is set.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from incastle import __version__, interrupts, terminal
from incastle.commands import (
    bench,
    check,
    diff,
    estimate,
    explain,
    find,
    import_,
    plot,
    reproduce,
    run,
    schema,
    sweep,
)
from incastle.commands import list as list_
from incastle.commands.options import examples
from incastle.errors import IncastleError, InternalError, ScenarioError
from incastle.interrupts import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable

COMMANDS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "run": (run.run, run.EXAMPLES),
    "check": (check.check, check.EXAMPLES),
    "sweep": (sweep.sweep, sweep.EXAMPLES),
    "find": (find.find, find.EXAMPLES),
    "estimate": (estimate.estimate, estimate.EXAMPLES),
    "explain": (explain.explain, explain.EXAMPLES),
    "diff": (diff.diff, diff.EXAMPLES),
    "plot": (plot.plot, plot.EXAMPLES),
    "reproduce": (reproduce.reproduce, reproduce.EXAMPLES),
    "list": (list_.list_, list_.EXAMPLES),
    "schema": (schema.schema, schema.EXAMPLES),
    "import": (import_.import_, import_.EXAMPLES),
    "bench": (bench.bench, bench.EXAMPLES),
}
"""Each command and the examples at the end of its help, in the order of `incastle --help`."""


class _Commands(TyperGroup):
    """The commands; reports a Ctrl-C that no command has reported, as Typer does not."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  the contexts and results of Typer's core
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            terminal.error("interrupted")
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="incastle",
    cls=_Commands,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"incastle {__version__}")
        raise typer.Exit


@app.callback(
    epilog=examples(
        "incastle run examples/incast.toml",
        "incastle reproduce --quick",
        "incastle run --help",
    )
)
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


for _name, (_command, _examples) in COMMANDS.items():
    app.command(_name, epilog=examples(*_examples))(_command)


def main() -> NoReturn:
    """Run the command line; every exception becomes one message and an exit status."""
    warnings.showwarning = terminal.show_warning
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
    try:
        status: int | None = app(prog_name="incastle", standalone_mode=False)
        # A full disk behind a redirection shows itself here, while it can still be told.
        sys.stdout.flush()
    except OSError as error:
        # Whatever else is written knows its name.
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
    command = "incastle" if context is None else context.command_path
    terminal.error(error.format_message().replace("Value error, ", ""))
    terminal.note(f"  {command} --help shows what is right")
    sys.exit(IncastleError.exit_status)


def _os_error(error: OSError) -> str:
    """Say which file and why, in the system's words."""
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _report_defect(message: str) -> NoReturn:
    terminal.error(f"internal error: {message}")
    terminal.note(
        f"This is a defect of Incastle {__version__}, not of your input. Please report it, "
        "with the scenario, the seed and the line above."
    )
    sys.exit(InternalError.exit_status)
