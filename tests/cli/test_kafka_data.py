"""Questions of the demo and of tests whose broker librdkafka drops while it is asked: nodes that
have just started list those only of which they have heard.
"""

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from kcore.cli.demo import kafka_data

DROPPED = KafkaError._DESTROY_BROKER


class FakeAdmin:
    """Answers with these codes in turn, then well. A drop leaves behind what was asked, or not."""

    codes = ()
    asked = 0

    def __init__(self, _config):
        pass

    @classmethod
    def next(cls, value):
        at, cls.asked = cls.asked, cls.asked + 1
        if at < len(cls.codes):
            raise KafkaException(KafkaError(cls.codes[at]))
        return value

    @classmethod
    def later(cls, value):
        future = Future()
        try:
            future.set_result(cls.next(value))
        except KafkaException as error:
            future.set_exception(error)
        return future

    def create_topics(self, topics, **_given):
        return {topic.topic: self.later(None) for topic in topics}

    def list_topics(self, name, **_given):
        parts = {0: SimpleNamespace(leader=1)}
        return SimpleNamespace(topics={name: SimpleNamespace(partitions=parts, error=None)})

    def list_consumer_group_offsets(self, asked):
        answer = SimpleNamespace(topic_partitions=[])
        return {one.group_id: self.later(answer) for one in asked}

    def describe_consumer_groups(self, groups, **_given):
        answer = SimpleNamespace(coordinator=SimpleNamespace(id=7))
        return dict.fromkeys(groups, self.later(answer))


@pytest.fixture
def admin(monkeypatch):
    class Admin(FakeAdmin):
        """Of one test."""

    monkeypatch.setattr(kafka_data, "AdminClient", Admin)
    return Admin


@pytest.mark.parametrize(
    ("then", "asked"), [((), 2), ((DROPPED,), 3), ((KafkaError.TOPIC_ALREADY_EXISTS,), 2)]
)
def test_a_topic_is_asked_for_again_and_may_be_there(admin, then, asked):
    admin.codes = (DROPPED, *then)
    kafka_data.create_topic("b:1", "t", 1)
    assert admin.asked == asked


def test_a_topic_that_was_there_before_is_refused(admin):
    admin.codes = (KafkaError.TOPIC_ALREADY_EXISTS,)
    with pytest.raises(kafka_data.KafkaDataError, match="TOPIC_ALREADY_EXISTS"):
        kafka_data.create_topic("b:1", "t", 1)


def test_what_groups_have_is_asked_for_again(admin):
    admin.codes = (DROPPED,)
    assert kafka_data.group_offsets("b:1", "g", "t") == {}
    assert admin.asked == 2
    admin.asked = 0
    assert kafka_data.coordinator_of("b:1", "g") == 7
    assert admin.asked == 2


def test_other_refusals_are_told(admin):
    admin.codes = (KafkaError.GROUP_AUTHORIZATION_FAILED,)
    with pytest.raises(kafka_data.KafkaDataError, match="GROUP_AUTHORIZATION_FAILED"):
        kafka_data.group_offsets("b:1", "g", "t")
