"""kill -9 of the driver and of Python workers at random moments, and a judge that counts."""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from pipeline_support import options, rows_of

from kcore.embedded import EmbeddedBroker
from kcore.pipeline.planning import OffsetRange
from kcore.pipeline.reading import read_range

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

RECORDS = 500
PARTITIONS = 3
DRIVERS = 2
RUNS_MAX = 12
DRIVER = Path(__file__).with_name("killed_pipeline.py")


def descendants(pid):
    """{pid: its command line} of all that a process has started."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found = {pid}
    while grown := {one for one, parent in parents.items() if parent in found} - found:
        found |= grown
    commands = {}
    for one in found - {pid}:
        try:
            commands[one] = Path(f"/proc/{one}/cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    return commands


class Run:
    """One start of the driver, in a process group of its own."""

    def __init__(self, bootstrap, folder, log):
        command = [sys.executable, str(DRIVER), bootstrap, str(folder)]
        self.process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )

    def wait(self, seconds):
        """Whether it has ended by then."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill_a_worker(self, rng):
        """Of the Python processes that run tasks; whether there was one."""
        workers = [
            pid
            for pid, command in descendants(self.process.pid).items()
            if "pyspark.daemon" in command or "pyspark/daemon" in command
        ]
        # The oldest is the one that forks the others.
        for pid in rng.sample(sorted(workers)[1:], k=min(1, max(0, len(workers) - 1))):
            os.kill(pid, signal.SIGKILL)
            return True
        return False

    def kill(self):
        """The driver, its JVM, and what they have started."""
        rest = descendants(self.process.pid)
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pid in rest:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def progress(folder):
    """How many micro-batches are committed."""
    return sum(1 for name in ("topic", "parquet") for _ in (folder / name).glob("commits/[0-9]*"))


def run_and_kill(bootstrap, folder, rng, log):
    """Killed in the midst, again and again, until a run comes to its end. (drivers, workers)."""
    drivers = workers = 0
    for number in range(RUNS_MAX):
        run = Run(bootstrap, folder, log)
        done = progress(folder)
        try:
            while not run.wait(0.2) and progress(folder) == done:
                pass  # until it is at work
            for _ in range(2):
                if not run.wait(rng.uniform(0, 3)):
                    workers += run.kill_a_worker(rng)
            if number < DRIVERS and not run.wait(rng.uniform(0, 3)):
                run.kill()
                drivers += 1
                continue
            run.process.wait(300)
        finally:
            if run.process.poll() is None:
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


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_and_nothing_is_lost(spark, tmp_path, seed):
    rng = random.Random(seed)
    with EmbeddedBroker() as broker, (tmp_path / "log").open("w") as log:
        broker.create_topic("in", PARTITIONS)
        broker.create_topic("out", 2)
        sent = [b"%d" % number for number in range(RECORDS)]
        broker.produce("in", [(None, value) for value in sent])
        assert content(broker, "in") == Counter(sent)
        drivers, workers = run_and_kill(broker.bootstrap, tmp_path, rng, log)
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
