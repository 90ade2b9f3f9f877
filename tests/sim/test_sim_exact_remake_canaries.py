"""Bugs around producers, and who reads what they write, that show where topics are deleted and made
anew under their names, and nowhere else.
"""

import pytest
from longer import quickly
from sim_planting import planted
from sim_runs import exactly
from test_sim_remake_canaries import keep_the_old_offsets, keep_the_old_position, serve_the_old_log

from kcore.broker.topics import Catalog
from kcore.broker.transactions import Fate, Transactions
from kcore.produce.lane import Lane
from kcore.sim import Fault, Rule

SEEDS = 25
PLAIN = {"transactional_share": 0.0}


def remaking(seed, *kinds, remakes=True, **more):
    """Topics go and come."""
    remake = [Fault.REMAKE] if remakes else []
    return exactly(seed, *kinds, *remake, **{"topics": 2, "poll_every_ms": (20, 300)} | more)


def go_on_in_the_new_log(patch):
    """A producer sends to it while what was sent to the old one is not answered."""
    patch.setattr(Lane, "moves_to", lambda *_: True)


def end_nothing_in_the_new_log(patch):
    """A coordinator takes it that who began in a topic that is gone has nothing in the new one."""
    original, deleted = Transactions._fate, Catalog.delete
    gone = set()  # with the catalogs, which are of one run each

    def delete(self, topic):
        gone.add((self, topic.name))
        deleted(self, topic)

    def fate(self, unwritten, tp, now_ms):
        if (self._cluster.topics, tp.topic) in gone:
            return Fate.WRITTEN
        return original(self, unwritten, tp, now_ms)

    patch.setattr(Catalog, "delete", delete)
    patch.setattr(Transactions, "_fate", fate)


BUGS = [
    (go_on_in_the_new_log, {Rule.IN_ORDER}, (Fault.LEADER_MOVE, Fault.STALL), PLAIN),
    (end_nothing_in_the_new_log, {Rule.SETTLES, Rule.ALL_OR_NOTHING}, (), {}),
    (keep_the_old_position, {Rule.NEVER_SKIPS, Rule.SETTLES}, (), {}),
    (keep_the_old_offsets, {Rule.SETTLES}, (), {}),
    (serve_the_old_log, {Rule.WRITTEN_ONCE, Rule.SETTLES, Rule.NEVER_SKIPS}, (), {}),
]


@pytest.mark.parametrize("seed", quickly(1, of=3, begin=1))
def test_without_one_all_is_well(seed):
    violation = remaking(seed).violation
    assert violation is None, str(violation)


@pytest.mark.parametrize(("bug", "rules", "kinds", "options"), planted(BUGS, quick=()))
def test_a_planted_bug_is_found_by_that_alone(bug, rules, kinds, options, monkeypatch, seeds):
    bug(monkeypatch)
    for seed in seeds:
        violation = remaking(seed, *kinds, **options).violation
        if violation is not None:
            assert violation.rule in rules, str(violation)
            break
    else:
        pytest.fail(f"{SEEDS} seeds do not find it")
    for seed in range(1, 4):
        assert remaking(seed, *kinds, remakes=False, **options).violation is None
