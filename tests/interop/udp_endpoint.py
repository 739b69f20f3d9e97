"""Plain UDP, as a program in a namespace: `send ADDRESS COUNT ECN`, `receive` or `end ADDRESS`.

The sender sends packets of 1500 bytes as fast as it can. The receiver prints the number of them
with each ECN field, once a packet of a single byte ends it.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import time

PORT = 9009
PAYLOAD = bytes(1500 - 28)
RECEIVE_BUFFER = 1 << 24
SO_RCVBUFFORCE = 33
"""Beyond net.core.rmem_max, where that is allowed; Python has no name for it."""


def send(address: str, count: int, ecn: int) -> None:
    """Send a burst of packets."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ecn)
        for _ in range(count):
            one.sendto(PAYLOAD, (address, PORT))


def end(address: str) -> None:
    """End the receiver; by several packets, as UDP may lose one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        for _ in range(20):
            time.sleep(0.01)
            one.sendto(b".", (address, PORT))


def receive(address: str) -> None:
    """Count packets until the sender ends."""
    counts = [0, 0, 0, 0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        # All of a burst, however late this program reads it.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        with contextlib.suppress(PermissionError):
            one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
        one.bind((address, PORT))
        print("ready", flush=True)
        while True:
            payload, ancillary, _, _ = one.recvmsg(2048, 64)
            if len(payload) == 1:
                break
            [(_, _, tos)] = ancillary
            counts[tos[0] & 3] += 1
    print(json.dumps(counts))


if __name__ == "__main__":
    if sys.argv[1] == "send":
        send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        {"receive": receive, "end": end}[sys.argv[1]](sys.argv[2])
