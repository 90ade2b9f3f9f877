"""A job on Spark's standalone cluster, an executor of which is killed half way."""

import os
import signal

import pytest
from spark_processes import committed, standalone_cluster, wait_until

from kcore.cli.pipeline import why_not
from kcore.embedded import EmbeddedBroker
from kcore.pipeline.jobs import main

ROWS = 6_000

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(why_not() is not None, reason=f"no Spark: {why_not()}"),
]


@pytest.mark.parametrize("name", ["delays"])
def test_an_executor_is_killed_and_nothing_is_lost_or_doubled(name, tmp_path):
    """The job holds files and topic against pandas: a window more, less or twice in the files, and
    one that is missing or told in two ways in the topic, is a failure.
    """
    folder = tmp_path / "out"
    with EmbeddedBroker() as broker, standalone_cluster(tmp_path) as cluster:
        job = cluster.submit(
            tmp_path / "driver.log",
            main.__file__,
            *(name, broker.bootstrap, str(folder), "--rows", str(ROWS)),
        )
        try:
            wait_until(lambda: committed(folder / name, "parquet") >= 3, 600, "batches", job)
            before = cluster.executors()
            assert len(before) == 2, "one on each worker"
            os.kill(before[0], signal.SIGKILL)
            code = job.wait(600)
        finally:
            job.kill()
        assert code == 0, job.said()
        assert "the same as pandas has" in job.said()
        assert cluster.started_executors() >= 3, "the one that was killed had a successor"
        assert not broker.faults
