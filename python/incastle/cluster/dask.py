"""Work on a Dask cluster: functions of Incastle's, called on its workers.

Workers need the same build of Incastle, and nothing else: no file system in common, no scenario.

Dask calls a function again if its worker dies, as often as the scheduler's `allowed-failures` says.
It cannot determine which task on a worker was the cause, nor whether any was: machines are taken
away, memory is used up by others. So tasks that it has given up are tried again after all others,
one at a time, each bound to one worker, three times. A task has failed only if its worker dies each
time.

Leaves out: progress within a task.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from incastle.build import engine_build
from incastle.errors import ClusterError, IncastleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from distributed import Client, Future

CONNECT_S = 5
"""Time-out for a scheduler that does not answer."""

AHEAD = 1000
"""Tasks that are handed to the scheduler before they can be done: enough for a cluster that grows
with its work, few enough for the memory of the scheduler."""

POLL_S = 0.05
"""Interval of looking for finished tasks and dead workers."""

REFRESH_S = 1.0
"""Interval of fetching the list of workers from the scheduler."""

ALONE = 3
"""How often a task is tried by itself: a worker may die of something else once, and even twice."""

DIED = (
    f"its worker died each time that it was tried, the last {ALONE} times without other tasks on it"
)
SAME_BUILD = "all need the same build, as from one wheel"
LOST = "the connection to the scheduler is lost"

Task = TypeVar("Task")
"""A task in the form of the caller."""


class WrongVersion(IncastleError):  # noqa: N818  reads well where it is caught
    """A worker has another build of Incastle than the task needs."""


class Call(NamedTuple):
    """The work of a task: a function of (build, *arguments).

    Attributes:
        name: unique among the tasks of a call.
        function: begins with `check_build`.
        arguments: after the build; they travel.

    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class Callbacks(NamedTuple, Generic[Task]):
    """Functions that are called in the thread that waits.

    Attributes:
        done: with a task and the result of its function.
        failed: with a task and the reason.
        threads: with the number of threads of all workers, several times a second.

    """

    done: Callable[[Task, Any], object]
    failed: Callable[[Task, str], object]
    threads: Callable[[int], object]


class Cluster:
    """Does tasks on a Dask cluster."""

    def __init__(self, client: Client) -> None:
        self.client = client
        check_workers(client)

    def execute(
        self, tasks: Sequence[Task], call: Callable[[Task], Call], callbacks: Callbacks[Task]
    ) -> None:
        """Do the tasks; call `callbacks` for each as soon as it is over.

        Raises:
            ClusterError: the scheduler is gone, or a worker cannot be used.
            IncastleError: what a function raised, if it is one of these.

        """
        together = _Pass(self.client, call, callbacks)
        for task in together.do(tasks):
            together.alone(task)


class _Pass(Generic[Task]):
    """Hands tasks to the scheduler, some ahead, and takes what comes back."""

    def __init__(
        self, client: Client, call: Callable[[Task], Call], callbacks: Callbacks[Task]
    ) -> None:
        self.client = client
        self.call = call
        self.callbacks = callbacks
        self.suspects: list[Task] = []
        self.group = f"incastle-{uuid.uuid4().hex}"
        self.threads = 0
        self.refreshed_at = -REFRESH_S

    def do(self, tasks: Sequence[Task]) -> list[Task]:
        """Do the tasks; return those whose workers died."""
        from distributed import as_completed  # noqa: PLC0415  slow to import: only on a cluster

        waiting = iter(tasks)
        under_way: dict[Future[Any], Task] = {}
        done = as_completed(loop=self.client.loop, with_results=True, raise_errors=False)

        def hand_over() -> None:
            for task in itertools.islice(waiting, AHEAD - len(under_way)):
                future = self._submit(task, self.group)
                under_way[future] = task
                done.add(future)

        try:
            hand_over()
            while not done.is_empty():
                self._report_threads()
                # Not until there is one: what was finished is written meanwhile.
                if not done.has_ready():
                    time.sleep(POLL_S)
                for future, answer in done.next_batch(block=False):
                    self._take(answer, under_way.pop(future))
                hand_over()
        finally:
            # After Ctrl-C or an error: the results are not needed any more.
            if under_way and self.client.status == "running":
                with suppress(ClusterError), connection():
                    self.client.cancel(list(under_way), force=True)
        suspects, self.suspects = self.suspects, []
        return suspects

    def _report_threads(self) -> None:
        """Report the number of threads, which is fetched once a second."""
        now = time.monotonic()
        if now - self.refreshed_at >= REFRESH_S:
            self.threads, self.refreshed_at = threads_of(self.client), now
        self.callbacks.threads(self.threads)

    def alone(self, task: Task) -> None:
        """Do a task on a worker that has no other of ours: if each one dies, it was the cause."""
        for attempt in range(ALONE):
            if self._survived(task, attempt):
                return
        self.callbacks.failed(task, DIED)

    def _survived(self, task: Task, attempt: int) -> bool:
        """Do a task on one worker; return whether that lived to its end."""
        worker = self._free_worker()
        group = f"{self.group}-alone-{attempt}"
        future = self._submit(task, group, workers=[worker], allow_other_workers=False)
        while not future.done():
            self._report_threads()
            time.sleep(POLL_S)
            # Bound to a worker that is gone, a task waits for ever.
            if worker not in workers_of(self.client) and not future.done():
                with connection():
                    self.client.cancel([future], force=True)
                return False
        with connection():
            if future.status == "error":
                error = future.exception()
                answer = (type(error), error)
            elif future.status == "finished":
                answer = future.result()
            else:
                raise ClusterError(LOST)
        self._take(answer, task)
        survived = not self.suspects
        self.suspects = []
        return survived

    def _free_worker(self) -> str:
        """Return a worker; wait for one if there is none."""
        while not (there := workers_of(self.client)):
            self.callbacks.threads(0)
            time.sleep(POLL_S)
        return min(there)

    def _submit(self, task: Task, group: str, **where: Any) -> Future[Any]:  # noqa: ANN401
        call = self.call(task)
        # One group of keys: the scheduler then keeps the tasks and hands them out as threads come
        # free, so that few are lost with a worker.
        key = (group, call.name)
        arguments = (engine_build(), *call.arguments)
        with connection():
            return self.client.submit(call.function, *arguments, key=key, pure=False, **where)

    def _take(self, answer: Any, task: Task) -> None:  # noqa: ANN401
        """Take an answer: a value, (type, exception, ...) if it raised, or why it was cancelled."""
        from distributed.scheduler import KilledWorker  # noqa: PLC0415  slow to import

        # The answer that was fetched decides, not the future: its state goes back to "lost" when
        # the worker dies that still holds a copy of what has long arrived.
        if isinstance(answer, BaseException):
            raise ClusterError(LOST)
        match answer:
            case (type(), BaseException() as error, *_):
                pass
            case _:
                self.callbacks.done(task, answer)
                return
        if isinstance(error, KilledWorker):
            self.suspects.append(task)
            return
        # A worker that has come since and has another build shows itself by any kind of error.
        check_workers(self.client)
        if isinstance(error, IncastleError):
            raise error
        self.callbacks.failed(task, f"{type(error).__name__} on a worker: {error}")


def check_build(build: str) -> None:
    """Refuse, on a worker, work of another build.

    Raises:
        WrongVersion: this worker has another build of Incastle.

    """
    if build != engine_build():
        raise WrongVersion(f"a worker has Incastle {engine_build()}, this is {build}: {SAME_BUILD}")


def check_workers(client: Client) -> None:
    """Refuse workers without Incastle, or with another build.

    Raises:
        ClusterError: names the first such worker, its build and ours.

    """

    # Within a function, so that it travels as code: a worker may have no Incastle to look it up in.
    def build() -> str:
        try:
            from incastle.build import engine_build  # noqa: PLC0415
        except ImportError:
            pass
        else:
            return engine_build()
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

        try:
            return version("incastle")
        except PackageNotFoundError:
            return ""

    ours = engine_build()
    with connection():
        answers = client.run(build, on_error="return")
    for worker, theirs in sorted(answers.items()):
        if isinstance(theirs, OSError):
            continue  # it has just died
        if theirs != ours:
            has = f"Incastle {theirs}" if isinstance(theirs, str) and theirs else "no Incastle"
            raise ClusterError(f"the worker {worker} has {has}, this is {ours}: {SAME_BUILD}")


def threads_of(client: Client) -> int:
    """Count the threads of a cluster's workers."""
    return sum(worker["nthreads"] for worker in workers_of(client).values())


def workers_of(client: Client) -> dict[str, dict[str, Any]]:
    """Return the scheduler's entry of each worker, by address."""
    with connection():
        workers: dict[str, dict[str, Any]] = client.scheduler_info(n_workers=-1)["workers"]
    return workers


@contextmanager
def connection() -> Iterator[None]:
    """Turn what the client raises without its scheduler into one message.

    Raises:
        ClusterError: the scheduler is gone.

    """
    from distributed.client import ClosedClientError  # noqa: PLC0415  slow to import

    try:
        yield
    except (OSError, ClosedClientError):
        raise ClusterError(LOST) from None


@contextmanager
def connected(on: Any) -> Iterator[Cluster]:  # noqa: ANN401  an address, a cluster or a client
    """Yield the cluster at an address, of a `distributed` cluster object, or of a client.

    Raises:
        ClusterError: no scheduler answers there, or a worker cannot be used.

    """
    from distributed import Client  # noqa: PLC0415  slow to import: only on a cluster

    if isinstance(on, Client):
        yield Cluster(on)
        return
    with _quiet():
        if isinstance(on, str):
            _check_scheduler(on)
        with Client(on, timeout=CONNECT_S, set_as_default=False) as client:
            yield Cluster(client)


def _check_scheduler(address: str) -> None:
    """Check that a scheduler answers: a client that finds none is slow to fail."""
    from distributed.core import rpc  # noqa: PLC0415  slow to import: only on a cluster
    from distributed.security import Security  # noqa: PLC0415

    right = "expected the address of a Dask scheduler, as tcp://host:8786"
    encryption = Security().get_connection_args("client")
    if address.startswith("tls:") and encryption["ssl_context"] is None:
        unset = "Dask's settings (distributed.comm.tls) name no certificates for tls"
        raise ClusterError(f"--on {address}: {unset}; {right}")

    async def identity() -> dict[str, Any]:
        async with rpc(address, timeout=CONNECT_S, connection_args=encryption) as there:
            return await asyncio.wait_for(there.identity(), CONNECT_S)

    try:
        # In a thread, because a notebook has a loop in this one.
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(asyncio.run, identity()).result()
    except (TypeError, ValueError) as error:
        # About a port in letters Python reports only that it is no integer.
        reason = "the port is no number" if "invalid literal" in str(error) else error
        raise ClusterError(f"--on {address}: {reason}; {right}") from None
    except OSError:
        raise ClusterError(f"--on {address}: no scheduler answers there; {right}") from None
    if answer.get("type") != "Scheduler":
        raise ClusterError(f"--on {address}: a {answer.get('type')} answers there; {right}")


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the client's own lines about a lost connection away from our message."""
    loggers = [logging.getLogger(name) for name in ("distributed.client", "distributed.core")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
