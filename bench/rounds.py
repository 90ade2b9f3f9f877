"""Runs of contenders, one after the other and round by round, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from contenders import CONTENDERS, UnavailableError
from topics import Shape, fill

RUN_TIMEOUT_S = 120

# A topic that is deleted leaves at once what it had in the page cache (`spark_speed.Target`).
SETTINGS = {"log.segment.delete.delay.ms": "100", "log.initial.task.delay.ms": "100"}

Figures = dict[str, Any]  # what readers/common.py prints
Runs = dict[str, list[Figures]]  # by contender (or another name for the case), by round


class Case(NamedTuple):
    """One contender and what it reads."""

    contender: str
    shape: Shape
    max_poll_records: int = 500
    records: int | None = None  # all of the topic unless given


@contextmanager
def kafka(bootstrap: str | None) -> Iterator[str]:
    """The Kafka named, or one of our own for as long as this lasts."""
    if bootstrap:
        yield bootstrap
        return
    from kcore.cli.demo.kafka_cluster import KafkaCluster

    with KafkaCluster(nodes=1, jvm="server", settings=SETTINGS) as cluster:
        yield cluster.bootstrap


def side_by_side(names: list[str], shape: Shape, max_poll_records: int = 500) -> dict[str, Case]:
    """The same for everyone."""
    return {name: Case(name, shape, max_poll_records) for name in names}


def measure(bootstrap: str, cases: Mapping[str, Case], rounds: int, *, warm: bool = True) -> Runs:
    """Every case once a round. warm: a first round does not count."""
    for shape in dict.fromkeys(case.shape for case in cases.values()):
        fill(bootstrap, shape)
    commands = commands_of(cases)
    runs: Runs = {name: [] for name in commands}
    for number in range(-1 if warm else 0, rounds):
        for name, command in commands.items():
            found = run(command, bootstrap, cases[name])
            if number >= 0:
                runs[name].append(found)
    agree(runs, cases)
    return runs


def commands_of(cases: Mapping[str, Case]) -> dict[str, list[str]]:
    """What to run, of those that can take part."""
    commands: dict[str, list[str]] = {}
    for name, case in cases.items():
        contender = CONTENDERS[case.contender]
        if contender.codecs is not None and case.shape.codec not in contender.codecs:
            continue
        try:
            commands[name] = contender.command()
        except UnavailableError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return commands


def run(command: list[str], bootstrap: str, case: Case) -> Figures:
    """One contender, once."""
    shape = case.shape
    options = {
        "--bootstrap": bootstrap,
        "--topic": shape.topic,
        "--partitions": str(shape.partitions),
        "--records": str(case.records or shape.records // CONTENDERS[case.contender].share),
        "--max-poll-records": str(case.max_poll_records),
    }
    return last_line([*command, *(word for option in options.items() for word in option)])


def last_line(command: list[str]) -> Figures:
    """The JSON that a command prints at its end."""
    # pyarrow brings numpy, whose OpenBLAS would start threads that spin for a while.
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=RUN_TIMEOUT_S, check=False, env=env
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def agree(runs: Runs, cases: Mapping[str, Case]) -> None:
    """Whoever has read the whole of a topic must have read the same."""
    whole: dict[str, set[tuple[int, int]]] = {}
    for name, rounds in runs.items():
        case = cases[name]
        if not CONTENDERS[case.contender].reads:
            continue
        for found in rounds:
            if found["records"] == case.shape.records:
                whole.setdefault(case.shape.topic, set()).add((found["bytes"], found["offsets"]))
    for topic, different in whole.items():
        if len(different) > 1:
            raise SystemExit(f"the contenders do not agree on bytes and offsets: {topic}, {whole}")
