"""Static members that come back and subscribe to more than before: nobody tells them, nor their
leader, that something is nobody's.
"""

import pytest
from foreign_members import until

from kcore import Consumer, TopicPartition
from kcore.embedded import EmbeddedBroker


@pytest.fixture
def broker():
    with EmbeddedBroker() as embedded:
        for topic in ("a", "b"):
            embedded.create_topic(topic, 4)
        yield embedded
        assert not embedded.faults


@pytest.mark.parametrize("again", [["one", "two"], ["one"], ["two"]])
@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_a_topic_more(broker, assignor, again):
    members = {}

    def begin(instance, topics):
        member = members[instance] = Consumer(
            bootstrap_servers=broker.bootstrap,
            group_id="g",
            group_instance_id=instance,
            partition_assignment_strategy=assignor,
            heartbeat_interval_ms=50,
        )
        member.subscribe(topics)

    def held():
        return sorted(tp for member in members.values() for tp in member.assignment())

    def step():
        for member in members.values():
            member.poll(timeout_ms=10)

    def of(*topics):
        return [TopicPartition(topic, number) for topic in topics for number in range(4)]

    begin("one", ["a"])
    until(lambda: held() == of("a"), step)
    begin("two", ["a"])
    until(lambda: all(len(member.assignment()) == 2 for member in members.values()), step)
    for instance in again:
        members[instance].close()
    for instance in again:
        begin(instance, ["a", "b"])
    until(lambda: held() == of("a", "b"), step)
    for member in members.values():
        member.close()
