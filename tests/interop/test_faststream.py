"""FastStream, which imports aiokafka by itself, over kcore: an application in a process of its own,
on a real Kafka and on the embedded broker.
"""

import json
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.slow
APPLICATION = textwrap.dedent("""
    import asyncio
    import json
    import sys

    import kcore

    kcore.install_as_aiokafka()
    from faststream import AckPolicy
    from faststream.kafka import KafkaBroker, KafkaMessage, TopicPartition

    where, name = sys.argv[1:]
    broker = KafkaBroker(where)
    seen = {kind: [] for kind in ("orders", "echoes", "batches", "by hand", "again")}

    @broker.subscriber(f"{name}-orders", group_id=f"{name}-1", auto_offset_reset="earliest")
    @broker.publisher(f"{name}-echoes")
    async def orders(body: dict, message: KafkaMessage) -> dict:
        seen["orders"].append((body["number"], message.headers["kind"]))
        return {"echo": body["number"]}

    @broker.subscriber(f"{name}-echoes", group_id=f"{name}-2", auto_offset_reset="earliest")
    async def echoes(body: dict) -> None:
        seen["echoes"].append(body["echo"])

    @broker.subscriber(
        f"{name}-batches", group_id=f"{name}-3", batch=True, auto_offset_reset="earliest"
    )
    async def batches(bodies: list[int]) -> None:
        seen["batches"].extend(bodies)

    @broker.subscriber(partitions=[TopicPartition(f"{name}-hand", 0)], auto_offset_reset="earliest")
    async def by_hand(body: str) -> None:
        seen["by hand"].append(body)

    @broker.subscriber(
        f"{name}-again",
        group_id=f"{name}-5",
        ack_policy=AckPolicy.NACK_ON_ERROR,
        auto_offset_reset="earliest",
    )
    async def again(body: str) -> None:
        seen["again"].append(body)
        if len(seen["again"]) == 1:
            raise ValueError("once")

    WANTED = {"orders": 20, "echoes": 20, "batches": 3, "by hand": 1, "again": 2}

    async def main() -> None:
        async with broker:
            await broker.start()
            for number in range(20):
                await broker.publish(
                    {"number": number}, f"{name}-orders", key=b"%d" % number, headers={"kind": "o"}
                )
            await broker.publish_batch(1, 2, 3, topic=f"{name}-batches")
            await broker.publish("hello", f"{name}-hand", partition=0)
            await broker.publish("hello", f"{name}-again")
            assert await broker.ping(10)
            while any(len(seen[kind]) < count for kind, count in WANTED.items()):
                await asyncio.sleep(0.05)
            used = {type(one.consumer).__mro__[1].__name__ for one in broker.subscribers}
        print(json.dumps({"seen": seen, "used": [*used]}))

    asyncio.run(asyncio.wait_for(main(), 60))
""")


@pytest.mark.parametrize("real", [pytest.param(True, marks=pytest.mark.kafka), False])
def test_an_application_notices_nothing(real, request, names):
    if real:
        where = request.getfixturevalue("kafka").bootstrap
    else:
        where = request.getfixturevalue("kcore_broker").bootstrap
    done = subprocess.run(
        [sys.executable, "-c", APPLICATION, where, names.topic],
        capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    seen = told["seen"]
    assert sorted(seen["orders"]) == [[number, "o"] for number in range(20)]
    assert sorted(seen["echoes"]) == [*range(20)]
    assert sorted(seen["batches"]) == [1, 2, 3]
    assert (seen["by hand"], seen["again"]) == (["hello"], ["hello", "hello"])
    assert told["used"] == ["AsyncConsumer"]
