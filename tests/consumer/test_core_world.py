"""`ConsumerCore` against a scripted cluster: real bytes, virtual time, no socket."""

import pytest
from scripted import CUT, SILENT, ScriptedCluster, World

from kcore.errors import (
    IllegalArgumentError,
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    TopicAuthorizationFailedError,
)
from kcore.events import (
    Closed,
    ClusterReachable,
    ClusterUnreachable,
    CoordinatorFound,
    ErrorRaised,
    GroupJoined,
    HeartbeatAnswered,
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsRevoked,
    RecordsFetched,
    TopicsMissing,
)
from kcore.limits import MAX_UNREAD_EVENTS
from kcore.records import encode_batch
from kcore.structs import OffsetAndMetadata, TopicPartition
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def fill(cluster, topic="t", partitions=2, batches=4, per_batch=5):
    """`batches` of `per_batch` records into each partition; values say where they are."""
    for p in range(partitions):
        for b in range(batches):
            base = b * per_batch
            records = [
                (1, b"k%d" % p, b"%s-%d-%d" % (topic.encode(), p, base + i))
                for i in range(per_batch)
            ]
            batch = encode_batch(records, base_offset=base)
            cluster.append(topic, p, batch, base, per_batch)
    return partitions * batches * per_batch


def refuse_metadata(cluster, *names):
    """Topics that nobody may describe; all else is answered as ever."""

    def answer(node, request):
        told = []
        cluster._metadata(node, request, told.append)
        for topic in told[0].topics:
            if topic.name in names:
                topic.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return told[0]

    cluster.script[ApiKey.METADATA] = answer


def drain(world, clients, total, within_ms=60_000):
    """Poll everyone until `total` records were handed over; {tp: [offsets]}."""
    seen = {}
    end = world.now + within_ms
    while sum(map(len, seen.values())) < total:
        assert world.now < end, f"stalled: {[c.core.health() for c in clients]}, {seen}"
        world.run(20, polls_ms=10)
        for client in clients:
            for tp, records in client.take().items():
                assert [r.value for r in records] == [
                    b"%s-%d-%d" % (tp.topic.encode(), tp.partition, r.offset) for r in records
                ]
                seen.setdefault(tp, []).extend(r.offset for r in records)
    return seen


def world_of(partitions=2, nodes=1, **more):
    cluster = ScriptedCluster({"t": partitions}, nodes)
    total = fill(cluster, partitions=partitions, **more)
    return World(cluster), cluster, total


def reader(world, **options):
    """Of both partitions from their beginning, without a group."""
    client = world.client(auto_offset_reset="earliest", **options)
    client.core.assign([T0, T1], world.now)
    client.drain()
    return client


def group_member(world, **options):
    settings = {"group_id": "g", "auto_offset_reset": "earliest", **options}
    client = world.client(**settings)
    client.core.subscribe(["t"], world.now)
    client.drain()
    return client


def test_c31_manual_assignment_reads_everything_and_looks_no_coordinator_up():
    world, cluster, total = world_of()
    client = reader(world)
    seen = drain(world, [client], total)
    assert seen == {T0: list(range(20)), T1: list(range(20))}
    assert cluster.count(ApiKey.FIND_COORDINATOR) == 0
    assert client.core.position(T0) == 20
    assert client.of(RecordsFetched)


def test_policy_none_without_an_offset_is_an_error_naming_the_partitions():
    world, _, _ = world_of()
    client = world.client(auto_offset_reset="none")
    client.core.assign([T0, T1], world.now)
    client.drain()
    world.run(1_000, polls_ms=100)
    with pytest.raises(NoOffsetForPartitionError, match="t-0"):
        client.take()


def test_where_it_goes_out_of_range_is_an_option_of_its_own():
    world, _, total = world_of()
    client = reader(world, out_of_range_reset="none")
    assert sum(map(len, drain(world, [client], total).values())) == total
    client.core.seek(T0, 99, world.now)
    client.drain()
    world.run(1_000, polls_ms=100)
    with pytest.raises(OffsetOutOfRangeError, match="offset 99 is out of range"):
        client.take()
    assert client.core.position(T0) == 99


@pytest.mark.parametrize("option", ["auto_offset_reset", "out_of_range_reset"])
def test_a_reset_by_duration_needs_the_time_of_day(option):
    world, _, _ = world_of()
    with pytest.raises(IllegalArgumentError, match="give wall_ms"):
        world.client(**{option: "by_duration:PT1H"})


def test_a_group_of_one_joins_reads_commits_and_leaves():
    world, cluster, total = world_of()
    client = group_member(world, enable_auto_commit=False)
    seen = drain(world, [client], total)
    assert seen == {T0: list(range(20)), T1: list(range(20))}
    (joined,) = client.of(GroupJoined)
    assert (joined.generation, joined.is_leader, joined.protocol) == (1, True, "range")
    (assigned,) = client.of(PartitionsAssigned)
    assert set(assigned.partitions) == {T0, T1}
    assert client.of(CoordinatorFound)
    committed = client.result(client.core.commit(None, world.now, 5_000))
    assert committed[T0].offset == 20
    assert cluster.group.offsets == {("t", 0): (20, ""), ("t", 1): (20, "")}
    found = client.result(client.core.committed([T0], world.now, 5_000))
    assert found[T0].offset == 20
    world.run(10_000, polls_ms=100)
    assert len(client.of(HeartbeatAnswered)) >= 2
    client.core.close(world.now, 5_000)
    client.drain()
    world.run(1_000)
    assert client.of(Closed)
    assert cluster.group.members == {}


def test_auto_commit_covers_only_what_the_application_is_done_with():
    world, cluster, total = world_of(partitions=1)
    client = group_member(world, auto_commit_interval_ms=1_000)
    while not client.core.has_records:
        world.run(20, polls_ms=10)
    (records,) = client.take(3).values()
    assert [r.offset for r in records] == [0, 1, 2]
    world.run(5_000)  # the application works on the three and does not poll
    assert cluster.group.offsets == {}
    client.poll()  # done with them
    world.run(50)
    assert cluster.group.offsets == {("t", 0): (3, "")}
    assert client.of(OffsetsCommitted)[-1].error is None


def test_a_second_member_takes_its_share_and_gives_it_back():
    world, cluster, total = world_of(partitions=4)
    first = group_member(world)
    world.run(2_000, polls_ms=100)
    assert len(first.core.assignment()) == 4
    second = group_member(world)
    world.run(8_000, polls_ms=100)
    assert len(first.core.assignment()) == len(second.core.assignment()) == 2
    assert first.core.assignment().isdisjoint(second.core.assignment())
    assert first.of(PartitionsRevoked)
    second.core.close(world.now, 5_000)
    second.drain()
    world.run(8_000, polls_ms=100)
    assert len(first.core.assignment()) == 4


def test_committed_offsets_are_where_reading_starts():
    world, cluster, total = world_of()
    cluster.group.offsets = {("t", 0): (18, ""), ("t", 1): (20, "")}
    client = group_member(world)
    assert drain(world, [client], 2) == {T0: [18, 19]}
    assert client.core.position(T1) == 20


def test_an_outage_of_ten_seconds_spins_nothing_and_keeps_the_membership():
    world, cluster, total = world_of(nodes=3)
    client = group_member(world)
    drain(world, [client], total)
    world.inputs = 0
    for node in cluster.nodes:
        world.kill_node(node)
    world.run(10_000, polls_ms=100)
    # At most a try a second for each of three nodes, a coordinator, three bootstraps.
    assert world.inputs < 400
    assert len(client.of(ClusterUnreachable)) == 1
    assert client.of(ClusterReachable) == []
    world.revive_node(1)
    back = world.now
    fill_more = encode_batch([(1, b"k0", b"t-0-%d" % o) for o in (20, 21)], base_offset=20)
    cluster.append("t", 0, fill_more, 20, 2)
    cluster.nodes = {1: cluster.nodes[1]}
    world.run(5_000, polls_ms=100)
    assert len(client.of(ClusterReachable)) == 1
    assert client.of(ClusterReachable)[0].outage_ms >= 9_000
    assert sum(map(len, client.take().values())) == 2
    assert world.now - back <= 12_000
    assert len(client.of(GroupJoined)) == 1  # the session held: no rejoin


GROUP_APIS = [
    ApiKey.METADATA,
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.OFFSET_FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.FETCH,
    ApiKey.API_VERSIONS,
    ApiKey.HEARTBEAT,
]


def garbage(node, request):
    body = b"\xff" * 40
    frame = request.correlation_id.to_bytes(4, "big") + body
    return len(frame).to_bytes(4, "big") + frame


FAULTS = {
    "garbage": garbage,
    "another correlation id": lambda node, request: bytes.fromhex("00000008 7fffffff 00000000"),
    "negative frame": lambda node, request: b"\xff\xff\xff\xff\x00",
    "huge frame": lambda node, request: b"\x7f\xff\xff\xff\x00",
    "silence": lambda node, request: SILENT,
    "cut": lambda node, request: CUT,
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("api", GROUP_APIS, ids=lambda api: api.name.lower())
def test_three_bad_answers_of_any_api_cost_time_and_nothing_else(api, fault):
    world, cluster, total = world_of(batches=2)
    bad = [3]

    def script(node, request):
        if not bad[0]:
            return None
        bad[0] -= 1
        return FAULTS[fault](node, request)

    cluster.script[api] = script
    client = group_member(world, request_timeout_ms=5_000, max_poll_interval_ms=60_000)
    world.inputs = 0
    seen = drain(world, [client], total, within_ms=420_000)
    world.run(40_000, polls_ms=100)
    assert bad == [0]
    assert {tp: sorted(set(offsets)) for tp, offsets in seen.items()} == {
        T0: list(range(10)),
        T1: list(range(10)),
    }


@pytest.mark.parametrize("api", GROUP_APIS, ids=lambda api: api.name.lower())
def test_an_api_that_is_always_garbage_does_not_spin(api):
    world, cluster, total = world_of(batches=2)
    cluster.script[api] = garbage
    client = group_member(world, request_timeout_ms=5_000)
    world.inputs = 0
    for _ in range(60):
        world.run(1_000, polls_ms=200)
        try:
            client.take()
        except KafkaError:
            pass
    asked = cluster.count(api)
    assert 2 <= asked <= 700, asked  # a backoff of 100 ms to 1 s lies between two tries


def test_metadata_with_unusable_addresses_falls_back_to_the_bootstrap():
    world, cluster, total = world_of()
    bad = [2]

    def script(node, request):
        if not bad[0]:
            return None
        bad[0] -= 1
        broker = m.MetadataResponse.MetadataResponseBroker(node_id=1, host="nowhere", port=1)
        return m.MetadataResponse(brokers=[broker])

    cluster.script[ApiKey.METADATA] = script
    client = reader(world)
    assert drain(world, [client], total)
    assert bad == [0]


def test_an_unknown_topic_is_said_once_and_read_when_it_appears():
    cluster = ScriptedCluster({})
    world = World(cluster)
    client = group_member(world)
    world.run(20_000, polls_ms=100)
    assert [event.topics for event in client.of(TopicsMissing)] == [frozenset({"t"})]
    assert cluster.count(ApiKey.METADATA) < 60
    cluster.topics["t"] = 2
    total = fill(cluster)
    assert drain(world, [client], total)
    assert client.of(TopicsMissing)[-1].topics == frozenset()


def test_the_coordinator_moves():
    world, cluster, total = world_of(nodes=2)
    client = group_member(world)
    drain(world, [client], total)
    cluster.coordinator = 2

    def moved(node, request):
        return m.HeartbeatResponse(error_code=16) if node == 1 else None

    cluster.script[ApiKey.HEARTBEAT] = moved
    world.run(10_000, polls_ms=100)
    assert [event.node_id for event in client.of(CoordinatorFound)] == [1, 2]
    assert len(client.of(GroupJoined)) == 1
    assert any(n == 2 and api is ApiKey.HEARTBEAT for n, api, _ in cluster.asked)


def test_a_pattern_that_is_no_regular_expression_changes_nothing():
    world = World(ScriptedCluster({"t": 2, "u": 2}))
    core = world.client(group_id="g").core
    with pytest.raises(IllegalArgumentError, match=r"pattern '\(': missing \)"):
        core.subscribe_pattern("(", world.now)
    core.subscribe(["u"], world.now)
    assert core.subscription() == {"u"}


def test_a_pattern_takes_topics_that_appear_later():
    world, cluster, total = world_of()
    client = world.client(group_id="g", auto_offset_reset="earliest", metadata_max_age_ms=2_000)
    client.core.subscribe_pattern("^t.*", world.now)
    client.drain()
    drain(world, [client], total)
    assert client.core.subscription() == {"t"}
    cluster.topics["t-new"] = 1
    more = fill(cluster, topic="t-new", partitions=1)
    seen = drain(world, [client], more)
    assert TopicPartition("t-new", 0) in seen
    assert client.core.subscription() == {"t", "t-new"}


def test_a_pattern_that_was_given_up_matches_no_more():
    world = World(ScriptedCluster({"t": 2, "u": 2}))
    client = world.client(group_id="g")
    client.core.subscribe_pattern("t.*", world.now)
    client.core.unsubscribe(world.now)
    client.core.subscribe(["u"], world.now)
    client.drain()
    world.run(2_000, polls_ms=100)
    assert client.core.subscription() == {"u"}
    assert {tp.topic for tp in client.core.assignment()} == {"u"}


def test_who_unsubscribes_from_partitions_named_by_hand_reads_nothing():
    world, _, _ = world_of()
    client = world.client()
    client.core.assign([T0, T1], world.now)
    client.core.unsubscribe(world.now)
    assert client.core.assignment() == set()


def test_seeking_in_a_partition_that_is_not_assigned_moves_none():
    world, _, _ = world_of()
    core = world.client().core
    core.assign([T0], world.now)
    core.seek(T0, 3, world.now)
    for verb in (core.seek_to_beginning, core.seek_to_end):
        with pytest.raises(IllegalStateError, match="t-1 is not assigned"):
            verb([T0, T1], world.now)
    assert core.position(T0) == 3


def test_close_is_bounded_when_the_coordinator_is_silent():
    world, cluster, total = world_of()
    client = group_member(world)
    drain(world, [client], total)
    cluster.script[ApiKey.OFFSET_COMMIT] = lambda node, request: SILENT
    cluster.script[ApiKey.LEAVE_GROUP] = lambda node, request: SILENT
    began = world.now
    client.core.close(world.now, 3_000)
    client.drain()
    while not client.of(Closed):
        world.run(100)
        assert world.now - began <= 3_200


def test_a_close_can_be_hurried():
    world, cluster, total = world_of()
    client = group_member(world)
    drain(world, [client], total)
    cluster.script[ApiKey.OFFSET_COMMIT] = lambda node, request: SILENT
    client.core.close(world.now, 30_000)
    client.drain()
    world.run(100)
    client.core.close(world.now, 60_000)
    client.drain()
    assert not client.of(Closed)
    client.core.close(world.now, 0)
    client.core.close(world.now, 0)
    client.drain()
    assert len(client.of(Closed)) == 1


def test_seek_pause_and_offset_lookups():
    world, cluster, total = world_of()
    client = world.client(auto_offset_reset="earliest")
    client.core.assign([T0, T1], world.now)
    client.core.pause([T1])
    client.drain()
    assert drain(world, [client], 20) == {T0: list(range(20))}
    client.core.seek(T0, 15, world.now)
    client.drain()
    assert drain(world, [client], 5) == {T0: [15, 16, 17, 18, 19]}
    ends = client.result(client.core.list_offsets({T0: -1, T1: -2}, world.now, 5_000))
    assert (ends[T0].offset, ends[T1].offset) == (20, 0)
    topics = client.result(client.core.fetch_metadata(None, world.now, 5_000))
    assert topics == {"t": [0, 1]}
    assert client.result(client.core.fetch_metadata(["nope"], world.now, 5_000)) == {}
    client.core.resume([T1], world.now)
    client.drain()
    assert drain(world, [client], 20) == {T1: list(range(20))}


def test_a_lookup_of_a_topic_that_may_not_be_read_ends_at_once_and_polls_hear_nothing():
    world, cluster, total = world_of()
    refuse_metadata(cluster, "secret")
    client = reader(world)
    began = world.now
    with pytest.raises(TopicAuthorizationFailedError, match="secret"):
        client.result(
            client.core.list_offsets({TopicPartition("secret", 0): -1}, world.now, 30_000)
        )
    assert world.now - began < 1_000
    assert client.of(ErrorRaised) == []
    assert drain(world, [client], total) == {T0: list(range(20)), T1: list(range(20))}


def test_a_topic_that_is_read_and_looked_up_and_may_not_be_is_said_to_both():
    world, cluster, total = world_of()
    refuse_metadata(cluster, "secret")
    client = world.client(auto_offset_reset="earliest")
    secret = TopicPartition("secret", 0)
    client.core.assign([T0, secret], world.now)
    client.drain()
    with pytest.raises(TopicAuthorizationFailedError, match="secret"):
        client.result(client.core.list_offsets({T0: -1, secret: -1}, world.now, 30_000))
    assert isinstance(client.of(ErrorRaised)[0].error, TopicAuthorizationFailedError)
    assert drain(world, [client], total // 2) == {T0: list(range(20))}


def test_who_has_sought_hears_nothing_of_a_coordinator_that_is_silent():
    world, cluster, _ = world_of()
    cluster.script[ApiKey.OFFSET_FETCH] = lambda node, request: SILENT
    client = world.client(group_id="g", default_api_timeout_ms=2_000)
    client.core.assign([T0], world.now)
    client.drain()
    world.run(200, polls_ms=50)
    client.core.seek(T0, 0, world.now)
    client.drain()
    assert drain(world, [client], 20) == {T0: list(range(20))}
    world.run(5_000, polls_ms=100)  # the look-up of committed offsets ends, in vain
    assert client.take() == {}
    assert client.core.position(T0) == 20


def test_who_seeks_after_that_look_up_has_failed_hears_nothing_of_it_either():
    """It was raised by the next poll, as long as nobody had polled meanwhile."""
    world, cluster, _ = world_of()
    cluster.script[ApiKey.OFFSET_FETCH] = lambda node, request: SILENT
    client = world.client(group_id="g", default_api_timeout_ms=2_000)
    client.core.assign([T0, T1], world.now)
    client.drain()
    world.run(5_000, polls_ms=100)
    client.core.seek(T0, 0, world.now)
    with pytest.raises(KafkaTimeoutError, match="committed offsets"):  # T1 is still waited for
        client.take()
    world.run(5_000, polls_ms=100)
    for tp in (T0, T1):
        client.core.seek(tp, 0, world.now)
    client.drain()
    assert drain(world, [client], 40) == {T0: list(range(20)), T1: list(range(20))}


def test_links_cut_at_random_lose_and_double_nothing():
    for seed in range(8):
        cluster = ScriptedCluster({"t": 4}, nodes=3)
        total = fill(cluster, partitions=4, batches=20)
        world = World(cluster, seed)
        client = world.client(auto_offset_reset="earliest")
        client.core.assign([TopicPartition("t", p) for p in range(4)], world.now)
        client.drain()
        seen, cuts = {}, 0
        for round_ in range(4_000):
            world.run(7, polls_ms=7)
            if (round_ * 31 + seed) % 11 == 0 and client.links and cuts < 40:
                world.cut(client, sorted(client.links)[round_ % len(client.links)])
                cuts += 1
            for tp, records in client.take(3).items():
                seen.setdefault(tp, []).extend(r.offset for r in records)
            if sum(map(len, seen.values())) == total:
                break
        assert {tp.partition: offsets for tp, offsets in seen.items()} == {
            p: list(range(100)) for p in range(4)
        }
        assert cuts > 5


def test_events_nobody_takes_do_not_pile_up():
    world, cluster, _ = world_of()
    client = world.client(group_id="g", heartbeat_interval_ms=10, session_timeout_ms=30_000)
    client.core.subscribe(["t"], world.now)
    core = client.core
    client.drain()
    taken = core.next_event
    core.next_event = lambda: None  # the application never looks
    world.run(120_000, polls_ms=1_000)
    core.next_event = taken
    count = 0
    while core.next_event() is not None:
        count += 1
    assert 1_000 < count <= MAX_UNREAD_EVENTS


def test_commit_of_given_offsets_and_metadata():
    world, cluster, total = world_of()
    client = group_member(world)
    drain(world, [client], total)
    offsets = {T0: OffsetAndMetadata(7, "seven")}
    assert client.result(client.core.commit(offsets, world.now)) == offsets
    assert cluster.group.offsets[("t", 0)] == (7, "seven")


def test_what_an_interruption_forgot_is_asked_again(monkeypatch):
    """Wherever it struck: here, between noting that a node is asked and asking it."""

    def strike(node, api, *rest, **options):
        if api is ApiKey.FETCH:
            raise KeyboardInterrupt
        send(node, api, *rest, **options)

    world, _, total = world_of()
    client = reader(world)
    send = client.core._links.send
    monkeypatch.setattr(client.core._links, "send", strike)
    with pytest.raises(KeyboardInterrupt):
        world.run(5_000)
    monkeypatch.undo()
    client.core.handle_interrupted(world.now)
    assert drain(world, [client], total) == {T0: list(range(20)), T1: list(range(20))}


def test_what_did_not_arrive_is_handed_over_again_and_nothing_is_kept_for_others():
    world, cluster, total = world_of()
    client = reader(world)
    world.run(500, polls_ms=10)
    assert client.core.take_records(7, world.now)
    assert client.core._fetcher._moves is None  # it never said that it would take any back
    before = {tp: client.core.position(tp) for tp in (T0, T1)}
    client.core.hand_over()
    assert client.core.take_records(30, world.now)
    assert {tp: client.core.position(tp) for tp in (T0, T1)} != before
    client.core.take_back(world.now)
    client.drain()
    assert {tp: client.core.position(tp) for tp in (T0, T1)} == before
    again = drain(world, [client], total - 7)
    assert again == {tp: list(range(at, 20)) for tp, at in before.items() if at < 20}
