"""Configurations of topics and brokers, by Admin and AsyncAdmin, on the embedded broker."""

import pytest
from admins import ADMINS

from kcore import errors
from kcore.admin import AlterConfigOp, ConfigResource, ConfigResourceType
from kcore.embedded import EmbeddedBroker


@pytest.fixture(params=list(ADMINS))
def admin(request):
    with EmbeddedBroker(nodes=2) as broker:
        broker.create_topic("t")
        made = ADMINS[request.param](bootstrap_servers=broker.bootstrap)
        yield made
        made.close()


def test_configurations(admin):
    topic = ConfigResource("topic", "t", {"retention.ms": 5_000, "cleanup.policy": "compact"})
    assert admin.alter_configs([topic]) == {"topic": {"t": "OK"}}
    told = admin.describe_configs([ConfigResource("topic", "t")])["topic"]["t"]
    assert {name: row["value"] for name, row in told.items()} == {
        "retention.ms": "5000",
        "cleanup.policy": "compact",
    }
    assert told["retention.ms"]["config_source"] == "DYNAMIC_TOPIC_CONFIG"
    append = ConfigResource("topic", "t", {"cleanup.policy": (AlterConfigOp.APPEND, "delete")})
    admin.alter_configs([append])
    one = ConfigResource(ConfigResourceType.TOPIC, "t", ["cleanup.policy"])
    (row,) = admin.describe_configs([one], include_synonyms=True)["topic"]["t"].values()
    assert row["value"] == "compact,delete"
    assert row["synonyms"]
    assert admin.reset_configs([ConfigResource("topic", "t", ["retention.ms"])]) == {
        "topic": {"t": "OK"}
    }
    assert list(admin.describe_configs([ConfigResource("topic", "t")])["topic"]["t"]) == [
        "cleanup.policy"
    ]
    admin.reset_configs([ConfigResource("topic", "t")])
    assert admin.describe_configs([ConfigResource("topic", "t")]) == {"topic": {"t": {}}}


def test_configurations_of_brokers_come_from_them(admin):
    wanted = [ConfigResource("broker", "2"), ConfigResource("topic", "t")]
    told = admin.describe_configs(wanted, config_filter="all")
    assert told["broker"]["2"]["node.id"]["value"] == "2"
    assert len(told["topic"]["t"]) > 20
    with pytest.raises(errors.BrokerNotAvailableError):
        admin.describe_configs([ConfigResource("broker", "7")])


def test_the_default_of_all_brokers_is_altered_shown_and_reset(admin):
    """What is told of it is what was set: that is no list of what there is, nor by default."""
    every, one = ConfigResource("broker", ""), ConfigResource("broker", "1")
    set_to = ConfigResource("broker", "", {"log.retention.ms": "60000"})
    assert admin.alter_configs([set_to], raise_errors=True) == {"broker": {"": "OK"}}

    def shown(resource, shown="modified"):
        (told,) = admin.describe_configs([resource], config_filter=shown)["broker"].values()
        return {name: row["value"] for name, row in told.items()}

    assert shown(every) == {"log.retention.ms": "60000"}
    assert shown(every, "default") == {}
    assert "log.retention.ms" not in shown(one)
    assert shown(one, "default")["log.retention.ms"] == "60000"
    assert admin.reset_configs([every]) == {"broker": {"": "OK"}}
    assert shown(every) == {}
    with pytest.raises(ValueError, match="broker '1' has no entry nope"):
        admin.alter_configs([set_to, ConfigResource("broker", "1", {"nope": "1"})])
    assert shown(every) == {}


def test_configurations_that_are_refused(admin):
    unknown = ConfigResource("topic", "t", {"retention.mms": "1"})
    with pytest.raises(ValueError, match=r"no entry retention\.mms"):
        admin.alter_configs([unknown])
    found = admin.alter_configs([unknown], raise_on_unknown=False)
    assert "INVALID_CONFIG" in found["topic"]["t"]
    admin.create_topics(["good"])
    both = [unknown, ConfigResource("topic", "good", {"retention.ms": "1"})]
    with pytest.raises(errors.InvalidConfigurationError, match="done: topic 'good'") as caught:
        admin.alter_configs(both, raise_on_unknown=False, raise_errors=True)
    assert list(caught.value.failed) == [(ConfigResourceType.TOPIC, "t")]
    named = [ConfigResource("topic", "nope"), ConfigResource("topic", "good")]
    with pytest.raises(errors.UnknownTopicOrPartitionError, match="done: topic 'good'"):
        admin.describe_configs(named)
    found = admin.describe_configs(named, raise_errors=False)["topic"]
    assert (found["nope"], list(found["good"])) == ({}, ["retention.ms"])
    admin.alter_configs([ConfigResource("topic", "t", {"retention.ms": "7"})], validate_only=True)
    assert admin.describe_configs([ConfigResource("topic", "t")]) == {"topic": {"t": {}}}
