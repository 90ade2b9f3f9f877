"""A process that is stopped and goes on later, whatever it was at: nobody is told of any fault.

The clock jumps as it is read for the nth time, and what is on its way arrives before it goes on.
(Event loops have clocks of their own; tests/transports/test_contract_away.py has them jump.)
"""

from __future__ import annotations

import logging
import threading
import time

import pytest

from kcore import Admin, Consumer, Producer, TopicPartition
from kcore.embedded import EmbeddedBroker
from kcore.transports import core

EVERY = 5  # readings: some of them are struck in each run
AWAY_S = 40  # more than a connection, a request and the look for a broker may take


@pytest.fixture
def broker():
    with EmbeddedBroker() as embedded:
        embedded.create_topic("t", 1)
        embedded.produce("t", [(None, b"%d" % number) for number in range(20)])
        embedded.create_topic("w", 2)
        yield embedded


@pytest.fixture
def clock(monkeypatch):
    read_ns, theirs = core._clock_ns, {thread.ident for thread in threading.enumerate()}
    theirs.discard(threading.get_ident())

    class Clock:
        readings = strikes_at = away_ns = 0

        def __call__(self):
            if threading.get_ident() not in theirs:  # they are the broker's
                self.readings += 1
                if self.readings == self.strikes_at:
                    time.sleep(0.005)
                    self.away_ns += AWAY_S * 1_000_000_000
            return read_ns() + self.away_ns

    clock = Clock()
    monkeypatch.setattr(core, "_clock_ns", clock)
    return clock


def send(bootstrap):
    with Producer(bootstrap_servers=bootstrap) as producer:
        places = set()
        for _ in range(2):
            futures = [producer.send("w", value=b"x", partition=number) for number in (0, 1)]
            places |= {(one.partition, one.offset) for one in (each.get(10) for each in futures)}
    assert len(places) == 4


def read(bootstrap):
    with Consumer("t", bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        offsets = []
        while len(offsets) < 20:
            for records in consumer.poll(5_000).values():
                offsets += [record.offset for record in records]
        assert consumer.position(TopicPartition("t", 0)) == 20
    assert offsets == list(range(20))


def administer(bootstrap):
    with Admin(bootstrap_servers=bootstrap) as admin:
        assert {"t", "w"} <= set(admin.list_topics())
        admin.describe_cluster()


def close_member(bootstrap, clock, at, **options):
    """Struck while it closes, and not before."""
    group = f"g-{at}-{len(options)}"
    clock.strikes_at = 0
    with Consumer(
        "t",
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        group_id=group,
        **options,
    ) as consumer:
        offsets = []
        while len(offsets) < 20:
            for records in consumer.poll(5_000).values():
                offsets += [record.offset for record in records]
        clock.readings, clock.strikes_at = 0, at
    return group


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_close_that_is_struck_has_committed_and_left(broker, clock, protocol, caplog):
    """Else the records come again, and the others of the group wait for this member."""
    caplog.set_level(logging.WARNING, "kcore")
    struck = 0
    for at in range(1, 1_000):
        group = close_member(broker.bootstrap, clock, at, group_protocol=protocol)
        if clock.readings < at:
            break
        struck += 1
        clock.strikes_at = 0
        assert broker.committed_offsets(group, "t") == [20]
        with Admin(bootstrap_servers=broker.bootstrap) as admin:
            (found,) = admin.describe_groups([group]).values()
        assert not found["members"], at
    assert struck > 3
    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.parametrize("use", [send, read, administer])
def test_nothing_goes_wrong(broker, clock, use, caplog):
    caplog.set_level(logging.WARNING, "kcore")
    struck = 0
    for at in range(1, 1_000, EVERY):
        clock.readings, clock.strikes_at = 0, at
        use(broker.bootstrap)
        if clock.readings < at:
            break
        struck += 1
    assert struck > 3
    assert [record.getMessage() for record in caplog.records] == []
