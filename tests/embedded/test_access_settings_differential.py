"""`super.users` and `allow.everyone.if.no.acl.found` as a node's file says them, in odd spellings:
who may do what is the same at a real Kafka and at the embedded broker.
"""

import pytest
from access_sides import AlicesPeer, GuardedKafka, SaslPeer, Side
from raw_client import Peer
from scenarios_access import DESCRIBE, TOPIC, WRITE

from kcore.broker import AuthorizerConfig
from kcore.embedded import EmbeddedBroker
from kcore.wire import messages as m

SUPER, EVERYBODY = "super.users", "allow.everyone.if.no.acl.found"
ROOT = {SUPER: " User:ANONYMOUS ;; User:root"}
TOLD = [
    ROOT,
    ROOT | {EVERYBODY: "TRUE"},
    ROOT | {EVERYBODY: "true "},
    ROOT | {EVERYBODY: "yes"},
    {SUPER: "User:ANONYMOUS;User:alice"},
]


class ToldKafka(GuardedKafka):
    def __init__(self, told):
        super().__init__()
        self._told = told

    def broker_settings(self, index):
        settings = super().broker_settings(index)
        return {name: one for name, one in settings.items() if name != SUPER} | self._told


def seen(side):
    """What alice is told of four topics, and of one that is not there, and whether she may make
    one.
    """
    names = [side.root.topic(base) for base in ("free", "hers", "bobs", "denied")]
    side.allow(DESCRIBE, TOPIC, names[1])
    side.allow(WRITE, TOPIC, names[2], principal="User:bob")
    side.deny(DESCRIBE, TOPIC, names[3])
    link = side.alice.link()
    cls = m.MetadataRequest.MetadataRequestTopic
    wanted = [cls(name=name) for name in [*names, "missing"]]
    asked = m.MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
    asked.include_topic_authorized_operations = True
    rows = {topic.name: topic for topic in link.ask(asked, 12).topics}
    told = [
        (rows[one.name].error_code, rows[one.name].topic_authorized_operations) for one in wanted
    ]
    topic = m.CreateTopicsRequest.CreatableTopic(
        name=f"{names[0]}-new", num_partitions=1, replication_factor=1
    )
    made = link.ask(m.CreateTopicsRequest(topics=[topic], timeout_ms=5_000), 7)
    groups = link.ask(m.FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4).coordinators
    side.close()
    return told, made.topics[0].error_code, groups[0].error_code == 30


def at_the_embedded(told):
    who = AuthorizerConfig(principals={"alice": "User:alice"})
    with EmbeddedBroker(authorizer=who, settings=told) as broker:
        (address,) = broker.addresses
        return seen(Side(Peer(address, "s"), AlicesPeer(address, "s")))


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("told", TOLD, ids=str)
def test_who_may_what_is_as_at_a_kafka(told):
    with ToldKafka(told) as kafka:
        theirs = seen(Side(Peer(kafka.bootstrap, "s"), SaslPeer(kafka.address, "s")))
    assert at_the_embedded(told) == theirs


@pytest.mark.parametrize("told", TOLD, ids=str)
def test_who_may_what(told):
    rows, made, group_refused = at_the_embedded(told)
    refused = [code == 29 for code, _ in rows]
    if "alice" in told[SUPER]:
        assert (refused, made, group_refused) == ([False] * 5, 0, False)
    elif told.get(EVERYBODY) in {"TRUE", "true "}:
        assert (refused, made, group_refused) == ([False, False, True, True, False], 0, False)
    else:
        assert (refused[:4], group_refused) == ([True, False, True, True], True)
        assert made
