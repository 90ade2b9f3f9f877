"""The assignor of streams groups beside Kafka's own (tests/java/AssignStreams.java), by rounds:
the same tasks for the same members, ties and all.
"""

import json
import random
import subprocess
from pathlib import Path

import pytest

from kcore.coordinator.numbered import grouped
from kcore.coordinator.streams.assignor import Worker, assign
from kcore.coordinator.streams.configuring import Part
from kcore.coordinator.streams.member import NO_TARGET
from kcore.coordinator.streams.topology import InternalTopic, Subtopology

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
PROGRAM = Path(__file__).resolve().parents[1] / "java" / "AssignStreams.java"
ROUNDS = 30


@pytest.fixture(scope="module")
def java(installation):
    command = installation.command(str(PROGRAM))
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
                        grouped(one.target.active),
                        grouped(one.target.standby),
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


def shown(plan):
    return {
        name: [grouped(target.active), grouped(target.standby)] for name, target in plan.items()
    }


@pytest.mark.parametrize("seed", range(60))
def test_the_same_tasks_for_the_same_members(seed, java):
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
        found = assign(workers, parts, standbys)
        assert shown(found) == java(workers, parts, standbys)
        workers = {name: Worker(one.process_id, found[name]) for name, one in workers.items()}
        every = [task for target in found.values() for task in target.active]
        assert len(every) == len(set(every)) == sum(one.task_count for one in parts.values())
