"""Bugs of share groups, on either side, that show where topics are deleted and made anew under
their names, and nowhere else.
"""

import pytest
from longer import quickly
from sim_planting import planted
from sim_runs import sharing
from test_sim_remake_canaries import assign_the_old_ids, serve_the_old_log

from kcore.broker.share.keeping import ShareStates
from kcore.broker.share.partition import Acknowledgement
from kcore.broker.share.shares import Shares
from kcore.broker.share.states import RecordState
from kcore.broker.topics import Catalog
from kcore.share import answers, exchange
from kcore.share.session import ShareSession
from kcore.share.stock import Stock
from kcore.sim import Fault, Rule

SEEDS = 40


def remaking(seed, *, remakes=True, **more):
    """Topics go and come, and links are slow now and then; of the rest not much happens."""
    plan = {
        "faults": {Fault.STALL: 400, Fault.REMAKE: 1_000},
        "members": 3,
        "brokers": 3,
        "topics": 1 + seed % 2,
        "partitions": 3,
        "latency_ms": (0, 8),
        "lock_ms": 6_000,
        "append_every_ms": 40,
        "records_per_append": 5,
        "poll_every_ms": (20, 200),
        "explicit_share": (0.0, 1.0, 0.5)[seed % 3],
        "metadata_max_age_ms": (500, 600_000)[seed % 2],
    }
    plan |= more
    if not remakes:
        plan["faults"] = {one: ms for one, ms in plan["faults"].items() if one is not Fault.REMAKE}
    return sharing(seed, **plan)


# Clients -----------------------------------------------------------------------------------------


def keep_the_old_id(patch):
    """Sessions go on with the topic that is gone."""
    original = ShareSession.change_to

    def change_to(self, wanted):
        return original(self, {tp: self.partitions.get(tp, at) for tp, at in wanted.items()})

    patch.setattr(ShareSession, "change_to", change_to)


def say_it_of_the_new_one(patch):
    """What became of records of the old one is told of those of the new one."""
    original = Stock.collect

    def collect(self, deadline_ms):
        sheets = original(self, deadline_ms)
        for sheet in sheets:
            now = self._topic_id(sheet.place.tp.topic) or sheet.place.topic_id
            sheet.place = sheet.place._replace(topic_id=now)
        return sheets

    patch.setattr(Stock, "collect", collect)


def hand_over_what_is_gone(patch):
    original = Stock.__init__
    patch.setattr(Stock, "__init__", lambda self, _id, *more: original(self, {}.get, *more))


def say_it_again_and_again(patch):
    """That a topic is gone, of which something is said, may pass."""
    patch.setattr(answers, "_LOST", answers._MOVED)


def read_what_is_spoken_of(patch):
    """An acknowledgement brings a topic back into a session that has forgotten it."""
    original = exchange.fetch_request

    def request(config, member_id, epoch, added, gone, sheets, version):
        spoken_of = {(one.place.topic_id, one.place.tp.partition) for one in sheets}
        left = [one for one in gone if one not in spoken_of]
        return original(config, member_id, epoch, added, left, sheets, version)

    patch.setattr(exchange, "fetch_request", request)


# Brokers -----------------------------------------------------------------------------------------


def keep_what_was_of_it(patch):
    patch.setattr(ShareStates, "forget_topics", lambda self, topic_ids: None)


def hold_what_was_of_it(patch):
    """The node that led it."""
    original = Shares.forget

    def forget(self, group_id, topic_ids):
        if group_id is not None:
            original(self, group_id, topic_ids)

    patch.setattr(Shares, "forget", forget)


def begin_where_the_old_one_was(patch):
    """States go by names (there is one topic)."""
    original, found = ShareStates.forget_topics, ShareStates.get
    gone, left = set(), {}  # topic ids; of each book, where it was

    def forget(self, topic_ids):
        gone.update(topic_ids)
        for (group_id, of, number), kept in self._kept.items():
            if of in topic_ids:
                left[self, group_id, number] = kept
        original(self, topic_ids)

    def get(self, key):
        group_id, topic_id, number = key
        if topic_id in gone:
            return None
        return found(self, key) or left.get((self, group_id, number))

    patch.setattr(ShareStates, "forget_topics", forget)
    patch.setattr(ShareStates, "get", get)


def take_words_on_what_is_gone(patch):
    original = Shares.acknowledge

    def acknowledge(self, key, member, said):
        if self._cluster.topics.name_of(key[1]) is not None:
            original(self, key, member, said)

    patch.setattr(Shares, "acknowledge", acknowledge)


def count_them_for_the_new_one(patch):
    """By the name, whoever has the records; and who says it is told that there is no such topic."""
    original, created = Shares.acknowledge, Catalog.create
    names = {}

    def create(self, name, *rest, **more):
        topic = created(self, name, *rest, **more)
        names[topic.topic_id] = name
        return topic

    def acknowledge(self, key, member, said):
        now = self._cluster.topics.id_of(names[key[1]])
        share = None if now in {None, key[1]} else self.look((key[0], now, key[2]))
        for run in [] if share is None else share.runs():
            if run.state is RecordState.ACQUIRED and run.first <= said[-1].last:
                share.acknowledge(run.member, [Acknowledgement(run.first, run.last, (1,))], 0)
        original(self, key, member, said)

    patch.setattr(Catalog, "create", create)
    patch.setattr(Shares, "acknowledge", acknowledge)


ALONE = {"faults": {Fault.REMAKE: 1_000}, "explicit_share": 1.0}
SLOW = {"brokers": 1, "members": 6, "poll_every_ms": (20, 2_500)}
FEW_RECORDS = {
    "members": 4,
    "brokers": 2,
    "topics": 2,
    "lock_ms": 2_000,
    "append_every_ms": 150,
    "records_per_append": 3,
    "poll_every_ms": (20, 300),
}
BUGS = [
    (keep_the_old_id, {Rule.SETTLES, Rule.PROGRESS}, {}),
    (say_it_of_the_new_one, {Rule.SAID}, {}),
    (hand_over_what_is_gone, {Rule.HANDED}, {}),
    (say_it_again_and_again, {Rule.TOLD}, ALONE),
    (read_what_is_spoken_of, {Rule.HANDED, Rule.SETTLES}, FEW_RECORDS),
    (keep_what_was_of_it, {Rule.BOUNDED}, {}),
    (hold_what_was_of_it, {Rule.BOUNDED}, {}),
    (begin_where_the_old_one_was, {Rule.DONE_ONCE, Rule.COUNTED, Rule.SETTLES}, {"topics": 1}),
    (take_words_on_what_is_gone, {Rule.HELD_ONCE}, {}),
    (count_them_for_the_new_one, {Rule.DONE_ONCE}, SLOW),
    (serve_the_old_log, {Rule.DONE_ONCE}, {}),
    (assign_the_old_ids, {Rule.SETTLES}, {}),
]
QUICK = {say_it_of_the_new_one}


@pytest.mark.parametrize("seed", quickly(1, of=5, begin=1))
def test_without_one_all_is_well(seed):
    violation = remaking(seed).violation
    assert violation is None, str(violation)


def test_a_last_request_that_lingers_ends_the_next_session():
    """As by a Kafka: it is nobody's fault that somebody else has the records then."""
    options = {
        "members": 4,
        "topics": 2,
        "poll_every_ms": (20, 200),
        "metadata_max_age_ms": 600_000,
    }
    faults = {Fault.REMAKE: 1_000, Fault.STALL: 300}
    violation = remaking(1337, **options, faults=faults, explicit_share=0.5).violation
    assert violation is None, str(violation)


@pytest.mark.parametrize(("bug", "rules", "options"), planted(BUGS, QUICK))
def test_a_planted_bug_is_found_by_that_alone(bug, rules, options, monkeypatch, seeds):
    bug(monkeypatch)
    for seed in seeds:
        violation = remaking(seed, **options).violation
        if violation is not None:
            assert violation.rule in rules, str(violation)
            break
    else:
        pytest.fail(f"{SEEDS} seeds do not find it")
    for seed in range(1, 4):
        violation = remaking(seed, remakes=False, **options).violation
        assert violation is None, str(violation)
