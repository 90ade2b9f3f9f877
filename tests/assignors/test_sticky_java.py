"""The sticky assignors beside Kafka's own (tests/java/AssignSticky.java), round after round.

Java walks members in the order of a hash map; it says in which, and ours is given the same. Where
all subscribe to the same topics the plans are the same then; where they do not, both keep
different ones of equally good partitions, so what is compared is how evenly and how much.
"""

from __future__ import annotations

import json
import subprocess

import java_programs
import pytest
from hypothesis import HealthCheck, given, settings
from longer import examples
from sticky_rounds import Round, kept, rounds

from kcore.assignors import by_name
from kcore.structs import TopicPartition

pytestmark = pytest.mark.kafka

# Java takes a member without topics for one that subscribes to the same as all, and may give it
# some. What is held outside of its rack it deals out anew in each round.
WITH_TOPICS = rounds(contradictions=False).filter(lambda one: all(one.wanted.values()))
MANY = settings(
    max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def java(installation):
    """Asks Kafka's assignors: (order in which it walks the members, plan)."""
    command = java_programs.command(installation, "AssignSticky")
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # it logs what it thinks of contradictions
        text=True,
        bufsize=1,
    ) as process:

        def ask(round_, assignor):
            process.stdin.write(json.dumps(round_.as_json(assignor)) + "\n")
            answer = json.loads(process.stdout.readline())
            plan = {
                one: sorted(TopicPartition(*at) for at in given_)
                for one, given_ in answer["plan"].items()
            }
            members = {one: round_.members[one] for one in answer["order"]}
            return Round(members, round_.topics, round_.racks), plan

        yield ask
        process.stdin.close()
        assert process.wait(20) == 0


def both(java, round_, assignor):
    round_, theirs = java(round_, assignor)
    return round_, round_.assign(by_name(assignor)()), theirs


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_the_same_topics_for_all(java, assignor):
    @MANY
    @given(WITH_TOPICS.filter(lambda one: one.alike_in_words and one.far_off() == 0))
    def compare(round_):
        _, ours, theirs = both(java, round_, assignor)
        assert ours == theirs

    compare()


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_different_topics(java, assignor):
    @MANY
    @given(WITH_TOPICS.filter(lambda one: not one.racks))
    def compare(round_):
        round_, ours, theirs = both(java, round_, assignor)
        if assignor == "sticky":
            assert sorted(map(len, ours.values())) == sorted(map(len, theirs.values()))
        assert kept(round_, ours) >= kept(round_, theirs)

    compare()


def test_contradictions(java):
    @MANY
    @given(rounds(racks=False).filter(lambda one: one.alike))
    def compare(round_):
        round_, ours, theirs = both(java, round_, "cooperative-sticky")
        assert kept(round_, ours) >= kept(round_, theirs)

    compare()
