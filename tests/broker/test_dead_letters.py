"""What share groups give up is written to the topic that they name (KIP-1191); beside a real Kafka:
test_dead_letters_differential.py.
"""

import pytest
from broker_world import fetch
from share_sides import GROUP, alter
from share_world import ACCEPT, REJECT, RELEASE, Member, ShareWorld, letters, told

from kcore.broker import BrokerConfig
from kcore.broker.share.states import RecordState
from kcore.coordinator import CoordinatorConfig
from kcore.wire.codes import ErrorCode as E

NAME = "errors.deadletterqueue.topic.name"
COPY = "errors.deadletterqueue.copy.record.enable"
ENABLE = {"errors.deadletterqueue.group.enable": "true"}
REJECTED = "Offset rejected by client."
EXHAUSTED = "Offset delivery count exceeded the threshold."


def world_of(nodes=1, release=(4, 4), partitions=1, more=None, **options):
    config = BrokerConfig(release=release, coordinator=CoordinatorConfig(**(more or {})))
    world = ShareWorld(nodes, config, partitions, **options)
    world.cluster.settings.groups["g"][NAME] = "dlq.g"
    return world


@pytest.fixture
def world():
    made = world_of()
    made.topic("dlq.g", settings=ENABLE)
    yield made
    assert not made.faults


def test_a_letter_says_where_its_record_was(world):
    member = Member(world)
    world.put(*"abc")
    member.take(("t", 0))
    assert member.say(0, 2, ACCEPT, REJECT, ACCEPT) == E.NONE
    (letter,) = letters(world)
    assert letter.headers == [
        ("__dlq.errors.topic", b"t"),
        ("__dlq.errors.partition", b"0"),
        ("__dlq.errors.offset", b"1"),
        ("__dlq.errors.group", b"g"),
        ("__dlq.errors.delivery.count", b"1"),
        ("__dlq.errors.message", REJECTED.encode()),
    ]
    assert (letter.key, letter.value) == (None, None)
    assert letter.timestamp == world.cluster.wall_ms(world.now_ms)
    assert world.share().start_offset == 3


def test_key_and_value_are_copied_where_the_group_wants_it(world):
    world.cluster.settings.groups["g"][COPY] = "true"
    member = Member(world)
    world.put(*"abc")
    member.take(("t", 0))
    member.say(0, 2, REJECT)
    assert [(one.key, one.value) for one in letters(world)] == [
        (None, b"a"), (None, b"b"), (None, b"c")]  # fmt: skip


def test_deliveries_that_are_used_up(world):
    world.cluster.settings.groups["g"]["share.delivery.count.limit"] = "2"
    member = Member(world)
    world.put(*"ab")
    member.take(("t", 0))
    member.say(0, 1, RELEASE)
    assert letters(world) == []
    while member.take():
        member.acknowledge({}, epoch=-1)
        member.epoch = 0
        member.take(("t", 0))
    world.run(40_000)  # the lock of what was acquired last
    assert sorted(told(world)) == [(0, 0, 2, EXHAUSTED), (0, 1, 2, EXHAUSTED)]


def test_partitions_go_round():
    world = world_of(partitions=5)
    world.topic("dlq.g", 2, settings=ENABLE)
    member = Member(world)
    for number in range(5):
        world.put("a", partition=number)
    member.take(*(("t", number) for number in range(5)))
    member.acknowledge({("t", number): [(0, 0, REJECT)] for number in range(5)})
    assert [told(world, number) for number in (0, 1)] == [
        [(number, 0, 1, REJECTED) for number in numbers] for numbers in ((0, 2, 4), (1, 3))
    ]


def test_who_waits_for_letters_gets_them(world):
    reader, member = world.client(), Member(world)
    world.put("a")
    member.take(("t", 0))
    reader.send(fetch(0, "dlq.g", max_wait_ms=60_000), 12)
    assert reader.answer() is None
    member.say(0, 0, REJECT)
    assert reader.answer().responses[0].partitions[0].records


@pytest.mark.parametrize("release", [(4, 4), (4, 3)])
def test_without_the_feature_nothing_is_written(release):
    world = world_of(release=release)
    world.topic("dlq.g", settings=ENABLE)
    if release == (4, 4):
        assert world.cluster.features.levels["share.version"] == 2
        world.cluster.finalize({"share.version": 1})
    member = Member(world)
    world.put("a")
    member.take(("t", 0))
    assert member.say(0, 0, REJECT) == E.NONE
    assert letters(world) == []
    assert world.share().start_offset == 1


@pytest.mark.parametrize(("more", "name", "there"), [
    ({}, "dlq.new", False),
    ({"errors_deadletterqueue_auto_create_topics_enable": True}, "dlq.new", True),
    ({"errors_deadletterqueue_auto_create_topics_enable": True}, "new", False),
    ({"errors_deadletterqueue_auto_create_topics_enable": True}, "dlq./", False),
    ({"errors_deadletterqueue_auto_create_topics_enable": True,
      "errors_deadletterqueue_topic_name_prefix": ""}, "new", True),
])  # fmt: skip
def test_a_topic_is_made_where_that_is_allowed(more, name, there):
    world = world_of(more=more)
    world.cluster.settings.groups["g"][NAME] = name
    member = Member(world)
    world.put("a")
    member.take(("t", 0))
    assert member.say(0, 0, REJECT) == E.NONE
    topic = world.cluster.topics.get(name)
    assert (topic is not None) is there
    assert world.share().start_offset == 1
    if there:
        assert topic.settings == ENABLE | {"message.timestamp.type": "CreateTime"}
        assert len(letters(world, topic=name)) == 1


# Where the topic is led by nobody ----------------------------------------------------------------


@pytest.fixture
def apart():
    """The topic for letters is a node's that is down; of the other one there are two replicas."""
    made = world_of(3, assignments=[[1, 2]])
    made.topic("dlq.g", assignments=[[3]], settings=ENABLE)
    made.cluster.stop_node(3, made.now_ms)
    yield made
    assert not made.faults


def rejected(world, node_id=1):
    member = Member(world, node_id=node_id)
    world.put("a")
    member.take(("t", 0))
    assert member.say(0, 0, REJECT) == E.NONE
    return member


def states(world, node_id=1):
    return [run.state for run in world.share(node_id=node_id).runs()]


def test_it_is_tried_again(apart):
    rejected(apart)
    assert states(apart) == [RecordState.ARCHIVING]
    apart.run(10_000)
    assert states(apart) == [RecordState.ARCHIVING]
    apart.cluster.start_node(3, apart.now_ms)
    apart.run(20_000)
    assert told(apart) == [(0, 0, 1, REJECTED)]
    assert apart.share().start_offset == 1


def test_it_is_not_tried_for_ever(apart):
    rejected(apart)
    apart.run(60_000)
    assert apart.share().start_offset == 1
    apart.cluster.start_node(3, apart.now_ms)
    apart.run(60_000)
    assert told(apart) == []


def test_another_leader_writes_what_is_not_written(apart):
    rejected(apart)
    apart.cluster.stop_node(1, apart.now_ms)
    apart.cluster.start_node(3, apart.now_ms)
    member = Member(apart, node_id=2)
    assert member.take(("t", 0)) == {}
    apart.run(100)
    assert told(apart) == [(0, 0, 1, REJECTED)]
    assert apart.share(node_id=2).start_offset == 1


def test_a_reader_that_goes_does_not_end_it(apart):
    rejected(apart).client.close()
    apart.run(10_000)
    apart.cluster.start_node(3, apart.now_ms)
    apart.run(20_000)
    assert told(apart) == [(0, 0, 1, REJECTED)]


def test_what_is_altered_meanwhile_is_not_written(apart):
    rejected(apart)
    key = "g", apart.id_of("t"), 0
    apart.cluster.alter_share_offset(*key, 0)
    apart.cluster.start_node(3, apart.now_ms)
    apart.run(60_000)
    assert told(apart) == []
    assert Member(apart, name="m2").take(("t", 0)) == {("t", 0): [(0, 0, 1)]}


def test_a_topic_that_is_gone_meanwhile(apart):
    rejected(apart)
    apart.cluster.delete(apart.cluster.topics.get("t"), apart.now_ms)
    apart.cluster.start_node(3, apart.now_ms)
    apart.run(60_000)
    assert told(apart) == []


# Options -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "value", "code"), [
    (NAME, "dlq.a", E.NONE),
    (NAME, "anything", E.NONE),
    (NAME, "", E.NONE),
    (NAME, "__dlq", E.INVALID_CONFIG),
    (COPY, "True", E.NONE),
    (COPY, "yes", E.INVALID_CONFIG),
])  # fmt: skip
def test_options_of_groups(world, name, value, code):
    assert alter(world.client(), GROUP, "g2", name, value).error_code == code

def test_groups_had_no_such_options_before():
    answer = alter(world_of(release=(4, 3)).client(), GROUP, "g2", NAME, "dlq.a")
    assert answer.error_code == E.INVALID_CONFIG
    assert answer.error_message == f"Unknown group config name: {NAME}"
