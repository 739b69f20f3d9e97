"""`incastle.dcudp` on real sockets, over loopback."""

from __future__ import annotations

import contextlib
import doctest
import errno
import hashlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from incastle import dcudp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE_S = 60.0
"""Nothing here takes so long, but where it hangs."""
SOON_S = 0.05
DATA = b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(100_000))
"""3.2 MB that no other part is equal to."""


@contextlib.contextmanager
def pair(**options: Any) -> Iterator[tuple[dcudp.Connection, dcudp.Connection]]:
    """Give a client and its server, and abort both in the end."""
    with dcudp.listen("127.0.0.1", 0, **options) as listener:
        client = dcudp.connect(*listener.address, timeout=PATIENCE_S, **options)
        server = listener.accept(timeout=PATIENCE_S)
    try:
        yield client, server
    finally:
        client.abort()
        server.abort()


def beside(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def program(text: str, *arguments: str, options: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Start a separate Python program."""
    command = [sys.executable, *options, "-c", textwrap.dedent(text), *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_the_examples_of_the_documentation() -> None:
    failed, attempted = doctest.testmod(dcudp)
    assert failed == 0
    assert attempted > 0


@pytest.mark.parametrize("control", ["dcudp", "udt", "dctcp"])
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_stream_in_both_directions_and_a_close_that_delivers(control: Any, host: str) -> None:
    try:
        listener = dcudp.listen(host, 0, control=control)
    except OSError as error:
        pytest.skip(f"{host}: {error}")

    def serve() -> bytes:
        with listener, listener.accept(timeout=PATIENCE_S) as server:
            got = server.recv_exactly(len(DATA), timeout=PATIENCE_S)
            server.send(got[::-1])
            assert server.peer[0] == host
        return got

    with ThreadPoolExecutor(1) as pool:
        served = pool.submit(serve)
        client = dcudp.connect(*listener.address, control=control, timeout=PATIENCE_S)
        client.send(DATA)
        parts = bytearray()
        while part := client.recv(100_000, timeout=PATIENCE_S):
            assert len(part) <= 100_000
            parts += part
        client.close()
        assert served.result() == DATA
    assert bytes(parts) == DATA[::-1]
    assert client.peer == listener.address


def test_every_kind_of_buffer() -> None:
    with pair() as (client, server):
        for data in (bytearray(DATA), memoryview(DATA)[1:], memoryview(DATA).cast("I"), b""):
            client.send(data)
            assert server.recv_exactly(memoryview(data).nbytes, timeout=PATIENCE_S) == bytes(data)
        room = bytearray(10)
        client.send(b"abc")
        assert server.recv_into(memoryview(room)[2:], timeout=PATIENCE_S) == 3
        assert room == b"\0\0abc\0\0\0\0\0"
        assert server.recv_into(bytearray()) == 0
        assert server.recv(0) == b""
        with pytest.raises(TypeError, match="cannot be written"):
            server.recv_into(b"1234")
        with pytest.raises(TypeError):
            client.send("text")  # type: ignore[arg-type]
        for call in (server.recv, server.recv_exactly):
            with pytest.raises(ValueError, match="= -1: it must be 0 or more"):
                call(-1)


def test_messages() -> None:
    with pair(kind="messages") as (client, server):
        sent = [os.urandom(1 + n * 37) for n in range(300)]
        for message in sent:
            client.send_message(message, ttl=PATIENCE_S)
        assert [server.recv_message(timeout=PATIENCE_S) for _ in sent] == sent
        server.send_message(bytearray(b"loose"), ordered=False)
        server.close()
        assert client.recv_message(timeout=PATIENCE_S) == b"loose"
        assert client.recv_message() is None
        assert client.kind == "messages"


def test_messages_that_cannot_be() -> None:
    with pair(kind="messages") as (client, _):
        with pytest.raises(ValueError, match="at least one byte"):
            client.send_message(b"")
        with pytest.raises(ValueError, match="carries messages, not a stream"):
            client.send(b"1")
        with pytest.raises(ValueError, match="carries messages, not a stream"):
            client.recv(1)
        with pytest.raises(ValueError, match="ttl = -1"):
            client.send_message(b"1", ttl=-1)
        # Beyond the send buffer.
        with pytest.raises(
            OSError, match="longer than the 16777216 that the buffers of both endpoints take"
        ):
            client.send_message(bytes((16 << 20) + 1))
    with pair() as (client, _), pytest.raises(ValueError, match="carries a stream, not messages"):
        client.recv_message()


def test_a_timeout_loses_nothing() -> None:
    with pair() as (client, server):
        for patience in (0, SOON_S):
            with pytest.raises(TimeoutError):
                server.recv(1, timeout=patience)
        client.send(b"abc")
        with pytest.raises(TimeoutError):
            server.recv_exactly(5, timeout=0.2)
        with pytest.raises(TimeoutError):
            server.recv_exactly(5, timeout=0.2)
        client.send(b"def")
        assert server.recv_exactly(5, timeout=PATIENCE_S) == b"abcde"
        assert server.recv(10, timeout=PATIENCE_S) == b"f"
        for wrong in (-1, float("nan")):
            with pytest.raises(ValueError, match=r"timeout = .*: it must be seconds, 0 or more"):
                server.recv(1, timeout=wrong)


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_a_send_that_is_out_of_time_says_how_much_was_taken(kind: type) -> None:
    buffers = {"send_buffer_bytes": 100_000, "receive_buffer_bytes": 100_000}
    with pair(**buffers) as (client, server):
        with pytest.raises(dcudp.SendTimeoutError) as late:
            client.send(kind(DATA), timeout=0.2)
        error = late.value
        assert isinstance(error, TimeoutError)
        assert 0 < error.sent < error.total == len(DATA)
        assert str(error) == f"timed out: {error.sent} of {len(DATA)} bytes were taken"
        again = pickle.loads(pickle.dumps(error))
        assert (again.sent, again.total, str(again)) == (error.sent, error.total, str(error))
        # Who goes on from there sends all.
        rest = beside(lambda: client.send(DATA[error.sent :], timeout=PATIENCE_S))
        assert server.recv_exactly(len(DATA), timeout=PATIENCE_S) == DATA
        rest.join()


def test_the_end_of_a_stream() -> None:
    with pair() as (client, server):
        client.send(b"abc")
        client.close()
        assert client.closed
        with pytest.raises(EOFError, match="the peer closed after 3 of 5 bytes"):
            server.recv_exactly(5, timeout=PATIENCE_S)
        assert server.recv(5) == b"abc"
        assert server.recv(5) == b""
        assert server.recv_exactly(0) == b""
        with pytest.raises(ConnectionResetError, match="the peer closed"):
            server.send(b"late")
        for call in (client.flush, lambda: client.send(b"1"), lambda: client.recv(1)):
            with pytest.raises(OSError, match="the connection is closed") as over:
                call()
            assert over.value.errno == errno.ENOTCONN
        client.close()
        client.abort()
        assert client.statistics().acknowledged_bytes == 3


def test_close_can_be_waited_for_again() -> None:
    with pair(receive_buffer_bytes=100_000) as (client, server):
        client.send(DATA)
        with pytest.raises(TimeoutError):
            client.close(timeout=SOON_S)
        with pytest.raises(OSError, match="closed"):
            client.send(b"more")
        reader = beside(lambda: server.recv_exactly(len(DATA), timeout=PATIENCE_S))
        client.close(timeout=PATIENCE_S)
        assert client.closed
        reader.join()


def test_flush_waits_for_the_peer() -> None:
    with pair() as (client, server):
        client.send(DATA)
        reader = beside(lambda: server.recv_exactly(len(DATA), timeout=PATIENCE_S))
        client.flush(timeout=PATIENCE_S)
        assert client.statistics().unacknowledged_bytes == 0
        reader.join()


def test_an_exception_aborts() -> None:
    with pair() as (client, server):
        with pytest.raises(KeyError), client:
            raise KeyError
        assert client.closed
        assert server.recv(1, timeout=PATIENCE_S) == b""


def test_statistics() -> None:
    with pair() as (client, server):
        client.send(DATA)
        server.recv_exactly(len(DATA), timeout=PATIENCE_S)
        client.flush(timeout=PATIENCE_S)
        seen = client.statistics()
        assert isinstance(seen, dcudp.Statistics)
        assert seen.acknowledged_bytes == len(DATA)
        assert seen.sent_bytes >= len(DATA)
        assert seen.control == "dcudp"
        assert seen.mode in {"udp", "congestion"}
        assert seen.rtt_s > 0
        assert server.statistics().delivered_bytes == len(DATA)
        client.close()
        assert client.statistics().acknowledged_bytes == len(DATA)
    with pair(control="udt") as (client, _):
        assert client.statistics().control == "udt"
        assert client.statistics().mode is None


def test_a_listener_gives_connections_until_it_is_closed() -> None:
    listener = dcudp.listen()
    served = []

    def serve() -> None:
        for connection in listener:
            with connection:
                served.append(connection.recv_exactly(1, timeout=PATIENCE_S))
                connection.send(b"!")

    thread = beside(serve)
    for n in range(5):
        with dcudp.connect(*listener.address, timeout=PATIENCE_S) as client:
            client.send(bytes([n]))
            assert client.recv(1, timeout=PATIENCE_S) == b"!"
    listener.close()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert served == [bytes([n]) for n in range(5)]
    assert listener.closed
    with pytest.raises(OSError, match="the listener is closed"):
        listener.accept()
    listener.close()


def test_accept_out_of_time() -> None:
    with dcudp.listen() as listener:
        with pytest.raises(TimeoutError):
            listener.accept(timeout=SOON_S)
        assert repr(listener) == f"<incastle.dcudp.Listener: {listener.address}>"


def test_connections_outlive_their_listener() -> None:
    with pair() as (client, server):
        server.send(b"still here")
        assert client.recv_exactly(10, timeout=PATIENCE_S) == b"still here"


def test_many_threads() -> None:
    """Every connection has separate threads for both directions, all at once."""
    with dcudp.listen() as listener, ThreadPoolExecutor(24) as pool:

        def echo(connection: dcudp.Connection) -> None:
            with connection:
                connection.send(connection.recv_exactly(200_000, timeout=PATIENCE_S))

        def serve() -> None:
            for _ in range(8):
                pool.submit(echo, listener.accept(timeout=PATIENCE_S))

        def call(n: int) -> bool:
            data = DATA[n * 1000 : n * 1000 + 200_000]
            with dcudp.connect(*listener.address, timeout=PATIENCE_S) as client:
                reader = pool.submit(client.recv_exactly, len(data), timeout=PATIENCE_S)
                client.send(data)
                return reader.result() == data

        pool.submit(serve)
        assert all(pool.map(call, range(8)))


def test_nobody_listens() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        with pytest.raises(TimeoutError, match="does not answer"):
            dcudp.connect(*silent.getsockname(), timeout=0.3)
        port = silent.getsockname()[1]
    with pytest.raises(ConnectionRefusedError, match="nobody listens on that port"):
        dcudp.connect("127.0.0.1", port, timeout=PATIENCE_S)


def test_another_kind_is_refused() -> None:
    with dcudp.listen(kind="messages") as listener, pytest.raises(ConnectionRefusedError):
        dcudp.connect(*listener.address, timeout=PATIENCE_S)


def test_a_port_in_use() -> None:
    with dcudp.listen() as listener, pytest.raises(OSError, match="has this port") as used:
        dcudp.listen(*listener.address)
    assert used.value.errno == errno.EADDRINUSE
    with pytest.raises(OSError, match="does not have this address") as foreign:
        dcudp.listen("192.0.2.1", insecure=True)
    assert foreign.value.errno == errno.EADDRNOTAVAIL


def test_a_silent_peer_is_given_up() -> None:
    text = """
        from incastle import dcudp
        listener = dcudp.listen()
        print(listener.address[1], flush=True)
        connection = listener.accept()
        input()
    """
    with program(text) as child:
        assert child.stdout is not None
        port = int(child.stdout.readline())
        client = dcudp.connect("127.0.0.1", port, timeout=PATIENCE_S, idle_timeout=0.5)
        child.kill()
        # No TimeoutError: who waits piece by piece would wait for ever.
        with pytest.raises(ConnectionAbortedError, match="the peer is silent"):
            client.recv(1)
        with pytest.raises(ConnectionAbortedError, match="the peer is silent"):
            client.close()
        assert client.closed


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({"control": "tcp"}, 'control = "tcp": it must be "dcudp" or "udt" or "new-reno" or'),
        ({"kind": "datagrams"}, 'kind = "datagrams": it must be "stream" or "messages"'),
        ({"packet_bytes": 3}, "must lie between 128 and 65535 bytes"),
        ({"packet_bytes": -3}, "packet_bytes = -3"),
        ({"capacity_bit_s": 0}, "capacity_bit_s = 0: it must be 1 or more"),
        ({"rate_limit_bit_s": float("inf")}, "rate_limit_bit_s = inf"),
        ({"send_buffer_bytes": 100}, "send_buffer_bytes = 100: it must hold a packet of 1500"),
        ({"idle_timeout": -1}, "idle_timeout = -1"),
        ({"key": b"short"}, "key of 5 bytes: it must have 32"),
        ({"port": 65536}, "port = 65536: it must be 0 to 65535"),
        ({"host": "0.0.0.0"}, "give a key, or insecure=True"),  # noqa: S104  refused
        ({"host": "::"}, ":: is not this machine"),
        ({"backlog": 0}, "backlog = 0: it must be 1 or more"),
    ],
)
def test_bad_input(call: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as wrong:  # noqa: PT011  the words are compared
        dcudp.listen(**call)
    assert words in str(wrong.value)


def test_unknown_options_and_names() -> None:
    with pytest.raises(TypeError, match=r"listen\(\) has no option 'packet_byte'; did you mean"):
        dcudp.listen(packet_byte=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"connect\(\) has no option 'nagle'; there are: kind, "):
        dcudp.connect("127.0.0.1", 1, nagle=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="port = '9000': it must be an int"):
        dcudp.connect("127.0.0.1", "9000")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="port = 0: it must be 1 to 65535"):
        dcudp.connect("127.0.0.1", 0)
    with pytest.raises(socket.gaierror):
        dcudp.connect("no name at all", 1)


def test_without_a_key_only_this_machine_is_called() -> None:
    with pytest.raises(ValueError, match=r"192\.0\.2\.7 is not this machine"):
        dcudp.connect("192.0.2.7", 9000)


def test_a_key_at_both_endpoints() -> None:
    key = os.urandom(32)
    with pair(key=key) as (client, server):
        client.send(DATA)
        assert server.recv_exactly(len(DATA), timeout=PATIENCE_S) == DATA


@pytest.mark.parametrize("other", [None, bytes(32)])
def test_another_key_is_not_answered(other: bytes | None) -> None:
    silence = pytest.raises(TimeoutError, match=r"does not answer.* key")
    with dcudp.listen(key=os.urandom(32)) as listener, silence:
        dcudp.connect(*listener.address, key=other, timeout=0.5)


def test_key_files(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("07" * 32 + "\n")
    path.chmod(0o600)
    assert dcudp.read_key(path) == dcudp.read_key(str(path)) == bytes([7] * 32)
    path.write_text("password")
    with pytest.raises(ValueError, match="not a key: it must hold 32 bytes"):
        dcudp.read_key(path)
    with pytest.raises(FileNotFoundError):
        dcudp.read_key(tmp_path / "missing")


def test_an_unclosed_connection_is_warned_of() -> None:
    with dcudp.listen() as listener:
        client = dcudp.connect(*listener.address, timeout=PATIENCE_S)
        listener.accept(timeout=PATIENCE_S).abort()
        with pytest.warns(ResourceWarning, match="unclosed <incastle.dcudp.Connection: stream"):
            del client


WAITS = {
    "recv": "client.recv(1)",
    "recv_exactly": "client.recv_exactly(10)",
    "send": "client.send(bytes(100_000_000))",
    "accept": "listener.accept()",
    "connect": "dcudp.connect(*silent.getsockname(), timeout=1000)",
    "close": "client.send(bytes(1_000_000)); print('sent', flush=True); client.close()",
}


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_a_call_that_waits(wait: str) -> None:
    text = f"""
        import signal, socket
        from incastle import dcudp
        signal.signal(signal.SIGINT, signal.default_int_handler)
        silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        silent.bind(("127.0.0.1", 0))
        listener = dcudp.listen(receive_buffer_bytes=100_000)
        client = dcudp.connect(*listener.address, timeout=100)
        server = listener.accept()
        try:
            print("ready", flush=True)
            {WAITS[wait]}
        except KeyboardInterrupt:
            client.abort()
            server.abort()
            print("interrupted")
    """
    with program(text) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=PATIENCE_S)
    assert (child.returncode, err) == (0, "")
    assert out.splitlines()[-1] == "interrupted"


def test_other_threads_run_while_one_waits() -> None:
    with pair() as (client, server):
        waiting = beside(lambda: client.recv(1, timeout=PATIENCE_S))
        # It would never come here if the waiting thread held the interpreter's lock.
        server.send(b"1")
        waiting.join(PATIENCE_S)
        assert not waiting.is_alive()


def test_a_thread_that_waits_does_not_disturb_the_end() -> None:
    text = """
        import threading, time
        from incastle import dcudp
        listener = dcudp.listen()
        client = dcudp.connect(*listener.address, timeout=100)
        server = listener.accept()
        for call in (listener.accept, lambda: client.recv(1)):
            threading.Thread(target=call, daemon=True).start()
        time.sleep(0.3)
    """
    with program(text) as child:
        out, err = child.communicate(timeout=PATIENCE_S)
    assert (child.returncode, out, err) == (0, "", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_is_refused_and_harms_nothing() -> None:
    text = """
        import os, sys, warnings
        warnings.simplefilter("ignore")
        from incastle import dcudp
        listener = dcudp.listen()
        client = dcudp.connect(*listener.address, timeout=100)
        server = listener.accept()
        child = os.fork()
        if child == 0:
            for call in (
                lambda: client.send(b"from the child"),
                lambda: client.recv(1),
                client.statistics,
                client.close,
                client.abort,
                listener.accept,
                listener.close,
                dcudp.listen,
                lambda: dcudp.connect(*listener.address),
            ):
                try:
                    call()
                except RuntimeError as error:
                    assert "before this process was forked" in str(error)
                else:
                    os._exit(3)
            del client, server, listener
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        client.send(b"whole")
        print(server.recv_exactly(5, timeout=60), listener.closed)
        server.close()
        client.close()
        listener.close()
    """
    with program(text) as child:
        out, err = child.communicate(timeout=PATIENCE_S)
    assert (child.returncode, err) == (0, "")
    assert out == "b'whole' False\n"


def test_a_fork_before_the_first_use_is_free() -> None:
    text = """
        import os
        from incastle import dcudp
        if (child := os.fork()) == 0:
            dcudp.listen().close()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        dcudp.listen().close()
    """
    with program(text) as child:
        out, err = child.communicate(timeout=PATIENCE_S)
    assert (child.returncode, out, err) == (0, "", "")


def test_who_does_not_use_it_does_not_import_it() -> None:
    text = """
        import sys, threading
        import incastle
        from incastle.commands import app
        print("incastle.dcudp" in sys.modules)
        from incastle import dcudp
        from pathlib import Path
        print(len(list(Path("/proc/self/task").iterdir())) == threading.active_count())
        dcudp.listen().close()
        print(len(list(Path("/proc/self/task").iterdir())) > threading.active_count())
    """
    with program(text) as child:
        out, err = child.communicate(timeout=PATIENCE_S)
    assert (out.split(), err) == (["False", "True", "True"], "")


def test_the_program_is_the_binary_s() -> None:
    installed = Path(sys.executable).parent / "dcudp"
    for command in ([str(installed)], [sys.executable, "-m", "incastle.dcudp"]):
        output = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, check=False
        )
        assert (output.returncode, output.stderr) == (0, "")
        assert output.stdout.startswith("dcudp ")
        wrong = subprocess.run([*command, "serv"], capture_output=True, text=True, check=False)
        assert wrong.returncode == 2
        assert "Traceback" not in wrong.stderr


def test_ctrl_c_ends_the_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "incastle.dcudp", "serve", str(tmp_path)]
    command += ["--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        assert child.stdout is not None
        output = child.stdout.readline() + child.stdout.readline()
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=PATIENCE_S)
    assert b" on 127.0.0.1:" in output
    assert b"Traceback" not in out
    assert child.returncode in {0, 130}
