"""Programs for confluent-kafka's clients see the same over ours, on a real Kafka and on the
embedded broker; and FastStream, which imports confluent_kafka by itself, runs over kcore.
"""

import json
import subprocess
import sys
import textwrap
import types

import confluent_kafka
import pytest
from support.confluent_scenarios import SCENARIOS

import kcore
from kcore.admin import NewTopic
from kcore.clients.stand_in.confluent.names import MODULES

pytestmark = pytest.mark.slow
OURS = types.SimpleNamespace(**MODULES["confluent_kafka"])
ON = [pytest.param("kafka", marks=pytest.mark.kafka), "kcore_broker"]


@pytest.mark.parametrize("on", ON)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_program_sees_the_same(scenario, on, request, names):
    where = request.getfixturevalue(on).bootstrap
    ours, theirs = f"{names.topic}-ours", f"{names.topic}-theirs"
    with kcore.Admin(bootstrap_servers=where) as admin:
        admin.create_topics([NewTopic(ours, 3, 1), NewTopic(theirs, 3, 1)])
    run = SCENARIOS[scenario]
    expected = run(confluent_kafka, where, theirs)
    assert run(OURS, where, ours) == expected


APPLICATION = textwrap.dedent("""
    import asyncio
    import json
    import sys

    import kcore

    kcore.install_as_confluent_kafka()
    from faststream import AckPolicy
    from faststream.confluent import KafkaBroker, KafkaMessage, TopicPartition

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

    @broker.subscriber(
        partitions=[TopicPartition(f"{name}-hand", 0)],
        group_id=f"{name}-4",
        auto_offset_reset="earliest",
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
        import confluent_kafka
        print(json.dumps({"seen": seen, "used": confluent_kafka.Consumer.__module__}))

    asyncio.run(asyncio.wait_for(main(), 60))
""")


@pytest.mark.parametrize("on", ON)
def test_an_application_of_faststreams(on, request, names):
    where = request.getfixturevalue(on).bootstrap
    with kcore.Admin(bootstrap_servers=where) as admin:
        kinds = ("orders", "echoes", "batches", "hand", "again")
        admin.create_topics([NewTopic(f"{names.topic}-{kind}", 1, 1) for kind in kinds])
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
    assert told["used"] == "kcore.clients.stand_in.confluent.consumer"
