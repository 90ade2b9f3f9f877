"""The same requests to a real Kafka and to the coordinator: the same answers, ids aside."""

import re
import socket
import time

import pytest
from coordinator_world import World, subscription

from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.codec import decode, encode
from kcore.wire.codes import ErrorCode

pytestmark = pytest.mark.kafka

UUID = re.compile(r"[0-9a-z]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TOPIC = "t"
SHOWN_S = 10  # what is written is shown much sooner
NOT_READY = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}


class Side:
    """What a scenario talks to; `seen` is what it was answered, ids replaced by their order."""

    def __init__(self):
        self.seen = []
        self.ids = {}

    def note(self, message):
        def name(match):
            return self.ids.setdefault(match[0], f"id{len(self.ids)}")

        if isinstance(message, m.ListGroupsResponse):
            message.groups = [x for x in message.groups if x.group_id == "g"]
        elif isinstance(message, m.DescribeGroupsResponse):
            for group in message.groups:
                self._scrub(group)
        elif isinstance(message, m.DeleteGroupsResponse):  # Kafka answers by partition
            message.results.sort(key=lambda x: x.group_id)
        elif isinstance(message, m.JoinGroupResponse):
            message.members.sort(key=lambda x: x.metadata)
        self.seen.append(UUID.sub(name, repr(message)))
        return message

    def _scrub(self, group):
        """What is not to be compared: hosts, rights, wording, Kafka's hash order."""
        group.authorized_operations = 0
        group.error_message = group.error_message and "said"
        group.members.sort(key=lambda x: self.ids.get(x.member_id, "new"))
        for member in group.members:
            member.client_host = ""

    def rest(self):
        """Let what was asked for arrive; what comes of it is the same if it has not."""

    def look(self):
        """Everything that only reads."""
        self.ask("admin", m.DescribeGroupsRequest(groups=["g"]), 5)
        self.ask("admin", m.DescribeGroupsRequest(groups=["g"]), 6)
        self.ask("admin", m.ListGroupsRequest(), 5)
        self.ask("admin", fetch(), 8)
        self.ask("admin", fetch(stable=True), 9)

    def ask(self, who, message, version):
        return self.answer(self.send(who, message, version))


class Ours(Side):
    def __init__(self):
        super().__init__()
        self.world = World(group_initial_rebalance_delay_ms=0, group_min_session_timeout_ms=6_000)

    def send(self, who, message, version):
        return self.world.send(message, version, client="c")

    def answer(self, token):
        while self.world.parked(token):
            self.world.until(self.world.coordinator.deadline())
        answer, version = self.world.replies[token], self.world.versions[token]
        return self.note(decode(type(answer), version, encode(answer, version)))


class Theirs(Side):
    """wanted: what was seen of ours."""

    def __init__(self, kafka, wanted):
        super().__init__()
        self.wanted = wanted
        self.patience_s = SHOWN_S
        host, port = kafka.bootstrap.split(",")[0].rsplit(":", 1)
        self.address = host, int(port)
        self.links = {}
        self._until_served(
            lambda: (
                self.ask("finder", m.FindCoordinatorRequest(coordinator_keys=["g"]), 4)
                .coordinators[0]
                .error_code
            )
        )
        self._until_served(lambda: self.ask("finder", beat("nobody", 1), 3).error_code)
        self.seen.clear()

    def _until_served(self, ask):
        """Until a coordinator is found, and has loaded what it keeps: before, it says so."""
        end = time.monotonic() + 20
        while (code := ask()) in NOT_READY:
            assert time.monotonic() < end, code
            time.sleep(0.1)

    def send(self, who, message, version):
        if who not in self.links:
            self.links[who] = socket.create_connection(self.address, 10)
        self.links[who].sendall(frames.encode_request(message, version, 1, "c"))
        return who, type(message), version

    def answer(self, token):
        who, kind, version = token
        link = self.links[who]
        link.settimeout(20)
        reader = frames.FrameReader(1 << 24)
        while True:
            ready = reader.feed(link.recv(1 << 16))
            if ready:
                break
        cls = getattr(m, kind.__name__.replace("Request", "Response"))
        return self.note(frames.decode_response(cls, version, ready[0]))

    def rest(self):
        time.sleep(0.2)

    def look(self):
        """Again and again: Kafka shows what is written, a moment after it said so."""
        begin, ids = len(self.seen), dict(self.ids)
        end = time.monotonic() + self.patience_s
        super().look()
        while self.seen[begin:] != self.wanted[begin : len(self.seen)]:
            if time.monotonic() > end:
                self.patience_s = 0  # it is a difference: one is not waited for twice
                return
            time.sleep(0.01)
            del self.seen[begin:]
            self.ids = dict(ids)
            super().look()

    def close(self):
        for link in self.links.values():
            link.close()


def join(member_id="", instance=None, data=None, *, kind="consumer", st=20_000, names=("range",)):
    P = m.JoinGroupRequest.JoinGroupRequestProtocol
    data = subscription(TOPIC) if data is None else data
    return m.JoinGroupRequest(
        group_id="g",
        member_id=member_id,
        group_instance_id=instance,
        session_timeout_ms=st,
        rebalance_timeout_ms=10_000,
        protocol_type=kind,
        protocols=[P(name=name, metadata=data) for name in names],
    )


def sync(member_id, generation, shares=(), instance=None):
    A = m.SyncGroupRequest.SyncGroupRequestAssignment
    return m.SyncGroupRequest(
        group_id="g",
        member_id=member_id,
        generation_id=generation,
        group_instance_id=instance,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[A(member_id=k, assignment=v) for k, v in shares],
    )


def beat(member_id, generation, instance=None):
    return m.HeartbeatRequest(
        group_id="g", member_id=member_id, generation_id=generation, group_instance_id=instance
    )


def commit(member_id="", generation=-1, offset=5, metadata="", instance=None):
    R = m.OffsetCommitRequest
    part = R.OffsetCommitRequestPartition(committed_offset=offset, committed_metadata=metadata)
    return R(
        group_id="g",
        member_id=member_id,
        generation_id_or_member_epoch=generation,
        group_instance_id=instance,
        topics=[R.OffsetCommitRequestTopic(name=TOPIC, partitions=[part])],
    )


def fetch(stable=False):
    R = m.OffsetFetchRequest
    topics = [R.OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0, 1])]
    groups = [R.OffsetFetchRequestGroup(group_id="g", topics=topics)]
    return R(groups=groups, require_stable=stable)


def leave(*entries):
    E = m.LeaveGroupRequest.MemberIdentity
    members = [E(member_id=a, group_instance_id=b) for a, b in entries]
    return m.LeaveGroupRequest(group_id="g", members=members)


def offset_delete(topic=TOPIC):
    R = m.OffsetDeleteRequest
    parts = [R.OffsetDeleteRequestPartition()]
    return R(group_id="g", topics=[R.OffsetDeleteRequestTopic(name=topic, partitions=parts)])


def a_life(side):
    side.look()
    a = side.ask("a", join(), 9).member_id
    side.look()
    side.ask("a", join("made-up"), 9)
    generation = side.ask("a", join(a), 9).generation_id
    side.look()
    side.ask("a", commit(a, generation), 9)
    side.ask("a", sync(a, generation + 1), 5)
    side.ask("a", sync("made-up", generation), 5)
    side.ask("a", sync(a, generation, [(a, b"share")]), 5)
    side.look()
    for number, who in ((generation, a), (generation + 1, a), (generation, "made-up")):
        side.ask("a", beat(who, number), 4)
        side.ask("a", commit(who, number), 9)
        side.ask("a", commit(who, number), 8)
    side.ask("a", commit(), 9)
    side.ask("a", commit(a, generation, metadata="x" * 5_000), 9)
    side.ask("a", m.DeleteGroupsRequest(groups_names=["g", "none"]), 2)
    side.ask("a", offset_delete(), 0)
    side.look()
    side.ask("a", leave((a, None), ("made-up", None), ("", "nobody")), 5)
    side.look()
    side.ask("a", beat(a, generation), 4)
    side.ask("a", sync(a, generation), 5)
    side.ask("a", join(a), 9)
    side.ask("a", commit(a, generation), 9)
    side.ask("a", commit("whoever", instance="whatever", offset=7), 9)
    side.look()
    side.ask("a", offset_delete(), 0)
    side.look()
    side.ask("a", commit(offset=9), 9)
    side.ask("a", m.DeleteGroupsRequest(groups_names=["g"]), 2)
    side.look()
    side.ask("a", leave((a, None)), 5)
    side.ask("a", commit(a, 3), 9)
    side.ask("a", commit(a, 3), 8)
    side.ask("a", offset_delete(), 0)


def a_round(side):
    first = side.ask("a", join(data=b"\0\0a"), 3)
    a = first.member_id
    side.ask("a", sync(a, 1, [(a, b"all")]), 5)
    waiting = side.send("b", join(data=b"\0\0b"), 3)
    side.look()
    side.ask("a", beat(a, 1), 4)
    side.ask("a", sync(a, 1), 5)
    side.ask("a", commit(a, 1), 9)
    side.ask("a", join(a, data=b"\0\0a"), 3)
    b = side.answer(waiting).member_id
    side.look()
    side.ask("b", join(b, data=b"\0\0b"), 9)
    side.ask("a", join(a, data=b"\0\0a"), 9)
    side.ask("a", commit(a, 2), 9)
    side.ask("b", commit(b, 1), 9)
    waiting = side.send("b", sync(b, 2, [(b, b"ignored")]), 5)
    side.rest()
    side.ask("a", sync(a, 2, [(a, b"one"), ("stranger", b"x")]), 5)
    side.answer(waiting)
    side.look()
    side.ask("b", join(b, data=b"\0\0b"), 9)
    side.ask("b", sync(b, 2), 5)
    for options in ({"kind": "connect"}, {"names": ("other",)}, {"names": ()}, {"kind": ""}):
        side.ask("c", join(**options), 9)
        side.ask("c", join(b, **options), 5)
    side.ask("c", join(st=100), 9)
    side.ask("c", join(st=10_000_000), 9)
    pending = side.ask("c", join(data=b"\0\0a"), 9).member_id
    side.ask("a", beat(a, 2), 4)
    side.ask("c", leave((pending, None)), 5)
    side.ask("a", beat(a, 2), 4)
    side.ask("a", leave((a, None), (b, None)), 5)
    side.look()


def a_static_member(side):
    a = side.ask("a", join(instance="i", data=b"\0\0a"), 9).member_id
    side.ask("a", sync(a, 1, [(a, b"all")], instance="i"), 5)
    side.look()
    again = side.ask("b", join(instance="i", data=b"\0\0a"), 9).member_id
    side.look()
    side.ask("a", beat(a, 1, "i"), 4)
    side.ask("a", beat(a, 1), 4)
    side.ask("a", sync(a, 1, instance="i"), 5)
    side.ask("a", join(a, instance="i"), 9)
    side.ask("a", commit(a, 1, instance="i"), 9)
    side.ask("b", beat(again, 1, "i"), 4)
    side.ask("b", beat(again, 1, "unknown"), 4)
    side.ask("b", sync(again, 1, instance="i"), 5)
    older = side.ask("c", join(instance="i", data=b"\0\0a"), 8).member_id
    side.ask("c", sync(older, 1, instance="i"), 5)
    side.ask("c", leave((again, "i"), ("", "unknown")), 5)
    side.ask("c", leave(("", "i")), 5)
    side.look()
    side.ask("c", join(older, instance="i", data=b"\0\0a"), 9)


@pytest.fixture(scope="module")
def topic(kafka):
    kafka.create_topic(TOPIC, 2)


@pytest.mark.usefixtures("topic")
@pytest.mark.parametrize("scenario", [a_life, a_round, a_static_member])
def test_kafka_says_the_same(scenario, kafka):
    ours = Ours()
    scenario(ours)
    theirs = Theirs(kafka, ours.seen)
    try:
        scenario(theirs)
        said = [*theirs.seen]
        theirs.ask("end", m.DeleteGroupsRequest(groups_names=["g"]), 2)
    finally:
        theirs.close()
    differences = [
        f"{number}:\n  ours:  {one}\n  Kafka: {other}"
        for number, (one, other) in enumerate(zip(ours.seen, said, strict=True))
        if one != other
    ]
    assert not differences, "\n".join(differences)
    assert len(said) > 20
