"""A small synchronous client: requests as messages, answers as plain data that can be compared."""

import itertools
import socket
import struct
import time

from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.message import ZERO_UUID, Struct

DEADLINE_S = 20
# A broker that has just begun to keep a group says these until it is ready.
NOT_READY = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}
# What differs from broker to broker without meaning anything.
MASKED = {"throttle_time_ms", "cluster_id", "host", "port", "rack"}
# Texts for people: whether there is one, or an empty one, is compared, not how it is put.
TEXTS = {"error_message", "batch_index_error_message"}
# Ids that a broker draws: they are numbered as they come up.
DRAWN = {
    "topic_id": "topic", "member_id": "member", "leader": "member", "session_id": "session",
    "producer_id": "producer",
}  # fmt: skip
NONE_DRAWN = {"topic": {ZERO_UUID}, "member": {""}, "session": {0}, "producer": {-1}}


def whole_batches(data):
    """A Kafka cuts the last one off where there is no more room; nobody can read what is left."""
    at = 0
    while at + 12 <= len(data):
        end = at + 12 + int.from_bytes(data[at + 8 : at + 12], "big")
        if end > len(data):
            break
        at = end
    return data[:at]


def exactly(sock, size):
    data = bytearray()
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise ConnectionResetError
        data += more
    return bytes(data)


class Link:
    """One connection."""

    def __init__(self, address, client_id="scenario"):
        self.client_id = client_id
        host, port = address.rsplit(":", 1)
        self.sock = socket.create_connection((host, int(port)), DEADLINE_S)
        self._sent = []
        self._ids = itertools.count(1)

    def send(self, message, version):
        number = next(self._ids)
        if not (isinstance(message, m.ProduceRequest) and message.acks == 0):
            self._sent.append((API_TABLE[ApiKey(message.API_KEY)].response, version, number))
        self.sock.sendall(frames.encode_request(message, version, number, self.client_id))

    def receive(self):
        cls, version, number = self._sent.pop(0)
        (size,) = struct.unpack(">i", exactly(self.sock, 4))
        frame = exactly(self.sock, size)
        assert frames.correlation_id(frame) == number
        return frames.decode_response(cls, version, frame)

    def ask(self, message, version):
        self.send(message, version)
        return self.receive()

    def close(self):
        self.sock.close()


class Peer:
    """A broker as the scenarios see it. `said`: every answer as plain data, ids numbered."""

    def __init__(self, address, tag):
        self.address = address
        self.tag = tag
        self.said = []
        self._links = {}
        self._drawn = {}

    def name(self, base):
        """A name of a topic or group that nobody else uses."""
        return f"{self.tag}-{base}"

    def link(self, label="a"):
        if label not in self._links:
            self._links[label] = Link(self.address)
        return self._links[label]

    def ask(self, message, version=None, link="a", note=None):
        """The answer; it goes into `said`, with a note of what it is about."""
        self.send(message, version, link)
        return self.receive(link, note or type(message).__name__)

    def send(self, message, version=None, link="a"):
        key = ApiKey(message.API_KEY)
        self.link(link).send(message, API_TABLE[key].max_version if version is None else version)

    def receive(self, link="a", note=""):
        answer = self.link(link).receive()
        self.said.append((note, self.plain(answer)))
        return answer

    def ready(self, message, version=None, link="a"):
        """Ask until the coordinator is there; only the last answer counts."""
        end = time.monotonic() + DEADLINE_S
        version = API_TABLE[ApiKey(message.API_KEY)].max_version if version is None else version
        while True:
            answer = self.link(link).ask(message, version)
            if answer.error_code not in NOT_READY:
                return answer
            assert time.monotonic() < end
            time.sleep(0.05)

    def topic(self, base="t", partitions=1, **settings):
        """Make a topic and wait for its leaders; its name."""
        name = self.name(base)
        Create = m.CreateTopicsRequest
        wanted = Create.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        wanted.configs = [
            Create.CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in settings.items()
        ]
        answer = self.link().ask(Create(topics=[wanted], timeout_ms=10_000), 7)
        assert answer.topics[0].error_code == 0, answer
        self.settled(name, partitions)
        return name

    def settled(self, name, partitions):
        """Wait until a topic has its leaders."""
        end = time.monotonic() + DEADLINE_S
        while self._metadata(name).error_code or not self._led(name, partitions):
            assert time.monotonic() < end
            time.sleep(0.02)

    def id_of(self, name):
        return self._metadata(name).topic_id

    def _metadata(self, name):
        asked = m.MetadataRequest(
            topics=[m.MetadataRequest.MetadataRequestTopic(name=name)],
            allow_auto_topic_creation=False,
        )
        topic = self.link().ask(asked, 12).topics[0]
        for part in topic.partitions:
            topic.error_code = topic.error_code or part.error_code
        return topic

    def _led(self, name, partitions):
        """Whether the leaders know that they are it; a Kafka says so before."""
        Offsets = m.ListOffsetsRequest
        asked = [Offsets.ListOffsetsPartition(partition_index=n, timestamp=-1)
                 for n in range(partitions)]  # fmt: skip
        entry = Offsets.ListOffsetsTopic(name=name, partitions=asked)
        answer = self.link().ask(Offsets(topics=[entry]), 4)
        return not any(part.error_code for part in answer.topics[0].partitions)

    def close(self):
        for link in self._links.values():
            link.close()

    # Answers as data -----------------------------------------------------------------------------

    def plain(self, value, field=""):
        if field in MASKED:
            return "*"
        if field in TEXTS:
            return "text" if value else value
        if field in DRAWN:
            return self._number(DRAWN[field], value)
        if field == "records":
            return whole_batches(bytes(value or b""))
        if isinstance(value, Struct):
            return {row[0]: self.plain(getattr(value, row[0]), row[0]) for row in value.FIELDS}
        if isinstance(value, list):
            return sorted((self.plain(item) for item in value), key=repr)
        return value

    def number(self, kind, *values):
        """These come up in this order: answers have them in any."""
        for value in values:
            self._number(kind, value)

    def _number(self, kind, value):
        if value in NONE_DRAWN[kind]:
            return value
        known = self._drawn.setdefault(kind, {})
        return f"{kind}-{known.setdefault(value, len(known) + 1)}"
