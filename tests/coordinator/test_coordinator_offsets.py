"""Scenario vectors O01-O12, and the rules of offsets."""

import pytest
from consumer_groups_world import ConsumerWorld
from coordinator_world import P0, WALL, World, of_journal, subscription

from kcore.coordinator import CoordinatorConfig
from kcore.coordinator.journal import Entry
from kcore.errors import KafkaConfigurationError
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E

T0, T1 = ("t", 0), ("t", 1)


class FewTopics:
    """Topic "t" of 2 partitions, under the id of sixteen 7s; "gone" has no id any more."""

    ID = b"7" * 16

    def name_of(self, topic_id):
        return "t" if topic_id == self.ID else None

    def id_of(self, name):
        return self.ID if name == "t" else None

    def has_partition(self, name, partition):
        return name == "gone" or (name == "t" and 0 <= partition < 2)


def few(**options):
    w = World(**options)
    w.topics = FewTopics()
    w.coordinator = w.make()
    w.lead()
    return w


def test_o01_a_commit_makes_a_group():
    w = World()
    assert w.committed({T0: 5}) == E.NONE
    assert w.fetch(T0, T1) == {T0: (5, 0), T1: (-1, 0)}
    assert (w.state, w.group.protocol_type) == ("E", None)


def test_o02_a_generation_of_a_group_that_is_not():
    w = World()
    assert w.committed({T0: 5}, "m", 10) == E.GROUP_ID_NOT_FOUND
    assert w.committed({T0: 5}, "m", 10, version=8) == E.ILLEGAL_GENERATION
    assert w.committed({T0: 5}, "m", 0) == E.GROUP_ID_NOT_FOUND
    for generation in (10, 0):
        token = w.txn_commit({T0: 5}, 1, generation=generation)
        assert w.replies[token].topics[0].partitions[0].error_code == E.ILLEGAL_GENERATION
    assert w.coordinator.group("g") is None


def test_o03_an_empty_group_takes_commits_from_anybody():
    w = World()
    (a,) = w.form(1)
    w.leave((a, None))
    assert w.committed({T0: 5}, "whoever", instance="whatever") == E.NONE
    assert w.committed({T0: 5}, a, 1) == E.UNKNOWN_MEMBER_ID


def test_o04_a_group_with_members_does_not():
    w = World()
    w.form(1)
    assert w.committed({T0: 5}) == E.UNKNOWN_MEMBER_ID
    token = w.txn_commit({T0: 5}, 1)  # but in a transaction it does
    assert w.replies[token].topics[0].partitions[0].error_code == E.NONE
    for who in ({"generation": 0}, {"member_id": "x"}):  # of who says nothing of himself
        token = w.txn_commit({T0: 5}, 1, **who)
        assert w.replies[token].topics[0].partitions[0].error_code == E.UNKNOWN_MEMBER_ID


def test_o05_nobody_knows_what_it_owns_before_the_assignment():
    w = World()
    (a,) = w.form(1, sync=False)
    assert w.committed({T0: 5}, a, 1) == E.REBALANCE_IN_PROGRESS
    assert w.committed({T0: 5}, "x", 1) == E.UNKNOWN_MEMBER_ID
    assert w.committed({T0: 5}, a, 2) == E.ILLEGAL_GENERATION
    token = w.txn_commit({T0: 5}, 1, member_id=a, generation=1)
    assert w.replies[token].topics[0].partitions[0].error_code == E.NONE


@pytest.mark.parametrize("char", ["x", "\U0001f600"])
def test_o06_metadata_has_a_limit(char):
    w = World()
    units = 1 if char == "x" else 2
    R = m.OffsetCommitRequest
    parts = [
        R.OffsetCommitRequestPartition(partition_index=i, committed_metadata=text)
        for i, text in enumerate([char * (4_096 // units), char * (4_096 // units) + "x", None])
    ]
    request = R(group_id="g", topics=[R.OffsetCommitRequestTopic(name="t", partitions=parts)])
    (topic,) = w.ask(request, 9).topics
    codes = [p.error_code for p in topic.partitions]
    assert codes == [E.NONE, E.OFFSET_METADATA_TOO_LARGE, E.NONE]
    assert set(w.fetch()) == {T0, ("t", 2)}


@pytest.mark.parametrize("committed", [True, False])
def test_o07_offsets_of_a_transaction_wait_for_its_marker(committed):
    w = World()
    w.txn_commit({T0: 100}, 5)
    assert w.fetch(T0, stable=True) == {T0: (-1, E.UNSTABLE_OFFSET_COMMIT)}
    assert w.fetch(T0) == {T0: (-1, E.NONE)}
    w.mark(5, committed)
    assert w.fetch(T0, stable=True) == {T0: (100 if committed else -1, E.NONE)}


def test_o08_the_latest_write_wins():
    w = World()
    w.txn_commit({T0: 100, T1: 100}, 5)
    w.commit({T0: 101})
    w.mark(5, committed=True)
    w.mark(6, committed=True)  # unknown: ignored
    assert w.fetch() == {T0: (101, 0), T1: (100, 0)}


def test_o15_producers_are_independent():
    w = World()
    w.txn_commit({T0: 1}, 5)
    w.txn_commit({T0: 2}, 6)
    w.txn_commit({T0: 3}, 5, group="h")
    w.mark(6, committed=True)
    assert w.fetch(T0, stable=True) == {T0: (-1, E.UNSTABLE_OFFSET_COMMIT)}
    assert w.fetch(T0) == {T0: (2, 0)}
    w.mark(5, committed=False)
    assert w.fetch(T0, stable=True) == {T0: (2, 0)}
    assert w.fetch(T0, stable=True, group="h") == {T0: (-1, 0)}


def test_o09_what_is_subscribed_does_not_expire():
    w = World(offsets_retention_minutes=1, offsets_retention_check_interval_ms=500)
    (a,) = w.form(1, protocols=[("range", subscription("T1"))], st=1_000_000)
    start = w.now = -(-w.now // 500) * 500
    w.commit({("T1", 0): 1, ("T2", 0): 2}, a, 1)
    w.until(start + 500)
    w.commit({("T2", 1): 3}, a, 1)
    w.until(start + 59_999)
    assert len(w.fetch()) == 3
    w.until(start + 60_000)
    assert set(w.fetch()) == {("T1", 0), ("T2", 1)}
    w.until(start + 60_500)
    assert set(w.fetch()) == {("T1", 0)}
    assert [x[0].topic for x in of_journal(w.journal) if x[1] is None] == ["T2", "T2"]
    w.until(start + 900_000)
    assert set(w.fetch()) == {("T1", 0)}
    assert w.state == "S"


def delete(w, *wanted):
    R = m.OffsetDeleteRequest
    request = R(
        group_id="g",
        topics=[
            R.OffsetDeleteRequestTopic(
                name=t, partitions=[R.OffsetDeleteRequestPartition(partition_index=p)]
            )
            for t, p in wanted
        ],
    )
    answer = w.ask(request, 0)
    return answer.error_code, [p.error_code for t in answer.topics for p in t.partitions]


def test_o10_what_is_subscribed_is_not_deleted():
    w = World()
    (a,) = w.form(1, protocols=[("range", subscription("T1"))])
    w.commit({("T1", 0): 1, ("T2", 0): 2}, a, 1)
    found = delete(w, ("T1", 0), ("T2", 0), ("T2", 7))
    assert found == (E.NONE, [E.GROUP_SUBSCRIBED_TO_TOPIC, E.NONE, E.NONE])
    assert set(w.fetch()) == {("T1", 0)}
    assert sum(x[1] is None for x in of_journal(w.journal)) == 1


def test_o10_an_unreadable_subscription_counts_as_everything():
    w = World()
    (a,) = w.form(1, protocols=[("range", b"\x00")])
    w.commit({("T1", 0): 1}, a, 1)
    assert delete(w, ("T1", 0)) == (E.NONE, [E.GROUP_SUBSCRIBED_TO_TOPIC])


def test_o11_a_group_of_another_kind_keeps_its_offsets():
    w = World()
    (a,) = w.form(1, protocol_type="connect", sync=False)
    w.sync(a, protocol_type="connect")
    w.commit({T0: 1}, a, 1)
    assert delete(w, T0) == (E.NON_EMPTY_GROUP, [])
    assert set(w.fetch()) == {T0}
    w.leave((a, None))
    assert delete(w, T0) == (E.NONE, [E.NONE])
    assert w.fetch() == {}


def test_o16_a_group_that_is_not():
    assert delete(World(), T0) == (E.GROUP_ID_NOT_FOUND, [])
    w = few()
    w.commit({T0: 1})
    assert delete(w, ("t", 5)) == (E.NONE, [E.UNKNOWN_TOPIC_OR_PARTITION])


def test_o12_retention_does_not_overflow():
    config = CoordinatorConfig(offsets_retention_minutes=2_147_483_647)
    assert config.offsets_retention_ms == 128_849_018_820_000


@pytest.mark.parametrize(
    "options",
    [
        {"group_max_size": 0},
        {"offsets_retention_minutes": 0},
        {"group_min_session_timeout_ms": 7, "group_max_session_timeout_ms": 6},
        {"offsets_topic_num_partitions": 2_147_483_648},
    ],
)
def test_options_that_can_never_work(options):
    with pytest.raises(KafkaConfigurationError, match=next(reversed(options))):
        CoordinatorConfig(**options)


def test_o18_an_empty_group_keeps_its_offsets_from_the_day_it_emptied():
    w = World(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
    (a,) = w.form(1)
    w.commit({T0: 1}, a, 1)
    for _ in range(10):
        w.after(9_000)
        assert w.heartbeat(a) == E.NONE
    w.leave((a, None))
    emptied = w.now
    w.until(emptied + 59_000)
    assert set(w.fetch()) == {T0}
    w.until(emptied + 61_000)
    assert w.coordinator.group("g") is None
    assert [x[1] for x in of_journal(w.journal)[-2:]] == [None, None]


def test_o18_a_group_without_members_ages_by_commit():
    w = World(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
    w.commit({T0: 1})
    w.until(30_000)
    w.commit({T1: 1})
    w.until(60_000)
    assert set(w.fetch()) == {T1}
    w.until(90_000)
    assert w.coordinator.group("g") is None


def test_o18_a_pending_offset_keeps_its_partition_and_group():
    w = World(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
    w.commit({T0: 1})
    w.txn_commit({T0: 2}, 5)
    w.until(200_000)
    assert w.fetch() == {T0: (1, 0)}
    w.mark(5, committed=False)
    w.until(201_000)
    assert w.coordinator.group("g") is None


def test_o18_a_group_of_nothing_but_a_pending_offset_stays():
    w = World(offsets_retention_check_interval_ms=1_000)
    w.txn_commit({T0: 2}, 5)
    w.until(10_000)
    assert w.state == "E"
    w.mark(5, committed=False)
    w.until(11_000)
    assert w.coordinator.group("g") is None


def test_o18_a_group_in_a_round_keeps_everything():
    w = World(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
    (a,) = w.form(1, instances="A", rt=500_000, st=500_000, protocols=[("range", subscription())])
    w.commit({T0: 1}, a, 1, instance="A")
    w.join(version=5, instance="B", st=500_000)
    w.after(200_000)
    assert (w.state, set(w.fetch())) == ("P", {T0})


@pytest.mark.parametrize("retention", [0, 10_000, 9_223_372_036_854_775_807])
def test_o9_a_commit_can_bring_its_own_retention(retention):
    w = World(offsets_retention_check_interval_ms=1_000)
    w.commit({T0: 1}, version=4, retention=retention)
    _, value = of_journal(w.journal)[-1]
    assert value.expire_timestamp == min(WALL + retention, (1 << 63) - 1)
    w.until(9_000)
    assert (w.coordinator.group("g") is None) == (retention == 0)
    w.until(10_000)
    assert (w.coordinator.group("g") is None) == (retention <= 10_000)


def test_o19_a_group_of_nothing_but_ids_handed_out_goes():
    w = World(offsets_retention_check_interval_ms=1_000)
    pending = w.replies[w.join(version=4)].member_id
    w.until(1_000)
    assert w.coordinator.group("g") is None
    assert w.error(w.join(pending, version=4)) == E.UNKNOWN_MEMBER_ID


def test_o20_offsets_of_a_deleted_topic_go():
    w = World()
    w.commit({T0: 1, ("u", 0): 2})
    w.txn_commit({T1: 3}, 5, group="h")
    w.coordinator.delete_topics({"t"}, w.now)
    w.drain()
    w.mark(5, committed=True)
    assert w.fetch() == {("u", 0): (2, 0)}
    assert w.fetch(group="h") == {}


def test_d14_what_must_be_stable_waits_for_writes_on_their_way():
    w = World()
    w.commit({T0: 1})
    w.appending = False
    w.commit({T0: 2})
    assert w.fetch(T0) == {T0: (1, 0)}
    R = m.OffsetFetchRequest
    topics = [R.OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    groups = [R.OffsetFetchRequestGroup(group_id="g", topics=topics)]
    token = w.send(R(groups=groups, require_stable=True), 8)
    assert w.parked(token)
    w.settle()
    (one,) = w.replies[token].groups
    assert one.topics[0].partitions[0].committed_offset == 2


def test_a_failed_commit_changes_nothing():
    w = World()
    w.commit({T0: 1})
    w.appending = False
    token = w.commit({T0: 2})
    w.settle(E.NOT_ENOUGH_REPLICAS)
    assert w.replies[token].topics[0].partitions[0].error_code == E.COORDINATOR_NOT_AVAILABLE
    assert w.fetch() == {T0: (1, 0)}


def test_o1_topics_that_are_not():
    w = few()
    R = m.OffsetCommitRequest
    P = R.OffsetCommitRequestPartition
    request = R(
        group_id="g",
        topics=[
            R.OffsetCommitRequestTopic(
                name="t", partitions=[P(partition_index=0), P(partition_index=2)]
            ),
            R.OffsetCommitRequestTopic(name="x", partitions=[P()]),
        ],
    )
    codes = [[p.error_code for p in t.partitions] for t in w.ask(request, 9).topics]
    assert codes == [[E.NONE, E.UNKNOWN_TOPIC_OR_PARTITION], [E.UNKNOWN_TOPIC_OR_PARTITION]]
    token = w.txn_commit({T0: 1, ("x", 0): 1}, 3)
    codes = [p.error_code for t in w.replies[token].topics for p in t.partitions]
    assert codes == [E.NONE, E.UNKNOWN_TOPIC_OR_PARTITION]


def test_topics_by_their_ids():
    w = few()
    R = m.OffsetCommitRequest
    P = R.OffsetCommitRequestPartition
    ids = [FewTopics.ID, b"8" * 16]
    request = R(
        group_id="g",
        topics=[
            R.OffsetCommitRequestTopic(topic_id=x, partitions=[P(committed_offset=4)]) for x in ids
        ],
    )
    answer = w.ask(request, 10)
    assert [t.topic_id for t in answer.topics] == ids
    codes = [p.error_code for t in answer.topics for p in t.partitions]
    assert codes == [E.NONE, E.UNKNOWN_TOPIC_ID]
    w.commit({("gone", 0): 9})
    F = m.OffsetFetchRequest
    wanted = [F.OffsetFetchRequestTopics(topic_id=x, partition_indexes=[0]) for x in ids]
    groups = [
        F.OffsetFetchRequestGroup(group_id="g", topics=wanted),
        F.OffsetFetchRequestGroup(group_id="g", topics=None),
        F.OffsetFetchRequestGroup(group_id="none", topics=wanted[:1]),
    ]
    named, everything, none = w.ask(F(groups=groups), 10).groups
    found = [
        (t.topic_id, p.committed_offset, p.error_code) for t in named.topics for p in t.partitions
    ]
    assert found == [(ids[0], 4, E.NONE), (ids[1], -1, E.UNKNOWN_TOPIC_ID)]
    assert [t.topic_id for t in everything.topics] == [FewTopics.ID]
    assert none.topics[0].partitions[0].committed_offset == -1


@pytest.mark.parametrize("version", [1, 2, 5, 7])
def test_fetching_as_older_clients_do(version):
    w = World()
    w.commit({T0: 5}, metadata="why")
    R = m.OffsetFetchRequest
    topics = [R.OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])]
    answer = w.ask(R(group_id="g", topics=topics), version)
    found = [
        (t.name, p.partition_index, p.committed_offset, p.metadata, p.error_code)
        for t in answer.topics
        for p in t.partitions
    ]
    assert found == [("t", 0, 5, "why", 0), ("t", 1, -1, "", 0)]
    assert answer.error_code == 0
    if version >= 2:
        answer = w.ask(R(group_id="g", topics=None), version)
        assert [p.committed_offset for t in answer.topics for p in t.partitions] == [5]
    w.coordinator.handle_resigned(P0, w.now)
    answer = w.ask(R(group_id="g", topics=topics), version)
    codes = [p.error_code for t in answer.topics for p in t.partitions]
    if version == 1:
        assert codes == [E.NOT_COORDINATOR] * 2
    else:
        assert (answer.error_code, codes) == (E.NOT_COORDINATOR, [])


def test_a_transaction_without_a_producer():
    w = World()
    token = w.txn_commit({T0: 5}, -1)
    assert w.replies[token].topics[0].partitions[0].error_code == E.INVALID_PRODUCER_ID_MAPPING
    assert w.journal == []


def test_what_a_transaction_writes_names_its_producer():
    w = World()
    w.txn_commit({T0: 5}, 7)
    (entry,) = w.journal
    assert isinstance(entry, Entry)
    assert (entry.producer_id, entry.producer_epoch) == (7, 0)


def test_a_producer_that_was_replaced_is_fenced():
    """Before Kafka 3.6 nothing but the log of the offsets itself stopped it."""
    w = World()

    def commit(offset, epoch):
        token = w.txn_commit({T0: offset}, 7, epoch=epoch)
        return w.replies[token].topics[0].partitions[0].error_code

    assert commit(5, 1) == 0
    w.mark(7, committed=False, epoch=2)
    assert [commit(6, 1), commit(6, 0)] == [E.INVALID_PRODUCER_EPOCH] * 2
    w.mark(7, committed=True, epoch=1, error=E.INVALID_PRODUCER_EPOCH)
    assert commit(7, 2) == 0
    w = World(loaded=w.journal)
    assert commit(8, 1) == E.INVALID_PRODUCER_EPOCH
    w.mark(7, committed=True, epoch=3)
    assert w.fetch(T0) == {T0: (7, 0)}


def test_producers_are_not_remembered_without_bound(monkeypatch):
    monkeypatch.setattr("kcore.coordinator.offsets.PRODUCERS_MAX", 2)
    w = World()
    for producer in (1, 2, 3):
        w.txn_commit({T0: 5}, producer, epoch=1)
    token = w.txn_commit({T0: 5}, 1)
    assert w.replies[token].topics[0].partitions[0].error_code == 0


def test_who_asks_for_offsets_says_who_he_is_or_nothing():
    w = ConsumerWorld()
    w.enter("m1")
    R = m.OffsetFetchRequest
    topic = R.OffsetFetchRequestTopics(name="foo", partition_indexes=[0])
    for member_id, epoch, error in (
        (None, -1, 0),
        ("m1", 2, 0),
        ("m1", -1, E.STALE_MEMBER_EPOCH),
        ("m1", 1, E.STALE_MEMBER_EPOCH),
        ("nobody", -1, E.UNKNOWN_MEMBER_ID),
        (None, 2, E.UNKNOWN_MEMBER_ID),
    ):
        asked = R.OffsetFetchRequestGroup(
            group_id="g", member_id=member_id, member_epoch=epoch, topics=[topic]
        )
        (found,) = w.ask(R(groups=[asked]), 9).groups
        assert found.error_code == error, (member_id, epoch)
        assert len(found.topics) == (0 if error else 1), (member_id, epoch)
