"""The assignor of streams groups beside that of Kafka 4.4 (tests/java/AssignStreams.java): the same
tasks for the same members, round by round, ties and all. Of 4.3 there is what it has given.
"""

import hashlib
import json
import random
import subprocess

import java_programs
import pytest

from kcore.coordinator.numbered import grouped
from kcore.coordinator.streams.assignor import Worker, assign
from kcore.coordinator.streams.configuring import Part
from kcore.coordinator.streams.member import NO_TARGET, Tasks
from kcore.coordinator.streams.topology import InternalTopic, Subtopology

ROUNDS = 30
# Of the plans that the assignor of Kafka 4.3 made, by seed.
DIGESTS = """
1a162440 2ba1e043 16f040c0 e3dd63ef 4a0b20ec 7367a8f1 f3a308b3 89b40b58 bbf099bc d5b334e3
8ec9a727 0f8e9e4b d74e9580 3f46c538 b0d37943 740609a1 bccb4091 641e1553 6797c6bb 009d41e9
3e821869 e20051a1 29ecd79e 2e2c47c8 11c96fd4 5459babe dc897b8e eb5ffe87 4c8f199a 0f236f8e
717b930d 67929791 80b17f73 9b83c857 16af653a d4ba34c0 7a6074e8 087e78f2 b93902de d9d6758c
906062f6 dea23a1e 766b71cd 4431d5e5 c64fd159 d4a89524 424d2edd 638c4530 c2dda67b 70824112
800b5ab8 2ade867e 2c6b2e98 6366678c 450fb708 759a6840 09067580 73091000 c67c55fe 16358364
"""

# Those of Kafka 4.4, where members say how far they are.
DIGESTS_44 = """
df708af5 b1ee5739 4de92317 2b74eafc 4ca2bf3b dea6d1ad 7fa652ea 6b912c8a c9fa584a 363e4bc6
d6196108 c5326632 4e2da735 3d6b5812 aba035b9 c5509840 67b41fb2 d7c9bf31 69220999 c57a3f11
1c7c1cae eaba6b8d 0dedb414 3c1c205d 878f44c7 d84a9106 b2ad2b9d 0d649f73 221c04f9 5f2618d0
b799c47b 8d7e2e7a 6e775faf 672ac07b 5c27afbd ac67bdda fb87bcdf 4d157544 6f218266 8875c49b
9902c7be 61d7b2ca d580100a 4903ead6 9a9b9ab8 026a904e a401e60a eaff07f2 30ff3982 d67c2003
4cd97d5a 98f9c0b8 3e249975 221bb833 27312bfe 0d0b26cc 546e70bb 6787bbc1 17445743 b10aead0
"""


@pytest.fixture(scope="module")
def java(installation):
    command = java_programs.command(installation, "AssignStreams")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:

        def ask(workers, parts, standbys):
            group = {
                "standbys": standbys,
                "parts": {name: [one.task_count, one.is_stateful] for name, one in parts.items()},
                "members": [
                    [
                        name,
                        one.process_id,
                        grouped(one.had.active),
                        grouped(one.had.standby),
                        nested(one.offsets),
                    ]
                    for name, one in workers.items()
                ],
            }
            process.stdin.write(json.dumps(group) + "\n")
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()
        assert process.wait(20) == 0


def part(name, tasks, *, stateful):
    store = (InternalTopic("store", tasks, 0, ()),) if stateful else ()
    return Part(Subtopology(name, ("in",), (), (), (), store, ()), tasks, (), store)


def nested(offsets):
    found = {}
    for (name, number), offset in offsets.items():
        found.setdefault(name, {})[number] = offset
    return found


def shown(plan):
    return {
        name: [grouped(target.active), grouped(target.standby)] for name, target in plan.items()
    }


def after(rng, process, target, parts):
    """A member some time after it got a target."""
    had = Tasks(
        *(
            frozenset(task for task in sorted(tasks) if rng.random() < 0.8)
            for tasks in (target.active, target.standby)
        )
    )
    every = [(name, number) for name, one in parts.items() for number in range(one.task_count)]
    some = sorted(had.standby) if rng.random() < 0.5 else every
    offsets = {task: rng.randrange(3) for task in some if rng.random() < 0.4}
    return Worker(process, had, offsets)


def rounds(seed, *, as_44=False):
    """Members come and go: who is there, the parts, how many standbys, and what they are to get.
    as_44: and do not have all of it yet, but state of other tasks.
    """
    rng = random.Random(seed)
    parts = {
        str(number): part(str(number), rng.randint(1, 12), stateful=rng.random() < 0.7)
        for number in range(rng.randint(1, 4))
    }
    standbys = rng.choice((0, 0, 1, 1, 2, 3))
    processes = [f"{rng.getrandbits(128):032x}" for _ in range(rng.randint(1, 6))]
    workers = {}
    for _ in range(ROUNDS):
        for _ in range(rng.randint(1, 4)):
            if workers and rng.random() < 0.4:
                del workers[rng.choice(sorted(workers))]
            else:
                name = f"{rng.getrandbits(128):032x}"
                workers[name] = Worker(rng.choice(processes), NO_TARGET)
        if not workers:
            continue
        if rng.random() < 0.1:
            standbys = rng.randint(0, 3)
        found = assign(workers, parts, standbys, as_44=as_44)
        yield workers, parts, standbys, found
        workers = {
            name: after(rng, one.process_id, found[name], parts)
            if as_44
            else Worker(one.process_id, found[name])
            for name, one in workers.items()
        }


def digest(plans):
    """Eight digits that stand for all of them."""
    text = json.dumps(list(plans), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@pytest.mark.parametrize("seed", range(60))
def test_the_same_tasks_as_a_kafka_4_3_has_given(seed):
    assert digest(shown(found) for *_, found in rounds(seed)) == DIGESTS.split()[seed]


@pytest.mark.parametrize("seed", range(60))
def test_the_same_tasks_as_kafka_has_given(seed):
    """The test below says what differs, if this one fails."""
    found = digest(shown(found) for *_, found in rounds(seed, as_44=True))
    assert found == DIGESTS_44.split()[seed]


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_the_same_tasks_for_the_same_members(seed, java):
    plans = []
    for workers, parts, standbys, found in rounds(seed, as_44=True):
        plans.append(java(workers, parts, standbys))
        assert shown(found) == plans[-1]
        every = [task for target in found.values() for task in target.active]
        assert len(every) == len(set(every)) == sum(one.task_count for one in parts.values())
    assert digest(plans) == DIGESTS_44.split()[seed]
