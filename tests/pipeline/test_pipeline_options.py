"""Options of source and sink: what each becomes, and what is said of those that are wrong."""

import json
import pickle
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from kcore.errors import KafkaConfigurationError
from kcore.limits import MAX_INT64
from kcore.pipeline.columns import Columns
from kcore.pipeline.errors import DataLossError, OptionError
from kcore.pipeline.options import At, Bound, sink_options, source_options
from kcore.pipeline.source import KcoreDataSource
from kcore.structs import TopicPartition

SERVERS = {"kafka.bootstrap.servers": "h:9092"}


def batch(**options: str) -> Any:
    return source_options({**SERVERS, "subscribe": "t", **_dotted(options)}, streaming=False)


def stream(**options: str) -> Any:
    return source_options({**SERVERS, "subscribe": "t", **_dotted(options)}, streaming=True)


def _dotted(options: dict[str, str]) -> dict[str, str]:
    return {name.replace("__", "."): value for name, value in options.items()}


# What to read ------------------------------------------------------------------------------------


def test_names_count_in_any_case():
    found = source_options(
        {"KAFKA.Bootstrap.Servers": "h:1", "SUBSCRIBE": "a, b,a", "FailOnDataLoss": "FALSE"},
        streaming=True,
    )
    assert found.topics == ("a", "b")
    assert not found.fail_on_data_loss
    assert found.client["bootstrap_servers"] == "h:1"


def test_pattern_and_assign():
    found = source_options({**SERVERS, "subscribePattern": "a.*"}, streaming=True)
    assert (found.pattern, found.topics, found.partitions) == ("a.*", (), ())
    found = source_options({**SERVERS, "assign": '{"a":[2,0,2],"b":[1]}'}, streaming=True)
    assert found.partitions == tuple(TopicPartition(*tp) for tp in [("a", 2), ("a", 0), ("b", 1)])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "option 'subscribe': exactly one of .* there is none"),
        ({"subscribe": "a", "assign": "{}"}, "there is subscribe and assign"),
        ({"subscribe": "a", "subscribePattern": "b"}, "subscribe and subscribePattern"),
        ({"subscribe": " , "}, "option 'subscribe': names no topic"),
        ({"subscribePattern": "a("}, "option 'subscribePattern': .* no regular expression"),
        ({"subscribePattern": "a{1,99999999999}"}, "no regular expression: the repetition number"),
        ({"subscribePattern": " "}, "option 'subscribePattern': is empty"),
        ({"assign": '{"t":0}'}, "option 'assign': t: a list of partitions"),
        ({"assign": '{"t":["x"]}'}, "'x' is no partition number"),
        ({"assign": '{"t":[-1]}'}, "-1 is no partition number"),
        ({"assign": '{"t":[true]}'}, "True is no partition number"),
        ({"assign": "{}"}, "names no partition"),
        ({"assign": "[1]"}, "a JSON object is wanted"),
    ],
)
def test_what_to_read_is_said_once(options, said):
    with pytest.raises(OptionError, match=said):
        source_options({**SERVERS, **options}, streaming=True)


# Where to begin and end --------------------------------------------------------------------------


def test_defaults_are_sparks():
    assert stream().starting == Bound(At.LATEST, "startingOffsets")
    found = batch()
    assert found.starting == Bound(At.EARLIEST, "startingOffsets")
    assert found.ending == Bound(At.LATEST, "endingOffsets")
    assert found.fail_on_data_loss
    assert found.columns == Columns.all(headers=False)
    assert found.poll_timeout_ms == 120_000
    assert stream().max_trigger_delay_ms == 900_000


def test_bounds_in_all_forms():
    one = {TopicPartition("t", 0): 23, TopicPartition("t", 1): -2}
    found = batch(startingOffsets='{"t":{"0":23,"1":-2}}', endingOffsets='{"t":{"0":-1}}')
    assert found.starting == Bound(At.OFFSETS, "startingOffsets", one)
    assert found.ending.numbers == {TopicPartition("t", 0): -1}
    found = batch(
        startingOffsetsByTimestamp='{"t":{"0":5}}', endingOffsetsByTimestamp='{"t":{"0":9}}'
    )
    assert (found.starting.at, found.starting.strict) == (At.TIMES, True)
    assert (found.ending.at, found.ending.strict) == (At.TIMES, False)
    found = batch(startingTimestamp="5", endingTimestamp="9")
    assert (found.starting.at, found.starting.time_ms, found.starting.strict) == (At.TIME, 5, True)
    assert (found.ending.at, found.ending.time_ms, found.ending.strict) == (At.TIME, 9, False)
    found = stream(startingTimestamp="5", startingOffsetsByTimestampStrategy="Latest")
    assert not found.starting.strict


def test_one_time_goes_before_times_before_offsets():
    found = batch(
        startingOffsets="earliest",
        startingOffsetsByTimestamp='{"t":{"0":5}}',
        startingTimestamp="7",
    )
    assert (found.starting.at, found.starting.time_ms) == (At.TIME, 7)
    found = batch(startingOffsets="earliest", startingOffsetsByTimestamp='{"t":{"0":5}}')
    assert found.starting.at is At.TIMES


def at(partition, number):
    return json.dumps({"t": {str(partition): number}})


@pytest.mark.parametrize("number", [0, MAX_INT64])
def test_times_and_offsets_at_their_bounds(number):
    last = (1 << 31) - 1
    found = batch(startingTimestamp=str(number), endingOffsets=at(last, number))
    assert found.starting.time_ms == number
    assert found.ending.numbers == {TopicPartition("t", last): number}
    found = batch(startingOffsetsByTimestamp=at(0, number))
    assert found.starting.numbers == {TopicPartition("t", 0): number}
    for wrong in (last + 1, 99_999_999_999):
        with pytest.raises(OptionError, match=f"'{wrong}' is no partition number"):
            batch(startingOffsets=at(wrong, number))


@pytest.mark.parametrize("digit", ["\u0663", "\u00b2"])
def test_digits_of_other_scripts_are_no_partition(digit):
    with pytest.raises(OptionError, match="is no partition number"):
        batch(startingOffsets=at(digit, 1))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"startingOffsets": "latest"}, "option 'startingOffsets': 'latest' would read nothing"),
        ({"endingOffsets": "earliest"}, "option 'endingOffsets': 'earliest' would read nothing"),
        ({"startingOffsets": '{"t":{"0":-1}}'}, "t-0: -1 .latest. would read nothing"),
        ({"endingOffsets": '{"t":{"0":-2}}'}, "t-0: -2 .earliest. would read nothing"),
        ({"startingOffsets": '{"t":{"0":-3}}'}, "t-0: -3 is no offset .*integer from -2"),
        ({"startingOffsets": '{"t":{"0":1.5}}'}, "t-0: 1.5 is no offset"),
        ({"startingOffsets": '{"t":{"0":true}}'}, "t-0: True is no offset"),
        ({"startingOffsets": '{"t":{"0":9223372036854775808}}'}, "is no offset"),
        ({"startingOffsets": '{"t":{"x":1}}'}, "t: 'x' is no partition number"),
        ({"startingOffsets": '{"t":[1]}'}, r"partitions of 't': a JSON object is wanted, not \[1"),
        ({"startingOffsets": '{"t":{}}'}, "names no partition"),
        ({"startingOffsets": '{"t":{"0":1},"t":{"0":2}}'}, "'t' is there twice"),
        ({"startingOffsets": "first"}, "option 'startingOffsets': no JSON .* at character 0"),
        ({"startingTimestamp": "soon"}, "option 'startingTimestamp': 'soon' is no whole number"),
        ({"startingTimestamp": "-1"}, "'-1' is no whole number from 0"),
        ({"startingTimestamp": "9" * 19}, "is no whole number from 0 to 9223372036854775807"),
        ({"startingTimestamp": "9" * 5_000}, r"'9+ \.\.\. 9+' is no whole number from 0"),
        ({"startingOffsets": '{"t":{"0":1,"00":2}}'}, "t-0 is there twice"),
        ({"startingOffsets": '{"t":{"4294967296":1}}'}, "'4294967296' is no partition number"),
        ({"startingOffsets": '{"t":{"%s":1}}' % ("0" * 5_000)}, "is no partition number"),
        ({"startingOffsets": '{"t":{"0":%s}}' % ("9" * 5_000)}, "no JSON that could be offsets"),
        ({"startingOffsets": '{"t":' * 100_000}, "could be offsets: it is nested too deep"),
        ({"startingOffsets": '{"t":{"0":NaN}}'}, "t-0: nan is no offset"),
        ({"startingOffsetsByTimestamp": '{"t":{"0":-1}}'}, "-1 is no time in ms"),
        ({"startingOffsetsByTimestampStrategy": "x"}, "neither 'error' nor 'latest'"),
    ],
)
def test_bounds_that_cannot_be(options, said):
    with pytest.raises(OptionError, match=said):
        batch(**options)


def test_malformed_json_is_shown_where():
    with pytest.raises(OptionError) as caught:
        stream(startingOffsets='{"topic": {"0": 12, "1" 13}}')
    assert caught.value.option == "startingOffsets"
    assert "at character 24" in str(caught.value)
    assert '{"0": 12, "1" <<here>>13}}' in str(caught.value)


def test_a_value_that_is_endless_is_not_repeated_whole():
    with pytest.raises(OptionError) as caught:
        stream(failOnDataLoss="x" * 1_000_000)
    assert len(str(caught.value)) < 1_200
    assert "xxx ... xxx" in str(caught.value)
    assert str(caught.value).endswith("is neither true nor false")


# How much ----------------------------------------------------------------------------------------


def test_sizes():
    found = stream(
        minPartitions="7",
        maxRecordsPerPartition="100",
        maxOffsetsPerTrigger="5000",
        minOffsetsPerTrigger="10",
        maxTriggerDelay="2m",
        includeHeaders="true",
        kafkaConsumer__pollTimeoutMs="99",
        groupIdPrefix="x",
        fetchOffset__numRetries="3",
        fetchOffset__retryIntervalMs="10",
    )
    assert (found.min_partitions, found.max_records_per_partition) == (7, 100)
    assert (found.max_offsets_per_trigger, found.min_offsets_per_trigger) == (5000, 10)
    assert (found.max_trigger_delay_ms, found.poll_timeout_ms) == (120_000, 99)
    assert found.columns == Columns.all(headers=True)


@pytest.mark.parametrize("number", [1, (1 << 31) - 1])
def test_numbers_at_their_bounds(number):
    found = stream(maxOffsetsPerTrigger=str(number), minOffsetsPerTrigger=str(number))
    assert found.max_offsets_per_trigger == found.min_offsets_per_trigger == number
    found = batch(minPartitions=str(number), maxRecordsPerPartition=str(number))
    assert found.min_partitions == found.max_records_per_partition == number
    found = batch(minRecordsPerPartition=str(number), kafkaConsumer__pollTimeoutMs=str(number))
    assert found.min_records_per_partition == found.poll_timeout_ms == number


@pytest.mark.parametrize(
    ("given", "records"),
    [
        ({}, 20_000),
        ({"minRecordsPerPartition": "7"}, 7),
        # Who says how ranges are cut does not want them to be packed,
        ({"minPartitions": "7"}, 1),
        ({"maxRecordsPerPartition": "7"}, 1),
        # unless it is said, too.
        ({"minPartitions": "7", "minRecordsPerPartition": "8"}, 8),
    ],
)
def test_packing(given, records):
    assert stream(**given).min_records_per_partition == records


@pytest.mark.parametrize(
    ("text", "ms"),
    [("5", 5), ("5ms", 5), ("5s", 5_000), ("5 seconds", 5_000), ("1min", 60_000), ("2h", 7_200_000),
     ("1d", 86_400_000), ("15M", 900_000)],
)  # fmt: skip
def test_durations(text, ms):
    assert stream(maxTriggerDelay=text).max_trigger_delay_ms == ms


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("minPartitions", "0"),
        ("minPartitions", "x"),
        ("minPartitions", "2147483648"),
        ("minRecordsPerPartition", "0"),
        ("maxRecordsPerPartition", "0"),
        ("maxOffsetsPerTrigger", "-5"),
        ("minOffsetsPerTrigger", "1.5"),
        ("maxTriggerDelay", "soon"),
        ("failOnDataLoss", "yes"),
        ("includeHeaders", "1"),
        ("kafkaConsumer.pollTimeoutMs", "0"),
    ],
)
def test_values_that_cannot_be_name_their_option(name, value):
    with pytest.raises(OptionError) as caught:
        stream(**{name: value})
    assert caught.value.option == name
    assert repr(value) in str(caught.value)


def test_contradictions():
    with pytest.raises(OptionError, match="11 is above maxOffsetsPerTrigger=10"):
        stream(minOffsetsPerTrigger="11", maxOffsetsPerTrigger="10")
    with pytest.raises(OptionError, match="'minRecordsPerPartition': contradicts maxRecordsPer"):
        batch(minRecordsPerPartition="3", maxRecordsPerPartition="10")
    for name in ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"):
        with pytest.raises(OptionError, match=f"'{name}': only means something for batch"):
            stream(**{name: "latest"})
    for name in ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay"):
        with pytest.raises(OptionError, match=f"'{name}': only means something for streaming"):
            batch(**{name: "1"})


# Names -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("startingOffset", "did you mean 'startingOffsets'"),
        ("maxOffsetPerTrigger", "did you mean 'maxOffsetsPerTrigger'"),
        ("topic", "option 'topic': is not known; 'subscribe' names topics"),
        ("topics", "option 'topics': is not known; 'subscribe' names topics"),
        ("bootstrap.servers", "did you mean 'kafka.bootstrap.servers'"),
        ("kafka.fetch.max.byte", "'kafka.fetch.max.byte': .*did you mean 'kafka.fetch.max.bytes'"),
        ("path", "option 'path': is not known; 'subscribe' names topics"),
    ],
)
def test_unknown_names(name, said):
    with pytest.raises(OptionError, match=said):
        stream(**{name: "x"})


@pytest.mark.parametrize(
    "name",
    ["auto.offset.reset", "out.of.range.reset", "key.deserializer", "value.deserializer",
     "enable.auto.commit", "interceptor.classes"],
)  # fmt: skip
def test_what_is_ours_to_decide_is_refused_by_name(name):
    with pytest.raises(OptionError, match=f"option 'kafka.{name}': cannot be set: "):
        stream(**{f"kafka.{name}": "x"})


def test_servers_are_needed():
    with pytest.raises(OptionError, match=r"option 'kafka\.bootstrap\.servers': is needed"):
        source_options({"subscribe": "t"}, streaming=True)
    with pytest.raises(OptionError, match=r"option 'kafka\.bootstrap\.servers': is needed"):
        sink_options({"topic": "t"})


@pytest.mark.parametrize(
    "ask",
    [
        lambda reader: reader.initialOffset(),
        lambda reader: reader.getDefaultReadLimit(),
        lambda reader: reader.latestOffset({}, ReadAllAvailable()),
        lambda reader: reader.reportLatestOffset(),
        lambda reader: reader.prepareForTriggerAvailableNow(),
        lambda reader: reader.partitions({}, {}),
        lambda reader: reader.read(None),
        lambda reader: reader.commit({}),
    ],
)
def test_whatever_a_stream_with_wrong_options_is_asked_first_says_so(ask):
    """Raised where the reader is made, it would not be the last word of what PySpark shows."""
    reader = KcoreDataSource({"subscribe": "t"}).streamReader(None)
    with pytest.raises(OptionError, match=r"'kafka\.bootstrap\.servers': is needed"):
        ask(reader)
    reader.stop()


def test_client_options_pass_on_and_nothing_is_ever_reset_or_committed():
    found = stream(
        kafka__isolation__level="read_committed",
        kafka__fetch__max__bytes="1000000",
        kafka__group__id="g",
        kafka__group__instance__id="i",
        kafka__request__timeout__ms="9000",
        kafka__out_of_range_reset="latest",  # in our own spelling, which is not Spark's
    ).client
    assert found["isolation_level"] == "read_committed"
    assert found["fetch_max_bytes"] == "1000000"
    assert (found["auto_offset_reset"], found["enable_auto_commit"]) == ("none", False)
    assert found["out_of_range_reset"] == "none"
    assert "group_id" not in found  # none is used
    assert "group_instance_id" not in found


@pytest.mark.parametrize(
    ("level", "is_so"),
    [
        ("read_committed", True),
        (" READ_COMMITTED ", True),
        ("read_uncommitted", False),
        (None, False),
    ],
)
def test_whether_only_what_is_committed_is_read(level, is_so):
    given = {} if level is None else {"kafka.isolation.level": level}
    assert stream(**given).is_committed is is_so


def test_a_clients_own_words_come_under_sparks_name():
    with pytest.raises(OptionError) as caught:
        stream(kafka__isolation__level="dirty")
    assert caught.value.option == "kafka.isolation.level"
    with pytest.raises(OptionError) as caught:
        sink_options({**SERVERS, "kafka.acks": "7"})
    assert caught.value.option == "kafka.acks"


def test_a_topic_may_have_blanks_around_it():
    assert sink_options({**SERVERS, "topic": " flights\n"}).topic == "flights"
    for name in ("", " ", "two words", "x" * 250):
        with pytest.raises(OptionError, match=r"option 'topic': .* is no topic name"):
            sink_options({**SERVERS, "topic": name})


def test_options_that_have_one_value_take_it_as_text():
    assert sink_options({**SERVERS, "kafka.partitioner.availability.timeout.ms": "0"})
    with pytest.raises(OptionError, match="only 0 is available"):
        sink_options({**SERVERS, "kafka.partitioner.availability.timeout.ms": "1"})


def test_a_sinks_batches_are_large_and_its_memory_has_room_for_them():
    found = sink_options(SERVERS).client
    assert (found["batch_size"], found["linger_ms"]) == (524_288, 20)
    assert found["buffer_memory"] == 32 * 524_288
    for given, memory in (
        ({"kafka.batch.size": "131072"}, 8_388_608),
        ({"kafka.max.request.size": "10485760"}, 41_943_040),
        ({"kafka.buffer.memory": "2000000"}, "2000000"),
    ):
        assert sink_options({**SERVERS, **given}).client["buffer_memory"] == memory


# The sink ----------------------------------------------------------------------------------------


def test_sink():
    found = sink_options({**SERVERS, "Topic": "t", "includeHeaders": "true", "kafka.acks": "all"})
    assert (found.topic, found.client["acks"]) == ("t", "all")
    assert sink_options({**SERVERS, "checkpointLocation": "c", "queryName": "q"}).topic is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kafka.key.serializer", "cannot be set"),
        ("kafka.value.serializer", "cannot be set"),
        ("kafka.transactional.id", "cannot be set"),
        ("topics", "option 'topics': is not known; 'topic' names topics"),
        ("path", "option 'path': is not known; 'topic' names topics"),
        ("subscribe", "option 'subscribe': is not known; 'topic' names topics"),
        ("kafka.lingerms", "did you mean 'kafka.linger.ms'"),
    ],
)
def test_sink_refuses(name, said):
    with pytest.raises(OptionError, match=said) as caught:
        sink_options({**SERVERS, name: "x"})
    assert caught.value.option == name


def test_errors_survive_the_way_from_a_worker():
    one = OptionError("subscribe", "is wrong")
    again = pickle.loads(pickle.dumps(one))
    assert (str(again), again.option) == (str(one), "subscribe")
    two = DataLossError("gone", TopicPartition("t", 1), 5, 9)
    again = pickle.loads(pickle.dumps(two))
    assert (str(again), again.partition, again.begin, again.end) == (
        str(two), TopicPartition("t", 1), 5, 9,
    )  # fmt: skip
    assert "failOnDataLoss" in str(two)
    assert not isinstance(one, KafkaConfigurationError)  # it is one of Spark's options
