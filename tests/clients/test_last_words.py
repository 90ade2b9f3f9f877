"""What a member says last is heard, though it waits for no answer: that it leaves, behind a
heartbeat and a commit that a broker that stands still has not answered yet.
"""

import asyncio
import time

import gevent
import pytest

from kcore import Admin, AsyncConsumer, Consumer
from kcore.embedded import EmbeddedBroker

OPTIONS = {
    "auto_offset_reset": "earliest",
    "enable_auto_commit": True,
    "heartbeat_interval_ms": 20,
    "fetch_max_wait_ms": 50,
}


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as embedded:
        embedded.create_topic("t", 2)
        embedded.produce("t", [(None, b"v")] * 10)
        yield embedded


@pytest.fixture
def gone(broker):
    """Its group is empty, long before its session ends."""

    def gone(group):
        with Admin(bootstrap_servers=broker.bootstrap) as admin:
            end = time.monotonic() + 20
            while admin.describe_groups([group])[group]["group_state"] != "Empty":
                assert time.monotonic() < end
                time.sleep(0.01)
            offsets = admin.list_group_offsets({group: None})[group]
            assert sum(offset.offset for offset in offsets.values()) == 10

    return gone


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_a_stop_that_is_cancelled(broker, gone, turns):
    async def main():
        reader = AsyncConsumer(
            "t", bootstrap_servers=broker.bootstrap, group_id=f"cancelled-{turns}", **OPTIONS
        )
        await reader.start()
        for _ in range(10):
            await reader.getone()
        broker.pause(1)
        await asyncio.sleep(0.1)  # by then a heartbeat is on its way
        stop = asyncio.create_task(reader.stop())
        for _ in range(turns):
            await asyncio.sleep(0)
        stop.cancel()
        await asyncio.wait([stop])
        broker.resume(1)

    asyncio.run(main())
    gone(f"cancelled-{turns}")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("transport", ["blocking", "selectors", "gevent"])
def test_a_close_that_has_no_time(broker, gone, transport, protocol):
    group = f"hurried-{transport}-{protocol}"
    options = OPTIONS if protocol == "classic" else {**OPTIONS, "group_protocol": "consumer"}
    options.pop("heartbeat_interval_ms") if protocol == "consumer" else None
    reader = Consumer(
        "t", bootstrap_servers=broker.bootstrap, group_id=group, transport=transport, **options
    )
    seen = 0
    while seen < 10:
        seen += sum(map(len, reader.poll(timeout_ms=100).values()))
    broker.pause(1)
    (gevent.sleep if transport == "gevent" else time.sleep)(0.1)
    reader.close(timeout_ms=0)
    broker.resume(1)
    gone(group)
