"""What stands in for confluent-kafka's AdminClient, beside that one."""

import confluent_admin
import pytest
from confluent_admin import CLASSES, Story

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
        broker.create_topic("t", 2)
        theirs, ours = confluent_admin.attended(broker.bootstrap, "t", "g", protocol)
        assert ours == theirs
        (_, description), *_ = ours[0][1]
        assert description[1]["members"][0][1]["assignment"][1]["topic_partitions"]
