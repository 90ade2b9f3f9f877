"""kill -9 of the driver and of Python workers at random moments, and a judge that counts."""

import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from pipeline_support import options, rows_of
from spark_processes import Started, command_of, session_of

from kcore.embedded import EmbeddedBroker
from kcore.pipeline.planning import OffsetRange
from kcore.pipeline.reading import read_range

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

RECORDS = 500
PARTITIONS = 3
DRIVERS = 3
ANY_MOMENT = 1  # the run that is not waited for before it is killed
RUNS_MAX = 12
DRIVER = Path(__file__).with_name("killed_pipeline.py")


def start(bootstrap, folder):
    command = [sys.executable, str(DRIVER), bootstrap, str(folder)]
    return Started(command, folder / "log")


def ends(run, seconds):
    """Whether it has ended by then."""
    try:
        run.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def kill_a_worker(run, rng):
    """Of the Python processes that run tasks; whether there was one."""
    workers = [pid for pid in session_of(run.pid) if re.search(rb"pyspark.daemon", command_of(pid))]
    # The oldest is the one that forks the others.
    for pid in rng.sample(sorted(workers)[1:], k=min(1, max(0, len(workers) - 1))):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def progress(folder):
    """How many micro-batches are committed."""
    return sum(1 for name in ("topic", "parquet") for _ in (folder / name).glob("commits/[0-9]*"))


def run_and_kill(bootstrap, folder, rng):
    """Killed in the midst, again and again, until a run comes to its end. (drivers, workers)."""
    drivers = workers = 0
    for number in range(RUNS_MAX):
        run = start(bootstrap, folder)
        done = progress(folder)
        try:
            if number == ANY_MOMENT:  # starting, taking up what was left half done, or at work
                if not ends(run, rng.uniform(0, 20)):
                    drivers += run.kill() > 0
                continue
            while not ends(run, 0.2) and progress(folder) == done:
                pass  # until it is at work
            for _ in range(2):
                if not ends(run, rng.uniform(0, 3)):
                    workers += kill_a_worker(run, rng)
            if number < DRIVERS and not ends(run, rng.uniform(0, 3)):
                drivers += run.kill() > 0
                continue
            run.wait(300)
        finally:
            run.kill()
        if run.process.returncode == 0:
            return drivers, workers
    raise AssertionError(f"not at the end after {RUNS_MAX} runs")


def content(broker, topic):
    wanted = options(broker.bootstrap, topic)
    return Counter(
        row["value"]
        for number, end in enumerate(broker.end_offsets(topic))
        for row in rows_of(read_range(wanted, OffsetRange(topic, number, 0, end)))
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_and_nothing_is_lost(spark, tmp_path, seed):
    rng = random.Random(seed)
    with EmbeddedBroker() as broker:
        broker.create_topic("in", PARTITIONS)
        broker.create_topic("out", 2)
        sent = [b"%d" % number for number in range(RECORDS)]
        broker.produce("in", [(None, value) for value in sent])
        assert content(broker, "in") == Counter(sent)
        drivers, workers = run_and_kill(broker.bootstrap, tmp_path, rng)
        written = content(broker, "out")
        assert not broker.faults
    files = spark.read.parquet(str(tmp_path / "files")).collect()
    twice = sum(written.values()) - len(written)
    print(f"seed {seed}: {drivers} drivers and {workers} workers killed, {twice} rows came again")
    assert drivers >= 1
    # Files: exactly once. The topic: at least once, and nothing that was not sent.
    assert Counter(row.value.encode() for row in files) == Counter(sent)
    assert written.keys() == set(sent)
    # A task that is tried again writes its part again, not everything.
    assert twice <= (drivers + workers + 1) * 2 * 100
