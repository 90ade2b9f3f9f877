"""Being there: importing, the first record of a new group, and idling."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from plan import Plan
from rounds import last_line
from topics import Shape, fill

HERE = Path(__file__).resolve().parent
IDLE_PARTITIONS = 200
IMPORTS = {
    "nothing": "",
    "kcore": "import kcore",
    "kcore Consumer": "from kcore import Consumer",
    "confluent-kafka": "from confluent_kafka import Consumer",
    "aiokafka": "from aiokafka import AIOKafkaConsumer",
    "kafka-python": "from kafka import KafkaConsumer",
}
WATCH = "import time; t = time.perf_counter(); {}\nprint((time.perf_counter() - t) * 1000)"
FIRST = {
    "kcore": "first_kcore.py",
    "confluent-kafka": "first_confluent.py",
    "aiokafka": "first_aiokafka.py",
    "kafka-python": "first_kafka_python.py",
}


def startup(bootstrap: str, plan: Plan) -> dict[str, Any]:
    """Milliseconds of every start: of the import alone, and from process to first record.

    Of the latter also the CPU time of the whole process, which a busy machine leaves alone.
    """
    shape = Shape(min(plan.records, 1_000), 100, 4)
    fill(bootstrap, shape)
    imports: dict[str, list[float]] = {name: [] for name in IMPORTS}
    firsts: dict[str, list[float]] = {name: [] for name in FIRST}
    cpus: dict[str, list[float]] = {name: [] for name in FIRST}
    for number in range(-1, plan.starts):  # the first warms the files up
        for name, statement in IMPORTS.items():
            took = import_ms(statement)
            if number >= 0:
                imports[name].append(took)
        for name, script in FIRST.items():
            before = children_cpu_s()
            took = first_record_ms(HERE / "first" / script, bootstrap, shape.topic)
            if number >= 0:
                firsts[name].append(took)
                cpus[name].append((children_cpu_s() - before) * 1000)
    return {"import_ms": imports, "first_record_ms": firsts, "first_record_cpu_ms": cpus}


def children_cpu_s() -> float:
    """Of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def import_ms(statement: str) -> float:
    """Inside a new interpreter, which starts in any case."""
    return float(output([sys.executable, "-c", WATCH.format(statement)]))


def first_record_ms(script: Path, bootstrap: str, topic: str) -> float:
    """From just before the process to the record; both read the clock of the machine."""
    began = time.monotonic()
    group = f"first-{uuid.uuid4().hex}"
    got = float(output([sys.executable, str(script), bootstrap, topic, group]))
    return (got - began) * 1000


def output(command: list[str]) -> str:
    # Installed packages have their bytecode; so has kcore then, after the first start.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=env)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout.splitlines()[-1]


def idle(bootstrap: str, plan: Plan) -> dict[str, Any]:
    """CPU and wakeups of members of groups with nothing to read, all at the same time."""
    shape = Shape(0, 100, IDLE_PARTITIONS)
    fill(bootstrap, shape)

    def watch(client: str) -> dict[str, Any]:
        script = [sys.executable, str(HERE / "readers" / "idle.py"), "--client", client]
        script += ["--bootstrap", bootstrap, "--topic", shape.topic]
        script += ["--group", f"idle-{uuid.uuid4().hex}"]
        return last_line([*script, "--settle", str(plan.settle), "--seconds", str(plan.idle)])

    with ThreadPoolExecutor(len(FIRST)) as pool:
        found = dict(zip(FIRST, pool.map(watch, FIRST), strict=True))
    return {"partitions": IDLE_PARTITIONS, "seconds": plan.idle, "clients": found}
