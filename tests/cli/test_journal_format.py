"""`kcore consume -f journal`: what coordinators write, as JSON."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

import kcore
from kcore import TopicPartition
from kcore.cli.endings import RefusalError
from kcore.cli.formats import formatter
from kcore.coordinator.journal import (
    _KINDS,
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    Entry,
    entry_of,
    offset_entry,
)
from kcore.embedded import EmbeddedBroker
from kcore.errors import CorruptRecordError
from kcore.wire import messages as m


def said(key, value, topic=OFFSETS_TOPIC):
    record = SimpleNamespace(
        topic=topic, partition=3, offset=42, timestamp=1_700_000_000_123, key=key, value=value
    )
    text = formatter("journal")(record)
    assert text.endswith(b"\n")
    assert text.count(b"\n") == 1
    found = json.loads(text)
    places = [found.pop(name) for name in ("topic", "partition", "offset", "timestamp")]
    assert places == [topic, 3, 42, 1_700_000_000_123]
    return found


def test_a_committed_offset():
    value = m.OffsetCommitValue(offset=7, metadata="é", commit_timestamp=9, topic_id=b"\xff" * 16)
    entry = offset_entry("g", "t", 2, value)
    key = {"group": "g", "topic": "t", "partition": 2}
    assert said(entry.key, memoryview(entry.value)) == {
        "kind": "OffsetCommit",
        "key": key,
        "value": {
            "offset": 7, "leader_epoch": -1, "metadata": "é", "commit_timestamp": 9,
            "expire_timestamp": -1, "topic_id": "_____________________w",
        },
    }  # fmt: skip
    assert said(entry.key, None) == {"kind": "OffsetCommit", "key": key, "value": None}


def test_bytes_and_what_is_in_lists():
    Member = m.GroupMetadataValue.MemberMetadata
    member = Member(member_id="m", subscription=b"\xff", assignment=b"")
    entry = entry_of(
        m.GroupMetadataKey(group="g"), m.GroupMetadataValue(generation=1, members=[member]), 3
    )
    (found,) = said(entry.key, entry.value)["value"]["members"]
    assert (found["member_id"], found["subscription"], found["assignment"]) == ("m", "/w==", "")


@pytest.mark.parametrize(
    ("topic", "number"),
    [(topic, number) for topic in sorted(_KINDS) for number in _KINDS[topic]],
)
def test_every_kind_is_told(topic, number):
    key, value = _KINDS[topic][number]
    entry = Entry(number.to_bytes(2, "big") + entry_of(key(), None).key[2:], None)
    if value is not None:
        version = value.VERSIONS[1]
        entry = Entry(entry.key, entry_of(key(), value(), version).value)
    found = said(entry.key, entry.value, topic)
    assert found["kind"] + "Key" == key.__name__
    assert found["key"].keys() == {name for name, *_ in key.FIELDS}
    if value is not None:
        assert found["value"].keys() == {name for name, *_ in value.FIELDS}


def test_what_a_newer_kafka_writes_is_shown_as_it_is():
    assert said(b"\0\x63key", b"v") == {"kind": None, "key": "AGNrZXk=", "value": "dg=="}
    assert said(b"\0\x63", None) == {"kind": None, "key": "AGM=", "value": None}


@pytest.mark.parametrize("key", [b"", b"\0", b"\0\1\0\5g", None])
def test_what_cannot_be_read_is_said(key):
    with pytest.raises(CorruptRecordError):
        said(key, b"")


def test_another_topic_is_refused():
    with pytest.raises(RefusalError, match=r"-f journal is for __consumer_offsets, .* not for t"):
        said(b"\0\1", b"", "t")


# The verb -----------------------------------------------------------------------------------------


def consumed(bootstrap, topic):
    command = [sys.executable, "-m", "kcore.cli.main", "consume", topic, "-b", bootstrap,
               "--from", "earliest", "--exit", "-f", "journal"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def write(bootstrap, topic, group):
    options = {"bootstrap_servers": bootstrap, "group_id": group, "enable_auto_commit": False}
    with kcore.Consumer(topic, **options) as consumer:
        while not consumer.assignment():
            consumer.poll(100)
        consumer.commit({TopicPartition(topic, 0): kcore.OffsetAndMetadata(7, "", -1)})
    with kcore.Producer(bootstrap_servers=bootstrap, transactional_id=group) as producer:
        producer.init_transactions()


def check(bootstrap, group):
    mine = [one for one in consumed(bootstrap, OFFSETS_TOPIC)
            if group in {one["key"].get("group"), one["key"].get("group_id")}]  # fmt: skip
    assert {"OffsetCommit", "GroupMetadata"} <= {one["kind"] for one in mine}
    (offset,) = (one["value"]["offset"] for one in mine if one["kind"] == "OffsetCommit")
    assert offset == 7
    ids = [one["key"]["transactional_id"] for one in consumed(bootstrap, TRANSACTIONS_TOPIC)]
    assert group in ids


def test_a_group_is_followed():
    with EmbeddedBroker() as broker:
        broker.create_topic("t")
        write(broker.bootstrap, "t", "g")
        check(broker.bootstrap, "g")


@pytest.mark.kafka
def test_a_group_of_a_kafka_is_followed(kafka, names):
    kafka.create_topic(names.topic)
    write(kafka.bootstrap, names.topic, names.group)
    check(kafka.bootstrap, names.group)
