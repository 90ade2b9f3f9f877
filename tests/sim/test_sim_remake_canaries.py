"""Bugs that show where topics are deleted and made anew under their names, and nowhere else."""

from dataclasses import replace

import pytest
from longer import quickly
from sim_planting import planted
from sim_runs import run

from kcore.broker.topics import Catalog
from kcore.cluster import view
from kcore.cluster.view import Metadata
from kcore.coordinator.cleaning import Cleaning
from kcore.fetch.answers import Answers
from kcore.fetch.planner import Planner
from kcore.fetch.positions import Positions
from kcore.group.commits import Committer
from kcore.sim import Fault, Plan, Rule
from kcore.wire.codes import ErrorCode as E

SEEDS = 20
_UNKNOWN = {E.UNKNOWN_TOPIC_ID, E.INCONSISTENT_TOPIC_ID, E.UNKNOWN_TOPIC_OR_PARTITION}


def remaking(seed, *, remakes=True, **more):
    """Topics go and come, leaders move; of the rest not much happens."""
    kinds = [Fault.LEADER_MOVE, Fault.REJOIN, *([Fault.REMAKE] if remakes else [])]
    plan = Plan(
        seed=seed,
        members=3,
        brokers=2,
        topics=2,
        partitions=2,
        duration_ms=12_000,
        faults=dict.fromkeys(kinds, 1_500),
        consumer_share=seed % 2,
        append_every_ms=150,
        metadata_max_age_ms=600_000,
    )
    return run(replace(plan, **more))


def keep_the_old_id(patch):
    """Fetch sessions go on asking for the topic that is gone."""
    original = Planner._adopt_leader

    def adopt(self, partition):
        known = partition.topic_id
        original(self, partition)
        partition.topic_id = known or partition.topic_id

    patch.setattr(Planner, "_adopt_leader", adopt)


def never_ask_who_it_is_now(patch):
    """UNKNOWN_TOPIC_ID is an error like others: it passes, and nobody asks for metadata."""
    take_error = Answers._take_error

    def take(self, taken, partition, ask, data):
        if data.error_code in _UNKNOWN:
            self._planner.back_off(partition, taken.now_ms, "it passes")
        else:
            take_error(self, taken, partition, ask, data)

    patch.setattr(Answers, "_take_error", take)


def keep_the_old_position(patch):
    patch.setattr(Positions, "remade", lambda self, partition: None)


def commit_in_the_new_one_what_was_read_of_the_old(patch):
    """A commit that was refused for the old id is made again under the new one."""
    patch.setattr(Committer, "_meant", lambda self, operation: operation.offsets)


def refuse_lower_epochs(patch):
    """The epochs of the old one are kept, and its successor's are below them."""
    original = Metadata._forget

    def forget(self, name):
        epochs = dict(self._epochs)
        original(self, name)
        self._epochs = epochs

    patch.setattr(Metadata, "_forget", forget)
    patch.setattr(view, "_OLDER_EPOCHS_MAX", 1_000_000)


def keep_the_old_offsets(patch):
    """The coordinator does not hear that a topic is gone."""
    patch.setattr(Cleaning, "delete_topics", lambda self, topics, now_ms: None)


def serve_the_old_log(patch):
    """A node goes on with what it had under the old id."""
    original = Catalog.delete

    def delete(self, topic):
        leaders = [partition.leader for partition in topic.partitions]
        original(self, topic)
        self._by_id[topic.topic_id] = topic
        for partition, leader in zip(topic.partitions, leaders, strict=True):
            partition.leader = leader

    patch.setattr(Catalog, "delete", delete)


def assign_the_old_ids(patch):
    """The coordinator of the consumer protocol does not look whether topics are others."""
    original = Catalog.delete

    def delete(self, topic):
        known = self.version
        original(self, topic)
        self.version = known

    made = Catalog.create

    def create(self, name, *rest, **more):
        known = self.version
        topic = made(self, name, *rest, **more)
        if self.known.get(name):
            self.version = known
        self.known[name] = True
        return topic

    patch.setattr(Catalog, "known", {}, raising=False)
    patch.setattr(Catalog, "delete", delete)
    patch.setattr(Catalog, "create", create)


BUGS = [
    keep_the_old_id,
    never_ask_who_it_is_now,
    keep_the_old_position,
    commit_in_the_new_one_what_was_read_of_the_old,
    refuse_lower_epochs,
    keep_the_old_offsets,
    serve_the_old_log,
    assign_the_old_ids,
]
QUICK = {keep_the_old_position}


@pytest.mark.parametrize("seed", quickly(1, of=5, begin=1))
def test_without_one_all_is_well(seed):
    assert remaking(seed).violation is None


@pytest.mark.parametrize("bug", planted(zip(BUGS, strict=True), QUICK))
def test_a_planted_bug_is_found_by_that_alone(bug, monkeypatch, seeds):
    bug(monkeypatch)
    for seed in seeds:
        violation = remaking(seed).violation
        if violation is not None:
            assert violation.rule is not Rule.NO_FAULT, str(violation)
            break
    else:
        pytest.fail(f"{SEEDS} seeds do not find it")
    for seed in range(1, 6):
        assert remaking(seed, remakes=False).violation is None
