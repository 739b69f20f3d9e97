"""Sweeps on a Dask cluster: the same results, whatever happens to its workers."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import incastle as ic
from conftest import SMALL, Output
from incastle import runner
from incastle.analysis.outcome import Failure, Wanted
from incastle.build import engine_build
from incastle.cluster import dask as on_cluster
from incastle.cluster import sweeps as on_dask
from test_controllers import FIXED, OWN
from test_sweep import KEYS, files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from distributed import Client, LocalCluster, Worker

    from incastle.scenario import Scenario

    Cli = Callable[..., Output]

# Dask's processes have time-outs of their own, and the order of the tests counts.
pytestmark = pytest.mark.alone

SLOWER = SMALL.replace("20 ms", "1 s")
POISON = "poison"
TWICE = 2
PATIENCE_S = 120
"""Workers take a second to start, on a busy machine much longer."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Give two workers, processes of their own, that may die once without being blamed."""
    import dask  # noqa: PLC0415  slow to import
    from distributed import LocalCluster  # noqa: PLC0415

    settings = {
        "distributed.scheduler.allowed-failures": 0,
        # Some time after a worker died, a local cluster looks whether one of its name is there, and
        # ends the program that starts it anew if not: a test that kills it just then would lose the
        # new one too, whose run would be blamed.
        "distributed.deploy.lost-worker-timeout": "1 h",
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as made,
    ):
        yield made


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    from distributed import Client  # noqa: PLC0415  slow to import

    with Client(cluster, set_as_default=False) as made:
        made.wait_for_workers(2, timeout=PATIENCE_S)
        yield made


def test_controllers_of_ones_own_travel_with_their_runs(
    client: Client, scenario: Scenario, tmp_path: Path
) -> None:
    (tmp_path / "fixed.py").write_text(FIXED)
    (tmp_path / "small.toml").write_text(SMALL)
    in_a_file = ic.load(tmp_path / "small.toml").with_overrides(
        {"transport.congestion": "fixed.py:Fixed"}
    )
    kind: dict[str, Any] = {"__name__": "nowhere"}
    exec(FIXED, kind)  # noqa: S102  a class that no worker can import
    by_name = scenario.with_overrides(OWN).with_controllers({"own": kind["Fixed"]})
    for own in (in_a_file, by_name):
        here = ic.sweep(own, {"network.senders": [2, 4]})
        there = ic.sweep(own, {"network.senders": [2, 4]}, on=client)
        assert not there.failures
        assert there.frame.equals(here.frame)


def test_same_frames_and_files_as_on_threads(
    cluster: LocalCluster, client: Client, scenario: Scenario, tmp_path: Path
) -> None:
    here = ic.sweep(scenario, KEYS, 2, threads=2, tables=["flows"], out=tmp_path / "here")
    for name, on in (("address", cluster.scheduler_address), ("client", client)):
        there = ic.sweep(scenario, KEYS, 2, on=on, tables=["flows"], out=tmp_path / name)
        assert there.frame.equals(here.frame)
        assert there.tables["flows"].equals(here.tables["flows"])
        assert files(tmp_path / name) == files(tmp_path / "here")


def test_command_line_with_a_cluster_object_resumes_what_threads_began(
    cluster: LocalCluster, cli: Cli, folder: Path
) -> None:
    few = ("sweep", "small.toml", "--seeds", "2", "--out", "s")
    assert cli(*few, "--set", "network.senders=2").status == 0
    on = ("--on", cluster.scheduler_address, "--resume")
    output = cli(*few, "--set", "network.senders=2,3", *on)
    assert (output.status, "4 runs in s, 2 of them from before" in output.err) == (0, True)
    scenario = ic.load(folder / "small.toml")
    again = ic.sweep(scenario, {"network.senders": [2, 3]}, 2, on=cluster)
    assert again.frame.equals(ic.Sweep.load(folder / "s").frame)


def test_worker_that_is_killed_costs_its_runs_only(client: Client) -> None:
    scenario = ic.Scenario.from_text(SLOWER)
    whole = ic.sweep(scenario, {}, 12)
    victims = sorted(client.run(os.getpid).values())[:1]

    def kill(state: ic.SweepProgress) -> None:
        if state.finished >= 2 and victims:
            os.kill(victims.pop(), signal.SIGKILL)

    there = ic.sweep(scenario, {}, 12, on=client, progress=kill)
    assert victims == []
    assert there.frame.equals(whole.frame)
    assert there.failures == ()


def test_worker_with_another_build_is_refused(
    client: Client, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = f"{ic.__version__}-beef"
    monkeypatch.setattr(on_cluster, "engine_build", lambda: other)
    message = rf"worker tcp://.* has Incastle {engine_build()}, this is {other}: all need the same"
    with pytest.raises(ic.ClusterError, match=message):
        ic.sweep(scenario, {}, on=client)


def test_task_refuses_another_build(scenario: Scenario) -> None:
    wanted = Wanted({}, {}, ())
    other = f"{ic.__version__}-beef"
    with pytest.raises(on_cluster.WrongVersion, match=rf"has Incastle .*, this is {other}"):
        on_dask.do_run(other, scenario.resolved, wanted)


def test_failure_on_a_worker_comes_back(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: Scenario) -> None:
        raise ic.InternalError("queue below zero")

    monkeypatch.setattr(runner, "run", run)
    outcome = on_dask.do_run(engine_build(), scenario.resolved, Wanted({}, {}, ()))
    assert outcome == Failure("queue below zero", internal=True)


def test_table_that_was_not_asked_for_ends_the_sweep(client: Client, scenario: Scenario) -> None:
    with pytest.raises(ic.TableMissing, match=r"under \[measure\]"):
        ic.sweep(scenario, {}, 3, on=client, tables=["windows"])


def test_interrupt_takes_the_runs_back(client: Client, scenario: Scenario, tmp_path: Path) -> None:
    def stop(state: ic.SweepProgress) -> None:
        if state.finished >= 1:
            raise KeyboardInterrupt

    slower = ic.Scenario.from_text(SLOWER)
    with pytest.raises(ic.SweepStopped):
        ic.sweep(slower, {}, 40, on=client, out=tmp_path / "s", progress=stop)
    assert 1 <= ic.Sweep.load(tmp_path / "s").frame.height < 40
    # The cluster is free for the next.
    assert ic.sweep(scenario, {}, 2, on=client).frame.height == 2


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://127.0.0.1:9", "no scheduler answers there"),
        ("localhost", "missing port number"),
        ("http://localhost:8786", "unknown address scheme"),
        ("tcp://localhost:dask", "the port is no number"),
        ("tls://localhost:8786", "Dask's settings (distributed.comm.tls) name no certificates"),
    ],
)
def test_scheduler_that_is_not_there(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, address: str, message: str
) -> None:
    monkeypatch.setattr(on_cluster, "CONNECT_S", 1)
    output = cli("sweep", "small.toml", "--on", address)
    assert output.status == 2
    assert message in output.err
    assert "tcp://host:8786" in output.err
    assert not (folder / "results").exists()


def test_server_that_is_no_scheduler(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_cluster, "CONNECT_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(ic.ClusterError, match="no scheduler answers there"):
            ic.sweep(scenario, {}, on=f"tcp://127.0.0.1:{port}")


def test_worker_is_no_scheduler(client: Client, scenario: Scenario) -> None:
    worker = next(iter(client.run(os.getpid)))
    with pytest.raises(ic.ClusterError, match="a Worker answers there"):
        ic.sweep(scenario, {}, on=worker)


PAGE = Path(__file__).parents[2] / "docs" / "sweep.md"


def typed(port: int) -> tuple[list[str], list[str], list[str]]:
    """Give the page's three commands for a cluster, with an address of this machine."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("    $ ")]
    here = [
        line.replace("//scheduler:", "//127.0.0.1:").replace("8786", str(port)) for line in lines
    ]
    scheduler, worker, sweep = (shlex.split(line, comments=True)[1:] for line in here)
    local = ["--host", "127.0.0.1", "--no-dashboard"]
    return [*scheduler, *local], [*worker, "--nthreads", "1", "--no-dashboard"], sweep


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run one of Dask's programs for a while."""
    program = [str(Path(sys.executable).parent / command[0]), *command[1:]]
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(program, stdout=nowhere, stderr=nowhere) as process:
        try:
            yield process
        finally:
            process.terminate()


def wait_for_port(port: int) -> None:
    patience = time.monotonic() + PATIENCE_S
    while time.monotonic() < patience:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    pytest.fail("the scheduler does not listen")


def test_cluster_of_the_page_and_a_scheduler_that_dies(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_cluster, "CONNECT_S", 30)
    (folder / "examples").symlink_to(PAGE.parents[1] / "examples")
    port = free_port()
    scheduler, worker, sweep = typed(port)
    with running(scheduler) as process:
        wait_for_port(port)
        with running(worker):
            output = cli(*sweep[1:])
        assert output.status == 0, output.err
        frame = ic.Sweep.load(folder / "results/cluster").frame
        assert frame["network.senders"].to_list() == [5, 10]
        # Nobody works there now: a sweep waits, until the scheduler is gone.
        count = on_cluster.threads_of

        def count_and_kill(client: Client) -> int:
            while count(client) > 0:
                time.sleep(0.05)
            process.kill()
            return 0

        monkeypatch.setattr(on_cluster, "threads_of", count_and_kill)
        output = cli("sweep", "small.toml", "--on", f"tcp://127.0.0.1:{port}", "--out", "s")
    assert output.status == 2
    assert "no worker is connected to the scheduler yet" in output.err
    assert "the connection to the scheduler is lost" in output.err
    assert "Traceback" not in output.err
    assert not (folder / "s").exists()


def test_result_that_was_fetched_counts_though_its_worker_dies_before_it_is_taken(
    client: Client,
) -> None:
    def five(build: str) -> int:
        on_cluster.check_build(build)
        return 5

    taken: list[int] = []
    pids = list(client.run(os.getpid).values())

    def kill_after_the_answer(_threads: int) -> None:
        if not pids:
            return
        (future,) = client.futures.values()
        wait_until(lambda: future.status == "finished")
        time.sleep(0.5)  # the answer is fetched meanwhile
        while pids:
            os.kill(pids.pop(), signal.SIGKILL)
        # Lost, or an error where the scheduler tried it on the second worker before that was gone.
        wait_until(lambda: future.status != "finished")

    callbacks: on_cluster.Callbacks[int] = on_cluster.Callbacks(
        done=lambda _task, answer: taken.append(answer),
        failed=lambda _task, why: pytest.fail(why),
        threads=kill_after_the_answer,
    )
    on_cluster.Cluster(client).execute([0], lambda _: on_cluster.Call("five", five, ()), callbacks)
    assert taken == [5]


def wait_until(holds: Callable[[], bool]) -> None:
    patience = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < patience
        time.sleep(0.01)


# The last one: the workers of this cluster keep the poison.
def install_poison(deaths: Path) -> None:
    """Let a worker die of runs with three senders always, of one with seven for the first times."""
    real = runner.run

    def run(scenario: Scenario, *rest: Any) -> ic.Result:
        senders = scenario["network.senders"]
        died = len(list(deaths.iterdir()))
        if senders == 7 and died < TWICE:
            (deaths / str(died)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if senders == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(scenario, *rest)

    runner.run = run  # type: ignore[assignment]


def test_run_that_kills_its_workers_is_named_and_no_other(
    client: Client, scenario: Scenario, tmp_path: Path
) -> None:
    from distributed import WorkerPlugin  # noqa: PLC0415  slow to import

    class Poison(WorkerPlugin):
        name = POISON

        def setup(self, worker: Worker) -> None:
            del worker
            install_poison(tmp_path)

    client.register_plugin(Poison())
    # That of seven senders loses its worker among the others, once more by itself, and then not.
    there = ic.sweep(scenario, {"network.senders": [2, 3, 4, 7]}, on=client)
    assert there.frame["network.senders"].to_list() == [2, 4, 7]
    assert len(list(tmp_path.iterdir())) == TWICE
    ((run, failure),) = there.failures
    assert run.values == {"network.senders": 3}
    assert "the last 3 times without other tasks on it" in failure.message
