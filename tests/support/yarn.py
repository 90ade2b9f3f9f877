"""YARN on this machine: a ResourceManager and NodeManagers, each a JVM of its own, with files in
place of HDFS.

The jars are those of tests/pipeline/pom.xml, fetched by `make yarn` into .cache/yarn/jars.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from xml.sax.saxutils import escape

from spark_processes import START_S, Started, command_of, free_port, spark_home, wait_until

from kcore.cli.demo.java import find_java

JARS = Path(".cache/yarn/jars")
SERVER = "org.apache.hadoop.yarn.server"
NODE_MB = 3_072
LOCAL = {"SPARK_LOCAL_IP": "127.0.0.1"}
ROUND_MB = 256  # what a container gets is a multiple of it


def missing() -> str | None:
    """Why no YARN can be started here; None if one can."""
    return None if (JARS / ".complete").exists() else "YARN is not there: make yarn"


def _xml(path: Path, settings: Mapping[str, str]) -> None:
    lines = [
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    ]
    path.write_text("\n".join(["<configuration>", *lines, "</configuration>"]))


class YarnCluster:
    """A ResourceManager and NodeManagers of NODE_MB each, which gather logs into `gathered`."""

    def __init__(self, folder: Path, nodes: int = 2) -> None:
        self.folder = folder
        self._nodes = folder / "nodes"
        self._names = [f"node-{number}" for number in range(nodes)]
        self._servers: list[Started] = []
        self._java = Path(find_java()).resolve()
        ports = {name: f"127.0.0.1:{free_port()}" for name in ("address", "scheduler", "tracker")}
        self._common = {
            "yarn.resourcemanager.hostname": "127.0.0.1",
            "yarn.resourcemanager.address": ports["address"],
            "yarn.resourcemanager.scheduler.address": ports["scheduler"],
            "yarn.resourcemanager.resource-tracker.address": ports["tracker"],
            "yarn.resourcemanager.admin.address": f"127.0.0.1:{free_port()}",
            "yarn.resourcemanager.webapp.address": f"127.0.0.1:{free_port()}",
            "yarn.log-aggregation-enable": "true",
            "yarn.nodemanager.remote-app-log-dir": (folder / "gathered").as_uri(),
            "yarn.scheduler.minimum-allocation-mb": str(ROUND_MB),
            "yarn.nodemanager.resource.memory-mb": str(NODE_MB),
        }
        self._settings = {
            "spark.yarn.jars": f"local:{spark_home() / 'jars'}/*",  # or each job takes them along
            "spark.yarn.stagingDir": (folder / "staging").as_uri(),
            "spark.ui.enabled": "false",
            **{f"spark.yarn.appMasterEnv.{name}": value for name, value in LOCAL.items()},
            **{f"spark.executorEnv.{name}": value for name, value in LOCAL.items()},
        }

    def _configure(self, name: str) -> Path:
        """The configuration of one server, or of clients; where it is."""
        conf = self.folder / f"conf-{name}"
        conf.mkdir()
        node = self._nodes / name
        here = {
            "yarn.nodemanager.hostname": "127.0.0.1",
            "yarn.nodemanager.address": "127.0.0.1:0",
            "yarn.nodemanager.localizer.address": "127.0.0.1:0",
            "yarn.nodemanager.webapp.address": "127.0.0.1:0",
            "yarn.nodemanager.local-dirs": str(node / "local"),
            "yarn.nodemanager.log-dirs": str(node / "logs"),
            # Whose disks are nearly full is not our question here.
            "yarn.nodemanager.disk-health-checker.enable": "false",
            # What containers were started with is left to be looked at.
            "yarn.nodemanager.delete.debug-delay-sec": "3600",
        }
        _xml(conf / "core-site.xml", {"fs.defaultFS": "file:///", "hadoop.tmp.dir": str(conf)})
        _xml(conf / "yarn-site.xml", {**self._common, **here})
        root = "yarn.scheduler.capacity"
        queues = {"root.queues": "default", "root.default.capacity": "100"}
        queues["maximum-am-resource-percent"] = "1"
        _xml(
            conf / "capacity-scheduler.xml",
            {f"{root}.{name}": value for name, value in queues.items()},
        )
        (conf / "log4j.properties").write_text(
            "log4j.rootLogger=INFO,console\n"
            "log4j.appender.console=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.console.layout=org.apache.log4j.PatternLayout\n"
            "log4j.appender.console.layout.ConversionPattern=%d %p %c{1}: %m%n\n"
        )
        return conf

    def _start(self, kind: str, name: str) -> Started:
        """Nothing of this Python's is to be found from there."""
        command = [
            *("env", "-i", f"JAVA_HOME={self._java.parent.parent}", "PATH=/usr/bin:/bin"),
            *(str(self._java), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            *("--add-opens=java.base/java.lang=ALL-UNNAMED", "-Djava.net.preferIPv4Stack=true"),
            *("-cp", f"{self._configure(name)}:{JARS.absolute()}/*", f"{SERVER}.{kind}"),
        ]
        server = Started(command, self.folder / f"{name}.log")
        self._servers.append(server)
        return server

    def start(self) -> None:
        self._start("resourcemanager.ResourceManager", "resources")
        for name in self._names:
            self._start("nodemanager.NodeManager", name)
        for node in self._servers[1:]:
            wait_until(
                lambda one=node: "Registered with ResourceManager" in one.said(),
                START_S,
                "NodeManager",
                *(self._servers[0], node),
            )
        self._configure("client")

    def stop(self) -> None:
        """The servers, and then the containers, which have sessions of their own."""
        for server in reversed(self._servers):
            server.kill()
        while pids := self.containers():
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)

    def containers(self, kind: bytes = b"") -> list[int]:
        """What runs in containers and has this in its command line."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):  # it has ended, or is no process
                if Path(os.readlink(entry / "cwd")).is_relative_to(self._nodes):
                    found.append(int(entry.name))
        return [pid for pid in found if kind in command_of(pid)]

    def executors(self) -> list[int]:
        """The processes that run tasks."""
        return self._java_of(b"YarnCoarseGrainedExecutorBackend")

    def drivers(self) -> list[int]:
        """The drivers in containers."""
        return self._java_of(b"deploy.yarn.ApplicationMaster")

    def _java_of(self, main: bytes) -> list[int]:
        return [pid for pid in self.containers(main) if b"java\0" in command_of(pid)[:200]]

    def started(self) -> set[str]:
        """The containers that were started so far, by their names."""
        return {path.parent.name for path in self._nodes.glob("*/logs/*/*/prelaunch.out")}

    def written(self, name: str) -> list[Path]:
        """The files of this name that containers have written."""
        return [*self._nodes.glob(f"*/logs/*/*/{name}")]

    def submit(
        self, log: Path, mode: str, *arguments: str, folder: Path, python: str = "python3"
    ) -> Started:
        """spark-submit, working in a folder. mode: client, cluster. python: of the driver, and of
        workers unless the arguments say otherwise.
        """
        command = [
            *("env", "-u", "PYTHONPATH", "-C", str(folder)),
            str(spark_home() / "bin" / "spark-submit"),
            *("--master", "yarn", "--deploy-mode", mode, "--num-executors", "2"),
            *("--driver-memory", "512m", "--executor-memory", "512m"),
            *(f"--conf={name}={value}" for name, value in self._settings.items()),
            *arguments,
        ]
        return Started(
            command,
            log,
            HADOOP_CONF_DIR=str(self.folder / "conf-client"),
            PYSPARK_PYTHON=python,
            PYSPARK_DRIVER_PYTHON=python,
            **LOCAL,
        )


@contextmanager
def yarn_cluster(folder: Path) -> Iterator[YarnCluster]:
    """A cluster of two nodes that is gone afterwards, with all that ran on it."""
    cluster = YarnCluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
