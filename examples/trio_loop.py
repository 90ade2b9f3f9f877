"""A bare core under trio: a task for each connection, one for the clock; nothing else is needed.

docs/BOUNDARY.md has the rules. Tasks take turns only where they await, so whatever is between two
awaits is one input; `tell` drains the actions behind it and sets the alarm anew.
"""

import argparse
import math
import os
import random
import socket
import time

import trio

from kcore import ConsumerConfig, ConsumerCore
from kcore.actions import Connect, Send
from kcore.events import Closed


def now_ms():
    return time.monotonic_ns() // 1_000_000


class Driver:
    def __init__(self, core, nursery):
        self.core, self.nursery = core, nursery
        self.links = {}  # number -> the scope of its task
        self.outboxes = {}  # number -> what is to be sent
        self.alarm = trio.CancelScope()
        self.news = trio.Event()  # something was fed

    def tell(self, handle, *args, **more):
        handle(*args, now_ms(), **more)
        self.obey()
        self.news.set()
        self.news = trio.Event()

    def obey(self):
        while (action := self.core.next_action()) is not None:
            if isinstance(action, Connect):
                scope = self.links[action.link] = trio.CancelScope()
                self.nursery.start_soon(self.serve, action, scope)
            elif isinstance(action, Send) and action.link in self.outboxes:
                self.outboxes[action.link].send_nowait(action.data)
            elif not isinstance(action, Send) and action.link in self.links:
                self.links.pop(action.link).cancel()
        wait_s = (self.core.deadline() - now_ms()) / 1000
        self.alarm.deadline = trio.current_time() + wait_s

    async def ring(self):
        while True:
            with self.alarm:
                await trio.sleep_forever()
            self.alarm = trio.CancelScope()
            self.tell(self.core.handle_deadline)

    async def serve(self, to, scope):
        why, more = "closed by the peer", False
        with scope:
            try:
                found = await trio.socket.getaddrinfo(to.host, to.port, type=socket.SOCK_STREAM)
                more = to.address_index + 1 < len(found)
                family, _, _, _, address = found[to.address_index % len(found)]
                with trio.socket.socket(family, socket.SOCK_STREAM) as sock:
                    await sock.connect(address)
                    await self.talk(to.link, sock)
            except* OSError as errors:  # a group where two talk; what else there is goes on
                why = str(errors.exceptions[0])
        self.outboxes.pop(to.link, None)
        if self.links.pop(to.link, None):  # else the core asked for it
            self.tell(self.core.handle_closed, to.link, why, more_addresses=more)

    async def talk(self, number, sock):
        self.outboxes[number], outbox = trio.open_memory_channel(math.inf)
        async with trio.open_nursery() as both:
            both.start_soon(self.send, sock, outbox)
            self.tell(self.core.handle_connected, number)
            while number in self.links:
                await trio.lowlevel.wait_readable(sock)
                room = self.core.receive_buffer(number)  # lent until the next await
                try:
                    count = os.readv(sock.fileno(), [room])
                except BlockingIOError:
                    continue
                if not count:
                    break
                self.tell(self.core.receive_advance, number, count)
            both.cancel_scope.cancel()

    async def send(self, sock, outbox):
        async for data in outbox:
            rest = memoryview(data)
            while rest:
                rest = rest[await sock.send(rest) :]


async def consume(config, topic, count):
    core = ConsumerCore(config, random.SystemRandom(), now_ms())
    async with trio.open_nursery() as nursery:
        driver = Driver(core, nursery)
        nursery.start_soon(driver.ring)
        core.subscribe([topic], now_ms())
        while count:
            core.poll(now_ms())  # alive, and done with all records taken before
            driver.obey()
            if not core.has_records:
                await driver.news.wait()
            for tp, records in core.take_records(count, now_ms()).items():
                count -= len(records)
                for record in records:
                    print(tp.topic, tp.partition, record.offset, record.key, record.value)
            await trio.lowlevel.checkpoint()  # others have their turn, backlog or not
        core.close(now_ms(), timeout_ms=5000)
        driver.obey()
        while not any(isinstance(event, Closed) for event in iter(core.next_event, None)):
            await driver.news.wait()
        nursery.cancel_scope.cancel()


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("bootstrap", "topic", "group", "max"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args(argv)
    options = {"bootstrap_servers": args.bootstrap, "group_id": args.group}
    config = ConsumerConfig.from_options({**options, "auto_offset_reset": "earliest"})
    trio.run(consume, config, args.topic, int(args.max))


if __name__ == "__main__":
    main()
