#!/bin/sh
# Reports what is missing before anything is built. PYTHON names the interpreter.
missing=0
need() { # what, how to get it
    echo "make: $1" >&2
    echo "      $2" >&2
    missing=1
}
PYTHON=${PYTHON:-python3}

if ! command -v cargo >/dev/null; then
    need "cargo is not to be found." "Install Rust 1.88 or newer with rustup, and open a new terminal."
else
    version=$(rustc --version | cut -d' ' -f2)
    minor=$(echo "$version" | cut -d. -f2)
    [ "$(echo "$version" | cut -d. -f1)" -eq 1 ] && [ "$minor" -lt 88 ] &&
        need "Rust $version is too old: 1.88 or newer is needed." "Run: rustup update stable"
fi

if ! command -v "$PYTHON" >/dev/null; then
    need "$PYTHON is not to be found." "Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3"
elif ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    need "$("$PYTHON" --version) is too old: 3.11 or newer is needed." "Name another: make PYTHON=python3.12"
elif ! "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then
    need "$PYTHON has no venv module." "On Debian: apt-get install python3-venv"
fi

command -v cc >/dev/null ||
    need "cc, a C compiler, is not to be found (Rust links with it)." "On Debian: apt-get install gcc libc6-dev"

exit $missing
