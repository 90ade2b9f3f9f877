"""Access at an EmbeddedBroker, as clients find it: kcore's, kafka-python's and librdkafka's."""

import time

import confluent_kafka
import kafka as kafka_python
import pytest
from confluent_kafka import admin as confluents
from kafka import admin as their_admin
from leftovers import KAFKA_PYTHON

from kcore import Admin, Consumer, Producer, ShareConsumer, errors
from kcore.admin import ACL, ACLFilter, ResourcePattern, ResourcePatternFilter
from kcore.broker import AuthorizerConfig, BrokerConfig
from kcore.coordinator import CoordinatorConfig
from kcore.embedded import EmbeddedBroker
from kcore.errors import UsageError

pytestmark = KAFKA_PYTHON

WHO = AuthorizerConfig(
    super_users=("User:root",), principals={"root": "User:root", "alice": "User:alice"}
)
LIMIT_MS = 10_000


@pytest.fixture
def broker():
    with EmbeddedBroker(authorizer=WHO) as made:
        made.create_topic("orders")
        yield made
        assert not made.faults


def options(broker, who="alice", **more):
    return {"bootstrap_servers": broker.bootstrap, "client_id": who} | more


def put(broker, count=3):
    broker.produce("orders", [(None, b"%d" % n) for n in range(count)])


def taken(consumer, count):
    found, end = [], time.monotonic() + LIMIT_MS / 1_000
    while len(found) < count and time.monotonic() < end:
        for records in consumer.poll(timeout_ms=100).values():
            found += records
    return len(found)


# Words of tests -----------------------------------------------------------------------------------


def test_words_are_entries(broker):
    (one,) = broker.allow("User:alice", "READ", topic="orders")
    assert one == ACL(
        principal="User:alice", host="*", operation="READ", permission_type="ALLOW",
        resource_pattern=ResourcePattern(resource_type="TOPIC", resource_name="orders"),
    )  # fmt: skip
    more = broker.deny(
        "User:*", ["WRITE", "ALTER"], topic="a", group="b", cluster=True, prefixed=True
    )
    assert len(more) == 6
    assert broker.acls() == [one, *more]
    filtered = ACLFilter(resource_pattern=ResourcePatternFilter(resource_type="GROUP"))
    assert {str(acl.operation.name) for acl in broker.acls(filtered)} == {"WRITE", "ALTER"}
    assert broker.revoke("User:alice", "READ", topic="orders") == [one]
    with pytest.raises(LookupError, match="no such entry"):
        broker.revoke("User:alice", "READ", topic="orders")
    broker.revoke("User:*", ["WRITE", "ALTER"], topic="a", group="b", cluster=True, prefixed=True)
    assert broker.acls() == []


@pytest.mark.parametrize(
    ("arguments", "where", "words"),
    [
        (("alice", "READ"), {"topic": "t"}, "User:alice"),
        (("User:alice", "READS"), {"topic": "t"}, "there are ALL, ALTER"),
        (("User:alice", "ANY"), {"topic": "t"}, "there are ALL"),
        (("User:alice", []), {"topic": "t"}, "operations="),
        (("User:alice", "READ"), {}, "access is to something"),
        (("User:alice", "READ"), {"topic": ""}, "topic=.* is no text"),
        (("User:alice", "READ"), {"topics": "t"}, "topics="),
        (("User:alice", "READ"), {"topic": "t", "host": "10.0.0.0/99"}, "host=.*Invalid CIDR"),
    ],
)
def test_words_that_mean_nothing_are_refused(broker, arguments, where, words):
    with pytest.raises(UsageError, match=words):
        broker.allow(*arguments, **where)
    assert broker.acls() == []


def test_an_entry_is_about_who_comes_from_a_range(broker):
    put(broker)
    broker.allow("User:alice", "READ", topic="orders", host="10.0.0.0/8")
    reader = options(broker, auto_offset_reset="earliest")
    with (
        Consumer("orders", **reader) as consumer,
        pytest.raises(errors.TopicAuthorizationFailedError),
    ):
        taken(consumer, 3)
    broker.allow("User:alice", "READ", topic="orders", host="127.0.0.0/8")
    with Consumer("orders", **reader) as consumer:
        assert taken(consumer, 3) == 3


def test_a_broker_without_an_authorizer_says_how_to_have_one():
    with (
        EmbeddedBroker(in_memory=True) as broker,
        pytest.raises(UsageError, match="authorizer=True"),
    ):
        broker.allow("User:alice", "READ", topic="t")


def test_entries_outlive_a_restart(tmp_path):
    with EmbeddedBroker(directory=tmp_path, authorizer=True) as broker:
        kept = broker.allow("User:alice", ["READ", "WRITE"], topic="orders", prefixed=True)
        broker.deny("User:bob", "ALL", cluster=True)
        broker.revoke("User:bob", "ALL", cluster=True)
    with EmbeddedBroker(directory=tmp_path):
        pass  # whoever does not ask them keeps them
    for _ in range(2):
        with EmbeddedBroker(directory=tmp_path, authorizer=True) as broker:
            assert broker.acls() == kept


# Consumers and producers --------------------------------------------------------------------------


def test_a_consumer_is_told_and_goes_on_when_it_may_again(broker):
    broker.allow("User:alice", "READ", topic="orders", group="billing")
    put(broker)
    with Consumer(
        "orders", group_id="billing", auto_offset_reset="earliest", **options(broker)
    ) as consumer:
        assert taken(consumer, 3) == 3
        broker.revoke("User:alice", "READ", topic="orders")
        with pytest.raises(errors.TopicAuthorizationFailedError, match="orders") as told:
            taken(consumer, 1)
        assert told.value.topics == {"orders"}
        broker.allow("User:alice", "READ", topic="orders")
        put(broker)
        assert taken(consumer, 3) == 3
        broker.revoke("User:alice", "READ", group="billing")
        with pytest.raises(errors.GroupAuthorizationFailedError):
            consumer.commit()
        broker.allow("User:alice", "READ", group="billing")
        consumer.commit()


SOON = BrokerConfig(
    coordinator=CoordinatorConfig(
        group_consumer_heartbeat_interval_ms=50, group_consumer_assignment_interval_ms=0
    )
)


def test_a_member_of_the_consumer_protocol_is_told_by_its_next_heartbeat():
    with EmbeddedBroker(authorizer=WHO, config=SOON) as broker:
        broker.create_topic("orders")
        told_by_a_heartbeat(broker)
        assert not broker.faults


def told_by_a_heartbeat(broker):
    broker.allow("User:alice", "READ", topic="orders", group="billing")
    put(broker)
    with Consumer(
        "orders", group_id="billing", group_protocol="consumer", auto_offset_reset="earliest",
        enable_auto_commit=False, **options(broker),
    ) as consumer:  # fmt: skip
        assert taken(consumer, 3) == 3
        broker.revoke("User:alice", "READ", group="billing")
        with pytest.raises(errors.GroupAuthorizationFailedError):
            taken(consumer, 1)
        broker.allow("User:alice", "READ", group="billing")
        with pytest.raises(errors.GroupAuthorizationFailedError):  # as with Java, that was the end
            taken(consumer, 1)
        consumer.unsubscribe()
        consumer.subscribe(["orders"])
        assert taken(consumer, 3) == 3


def test_a_group_that_is_not_ours_is_refused_at_once(broker):
    broker.allow("User:alice", "READ", topic="orders")
    consumer = Consumer("orders", group_id="billing", **options(broker))
    with pytest.raises(errors.GroupAuthorizationFailedError):
        taken(consumer, 1)
    consumer.close()


def test_a_share_consumer_is_told_and_goes_on_when_it_may_again(broker):
    broker.allow("User:alice", "READ", topic="orders", group="billing")
    with ShareConsumer("orders", group_id="billing", **options(broker)) as consumer:
        consumer.poll(timeout_ms=100)  # where the group begins
        for where, error in (
            ({"topic": "orders"}, errors.TopicAuthorizationFailedError),
            ({"group": "billing"}, errors.GroupAuthorizationFailedError),
        ):
            put(broker)
            assert taken(consumer, 3) == 3
            broker.revoke("User:alice", "READ", **where)
            with pytest.raises(error):
                taken(consumer, 1)
            broker.allow("User:alice", "READ", **where)


def test_a_transaction_ends_with_the_right_to_its_id(broker):
    who, where = ("User:alice", "WRITE"), {"topic": "orders", "transactional_id": "tx"}
    with (
        Producer(transactional_id="tx", **options(broker)) as producer,
        pytest.raises(errors.TransactionalIdAuthorizationFailedError),
    ):
        producer.init_transactions()
    broker.allow(*who, **where)
    with Producer(transactional_id="tx", **options(broker)) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        assert producer.send("orders", b"one").get(timeout=10).offset == 0
        broker.revoke(*who, **where)
        with pytest.raises(errors.TransactionalIdAuthorizationFailedError):
            producer.commit_transaction()
    assert broker.end_offsets("orders") == [1]  # no marker


def test_a_producer_is_told_of_the_topic_it_may_not_write_to(broker):
    broker.allow("User:alice", "DESCRIBE", topic="orders")
    broker.allow("User:alice", "IDEMPOTENT_WRITE", cluster=True)
    with Producer(**options(broker)) as producer:
        with pytest.raises(errors.TopicAuthorizationFailedError):
            producer.send("orders", b"one").get(timeout=10)
        broker.allow("User:alice", "WRITE", topic="orders")
        assert producer.send("orders", b"one").get(timeout=10).offset == 0


def test_an_idempotent_producer_needs_a_topic_to_write_to(broker):
    broker.allow("User:alice", "DESCRIBE", topic="orders")
    with (
        Producer(enable_idempotence=True, **options(broker)) as producer,
        pytest.raises(errors.ClusterAuthorizationFailedError),
    ):
        producer.send("orders", b"one").get(timeout=10)


def test_librdkafka_is_told_and_goes_on(broker):
    broker.allow("User:alice", "READ", topic="orders", group="billing")
    put(broker)
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap, "client.id": "alice", "group.id": "billing",
            "auto.offset.reset": "earliest", "fetch.error.backoff.ms": 20,
        }
    )  # fmt: skip
    consumer.subscribe(["orders"])

    def polled(wanted):
        end = time.monotonic() + LIMIT_MS / 1_000
        while time.monotonic() < end:
            message = consumer.poll(0.1)
            if message is not None and (message.error() is None) is (wanted is None):
                assert wanted is None or message.error().code() == wanted
                return
        raise AssertionError(wanted)

    for _ in range(3):
        polled(None)
    broker.revoke("User:alice", "READ", topic="orders")
    polled(confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED)
    broker.allow("User:alice", "READ", topic="orders")
    put(broker)
    polled(None)
    consumer.close()


def test_kafka_python_is_told(broker):
    broker.allow("User:alice", "READ", topic="orders")
    consumer = kafka_python.KafkaConsumer(
        "orders", bootstrap_servers=broker.bootstrap, client_id="alice", group_id="billing"
    )
    with pytest.raises(kafka_python.errors.GroupAuthorizationFailedError):
        consumer.poll(timeout_ms=LIMIT_MS)
    broker.allow("User:alice", "READ", group="billing")
    consumer.poll(timeout_ms=100)
    consumer.close()


# Administration -----------------------------------------------------------------------------------

ENTRY = ACL(
    principal="User:alice", host="*", operation="READ", permission_type="ALLOW",
    resource_pattern=ResourcePattern(
        resource_type="TOPIC", resource_name="ord", pattern_type="PREFIXED"
    ),
)  # fmt: skip


def test_an_administrator_makes_finds_and_deletes_entries(broker):
    with Admin(**options(broker, "root")) as admin:
        assert admin.create_acls([ENTRY, ENTRY])["failed"] == []
        assert broker.acls() == [ENTRY]
        matching = ACLFilter(
            resource_pattern=ResourcePatternFilter(
                resource_type="TOPIC", resource_name="orders", pattern_type="MATCH"
            )
        )
        assert admin.describe_acls(matching)[0] == [ENTRY]
        with Admin(**options(broker)) as alices:
            assert alices.list_topics() == ["orders"]
            with pytest.raises(errors.ClusterAuthorizationFailedError):
                alices.describe_acls(matching)
        ((_, gone, _),) = admin.delete_acls([matching])
        assert gone == [ENTRY]
        assert broker.acls() == []


def test_kafka_pythons_administrator_works_with_it(broker):
    admin = kafka_python.KafkaAdminClient(**options(broker, "root"))
    entry = their_admin.ACL(
        "User:alice", "*", their_admin.ACLOperation.READ, their_admin.ACLPermissionType.ALLOW,
        their_admin.ResourcePattern(their_admin.ResourceType.TOPIC, "orders"),
    )  # fmt: skip
    assert admin.create_acls([entry])["succeeded"] == [entry]
    assert len(broker.acls()) == 1
    every = their_admin.ACLFilter(
        None, None, their_admin.ACLOperation.ANY, their_admin.ACLPermissionType.ANY,
        their_admin.ResourcePatternFilter(
            their_admin.ResourceType.ANY, None, their_admin.ACLResourcePatternType.ANY
        ),
    )  # fmt: skip
    assert admin.describe_acls(every)[0] == [entry]
    admin.delete_acls([every])
    assert broker.acls() == []
    admin.close()


def test_confluents_administrator_works_with_it(broker):
    admin = confluents.AdminClient({"bootstrap.servers": broker.bootstrap, "client.id": "root"})
    kind = confluents
    entry = kind.AclBinding(
        kind.ResourceType.TOPIC, "orders", kind.ResourcePatternType.LITERAL, "User:alice", "*",
        kind.AclOperation.READ, kind.AclPermissionType.ALLOW,
    )  # fmt: skip
    for future in admin.create_acls([entry]).values():
        future.result(10)
    every = kind.AclBindingFilter(
        kind.ResourceType.ANY, None, kind.ResourcePatternType.ANY, None, None,
        kind.AclOperation.ANY, kind.AclPermissionType.ANY,
    )  # fmt: skip
    assert admin.describe_acls(every).result(10) == [entry]
    for future in admin.delete_acls([every]).values():
        assert future.result(10) == [entry]
    assert broker.acls() == []
