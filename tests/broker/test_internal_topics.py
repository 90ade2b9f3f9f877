"""The topics that coordinators keep their journals in: read, moved, compacted as others are."""

from dataclasses import replace

import pytest
from broker_world import World, batch, fetch, produce
from transactions_side import Producer

from kcore.broker import BrokerConfig, LogConfig, internal, journals
from kcore.broker.journals import DIRTY_BYTES, Journal, decode_items, encode_items
from kcore.broker.share.keeping import Kept, ShareStates, state_partition
from kcore.coordinator import CoordinatorConfig, Entry, Marker, partition_for
from kcore.coordinator.journal import INTERNAL_TOPICS, read_entry
from kcore.coordinator.transactions import TransactionConfig
from kcore.records import RecordReader
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E

OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
CONFIG = BrokerConfig(
    coordinator=CoordinatorConfig(
        offsets_topic_num_partitions=4, group_initial_rebalance_delay_ms=0
    ),
    transactions=TransactionConfig(transaction_state_log_num_partitions=3),
)
NUMBER = partition_for("g", 4)


@pytest.fixture
def world():
    world = World(3, CONFIG)
    yield world
    assert not world.faults


def commit(world, offset, group="g", topic="t"):
    cls = m.OffsetCommitRequest
    part = cls.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = cls.OffsetCommitRequestTopic(name=topic, partitions=[part])
    request = cls(group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=[topic])
    keeper = world.client(world.cluster.coordinator_of(group))
    return keeper.ask(request, 7).topics[0].partitions[0].error_code


def told(world, name=OFFSETS, node_id=None):
    """What Metadata says of a topic."""
    client = world.client(node_id or world.cluster.live[0])
    answer = client.ask(m.MetadataRequest(topics=None), 12)
    return next((topic for topic in answer.topics if topic.name == name), None)


def offsets_read(world, number=NUMBER, isolation=0):
    """The offsets that a consumer of the topic finds, in their order."""
    leader = world.cluster.topics.get(OFFSETS).partitions[number].leader
    request = fetch(0, OFFSETS, number, isolation_level=isolation)
    part = world.client(leader).ask(request, 11).responses[0].partitions[0]
    assert not part.error_code
    aborted = [(one.producer_id, one.first_offset) for one in part.aborted_transactions or ()]
    reader = RecordReader(OFFSETS, number, part.records, 0, aborted=aborted)
    found = []
    while not reader.exhausted:
        for record in reader.take(100):
            key, value = read_entry(Entry(bytes(record.key), bytes(record.value)))
            if isinstance(key, m.OffsetCommitKey):
                assert record.timestamp == world.cluster.wall_ms(world.now_ms)
                found.append(value.offset)
    return found


# Made when they are needed ------------------------------------------------------------------------


def test_they_are_made_when_they_are_needed_first(world):
    assert told(world) is None
    client = world.client(2)
    idempotent = m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000)
    assert client.ask(m.ListGroupsRequest(), 4).groups == []
    assert client.ask(m.ListTransactionsRequest(), 0).transaction_states == []
    assert not client.ask(idempotent, 4).error_code
    assert not world.cluster.topics.names()
    client.ask(m.FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4)
    assert world.cluster.topics.names() == [OFFSETS]
    client.ask(m.FindCoordinatorRequest(key_type=1, coordinator_keys=["x"]), 4)
    assert world.cluster.topics.names() == [OFFSETS, TRANSACTIONS]
    key = "g:AAAAAAAAAAAAAAAAAAAAAA:0"
    client.ask(m.FindCoordinatorRequest(key_type=2, coordinator_keys=[key]), 6)
    assert set(world.cluster.topics.names()) == INTERNAL_TOPICS
    for name, partitions in ((OFFSETS, 4), (TRANSACTIONS, 3), ("__share_group_state", 50)):
        topic = told(world, name)
        assert topic.is_internal
        assert len(topic.partitions) == partitions
        assert [one.leader_id for one in topic.partitions][:4] == [1, 2, 3, 1][:partitions]
        assert all(sorted(one.replica_nodes) == [1, 2, 3] for one in topic.partitions)


@pytest.mark.parametrize("creates", [True, False])
def test_who_asks_for_one_by_its_name_has_it_made_if_topics_are(creates):
    config = BrokerConfig(auto_create_topics=creates, coordinator=CONFIG.coordinator)
    world = World(config=config)
    wanted = m.MetadataRequest.MetadataRequestTopic(name=OFFSETS)
    (topic,) = world.client().ask(m.MetadataRequest(topics=[wanted]), 9).topics
    assert len(topic.partitions) == (4 if creates else 0)
    assert commit(world, 1) == E.UNKNOWN_TOPIC_OR_PARTITION
    assert world.cluster.topics.names() == [OFFSETS]


def test_they_have_as_many_replicas_as_is_said_and_can_be():
    config = BrokerConfig(
        coordinator=CONFIG.coordinator,
        offsets_topic_replication_factor=2,
    )
    world = World(3, config)
    assert world.cluster.coordinator_of("g") in {1, 2, 3}
    assert {len(one.replica_nodes) for one in told(world).partitions} == {2}
    alone = World(1, CONFIG)
    assert alone.cluster.coordinator_of("g") == 1
    assert {len(one.replica_nodes) for one in told(alone).partitions} == {1}


def test_other_topics_are_placed_as_if_they_were_not_there(world):
    world.cluster.coordinator_of("g")
    world.cluster.transaction_coordinator_of("x")
    world.topic("t", 3)
    assert [one.leader for one in world.cluster.topics.get("t").partitions] == [1, 2, 3]
    world.cluster.delete(world.cluster.topics.get(OFFSETS), world.now_ms)
    world.topic("u", 1)
    assert world.cluster.topics.get("u").partitions[0].leader == 1


def test_they_have_no_other_number_of_partitions(world):
    cls = m.CreateTopicsRequest
    entry = cls.CreatableTopic(name=OFFSETS, num_partitions=5, replication_factor=1)
    (made,) = world.client().ask(cls(topics=[entry]), 5).topics
    assert (made.error_code, "4 partitions" in made.error_message) == (E.INVALID_PARTITIONS, True)
    entry.num_partitions = 4
    (made,) = world.client().ask(cls(topics=[entry]), 5).topics
    assert made.error_code == 0
    world.topic()
    assert commit(world, 5) == 0
    assert offsets_read(world) == [5]
    more = m.CreatePartitionsRequest
    entry = more.CreatePartitionsTopic(name=OFFSETS, count=8, assignments=None)
    (grown,) = world.client().ask(more(topics=[entry], timeout_ms=1_000), 1).results
    assert grown.error_code == E.INVALID_PARTITIONS


# Read, and not written to -------------------------------------------------------------------------


def test_what_groups_commit_can_be_read(world):
    world.topic()
    for offset in (3, 5, 8):
        assert commit(world, offset) == 0
    assert offsets_read(world) == [3, 5, 8]


def test_who_waits_for_a_commit_is_told(world):
    world.topic()
    leader = world.cluster.coordinator_of("g")
    client = world.client(leader)
    client.send(fetch(0, OFFSETS, NUMBER, max_wait_ms=10_000), 11)
    assert client.answer() is None
    assert commit(world, 3) == 0
    assert client.answer().responses[0].partitions[0].records


@pytest.mark.parametrize("committed", [True, False])
def test_offsets_of_transactions_are_read_once_they_are_decided(world, committed):
    world.topic()
    maker = Producer(world)
    maker.init()
    maker.write(0)
    assert maker.commit(7) == 0
    assert (offsets_read(world), offsets_read(world, isolation=1)) == ([7], [])
    assert maker.end(committed) == 0
    assert offsets_read(world, isolation=1) == ([7] if committed else [])
    *_, marker = world.cluster.journal(NUMBER).entries()
    keeper = partition_for("x", 3)
    epoch = world.cluster.topics.get(TRANSACTIONS).partitions[keeper].leader_epoch
    assert marker == Marker(marker.producer_id, marker.producer_epoch, committed, epoch)


def test_nobody_else_writes_to_them(world):
    world.topic()
    assert commit(world, 1) == 0
    leader = world.client(world.cluster.coordinator_of("g"))
    answer = leader.ask(produce(batch(b"x"), OFFSETS, NUMBER), 9)
    assert answer.responses[0].partition_responses[0].error_code == E.INVALID_TOPIC_EXCEPTION
    assert offsets_read(world) == [1]


# Led by who keeps what is in them -----------------------------------------------------------------


def committed(world, node_id, topic="t"):
    asked = m.OffsetFetchRequest.OffsetFetchRequestTopic(name=topic, partition_indexes=[0])
    answer = world.client(node_id).ask(m.OffsetFetchRequest(group_id="g", topics=[asked]), 7)
    return answer.error_code or answer.topics[0].partitions[0].committed_offset


@pytest.mark.parametrize("how", ["led", "reassigned", "elected"])
def test_groups_go_with_their_partition(world, how):
    world.topic()
    assert commit(world, 5) == 0
    home = world.cluster.coordinator_of("g")
    other = home % 3 + 1
    partition = world.cluster.topics.get(OFFSETS).partitions[NUMBER]
    if how == "led":
        world.cluster.move_leader(world.cluster.topics.get(OFFSETS), NUMBER, other, world.now_ms)
    elif how == "reassigned":
        cls = m.AlterPartitionReassignmentsRequest
        part = cls.ReassignablePartition(partition_index=NUMBER, replicas=[other])
        topic = cls.ReassignableTopic(name=OFFSETS, partitions=[part])
        world.client().ask(cls(topics=[topic]), 0)
        world.run(10)
        assert partition.replicas == [other]
    else:
        world.cluster.move_leader(world.cluster.topics.get(OFFSETS), NUMBER, other, world.now_ms)
        cls = m.ElectLeadersRequest
        topic = cls.TopicPartitions(topic=OFFSETS, partitions=[NUMBER])
        world.client().ask(cls(election_type=0, topic_partitions=[topic]), 2)
        home, other = other, home
    assert partition.leader == other
    assert committed(world, home) == E.NOT_COORDINATOR
    assert committed(world, other) == 5
    assert commit(world, 6) == 0
    assert [one.end_offset for one in partition.logs.values()] == [2] * len(partition.logs)


def test_without_a_replica_that_is_up_there_is_no_coordinator():
    config = BrokerConfig(coordinator=CONFIG.coordinator, offsets_topic_replication_factor=1)
    world = World(3, config)
    world.topic(replication_factor=3)
    assert commit(world, 5) == 0
    keeper = world.cluster.coordinator_of("g")
    world.cluster.stop_node(keeper, world.now_ms)
    other = world.client(world.cluster.live[0])
    (found,) = other.ask(
        m.FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4
    ).coordinators
    assert (found.error_code, found.node_id) == (E.COORDINATOR_NOT_AVAILABLE, -1)
    old = other.ask(m.FindCoordinatorRequest(key="g"), 1)
    assert (old.error_code, old.node_id) == (E.COORDINATOR_NOT_AVAILABLE, -1)
    assert committed(world, world.cluster.live[0]) == E.NOT_COORDINATOR
    world.cluster.start_node(keeper, world.now_ms)
    assert committed(world, keeper) == 5


@pytest.mark.parametrize("by", ["name", "transaction"])
def test_offsets_in_a_topic_go_that_was_deleted_while_nobody_kept_its_group(by):
    """A member of the group would begin in the new topic of that name where it was in the old."""
    world = World(2, replace(CONFIG, offsets_topic_replication_factor=1))
    other = next(n for n in (1, 2) if n != world.cluster.coordinator_of("g"))
    keeper = 3 - other
    for name in ("t", "kept"):
        world.topic(name, assignments=[[other]])
    assert commit(world, 5) == commit(world, 6, topic="kept") == 0
    if by == "transaction":
        producer = Producer(world)
        producer.init()
        assert not producer.commit(7)
        producer.end()
        world.run(1_000)
        assert committed(world, keeper) == 7
    world.cluster.stop_node(keeper, world.now_ms)
    world.cluster.delete(world.cluster.topics.get("t"), world.now_ms)
    world.topic("t", assignments=[[other]])
    world.cluster.start_node(keeper, world.now_ms)
    assert committed(world, keeper) == -1
    assert committed(world, keeper, "kept") == 6
    assert commit(world, 1) == 0
    world.cluster.stop_node(keeper, world.now_ms)
    world.cluster.start_node(keeper, world.now_ms)
    assert committed(world, keeper) == 1  # it is told once


def test_of_topics_deleted_while_nobody_keeps_groups_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(internal, "TOPICS_MAX", 2)
    world = World(2, replace(CONFIG, offsets_topic_replication_factor=1))
    assert world.cluster.coordinator_of("g")
    topics = world.cluster.internal
    gone = world.cluster.topics.get(OFFSETS).partitions[NUMBER].leader
    world.cluster.stop_node(gone, world.now_ms)
    for name in ("a", "b", "a", "c"):
        topics.topic_deleted(name)
    assert topics.missed_deletions(NUMBER) == ["a", "c"]
    assert topics.missed_deletions(NUMBER) == []
    topics.topic_deleted("d")
    topics.topic_deleted(OFFSETS)  # with what was committed
    assert "d" not in topics.missed_deletions(NUMBER)


def test_a_coordinator_is_not_moved_to_who_lacks_something(world):
    world.topic(replication_factor=3)
    keeper = world.cluster.coordinator_of("g")
    late, other = (one for one in (1, 2, 3) if one != keeper)
    world.cluster.stop_node(late, world.now_ms)
    assert commit(world, 5) == 0
    world.cluster.stop_node(other, world.now_ms)
    world.cluster.stop_node(keeper, world.now_ms)
    world.cluster.start_node(late, world.now_ms)
    world.cluster.move_coordinator(NUMBER, late, world.now_ms)
    assert committed(world, late) == E.NOT_COORDINATOR
    world.cluster.start_node(keeper, world.now_ms)
    world.cluster.move_coordinator(NUMBER, late, world.now_ms)
    assert committed(world, late) == 5


def test_their_replicas_wait_for_nothing(world):
    """A coordinator answers at once, so another one must not lack what it said."""
    world.topic()
    world.cluster.coordinator_of("g")
    for node_id in (1, 2, 3):
        world.cluster.replication.set_lag(node_id, 60_000, world.now_ms)
    world.cluster.replication.cut(1, 2, world.now_ms)
    world.cluster.replication.cut(2, 3, world.now_ms)
    world.cluster.replication.cut(1, 3, world.now_ms)
    for offset in range(1, 4):
        keeper = world.cluster.coordinator_of("g")
        assert commit(world, offset) == 0
        assert offsets_read(world) == list(range(1, offset + 1))
        if offset < 3:
            world.cluster.stop_node(keeper, world.now_ms)
            assert committed(world, world.cluster.coordinator_of("g")) == offset
    for node_id in (1, 2, 3):
        if node_id not in world.cluster.live:
            world.cluster.start_node(node_id, world.now_ms)
    partition = world.cluster.topics.get(OFFSETS).partitions[NUMBER]
    assert sorted(partition.isr) == [1, 2, 3]
    assert {one.end_offset for one in partition.logs.values()} == {3}


def test_a_topic_that_is_deleted_takes_its_groups_along(world):
    world.topic()
    assert commit(world, 5) == 0
    keeper = world.cluster.coordinator_of("g")
    cls = m.DeleteTopicsRequest
    (gone,) = world.client().ask(cls(topic_names=[OFFSETS], timeout_ms=1_000), 4).responses
    assert not gone.error_code
    assert world.client(keeper).ask(m.ListGroupsRequest(), 4).groups == []
    before = world.cluster.topics.names()
    assert committed(world, world.cluster.coordinator_of("g")) == -1
    assert before == ["t"]
    assert world.cluster.topics.names() == [OFFSETS, "t"]
    assert commit(world, 6) == 0


def test_offsets_of_the_topic_that_is_deleted_are_no_reason_to_make_it_again(world):
    world.topic()
    assert commit(world, 5) == 0
    assert commit(world, 7, topic=OFFSETS) == 0
    world.cluster.delete(world.cluster.topics.get(OFFSETS), world.now_ms)
    assert world.cluster.topics.names() == ["t"]
    assert committed(world, world.cluster.coordinator_of("g")) == -1


def test_a_node_that_is_back_leads_again_when_preferred_leaders_are_elected(world):
    world.topic()
    assert commit(world, 5) == 0
    keeper = world.cluster.coordinator_of("g")
    world.cluster.stop_node(keeper, world.now_ms)
    other = world.cluster.coordinator_of("g")
    assert commit(world, 6) == 0
    world.cluster.start_node(keeper, world.now_ms)
    assert world.cluster.coordinator_of("g") == other
    world.run(301_000)
    assert world.cluster.coordinator_of("g") == keeper
    assert committed(world, keeper) == 6


# Journals -----------------------------------------------------------------------------------------


def test_a_journal_stays_small(world):
    world.topic()
    note = "x" * 4_000
    rounds = 3 * DIRTY_BYTES // len(note)
    keeper = world.client(world.cluster.coordinator_of("g"))
    down = world.cluster.coordinator_of("g") % 3 + 1
    world.cluster.stop_node(down, world.now_ms)
    for offset in range(rounds):
        cls = m.OffsetCommitRequest
        part = cls.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=note
        )
        topic = cls.OffsetCommitRequestTopic(name="t", partitions=[part])
        request = cls(group_id="g", generation_id_or_member_epoch=-1, topics=[topic])
        assert not keeper.ask(request, 7).topics[0].partitions[0].error_code
    partition = world.cluster.topics.get(OFFSETS).partitions[NUMBER]
    assert partition.log.end_offset == rounds
    for node_id in world.cluster.live:
        assert partition.logs[node_id].size_bytes < DIRTY_BYTES + (3 << 20)
    world.cluster.start_node(down, world.now_ms)
    world.cluster.stop_node(partition.leader, world.now_ms)
    assert committed(world, world.cluster.coordinator_of("g")) == rounds - 1


def test_a_journal_of_much_that_is_not_old_is_not_compacted_again_and_again(world, monkeypatch):
    runs = []
    real = journals.clean
    monkeypatch.setattr(journals, "clean", lambda *given: runs.append(1) or real(*given))
    journal = world.cluster.journal(0)
    for number in range(40):
        journal.append([Entry(b"\0\x63%d" % number, b"v" * (1 << 19))])
    partition = world.cluster.topics.get(OFFSETS).partitions[0]
    assert partition.log.size_bytes > 20 << 19
    assert 0 < len(runs) <= 3 * 3


def test_items_come_back_as_they_were():
    items = [
        Entry(b"k1", b"v"),
        Entry(b"k2", None),
        Entry(b"k3", b"x", 9, 0),
        Marker(9, 0, True, 4),
        Marker(9, 0, False),
        Entry(b"k4", b"y", 8, 1),
        Entry(b"k5", b"v"),
    ]
    batches = list(encode_items(items, 1_700_000_000_000))
    assert [item for data in batches for item in decode_items("j", 0, data)] == items
    assert len(batches) == 6


def test_share_states_are_what_was_said_last(world):
    key = ("g", b"7" * 16, 0)
    states = world.cluster.share_states
    for start in (1, 2, 3):
        states.put(key, Kept(start_offset=start), 1_000)
    again = ShareStates(world.cluster.share_journal)
    assert again.get(key) == Kept(start_offset=3)
    states.forget("g")
    assert ShareStates(world.cluster.share_journal).get(key) is None
    states.put(key, Kept(start_offset=9), 1_000)
    assert ShareStates(world.cluster.share_journal).get(key) == Kept(start_offset=9)


def test_a_journal_that_was_never_written_says_nothing(world):
    journal = world.cluster.journal(1)
    assert isinstance(journal, Journal)
    assert (journal.entries(), journal.epoch) == ([], 0)
    assert world.cluster.topics.names() == []


def test_a_share_state_is_kept_while_nobody_leads_its_journal(world):
    """It is in memory for all nodes; the journal has it when its last leader is back."""
    topic_id = world.topic("t", assignments=[[1]]).topic_id
    key = ("g", topic_id, 0)
    world.cluster.share_states.put(key, Kept(start_offset=5), 1_000)
    for node_id in (1, 2, 3):
        world.cluster.stop_node(node_id, world.now_ms)
    world.cluster.start_node(1, world.now_ms)
    journal = world.cluster.internal.partition("__share_group_state", state_partition(key))
    assert journal.leader == -1
    for start in (6, 7):
        world.cluster.share_states.put(key, Kept(start_offset=start), 1_000)
    request = m.DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000)
    assert world.cluster.share_states.get(key) == Kept(start_offset=7)
    world.cluster.start_node(2, world.now_ms)
    world.cluster.start_node(3, world.now_ms)
    assert journal.leader == 3
    assert ShareStates(world.cluster.share_journal).get(key) == Kept(start_offset=7)
    assert {one.end_offset for one in journal.logs.values()} == {3}
    world.cluster.stop_node(3, world.now_ms)
    assert ShareStates(world.cluster.share_journal).get(key) == Kept(start_offset=7)
    for node_id in (1, 2):
        world.cluster.stop_node(node_id, world.now_ms)
    world.cluster.start_node(1, world.now_ms)
    (gone,) = world.client(1).ask(request, 4).responses
    assert not gone.error_code
    assert world.cluster.share_states.get(key) is None
    for node_id in (2, 3):
        world.cluster.start_node(node_id, world.now_ms)
    assert ShareStates(world.cluster.share_journal).get(key) is None


def test_share_states_go_with_their_topic(world):
    key = ("g", b"7" * 16, 0)
    world.cluster.share_states.put(key, Kept(start_offset=5), 1_000)
    world.cluster.delete(world.cluster.topics.get("__share_group_state"), world.now_ms)
    assert world.cluster.share_states.get(key) is None
    assert ShareStates(world.cluster.share_journal).get(key) is None


def test_a_share_state_is_what_its_journal_says_whose_leader_lacks_something(world):
    """An unclean election loses it, as it does in a Kafka: it came back with the next restart."""
    topic_id = world.topic("t", replication_factor=3).topic_id
    key = ("g", topic_id, 0)
    others = {state_partition(one) == state_partition(key): one
              for one in (("h", topic_id, number) for number in range(500))}  # fmt: skip
    other, new = others[False], others[True]
    states = world.cluster.share_states
    states.put(key, Kept(start_offset=5), 1_000)
    states.put(other, Kept(start_offset=4), 1_000)
    journal = world.cluster.internal.partition("__share_group_state", state_partition(key))
    late = next(one for one in (1, 2, 3) if one != journal.leader)
    world.cluster.stop_node(late, world.now_ms)
    states.put(key, Kept(start_offset=6), 1_000)
    states.put(new, Kept(start_offset=1), 1_000)
    assert states.get(key) == Kept(start_offset=6)
    for node_id in world.cluster.live.copy():
        world.cluster.stop_node(node_id, world.now_ms)
    world.cluster.topics.get("__share_group_state").config.unclean_leader_election_enable = True
    world.cluster.start_node(late, world.now_ms)
    assert journal.leader == late
    assert states.get(key) == Kept(start_offset=5)
    assert states.get(other) == Kept(start_offset=4)
    assert states.get(new) is None
    states.put(key, Kept(start_offset=7), 1_000)
    assert states.get(key) == Kept(start_offset=7)
    assert ShareStates(world.cluster.share_journal).get(key) == Kept(start_offset=7)


def test_one_that_is_made_anew_is_another_topic(world):
    world.cluster.coordinator_of("g")
    before = told(world).topic_id
    world.run(1)
    world.cluster.delete(world.cluster.topics.get(OFFSETS), world.now_ms)
    world.cluster.coordinator_of("g")
    assert told(world).topic_id != before


def test_none_is_made_while_no_node_is_up(world):
    for node_id in (1, 2, 3):
        world.cluster.stop_node(node_id, world.now_ms)
    assert world.cluster.coordinator_of("g") == -1
    assert world.cluster.topics.names() == []
    world.cluster.start_node(2, world.now_ms)
    assert world.cluster.coordinator_of("g") == 2


def test_who_leads_already_begins_no_new_epoch(world):
    keeper = world.cluster.coordinator_of("g")
    partition = world.cluster.topics.get(OFFSETS).partitions[NUMBER]
    before = partition.leader_epoch
    world.cluster.move_coordinator(NUMBER, keeper, world.now_ms)
    assert (partition.leader, partition.leader_epoch) == (keeper, before)
    assert "__transaction_state" in world.cluster.topics.names()


def test_a_transactions_coordinator_is_not_elected_uncleanly_whatever_the_nodes_say():
    log = LogConfig(unclean_leader_election_enable=True)
    world = World(1, BrokerConfig(coordinator=CONFIG.coordinator, log=log))
    world.cluster.coordinator_of("g")
    world.cluster.transaction_coordinator_of("x")
    assert world.cluster.topics.get(OFFSETS).config.unclean_leader_election_enable
    assert not world.cluster.topics.get(TRANSACTIONS).config.unclean_leader_election_enable


@pytest.mark.parametrize("how", ["paused", "cut"])
def test_offsets_are_decided_about_once_who_keeps_their_group_is_reached(world, how):
    world.topic(replication_factor=3)
    maker = Producer(world)
    maker.init()
    coordinator = world.cluster.transaction_coordinator_of("x")
    keeper = coordinator % 3 + 1
    world.cluster.move_coordinator(NUMBER, keeper, world.now_ms)
    assert maker.commit(7) == 0
    replication = world.cluster.replication
    if how == "paused":
        world.nodes[keeper].pause()
    else:
        replication.cut(coordinator, keeper, world.now_ms)
    assert maker.end() == 0
    world.run(1_000)
    assert maker.state() == "PrepareCommit"
    assert not isinstance(world.cluster.journal(NUMBER).entries()[-1], Marker)
    if how == "paused":
        world.nodes[keeper].resume(world.now_ms)
    else:
        replication.heal(coordinator, keeper, world.now_ms)
    world.run(1_000)
    assert maker.state() == "CompleteCommit"
    assert committed(world, keeper) == 7
