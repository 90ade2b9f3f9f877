"""Share group members against two sides: a real Kafka and our node, and what each was answered."""

import itertools
import re
import socket
import time
import uuid

from broker_world import batch, produce
from share_world import Member, ShareWorld

from kcore.broker import BrokerConfig
from kcore.coordinator import CoordinatorConfig
from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode as E

PATIENCE_S = 20
GROUP = 32
NOT_READY = {
    E.UNKNOWN_TOPIC_ID,
    E.COORDINATOR_LOAD_IN_PROGRESS,
    E.COORDINATOR_NOT_AVAILABLE,
    E.NOT_COORDINATOR,
    E.UNKNOWN_TOPIC_OR_PARTITION,
    E.NOT_LEADER_OR_FOLLOWER,
    E.LEADER_NOT_AVAILABLE,
}


class Link:
    """A connection to a real broker, used as `broker_world.Client` is."""

    def __init__(self, address):
        self._socket = socket.create_connection(address, 10)
        self._waiting = []
        self._correlation = 0

    def send(self, message, version=None):
        api = API_TABLE[ApiKey(message.API_KEY)]
        version = api.max_version if version is None else version
        self._correlation += 1
        self._waiting.append((api.response, version))
        self._socket.sendall(frames.encode_request(message, version, self._correlation, "test"))

    def answer(self):
        cls, version = self._waiting.pop(0)
        reader = frames.FrameReader(1 << 24)
        self._socket.settimeout(PATIENCE_S)
        ready = []
        while not ready:
            ready = reader.feed(self._socket.recv(1 << 16))
        return frames.decode_response(cls, version, ready[0])

    def ask(self, message, version=None):
        self.send(message, version)
        return self.answer()

    def close(self):
        self._socket.close()


def release_at(kafka):
    """The release of a real Kafka."""
    host, port = kafka.bootstrap.split(",")[0].rsplit(":", 1)
    link = Link((host, int(port)))
    asked = m.ApiVersionsRequest(client_software_name="a", client_software_version="1")
    known = {one.api_key: (one.min_version, one.max_version) for one in link.ask(asked, 4).api_keys}
    link.close()
    return (4, 4) if known[ApiKey.DELETE_GROUPS][1] >= 3 else (4, 3)


class RealWorld:
    """What `ShareWorld` is for members, with a real Kafka behind it."""

    def __init__(self, kafka, topic, group):
        host, port = kafka.bootstrap.split(",")[0].rsplit(":", 1)
        self._address = host, int(port)
        self._links = []
        self._admin = self.client()
        self.topic_name, self.group = topic, group
        kafka.create_topic(topic, 1)
        self._topic_id = self._settled(self._find)
        configure(self._admin, group, "share.auto.offset.reset", "earliest")
        self._settled(self._coordinated)

    def _coordinated(self):
        """True once the group has a coordinator that has read what it keeps."""
        found = self._admin.ask(m.FindCoordinatorRequest(coordinator_keys=[self.group]), 4)
        answer = self._admin.ask(beat(self, "nobody", -1), 1)
        codes = {found.coordinators[0].error_code, answer.error_code}
        return None if codes & NOT_READY else True

    def _find(self):
        entry = m.MetadataRequest.MetadataRequestTopic(name=self.topic_name)
        (found,) = self._admin.ask(m.MetadataRequest(topics=[entry]), 12).topics
        ready = found.partitions and not found.partitions[0].error_code
        return found.topic_id if ready and not found.error_code else None

    def _settled(self, ask):
        end = time.monotonic() + PATIENCE_S
        while (found := ask()) is None:
            assert time.monotonic() < end
            time.sleep(0.05)
        return found

    def client(self, _node_id=1):
        self._links.append(Link(self._address))
        return self._links[-1]

    def id_of(self, topic):
        return self._topic_id if topic == "t" else topic.encode().rjust(16, b"?")

    def name_of(self, topic_id):
        return "t" if topic_id == self._topic_id else topic_id.lstrip(b"?").decode()

    def put(self, *values, **more):
        data = batch(*[value.encode() for value in values], time=int(time.time() * 1_000), **more)
        answer = self._admin.ask(produce(data, self.topic_name), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0

    def in_transaction(self, name, *values, committed):
        answer = self._settled(lambda: self._identity(name))
        begin(self._admin, self.topic_name, name, answer)
        data = batch(
            *[value.encode() for value in values], time=int(time.time() * 1_000),
            producer_id=answer.producer_id, producer_epoch=answer.producer_epoch,
            base_sequence=0, transactional=True,
        )  # fmt: skip
        written = self._admin.ask(produce(data, self.topic_name, transactional_id=name), 9)
        assert written.responses[0].partition_responses[0].error_code == 0
        end(self._admin, name, answer, committed=committed)
        marker = written.responses[0].partition_responses[0].base_offset + len(values)
        self._settled(lambda: self._end_behind(marker))  # it is written behind the answer

    def _end_behind(self, offset):
        """True once the log goes on behind this offset."""
        R = m.ListOffsetsRequest
        part = R.ListOffsetsPartition(partition_index=0, timestamp=-1)
        entry = R.ListOffsetsTopic(name=self.topic_name, partitions=[part])
        found = self._admin.ask(R(topics=[entry]), 7).topics[0].partitions[0]
        return True if found.offset > offset else None

    def _identity(self, name):
        request = m.FindCoordinatorRequest(coordinator_keys=[name], key_type=1)
        self._admin.ask(request, 4)
        request = m.InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
        answer = self._admin.ask(request, 4)
        return None if answer.error_code else answer

    def find_start(self, member):
        """A fetch that meets the start of the log unawares finds out about it, and gets nothing."""
        assert not member.fetch(("t", 0), max_wait_ms=1_000).error_code

    def wait(self, ms):
        time.sleep(ms / 1_000)

    def ready(self, member):
        """Until the state of its partitions is there, which takes Kafka a moment."""

        def look():
            answer = member.client.ask(beat(self, member.name, 0, ["t"]), 1)
            if answer.error_code in NOT_READY:
                return None
            return (answer.assignment and answer.assignment.topic_partitions) or None

        self._settled(look)
        probe = Member(self, str(uuid.UUID(int=99)), self.group)
        self._settled(lambda: self._probe(probe))
        probe.fetch(epoch=-1)

    def _probe(self, probe):
        answer = probe.fetch(("t", 0), epoch=0, max_records=0, max_wait_ms=100)
        found = [one for topic in answer.responses for one in topic.partitions]
        codes = {answer.error_code, *(one.error_code for one in found)}
        return None if codes & NOT_READY else True

    def close(self):
        for link in self._links:
            link.close()


# As the Kafka of the tests (kcore.cli.demo.kafka_cluster).
QUICK = CoordinatorConfig(
    group_share_min_session_timeout_ms=1_000,
    group_share_min_heartbeat_interval_ms=100,
    group_share_min_record_lock_duration_ms=1_000,
)


class OurWorld(ShareWorld):
    """Ours, with what the real one needs."""

    def __init__(self, group, release=(4, 3)):
        super().__init__(config=BrokerConfig(release=release, coordinator=QUICK))
        self.topic_name, self.group = "t", group
        configure(self.client(), group, "share.auto.offset.reset", "earliest")

    def in_transaction(self, name, *values, committed):
        client = self.client()
        request = m.InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
        answer = client.ask(request, 4)
        begin(client, "t", name, answer)
        data = batch(
            *[value.encode() for value in values],
            producer_id=answer.producer_id, producer_epoch=answer.producer_epoch,
            base_sequence=0, transactional=True,
        )  # fmt: skip
        written = client.ask(produce(data, "t", transactional_id=name), 9)
        assert written.responses[0].partition_responses[0].error_code == 0
        end(client, name, answer, committed=committed)

    def wait(self, ms):
        self.run(ms)

    def find_start(self, member):
        """Ours looks before."""
        member.fetch(("t", 0), max_records=0)

    def ready(self, member):
        member.client.ask(beat(self, member.name, 0, ["t"]), 1)
        probe = Member(self, str(uuid.UUID(int=99)), self.group)
        probe.fetch(("t", 0), epoch=0, max_records=0)
        probe.fetch(epoch=-1)

    def close(self):
        assert not self.faults


def begin(client, topic, name, identity):
    R = m.AddPartitionsToTxnRequest
    entry = R.AddPartitionsToTxnTopic(name=topic, partitions=[0])
    answer = client.ask(
        R(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=identity.producer_id,
            v3_and_below_producer_epoch=identity.producer_epoch,
            v3_and_below_topics=[entry],
        ),
        3,
    )
    (result,) = answer.results_by_topic_v3_and_below[0].results_by_partition
    assert result.partition_error_code == 0, answer


def end(client, name, identity, *, committed):
    request = m.EndTxnRequest(
        transactional_id=name,
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        committed=committed,
    )
    answer = client.ask(request, 3)
    assert answer.error_code == 0, answer


def configure(client, group, name, value):
    answer = alter(client, GROUP, group, name, value)
    assert answer.error_code == 0, answer


def alter(client, kind, resource, name, value, operation=0):
    """The answer of IncrementalAlterConfigs, of one option."""
    R = m.IncrementalAlterConfigsRequest
    options = [R.AlterableConfig(name=name, value=value, config_operation=operation)]
    entry = R.AlterConfigsResource(resource_type=kind, resource_name=resource, configs=options)
    (answer,) = client.ask(R(resources=[entry]), 1).responses
    return answer


def beat(world, member, epoch, topics=None, **more):
    names = topics and [world.topic_name]
    return m.ShareGroupHeartbeatRequest(
        group_id=more.pop("group_id", world.group),
        member_id=member,
        member_epoch=epoch,
        subscribed_topic_names=names,
        **more,
    )


class Seen:
    """What a side answered."""

    def __init__(self, world):
        self.world = world
        self.notes = []

    def member(self, number):
        return Member(self.world, str(uuid.UUID(int=number)), self.world.group)

    def note(self, what):
        self.notes.append(what)

    def fetch(self, member, *parts, **more):
        answer = member.fetch(*parts, **more)
        if answer is None:  # ours waits, and time stands still there
            self.world.run(more["max_wait_ms"])
            answer = member.client.answer()
        found = {}
        for topic in answer.responses:
            for one in topic.partitions:
                acquired = merged(one.acquired_records)
                key = self.world.name_of(topic.topic_id), one.partition_index
                note = one.error_code, one.acknowledge_error_code, acquired
                if any((one.error_message, one.acknowledge_error_message)):
                    note = *note, one.error_message, one.acknowledge_error_message
                if note != (0, 0, []) or member_said(more, key):
                    found[key] = note
        error = answer.error_code, answer.error_message
        self.note((error, answer.acquisition_lock_timeout_ms, found))
        return answer

    def acknowledge(self, member, said, **more):
        answer = member.acknowledge(said, **more)
        self.note(
            (
                (answer.error_code, answer.error_message),
                {
                    (self.world.name_of(topic.topic_id), one.partition_index): (
                        one.error_code,
                        one.error_message,
                    )
                    for topic in answer.responses
                    for one in topic.partitions
                },
            )
        )

    def beat(self, client, member, epoch, *args, **more):
        answer = client.ask(beat(self.world, member, epoch, *args, **more), 1)
        text = (answer.error_message or "").replace(self.world.group, "GROUP")
        self.note((answer.error_code, re.sub(r"\d+", "N", text), answer.heartbeat_interval_ms))
        return answer


def hold_both(scenario, name, kafka, release):
    """Our node and a Kafka of this release are asked the same, and answer it."""
    found = []
    for make in (lambda: OurWorld(name, release), lambda: RealWorld(kafka, name, name)):
        world = make()
        seen = Seen(world)
        try:
            scenario(seen)
        finally:
            world.close()
        found.append(seen.notes)
    ours, theirs = found
    differences = [
        f"{number}:\n  ours:  {one}\n  Kafka: {other}"
        for number, (one, other) in enumerate(itertools.zip_longest(ours, theirs))
        if one != other
    ]
    assert not differences, "\n".join(differences)
    assert len(ours) > 4


def member_said(more, key):
    return key in (more.get("said") or {})


def merged(acquired):
    """Ranges in a row of one delivery count as one."""
    found = []
    for one in acquired:
        if found and found[-1][1] + 1 == one.first_offset and found[-1][2] == one.delivery_count:
            found[-1][1] = one.last_offset
        else:
            found.append([one.first_offset, one.last_offset, one.delivery_count])
    return found
