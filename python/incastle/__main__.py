"""The command `incastle`, and `python -m incastle`."""

from typing import NoReturn

from incastle import interrupts


def main() -> NoReturn:
    """Import the command line, which takes a moment, and run it."""
    interrupts.leave_at_once()
    from incastle.commands import app  # noqa: PLC0415  slow to import

    app.main()


if __name__ == "__main__":
    main()
