"""Scenarios of topics and records: each asks a `Peer` what it likes, in the same way every time."""

import struct
import time

import crc32c

from kcore.broker.apis import HANDLERS
from kcore.records import encode_batch
from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.message import ZERO_UUID

WALL_MS = 1_700_000_000_000
SCENARIOS = []


def scenario(function):
    SCENARIOS.append(function)
    return function


def batch(*values, **options):
    return encode_batch([(WALL_MS + n, b"k", value) for n, value in enumerate(values)], **options)


def produce(topic, data, partition=0, acks=-1, topic_id=ZERO_UUID, **more):
    part = m.ProduceRequest.PartitionProduceData(index=partition, records=data)
    entry = m.ProduceRequest.TopicProduceData(name=topic, topic_id=topic_id, partition_data=[part])
    return m.ProduceRequest(acks=acks, timeout_ms=5_000, topic_data=[entry], **more)


def fetch(topic, offset=0, partition=0, *, topic_id=ZERO_UUID, part=None, **more):
    asked = m.FetchRequest.FetchPartition(
        **{"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        | (part or {})
    )
    entry = m.FetchRequest.FetchTopic(topic=topic, topic_id=topic_id, partitions=[asked])
    return m.FetchRequest(
        topics=[entry], **{"max_wait_ms": 0, "min_bytes": 1, "session_epoch": -1} | more
    )


@scenario
def api_versions(peer):
    """Of the APIs and features that both have."""
    for version in range(5):
        request = m.ApiVersionsRequest(client_software_name="c", client_software_version="1")
        answer = peer.link().ask(request, version)
        answer.api_keys = [one for one in answer.api_keys if one.api_key in HANDLERS]
        for field in ("supported_features", "finalized_features"):
            both = [one for one in getattr(answer, field) if one.name == "transaction.version"]
            setattr(answer, field, both)
        answer.finalized_features_epoch = 0
        peer.said.append((f"v{version}", peer.plain(answer)))
    peer.ask(m.ApiVersionsRequest(client_software_name="", client_software_version="!"), 3)
    link = peer.link()
    data = frames.encode_request(m.ApiVersionsRequest(), 4, 77, "scenario")
    link.sock.sendall(data[:6] + struct.pack(">h", 99) + data[8:])
    link._sent.append((m.ApiVersionsResponse, 0, 77))
    peer.receive(note="version 99")


@scenario
def api_versions_of_somebody(peer):
    """Of who is told to be a broker by its id (KIP-1242)."""
    cluster = peer.link().ask(m.MetadataRequest(topics=[]), 12)
    ours, node = cluster.cluster_id, cluster.brokers[0].node_id
    for meant in (
        (None, -1),
        (ours, node),
        (ours, node + 1),
        ("another", node),
        ("another", node + 1),
        ("", node),
        (ours, -2),
        (ours, -1),
        (None, node),
        (None, node + 1),
        ("another", -1),
    ):
        named = {"cluster_id": meant[0], "node_id": meant[1]}
        for software in ("c", "!"):
            request = m.ApiVersionsRequest(
                client_software_name=software, client_software_version="1", **named
            )
            link = peer.link()
            answer = link.ask(request, 5)
            again = link.ask(m.ApiVersionsRequest(), 0)  # the connection is as good as before
            note = str((meant[0] == ours, meant[1] - node, software))
            told = [answer.error_code, bool(answer.api_keys), again.error_code]
            peer.said.append((note, told))


@scenario
def metadata_by_name(peer):
    known = peer.topic("known", 3)
    Topic = m.MetadataRequest.MetadataRequestTopic
    for version in range(14):
        for name in (known, peer.name("none"), "a/b"):
            request = m.MetadataRequest(topics=[Topic(name=name)])
            if version >= 4:
                request.allow_auto_topic_creation = False
            peer.ask(request, version, note=f"metadata v{version} {name}")
    twice = m.MetadataRequest(topics=[Topic(name=known), Topic(name=known)])
    peer.ask(twice, 12)
    for name in ("", "..", "x" * 250):
        peer.ask(m.MetadataRequest(topics=[Topic(name=name)], allow_auto_topic_creation=False), 9)
    peer.ask(m.MetadataRequest(topics=[]), 12)


@scenario
def metadata_by_id(peer):
    known = peer.topic("known")
    Topic = m.MetadataRequest.MetadataRequestTopic
    for version in (10, 12, 13):
        for topic_id in (peer.id_of(known), b"\7" * 16, ZERO_UUID):
            name = None if version >= 12 else ""
            if name is None and topic_id == ZERO_UUID:
                continue  # a Kafka fails at it: UNKNOWN_SERVER_ERROR
            peer.ask(m.MetadataRequest(topics=[Topic(name=name, topic_id=topic_id)]), version)


def creating(name, partitions=1, factor=1, assignments=(), configs=(), **more):
    Create = m.CreateTopicsRequest
    topic = Create.CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor)
    topic.assignments = [
        Create.CreatableReplicaAssignment(partition_index=number, broker_ids=nodes)
        for number, nodes in assignments
    ]
    topic.configs = [Create.CreatableTopicConfig(name=key, value=text) for key, text in configs]
    return Create(topics=[topic], timeout_ms=5_000, **more)


@scenario
def create_topics(peer):
    for version in range(2, 5):
        peer.ask(creating(peer.name(f"v{version}"), 2), version)
    peer.ask(creating(peer.name("v2"), 2), 4)
    for name in ("a/b", "..", "", "x" * 250, "."):
        peer.ask(creating(name), 4, note=f"create {name!r}")
    for partitions, factor in ((0, 1), (-2, 1), (1, 0), (1, 5), (1, -2), (-1, -1), (-1, 1)):
        name = peer.name(f"p{partitions}-{factor}")
        peer.ask(creating(name, partitions, factor), 4, note=f"create {partitions} x {factor}")
    for key, text in (
        ("nonsense", "1"), ("retention.ms", "x"), ("retention.ms", "-2"), ("retention.ms", None),
        ("cleanup.policy", "nothing"), ("max.message.bytes", "-1"),
        ("retention.ms", "1000"),
    ):  # fmt: skip
        name = peer.name(f"c-{key}-{text}")
        peer.ask(creating(name, configs=[(key, text)]), 4, note=f"create with {key}={text}")
    for number, assigned in enumerate(
        ([(0, [1])], [(1, [1])], [(0, [])], [(0, [1, 1])], [(0, [99])], [(0, [1]), (2, [1])],
         [(0, [1]), (0, [1])])
    ):  # fmt: skip
        for partitions, factor in ((-1, -1), (1, 1), (1, -1), (-1, 1)):
            name = peer.name(f"a{number}-{partitions}-{factor}")
            request = creating(name, partitions, factor, assigned)
            peer.ask(request, 4, note=f"create {partitions} x {factor} with {assigned}")
    dry = peer.name("dry")
    peer.ask(creating(dry, validate_only=True), 4)
    peer.ask(creating(dry, 0, validate_only=True), 4)
    twice = creating(peer.name("twice"))
    twice.topics *= 2
    peer.ask(twice, 4)
    alike = creating(peer.name("al.ike"))
    alike.topics += creating(peer.name("al_ike")).topics
    peer.ask(alike, 4, note="names alike but for a dot, in one request")
    for name in ("al.ike", "al_ike"):
        peer.ask(creating(peer.name(name)), 4, note=f"{name} after both")
    peer.ask(creating(peer.name("a_like")), 4)
    peer.ask(creating(peer.name("a.like")), 4, note="alike to one that there is")
    peer.ask(m.CreateTopicsRequest(topics=[]), 4)


@scenario
def delete_topics(peer):
    for version in range(1, 6):
        names = [peer.topic(f"v{version}"), peer.name("none")]
        peer.ask(m.DeleteTopicsRequest(topic_names=names, timeout_ms=5_000), version)
    State = m.DeleteTopicsRequest.DeleteTopicState
    by_name, by_id = peer.topic("name"), peer.topic("id")
    topics = [
        State(name=by_name), State(name=None, topic_id=peer.id_of(by_id)),
        State(name=None, topic_id=b"\7" * 16), State(name=peer.name("none")),
    ]  # fmt: skip
    for topic in topics:
        peer.ask(m.DeleteTopicsRequest(topics=[topic], timeout_ms=5_000), 6)
    both = State(name=peer.name("x"), topic_id=b"\7" * 16)
    peer.ask(m.DeleteTopicsRequest(topics=[both], timeout_ms=5_000), 6)
    peer.ask(m.DeleteTopicsRequest(topics=[State(name=None)], timeout_ms=5_000), 6)
    topic = peer.topic("twice")
    peer.ask(m.DeleteTopicsRequest(topic_names=[topic, topic], timeout_ms=5_000), 5)


@scenario
def create_partitions(peer):
    topic = peer.topic("t", 2)
    Parts = m.CreatePartitionsRequest
    Assigned = Parts.CreatePartitionsAssignment

    def ask(name, count, assigned=None, **more):
        wanted = Parts.CreatePartitionsTopic(name=name, count=count, assignments=None)
        if assigned is not None:
            wanted.assignments = [Assigned(broker_ids=nodes) for nodes in assigned]
        note = f"{count} partitions, {assigned}"
        for version in (1, 3):
            peer.ask(Parts(topics=[wanted], timeout_ms=5_000, **more), version, note=note)

    ask(topic, 3, validate_only=True)
    for count in (1, 2, 0, -1):
        ask(topic, count)
    for assigned in ([[1], [1]], [[99]], [[1, 1]], [[]], []):
        ask(topic, 3, assigned, validate_only=True)
    ask(peer.name("none"), 3)
    ask(topic, 4)


@scenario
def produce_versions(peer):
    topic = peer.topic("t", 2)
    for version in range(3, 13):
        peer.ask(produce(topic, batch(b"a", b"b")), version)
        peer.ask(produce(topic, batch(b"c"), acks=1), version)
    by_id = peer.id_of(topic)
    peer.ask(produce("", batch(b"d"), topic_id=by_id), 13)
    peer.ask(produce("", batch(b"d"), topic_id=b"\7" * 16), 13)
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        peer.ask(produce(topic, batch(b"x" * 100, b"y", codec=codec), 1), 9, note=codec)
    peer.ask(fetch(topic, 0, 1), 12)


def rewritten(data, at, layout, *values, checked=True):
    data = bytearray(data)
    struct.pack_into(layout, data, at, *values)
    if checked:
        struct.pack_into(">I", data, 17, crc32c.crc32c(bytes(data[21:])))
    return bytes(data)


@scenario
def produce_refused(peer):
    topic = peer.topic("t", 2, max_message_bytes="1000")
    good = batch(b"a", b"b")
    none = peer.name("none")
    for name, partition, acks in (
        (none, 0, 1), (topic, 2, 1), (topic, -1, 1), (topic, 0, 2), (topic, 0, -2), (none, 0, 7),
    ):  # fmt: skip
        for version in (7, 9, 12):
            request = produce(name, good, partition, acks)
            peer.ask(request, version, note=f"{name} {partition} acks={acks}")
    bad = {
        "crc": rewritten(good, 60, ">B", 3, checked=False),
        "count": rewritten(good, 57, ">i", 3),
        "fewer": rewritten(good, 57, ">i", 1),
        "delta": rewritten(good, 23, ">i", 7),
        "negative count": rewritten(good, 57, ">i", -1),
        "no records": rewritten(good, 57, ">i", 0)[:61],
        "large": batch(b"x" * 2_000),
        "length": rewritten(good, 8, ">i", len(good)),
        "short length": rewritten(good, 8, ">i", 10),
        "cut": good[:-1],
        "header": good[:40],
        "few bytes": good[:8],
        "two": good + good,
        "trailing": good + b"x",
        "control": rewritten(good, 21, ">h", 0x20),
        "magic 1": rewritten(good, 16, ">b", 1, checked=False),
        "magic 3": rewritten(good, 16, ">b", 3, checked=False),
        "offset": batch(b"a", base_offset=5),
        "future": encode_batch([(WALL_MS + (1 << 50), None, b"a")]),
        "no time": encode_batch([(-1, None, b"a")]),
        "long record": rewritten(good, 61, ">B", 0x7E),
        "negative record": rewritten(good, 61, ">B", 3),
        "long key": rewritten(good, 65, ">B", 0x7E),
        "negative headers": rewritten(good, len(good) - 1, ">B", 1),
        "left over": rewritten(good + b"zz", 8, ">i", len(good) - 10),
        "another codec": rewritten(good, 22, ">B", 4),
    }  # fmt: skip
    for what, data in bad.items():
        peer.ask(produce(topic, data), 9, note=what)
    for what in ("two", "trailing", "cut", "magic 1", "long record"):
        for partition in (2, -1):
            request = produce(topic, bad[what], partition)
            peer.ask(request, 9, note=f"{what} for partition {partition}")
    for version in (3, 6, 7):
        peer.ask(produce(topic, batch(b"z" * 50, codec="zstd")), version, note=f"zstd v{version}")
    peer.ask(produce(topic, b""), 9, note="empty")
    peer.ask(produce(topic, batch(b"last")), 9)


@scenario
def produce_refused_records(peer):
    """Which records are wrong, and what is said of all of them."""
    bounds = {"message_timestamp_before_max_ms": "1000", "message_timestamp_after_max_ms": "1000"}
    now = time.time_ns() // 1_000_000
    keyed, unkeyed, late, neither = (
        (now, b"k", b"v"), (now, None, b"v"),
        (now - 60_000, b"k", b"v"), (now + 60_000, None, b"v"),
    )  # fmt: skip
    for policy in ("compact", "delete"):
        for kind in ("CreateTime", "LogAppendTime"):
            topic = peer.topic(
                policy + kind, cleanup_policy=policy, message_timestamp_type=kind, **bounds
            )
            for number, records in enumerate((
                (keyed, unkeyed), (keyed, late), (unkeyed, late), (late, unkeyed), (neither,),
                (neither, keyed), (neither, late), (keyed, (-1, None, b"v")),
            )):  # fmt: skip
                for codec in ("none", "gzip"):
                    request = produce(topic, encode_batch(records, codec=codec))
                    answer = peer.link().ask(request, 9)
                    (part,) = answer.responses[0].partition_responses
                    part.log_append_time_ms = -1
                    peer.said.append((f"{policy} {kind} {number} {codec}", peer.plain(answer)))


@scenario
def produce_with_attributes(peer):
    """What is for brokers to say, and what means nothing."""
    some, future = WALL_MS, WALL_MS + (1 << 50)
    batches = [
        encode_batch(records)
        for records in (
            [(some, b"k", b"v"), (some + 1, None, b"v")], [(some, b"k", b"v")],
            [(future, b"k", b"v"), (some, b"k", b"v")], [(-1, b"k", b"v")],
        )
    ]  # fmt: skip
    for policy in ("compact", "delete"):
        for kind in ("CreateTime", "LogAppendTime"):
            topic = peer.topic(policy + kind, cleanup_policy=policy, message_timestamp_type=kind)
            for attributes in (0, 0x08, 0x40, 0x48, 0x80, 0x4000):
                for number, data in enumerate(batches):
                    request = produce(topic, rewritten(data, 21, ">h", attributes))
                    answer = peer.link().ask(request, 9)
                    (part,) = answer.responses[0].partition_responses
                    part.log_append_time_ms = -1
                    peer.said.append((f"{policy} {kind} {attributes} {number}", peer.plain(answer)))
            if kind == "CreateTime":
                peer.ask(fetch(topic), 12, note=f"kept in {policy}")


@scenario
def produce_idempotent(peer):
    topic = peer.topic("t")
    asked = m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000)
    producer = peer.ready(asked, 4).producer_id

    def put(sequence, epoch=0, count=1, number=producer):
        values = [b"v"] * count
        data = batch(*values, producer_id=number, producer_epoch=epoch, base_sequence=sequence)
        peer.ask(produce(topic, data), 9, note=f"sequence {sequence} epoch {epoch} x {count}")

    for sequence, count in ((0, 1), (1, 3), (4, 1), (5, 1), (6, 1), (7, 1), (8, 1)):
        put(sequence, count=count)
    for sequence, count in ((8, 1), (5, 1), (1, 3), (1, 2), (0, 1), (8, 2), (20, 1), (-1, 1)):
        put(sequence, count=count)
    put(3, epoch=1)
    put(0, epoch=1)
    put(9, epoch=0)
    put(7, number=producer + 10_000)
    put(8, number=producer + 10_000)
    for epoch, sequence in ((-2, 0), (-1, 0), (-1, 5), (0, 3), (0, -1), (-1, 4)):
        put(sequence, epoch, number=producer + 20_000)
    peer.ask(fetch(topic, 17), 12)


@scenario
def init_producer_id(peer):
    peer.ready(m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000), 4)
    for version in range(6):
        request = m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000)
        peer.ask(request, version)
    for producer, epoch in ((5, 1), (-1, 3), (5, -1)):
        request = m.InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=1, producer_id=producer,
            producer_epoch=epoch,
        )  # fmt: skip
        peer.ask(request, 4, note=f"{producer} {epoch}")
    empty = m.InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1_000)
    peer.ask(empty, 4)


@scenario
def fetch_forms(peer):
    topic = peer.topic("t", 2)
    topic_id = peer.id_of(topic)
    for number in range(4):
        peer.ask(produce(topic, batch(b"%d" % number, b"x" * 200)), 9)
    for version in range(4, 13):
        peer.ask(fetch(topic, 2), version)
    for version in range(13, 19):
        peer.ask(fetch("", 2, topic_id=topic_id), version)
        peer.ask(fetch("", 2, topic_id=b"\7" * 16), version)
    none = peer.name("none")
    for name, offset, partition, part in (
        (none, 0, 0, {}), (topic, 0, 5, {}), (topic, 0, -1, {}), (topic, 8, 0, {}),
        (topic, 9, 0, {}), (topic, -1, 0, {}), (topic, -7, 0, {}), (topic, 1, 0, {}),
        (topic, 0, 0, {"partition_max_bytes": 0}), (topic, 0, 0, {"partition_max_bytes": 1}),
        (topic, 0, 0, {"partition_max_bytes": 700}), (topic, 0, 0, {"current_leader_epoch": 0}),
        (topic, 0, 0, {"current_leader_epoch": 1}), (topic, 0, 0, {"last_fetched_epoch": 0}),
        (topic, 0, 0, {"last_fetched_epoch": 3}), (topic, 9, 0, {"last_fetched_epoch": 0}),
    ):  # fmt: skip
        peer.ask(fetch(name, offset, partition, part=part), 12, note=f"{name} {offset} {part}")
    for limit in (0, 1, 300, 700):
        peer.ask(fetch(topic, 0, max_bytes=limit), 12, note=f"max_bytes {limit}")
    peer.ask(fetch(topic, 8, max_wait_ms=50), 12)
    peer.ask(fetch(topic, 0, max_wait_ms=50, min_bytes=1 << 20), 12)
    peer.ask(fetch(topic, 2, isolation_level=1), 12)
    peer.ask(fetch(topic, 8, isolation_level=1), 12)
    peer.ask(m.FetchRequest(topics=[], session_epoch=-1), 12)


@scenario
def fetch_sessions(peer):
    topic = peer.topic("t", 3)
    entry = fetch(topic).topics[0]
    entry.partitions += [
        m.FetchRequest.FetchPartition(partition=n, partition_max_bytes=1 << 20) for n in (1, 2)
    ]
    first = peer.ask(m.FetchRequest(topics=[entry], session_epoch=0), 12)

    def go_on(epoch, topics=(), forget=(), number=first.session_id, version=12):
        request = m.FetchRequest(
            topics=list(topics), session_id=number, session_epoch=epoch, max_wait_ms=0, min_bytes=1
        )
        if forget:
            request.forgotten_topics_data = [
                m.FetchRequest.ForgottenTopic(topic=topic, partitions=list(forget))
            ]
        return peer.ask(request, version, note=f"session epoch {epoch} v{version}")

    go_on(1)
    peer.ask(produce(topic, batch(b"a"), 1), 9)
    go_on(2)
    go_on(3)
    go_on(4, fetch(topic, 1, 1).topics)
    go_on(4)
    go_on(7)
    go_on(5, version=13)
    go_on(5, forget=[0, 1])
    peer.ask(produce(topic, batch(b"a"), 0), 9)
    go_on(6)
    go_on(7, fetch(topic, 0, 9).topics)
    go_on(8, fetch(topic, 77, 2).topics)
    go_on(9)
    go_on(10, forget=[2, 9])
    go_on(11)
    go_on(1, number=0)
    go_on(1, number=12345)
    second = peer.ask(m.FetchRequest(topics=[entry], session_epoch=0), 12)
    go_on(0, [entry], number=second.session_id)
    go_on(1, number=second.session_id)
    third = peer.ask(m.FetchRequest(topics=[entry], session_epoch=0), 12)
    go_on(-1, [entry], number=third.session_id)
    go_on(1, number=third.session_id)
    peer.ask(m.FetchRequest(topics=[], session_epoch=0), 12)


@scenario
def list_offsets(peer):
    topic = peer.topic("t", 2)
    for number in range(3):
        data = encode_batch([(WALL_MS + 100 * number + n, None, b"v") for n in range(3)])
        peer.ask(produce(topic, data), 9)
    Offsets = m.ListOffsetsRequest

    def ask(timestamp, version, name=topic, partition=0, epoch=-1, **more):
        part = Offsets.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        part.current_leader_epoch = epoch
        entry = Offsets.ListOffsetsTopic(name=name, partitions=[part])
        if version >= 10:
            more["timeout_ms"] = 5_000
        note = f"{timestamp} v{version} {name}-{partition} {epoch}"
        peer.ask(Offsets(replica_id=-1, topics=[entry], **more), version, note=note)

    for version in range(1, 12):
        for timestamp in (-1, -2, -3, -4, -5, -6, -7, WALL_MS + 101):
            ask(timestamp, version)
    for timestamp in (0, WALL_MS, WALL_MS + 2, WALL_MS + 3, WALL_MS + 202, WALL_MS + 203):
        ask(timestamp, 7)
    for timestamp in (-1, -2, -3, 0):
        ask(timestamp, 7, partition=1)
        ask(timestamp, 7, isolation_level=1)
    ask(-1, 7, peer.name("none"))
    ask(-1, 7, partition=2)
    ask(-1, 7, partition=-1)
    ask(-1, 7, epoch=0)
    ask(-1, 7, epoch=1)
    twice = Offsets.ListOffsetsPartition(partition_index=0, timestamp=-1)
    entry = Offsets.ListOffsetsTopic(name=topic, partitions=[twice, twice])
    peer.ask(Offsets(topics=[entry]), 7, note="twice")


@scenario
def offset_for_leader_epoch(peer):
    topic = peer.topic("t")
    peer.ask(produce(topic, batch(b"a", b"b")), 9)
    Epochs = m.OffsetForLeaderEpochRequest

    def ask(epoch, version, name=topic, partition=0, current=-1):
        part = Epochs.OffsetForLeaderPartition(
            partition=partition, leader_epoch=epoch, current_leader_epoch=current
        )
        entry = Epochs.OffsetForLeaderTopic(topic=name, partitions=[part])
        peer.ask(Epochs(topics=[entry]), version, note=f"epoch {epoch} of {name} v{version}")

    for version in (2, 3, 4):
        for epoch in (0, 1, -1, 100):
            ask(epoch, version)
    ask(0, 4, current=0)
    ask(0, 4, current=1)
    ask(0, 4, partition=3)
    ask(0, 4, peer.name("none"))


@scenario
def delete_records(peer):
    topic = peer.topic("t")
    for _ in range(3):
        peer.ask(produce(topic, batch(b"a", b"b")), 9)
    Records = m.DeleteRecordsRequest

    def ask(offset, name=topic, partition=0, version=2):
        part = Records.DeleteRecordsPartition(partition_index=partition, offset=offset)
        entry = Records.DeleteRecordsTopic(name=name, partitions=[part])
        peer.ask(Records(topics=[entry], timeout_ms=5_000), version, note=f"before {offset}")

    for offset in (0, 3, 2, 7, -2, 3):
        ask(offset)
    peer.ask(fetch(topic, 2), 12)
    peer.ask(fetch(topic, 3), 12)
    for version in (0, 1, 2):
        ask(4, version=version)
    ask(-1)
    ask(0, peer.name("none"))
    ask(0, partition=4)
    peer.ask(fetch(topic, 6), 12)
    peer.ask(produce(topic, batch(b"c")), 9)


@scenario
def describe_configs(peer):
    topic = peer.topic("t", retention_ms="1000")
    Configs = m.DescribeConfigsRequest
    keys = ["retention.ms", "cleanup.policy", "max.message.bytes", "nonsense"]
    for version in range(1, 5):
        for kind, name in ((2, topic), (2, peer.name("none")), (4, "x"), (4, "77"), (2, "")):
            entry = Configs.DescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=keys
            )
            peer.ask(Configs(resources=[entry]), version, note=f"{kind} {name!r} v{version}")
    entry = Configs.DescribeConfigsResource(resource_type=99, resource_name=topic)
    peer.ask(Configs(resources=[entry]), 4, note="kind 99")


@scenario
def describe_cluster(peer):
    for version in range(3):
        for kind in (1,) if version == 0 else (1, 2, 3):
            peer.ask(m.DescribeClusterRequest(endpoint_type=kind), version, note=f"kind {kind}")
