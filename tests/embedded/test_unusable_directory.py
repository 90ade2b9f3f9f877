"""A broker whose directory cannot be used, or is taken away under it."""

import os
import shutil

import pytest

import kcore
from kcore.embedded import EmbeddedBroker
from kcore.embedded.disk import StorageError
from kcore.errors import KafkaTimeoutError

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
