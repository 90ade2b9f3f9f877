"""A bare core under asyncio: callbacks are the inputs, and bytes land in the core's own buffer.

docs/BOUNDARY.md has the rules. The event loop calls one thing at a time, so each callback is one
input; `tell` drains the actions behind it and sets the alarm anew.
"""

import argparse
import asyncio
import random
import socket
import time

from kcore import ConsumerConfig, ConsumerCore
from kcore.actions import Connect, Send
from kcore.events import Closed
from kcore.timers import NEVER


def now_ms():
    return time.monotonic_ns() // 1_000_000


class Link(asyncio.BufferedProtocol):
    def __init__(self, driver, number):
        self.driver, self.number = driver, number

    def connection_made(self, transport):
        self.transport = transport
        self.driver.links[self.number] = self
        self.driver.tell(self.driver.core.handle_connected, self.number)

    def get_buffer(self, _sizehint):
        return self.driver.core.receive_buffer(self.number)

    def buffer_updated(self, count):
        self.driver.tell(self.driver.core.receive_advance, self.number, count)

    def connection_lost(self, error):
        if self.driver.links.pop(self.number, None):  # else the core asked for it
            why = str(error or "closed by the peer")
            self.driver.tell(self.driver.core.handle_closed, self.number, why)


class Driver:
    def __init__(self, core):
        self.core = core
        self.loop = asyncio.get_running_loop()
        self.links = {}  # number -> Link
        self.opening = {}  # number -> task
        self.alarm_at, self.alarm = NEVER, None
        self.news = asyncio.Event()  # something was fed

    def tell(self, handle, *args, **more):
        handle(*args, now_ms(), **more)
        self.obey()
        self.news.set()

    def obey(self):
        while (action := self.core.next_action()) is not None:
            link = self.links.get(action.link)
            if isinstance(action, Connect):
                self.opening[action.link] = self.loop.create_task(self.connect(action))
            elif link and isinstance(action, Send):
                link.transport.write(action.data)
            elif link:
                del self.links[action.link]
                link.transport.abort()
            elif action.link in self.opening:
                self.opening.pop(action.link).cancel()
        if (deadline := self.core.deadline()) != self.alarm_at:
            if self.alarm:
                self.alarm.cancel()
            wait_s = max(0, deadline - now_ms()) / 1000
            self.alarm_at, self.alarm = deadline, self.loop.call_later(wait_s, self.ring)

    def ring(self):
        self.alarm_at, self.alarm = NEVER, None
        self.tell(self.core.handle_deadline)

    async def connect(self, to):
        more = False
        try:
            found = await self.loop.getaddrinfo(to.host, to.port, type=socket.SOCK_STREAM)
            more = to.address_index + 1 < len(found)
            family, _, _, _, address = found[to.address_index % len(found)]
            await self.open(family, address, to.link)
        except OSError as error:
            self.tell(self.core.handle_closed, to.link, str(error), more_addresses=more)
        finally:
            self.opening.pop(to.link, None)

    async def open(self, family, address, number):
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            await self.loop.sock_connect(sock, address)
            await self.loop.create_connection(lambda: Link(self, number), sock=sock)
        except BaseException:  # given up by the core, too
            sock.close()
            raise


async def consume(config, topic, count):
    core = ConsumerCore(config, random.SystemRandom(), now_ms())
    driver = Driver(core)
    core.subscribe([topic], now_ms())
    while count:
        core.poll(now_ms())  # alive, and done with all records taken before
        driver.obey()
        if not core.has_records:
            driver.news.clear()
            await driver.news.wait()
        for tp, records in core.take_records(count, now_ms()).items():
            count -= len(records)
            for record in records:
                print(tp.topic, tp.partition, record.offset, record.key, record.value)
        await asyncio.sleep(0)  # others have their turn, even while there is a backlog
    core.close(now_ms(), timeout_ms=5000)
    driver.obey()
    while not any(isinstance(event, Closed) for event in iter(core.next_event, None)):
        driver.news.clear()
        await driver.news.wait()
    driver.obey()


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("bootstrap", "topic", "group", "max"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args(argv)
    options = {"bootstrap_servers": args.bootstrap, "group_id": args.group}
    config = ConsumerConfig.from_options({**options, "auto_offset_reset": "earliest"})
    asyncio.run(consume(config, args.topic, int(args.max)))


if __name__ == "__main__":
    main()
