"""Kernel TCP, as a program in a namespace: `send ADDRESS`, or `receive ADDRESS`.

The sender writes until it is ended. For each line of its standard input the receiver prints the
number of bytes that it has read so far.
"""

from __future__ import annotations

import select
import socket
import sys

PORT = 9010
PIECE = 1 << 16
PATIENCE_S = 60.0
"""Without a connection by then there will be none: the program ends."""


def send(address: str) -> None:
    """Write without end."""
    with socket.create_connection((address, PORT), timeout=30) as one:
        one.settimeout(None)
        while True:
            one.sendall(bytes(PIECE))


def receive(address: str) -> None:
    """Read one connection, and print the number of bytes."""
    with socket.create_server((address, PORT)) as server:
        server.settimeout(PATIENCE_S)
        print("ready", flush=True)
        one, _ = server.accept()
    count = 0
    while True:
        ready, _, _ = select.select([one, sys.stdin], [], [])
        if one in ready:
            count += len(one.recv(PIECE))
        if sys.stdin in ready:
            if not sys.stdin.readline():
                return
            print(count, flush=True)


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]](sys.argv[2])
