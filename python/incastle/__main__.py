"""`python -m incastle` is the command line."""

from incastle.cli import main

if __name__ == "__main__":
    main()
