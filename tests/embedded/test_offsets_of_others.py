"""Offsets of topics that alice may not see, by every client, at a real Kafka with an authorizer and
at the embedded broker: what she may see she gets, and what not is named.
"""

import asyncio
import time

import pytest
from access_sides import GuardedKafka
from admins import ADMINS
from confluent_admin import CLASSES

import kcore
from kcore.admin import ACL, ACLFilter, NewTopic, ResourcePattern
from kcore.broker import AuthorizerConfig, BrokerConfig
from kcore.embedded import EmbeddedBroker
from kcore.errors import TopicAuthorizationFailedError
from kcore.structs import OffsetAndMetadata, TopicPartition

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

OPEN, SHUT = TopicPartition("open", 0), TopicPartition("shut", 0)
AT = OffsetAndMetadata(3, "m", -1)


class Side:
    """A broker with the topics open and shut, and groups that are somewhere in both."""

    def __init__(self, bootstrap, alice, theirs):
        self.bootstrap, self.alice, self.theirs = bootstrap, alice, theirs

    def prepare(self):
        with kcore.Admin(bootstrap_servers=self.bootstrap) as admin:
            admin.create_topics([NewTopic(name, 1, 1) for name in ("open", "shut")])
            with kcore.Producer(bootstrap_servers=self.bootstrap) as producer:
                for name in ("open", "shut"):
                    for number in range(5):
                        producer.send(name, b"%d" % number, partition=0)
            for group in ("g", "consumer-g"):
                admin.alter_group_offsets(group, {OPEN: AT, SHUT: AT}, raise_errors=True)
            until_made = time.monotonic() + 60
            with kcore.ShareConsumer(
                "open", "shut", group_id="s", bootstrap_servers=self.bootstrap
            ) as consumer:
                while len(admin.list_share_group_offsets("s")["s"]) < 2:
                    consumer.poll(timeout_ms=100)
                    assert time.monotonic() < until_made
            admin.create_acls(
                [
                    ACL("User:alice", "*", "read", "allow", ResourcePattern(*pattern))
                    for pattern in (("topic", "open"), ("group", "*"))
                ],
                raise_errors=True,
            )
            while len(admin.describe_acls(ACLFilter())[0]) < 2:
                time.sleep(0.05)


@pytest.fixture(scope="module")
def kafka():
    with GuardedKafka() as cluster:
        alice = {
            "bootstrap_servers": cluster.address,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": "alice",
            "sasl_plain_password": "a",
        }
        theirs = {
            "bootstrap.servers": cluster.address,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "sasl.password": "a",
        }
        yield Side(cluster.bootstrap, alice, theirs)


@pytest.fixture(scope="module")
def embedded():
    authorizer = AuthorizerConfig(
        super_users=("User:ANONYMOUS",), principals={"alice": "User:alice"}
    )
    with EmbeddedBroker(config=BrokerConfig(authorizer=authorizer)) as broker:
        address = broker.bootstrap
        alice = {"bootstrap_servers": address, "client_id": "alice"}
        theirs = {"bootstrap.servers": address, "client.id": "alice"}
        yield Side(address, alice, theirs)
        assert not broker.faults


@pytest.fixture(scope="module", params=["kafka", "embedded"])
def side(request):
    found = request.getfixturevalue(request.param)
    found.prepare()
    return found


@pytest.fixture(params=list(ADMINS))
def admin(request, side):
    client = ADMINS[request.param](**side.alice)
    yield client
    client.close()


def refused(error):
    """What an error says of a group or a call."""
    return {tp: (type(one), one.topics) for tp, one in error.failed.items()}


ONLY_SHUT = {SHUT: (TopicAuthorizationFailedError, {"shut"})}


def test_commits_of_a_group(admin):
    with pytest.raises(TopicAuthorizationFailedError, match="shut-0") as caught:
        admin.list_group_offsets({"g": [OPEN, SHUT]})
    assert caught.value.topics == {"shut"}
    assert refused(caught.value.failed["g"]) == ONLY_SHUT
    assert caught.value.failed["g"].done == {OPEN: AT}
    found = admin.list_group_offsets({"g": [OPEN, SHUT], "none": [SHUT]}, raise_errors=False)
    assert found == {"g": {OPEN: AT}, "none": {}}
    assert admin.list_group_offsets("g") == {"g": {OPEN: AT}}  # what may be seen of all


def test_start_offsets_of_a_share_group(admin):
    with pytest.raises(TopicAuthorizationFailedError, match="shut-0") as caught:
        admin.list_share_group_offsets({"s": [OPEN, SHUT]})
    assert refused(caught.value.failed["s"]) == ONLY_SHUT
    assert caught.value.failed["s"].done.keys() == {OPEN}
    found = admin.list_share_group_offsets({"s": [OPEN, SHUT]}, raise_errors=False)
    assert found["s"].keys() == {OPEN}
    assert admin.list_share_group_offsets("s")["s"].keys() == {OPEN}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_consumer_asks(side, protocol):
    options = {"group_id": f"{protocol}-g".removeprefix("classic-"), "group_protocol": protocol}
    with kcore.Consumer(**side.alice, **options) as consumer:
        assert consumer.committed(OPEN, metadata=True) == AT
        with pytest.raises(TopicAuthorizationFailedError, match="shut-0") as caught:
            consumer.committed([OPEN, SHUT])
    assert refused(caught.value) == ONLY_SHUT
    assert caught.value.done == {OPEN: AT}

    async def ask():
        async with kcore.AsyncConsumer(**side.alice, **options) as consumer:
            await consumer.committed([OPEN, SHUT])

    with pytest.raises(TopicAuthorizationFailedError, match="shut-0") as caught:
        asyncio.run(ask())
    assert refused(caught.value) == ONLY_SHUT


def test_a_consumer_commits(side):
    with kcore.Consumer(**side.alice, group_id="c") as consumer:
        consumer.assign([OPEN, SHUT])
        with pytest.raises(TopicAuthorizationFailedError, match="shut-0") as caught:
            consumer.commit({OPEN: AT, SHUT: AT})
        assert refused(caught.value) == ONLY_SHUT
        assert caught.value.done == {OPEN: AT}
        assert consumer.committed(OPEN) == 3


def test_what_may_be_read_is_read(side):
    with kcore.Consumer(**side.alice, group_id="g", auto_offset_reset="earliest") as consumer:
        consumer.assign([OPEN, SHUT])
        seen, raised = [], []
        end = time.monotonic() + 30
        while (len(seen) < 2 or len(raised) < 2) and time.monotonic() < end:
            try:
                for records in consumer.poll(timeout_ms=200).values():
                    seen += [(record.topic, record.offset) for record in records]
            except TopicAuthorizationFailedError as error:
                raised.append(error)
    assert seen == [("open", 3), ("open", 4)]
    assert {frozenset(error.topics) for error in raised} == {frozenset({"shut"})}


def test_under_the_name_of_confluent_kafka(side):
    told = []
    for ck in CLASSES.values():
        parts = [ck.TopicPartition(tp.topic, tp.partition) for tp in (OPEN, SHUT)]
        client = ck.AdminClient(side.theirs)
        asked = client.list_consumer_group_offsets([ck.ConsumerGroupTopicPartitions("g", parts)])
        found = asked["g"].result(30).topic_partitions
        told.append(
            [
                (
                    one.topic,
                    one.partition,
                    one.offset,
                    one.metadata,
                    one.leader_epoch,
                    one.error and (one.error.code(), one.error.str(), one.error.retriable()),
                )
                for one in found
            ]
        )
    assert told[0] == told[1]
