"""A refresher, and look-ups, on a virtual clock with answers made by hand."""

import random

from kcore.cluster.config import LinksConfig
from kcore.cluster.links import Links
from kcore.cluster.lookup import TopicLookup
from kcore.cluster.refresh import RefreshConfig, Refresher
from kcore.cluster.view import Metadata
from kcore.connection.calls import Answer
from kcore.connection.options import LinkOptions
from kcore.timers import NEVER
from kcore.wire.messages import MetadataResponse as R


class World:
    """The refresher and a `send` that keeps what is asked; answers are given by hand."""

    def __init__(self, **options):
        self.events = []
        self.asked = []
        rng = random.Random(1)
        self.links = Links(
            LinksConfig(LinkOptions(client_id="me")), [("b", 1)], rng, self.events.append
        )
        self.links.send = self.send
        self.view = Metadata()
        config = RefreshConfig(**options)
        self.refresher = Refresher(config, self.links, self.view, rng, self.events.append)
        self.lookup = TopicLookup(config, self.links, rng)

    def send(self, node, api, build, done, now_ms, *, timeout_ms=None, max_version=None):
        self.node = node
        self.asked.append((now_ms, build(12), done))
        self.timeout_ms = timeout_ms

    def answer(self, now, *topics, error=None, code=0, version=12):
        _, _, done = self.asked.pop()
        body = None
        if error is None:
            brokers = [R.MetadataResponseBroker(node_id=1, host="h", port=9)]
            body = R(brokers=brokers, topics=list(topics), error_code=code)
        done(Answer(body, error, version, -1), now)

    def tick(self, now):
        self.refresher.handle_tick(now)
        self.lookup.handle_tick(now)

    def next_ask(self, now):
        """The time of the next request from `now` on."""
        while not self.asked:
            now = max(now, self.refresher.deadline())
            assert now < NEVER
            self.tick(now)
        return now


def topic(name="t", epoch=1, code=0, leader=1):
    part = R.MetadataResponsePartition(partition_index=0, leader_id=leader, leader_epoch=epoch)
    return R.MetadataResponseTopic(name=name, error_code=code, partitions=[] if code else [part])
