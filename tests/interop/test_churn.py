"""Members come, go and are killed at random while topics grow and are written to."""

import random
import time
from functools import partial

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CHURN_S = 40
MEMBERS_MAX = 8
PARTITIONS, PARTITIONS_MAX = 6, 16
CLASSIC = {"session_timeout_ms": 3_000, "heartbeat_interval_ms": 300}
CONSUMER = {"group_protocol": "consumer"}
SOON = {"metadata_max_age_ms": 2_000}  # new partitions are found


@pytest.mark.parametrize(
    ("seed", "kinds"),
    [(7, [CLASSIC]), (8, [CONSUMER]), (9, [CLASSIC, CONSUMER])],
    ids=["classic", "consumer", "both"],
)
def test_nothing_is_lost_or_doubled_whatever_happens_to_members(
    kafka, names, group_on, writer, quick, seed, kinds
):
    rng = random.Random(seed)
    quick(kafka)
    kafka.create_topic(names.topic, PARTITIONS)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    group = group_on(kafka)
    partitions, members, killed = PARTITIONS, [], 0

    def join():
        transport = rng.choice(("blocking", "selectors", "gevent"))
        members.append(group.add(transport=transport, **rng.choice(kinds), **SOON))

    def one_of_them():
        return members.pop(rng.randrange(len(members)))

    with writer(kafka, names.topic) as writing:
        for _ in range(3):
            join()
        end_s = time.monotonic() + CHURN_S
        while time.monotonic() < end_s:
            time.sleep(rng.uniform(0.2, 2.0))
            group.wait(lambda: True)  # takes in what they said; fails if one of them has
            what = rng.choice(("join", "join", "kill", "kill", "leave", "grow"))
            if what == "join" and len(members) < MEMBERS_MAX:
                join()
            elif what == "kill" and len(members) > 1:
                group.kill(one_of_them())
                killed += 1
            elif what == "leave" and len(members) > 1:
                group.leave(one_of_them())
            elif what == "grow" and partitions < PARTITIONS_MAX:
                partitions += 2
                grown = [NewPartitions(names.topic, partitions)]
                admin.create_partitions(grown)[names.topic].result(10)
        writing.stop()
        ends = kafka.end_offsets(names.topic)
        group.wait_shared(members, partitions, timeout_s=60.0)
        kept = partial(kafka.group_offsets, names.group, names.topic)
        group.wait_read(lambda: ends, timeout_s=90.0, kept=kept)
    group.stop()
    assert killed >= 3
    assert partitions > PARTITIONS
    group.sessions.check(ends)
