"""`max.decompressed.message.bytes` (Kafka 4.4): how large a record of a compressed batch may be."""

import tracemalloc

import pytest
from broker_world import World, only, produce
from test_settings import SET, TOPIC, alter

from kcore.broker import BrokerConfig, LogConfig
from kcore.errors import KafkaConfigurationError
from kcore.records import encode_batch
from kcore.records.survey import OversizedRecordError, first_at_or_after, survey
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

OPTION = "max.decompressed.message.bytes"
LARGEST = 2_147_483_639
CODECS = ["gzip", "snappy", "lz4", "zstd"]
AROUND = 7  # bytes beside a value of 64 to 8,191


def large(size, codec, before=()):
    return encode_batch([*before, (1_000, None, b"x" * size)], codec=codec)


@pytest.mark.parametrize("codec", CODECS)
def test_a_record_counts_without_the_number_in_front(codec):
    most = 500 + AROUND
    assert survey(large(500, codec), record_bytes_max=most).records == 1
    with pytest.raises(OversizedRecordError, match="of 508 bytes, more than 507"):
        survey(large(501, codec), record_bytes_max=most)
    assert survey(large(501, codec)).records == 1
    assert survey(large(501, "none"), record_bytes_max=most).records == 1


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_not_allowed_for_is_not_unpacked(codec):
    bomb = large(50_000_000, codec)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="more than 1005 bytes"):
            survey(bomb, record_bytes_max=1_000)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_look_up_ends_at_a_record_that_is_too_large():
    data = large(500, "gzip", before=[(900, None, b"small")])
    assert first_at_or_after(data, 900, record_bytes_max=100) == (0, 900)
    with pytest.raises(OversizedRecordError):
        first_at_or_after(data, 901, record_bytes_max=100)
    assert first_at_or_after(data, 901) == (1, 1_000)
    plain = large(500, "none", before=[(900, None, b"small")])
    assert first_at_or_after(plain, 901, record_bytes_max=100) == (1, 1_000)


def answered(client, data):
    return only(client.ask(produce(data), 9)).error_code


def looked_up(client, timestamp):
    Offsets = m.ListOffsetsRequest
    part = Offsets.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    asked = Offsets(topics=[Offsets.ListOffsetsTopic(name="t", partitions=[part])])
    (found,) = client.ask(asked).topics[0].partitions
    return found.error_code, found.offset


def test_it_holds_for_what_comes_and_for_what_is_looked_up():
    world = World(config=BrokerConfig(log=LogConfig(max_decompressed_message_bytes=1_000)))
    world.topic("t")
    client = world.client()
    assert answered(client, large(2_000, "gzip")) == ErrorCode.INVALID_RECORD
    assert alter(client, TOPIC, "t", (OPTION, SET, "3000"))[0] == 0
    assert answered(client, large(2_000, "gzip")) == ErrorCode.NONE
    assert looked_up(client, 1_000) == (ErrorCode.NONE, 0)
    assert alter(client, TOPIC, "t", (OPTION, SET, "100"))[0] == 0
    assert looked_up(client, 1_000) == (ErrorCode.INVALID_RECORD, -1)
    assert looked_up(client, 5_000) == (ErrorCode.NONE, -1)
    assert answered(client, large(2_000, "none")) == ErrorCode.NONE
    assert not world.faults


@pytest.mark.parametrize("size", [0, LARGEST + 1])
def test_what_no_topic_could_have_is_refused(size):
    with pytest.raises(KafkaConfigurationError, match=OPTION):
        BrokerConfig(log=LogConfig(max_decompressed_message_bytes=size))
