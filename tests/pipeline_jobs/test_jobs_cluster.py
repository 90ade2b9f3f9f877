"""The jobs on Spark's standalone cluster; executors, and then the driver, are killed half way."""

import os
import random
import signal
import time

import pytest
from spark_processes import committed, standalone_cluster, wait_until

from kcore.cli.pipeline import why_not
from kcore.embedded import EmbeddedBroker
from kcore.pipeline.jobs import main

ROWS = 6_000
BATCHES_MIN = 7  # in which a job reads its topics, at least
QUERIES = {"delays": "parquet", "weather": "parquet", "aircraft": "each"}
CLEANER_MS = 15_000

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(why_not() is not None, reason=f"no Spark: {why_not()}"),
]


class Runs:
    """A job, submitted as often as its driver is killed."""

    def __init__(self, cluster, broker, name, folder, rng):
        self.cluster = cluster
        self.killed = 0
        self._rng = rng
        self._folder = folder / "out" / name
        self._query = QUERIES[name]
        self._log = folder / "driver.log"
        given = (name, broker.bootstrap, str(self._folder.parent), "--rows", str(ROWS))
        self._command = (self._log, main.__file__, *given)
        self.job = None

    def submit(self):
        self.job = self.cluster.submit(*self._command)

    def done(self):
        """How many micro-batches are."""
        return committed(self._folder, self._query)

    def reach(self, count):
        """Some moment behind the end of a micro-batch."""
        wait_until(lambda: self.done() >= count, 600, f"micro-batch {count}", self.job)
        time.sleep(self._rng.uniform(0, 1.5))

    def kill_an_executor(self):
        if running := self.cluster.executors():
            os.kill(self._rng.choice(running), signal.SIGKILL)
            self.killed += 1

    def kill_the_driver(self):
        assert self.job.process.poll() is None, self.job.said()
        assert self.job.kill() >= 2, "spark-submit is the JVM, and has a Python"


@pytest.mark.parametrize(("name", "seed"), [("delays", 1), ("weather", 2), ("aircraft", 3)])
def test_executors_and_driver_are_killed_and_nothing_is_lost_or_doubled(name, seed, tmp_path):
    """The job holds files and topic against pandas: a row more, less or twice in the files, and
    one that is missing or told in two ways in the topic, is a failure.
    """
    with EmbeddedBroker() as broker, standalone_cluster(tmp_path) as cluster:
        runs = Runs(cluster, broker, name, tmp_path, random.Random(seed))
        runs.submit()
        try:
            runs.reach(1)
            broker.let_time_pass(CLEANER_MS)  # what can be compacted is, while it is read
            runs.reach(2)
            assert len(cluster.executors()) == 2, "one on each worker"
            runs.kill_an_executor()
            runs.reach(3)
            runs.kill_an_executor()
            runs.reach(4)
            before = runs.done()
            runs.kill_the_driver()
            runs.submit()
            runs.reach(before + 1)
            runs.kill_an_executor()
            code = runs.job.wait(600)
        finally:
            runs.job.kill()
        assert code == 0, runs.job.said()
        assert "the same as pandas has" in runs.job.said()
        assert before < BATCHES_MIN <= runs.done(), "it went on where it was"
        assert runs.killed >= 3
        # Two of each of both drivers, and a successor of each that was killed, but for the last.
        assert cluster.started_executors() >= 4 + runs.killed - 1
        assert not broker.faults
