"""An application of FastStream's, over kcore in the place of the client that it imports; it prints
what it has seen, and whose classes it read with.

`python faststream_program.py aiokafka|confluent-kafka BOOTSTRAP NAME`
"""

import asyncio
import json
import sys

from faststream import AckPolicy

import kcore

client, where, name = sys.argv[1:]
by_hand_too = {}
if client == "aiokafka":
    kcore.install_as_aiokafka()
    from faststream.kafka import KafkaBroker, KafkaMessage, TopicPartition
else:
    kcore.install_as_confluent_kafka()
    from faststream.confluent import KafkaBroker, KafkaMessage, TopicPartition

    by_hand_too["group_id"] = f"{name}-4"  # it has no consumers without one

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


@broker.subscriber(
    partitions=[TopicPartition(f"{name}-hand", 0)], auto_offset_reset="earliest", **by_hand_too
)
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
        used = sorted({type(one.consumer).__mro__[1].__name__ for one in broker.subscribers})
    if client != "aiokafka":
        used = [sys.modules["confluent_kafka"].Consumer.__module__]
    print(json.dumps({"seen": seen, "used": used}))


asyncio.run(asyncio.wait_for(main(), 60))
