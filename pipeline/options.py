"""The options of the source and of the sink: those of Spark's own `kafka` format, by their names.

Names count in any case, as everywhere in Spark. Everything under `kafka.` goes to the client; a few
of those are ours to decide and are refused by name. What is not known is refused, too, with the
nearest name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from kcore.errors import InvalidTopicError, KafkaConfigurationError
from kcore.limits import MAX_INT64
from kcore.pipeline import offsets as json_offsets
from kcore.pipeline.columns import ALL_BUT_HEADERS, Columns
from kcore.pipeline.errors import OptionError
from kcore.pipeline.offsets import Offsets
from kcore.pipeline.security import client_options
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.producer.config import ProducerConfig

_STRATEGIES: Final = ("subscribe", "subscribePattern", "assign")
_FORBIDDEN: Final[Mapping[str, str]] = {
    "auto.offset.reset": "the source never resets: say where to begin with startingOffsets",
    "out.of.range.reset": "the source never resets: see failOnDataLoss",
    "key.deserializer": "keys are binary: cast or decode the column",
    "value.deserializer": "values are binary: cast or decode the column",
    "enable.auto.commit": "offsets are kept in the checkpoint, not committed",
    "interceptor.classes": "it is an option of the JVM's client",
}
_FORBIDDEN_SINK: Final[Mapping[str, str]] = {
    "key.serializer": "keys are binary or string columns",
    "value.serializer": "values are binary or string columns",
    "transactional.id": "tasks write side by side, and Spark may run one twice: see docs/spark.md",
}
_TIME = re.compile(
    r"([0-9]{1,15})\s*(ms|s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)?", re.IGNORECASE
)
_NUMBER = re.compile(r"\s*[0-9]{1,19}\s*")
_MEANT = re.compile(r"(?<=did you mean )'(\w+)'\?")
# A task of a Python source costs as much as reading some 100,000 small records; far fewer than that
# are given up to let tasks run side by side.
_LEAST_RECORDS: Final = 20_000
_TASKS_MAX: Final = (1 << 31) - 1  # Spark counts them so
_TIME_UNITS: Final = {"": 1, "ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class At(Enum):
    """Where reading begins or ends."""

    EARLIEST = "earliest"
    LATEST = "latest"
    OFFSETS = "offsets"  # by partition
    TIME = "time"  # the same for all
    TIMES = "times"  # by partition


@dataclass(frozen=True, slots=True)
class Bound:
    """A place in every partition. numbers: offsets, or times in ms. strict: a time without a record
    at or after it is an error, else the end.
    """

    at: At
    option: str
    numbers: Offsets = field(default_factory=dict)
    time_ms: int = 0
    strict: bool = False


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options, checked. client: what a kcore Consumer is made with; not in any repr, because it
    may hold passwords. query_id: consumers are shared by tasks of the same one.
    """

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[TopicPartition, ...] = ()
    starting: Bound = Bound(At.LATEST, "startingOffsets")
    ending: Bound = Bound(At.LATEST, "endingOffsets")
    min_partitions: int | None = None
    min_records_per_partition: int = 1
    max_records_per_partition: int | None = None
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int | None = None
    max_trigger_delay_ms: int = 900_000
    fail_on_data_loss: bool = True
    columns: Columns = ALL_BUT_HEADERS
    poll_timeout_ms: int = 120_000
    query_id: str = ""
    client: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def is_committed(self) -> bool:
        """Whether only what is committed is read."""
        level = str(self.client.get("isolation_level", ""))
        return level.strip().lower() == "read_committed"  # as the client takes it


_SOURCE_NAMES: Final = (
    *_STRATEGIES,
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingOffsetsByTimestamp",
    "endingTimestamp",
    "minPartitions",
    "minRecordsPerPartition",  # ours
    "maxRecordsPerPartition",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "failOnDataLoss",
    "includeHeaders",
    "groupIdPrefix",  # taken, and without effect: no group is ever used
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
)
_STREAM_ONLY: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
# What is given for topics where another word is for them: the sink's to the source, the source's to
# the sink, and load("t").
_FOR_TOPICS: Final = ("path", "subscribe", "topic", "topics")
_BATCH_ONLY: Final = ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")


class _Given:
    """What was given, by Spark's names, all of them known."""

    def __init__(self, options: Mapping[str, str], known: tuple[str, ...]) -> None:
        by_lower = {name.lower(): name for name in known}
        self.kafka: dict[str, str] = {}
        self.values: dict[str, str] = {}
        for option, value in options.items():
            lower = option.lower()
            if lower.startswith("kafka."):
                self.kafka[lower.removeprefix("kafka.")] = value
            elif lower in by_lower:
                self.values[by_lower[lower]] = value
            else:
                raise _unknown(option, known)

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def number(self, name: str, minimum: int, maximum: int = MAX_INT64) -> int | None:
        text = self.values.get(name)
        if text is None:
            return None
        if not _NUMBER.fullmatch(text) or not minimum <= int(text) <= maximum:
            raise OptionError(name, f"{text!r} is no whole number from {minimum} to {maximum}")
        return int(text)

    def truth(self, name: str, default: bool) -> bool:
        text = self.values.get(name)
        if text is None:
            return default
        if text.strip().lower() not in ("true", "false"):
            raise OptionError(name, f"{text!r} is neither true nor false")
        return text.strip().lower() == "true"


def _unknown(option: str, known: tuple[str, ...]) -> OptionError:
    near = get_close_matches(option.lower(), [name.lower() for name in known], n=1, cutoff=0.6)
    hint = ""
    if option.lower() in _FOR_TOPICS:
        hint = f"; {known[0]!r} names topics"
    elif near:
        hint = f"; did you mean {next(name for name in known if name.lower() == near[0])!r}?"
    elif "." in option:
        hint = f"; options of the Kafka client begin with 'kafka.': did you mean 'kafka.{option}'?"
    return OptionError(option, f"is not known{hint}")


def source_options(options: Mapping[str, str], *, streaming: bool) -> SourceOptions:
    """Read and check; OptionError names the option and what to do."""
    given = _Given(options, _SOURCE_NAMES)
    wrong, kind = (_BATCH_ONLY, "batch") if streaming else (_STREAM_ONLY, "streaming")
    for name in wrong:
        if given.get(name) is not None:
            raise OptionError(name, f"only means something for {kind} queries")
    topics, pattern, partitions = _strategy(given)
    at_least = given.number("minOffsetsPerTrigger", 1)
    at_most = given.number("maxOffsetsPerTrigger", 1)
    if at_least is not None and at_most is not None and at_least > at_most:
        raise OptionError(
            "minOffsetsPerTrigger", f"{at_least} is above maxOffsetsPerTrigger={at_most}"
        )
    return SourceOptions(
        topics=topics,
        pattern=pattern,
        partitions=partitions,
        starting=_bound(given, "starting", At.LATEST if streaming else At.EARLIEST, streaming),
        ending=_bound(given, "ending", At.LATEST, streaming),
        min_partitions=given.number("minPartitions", 1, _TASKS_MAX),
        min_records_per_partition=_least_records(given),
        max_records_per_partition=given.number("maxRecordsPerPartition", 1),
        max_offsets_per_trigger=at_most,
        min_offsets_per_trigger=at_least,
        max_trigger_delay_ms=_duration(given, "maxTriggerDelay", 900_000),
        fail_on_data_loss=given.truth("failOnDataLoss", True),
        columns=Columns.all(headers=given.truth("includeHeaders", False)),
        poll_timeout_ms=given.number("kafkaConsumer.pollTimeoutMs", 1) or 120_000,
        client=_consumer(given.kafka),
    )


def _least_records(given: _Given) -> int:
    """Who says how ranges are cut says it alone, unless they are to be packed expressly."""
    least = given.number("minRecordsPerPartition", 1)
    if least is None:
        is_cut = given.get("minPartitions") or given.get("maxRecordsPerPartition")
        return 1 if is_cut else _LEAST_RECORDS
    if given.get("maxRecordsPerPartition") is not None:
        raise OptionError(
            "minRecordsPerPartition",
            "contradicts maxRecordsPerPartition: one packs small ranges, the other cuts large ones",
        )
    return least


def _strategy(
    given: _Given,
) -> tuple[tuple[str, ...], str | None, tuple[TopicPartition, ...]]:
    chosen = [name for name in _STRATEGIES if given.get(name) is not None]
    if len(chosen) != 1:
        found = " and ".join(chosen) if chosen else "none of them"
        raise OptionError(
            chosen[1] if chosen else "subscribe",
            f"exactly one of {', '.join(_STRATEGIES)} is needed; there is {found}",
        )
    name = chosen[0]
    text = given.get(name) or ""
    if name == "assign":
        return (), None, tuple(json_offsets.parse_assign(name, text))
    if name == "subscribePattern":
        try:
            re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            raise OptionError(name, f"{text!r} is no regular expression: {error}") from None
        if not text.strip():
            raise OptionError(name, "is empty")
        return (), text.strip(), ()
    topics = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not topics:
        raise OptionError(name, "names no topic: give one, or several with commas between")
    return topics, None, ()


def _bound(given: _Given, side: str, default: At, streaming: bool) -> Bound:
    """Spark's order: one time for all, times by partition, offsets."""
    strategy = (given.get("startingOffsetsByTimestampStrategy") or "error").strip().lower()
    if strategy not in ("error", "latest"):
        raise OptionError(
            "startingOffsetsByTimestampStrategy", f"{strategy!r} is neither 'error' nor 'latest'"
        )
    strict = side == "starting" and strategy == "error"
    name = f"{side}Timestamp"
    if given.get(name) is not None:
        return Bound(At.TIME, name, time_ms=given.number(name, 0) or 0, strict=strict)
    name = f"{side}OffsetsByTimestamp"
    text = given.get(name)
    if text is not None:
        times = json_offsets.parse(name, text, what="time in ms", minimum=0)
        return Bound(At.TIMES, name, times, strict=strict)
    name = f"{side}Offsets"
    text = given.get(name)
    if text is None:
        return Bound(default, name)
    word = text.strip().lower()
    wrong = "earliest" if side == "ending" else "latest" if not streaming else ""
    if word == wrong:
        raise OptionError(name, f"{word!r} would read nothing: the range would be empty")
    if word in ("earliest", "latest"):
        return Bound(At(word), name)
    found = json_offsets.parse(
        name, text, what="offset (-1 latest, -2 earliest)", minimum=json_offsets.EARLIEST
    )
    forbidden = json_offsets.EARLIEST if side == "ending" else json_offsets.LATEST
    for tp, offset in found.items():
        if offset == forbidden and (side == "ending" or not streaming):
            meaning = "earliest" if side == "ending" else "latest"
            raise OptionError(
                name, f"{tp.topic}-{tp.partition}: {offset} ({meaning}) would read nothing"
            )
    return Bound(At.OFFSETS, name, found)


def _duration(given: _Given, name: str, default: int) -> int:
    text = given.get(name)
    if text is None:
        return default
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise OptionError(name, f"{text!r} is no duration, such as 30s or 15m")
    unit = (match[2] or "").lower()
    return int(match[1]) * _TIME_UNITS["ms" if unit == "ms" else unit[:1]]


def _consumer(kafka: Mapping[str, str]) -> dict[str, Any]:
    """What a Consumer of ours is made with."""
    _refuse(kafka, _FORBIDDEN)
    from kcore.consumer.config import ConsumerConfig  # noqa: PLC0415 - only to be checked by

    client = client_options(kafka)
    # To ask for a topic that is gone must not make an empty one of its name.
    client.setdefault("allow_auto_create_topics", False)
    client |= {"enable_auto_commit": False}
    client |= {"auto_offset_reset": "none", "out_of_range_reset": "none"}
    _try(lambda: ConsumerConfig.from_options(client))
    # No group is joined and no offset committed, so there is no need to say whose they would be.
    client.pop("group_id", None)
    client.pop("group_instance_id", None)
    return client


def _refuse(kafka: Mapping[str, str], forbidden: Mapping[str, str]) -> None:
    for name, why in forbidden.items():
        if name in kafka:
            raise OptionError(f"kafka.{name}", f"cannot be set: {why}")
    if "bootstrap.servers" not in kafka:
        raise OptionError("kafka.bootstrap.servers", "is needed: host:port, with commas between")


def _try(make: Any) -> None:
    """A client's own words, under Spark's name of the option."""
    try:
        make()
    except KafkaConfigurationError as error:
        option = (error.option or "").replace("_", ".")
        text = _MEANT.sub(lambda near: f"'kafka.{near[1].replace('_', '.')}'?", str(error))
        raise OptionError(f"kafka.{option}", text) from None


# The sink --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """The options, checked. topic: of rows that name none. client: what a Producer is made with."""

    topic: str | None = None
    client: Mapping[str, Any] = field(default_factory=dict, repr=False)


# Rows are there in bulk, so batches become full, and what a batch costs (here and in the broker) is
# spread over more of them than Kafka's 16 KiB have. Half of what a broker takes by default
# (message.max.bytes).
_SINK_CLIENT: Final = {"batch_size": 524_288, "linger_ms": 20}
_BUFFER_MEMORY: Final = 8_388_608


def _buffer_memory(config: ProducerConfig) -> int:
    """Enough for five requests under way and as much behind them. More would only be colder when
    its turn comes: rows that wait here have left the processor's caches.
    """
    return max(_BUFFER_MEMORY, 32 * config.batch_size, 4 * config.max_request_size)


def _sink_topic(given: _Given) -> str | None:
    text = given.get("topic")
    if text is None:
        return None
    from kcore.clients.arguments import topic_name  # noqa: PLC0415 - only to be checked by

    try:
        return topic_name(text.strip())
    except InvalidTopicError as error:
        raise OptionError("topic", str(error.args[0])) from None


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    """Read and check; OptionError names the option and what to do."""
    given = _Given(options, ("topic", "includeHeaders", "checkpointLocation", "queryName"))
    _refuse(given.kafka, _FORBIDDEN_SINK)
    from kcore.producer.config import ProducerConfig  # noqa: PLC0415 - only to be checked by

    client = client_options(given.kafka)
    for name, value in _SINK_CLIENT.items():
        client.setdefault(name, value)
    checked: list[ProducerConfig] = []
    _try(lambda: checked.append(ProducerConfig.from_options(client)))
    if "buffer_memory" not in client:
        client["buffer_memory"] = _buffer_memory(checked[0])
    given.truth("includeHeaders", False)  # without effect: a column of headers is written
    return SinkOptions(topic=_sink_topic(given), client=client)
