"""On a real YARN, to which the environment comes as an archive and nothing else of ours does:
executors and a driver are killed half way, and nothing that is written there has a password.
"""

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

import pytest
import yarn
from certificates import missing as no_certificates
from packed_python import pack
from secure_kafka import PASSWORD, SecureKafka
from spark_processes import committed, wait_until
from spark_support import security

from kcore.cli.pipeline import why_not
from kcore.embedded import EmbeddedBroker
from kcore.pipeline.jobs import main

ROWS = 6_000
BATCHES_MIN = 7  # in which a job reads its topics, at least
PYTHON = "./env/bin/python"  # in the working directory of whoever runs it
SEEN = "what-is-given-as-environment"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    *(pytest.mark.skipif(why is not None, reason=str(why)) for why in (why_not(), yarn.missing())),
]


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    return pack(tmp_path_factory.mktemp("packed"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with yarn.yarn_cluster(tmp_path_factory.mktemp("yarn")) as cluster:
        yield cluster


def taken_along(packed):
    return ["--archives", f"{packed}#env", f"--conf=spark.pyspark.python={PYTHON}"]


class Run:
    """A job, submitted once."""

    def __init__(self, cluster, mode, name, query, folder, packed, broker):
        self._folder = folder / "out" / name
        self._query = query
        if mode == "client":  # what plans beside the driver is in no container
            shutil.unpack_archive(packed, folder / "env", filter="tar")
        given = (name, broker.bootstrap, str(self._folder.parent), "--rows", str(ROWS))
        arguments = (*taken_along(packed), main.__file__, *given)
        log = folder / "submit.log"
        self.job = cluster.submit(log, mode, *arguments, folder=folder, python=PYTHON)

    def done(self):
        """How many micro-batches are."""
        return committed(self._folder, self._query)

    def reach(self, count):
        wait_until(lambda: self.done() >= count, 600, f"micro-batch {count}", self.job)

    def ends_well(self, where):
        """Where it said so: the job holds what it wrote against pandas, row by row."""
        assert self.job.wait(600) == 0, self.job.said()
        assert self.done() >= BATCHES_MIN, "it went on where it was"
        assert "the same as pandas has" in where()


def having(folder, text):
    """The files that have this in them, but for what was unpacked."""
    found = set()
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # it was being gathered
            if "env.tar.gz" not in path.parts and path.is_file():
                found |= {path} if text.encode() in path.read_bytes() else set()
    return found


def kill_one(pids):
    assert pids
    os.kill(pids[0], signal.SIGKILL)


def test_executors_are_killed_and_nothing_is_lost_or_doubled(cluster, packed, tmp_path):
    before = cluster.started()
    with EmbeddedBroker() as broker:
        run = Run(cluster, "client", "delays", "parquet", tmp_path, packed, broker)
        try:
            for count in (2, 4):
                run.reach(count)
                kill_one(cluster.executors())
            run.ends_well(run.job.said)
        finally:
            run.job.kill()
        assert not broker.faults
    assert len(cluster.started() - before) >= 5, "the master, two executors, two in their places"


def test_yarn_starts_a_driver_again_that_was_killed(cluster, packed, tmp_path):
    """Its second attempt goes on where the first one was."""
    before = cluster.started()
    with EmbeddedBroker() as broker:
        run = Run(cluster, "cluster", "aircraft", "each", tmp_path, packed, broker)
        try:
            run.reach(2)
            kill_one(cluster.executors())
            run.reach(4)
            kill_one(cluster.drivers())
            run.ends_well(lambda: "".join(path.read_text() for path in cluster.written("stdout")))
        finally:
            run.job.kill()
        assert not broker.faults
    attempts = {name.split("_")[3] for name in cluster.started() - before}
    assert attempts == {"01", "02"}


@pytest.mark.kafka
@pytest.mark.skipif(no_certificates() is not None, reason=str(no_certificates()))
def test_no_file_has_the_password(cluster, packed, tmp_path):
    """Logs at INFO of servers and containers, before and after they are gathered, what containers
    are started with, the event log, and the checkpoint. What the environment of a driver is given
    is found in all of these but the last.
    """
    with SecureKafka() as kafka:
        kafka.create_topic("t")
        kafka.produce("t", [(None, b"%d" % number) for number in range(20)])
        kafka.create_topic("copy")
        login = tmp_path / "login.jaas"
        login.write_text(security(kafka)["kafka.sasl.jaas.config"])
        events = cluster.folder / "events"
        events.mkdir()
        job = cluster.submit(
            cluster.folder / "secrets.log",
            "cluster",
            *taken_along(packed),
            *("--files", f"{login},{kafka.certificates.ca}"),
            f"--conf=spark.yarn.appMasterEnv.SEEN={SEEN}",
            "--conf=spark.eventLog.enabled=true",
            "--conf=spark.eventLog.compress=false",  # or nothing can be found in it
            f"--conf=spark.eventLog.dir={events.as_uri()}",
            "--conf=spark.log.level=INFO",
            str(Path(__file__).with_name("secret_pipeline.py")),
            *(
                kafka.address("SASLTLS"),
                str(cluster.folder),
                kafka.certificates.ca.name,
                login.name,
            ),
            folder=tmp_path,
        )
        try:
            assert job.wait(600) == 0, job.said()
        finally:
            job.kill()
    gathered = cluster.folder / "gathered"
    wait_until(
        lambda: having(gathered, SEEN) and not [*gathered.rglob("*.tmp")], 60, "logs are gathered"
    )
    said = "".join(path.read_text() for path in cluster.written("stdout"))
    assert said.count("\nrows: 20\n") == 1
    assert said.count("\nfailed: ") == 2
    assert {path.name for path in having(cluster.folder, PASSWORD)} == {login.name}, "its copies"
    seen = having(cluster.folder, SEEN)
    assert "launch_container.sh" in {path.name for path in seen}
    assert all(any(where in path.parents for path in seen) for where in (gathered, events))
