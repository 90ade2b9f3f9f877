"""One node of a real Apache Kafka (KRaft, broker and controller in one process) as a child process.

Same ports and same folder over restarts. The child is tied to this process (see tether.py):
nothing is left running, whatever happens.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Final

from kcore.cli.demo.java import SERVER, KafkaInstallation

HOST: Final = "127.0.0.1"
# Below the range that outgoing connections are given ports from (32768 and up): while a node is
# down nobody may end up on its port, and in that range a connection can even meet itself.
PORTS: Final = range(20_000, 32_000)
STARTED: Final = re.compile(rb"Kafka Server started|KafkaServer id=\d+\] started")  # before 3.3
POLL_S: Final = 0.05
LOG_TAIL_LINES: Final = 60


class NodeError(RuntimeError):
    """The node ended, or was not ready in time; the text ends with the last lines of its log."""


@cache
def _in_turns() -> Iterator[int]:
    return cycle(random.sample(PORTS, len(PORTS)))


def free_ports(count: int) -> list[int]:
    """Ports on which nobody listens now; others with each call, since a server that is to listen
    there may not have begun.
    """
    found: list[int] = []
    for port in islice(_in_turns(), len(PORTS)):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            found.append(port)
        if len(found) == count:
            return found
    raise NodeError("no free ports")


class KafkaNode:
    """A node: `start`, `wait_ready`, then `stop`, `kill`, `pause`, `resume`, and `start` again."""

    def __init__(
        self,
        installation: KafkaInstallation,
        node_id: int,
        folder: Path,
        port: int,
        jvm: tuple[str, ...],
    ) -> None:
        self.node_id = node_id
        self.port = port
        self.folder = folder
        self.properties = folder / "server.properties"
        self.log = folder / "server.log"
        self._installation = installation
        self._jvm = jvm
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0  # where the log of the current run begins

    @property
    def address(self) -> str:
        """What clients connect to."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def configure(
        self, properties: dict[str, str], cluster_id: str, *options: str
    ) -> subprocess.Popen[bytes]:
        """Write the configuration and begin to format the log folder, with these options of
        kafka-storage: await the process.
        """
        self.folder.mkdir(parents=True)
        self.properties.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        # One word: it may begin with a dash, and as a word of its own that would be an option.
        args = ("format", f"--cluster-id={cluster_id}", "--config", str(self.properties), *options)
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self._installation.command("kafka.tools.StorageTool", *args),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def start(self) -> None:
        """Start the process; `wait_ready` says when it serves. Harmless while it runs."""
        if self.pid is not None:
            return
        command = self._installation.command(SERVER, str(self.properties), jvm=self._jvm)
        tether = [
            sys.executable,
            "-IS",
            str(Path(__file__).with_name("tether.py")),
            str(os.getpid()),
        ]
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                [*tether, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl-C at the terminal is ours to handle, in order
            )

    def wait_ready(self, deadline_s: float) -> None:
        """Wait until it says that it serves and its port answers, or time.monotonic() passes."""
        while not (self._said_started() and self._answers()):
            if self.pid is None:
                raise NodeError(f"Kafka node {self.node_id} ended:\n{self.log_tail()}")
            if time.monotonic() > deadline_s:
                raise NodeError(f"Kafka node {self.node_id} is not ready:\n{self.log_tail()}")
            time.sleep(POLL_S)

    def stop(self, timeout_s: float = 20.0) -> None:
        """An orderly shutdown; killed if that takes too long."""
        self._signal(signal.SIGCONT)
        self._signal(signal.SIGTERM)
        self._reap(timeout_s)

    def kill(self) -> None:
        """End it at once, without any farewell (kill -9)."""
        self._signal(signal.SIGKILL)
        self._reap(5.0)

    def pause(self) -> None:
        """Stop it from running while its sockets stay open: a broker that is silent."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it run again after `pause`."""
        self._signal(signal.SIGCONT)

    def log_tail(self, lines: int = LOG_TAIL_LINES) -> str:
        """The last lines that it logged, without stack traces."""
        logged = self.log.read_text(errors="replace").splitlines()
        return "\n".join([line for line in logged if not line.startswith("\t")][-lines:])

    def _said_started(self) -> bool:
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return STARTED.search(log.read()) is not None

    def _answers(self) -> bool:
        try:
            socket.create_connection((HOST, self.port), timeout=1.0).close()
        except OSError:
            return False
        return True

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def _reap(self, timeout_s: float) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
