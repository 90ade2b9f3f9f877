"""`kcore consume`, `produce`, `groups`, `lag`, `topics` on a real Kafka, as a shell runs them."""

import json
import signal
import subprocess
import sys

import pytest

from kcore import Admin
from kcore.admin import ConfigResource

KCORE = [sys.executable, "-m", "kcore.cli.main"]


def run(*args, timeout=60, **more):
    return subprocess.run([*KCORE, *args], capture_output=True, text=True, timeout=timeout, **more)


@pytest.fixture
def topic(kafka, names):
    kafka.create_topic(names.topic, 2)
    for partition in range(2):
        values = [(b"k%d" % number, b"v%d" % number) for number in range(5)]
        kafka.produce(names.topic, values, partition)
    return names.topic


def test_consume_all_and_exit(kafka, topic):
    done = run("consume", topic, "-b", kafka.bootstrap, "--from", "earliest", "--exit")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(["v0", "v1", "v2", "v3", "v4"] * 2)


def test_consume_one_partition_from_an_offset_with_a_template(kafka, topic):
    picked = ("-p", "1", "--from", "3", "--exit", "--format", r"%p/%o %k=%s\n")
    done = run("consume", topic, "-b", kafka.bootstrap, *picked)
    assert done.stdout == "1/3 k3=v3\n1/4 k4=v4\n"


def test_consume_json_with_max(kafka, topic):
    limited = ("--from", "earliest", "--max", "3", "--format", "json")
    done = run("consume", topic, "-b", kafka.bootstrap, *limited)
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["topic"] for record in printed] == [topic] * 3


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_topics_of_a_pattern_up_to_a_place(kafka, topic, names, protocol):
    other = f"{names.topic}-other"
    kafka.create_topic(other, 1)
    kafka.produce(other, [(None, b"v")] * 9)
    line = (f"^{names.topic}", "-b", kafka.bootstrap, "--from", "earliest", "--format", "%t/%p/%o ")
    partitions = (f"{topic}/0", f"{topic}/1", f"{other}/0")
    expected = sorted(f"{name}/{at}" for name in partitions for at in range(3))
    member = ("-g", names.group, "-X", f"group_protocol={protocol}")
    for group in ((), member):
        done = run("consume", *line, "--to", "3", *group)
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.split()) == expected
    rest = run("consume", *line, *member, "--to", "2999-01-01")
    assert len(rest.stdout.split()) == 2 + 2 + 6


def test_a_topic_is_copied_as_json(kafka, topic, names):
    copy = f"{names.topic}-copy"
    kafka.create_topic(copy, 2)
    where = ("-b", kafka.bootstrap)
    every = (*where, "--from", "earliest", "--exit", "--format")
    printed = run("consume", topic, *every, "json").stdout
    done = run("produce", copy, *where, "-f", "json", "--keep-partitions", input=printed)
    assert done.returncode == 0, done.stderr
    assert "10 records written" in done.stderr
    picked = [
        sorted(run("consume", name, *every, r"%p/%o/%T %k=%s\n").stdout.splitlines())
        for name in (topic, copy)
    ]
    assert len(picked[0]) == 10
    assert picked[0] == picked[1]


def test_a_group_goes_on_where_it_stopped(kafka, topic, names):
    member = ("-b", kafka.bootstrap, "-g", names.group, "--from", "earliest", "--format", r"%p/%o ")
    first = run("consume", topic, *member, "--max", "4")
    second = run("consume", topic, *member, "--exit")
    third = run("consume", topic, *member, "--exit")
    printed = first.stdout.split() + second.stdout.split()
    assert sorted(printed) == [f"{part}/{offset}" for part in range(2) for offset in range(5)]
    assert len(first.stdout.split()) == 4
    assert third.stdout == ""


def test_members_of_a_share_group_print_each_record_once(kafka, topic, names):
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        earliest = {"share.auto.offset.reset": "earliest"}
        admin.alter_configs([ConfigResource("group", names.group, earliest)], raise_errors=True)
    member = ("-b", kafka.bootstrap, "-g", names.group, "--share", "--format", r"%p/%o ")
    first = run("consume", topic, *member, "--max", "4")
    second = run("consume", topic, *member, "--max", "6")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    printed = first.stdout.split() + second.stdout.split()
    assert sorted(printed) == [f"{part}/{offset}" for part in range(2) for offset in range(5)]


def test_how_far_a_group_is_behind_and_where_it_is_put(kafka, topic, names):
    member = ("-b", kafka.bootstrap, "-g", names.group, "--from", "earliest")
    run("consume", topic, *member, "--exit")
    where = ("-b", kafka.bootstrap)
    run("produce", topic, *where, "-p", "1", input="a\nb\nc\n")
    said = run("lag", names.group, *where).stdout.splitlines()
    assert said[0] == f"{names.group}: 3 behind in 2 partitions"
    assert [row.split()[1:] for row in said[2:]] == [
        ["0", "5", "5", "0", "-"],
        ["1", "5", "8", "3", "-"],
    ]
    done = run("groups", names.group, *where, "--reset-to", "-1", "-t", topic, "--execute")
    assert done.returncode == 0, done.stderr
    offsets = kafka.group_offsets(names.group, topic)
    assert offsets == {0: 4, 1: 4}
    listed = run("groups", *where).stdout
    assert [names.group, "classic", "Empty"] in [
        [row.split()[0], row.split()[1], row.split()[-1]] for row in listed.splitlines()
    ]
    assert run("groups", names.group, *where, "--delete").returncode == 0
    assert names.group not in run("groups", *where).stdout


def test_the_reader_of_a_pipe_may_go(kafka, topic):
    command = " ".join([*KCORE, "consume", topic, "-b", kafka.bootstrap, "--from", "earliest"])
    piped = f"set -o pipefail; {command} --exit | head -n 1"
    done = subprocess.run(["bash", "-c", piped], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout == "v0\n"
    assert done.stderr == ""


def test_ctrl_c_ends_it_at_once(kafka, topic, names):
    member = ["-b", kafka.bootstrap, "-g", names.group, "--from", "earliest"]
    with subprocess.Popen(
        [*KCORE, "consume", topic, *member],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for _ in range(10):
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
    assert process.returncode == 130
    assert errors == ""
    assert kafka.group_offsets(names.group, topic) == {0: 5, 1: 5}


def test_topics(kafka, topic):
    done = run("topics", "-b", kafka.bootstrap)
    assert [topic, "2"] in [line.split() for line in done.stdout.splitlines()]
    assert "__consumer_offsets" not in done.stdout
    done = run("topics", "-b", kafka.bootstrap, "--offsets", topic)
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert rows == [[topic, "0", "0", "5", "5"], [topic, "1", "0", "5", "5"]]


def test_unknown_topic(kafka, names):
    for verb in ("consume", "topics"):
        done = run(verb, names.topic, "-b", kafka.bootstrap)
        assert done.returncode == 1
        assert f"no topic '{names.topic}'" in done.stderr


def test_unknown_option_names_the_nearest(kafka, topic):
    done = run("consume", topic, "-b", kafka.bootstrap, "-X", "fetch_max_byte=1")
    assert done.returncode == 2
    assert "fetch_max_bytes" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.kafka
def test_nobody_there():
    done = run("topics", "-b", "127.0.0.1:1", "-X", "bootstrap_timeout_ms=1000")
    assert done.returncode == 1
    *logged, last = done.stderr.splitlines()
    assert len(logged) <= 1
    assert last.startswith("kcore: NoBrokersAvailable")
    assert "127.0.0.1:1" in last
