"""Features of an embedded cluster that are taken back and come again (KIP-584), as clients see it.
What is answered is compared with a Kafka in test_differential.py.
"""

import time

import pytest
from raw_client import Link
from transactional import everything

from kcore import Admin, Consumer, Producer, ShareConsumer, errors
from kcore.admin.values import ConfigResource, ConfigResourceType, UpdateFeatureType
from kcore.broker import AuthorizerConfig, BrokerConfig
from kcore.embedded import EmbeddedBroker
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

UP, DOWN = UpdateFeatureType.UPGRADE, UpdateFeatureType.SAFE_DOWNGRADE
GROUPS, SHARES, TRANSACTIONS = "group.version", "share.version", "transaction.version"
WAIT_S = 20


@pytest.fixture
def broker():
    with EmbeddedBroker(nodes=2) as running:
        running.create_topic("t", 1)
        yield running
        assert not running.faults


@pytest.fixture
def admin(broker):
    with Admin(bootstrap_servers=broker.bootstrap) as client:
        yield client


def put(broker, *values):
    with Producer(bootstrap_servers=broker.bootstrap) as producer:
        for value in values:
            producer.send("t", value)


def take(consumer, count=1):
    found = []
    end = time.monotonic() + WAIT_S
    while len(found) < count:
        assert time.monotonic() < end
        for records in consumer.poll(200).values():
            found += [record.value for record in records]
    return found


def levels(admin):
    told = admin.describe_features()
    return {name: one["finalized"][1] for name, one in told.items() if "finalized" in one}


def test_levels_are_those_of_all_nodes_at_once(broker, admin):
    assert levels(admin) == {GROUPS: 1, SHARES: 2, "streams.version": 1, TRANSACTIONS: 2}
    assert admin.update_features({SHARES: (DOWN, 0), TRANSACTIONS: (DOWN, 1)}) == {
        SHARES: "OK", TRANSACTIONS: "OK",
    }  # fmt: skip
    told = [admin.describe_features(broker_id=node) for node in (1, 2)]
    assert told[0] == told[1]
    assert "finalized" not in told[0][SHARES]
    assert told[0][SHARES]["supported"] == (0, 2)
    assert told[0][TRANSACTIONS]["finalized"] == (1, 1)
    assert {one["finalized_epoch"] for one in told[0].values() if "finalized" in one} == {1}
    with pytest.raises(errors.InvalidUpdateVersionError, match="safe or of an unsafe downgrade"):
        admin.update_features({TRANSACTIONS: 0, SHARES: 1})
    assert levels(admin)[TRANSACTIONS] == 1  # all of them, or none
    assert SHARES not in levels(admin)


def test_a_restart_keeps_the_levels_and_their_epoch(tmp_path):
    options = {"directory": tmp_path, "config": BrokerConfig()}
    for level in (1, 0):
        with EmbeddedBroker(**options) as broker, Admin(bootstrap_servers=broker.bootstrap) as one:
            assert levels(one)[TRANSACTIONS] == level + 1
            one.update_features({TRANSACTIONS: (DOWN, level)})
    with EmbeddedBroker(**options) as broker, Admin(bootstrap_servers=broker.bootstrap) as one:
        told = one.describe_features()
        assert "finalized" not in told[TRANSACTIONS]
        assert told[GROUPS]["finalized_epoch"] == 2


def test_a_release_without_features_has_none_to_set():
    with (
        EmbeddedBroker(config=BrokerConfig(release=(3, 9))) as broker,
        Admin(bootstrap_servers=broker.bootstrap) as admin,
    ):
        assert admin.describe_features() == {}
        with pytest.raises(errors.InvalidUpdateVersionError, match="is not known"):
            admin.update_features({GROUPS: 1})
        broker.create_topic("t", 1)
        put(broker, b"a")
        with Consumer(
            "t",
            bootstrap_servers=broker.bootstrap,
            group_id="g",
            group_protocol="consumer",
            auto_offset_reset="earliest",
        ) as consumer:
            assert take(consumer) == [b"a"]


def test_a_member_is_told_that_its_groups_are_off_and_others_go_on(broker, admin):
    options = {"bootstrap_servers": broker.bootstrap, "auto_offset_reset": "earliest"}
    put(broker, b"a")
    with (
        Consumer("t", group_id="new", group_protocol="consumer", **options) as new,
        Consumer("t", group_id="old", **options) as old,
    ):
        assert take(new) == take(old) == [b"a"]
        admin.update_features({GROUPS: (DOWN, 0)})
        late = Consumer("t", group_id="late", group_protocol="consumer", **options)
        with late, pytest.raises(errors.UnsupportedVersionError, match=r"group\.version at 1"):
            take(late)
        put(broker, b"b")
        assert take(old) == [b"b"]
        old.commit()
        admin.update_features({GROUPS: (UP, 1)})
    with Consumer("t", group_id="new", group_protocol="consumer", **options) as again:
        assert take(again) == [b"b"]  # what was committed on the way out, and all else, is there


def test_who_reads_in_a_share_group_is_told_and_nothing_is_lost(broker, admin):
    def member():
        return ShareConsumer("t", bootstrap_servers=broker.bootstrap, group_id="s")

    option = {"share.auto.offset.reset": "earliest"}
    admin.alter_configs([ConfigResource(ConfigResourceType.GROUP, "s", option)], raise_errors=True)
    put(broker, b"a")
    with member() as consumer:
        assert take(consumer) == [b"a"]
        admin.update_features({SHARES: (DOWN, 0)})
        with pytest.raises(errors.UnsupportedVersionError, match=r"share\.version at 1"):
            take(consumer)
    admin.update_features({SHARES: (UP, 1)})
    put(broker, b"b")
    with member() as consumer:
        assert sorted(take(consumer, 2)) == [b"a", b"b"]  # nobody has accepted the first


def test_who_waits_for_records_while_share_groups_are_taken_back_locks_none(broker, admin):
    option = {"share.auto.offset.reset": "earliest"}
    admin.alter_configs([ConfigResource(ConfigResourceType.GROUP, "s", option)], raise_errors=True)
    topic_id = broker._cluster.topics.get("t").topic_id
    leader = broker._cluster.partition("t", 0).leader

    def fetch(member):
        Fetch = m.ShareFetchRequest
        topic = Fetch.FetchTopic(topic_id=topic_id)
        topic.partitions = [Fetch.FetchPartition(partition_index=0)]
        return Fetch(
            group_id="s", member_id=member * 22, share_session_epoch=0, max_wait_ms=20_000,
            min_bytes=1, max_bytes=1_000_000, max_records=10, batch_size=10, topics=[topic],
        )  # fmt: skip

    first, second = (Link(broker.addresses[leader - 1]) for _ in range(2))
    first.send(fetch("A"), 1)
    end = time.monotonic() + WAIT_S
    while not broker._cluster.nodes[leader].fetches._by_place:
        assert time.monotonic() < end
    broker._cluster.finalize({SHARES: 0})
    put(broker, b"a")
    assert not first.receive().responses
    broker._cluster.finalize({SHARES: 1})
    (row,) = second.ask(fetch("B"), 1).responses[0].partitions
    assert [one.delivery_count for one in row.acquired_records] == [1]
    first.close()
    second.close()


def test_a_transaction_is_whole_or_nothing_at_any_level(broker, admin):
    def producer(name):
        return Producer(bootstrap_servers=broker.bootstrap, transactional_id=name)

    def commit(producer, value):
        with producer.transaction():
            producer.send("t", value)

    with producer("x") as first:
        first.init_transactions()
        commit(first, b"2")
        admin.update_features({TRANSACTIONS: (DOWN, 1)})
        commit(first, b"1")  # by the rules of the level that its connections were told of
        admin.update_features({TRANSACTIONS: (DOWN, 0)})
        with pytest.raises(errors.UnsupportedVersionError):
            commit(first, b"lost")
    with producer("x") as second:
        second.init_transactions()
        commit(second, b"0")
        admin.update_features({TRANSACTIONS: (UP, 2)})
        commit(second, b"2 again")
    assert everything(broker.bootstrap, "t") == [b"0", b"1", b"2", b"2 again"]


def test_a_feature_that_is_off_is_refused_before_anybody_is_asked_who_he_is():
    """As by a Kafka: whether a group may be read is not looked at then."""
    config = BrokerConfig(authorizer=AuthorizerConfig(super_users=frozenset({"User:root"})))
    with EmbeddedBroker(config=config) as broker:
        broker._cluster.finalize({GROUPS: 0})
        link = Link(broker.addresses[0])
        beat = m.ConsumerGroupHeartbeatRequest(group_id="g", member_id="A" * 22, member_epoch=1)
        assert link.ask(beat, 1).error_code == ErrorCode.UNSUPPORTED_VERSION
        broker._cluster.finalize({GROUPS: 1})
        assert link.ask(beat, 1).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
        update = m.UpdateFeaturesRequest(timeout_ms=1_000)
        assert link.ask(update, 2).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        link.close()
