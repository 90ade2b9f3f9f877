"""Jobs through the command line: a few rows from the topic to the plot, and how it ends if not."""

import subprocess
import sys

import pytest
from click.testing import CliRunner
from spark_processes import Started, committed, wait_until

from kcore import Producer
from kcore.cli import pipeline as verb
from kcore.cli.commands import kcore
from kcore.cli.pipeline import why_not
from kcore.embedded import EmbeddedBroker

needs_spark = pytest.mark.skipif(why_not() is not None, reason=f"no Spark: {why_not()}")


def command(name, folder, *more):
    line = ["pipeline", name, "--rows", "4000", "--out", str(folder), *more]
    return [sys.executable, "-m", "kcore.cli.main", *line]


@needs_spark
@pytest.mark.timeout(300)
def test_a_job_runs_to_its_plot_and_says_little(tmp_path):
    done = subprocess.run(command("aircraft", tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) <= 6
    assert all(line.startswith("pipeline aircraft: ") for line in lines)
    assert "the first 4,000 flights of 2013, Spark on local[2], an embedded broker" in lines[0]
    assert "the same as pandas makes of them" in lines[-2]
    plot = tmp_path / "aircraft" / "aircraft.png"
    assert lines[-1] == f"pipeline aircraft: plot: {plot}"
    assert plot.read_bytes().startswith(b"\x89PNG")


@needs_spark
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_when_the_topic_refuses_the_job_ends_with_one_line(tmp_path):
    with EmbeddedBroker() as broker:
        job = Started(
            command("delays", tmp_path, "--bootstrap", broker.bootstrap), tmp_path / "said.log"
        )
        try:
            wait_until(lambda: committed(tmp_path / "delays", "parquet") >= 1, 300, "batch", job)
            broker.refuse("Produce", "TOPIC_AUTHORIZATION_FAILED", times=1_000_000)
            code = job.wait(300)
        finally:
            job.kill()
    last = job.said().splitlines()[-1]
    assert code == 1, job.said()
    assert "query delays-to-delays failed: TopicAuthorizationFailedError" in last
    assert "spark.log" in last
    assert "Traceback" not in job.said()


@needs_spark
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_master_that_does_not_answer_is_said_in_a_line(tmp_path):
    line = command("delays", tmp_path, "--master", "spark://127.0.0.1:1")
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 1
    (said,) = done.stderr.splitlines()
    assert "Spark did not start on spark://127.0.0.1:1: java.lang." in said
    assert "spark.log" in said


@needs_spark
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_on_the_same_brokers_a_job_may_run_again_whatever_its_result_topic_has(tmp_path):
    with EmbeddedBroker() as broker:
        broker.create_topic("delays", 4)
        with Producer(bootstrap_servers=broker.bootstrap) as producer:
            producer.send("delays", b"hello")
            producer.send("delays", None)
            producer.send("delays", b'{"hour": "of another run"}')
        for folder in ("one", "two"):
            line = command("delays", tmp_path / folder, "--bootstrap", broker.bootstrap)
            done = subprocess.run(line, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def without_java(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))


def test_without_java_it_says_so_and_fails(without_java, tmp_path):
    done = CliRunner().invoke(kcore, ["pipeline", "delays", "--out", str(tmp_path)])
    assert done.exit_code == 1
    assert f"Spark cannot be started: no java in JAVA_HOME, which is {tmp_path}" in done.output
    assert not any(tmp_path.iterdir())


def test_what_is_optional_is_left_out_and_said(without_java, tmp_path):
    line = ["pipeline", "delays", "--out", str(tmp_path), "--optional"]
    done = CliRunner().invoke(kcore, line)
    assert done.exit_code == 0
    assert done.output.startswith("pipeline delays is left out: Spark cannot be started: no java")


@pytest.fixture
def java(monkeypatch):
    """Some Java 17, whatever there is here."""
    monkeypatch.setattr(verb, "find_java", lambda: "/opt/java")


def test_a_missing_package_is_named_with_how_to_get_it(monkeypatch, java):
    monkeypatch.setattr(verb, "find_spec", lambda name: None if name == "pyspark" else name)
    assert why_not() == "pyspark is not installed: pip install 'kcore[jobs]'"


def test_a_pyspark_that_is_too_old_is_named(monkeypatch, java):
    monkeypatch.setattr(verb.metadata, "version", lambda _name: "4.0.1")
    assert why_not() == "pyspark is 4.0.1, and 4.2 or later is needed: pip install 'kcore[jobs]'"
