"""How long until a broker serves: the embedded one in a process that runs already, as a command of
its own, and a real Kafka (one node, formatted before, Java's quickest options).

    python bench/broker_startup.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from broker_process import ask, cpu_s, wall

import kcore.embedded
from kcore.cli.demo.brokers import KAFKA_VERSION
from kcore.cli.demo.kafka_cluster import KafkaCluster
from kcore.wire import messages as m


def served(address: str) -> None:
    """Until it answers ApiVersions."""
    host, port = address.rsplit(":", 1)
    while True:
        try:
            with socket.create_connection((host, int(port)), 60) as sock:
                ask(sock, m.ApiVersionsRequest(), 0)
                return
        except OSError:
            time.sleep(0.001)


def in_process(nodes: int) -> tuple[float, float]:
    """Seconds, CPU seconds; as all of these."""
    start, cpu = wall(), time.process_time()
    with kcore.embedded.EmbeddedBroker(nodes) as broker:
        for address in broker.addresses:
            served(address)
        return wall() - start, time.process_time() - cpu


def command() -> tuple[float, float]:
    start = wall()
    with subprocess.Popen(
        [sys.executable, "-m", "kcore.cli.main", "broker", "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        served(child.stdout.readline().split()[2].rstrip(";"))
        found = wall() - start, cpu_s(child.pid)
        child.terminate()
    return found


def kafka() -> tuple[float, float]:
    cluster = KafkaCluster(1)
    try:
        cluster.start()  # formats, which is not counted
        cluster.stop(0)
        start = wall()
        cluster.nodes[0].start()
        served(cluster.bootstrap)
        pid = cluster.nodes[0].pid
        return wall() - start, cpu_s(pid)
    finally:
        cluster.close()


def measure(rounds: int) -> list[dict]:
    served_by: dict[str, Callable[[], tuple[float, float]]] = {
        "embedded, one node": lambda: in_process(1),
        "embedded, three nodes": lambda: in_process(3),
        "kcore broker, its process included": command,
        f"Kafka {KAFKA_VERSION}, one node": kafka,
    }
    results = []
    for name, once in served_by.items():
        times = [once() for _ in range(1 if once is kafka else rounds)]
        found = {
            "case": name,
            "ms": 1_000 * statistics.median(one[0] for one in times),
            "cpu_ms": 1_000 * statistics.median(one[1] for one in times),
        }
        results.append(found)
        print(f"{name:36} {found['ms']:8.1f} ms {found['cpu_ms']:8.1f} ms of CPU", flush=True)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    measure(parser.parse_args().rounds)
