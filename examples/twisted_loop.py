"""A bare core under a reactor of Twisted's own (epoll's): protocols and delayed calls are inputs.

docs/BOUNDARY.md has the rules. The reactor calls one thing at a time, so each callback is one
input; `tell` drains the actions behind it and sets the alarm anew. Where the reactor is asyncio's
(`twisted.internet.asyncioreactor`) none of this is needed: AsyncConsumer runs there as it is.
"""

import argparse
import random
import time

from twisted.internet import defer, endpoints, protocol, task

from kcore import ConsumerConfig, ConsumerCore
from kcore.actions import Connect, Send
from kcore.events import Closed
from kcore.timers import NEVER


def now_ms():
    return time.monotonic_ns() // 1_000_000


class Link(protocol.Protocol):
    def __init__(self, driver, number):
        self.driver, self.number = driver, number

    def connectionMade(self):  # noqa: N802 - Twisted's name
        self.driver.links[self.number] = self
        self.driver.tell(self.driver.core.handle_connected, self.number)

    def dataReceived(self, data):  # noqa: N802 - Twisted's name
        self.driver.tell(self.driver.core.handle_data, self.number, data)

    def connectionLost(self, reason):  # noqa: N802 - Twisted's name
        if self.driver.links.pop(self.number, None):  # else the core asked for it
            why = reason.getErrorMessage()
            self.driver.tell(self.driver.core.handle_closed, self.number, why)


class Driver:
    def __init__(self, core, reactor):
        self.core, self.reactor = core, reactor
        self.links = {}  # number -> Link
        self.opening = {}  # number -> deferred
        self.alarm_at, self.alarm = NEVER, None
        self.news = defer.Deferred()  # something was fed

    def tell(self, handle, *args):
        handle(*args, now_ms())
        self.obey()
        news, self.news = self.news, defer.Deferred()
        news.callback(None)

    def obey(self):
        while (action := self.core.next_action()) is not None:
            link = self.links.get(action.link)
            if isinstance(action, Connect):
                self.connect(action)
            elif link and isinstance(action, Send):
                link.transport.write(action.data)
            elif link:
                del self.links[action.link]
                link.transport.abortConnection()
            elif action.link in self.opening:
                self.opening.pop(action.link).cancel()
        if (deadline := self.core.deadline()) != self.alarm_at:
            if self.alarm and self.alarm.active():
                self.alarm.cancel()
            wait_s = min(max(0, deadline - now_ms()), 3_600_000) / 1000
            self.alarm_at, self.alarm = deadline, self.reactor.callLater(wait_s, self.ring)

    def ring(self):
        self.alarm_at = NEVER
        self.tell(self.core.handle_deadline)

    def connect(self, to):
        """By whichever address of the name answers first: the endpoint tries them all."""

        def failed(why):
            if self.opening.pop(to.link, None):  # else the core asked for it
                self.tell(self.core.handle_closed, to.link, why.getErrorMessage())

        endpoint = endpoints.HostnameEndpoint(self.reactor, to.host, to.port)
        opening = endpoint.connect(protocol.Factory.forProtocol(lambda: Link(self, to.link)))
        self.opening[to.link] = opening
        opening.addCallbacks(lambda _: self.opening.pop(to.link, None), failed)


async def consume(reactor, config, topic, count):
    core = ConsumerCore(config, random.SystemRandom(), now_ms())
    driver = Driver(core, reactor)
    core.subscribe([topic], now_ms())
    while count:
        core.poll(now_ms())  # alive, and done with all records taken before
        driver.obey()
        if not core.has_records:
            await driver.news
        for tp, records in core.take_records(count, now_ms()).items():
            count -= len(records)
            for record in records:
                print(tp.topic, tp.partition, record.offset, record.key, record.value)
        await task.deferLater(reactor, 0)  # others have their turn, even while there is a backlog
    core.close(now_ms(), timeout_ms=5000)
    driver.obey()
    while not any(isinstance(event, Closed) for event in iter(core.next_event, None)):
        await driver.news
    driver.obey()


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("bootstrap", "topic", "group", "max"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args(argv)
    options = {"bootstrap_servers": args.bootstrap, "group_id": args.group}
    config = ConsumerConfig.from_options({**options, "auto_offset_reset": "earliest"})
    task.react(
        lambda reactor: defer.ensureDeferred(consume(reactor, config, args.topic, int(args.max)))
    )


if __name__ == "__main__":
    main()
