"""The clients in programs of anyio, over either of its backends."""

import pytest
from async_consumers import Seen, consumer, fill
from async_producers import producer as make
from descriptors import descriptors, wait_for_descriptors

from kcore import AsyncAdmin, TopicPartition, errors
from kcore.embedded import EmbeddedBroker

anyio = pytest.importorskip("anyio")
PARTITIONS, EACH = 2, 300
ALL = PARTITIONS * EACH
T0 = TopicPartition("t", 0)


@pytest.fixture(params=["asyncio", "trio"], scope="module")
def backend(request):
    return request.param


@pytest.fixture(scope="module")
def broker(backend):
    with EmbeddedBroker() as embedded:
        fill(embedded, "t", PARTITIONS, EACH)
        embedded.create_topic("out", 1)
        yield embedded


@pytest.fixture
def run(backend):
    """It does not take for ever, and leaves no sockets."""
    before = descriptors()

    def call(main):
        async def bounded():
            with anyio.fail_after(30):
                await main()

        anyio.run(bounded, backend=backend)

    yield call
    wait_for_descriptors(before)


def test_a_group_in_a_task_group(broker, run):
    async def main():
        seen = Seen()

        async def member():
            async with consumer(broker, "t", group_id="g") as reader:
                async for record in reader:
                    seen.take(record)
                    await reader.commit()
                    if seen.total() == ALL:
                        tasks.cancel_scope.cancel()
                    await anyio.sleep(0)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(member)
            tasks.start_soon(member)
        assert len(seen) == ALL

    run(main)


def test_a_scope_around_a_read(broker, run):
    async def main():
        async with consumer(broker, "t") as reader:
            seen = Seen()
            while seen.total() < ALL:
                with anyio.move_on_after(0.0005):
                    seen.take(await reader.getone())
            seen.check(PARTITIONS, EACH)
            with pytest.raises(TimeoutError), anyio.fail_after(0.05):
                await reader.getone()

    run(main)


def test_records_are_sent(broker, run):
    async def main():
        async with make(broker, transactional_id="anyio") as producer:
            async with producer.transaction():
                futures = [await producer.send("out", b"%d" % number) for number in range(50)]
            assert [(await future).offset for future in futures] == [*range(50)]
        with anyio.move_on_after(60) as scope:
            async with make(broker) as producer:
                future = await producer.send("out", b"v")
                scope.cancel()
                await anyio.sleep(1)
        assert scope.cancel_called
        try:  # told, whatever it is
            assert (await future).offset == 51
        except errors.ProducerClosed:
            pass

    run(main)


def test_an_admin(broker, run):
    async def main():
        async with AsyncAdmin(bootstrap_servers=broker.bootstrap) as admin:
            found = []

            async def ask():
                found.append(await admin.list_topics())

            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(ask)
            assert all("t" in topics for topics in found)
            assert len(found) == 5

    run(main)
