"""Members of a share group that speak to nodes in bytes."""

from __future__ import annotations

from broker_world import World, batch, produce

from kcore.records import RecordReader
from kcore.wire import messages as m

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)


class Member:
    """A member with a connection to one node, and its session there."""

    def __init__(self, world, name="m1", group="g", node_id=1):
        self.world = world
        self.client = world.client(node_id)
        self.name, self.group = name, group
        self.epoch = 0

    def fetch_request(self, *parts, said=None, epoch=None, forget=(), **more):
        R = m.ShareFetchRequest
        said = said or {}
        wanted = {}
        for topic, number in [*parts, *said]:
            entry = wanted.setdefault(topic, {})
            entry[number] = [
                R.AcknowledgementBatch(
                    first_offset=first, last_offset=last, acknowledge_types=kinds
                )
                for first, last, *kinds in said.get((topic, number), ())
            ]
        fields = {"max_wait_ms": 0, "min_bytes": 1, "max_records": 500, "batch_size": 500} | more
        dropped = {}
        for topic, number in forget:
            dropped.setdefault(topic, []).append(number)
        return R(
            group_id=self.group,
            member_id=self.name,
            share_session_epoch=self.epoch if epoch is None else epoch,
            topics=[
                R.FetchTopic(
                    topic_id=self.world.id_of(topic),
                    partitions=[
                        R.FetchPartition(partition_index=number, acknowledgement_batches=batches)
                        for number, batches in numbers.items()
                    ],
                )
                for topic, numbers in wanted.items()
            ],
            forgotten_topics_data=[
                R.ForgottenTopic(topic_id=self.world.id_of(topic), partitions=numbers)
                for topic, numbers in dropped.items()
            ],
            **fields,
        )

    def send(self, *parts, version=2, **more):
        self.client.send(self.fetch_request(*parts, **more), version)
        if more.get("epoch") is None:
            self.epoch += 1

    def fetch(self, *parts, **more):
        """The whole answer."""
        self.send(*parts, **more)
        return self.client.answer()

    def take(self, *parts, **more):
        """{(topic, partition): what was acquired} of an answer without errors."""
        return self.taken(self.fetch(*parts, **more))

    def taken(self, answer):
        assert answer is not None, "no answer yet"
        assert answer.error_code == 0, answer
        found = {}
        for topic in answer.responses:
            for one in topic.partitions:
                assert (one.error_code, one.acknowledge_error_code) == (0, 0), one
                acquired = [(a.first_offset, a.last_offset, a.delivery_count)
                            for a in one.acquired_records]  # fmt: skip
                if acquired:
                    found[self.world.name_of(topic.topic_id), one.partition_index] = acquired
        return found

    def acknowledge(self, said, *, epoch=None, version=2, **more):
        """The whole answer of ShareAcknowledge."""
        R = m.ShareAcknowledgeRequest
        topics = {}
        for (topic, number), batches in said.items():
            topics.setdefault(topic, []).append(
                R.AcknowledgePartition(
                    partition_index=number,
                    acknowledgement_batches=[
                        R.AcknowledgementBatch(
                            first_offset=first, last_offset=last, acknowledge_types=kinds
                        )
                        for first, last, *kinds in batches
                    ],
                )
            )
        request = R(
            group_id=self.group,
            member_id=self.name,
            share_session_epoch=self.epoch if epoch is None else epoch,
            topics=[
                R.AcknowledgeTopic(topic_id=self.world.id_of(topic), partitions=parts)
                for topic, parts in topics.items()
            ],
            **more,
        )
        if epoch is None:
            self.epoch += 1
        return self.client.ask(request, version)

    def say(self, first, last, *kinds, part=("t", 0), **more):
        """The error of one acknowledgement."""
        answer = self.acknowledge({part: [(first, last, *kinds)]}, **more)
        assert answer.error_code == 0, answer
        return answer.responses[0].partitions[0].error_code


class ShareWorld(World):
    """Topic `t`, and groups that begin at its beginning."""

    def __init__(self, nodes=1, config=None, partitions=1, **options):
        super().__init__(nodes, config)
        self.topic("t", partitions, **options)
        self.producer = {}
        self.set_for("g")

    def set_for(self, group, **settings):
        """Options of a group, `_` for `.`."""
        named = {f"share.{name.replace('_', '.')}": value for name, value in settings.items()}
        self.cluster.settings.groups[group] = {"share.auto.offset.reset": "earliest"} | named

    def id_of(self, topic):
        return self.cluster.topics.id_of(topic) or topic.encode().rjust(16, b"?")

    def name_of(self, topic_id):
        return self.cluster.topics.name_of(topic_id) or topic_id.lstrip(b"?").decode()

    def put(self, *values, topic="t", partition=0, **more):
        node_id = self.cluster.partition(topic, partition).leader
        if node_id not in self.producer:
            self.producer[node_id] = self.client(node_id)
        data = batch(*[value.encode() for value in values], **more)
        answer = self.producer[node_id].ask(produce(data, topic, partition), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0

    def share(self, part=("t", 0), group="g", node_id=1):
        return self.nodes[node_id].shares.look((group, self.id_of(part[0]), part[1]))


def values(answer):
    """What the records say, all of them that the bytes have."""
    (topic,) = answer.responses
    (one,) = topic.partitions
    reader = RecordReader("t", 0, bytes(one.records), 0)
    found = []
    while not reader.exhausted:
        found += [bytes(record.value) for record in reader.take(100)]
    return found


def letters(world, partition=0, topic="dlq.g"):
    """What was written of what a group gave up."""
    log = world.cluster.partition(topic, partition).log
    found = []
    for data in log.batches():
        reader = RecordReader(topic, partition, data, 0)
        while not reader.exhausted:
            found += reader.take(100)
    return found


def told(world, partition=0):
    """(source partition, source offset, deliveries, why) each."""
    found = []
    for letter in letters(world, partition):
        said = {name.removeprefix("__dlq.errors."): value.decode()
                for name, value in letter.headers}  # fmt: skip
        assert (said["topic"], said["group"]) == ("t", "g")
        numbers = (int(said[name]) for name in ("partition", "offset", "delivery.count"))
        found.append((*numbers, said["message"]))
    return found
