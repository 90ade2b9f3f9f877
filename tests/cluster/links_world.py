"""Links, with words to play the brokers with."""

import random

from kcore.actions import Connect, Send
from kcore.cluster.config import LinksConfig
from kcore.cluster.links import Links
from kcore.connection.options import LinkOptions
from kcore.structs import Node
from kcore.wire import frames
from kcore.wire.apis import ApiKey
from kcore.wire.messages import ApiVersionsResponse, MetadataRequest, MetadataResponse

CONFIG = LinksConfig(link=LinkOptions(client_id="me"))


class World:
    def __init__(self, bootstrap=(("boot", 1),), config=CONFIG):
        self.events = []
        self.links = Links(config, bootstrap, random.Random(1), self.events.append)

    def actions(self):
        found = list(self.links.actions)
        self.links.actions.clear()
        return found

    def connects(self):
        return [x for x in self.actions() if isinstance(x, Connect)]

    def ask(self, node, now=0, timeout=30_000):
        answers = []
        self.links.send(
            node,
            ApiKey.METADATA,
            lambda _: MetadataRequest(topics=[]),
            lambda answer, _: answers.append(answer),
            now,
            timeout_ms=timeout,
        )
        return answers

    def settle(self, now=0):
        while self.links.completed:
            call, answer = self.links.completed.popleft()
            call.done(answer, now)

    def greet(self, link, now=0):
        self.links.handle_connected(link, now)
        (send,) = [x for x in self.actions() if isinstance(x, Send)]
        request = frames.decode_request(memoryview(send.data)[4:])
        keys = [ApiVersionsResponse.ApiVersion(api_key=3, min_version=0, max_version=12)]
        self.answer(link, request, ApiVersionsResponse(api_keys=keys), now)

    def answer(self, link, request, message, now=0):
        data = frames.encode_response(message, request.api_version, request.correlation_id)
        self.links.handle_data(link, data, now)

    def open(self, node, now=0):
        """Connect and greet a node; the link number."""
        answers = self.ask(node, now)
        (connect,) = self.connects()
        self.greet(connect.link, now)
        (send,) = [x for x in self.actions() if isinstance(x, Send)]
        request = frames.decode_request(memoryview(send.data)[4:])
        self.answer(connect.link, request, MetadataResponse(), now)
        self.settle(now)
        assert answers[0].error is None
        return connect.link

    def fail(self, node, now=0):
        self.ask(node, now)
        (connect,) = self.connects()
        self.links.handle_closed(connect.link, "refused", now, more_addresses=False)
        self.settle(now)

    def kinds(self, kind):
        return [event for event in self.events if type(event) is kind]


def nodes(*ids):
    return [Node(n, f"h{n}", 9092) for n in ids]
