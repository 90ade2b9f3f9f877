"""Spark as processes of their own: jobs that can be killed with all that belongs to them, and
Spark's standalone cluster on this machine, from the pip-installed pyspark.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

START_S = 120


def python_environment() -> dict[str, str]:
    """Workers are to be this Python."""
    return {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}


def spark_home() -> Path:
    """Of the pip-installed pyspark."""
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


class Started:
    """A process with a session of its own, so that whatever it starts can be found."""

    def __init__(self, command: list[str], log: Path, **environment: str) -> None:
        self.log = log
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**python_environment(), **environment},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def wait(self, timeout_s: float) -> int:
        return self.process.wait(timeout_s)

    def kill(self) -> int:
        """kill -9 for all of the session, until none is left; how many there were."""
        killed = 0
        while pids := session_of(self.pid):
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
                except ProcessLookupError:
                    pass
            if self.process.poll() is None:
                self.process.wait(30)
            time.sleep(0.05)
        self.process.wait(30)
        return killed


def _stat(pid: int) -> tuple[str, int, int] | None:
    """State, parent and session of a process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[1]), int(fields[3])


def _all() -> Iterator[tuple[int, int, int]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            found = _stat(int(entry.name))
            if found is not None and found[0] != "Z":
                yield int(entry.name), found[1], found[2]


def session_of(leader: int) -> list[int]:
    """The processes of a session that still run."""
    return [pid for pid, _parent, session in _all() if session == leader]


def children_of(parent: int) -> list[int]:
    """The processes that one has started and that still run."""
    return [pid for pid, found, _session in _all() if found == parent]


def command_of(pid: int) -> bytes:
    """The command line of a process; nothing if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def wait_until(is_so: object, timeout_s: float, what: str, *watched: Started) -> None:
    """Ask again and again; AssertionError with what was said by then."""
    until = time.monotonic() + timeout_s
    while not is_so():  # type: ignore[operator]
        ended = [one for one in watched if one.process.poll() is not None]
        if ended or time.monotonic() > until:
            said = "\n".join(one.said()[-4_000:] for one in watched)
            raise AssertionError(f"{'ended' if ended else 'too late'}: {what}\n{said}")
        time.sleep(0.05)


def committed(folder: Path, query: str) -> int:
    """How many micro-batches a query has finished."""
    commits = folder / "checkpoints" / query / "commits"
    return sum(path.name.isdigit() for path in commits.iterdir()) if commits.is_dir() else 0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class StandaloneCluster:
    """Spark's own cluster manager: a master and workers of one core each."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder = folder
        self.master = f"spark://127.0.0.1:{free_port()}"
        self._count = workers
        self._master: Started | None = None
        self.workers: list[Started] = []

    def _start(self, kind: str, name: str, *arguments: str) -> Started:
        command = [
            str(spark_home() / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{kind}",
            *("--host", "127.0.0.1", "--webui-port", "0"),
            *arguments,
        ]
        return Started(
            command,
            self.folder / f"{name}.log",
            SPARK_DAEMON_MEMORY="256m",
            SPARK_LOCAL_IP="127.0.0.1",
            SPARK_NO_DAEMONIZE="1",
        )

    def start(self) -> None:
        port = self.master.rpartition(":")[2]
        self._master = self._start("master.Master", "master", "--port", port)
        wait_until(
            lambda: "New state: ALIVE" in self._master.said(), START_S, "master", self._master
        )
        for number in range(self._count):
            work = self.folder / f"work-{number}"
            self.workers.append(
                self._start(
                    "worker.Worker",
                    f"worker-{number}",
                    *("--cores", "1", "--memory", "1g", "--work-dir", str(work), self.master),
                )
            )
        for worker in self.workers:
            wait_until(
                lambda one=worker: "Successfully registered with master" in one.said(),
                START_S,
                "worker",
                worker,
            )

    def stop(self) -> None:
        for one in [*self.workers, *([self._master] if self._master else [])]:
            one.kill()

    def executors(self) -> list[int]:
        """The processes that run tasks: what the workers have started."""
        return [
            pid
            for worker in self.workers
            for pid in children_of(worker.pid)
            if b"CoarseGrainedExecutorBackend" in command_of(pid)
        ]

    def started_executors(self) -> int:
        """How many there were so far."""
        return sum(1 for _ in self.folder.glob("work-*/app-*/[0-9]*"))

    def submit(
        self, log: Path, script: str, *arguments: str, settings: Mapping[str, str] | None = None
    ) -> Started:
        """A driver by spark-submit. settings: of Spark."""
        more = [f"--conf={name}={value}" for name, value in (settings or {}).items()]
        command = [
            str(spark_home() / "bin" / "spark-submit"),
            *("--master", self.master, "--executor-memory", "512m", "--executor-cores", "1"),
            *("--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"),
            *more,
            script,
            *arguments,
        ]
        return Started(command, log, SPARK_LOCAL_IP="127.0.0.1")


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2) -> Iterator[StandaloneCluster]:
    """A cluster that is gone afterwards."""
    cluster = StandaloneCluster(folder, workers)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
