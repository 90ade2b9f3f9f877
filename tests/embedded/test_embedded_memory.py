"""A broker without ports: consumers of this process, and bare cores without a thread."""

import os
import time

import pytest

import kcore
from kcore.embedded import EmbeddedBroker
from kcore.errors import NoBrokersAvailable, UsageError

DEADLINE_S = 30


@pytest.fixture(params=[1, 3], ids=["one", "three"])
def broker(request):
    with EmbeddedBroker(nodes=request.param, in_memory=True) as embedded:
        embedded.create_topic("t", 4)
        yield embedded
        assert not embedded.faults


def member(broker, **options):
    return kcore.Consumer(
        "t",
        transport=broker.transport(),
        bootstrap_servers=broker.bootstrap,
        group_id="g",
        auto_offset_reset="earliest",
        heartbeat_interval_ms=50,
        retry_backoff_ms=10,
        **options,
    )


def until(enough, step):
    end = time.monotonic() + DEADLINE_S
    while not enough():
        assert time.monotonic() < end, "not in time"
        step()


def test_a_group_shares_and_reads(broker):
    broker.produce("t", [(None, b"v%d" % number) for number in range(100)])
    values = []
    first, second = member(broker), member(broker)

    def step():
        for each in (first, second):
            for records in each.poll(timeout_ms=20).values():
                values.extend(record.value for record in records)

    until(lambda: len(first.assignment()) == len(second.assignment()) == 2, step)
    until(lambda: len(set(values)) == 100, step)
    first.close()
    until(lambda: len(second.assignment()) == 4, lambda: second.poll(timeout_ms=20))
    second.close()


def test_a_wait_is_ended_by_what_comes(broker):
    reader = member(broker)
    until(reader.assignment, lambda: reader.poll(timeout_ms=20))
    began = time.monotonic()
    broker.produce("t", [(None, b"x")], partition=2)
    found = {}
    until(lambda: found, lambda: found.update(reader.poll(timeout_ms=10_000)))
    assert time.monotonic() - began < 5
    reader.close()


def test_there_are_no_sockets(broker):
    def sockets():
        fds = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
        return {os.readlink(fd) for fd in fds if os.path.exists(fd)}

    with member(broker) as reader:
        until(reader.assignment, lambda: reader.poll(timeout_ms=20))
        assert not [link for link in sockets() if link.startswith("socket:")]


def test_a_node_that_dies_and_comes_back():
    with EmbeddedBroker(nodes=3, in_memory=True) as broker:
        broker.create_topic("t", 3, replication_factor=3)
        with member(broker) as reader:
            read = []

            def step():
                for records in reader.poll(timeout_ms=20).values():
                    read.extend(record.value for record in records)

            for node in (1, 2, 3):
                broker.kill(node)
                broker.produce("t", [(None, b"dead %d" % node)])
                until(lambda node=node: b"dead %d" % node in read, step)
                broker.revive(node)
        assert not broker.faults


def test_each_broker_has_a_network_of_its_own(broker):
    with EmbeddedBroker(in_memory=True) as other:
        other.create_topic("elsewhere")
        with kcore.Consumer(
            transport=other.transport(), bootstrap_servers=other.bootstrap
        ) as reader:
            assert reader.topics() == {"elsewhere"}


def test_a_broker_that_is_gone_is_not_there():
    with EmbeddedBroker(in_memory=True) as broker:
        transport, bootstrap = broker.transport(), broker.bootstrap
    with pytest.raises(NoBrokersAvailable):
        kcore.Consumer(transport=transport, bootstrap_servers=bootstrap, bootstrap_timeout_ms=100)


def test_a_broker_on_ports_has_no_transport(kcore_broker):
    with pytest.raises(UsageError):
        kcore_broker.transport()
