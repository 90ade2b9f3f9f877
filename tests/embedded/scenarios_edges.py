"""Scenarios of what clients seldom say: lists with nothing in them, names given twice, names that
are the brokers' own.
"""

import time

from raw_client import DEADLINE_S
from scenarios_admin import APPEND, SET, SUBTRACT, TOPIC, altered, described, see
from scenarios_data import WALL_MS, creating, produce, scenario
from scenarios_transactions import OLD, made

from kcore.records import encode_batch
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

POLICY, THROTTLED = "cleanup.policy", "leader.replication.throttled.replicas"

# What Kafka has to say of each, when a topic is made with it.
GIVEN = [
    *((POLICY, text) for text in (
        "", " ", "delete,", ",delete", "compact,compact", " delete ", "Delete", "none",
        "compact ,delete", ",", ", ,", "delete,,compact", "compact,none,none",
    )),
    *((THROTTLED, text) for text in (
        "", "*", " * ", "abc", "none", "*,*", "*,0:1", "0:1,1:2", " 0:1 , 2:3 ", "0:1,", "-1:1",
        "0:1,0:1", "0",
    )),
    ("follower.replication.throttled.replicas", "1"),
    *(("compression.gzip.level", text) for text in ("-2", "-1", "0", "1", "9", "10")),
    *(("compression.type", text) for text in ("GZIP", " gzip", " ")),
    ("message.timestamp.type", " CreateTime "), ("preallocate", " TRUE "),
    *(("min.cleanable.dirty.ratio", text) for text in ("", "1e-1", "0_1.0", " 0.5 ", "0.5d")),
    *(("remote.storage.enable", text) for text in ("true", "TRUE", "false")),
    ("local.retention.ms", "999999999999"),
    # Blanks and digits as Java takes them.
    *(("retention.ms", text) for text in (
        "\u00a05", "5\u2003", "\u30005", "\u00855", "\x005", "\x1f5", "\uff15", "\u0665", "+5",
        "005",
    )),
    *((POLICY, text) for text in (
        "\u00a0delete", "\x00delete", "delete\u00a0,compact", "delete\x00,compact",
        "delete\t,\vcompact",
    )),
    *(("compression.gzip.level", text) for text in ("\x005", "\x000", "\uff10", "\u00a05")),
    ("min.cleanable.dirty.ratio", "\u00a00.5"), ("min.cleanable.dirty.ratio", "0.\uff15"),
    ("preallocate", "\u00a0true"), ("preallocate", "\x00true"),
    ("compression.type", "\u00a0gzip"), ("compression.type", "\x00gzip"),
]  # fmt: skip


@scenario
def texts_of_options(peer):
    for number, (key, text) in enumerate(GIVEN):
        name = peer.name(f"c{number}")
        peer.ask(creating(name, configs=[(key, text)]), 4, note=f"{key}={text!r}")


BROKER, GROUP, CLIENT_METRICS = 4, 32, 16
RESET = "share.auto.offset.reset"


@scenario
def texts_of_options_shown(peer):
    """A value is shown as it is understood, but by the answer that made the topic of it."""
    for number, (key, text) in enumerate((
        ("retention.ms", " +05 "), (POLICY, "delete , compact"), ("preallocate", " TRUE"),
        ("min.cleanable.dirty.ratio", "1e-1"), ("max.message.bytes", "\uff15"),
    )):  # fmt: skip
        name = peer.name(f"c{number}")
        answer = peer.link().ask(creating(name, configs=[(key, text)]), 7)
        (found,) = [one.value for one in answer.topics[0].configs if one.name == key]
        peer.said.append((f"{key}={text!r}", found))
        peer.settled(name, 1)
        see(peer, name, [key], f"{key}={text!r}")
    for kind, key, text in (
        (GROUP, "share.session.timeout.ms", " +50000 "), (GROUP, "share.session.timeout.ms", "x"),
        (GROUP, "share.isolation.level", " read_committed"),
        (GROUP, "share.renew.acknowledge.enable", "FALSE "),
        *((GROUP, RESET, text) for text in (
            "EARLIEST", "Latest", " earliest ", "BY_DURATION:PT1H", "by_duration:pt1h",
            " by_duration:PT1H ",
        )),
        (CLIENT_METRICS, "interval.ms", " +05000"), (CLIENT_METRICS, "metrics", " a , b,a,\u00a0c"),
    ):  # fmt: skip
        name, note = peer.name(f"k{kind}"), f"{key}={text!r}"
        answer = peer.ask(altered(kind, name, (key, SET, text)), 1, note=note)
        time.sleep(0 if answer.responses[0].error_code else 0.1)  # a Kafka's brokers hear of it
        peer.ask(described(kind, name, [key]), 4, note=note)


@scenario
def lists_of_options_altered(peer):
    topic = peer.topic("t")
    for key, operation, text in (
        (POLICY, APPEND, ""), (POLICY, SET, "delete,"), (POLICY, APPEND, "compact,compact"),
        (POLICY, SUBTRACT, "nope"), (POLICY, SUBTRACT, "delete,compact"),
        (POLICY, APPEND, "delete"),
        (THROTTLED, APPEND, "x"), (THROTTLED, APPEND, "0:1"), (THROTTLED, APPEND, "0:2,0:1"),
        (THROTTLED, APPEND, "*"), (THROTTLED, SUBTRACT, "0:1"),
        ("remote.storage.enable", SET, "true"),
    ):  # fmt: skip
        peer.ask(altered(TOPIC, topic, (key, operation, text)), 1, note=f"{operation} {text}")
        see(peer, topic, [POLICY, THROTTLED], f"after {operation} {text}")


@scenario
def names_of_the_brokers_own(peer):
    peer.ask(creating("__cluster_metadata", validate_only=True), 4)
    answer = peer.link().ask(creating(peer.name("dry"), validate_only=True), 7)
    peer.said.append(("its id", any(answer.topics[0].topic_id)))
    for name in ("a/b", "..", "x" * 250, peer.name("none")):
        peer.ask(described(TOPIC, name, []), 4, note=f"options of {name}")
        asked = m.DescribeProducersRequest.TopicRequest(name=name, partition_indexes=[0])
        peer.ask(m.DescribeProducersRequest(topics=[asked]), 0, note=f"producers of {name}")
        asked = m.DescribeTopicPartitionsRequest.TopicRequest(name=name)
        peer.ask(m.DescribeTopicPartitionsRequest(topics=[asked]), 0, note=f"partitions of {name}")


@scenario
def topics_grow_once(peer):
    one, other = peer.topic("one"), peer.topic("other")
    Parts = m.CreatePartitionsRequest

    def grow(*wanted):
        topics = [
            Parts.CreatePartitionsTopic(name=name, count=count, assignments=None)
            for name, count in wanted
        ]
        peer.ask(Parts(topics=topics, timeout_ms=5_000), 3, note=f"{wanted}")

    grow((one, 2), (one, 3))
    grow((one, 2), (other, 2), (one, 2))
    grow((one, 2))
    grow((peer.name("none"), 2), (peer.name("none"), 2))


@scenario
def more_partitions_than_there_may_be(peer):
    for count in (10_001, 2**31 - 1):
        peer.ask(creating(peer.name("t"), count, validate_only=True), 4, note=f"{count}")
    request = creating(peer.name("one"), 6_000, validate_only=True)
    request.topics += creating(peer.name("other"), 6_000).topics
    peer.ask(request, 4, note="12000 in two")


@scenario
def more_partitions_than_may_be_added(peer):
    """The request as a whole is refused, but for names that are there twice."""
    one, other, none = peer.topic("one"), peer.topic("other", 3), peer.name("none")
    Parts = m.CreatePartitionsRequest
    for wanted in (
        [(one, 10_002)], [(one, 2**31 - 1)], [(one, 5_002), (other, 5_003)],
        [(one, 5_001), (other, 5_003)], [(one, 6_000), (one, 6_000)], [(none, 20_000), (one, 3)],
        [(none, 20_000), (one, 20_000), (other, 4)], [(other, 1), (one, 10_002)],
        [(other, -(2**31)), (one, 10_002)], [(one, 9_000), (one, 9_000), (other, 9_000)],
        [(one, 20_000), (other, 4), (other, 5)],
    ):  # fmt: skip
        topics = [
            Parts.CreatePartitionsTopic(name=name, count=count, assignments=None)
            for name, count in wanted
        ]
        request = Parts(topics=topics, timeout_ms=5_000, validate_only=True)
        for version in (2, 3):
            peer.ask(request, version, note=f"v{version} {wanted}")


@scenario
def quotas_that_are_no_numbers(peer):
    Alter, Describe = m.AlterClientQuotasRequest, m.DescribeClientQuotasRequest
    name = peer.name("q")
    whose = [Alter.EntityData(entity_type="client-id", entity_name=name)]
    for key in ("producer_byte_rate", "request_percentage", "controller_mutation_rate", "nope"):
        for value in (float("nan"), float("inf"), -float("inf"), 0.0, 1e300, 1_000.0):
            one = Alter.EntryData(entity=whose, ops=[Alter.OpData(key=key, value=value)])
            peer.ask(Alter(entries=[one]), 1, note=f"{key} {value}")
    removed = Alter.OpData(key="request_percentage", value=float("nan"), remove=True)
    peer.ask(Alter(entries=[Alter.EntryData(entity=whose, ops=[removed])]), 1, note="removed")
    asked = Describe(
        components=[Describe.ComponentData(entity_type="client-id", match_type=0, match=name)]
    )
    end = time.monotonic() + DEADLINE_S  # a Kafka's brokers hear of it
    left = {"producer_byte_rate", "controller_mutation_rate"}
    while {one.key for one in quotas_of(peer, asked)} != left:
        assert time.monotonic() < end
        time.sleep(0.05)
    peer.said.append(("kept", sorted((one.key, one.value) for one in quotas_of(peer, asked))))


def quotas_of(peer, asked):
    return [value for entry in peer.link().ask(asked, 1).entries for value in entry.values]


@scenario
def what_is_wrong_first(peer):
    """Of a topic with several things wrong, one is told."""
    topic = peer.topic("t")
    for name in (topic, peer.name("new"), "a/b"):
        for configs in ((), (("nope", "1"),)):
            for partitions, factor, assigned in (
                (1, 1, [(0, [1])]), (-1, -1, [(0, [99])]), (-1, -1, [(1, [1])]), (0, 1, []),
                (1, 9, []), (0, 0, []),
            ):  # fmt: skip
                request = creating(name, partitions, factor, assigned, configs, validate_only=True)
                note = f"{name} {partitions} x {factor} {assigned} {configs}"
                peer.ask(request, 4, note=note)
    retention = "retention.ms"
    for name in (topic, peer.name("none"), "a/b", ""):
        for operations in (
            [(retention, SET, "5")], [(retention, SET, "x")], [("nope", SET, "1")], [],
            [(retention, SET, None)], [(retention, APPEND, "1")],
            [(retention, SET, "1"), (retention, SET, "2")],
        ):  # fmt: skip
            request = altered(TOPIC, name, *operations, validate_only=True)
            peer.ask(request, 1, note=f"{name} {operations}")
            Alter = m.AlterConfigsRequest
            entry = Alter.AlterConfigsResource(resource_type=TOPIC, resource_name=name)
            entry.configs = [
                Alter.AlterableConfig(name=key, value=text)
                for key, operation, text in operations
                if operation == SET
            ]
            peer.ask(Alter(resources=[entry], validate_only=True), 2, note=f"all of {name}")


@scenario
def offsets_that_cannot_be_asked_for(peer):
    topic = peer.topic("t", 2)
    Offsets = m.ListOffsetsRequest
    Part = Offsets.ListOffsetsPartition

    def ask(note, *entries, version=7):
        topics = [Offsets.ListOffsetsTopic(name=name, partitions=parts) for name, parts in entries]
        peer.ask(Offsets(topics=topics), version, note=note)

    for timestamp in (-4, -7):
        for name, number, epoch in ((topic, 0, 1), (topic, 7, -1), (peer.name("none"), 0, -1)):
            part = Part(partition_index=number, timestamp=timestamp, current_leader_epoch=epoch)
            ask(f"{timestamp} of {name}-{number} {epoch}", (name, [part]))
    first, second = (Part(partition_index=number, timestamp=-1) for number in (0, 1))
    ask("in two entries", (topic, [first]), (topic, [first, second]))
    ask("a topic twice", (topic, [first]), (topic, [second]))
    ask("none twice", (peer.name("none"), [first, first]))


@scenario
def no_time_for_the_controller(peer):
    """What a controller is given no time for is not done."""
    topic, new = peer.topic("t"), peer.name("new")
    Parts = m.CreatePartitionsRequest
    more = Parts.CreatePartitionsTopic(name=topic, count=3, assignments=None)
    Alter, List = m.AlterPartitionReassignmentsRequest, m.ListPartitionReassignmentsRequest
    Elect = m.ElectLeadersRequest
    moved = Alter.ReassignablePartition(partition_index=0, replicas=[1])
    asked = [
        (creating(new), 4), (creating(topic), 4), (creating("a/b"), 4),
        (m.DeleteTopicsRequest(topic_names=[topic, new]), 5),
        (Parts(topics=[more]), 3),
        (List(topics=None), 0),
        (Alter(topics=[Alter.ReassignableTopic(name=topic, partitions=[moved])]), 0),
        (Elect(topic_partitions=[Elect.TopicPartitions(topic=topic, partitions=[0])]), 2),
    ]  # fmt: skip
    for timeout_ms in (0, -1):
        for request, version in asked:
            request.timeout_ms = timeout_ms
            peer.ask(request, version, note=f"{type(request).__name__} {timeout_ms} ms")
    for name in (topic, new):
        names = [m.MetadataRequest.MetadataRequestTopic(name=name)]
        request = m.MetadataRequest(topics=names, allow_auto_topic_creation=False)
        peer.ask(request, 9, note=f"what is {name}")


@scenario
def sizes_in_the_codec_of_the_topic(peer):
    large = [(WALL_MS, None, b"x" * 5_000)]
    for codec in ("uncompressed", "gzip", "producer"):
        settings = {"max_message_bytes": "1000", "compression_type": codec, "retention_ms": "-1"}
        topic = peer.topic(codec, **settings)
        for given in ("none", "gzip"):
            peer.ask(produce(topic, encode_batch(large, codec=given)), 9, note=f"{given} {codec}")


UNPACKED = "max.decompressed.message.bytes"


@scenario
def records_that_are_large_unpacked(peer):
    """Each record of a compressed batch counts; what is kept already is refused when it is read."""
    for key, text in (
        (UNPACKED, "0"), (UNPACKED, "2147483639"), (UNPACKED, "2147483640"),
        *((f"remote.copy.lag.{unit}", text) for unit in ("ms", "bytes") for text in ("-2", "-1")),
    ):  # fmt: skip
        name = peer.name(f"c-{key}-{text}")
        peer.ask(creating(name, configs=[(key, text)]), 4, note=f"{key}={text}")
        request = altered(BROKER, "1", (key, SET, text), validate_only=True)
        peer.ask(request, 1, note=f"of a node: {key}={text}")
    many = [(WALL_MS, None, b"x" * 900)] * 20
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        topic = peer.topic(codec, max_decompressed_message_bytes="1000")
        for size in (993, 994, 100_000):  # and seven bytes beside the value
            data = encode_batch([(WALL_MS, None, b"x" * size)], codec=codec)
            peer.ask(produce(topic, data), 9, note=f"{codec} {size}")
        late = [(WALL_MS, None, b"a"), (WALL_MS, None, b"x" * 2_000)]
        for note, records in (("many", many), ("the second", late)):
            data = encode_batch(records, codec=codec)
            peer.ask(produce(topic, data), 9, note=f"{codec} {note}")
    for codec in ("none", "gzip"):
        topic = peer.topic(f"kept-{codec}", max_decompressed_message_bytes="3000")
        records = [(1_000 + at, None, b"x" * size) for at, size in enumerate((1, 2_000, 1))]
        peer.ask(produce(topic, encode_batch(records, codec=codec)), 9)
        peer.ask(altered(TOPIC, topic, (UNPACKED, SET, "1000")), 1)
        end = time.monotonic() + DEADLINE_S
        while offset_at(peer, topic, 1_001) and codec != "none":  # until the broker knows
            assert time.monotonic() < end
            time.sleep(0.05)
        for timestamp in (-3, 1_000, 1_001, 1_002):
            found = offset_at(peer, topic, timestamp)
            peer.said.append((f"{codec} kept, looked up {timestamp}", found))
        see(peer, topic, [UNPACKED], codec)


def offset_at(peer, topic, timestamp):
    """Offset and timestamp; None if it is refused so."""
    Offsets = m.ListOffsetsRequest
    part = Offsets.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    asked = Offsets(topics=[Offsets.ListOffsetsTopic(name=topic, partitions=[part])])
    (found,) = peer.link().ask(asked, 7).topics[0].partitions
    assert found.error_code in {0, ErrorCode.INVALID_RECORD}
    return None if found.error_code else [found.offset, found.timestamp]


@scenario
def topics_deleted_once(peer):
    one, two, three = (peer.topic(base) for base in ("one", "two", "three"))
    peer.number("topic", *(peer.id_of(name) for name in (one, two, three)))
    State = m.DeleteTopicsRequest.DeleteTopicState

    def delete(*states):
        peer.ask(m.DeleteTopicsRequest(topics=list(states), timeout_ms=5_000), 6)

    delete(State(name=one), State(name=None, topic_id=peer.id_of(one)))
    delete(State(name=None, topic_id=peer.id_of(two)), State(name=three), State(name=two))
    delete(*(State(name=None, topic_id=peer.id_of(two)) for _ in range(2)))
    delete(State(name=one), State(name=two), State(name=three))


@scenario
def partitions_added_twice(peer):
    """What is answered has the form of what was asked, unless a partition is refused by itself."""
    topic, other = peer.topic("t", 3), peer.topic("u")
    Add = m.AddPartitionsToTxnRequest
    shapes = (
        (), ((topic, []),), ((topic, [0, 1]),), ((topic, [0, 0]),), ((topic, [0]), (topic, [0])),
        ((topic, [0]), (other, [0]), (topic, [1])), ((topic, []), (topic, [0])),
        ((topic, [0, 1]), (topic, [2, 1])), ((topic, [0]), (topic, [7])), ((topic, [7, 0, 7]),),
        ((topic, [0]), (topic, [7]), (peer.name("none"), [0])), (("", [0]),),
        (("__consumer_offsets", [0]), (topic, [7])),
    )  # fmt: skip
    one = made(peer, "x", OLD)
    for epoch in (one.epoch - 1, one.epoch):
        who = {"producer_id": one.id, "producer_epoch": epoch}
        for shape in shapes:
            topics = [Add.AddPartitionsToTxnTopic(name=name, partitions=numbers)
                      for name, numbers in shape]  # fmt: skip
            given = {f"v3_and_below_{field}": value for field, value in who.items()}
            request = Add(
                v3_and_below_transactional_id=one.name, v3_and_below_topics=topics, **given
            )
            for version in (0, 3):
                peer.ask(request, version)
            for verify_only in (True, False):
                many = Add.AddPartitionsToTxnTransaction(
                    transactional_id=one.name, verify_only=verify_only, topics=topics, **who
                )
                peer.ask(Add(transactions=[many]), 4, note=f"verify only: {verify_only}")
        one.describe_state()
