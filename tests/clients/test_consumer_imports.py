"""What a consumer without TLS and SASL never loads: together it was half of its start."""

from __future__ import annotations

import subprocess
import sys

from kcore.embedded import EmbeddedBroker

PROGRAM = """
import sys
before = set(sys.modules)
from kcore import Consumer
consumer = Consumer(bootstrap_servers="127.0.0.1:1", group_id="g", api_version=(3, 9))
consumer.subscribe(["t"])
print("before:", "logging" in sys.modules)
consumer.poll()  # that nobody is there is said in the log
print(*set(sys.modules) - before)
consumer.close(timeout_ms=0)
"""
HEAVY = {
    "dataclasses",
    "difflib",
    "encodings.idna",
    "hashlib",
    "inspect",
    "ssl",
    "importlib.metadata",
    "base64",
    "kcore.durations",
    "kcore.errors.admin",
    "kcore.errors.groups",
    "kcore.errors.partitions",
    "kcore.errors.rare",
    "kcore.group.consumer_heartbeat",
    "kcore.group.reconciliation",
    "kcore.records.builder",
    "kcore.telemetry.payload",
    "kcore.telemetry.reporter",
    "kcore.wire.otlp",
    "typing",
}


def test_it_loads_nothing_heavy_that_it_does_not_need():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    before, after = done.stdout.splitlines()
    assert before == "before: False"
    loaded = set(after.split())
    assert "kcore.consumer.core" in loaded
    # The log that a poll writes brings dataclasses from Python 3.14 on.
    bare = [sys.executable, "-c", "import logging, sys; print(*sys.modules)"]
    done = subprocess.run(bare, capture_output=True, text=True, timeout=60, check=True)
    assert not (loaded & HEAVY) - set(done.stdout.split())


def test_its_class_alone_loads_no_core():
    program = "import sys; from kcore import AsyncConsumer, Consumer; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    loaded = done.stdout.split()
    assert "kcore.clients.consumer.async_consumer" in loaded
    rooms = {name.split(".")[1] for name in loaded if name.startswith("kcore.")}
    assert not rooms & {"wire", "records", "connection", "cluster", "group", "fetch", "consumer"}


FIRST_RECORD = """
import sys
from kcore import Consumer
consumer = Consumer("t", bootstrap_servers=sys.argv[1], group_id="g", auto_offset_reset="earliest")
while not consumer.poll(timeout_ms=1000):
    pass
print(*sys.modules)
consumer.close()
"""
LATER = {
    "kcore.assignors.racks",
    "kcore.assignors.sticky",
    "kcore.cluster.kinship",
    "kcore.connection.authentication",
    "kcore.connection.credentials",
    "kcore.connection.sasl",
    "kcore.errors.admin",
    "kcore.errors.groups",
    "kcore.errors.partitions",
    "kcore.errors.parts",
    "kcore.errors.rare",
    "kcore.fetch.health",
    "kcore.fetch.unreadable",
    "kcore.group.consumer_states",
    "kcore.wire.messages.leave_group",
    "kcore.wire.messages.offset_for_leader_epoch",
    "kcore.wire.messages.sasl_handshake",
    "kcore.wire.releases",
    "random",
}


def test_until_the_first_record_of_a_new_group_nothing_rare_is_loaded():
    with EmbeddedBroker() as broker:
        broker.create_topic("t")
        broker.produce("t", [(None, b"v")])
        done = subprocess.run(
            [sys.executable, "-c", FIRST_RECORD, broker.bootstrap],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    loaded = set(done.stdout.split())
    assert "kcore.group.joining" in loaded
    assert not loaded & LATER
