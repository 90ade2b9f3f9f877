"""What stands in for confluent-kafka's AdminClient, beside that one."""

import confluent_admin
import pytest
from confluent_admin import CLASSES, Story

import kcore
from kcore.broker.authorization.config import AuthorizerConfig
from kcore.embedded import EmbeddedBroker

EVERYBODY = AuthorizerConfig(super_users=("User:ANONYMOUS",))


@pytest.mark.parametrize("part", [confluent_admin.tell, confluent_admin.access])
def test_the_same_story(part):
    told = {}
    for whose, classes in CLASSES.items():
        with EmbeddedBroker(authorizer=EVERYBODY) as broker:
            story = Story(classes, broker.bootstrap, "t", "g")
            part(story)
            told[whose] = story.told
    assert len(told["ours"]) > 35
    for ours, theirs in zip(told["ours"], told["theirs"], strict=True):
        assert ours == theirs


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_members(protocol):
    """Told of one group at the same time."""
    with EmbeddedBroker() as broker:
        stories = [Story(one, broker.bootstrap, "t", "g") for one in CLASSES.values()]
        broker.create_topic("t", 2)
        with kcore.Consumer(
            "t",
            bootstrap_servers=broker.bootstrap,
            group_id="g",
            group_protocol=protocol,
            client_id="c",
            group_instance_id="i",
        ) as consumer:
            while not consumer.assignment():
                consumer.poll(timeout_ms=50)
            for story in stories:
                confluent_admin.members(story)
        theirs, ours = (story.told for story in stories)
        assert ours == theirs
        (_, description), *_ = ours[0][1]
        assert description[1]["members"][0][1]["assignment"][1]["topic_partitions"]
