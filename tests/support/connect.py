"""Kafka Connect as processes of their own: workers of a distributed cluster, asked over their REST
interface, and MirrorMaker.
"""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from kcore.cli.demo.java import KafkaInstallation
from kcore.cli.demo.kafka_node import free_ports

DISTRIBUTED = "org.apache.kafka.connect.cli.ConnectDistributed"
MIRROR_MAKER = "org.apache.kafka.connect.mirror.MirrorMaker"
JVM = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
PATIENCE_S = 120


def until(met: Callable[[], Any], told: Callable[[], object]) -> None:
    """Wait until `met()`. told: what is said if it never comes."""
    end = time.monotonic() + PATIENCE_S
    while not met():
        assert time.monotonic() < end, told()
        time.sleep(0.3)


class JavaProcesses:
    """Processes with a file of properties each, that end with this."""

    def __init__(self, installation: KafkaInstallation, folder: Path) -> None:
        self._installation = installation
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, main: str, properties: Mapping[str, object]) -> subprocess.Popen[bytes]:
        name = f"{main.rpartition('.')[2]}-{len(self._started)}"
        given = self._folder / f"{name}.properties"
        given.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                self._installation.command(main, str(given), jvm=JVM),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self._started.append(process)
        return process

    def told(self) -> str:
        """The end of what each has said."""
        logs = sorted(self._folder.glob("*.log"))
        return "\n".join(f"{log.name}:\n{log.read_text()[-3000:]}" for log in logs)

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait()


class Connect:
    """A cluster of Connect, without workers at first. replicas: of its own topics."""

    def __init__(self, processes: JavaProcesses, bootstrap: str, name: str, replicas: int) -> None:
        self._processes = processes
        self._workers: dict[subprocess.Popen[bytes], int] = {}
        self._properties: dict[str, object] = {
            "bootstrap.servers": bootstrap,
            "group.id": name,
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "offset.flush.interval.ms": 1000,
            "exactly.once.source.support": "enabled",
            "plugin.discovery": "service_load",
            "scheduled.rebalance.max.delay.ms": 2000,
        }
        for what in ("offset", "config", "status"):
            self._properties[f"{what}.storage.topic"] = f"{name}-{what}"
            self._properties[f"{what}.storage.replication.factor"] = replicas

    def start(self) -> subprocess.Popen[bytes]:
        """A worker; it answers when this is over."""
        (port,) = free_ports(1)
        properties = {**self._properties, "listeners": f"http://127.0.0.1:{port}"}
        worker = self._processes.start(DISTRIBUTED, properties)
        self._workers[worker] = port
        self.until(lambda: self._answers(port))
        return worker

    def _answers(self, port: int) -> bool:
        try:
            _ask(port, "GET", "/connectors", None)
        except OSError:
            return False
        return True

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """What a worker that lives says, once its group is not in the middle of a rebalance."""
        port = next(port for worker, port in self._workers.items() if worker.poll() is None)
        said: list[Any] = []

        def answered() -> bool:
            try:
                said.append(_ask(port, method, path, body))
            except urllib.error.HTTPError as refusal:
                if refusal.code != HTTPStatus.CONFLICT:
                    raise AssertionError(f"{method} {path}: {refusal.read().decode()}") from refusal
            return bool(said)

        self.until(answered)
        return said[0]

    def until(self, met: Callable[[], Any]) -> None:
        until(met, self._processes.told)


def _ask(port: int, method: str, path: str, body: object) -> Any:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
        method=method,
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        said = answer.read()
    return json.loads(said) if said else None
