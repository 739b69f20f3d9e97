"""DCUDP's connections for programs: streams and messages over UDP, in blocking calls.

One process listens, here in a separate thread, and another connects:

>>> import threading
>>> from incastle import dcudp
>>> listener = dcudp.listen("127.0.0.1", 0)
>>> def answer() -> None:
...     with listener, listener.accept(timeout=10) as connection:
...         connection.send(connection.recv_exactly(5).upper())
>>> thread = threading.Thread(target=answer)
>>> thread.start()
>>> with dcudp.connect(*listener.address) as connection:
...     connection.send(b"hello")
...     print(connection.recv_exactly(5, timeout=10))
b'HELLO'
>>> thread.join()

Other threads run while a call waits, and Ctrl-C ends it. A `timeout` is in seconds, None for as
long as it takes; a call whose time is up raises `TimeoutError`, and loses nothing. Other errors are
those of Python's sockets as well, each of them an `OSError`: see docs/dcudp-python.md.

Threads may share a connection. A process that is forked after one was used may use none: start
processes by multiprocessing's "spawn" or "forkserver".
"""

from __future__ import annotations

import difflib
import ipaddress
import signal
import socket
import sys
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias, TypedDict

from incastle import _engine
from incastle.worlds.transfers import program

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self, Unpack

    from typing_extensions import Buffer

__all__ = [
    "Connection",
    "Listener",
    "Options",
    "SendTimeoutError",
    "Statistics",
    "connect",
    "listen",
    "read_key",
]

Control: TypeAlias = Literal[
    "dcudp",
    "udt",
    "new-reno",
    "cubic",
    "dctcp",
    "d2tcp",
    "dt-cwa",
    "prague",
    "swift",
    "bbr",
    "dcudp-r",
]
Resolved: TypeAlias = tuple[str, int, int]

_KEY_BYTES = 32
_MAX_PORT = 65535
_PIECE_BYTES = 1 << 20
"""Bytes copied at a time from a buffer that may change while it is sent."""


class Options(TypedDict, total=False):
    """Further options of `connect` and `listen`. What is absent has its default.

    Attributes:
        kind: "stream", one of bytes in each direction, or "messages". Both peers must use the same.
        packet_bytes: the largest IP packet, 1500. The smaller of both endpoints counts.
        capacity_bit_s: the rate of the interface; as the system reports it, else 10e9.
        rate_limit_bit_s: no more is sent, whatever the control allows.
        send_buffer_bytes: bytes that may be written and not acknowledged, 16 MiB; no message
            can be longer.
        receive_buffer_bytes: bytes that may have arrived and not been read; what the rate needs.
        idle_timeout: the connection is given up after this many seconds without a packet, 10.
        linger: seconds for which a closed connection goes on delivering, 180.

    """

    kind: Literal["stream", "messages"]
    packet_bytes: int
    capacity_bit_s: float
    rate_limit_bit_s: float
    send_buffer_bytes: int
    receive_buffer_bytes: int
    idle_timeout: float
    linger: float


@dataclass(frozen=True)
class Statistics:
    """The state and counters of one endpoint.

    Attributes:
        control: the control that runs. DCUDP's falls back to "udt" where the peer speaks UDT alone,
            or the path carries no ECN; the others do where the peer has no accurate ACKs.
        mode: DCUDP's mode, "udp" or "congestion"; None under UDT's control.
        rate_bit_s: the rate at which the control lets packets leave, None where it sets none.
        rtt_s: the smoothed round-trip time.
        unacknowledged_bytes: payload written and not acknowledged.
        acknowledged_bytes: payload that the peer has acknowledged.
        sent_bytes: payload sent, retransmissions included.
        delivered_bytes: payload that this endpoint's application has taken.
        retransmissions: data packets retransmitted.
        losses_reported: NAKs received.
        marks_echoed: acknowledgements that echoed a mark.
        marks_received: data packets that arrived with a mark.

    """

    control: Control
    mode: Literal["udp", "congestion"] | None
    rate_bit_s: int | None
    rtt_s: float
    unacknowledged_bytes: int
    acknowledged_bytes: int
    sent_bytes: int
    delivered_bytes: int
    retransmissions: int
    losses_reported: int
    marks_echoed: int
    marks_received: int


class SendTimeoutError(TimeoutError):
    """The time of `Connection.send` is up.

    Attributes:
        sent: bytes that were taken; they will be delivered.
        total: bytes that were to be sent.

    """

    def __init__(self, sent: int, total: int) -> None:
        super().__init__(f"timed out: {sent} of {total} bytes were taken")
        self.sent = sent
        self.total = total

    def __reduce__(self) -> tuple[type[SendTimeoutError], tuple[int, int]]:
        """Pickle by the constructor's arguments."""
        return type(self), (self.sent, self.total)


class Connection:
    """One endpoint of a connection, made by `connect` or by a listener.

    As a context manager it is closed at the end of the block, which waits until everything is
    delivered; where an exception leaves the block it is aborted instead.

    >>> listener = listen("127.0.0.1", 0, kind="messages")
    >>> client = connect(*listener.address, kind="messages")
    >>> with listener, client, listener.accept() as server:
    ...     client.send_message(b"ping")
    ...     server.recv_message(timeout=10)
    b'ping'
    """

    def __init__(self, native: _engine.DcudpConnection) -> None:
        self._native = native

    @property
    def peer(self) -> tuple[str, int]:
        """The peer's IP address and port."""
        return self._native.peer

    @property
    def kind(self) -> str:
        """The kind of its data: "stream" or "messages"."""
        return self._native.kind

    @property
    def closed(self) -> bool:
        """Whether `close` or `abort` has come to its end."""
        return self._native.closed

    def send(self, data: Buffer, *, timeout: float | None = None) -> None:
        """Write all of `data` to the stream.

        It returns once the send buffer has taken the last byte; `flush` or `close` wait until the
        peer has it.

        Raises:
            SendTimeoutError: time is up; its `sent` is the number of bytes that were taken.
            ConnectionResetError: the peer has closed.
            ConnectionAbortedError: the peer is silent, or this endpoint has aborted.

        """
        if isinstance(data, bytes):
            taken = self._native.send(data, timeout)
            if taken < len(data):
                raise SendTimeoutError(taken, len(data))
            return
        view = memoryview(data)
        total = view.nbytes
        if total == 0:
            return
        view = view.cast("B")
        until = _Deadline(timeout)
        for start in range(0, total, _PIECE_BYTES):
            piece = bytes(view[start : start + _PIECE_BYTES])
            taken = self._native.send(piece, until.left())
            if taken < len(piece):
                raise SendTimeoutError(start + taken, total)

    def recv(self, most: int, *, timeout: float | None = None) -> bytes:
        """Read what is there from the stream: 1 to `most` bytes, or b"" once the peer has closed.

        Raises:
            TimeoutError: nothing came in time.
            ConnectionAbortedError: the peer is silent, or this endpoint has aborted.

        """
        return self._native.recv(_at_least_0("most", most), timeout)

    def recv_exactly(self, count: int, *, timeout: float | None = None) -> bytes:
        """Read `count` bytes from the stream.

        Raises:
            EOFError: the stream ended before; what came can still be read.
            TimeoutError: they did not come in time; what came can still be read.
            ConnectionAbortedError: the peer is silent, or this endpoint has aborted.

        """
        return self._native.recv_exactly(_at_least_0("count", count), timeout)

    def recv_into(self, buffer: Buffer, *, timeout: float | None = None) -> int:
        """Read what is there into a writable buffer; return the number of bytes, 0 at the end.

        Raises:
            TimeoutError: nothing came in time.
            ConnectionAbortedError: the peer is silent, or this endpoint has aborted.

        """
        view = memoryview(buffer)
        if view.readonly:
            raise TypeError("the buffer cannot be written")
        if view.nbytes == 0:
            return 0
        data = self._native.recv(view.nbytes, timeout)
        view.cast("B")[: len(data)] = data
        return len(data)

    def send_message(
        self,
        message: Buffer,
        *,
        ttl: float | None = None,
        ordered: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Queue a message, once the send buffer has room for all of it.

        Args:
            message: at least one byte, and no more than both endpoints' buffers hold.
            ttl: it is given up after this many seconds; None for never.
            ordered: whether it waits at the peer for those before it.
            timeout: how long to wait for room.

        Raises:
            TimeoutError: there was no room in time; nothing of it is sent.
            ConnectionResetError: the peer has closed.
            ConnectionAbortedError: the peer is silent, or this endpoint has aborted.

        """
        self._native.send_message(bytes(memoryview(message)), ttl, ordered, timeout)

    def recv_message(self, *, timeout: float | None = None) -> bytes | None:
        """Take the next message; None once the peer has closed and all were taken.

        Raises:
            TimeoutError: none came in time.
            ConnectionAbortedError: the peer is silent, or this endpoint has aborted.

        """
        return self._native.recv_message(timeout)

    def flush(self, *, timeout: float | None = None) -> None:
        """Wait until the peer has acknowledged everything that was written.

        Raises:
            TimeoutError: it has not in time.
            ConnectionResetError: the peer closed before.
            ConnectionAbortedError: the peer is silent, or this endpoint has aborted.

        """
        self._native.flush(timeout)

    def statistics(self) -> Statistics:
        """Return the statistics so far; after the end, the last ones."""
        return Statistics(**self._native.statistics())

    def close(self, *, timeout: float | None = None) -> None:
        """Deliver everything that was written, notify the peer, and release the socket.

        UDT has no half-closed connection: what the peer still sends is not received.

        Raises:
            TimeoutError: not all was delivered in time (it goes on, and can be waited for again),
                or within the option `linger` (then it is over).
            ConnectionResetError: the peer closed before it had everything.
            ConnectionAbortedError: the peer is silent, or this endpoint has aborted.

        """
        self._native.close(timeout)

    def abort(self) -> None:
        """Abort transfers, notify the peer, and release the socket, at once."""
        self._native.abort()

    def __enter__(self) -> Self:
        """Return the connection."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close, or abort where an exception leaves the block."""
        if kind is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        """Warn of a connection that was not closed: whether all was delivered is unknown."""
        native = getattr(self, "_native", None)
        if native is not None and not native.closed:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)

    def __repr__(self) -> str:
        """Name the kind and the peer."""
        state = ", closed" if self.closed else ""
        return f"<incastle.dcudp.Connection: {self.kind}, peer {self.peer}{state}>"


class Listener:
    """Accepts connections; iterating over it gives them until another thread closes it.

    >>> with listen("127.0.0.1", 0) as listener:
    ...     client = connect(*listener.address)
    ...     for connection in listener:
    ...         connection.close()
    ...         break
    >>> client.recv(1)
    b''
    >>> client.close()
    """

    def __init__(self, native: _engine.DcudpListener) -> None:
        self._native = native

    @property
    def address(self) -> tuple[str, int]:
        """The IP address and port that it listens on."""
        return self._native.address

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._native.closed

    def accept(self, *, timeout: float | None = None) -> Connection:
        """Wait for the next connection.

        Raises:
            TimeoutError: none came in time.
            OSError: the listener is closed, or was closed by another thread meanwhile.

        """
        native = self._native.accept(timeout)
        if native is None:
            raise OSError("the listener is closed")
        return Connection(native)

    def close(self) -> None:
        """Listen no more. Connections that were accepted go on; those that wait are closed."""
        self._native.close()

    def __iter__(self) -> Iterator[Connection]:
        """Yield the connections as they come."""
        while (native := self._native.accept(None)) is not None:
            yield Connection(native)

    def __enter__(self) -> Self:
        """Return the listener."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        """Name the address."""
        state = ", closed" if self.closed else ""
        return f"<incastle.dcudp.Listener: {self.address}{state}>"


def connect(
    host: str,
    port: int,
    *,
    control: Control = "dcudp",
    key: bytes | None = None,
    insecure: bool = False,
    timeout: float | None = None,
    **options: Unpack[Options],
) -> Connection:
    """Open a connection to a listener; to the first of its addresses that answers.

    Args:
        host: a name or an IP address.
        port: its UDP port.
        control: which congestion control, "dcudp" or "udt".
        key: 32 secret bytes that the listener has as well: everything is encrypted and
            authenticated.
        insecure: without a key only this machine itself is called, unless this is true: everybody
            on the path can read and change what is sent.
        timeout: how long each address may take to answer; 3 seconds.
        **options: see `Options`.

    Raises:
        TimeoutError: no answer in time.
        ConnectionRefusedError: nobody listens on that port, or not for this kind.
        socket.gaierror: the name has no address.
        OSError: the host is not reachable.
        ValueError: an invalid parameter; the message has the remedy.

    """
    settings = _settings("connect", control, key, options)
    addresses = _resolve(host, port, minimum=1)
    _check_safety(addresses, insecure=insecure or key is not None)
    for address in addresses[:-1]:
        with suppress(OSError):
            return Connection(_engine.dcudp_connect(address, settings, timeout))
    return Connection(_engine.dcudp_connect(addresses[-1], settings, timeout))


def listen(
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    control: Control = "dcudp",
    key: bytes | None = None,
    insecure: bool = False,
    backlog: int = 128,
    **options: Unpack[Options],
) -> Listener:
    """Accept connections on a UDP port.

    Args:
        host: an IP address of this machine, or its name; "0.0.0.0" and "::" for all of them.
        port: the UDP port; 0 for a free one, which `Listener.address` has.
        control: which congestion control, "dcudp" or "udt". A peer that requests UDT gets it.
        key: 32 secret bytes that peers must have as well: others are not even answered.
        insecure: without a key only this machine itself is served, unless this is true: everybody
            can connect, and everybody on the path read and change what is sent.
        backlog: how many connections may wait to be accepted.
        **options: see `Options`.

    Raises:
        OSError: the port is in use, or the address not this machine's.
        ValueError: an invalid parameter; the message has the remedy.

    """
    settings = _settings("listen", control, key, options)
    address = _resolve(host, port, minimum=0)[0]
    _check_safety([address], insecure=insecure or key is not None)
    if backlog < 1:
        raise ValueError(f"backlog = {backlog}: it must be 1 or more")
    return Listener(_engine.dcudp_listen(address, settings, backlog))


def read_key(path: str | os.PathLike[str]) -> bytes:
    """Read a key file, as the program `dcudp key` writes it.

    Raises:
        OSError: the file cannot be read.
        ValueError: it holds no key.

    """
    with open(path, "rb"):  # noqa: PTH123  it may be any path; this is for Python's own exceptions
        pass
    return _engine.dcudp_read_key(path)


class _Deadline:
    """A timeout over several calls."""

    def __init__(self, timeout: float | None) -> None:
        self._end = None if timeout is None else time.monotonic() + timeout
        self._whole = timeout

    def left(self) -> float | None:
        """Return what is left of it; at first all, so that a wrong one is reported as given."""
        whole, self._whole = self._whole, None
        if self._end is None or whole is not None:
            return whole
        return max(0.0, self._end - time.monotonic())


def _settings(
    function: str, control: Control, key: bytes | None, options: Options
) -> dict[str, object]:
    """Put together the settings of the native side, and refuse unknown ones."""
    known = list(Options.__annotations__)
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
            raise TypeError(f"{function}() has no option {name!r}; {hint}")
    if key is not None and len(key) != _KEY_BYTES:
        raise ValueError(
            f"key of {len(key)} bytes: it must have {_KEY_BYTES}, as read_key gives it"
        )
    given = {name: value for name, value in options.items() if value is not None}
    return {"control": control, "key": key, **given}


def _resolve(host: str, port: int, *, minimum: int) -> list[Resolved]:
    """Find the addresses of a name, those of IPv4 first, as the program does."""
    if not isinstance(port, int):
        raise TypeError(f"port = {port!r}: it must be an int")
    if not minimum <= port <= _MAX_PORT:
        raise ValueError(f"port = {port}: it must be {minimum} to {_MAX_PORT}")
    found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    addresses: list[Resolved] = []
    for *_, address in sorted(found, key=lambda one: one[0] == socket.AF_INET6):
        # IPv6's have a flow and a scope as well, and Python writes the scope after the address too.
        scope = int(address[-1]) if ":" in str(address[0]) else 0
        addresses.append((str(address[0]).partition("%")[0], port, scope))
    return list(dict.fromkeys(addresses))


def _check_safety(addresses: list[Resolved], *, insecure: bool) -> None:
    """Refuse what others can reach, unless that is safe or was requested."""
    for host, *_ in addresses:
        address = ipaddress.ip_address(host)
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        if not insecure and not (mapped or address).is_loopback:
            raise ValueError(
                f"{host} is not this machine: give a key, or insecure=True where everybody on the "
                "path may read and change what is sent"
            )


def _at_least_0(name: str, value: int) -> int:
    if value < 0:
        raise ValueError(f"{name} = {value}: it must be 0 or more")
    return value


def main() -> NoReturn:
    """Run the program `dcudp`, the very same code as the binary."""
    # The program handles Ctrl-C itself, once it has begun. Where it is ignored it stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(program(sys.argv[1:]))


if __name__ == "__main__":
    main()
