"""A folder of a broker that kept some names in other partitions than a Kafka does: they move."""

import pytest
from raw_client import Link
from scenarios_groups import committing

from kcore.broker.share.keeping import state_partition
from kcore.coordinator import partition_for
from kcore.embedded import EmbeddedBroker
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

GROUPS = [f"{'a-long-name-' * number}{number}" for number in range(24)]


def before(name, partitions):
    units = name.encode("utf-16-be")
    value = 0
    for index in range(0, len(units), 2):
        value = (31 * value + (units[index] << 8 | units[index + 1])) & 0xFFFFFFFF
    return (value & 0x7FFFFFFF) % partitions


@pytest.fixture
def old(monkeypatch):
    """Be as it was, until that is undone."""
    monkeypatch.setattr(partition_for, "__code__", before.__code__)
    monkeypatch.setattr("kcore.embedded.store.FORMAT", 1)
    state_partition.cache_clear()

    def undo():
        monkeypatch.undo()
        state_partition.cache_clear()

    yield undo
    undo()


def asked(broker, message, version):
    link = Link(broker.addresses[0])
    try:
        return link.ask(message, version)
    finally:
        link.close()


def beginning(name):
    return m.InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=600_000)


def offsets(broker, group, *, stable=False):
    """What is said of its offset in each partition."""
    Fetch = m.OffsetFetchRequest
    topic = Fetch.OffsetFetchRequestTopics(name="t", partition_indexes=[0, 1])
    wanted = Fetch(
        groups=[Fetch.OffsetFetchRequestGroup(group_id=group, topics=[topic])],
        require_stable=stable,
    )
    (found,) = asked(broker, wanted, 9).groups[0].topics
    return [one.error_code or one.committed_offset for one in found.partitions]


def commit_in(broker, name, group, producer, offset):
    """In partition 1, in a transaction."""
    Commit = m.TxnOffsetCommitRequest
    part = Commit.TxnOffsetCommitRequestPartition(
        partition_index=1, committed_offset=offset, committed_metadata=""
    )
    message = Commit(
        transactional_id=name,
        group_id=group,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        topics=[Commit.TxnOffsetCommitRequestTopic(name="t", partitions=[part])],
    )
    answer = asked(broker, message, 5)
    assert not answer.topics[0].partitions[0].error_code


def end(broker, name, producer, *, committed):
    message = m.EndTxnRequest(
        transactional_id=name,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        committed=committed,
    )
    return asked(broker, message, 5)


def shares(broker, group):
    """Where a share group is."""
    Describe = m.DescribeShareGroupOffsetsRequest
    topic = Describe.DescribeShareGroupOffsetsRequestTopic(topic_name="t", partitions=[0])
    wanted = Describe.DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=[topic])
    (found,) = asked(broker, Describe(groups=[wanted]), 1).groups
    return [part.start_offset for one in found.topics for part in one.partitions]


def set_shares(broker, group, offset):
    Beat = m.ShareGroupHeartbeatRequest
    for epoch in (0, -1):
        beat = Beat(group_id=group, member_id="member", member_epoch=epoch)
        beat.subscribed_topic_names = ["t"] if not epoch else None
        assert not asked(broker, beat, 1).error_code
    Alter = m.AlterShareGroupOffsetsRequest
    part = Alter.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=offset)
    topic = Alter.AlterShareGroupOffsetsRequestTopic(topic_name="t", partitions=[part])
    answer = asked(broker, Alter(group_id=group, topics=[topic]), 0)
    assert not answer.error_code
    assert not answer.responses[0].partitions[0].error_code


@pytest.mark.parametrize("struck", [False, True])
def test_all_is_there_in_its_new_place(tmp_path, old, monkeypatch, struck):
    def start():
        return EmbeddedBroker(1, directory=tmp_path, flush="always")

    opened = {}
    with start() as broker:
        broker.create_topic("t", 2)
        broker.produce("t", [(None, b"v")] * 100)
        for number, group in enumerate(GROUPS):
            assert not offsets_set(broker, group, number)
            set_shares(broker, f"s{group}", number)
            assert shares(broker, f"s{group}") == [number]
            name = f"x{group}"
            producer = asked(broker, beginning(name), 5)
            commit_in(broker, name, group, producer, 50 + number)
            if number % 3:  # the others stay open
                assert not end(broker, name, producer, committed=number % 3 == 1).error_code
            else:
                opened[group] = producer
    old()
    assert any(before(one, 50) != partition_for(one, 50) for one in opened)
    moved = [one for one in GROUPS if before(f"x{one}", 50) != partition_for(f"x{one}", 50)]
    assert len(moved) > 5
    if struck:  # all is in its new place, and in its old one still
        with monkeypatch.context() as patched:
            patched.delattr("kcore.broker.log.PartitionLog.advance_start")
            with pytest.raises(AttributeError, match="advance_start"):
                start().start()
    for time in range(3):
        with start() as broker:
            listed = asked(broker, m.ListGroupsRequest(), 5).groups
            names = sorted(one.group_id for one in listed)
            assert names == sorted([*GROUPS, *(f"s{group}" for group in GROUPS)])
            for number, group in enumerate(GROUPS):
                assert shares(broker, f"s{group}") == [number]
                if number % 3 == 0 and time == 0:
                    unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
                    assert offsets(broker, group, stable=True) == [number, unstable]
                    producer = opened[group]
                    assert not end(broker, f"x{group}", producer, committed=True).error_code
                decided = [50 + number, 50 + number, -1][number % 3]
                assert offsets(broker, group, stable=True) == [number, decided]
            assert not broker.faults


def offsets_set(broker, group, offset):
    return asked(broker, committing(group, "t", offset), 8).topics[0].partitions[0].error_code
