"""A broker whose directory cannot be used, is another's, or is taken away under it; and the options
that are kept there.
"""

import os
import shutil

import pytest

import kcore
from kcore.admin import ConfigResource
from kcore.broker import BrokerConfig
from kcore.coordinator import CoordinatorConfig
from kcore.embedded import EmbeddedBroker
from kcore.embedded.disk import StorageError
from kcore.errors import KafkaTimeoutError, UsageError

EARLIEST = {"auto_offset_reset": "earliest"}


@pytest.mark.parametrize("below", [(), ("below",)])
def test_a_file_is_no_directory(tmp_path, below):
    (tmp_path / "file").write_text("x")
    directory = tmp_path.joinpath("file", *below)
    with pytest.raises(StorageError, match=r"file.* cannot be used: .* file: give another dir"):
        EmbeddedBroker(directory=directory).start()


@pytest.mark.parametrize(
    ("number", "cure"),
    [(13, "let this user write there"), (30, "read-only"), (28, "make room"), (5, "give another")],
)
@pytest.mark.parametrize("call", ["os.open", "pathlib.Path.mkdir", "pathlib.Path.open"])
def test_a_directory_that_cannot_be_written(tmp_path, monkeypatch, call, number, cure):
    directory = tmp_path / "kept"

    def fail(path, *_given, **_named):
        raise OSError(number, os.strerror(number), str(path))

    broker = EmbeddedBroker(directory=directory, in_memory=True)
    with monkeypatch.context() as patched:
        patched.setattr(call, fail)
        with pytest.raises(StorageError, match=cure) as raised:
            broker.start()
    assert f"the directory {directory} cannot be used: {os.strerror(number)}" in str(raised.value)
    with broker:  # it holds nothing
        broker.create_topic("t")


@pytest.mark.parametrize("flush", ["never", "always"])
def test_a_directory_that_is_deleted_is_missed(tmp_path, caplog, flush):
    directory = tmp_path / "kept"
    with EmbeddedBroker(directory=directory, flush=flush) as broker:
        broker.create_topic("t")
        options = {"delivery_timeout_ms": 300, "request_timeout_ms": 200, "linger_ms": 0}
        with kcore.Producer(bootstrap_servers=broker.bootstrap, **options) as producer:
            producer.send("t", b"kept").get(10)
            shutil.rmtree(directory)
            with pytest.raises(KafkaTimeoutError, match="KAFKA_STORAGE_ERROR"):
                producer.send("t", b"lost").get(10)
        assert f"the directory {directory} has failed" in str(broker.faults[0])
        assert [one.message for one in caplog.records if "has failed" in one.message] == [
            str(broker.faults[0])
        ]
        with kcore.Consumer(bootstrap_servers=broker.bootstrap, **EARLIEST) as reader:
            reader.assign([("t", 0)])
            values = [record.value for record in reader.poll(timeout_ms=5_000)[("t", 0)]]
        assert values == [b"kept"]  # it reads from memory


def test_a_directory_of_another_kind_of_broker_is_left_alone(tmp_path):
    """Its groups would be looked for where they are not."""
    with EmbeddedBroker(directory=tmp_path) as broker:
        broker.create_topic("t")
    fewer = BrokerConfig(coordinator=CoordinatorConfig(offsets_topic_num_partitions=7))
    with pytest.raises(UsageError, match=r"another kind of broker: .*'__consumer_offsets': 50"):
        EmbeddedBroker(directory=tmp_path, config=fewer).start()
    with EmbeddedBroker(directory=tmp_path) as broker:
        assert broker.topics() == {"t": 1}


def test_options_of_brokers_are_there_after_a_restart(tmp_path):
    every = ConfigResource("broker", "", {"log.retention.ms": "60000"})
    one = ConfigResource("broker", "1", {"log.segment.bytes": "1048576"})
    for time in range(3):
        with (
            EmbeddedBroker(directory=tmp_path) as broker,
            kcore.Admin(bootstrap_servers=broker.bootstrap) as admin,
        ):
            if not time:
                admin.alter_configs([every, one], raise_errors=True)
                broker.create_topic("t")
            asked = [ConfigResource("broker", name) for name in ("", "1")]
            told = admin.describe_configs(asked)["broker"]
            assert told[""]["log.retention.ms"]["value"] == "60000"
            assert told["1"]["log.segment.bytes"]["value"] == "1048576"
            topic = ConfigResource("topic", "t")
            kept = admin.describe_configs([topic], config_filter="all")["topic"]["t"]
            assert kept["retention.ms"]["value"] == "60000"
