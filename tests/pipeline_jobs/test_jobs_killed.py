"""Jobs that are killed half way, all of their processes at once, and run again."""

import random
import sys
import time

import pytest
from spark_processes import Started, committed, wait_until

from kcore.cli.pipeline import why_not
from kcore.embedded import EmbeddedBroker

ROWS = 4_000
BATCHES_BEFORE = 3
QUERIES = {"delays": "parquet", "weather": "parquet", "aircraft": "each"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(why_not() is not None, reason=f"no Spark: {why_not()}"),
]


def start(name, folder, *more):
    command = [sys.executable, "-m", "kcore.cli.main", "pipeline", name, "--rows", str(ROWS)]
    return Started([*command, "--out", str(folder), *more], folder / "said.log")


def kill_half_way(job, name, folder, seed):
    """Within the micro-batch behind the third, wherever that is by then."""
    query = QUERIES[name]
    wait_until(lambda: committed(folder / name, query) >= BATCHES_BEFORE, 600, "micro-batches", job)
    time.sleep(random.Random(seed).random() * 1.5)
    assert job.kill() >= 3, "driver, JVM, workers"
    done = committed(folder / name, query)
    assert not (folder / name / f"{name}.png").exists(), "it was done before it was killed"
    first = folder / name / "checkpoints" / query / "commits" / "0"
    return done, first.stat().st_mtime_ns


def run_again(name, folder, *more):
    job = start(name, folder, *more)
    try:
        code = job.wait(600)
    finally:
        job.kill()
    assert code == 0, job.said()
    assert "going on with what is in" in job.said()
    assert "the same as pandas makes of them" in job.said()


@pytest.mark.parametrize(("name", "seed"), [("delays", 1), ("weather", 2), ("aircraft", 3)])
def test_a_killed_job_goes_on_where_it_was(name, seed, tmp_path):
    with EmbeddedBroker() as broker:
        where = ("--bootstrap", broker.bootstrap)
        job = start(name, tmp_path, *where)
        try:
            done, first_at_ns = kill_half_way(job, name, tmp_path, seed)
        finally:
            job.kill()
        run_again(name, tmp_path, *where)
        assert not broker.faults
    query = QUERIES[name]
    assert committed(tmp_path / name, query) > done
    first = tmp_path / name / "checkpoints" / query / "commits" / "0"
    assert first.stat().st_mtime_ns == first_at_ns, "it began anew"


def test_a_job_killed_with_its_broker_goes_on_where_both_were(tmp_path):
    job = start("delays", tmp_path)
    try:
        kill_half_way(job, "delays", tmp_path, seed=4)
    finally:
        job.kill()
    run_again("delays", tmp_path)
