"""The examples read a real Kafka, each in a process of its own, as a reader of the docs would run
them.
"""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from types import SimpleNamespace

import pytest
import trio

from kcore.actions import Connect, Disconnect

RECORDS = 2_000


@pytest.mark.kafka
@pytest.mark.parametrize(
    "example", ["hand_written_loop", "asyncio_loop", "trio_loop", "twisted_loop"]
)
def test_an_example_reads_a_topic_once_and_commits(kafka, names, pytestconfig, example):
    kafka.create_topic(names.topic, 4)
    kafka.produce(names.topic, [(b"%d" % (n % 7), b"value-%d" % n) for n in range(RECORDS)])

    run = subprocess.run(
        [
            sys.executable,
            "-Werror",
            pytestconfig.rootpath / "examples" / f"{example}.py",
            f"--bootstrap={kafka.bootstrap}",
            f"--topic={names.topic}",
            f"--group={names.group}",
            f"--max={RECORDS}",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert run.returncode == 0, run.stderr
    values = [line.rpartition(" ")[2].rstrip(")") for line in run.stdout.splitlines()]
    assert sorted(values) == sorted(f"b'value-{n}'" for n in range(RECORDS))
    assert kafka.group_offsets(names.group, names.topic) == kafka.end_offsets(names.topic)


def test_a_link_that_is_given_up_before_its_task_begins(pytestconfig):
    trio_loop = runpy.run_path(pytestconfig.rootpath / "examples" / "trio_loop.py")
    actions = [Connect(1, "127.0.0.1", 1), Disconnect(1)]
    core = SimpleNamespace(
        next_action=lambda: actions.pop(0) if actions else None, deadline=trio_loop["now_ms"]
    )

    async def main():
        async with trio.open_nursery() as nursery:
            driver = trio_loop["Driver"](core, nursery)
            driver.obey()
        assert driver.links == {}

    trio.run(main)


def test_a_driver_fits_in_a_hundred_lines(pytestconfig):
    source = (pytestconfig.rootpath / "examples" / "hand_written_loop.py").read_text()
    assert len(source.splitlines()) < 100
    imported = {
        name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [])
    }
    assert imported == {"kcore", "kcore.actions", "kcore.events"}  # no driver of ours
