"""What streams groups have since Kafka 4.4: members with instance ids, offsets of tasks, tags that
clients have to have, descriptions of topologies.
"""

import random

import pytest
from streams_sides import Beat, internal, of_kafkas, of_ours, owning, part, task_ids, tasks

from kcore.wire import messages as m

RELEASE = (4, 4)
STATELESS = part(0, ["in"])
AWAY = -2


def owned(answer):
    return owning(tasks(answer.active_tasks), tasks(answer.standby_tasks))


def instances(seen):
    """Who goes for a while keeps what it has, for who comes back in its place."""
    seen.side.topic("in", 4)
    seen.has(STATELESS)
    one = seen.enter("m1", instance_id="i1").member_epoch
    seen.enter("m2", instance_id="i1")
    seen.enter("m1", instance_id="i1")
    two = seen.enter("m2", instance_id="i2").member_epoch
    seen.describe()
    one = seen.beat("m1", one, instance_id="i1", **owning({"0": [0, 1]})).member_epoch
    two = seen.beat("m2", two, instance_id="i2").member_epoch
    seen.describe()
    for member, epoch, instance in (
        ("m1", one, "i3"), ("m1", one + 1, "i1"),
        ("m1", one - 5, "i1"), ("m3", AWAY, "i1"), ("m1", AWAY, "i9"), ("m1", -1, "i2"),
        ("m1", AWAY, None), ("m1", -3, "i1"),
    ):  # fmt: skip
        seen.beat(member, epoch, instance_id=instance)
    seen.beat("m1", one)  # it need not say its instance id
    seen.beat("m1", AWAY, instance_id="i1")
    seen.describe()
    seen.beat("m1", AWAY, instance_id="i1")
    seen.beat("m1", one, instance_id="i1")
    seen.beat("m2", two, instance_id="i2")
    one = seen.enter("m1b", "process-m1", instance_id="i1").member_epoch
    seen.describe()
    seen.beat("m1", one)
    seen.beat("m1b", one, instance_id="i1")
    seen.beat("m2", two, instance_id="i2")
    # The same member, and one of another process.
    seen.beat("m1b", AWAY, instance_id="i1")
    one = seen.enter("m1b", "process-m1", instance_id="i1").member_epoch
    seen.describe()
    seen.beat("m1b", AWAY, instance_id="i1", shutdown_application=True)
    seen.enter("m1c", instance_id="i1", rack_id="r")
    seen.describe()
    seen.beat("m1c", -1, instance_id="i1")
    seen.describe()
    two = seen.beat("m2", two, instance_id="i2").member_epoch
    seen.beat("m2", -1)
    seen.describe()
    one = seen.enter("m3", instance_id="i1").member_epoch
    seen.describe()
    seen.beat("m3", AWAY, instance_id="i1")
    seen.enter("m4", instance_id="i1")
    # Of who has the instance id a Kafka 4.4.0 forgets what it is to get, once another one has come
    # with it: not so here, where the next step is that of the target.
    seen.beat("m3", one, instance_id="i1")


def instances_that_are_silent(seen):
    """Who does not come back in time is taken out."""
    seen.side.configure(heartbeat_interval_ms="100", session_timeout_ms="1000")
    seen.side.topic("in", 2)
    seen.has(STATELESS)
    one = seen.enter("m1", instance_id="i1").member_epoch
    seen.beat("m1", AWAY, instance_id="i1")
    seen.side.run(500)
    seen.describe()
    seen.side.run(900)
    seen.describe()
    seen.beat("m1", one, instance_id="i1")
    seen.enter("m2", instance_id="i1")


def reported(active=(), ends=()):
    """Offsets of tasks: (subtopology, partition, offset)."""
    made = [
        [Beat.TaskOffset(subtopology_id=s, partition=p, offset=o) for s, p, o in found]
        for found in (active, ends)
    ]
    return {"task_offsets": made[0], "task_end_offsets": made[1]}


def task_offsets(seen):
    """Who has most of a task's state is first to be its standby."""
    seen.side.configure(num_standby_replicas="1")
    seen.side.topic("in", 3)
    seen.side.topic("store", 3)
    seen.has(part(0, ["in"], changelogs=[internal("store")]))
    some = reported([("0", 1, 5), ("0", 0, 7)], [("0", 0, 9)])
    seen.enter("m1", **some)
    one = seen.enter("m1", rack_id="r", **some).member_epoch
    seen.describe()
    seen.beat("m1", one, **reported([("0", 1, 1), ("0", 1, 1)]))
    seen.beat("m1", one, **reported([("0", 1, 1), ("x", 7, -1)], [("0", 1, 3)]))
    seen.describe()
    seen.beat("m1", one, task_offsets=[])
    seen.describe()
    seen.beat("m1", one, **reported([], [("1", 1, 1)]))
    for name, offset in (("m2", 10), ("m3", 30), ("m4", 20)):
        seen.enter(name, **reported([("0", number, offset) for number in range(3)]))
        seen.describe()
    seen.beat("m3", -1)
    seen.describe()
    seen.enter("m5")
    seen.describe()


def tags(seen):
    """Keys of tags that members have to have; who asks by version 0 does not know of it."""
    seen.side.topic("in", 2)
    seen.has(STATELESS)
    seen.side.configure(rack_aware_assignment_tags="zone, cluster")
    zone = [Beat.KeyValue(key="zone", value="a")]
    both = [*zone, Beat.KeyValue(key="cluster", value="b")]
    one = seen.enter("m1", client_tags=zone).member_epoch
    seen.enter("m1", client_tags=both)
    seen.enter("m1", client_tags=[])
    one = seen.enter("m1", client_tags=None).member_epoch
    request = Beat(group_id=seen.side.group, member_id="m1", member_epoch=one)
    seen.ask(request, 0)
    seen.side.configure(rack_aware_assignment_tags="cluster")
    one = seen.beat("m1", one).member_epoch
    seen.describe()
    seen.side.configure(rack_aware_assignment_tags="")
    seen.beat("m1", one)


def told(seen):
    """Options that members are told of."""
    seen.side.topic("in", 1)
    seen.has(STATELESS)
    seen.side.configure(
        acceptable_recovery_lag="5000000000", task_offset_interval_ms="15000",
        num_warmup_replicas="3", assignor_name="sticky",
    )  # fmt: skip
    seen.enter("m1")
    seen.describe()
    request = Beat(
        group_id=f"{seen.side.group}-b", member_id="m1", topology=seen.topology, process_id="p",
        rebalance_timeout_ms=1_000, **owning(),
    )  # fmt: skip
    seen.ask(request, 0)


def endpoint_epochs(seen):
    """Which epoch they have, and what tasks read."""
    seen.side.topic("in", 4)
    seen.side.topic("narrow", 2)
    seen.has(part(0, ["in", "narrow"]))
    here, there = (Beat.Endpoint(host=name, port=1) for name in ("here", "there"))
    seen.enter("m1", user_endpoint=here)
    seen.enter("m1", user_endpoint=here)
    one = seen.enter("m1").member_epoch
    seen.describe()
    one = seen.beat("m1", one, user_endpoint=there).member_epoch
    one = seen.beat("m1", one, user_endpoint=there, endpoint_information_epoch=1).member_epoch
    two = seen.enter("m2", user_endpoint=here).member_epoch
    one = seen.beat("m1", one, **owning({"0": [0, 1]})).member_epoch
    seen.beat("m2", two)
    seen.enter("m2")


def endpoints_that_cannot_be_said(seen):
    """As long as topics are missing; that there was something to say is remembered all the same."""
    seen.has(STATELESS)
    here = Beat.Endpoint(host="here", port=1)
    one = seen.enter("m1").member_epoch
    seen.enter("m2", user_endpoint=here, shutdown_application=True)
    seen.beat("m1", one)
    seen.beat("m1", one, endpoint_information_epoch=1)
    seen.describe()


def parts_without_tasks(seen):
    """Of each part that a member names there has to be one; what is wrong first is told."""
    seen.side.topic("in", 2)
    seen.has(STATELESS)
    one = seen.enter("m1").member_epoch
    for active, standby in (
        ({"x": []}, {}), ({}, {"y": []}), ({"0": [5], "x": []}, {}), ({"x": [], "0": [5]}, {}),
        ({"0": [1, 9, 7]}, {"x": []}), ({"0": []}, {"0": [2]}),
    ):  # fmt: skip
        seen.beat("m1", one, **owning(active, standby))


def offsets_of_who_returns(seen):
    """Who comes back under its own id has said in vain how far it is; under another it has not."""
    seen.side.topic("in", 2)
    seen.has(STATELESS)
    seen.enter("m0")
    for name in ("m1", "m1", "m2"):
        seen.enter(name, "p", instance_id="i1", **reported([("0", 1, 5)], [("0", 1, 9)]))
        seen.describe()
        seen.beat(name, AWAY, instance_id="i1")


def crowd(seen):
    """Many members: where they are alike, the order decides in which a Kafka goes over them."""
    seen.side.configure(num_standby_replicas="1")
    seen.side.topic("in", 9)
    seen.side.topic("store", 9)
    seen.has(part(0, ["in"], changelogs=[internal("store")]))
    rng = random.Random(1)
    for number in range(40):
        name = f"m{rng.randrange(5)}-{rng.randrange(5)}"
        if rng.random() < 0.2:
            seen.beat(name, -1)
        else:
            seen.enter(name, "p" if name < "m3" else "q")
        if number % 5 == 4:
            seen.describe()


def warmups(seen):
    """There are none; who says that it has some says what could be."""
    seen.side.topic("in", 2)
    seen.has(STATELESS)
    one = seen.enter("m1").member_epoch
    for warmup in ({"0": [0]}, {"0": [2]}, {"x": [0]}):
        seen.beat("m1", one, **owning() | {"warmup_tasks": task_ids(warmup)})
        seen.beat("m1", one - 1, **owning() | {"warmup_tasks": task_ids(warmup)})


def descriptions(seen):
    """Nobody keeps them where there is no plug-in."""
    seen.side.topic("in", 1)
    seen.has(STATELESS)
    seen.describe(include_topology_description=True)
    seen.enter("m1")
    seen.describe(include_topology_description=True)
    U = m.StreamsGroupTopologyDescriptionUpdateRequest
    nothing = U.TopologyDescription()
    update = U(group_id=seen.side.group, member_id="m1", topology_description=nothing)
    for request in (update, U(topology_description=nothing)):
        answer = seen.side.client.ask(request, 0)
        seen.note((answer.error_code, answer.error_message))
    seen.delete()


class Member:
    """A member, perhaps with an instance id: what it was told last, and whether it has done it."""

    def __init__(self, seen, number, rng):
        self._seen, self._number, self._rng = seen, number, rng
        self._instance = f"i{number}" if number % 2 else None
        self._lives = 0
        self._name, self._epoch, self._has = "", 0, owning()

    def step(self):
        what = self._rng.random()
        more = {} if self._instance is None else {"instance_id": self._instance}
        if self._rng.random() < 0.2:
            offsets = [("0", number, self._rng.randrange(50)) for number in range(5)]
            more |= reported(self._rng.sample(offsets, self._rng.randrange(4)))
        if not self._epoch:
            self._lives += 1
            self._name = f"m{self._number}-{self._lives if self._instance else 0}"
            self._take(self._seen.enter(self._name, f"p{self._number % 3}", **more))
        elif what < 0.8:
            says = self._has if what < 0.6 else {}
            self._take(self._seen.beat(self._name, self._epoch, **says, **more))
        else:
            leaves = AWAY if self._instance and what < 0.92 else -1
            self._seen.beat(self._name, leaves, **more)
            self._epoch, self._has = 0, owning()

    def _take(self, answer):
        self._epoch = 0 if answer.error_code else answer.member_epoch
        if answer.active_tasks is not None:
            self._has = owned(answer)


def comings(seed):
    """Members come, go for a while or for good, and say how far they are."""

    def scenario(seen):
        rng = random.Random(seed)
        seen.side.configure(num_standby_replicas=str(rng.choice((1, 2))))
        for name, size in (("in", 5), ("store", 5), ("words", 3)):
            seen.side.topic(name, size)
        seen.has(
            part(0, ["in"], sinks=["words"], changelogs=[internal("store")]),
            part(1, repartitions=[internal("words", 3)]),
        )
        members = [Member(seen, number, rng) for number in range(5)]
        for step in range(150):
            rng.choice(members[: 2 + step // 30]).step()
            if step % 10 == 9:
                seen.describe()

    scenario.__name__ = f"comings_{seed}"
    return scenario


SCENARIOS = [
    instances, instances_that_are_silent, task_offsets, tags, told, endpoint_epochs, warmups,
    endpoints_that_cannot_be_said, parts_without_tasks, offsets_of_who_returns, crowd,
    descriptions,
    *(comings(seed) for seed in range(6)),
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_we_say_what_a_kafka_said(scenario):
    of_ours(scenario, RELEASE)


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_kafka_says_the_same(scenario, kafka):
    of_kafkas(scenario, kafka, (RELEASE,))
