"""Clients of every runtime that are closed on their way into a group: the next member has its share
at once, however long sessions are.
"""

import asyncio
import time

import pytest

import kcore
from kcore.broker import BrokerConfig
from kcore.coordinator import CoordinatorConfig
from kcore.embedded import EmbeddedBroker
from kcore.structs import MemberState

PARTITIONS = 2
LIMIT_S = 10.0
OPTIONS = {"group_id": "g", "session_timeout_ms": 60_000, "heartbeat_interval_ms": 50}
BROKER = BrokerConfig(coordinator=CoordinatorConfig(group_initial_rebalance_delay_ms=0))
MOMENTS, MOMENT_S = 20, 0.0002  # from a JoinGroup that waits for its link to one that is parked


@pytest.fixture
def broker():
    with EmbeddedBroker(config=BROKER) as broker:
        broker.create_topic("t", PARTITIONS)
        yield broker
        assert not broker.faults


def joining(consumer):
    return consumer.group_metadata().state == MemberState.REBALANCING


def come_and_go(broker, transport, later, close_ms=5_000):
    """Close so many moments after the member has begun to join; how long that took, in s."""
    consumer = kcore.Consumer(
        "t", bootstrap_servers=broker.bootstrap, transport=transport, **OPTIONS
    )
    while not joining(consumer):
        consumer.poll(0)
    for _ in range(later):
        consumer.poll(0)
        time.sleep(MOMENT_S)
    begun = time.monotonic()
    consumer.close(timeout_ms=close_ms)
    return time.monotonic() - begun


async def come_and_go_in_a_loop(broker, later, close_ms=5_000):
    consumer = kcore.AsyncConsumer(
        "t",
        bootstrap_servers=broker.bootstrap,
        request_timeout_ms=close_ms,
        fetch_max_wait_ms=50,
        **OPTIONS,
    )
    starting = asyncio.create_task(consumer.start())
    while not joining(consumer):
        await asyncio.sleep(0)
    for _ in range(later):
        await asyncio.sleep(0)
        time.sleep(MOMENT_S)
    begun = time.monotonic()
    await consumer.stop()
    await asyncio.gather(starting, return_exceptions=True)
    return time.monotonic() - begun


def going(broker, how, *times):
    if how == "asyncio":
        return asyncio.run(come_and_go_in_a_loop(broker, *times))
    return come_and_go(broker, how, *times)


def member(broker):
    return kcore.Consumer("t", bootstrap_servers=broker.bootstrap, **OPTIONS)


def wait_shared(*members):
    end = time.monotonic() + LIMIT_S
    while not all(len(one.assignment()) == PARTITIONS // len(members) for one in members):
        assert time.monotonic() < end
        for one in members:
            one.poll(10)


@pytest.mark.parametrize("how", ["blocking", "selectors", "gevent", "asyncio"])
def test_the_next_member_has_its_share_at_once(broker, how):
    with member(broker) as first:
        wait_shared(first)
        for later in range(MOMENTS):
            going(broker, how, later)
        with member(broker) as second:
            wait_shared(first, second)


@pytest.mark.parametrize("how", ["blocking", "asyncio"])
def test_close_waits_no_longer_than_it_may(broker, how):
    broker.delay("JoinGroup", 60_000)
    assert going(broker, how, MOMENTS, 300) < LIMIT_S
