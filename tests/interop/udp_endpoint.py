"""Plain UDP, as a program in a namespace: `send ADDRESS COUNT ECN`, or `receive ADDRESS`.

The sender sends packets of 1500 bytes as fast as it can, then several of a single byte, which end
the receiver. The receiver prints the number of long packets with each ECN field.
"""

from __future__ import annotations

import json
import socket
import sys
import time

PORT = 9009
PAYLOAD = bytes(1500 - 28)


def send(address: str, count: int, ecn: int) -> None:
    """Send packets, then the packets that end the receiver."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ecn)
        for _ in range(count):
            one.sendto(PAYLOAD, (address, PORT))
        # The last packets leave when the queue is empty, and cannot be marked: the router's marks
        # are those of the long ones. Several, as UDP may lose one.
        time.sleep(1.0)
        one.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0)
        for _ in range(20):
            time.sleep(0.01)
            one.sendto(b".", (address, PORT))


def receive(address: str) -> None:
    """Count packets until the sender ends."""
    counts = [0, 0, 0, 0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
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
        receive(sys.argv[2])
