"""Nodes of a broker on a virtual clock, and clients that speak to them in bytes."""

from __future__ import annotations

import random
from collections import deque

from kcore.actions import Disconnect, Send
from kcore.broker import BrokerConfig, Cluster, Node
from kcore.records import encode_batch
from kcore.structs import Node as Address
from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey

WALL_MS = 1_700_000_000_000


class Client:
    """A connection to one node: `send` a request, `answer` what came back."""

    def __init__(self, world, node_id, number):
        self.world = world
        self.node = world.nodes[node_id]
        self.number = number
        self.closed = False
        self.reads = True  # whether it takes what is sent to it
        self.unread = 0
        self.frames = deque()
        self._sent = deque()
        self._correlation = 0
        self.node.handle_connected(number, "10.0.0.1", world.now_ms)

    def send(self, message, version=None):
        key = ApiKey(message.API_KEY)
        version = API_TABLE[key].max_version if version is None else version
        self._correlation += 1
        silent = isinstance(message, m.ProduceRequest) and message.acks == 0
        if not silent:
            self._sent.append((API_TABLE[key].response, version, self._correlation))
        self.raw(frames.encode_request(message, version, self._correlation, "test"))

    def raw(self, data):
        self.node.handle_data(self.number, data, self.world.now_ms)
        self.world.drain()

    def answer(self):
        """The next answer, or None if there is none yet."""
        if not self.frames:
            return None
        cls, version, correlation = self._sent.popleft()
        frame = memoryview(self.frames.popleft())[4:]
        assert frames.correlation_id(frame) == correlation
        return frames.decode_response(cls, version, frame)

    def ask(self, message, version=None):
        self.send(message, version)
        return self.answer()

    def read_on(self):
        self.reads, self.unread = True, 0
        self.node.handle_sent(self.number, self.world.now_ms)
        self.world.drain()

    def close(self):
        self.node.handle_closed(self.number, "gone", self.world.now_ms)
        self.world.drain()


class World:
    def __init__(self, nodes=1, config=None, clocks=None):
        self.now_ms = 1_000
        addresses = [Address(n, f"node{n}", 9000 + n) for n in range(1, nodes + 1)]
        self.cluster = Cluster(
            config or BrokerConfig(),
            addresses,
            random.Random(7),
            wall_offset_ms=WALL_MS,
            clocks=clocks,
        )
        self.nodes = {a.node_id: Node(self.cluster, a.node_id, self.now_ms) for a in addresses}
        self._clients = {}

    def client(self, node_id=1):
        client = Client(self, node_id, len(self._clients) + 1)
        self._clients[client.number] = client
        return client

    def topic(self, name="t", partitions=1, **options):
        return self.cluster.topics.create(name, partitions, **options)

    def drain(self):
        busy = True
        while busy:
            busy = False
            for node in self.nodes.values():
                while (action := node.next_action()) is not None:
                    busy = True
                    client = self._clients[action.link]
                    if isinstance(action, Disconnect):
                        client.closed = True
                        continue
                    assert isinstance(action, Send)
                    client.frames.append(action.data)
                    if client.reads:
                        node.handle_sent(action.link, self.now_ms)
                    else:
                        client.unread += 1

    def run(self, ms):
        """Let time pass, deadline by deadline."""
        end = self.now_ms + ms
        while True:
            at = min(node.deadline() for node in self.nodes.values())
            if at > end:
                break
            self.now_ms = max(self.now_ms, at)
            for node in self.nodes.values():
                node.handle_deadline(self.now_ms)
            self.drain()
        self.now_ms = end

    @property
    def faults(self):
        return [fault for node in self.nodes.values() for fault in node.faults]


def batch(*values, time=WALL_MS, **options):
    return encode_batch([(time + n, None, value) for n, value in enumerate(values)], **options)


def produce(data, topic="t", partition=0, acks=-1, **more):
    part = m.ProduceRequest.PartitionProduceData(index=partition, records=data)
    entry = m.ProduceRequest.TopicProduceData(name=topic, partition_data=[part])
    return m.ProduceRequest(acks=acks, timeout_ms=1_000, topic_data=[entry], **more)


def fetch(offset=0, topic="t", partition=0, *, limit=1 << 20, epoch=-1, last_epoch=-1, **more):
    wanted = m.FetchRequest.FetchPartition(
        partition=partition,
        fetch_offset=offset,
        partition_max_bytes=limit,
        current_leader_epoch=epoch,
        last_fetched_epoch=last_epoch,
    )
    entry = m.FetchRequest.FetchTopic(topic=topic, partitions=[wanted])
    options = {"max_wait_ms": 0, "min_bytes": 1, "session_epoch": -1} | more
    return m.FetchRequest(topics=[entry], **options)


def only(response):
    """The one partition of an answer."""
    (topic,) = response.responses if hasattr(response, "responses") else response.topics
    (partition,) = getattr(topic, "partition_responses", None) or topic.partitions
    return partition
