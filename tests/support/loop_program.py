"""Every client of an event loop, as a coroutine for a loop of whatever make; and by its name as a
program of its own, where a loop changes its process: `loop_program.py LOOP BOOTSTRAP CAFILE TOPIC`.
"""

from __future__ import annotations

import asyncio
import sys
import warnings

import kcore
from kcore.admin import ConfigResource, NewTopic

EACH = 100


async def program(bootstrap, cafile, topic):
    """A transaction is written and aborted, another committed, a group reads while its members
    change and a call is cancelled, a share group reads; all of it over TLS.
    """
    options = {
        "bootstrap_servers": bootstrap,
        "security_protocol": "SSL",
        "ssl_cafile": cafile,
    }
    async with kcore.AsyncAdmin(**options) as admin:
        await admin.create_topics([NewTopic(topic, 2, 1)])
        shared = ConfigResource("group", f"shared-{topic}", {"share.auto.offset.reset": "earliest"})
        await admin.alter_configs([shared])
    async with kcore.AsyncProducer(**options, transactional_id=topic) as producer:
        await producer.begin_transaction()
        await producer.send_and_wait(topic, b"aborted", partition=0)
        await producer.abort_transaction()
        async with producer.transaction():
            sent = [await producer.send(topic, b"%d" % n, partition=n % 2) for n in range(EACH)]
        assert [(await one).offset for one in sent][-1] == EACH // 2 - 1
    await _read_in_a_group(options, topic)
    async with kcore.AsyncShareConsumer(topic, group_id=f"shared-{topic}", **options) as reader:
        assert (await reader.getone()).value


async def _read_in_a_group(options, topic):
    reading = options | {
        "group_id": topic,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "isolation_level": "read_committed",
        "heartbeat_interval_ms": 100,
    }
    seen = []
    all_seen = asyncio.Event()

    async def read(reader):
        async for record in reader:
            seen.append(record.value)
            await reader.commit()
            if len(set(seen)) == EACH:
                all_seen.set()

    async with kcore.AsyncConsumer(topic, **reading) as first:
        assert len(first.assignment()) == 2
        tasks = [asyncio.create_task(read(first))]
        async with kcore.AsyncConsumer(topic, **reading) as second:
            tasks.append(asyncio.create_task(read(second)))
            await asyncio.wait_for(all_seen.wait(), 20)
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(one, asyncio.CancelledError) for one in ended), ended
            assert len(first.assignment()) == len(second.assignment()) == 1
            try:
                async with asyncio.timeout(0.05):
                    await first.getone()
                raise AssertionError("there was nothing")
            except TimeoutError:
                pass
    assert sorted(seen) == sorted(b"%d" % number for number in range(EACH))


def on_tornado(main):
    from tornado.ioloop import IOLoop  # noqa: PLC0415 - in a process of its own

    IOLoop(make_current=False).run_sync(main)


def on_twisted(main):
    from twisted.internet import asyncioreactor  # noqa: PLC0415

    loop = asyncio.new_event_loop()
    asyncioreactor.install(loop)
    from twisted.internet import defer, task  # noqa: PLC0415 - behind the install

    def start(_reactor):  # which does not run yet
        return defer.Deferred.fromFuture(asyncio.ensure_future(main(), loop=loop))

    try:
        task.react(start)
    except SystemExit as end:
        if end.code:
            raise


def in_a_running_loop(main):
    """As a cell of a notebook that calls what knows no `await`."""
    import nest_asyncio  # noqa: PLC0415

    async def cell():
        nest_asyncio.apply()
        asyncio.get_running_loop().run_until_complete(main())

    asyncio.run(cell())


def in_a_process_that_gevent_has_patched(main):
    from gevent import monkey  # noqa: PLC0415

    monkey.patch_all()
    asyncio.run(main())


def on_eventlets_hub(main):
    warnings.simplefilter("ignore")  # that it is deprecated
    import eventlet  # noqa: PLC0415

    eventlet.hubs.use_hub("eventlet.hubs.asyncio")
    eventlet.monkey_patch()
    from eventlet.asyncio import spawn_for_awaitable  # noqa: PLC0415

    spawn_for_awaitable(main()).wait()


LOOPS = {
    "tornado": on_tornado,
    "twisted": on_twisted,
    "nest_asyncio": in_a_running_loop,
    "gevent": in_a_process_that_gevent_has_patched,
    "eventlet": on_eventlets_hub,
}

if __name__ == "__main__":
    name, *where = sys.argv[1:]
    LOOPS[name](lambda: program(*where))
    print("all of it")
