"""`kcore demo` as a user runs it, on embedded nodes and on a real Kafka: complete, and nothing is
left running.
"""

import re
import signal
import subprocess
import sys

import pytest

DEMO = [sys.executable, "-m", "kcore.cli.main", "demo"]
FLIGHTS = "336,776"
ROW = re.compile(
    r"│\s+(\d)\s+│\s+([\d, ]+?)\s+│\s+([\d,]+)\s+│\s+([\d,]+)\s+│\s+([\d,-]+)\s+│\s+(\d+)\s+│"
)


def children_of(pid):
    """Processes whose parent, or parent's parent, is `pid`."""
    listed = subprocess.run(
        ["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True
    ).stdout
    parents = dict(map(int, line.split()) for line in listed.splitlines())
    return {child for child, parent in parents.items() if pid in (parent, parents.get(parent))}


def alive(pids):
    listed = subprocess.run(
        ["ps", "-eo", "pid=,stat="], capture_output=True, text=True, check=True
    ).stdout
    running = {int(pid) for pid, stat in map(str.split, listed.splitlines()) if stat[0] != "Z"}
    return running & pids


EMBEDDED, KAFKA = [], ["--kafka"]
KILL = ["--kill-node"]


def check_outcome(done):
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [[int(cell.replace(",", "")) for cell in row[2:]] for row in found_rows(done.stdout)]
    assert len(rows) == 4
    assert sum(records for records, _, _, _ in rows) == 336_776
    assert all(records == offset and lag == 0 for records, _, offset, lag in rows)
    assert f"{FLIGHTS} records" in done.stdout
    assert re.search(r"generation \d+, leader member \d", done.stdout)
    assert "nothing lost, nothing read twice, lag 0" in done.stdout
    assert not done.stderr


@pytest.mark.parametrize(
    "options",
    [
        EMBEDDED,
        pytest.param(EMBEDDED + KILL, marks=pytest.mark.slow),
        pytest.param(KAFKA, marks=[pytest.mark.kafka, pytest.mark.slow]),
        pytest.param(KAFKA + KILL, marks=[pytest.mark.kafka, pytest.mark.slow]),
    ],
    ids=["embedded", "embedded killed", "kafka", "kafka killed"],
)
def test_demo_reads_every_flight(options):
    done = subprocess.run([*DEMO, *options], capture_output=True, text=True, timeout=100)
    check_outcome(done)
    if "--kill-node" in options:
        killed = re.search(r"node (\d): the coordinator of the group is killed", done.stdout)
        assert f"node {killed[1]}: is back" in done.stdout


def found_rows(text):
    return [match.groups() for match in ROW.finditer(text)]


@pytest.mark.parametrize(
    ("options", "sign", "number"),
    [
        pytest.param(EMBEDDED, "member 0 has", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(EMBEDDED, "member 0 has", signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(KAFKA, "is up at", signal.SIGINT, marks=[pytest.mark.kafka, pytest.mark.slow]),
        pytest.param(
            KAFKA, "is up at", signal.SIGTERM, marks=[pytest.mark.kafka, pytest.mark.slow]
        ),
    ],
    ids=["embedded-int", "embedded-term", "kafka-int", "kafka-term"],
)
def test_interrupted_demo_leaves_nothing_running(options, sign, number):
    command = [*DEMO, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        said = ""
        while sign not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        started = children_of(process.pid)
        assert started
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert "Traceback" not in errors
    assert not alive(started)


def test_demo_on_a_topic_of_the_users(kafka, names, records):
    kafka.create_topic(names.topic, 3)
    kafka.produce(names.topic, records(5_000))
    command = [*DEMO, "-b", kafka.bootstrap, "-t", names.topic, "-g", names.group]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5,000 records" in done.stdout
    # Again, in the same group: nothing is left to read.
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n0 records" in done.stdout


def test_unknown_topic_is_said_in_one_line(kafka, names):
    command = [*DEMO, "-b", kafka.bootstrap, "-t", names.topic]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"no topic '{names.topic}'" in done.stderr


def test_without_java_it_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    done = subprocess.run([*DEMO, *KAFKA], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "no java on the PATH" in done.stderr
    assert "BOOTSTRAP=" in done.stderr


@pytest.mark.parametrize("options", [["--kafka"], ["--kill-node"]])
def test_what_is_of_no_use_with_brokers_of_the_users_is_refused(options):
    command = [*DEMO, "-b", "nowhere:1", "-t", "t", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "brokers of the demo's own" in done.stderr
