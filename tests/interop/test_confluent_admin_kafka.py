"""What stands in for confluent-kafka's AdminClient, beside that one, on a real Kafka."""

import confluent_admin
import pytest
from confluent_admin import CLASSES, Story
from secure_kafka import SecureKafka

import kcore
from kcore.structs import OffsetAndMetadata

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


class GuardedKafka(SecureKafka):
    """Anybody may do everything, access control lists included."""

    def broker_settings(self, index):
        return super().broker_settings(index) | {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }


@pytest.fixture(scope="module")
def guarded():
    with GuardedKafka() as kafka:
        kafka.create_topic("first")
        with kcore.Admin(bootstrap_servers=kafka.bootstrap) as admin:
            # Whoever commits first finds coordinators that load, which theirs gives up at.
            admin.alter_group_offsets("first", {("first", 0): OffsetAndMetadata(0, "", -1)})
        yield kafka


@pytest.mark.parametrize("part", [confluent_admin.tell, confluent_admin.access])
def test_the_same_story(guarded, part):
    """One after the other, each leaving nothing behind for the next."""
    told = {}
    for whose, classes in CLASSES.items():
        story = Story(classes, guarded.bootstrap, "t", "g")
        part(story)
        told[whose] = story.told
    for ours, theirs in zip(told["ours"], told["theirs"], strict=True):
        assert ours == theirs


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_members(guarded, names, protocol):
    guarded.create_topic(names.topic, 2)
    theirs, ours = confluent_admin.attended(guarded.bootstrap, names.topic, names.group, protocol)
    assert ours == theirs
