"""Every option of a producer, read once, checked against each other, and handed to the rooms.

Names are kafka-python's; Java's dotted names are understood as well. Defaults are Java's where the
two differ:

| option | kafka-python | Java | here |
|---|---|---|---|
| linger_ms | 0 | 5 | None: 5, so that batches fill; 0 for what somebody waits for |
| reconnect_backoff_max_ms | 30000 | 1000 | 1000 |
| partitioner | murmur2, else random | murmur2, else sticky (KIP-794) | Java's |

Source: ProducerConfig.java of Kafka 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kcore.errors import KafkaConfigurationError
from kcore.produce.config import ACKS_ALL, LINGER_MS, ProduceConfig
from kcore.producer.options import LEVELS, TABLE
from kcore.records.codecs import MissingPackageError, load
from kcore.settings.client import ClientConfig, contradictions, fill_in, read_options

_JAVA_LZ4_LEVEL: Final = 9


class ProducerConfig(ClientConfig):
    """The options, checked. Make one with `from_options`; what all clients have: ClientConfig.

    acks: 0, 1 or -1 ("all"). compression_level: the codec's own scale; None: its default.
    (compression_gzip_level and so on, as Java has them, are the same if that is the codec.)
    buffer_memory: what records that are not delivered may hold; then `send` waits `max_block_ms`.
    linger_ms: how long a batch that is not full waits for more. None: Java's 5, but not where
    somebody waits for a record of it (`get`, `send_and_wait`): it fills no sooner for that.
    delivery_timeout_ms: from `send` to the end of all attempts. partitioner: a function of (key
    bytes, all partitions, those with a leader), or a kafka.partitioner.Partitioner; None: Java's
    default, which keeps records without a key to partitions with leaders in client_rack, where
    there are any, if partitioner_rack_aware (KIP-1123). transactional_id: makes it transactional,
    and fences whoever had the id before. interceptor_classes: what clients have look at records
    (KIP-42): classes or objects.
    The rest: ProduceConfig.
    """

    max_in_flight_requests_per_connection: int = 5
    key_serializer: Any = None
    value_serializer: Any = None
    acks: int = ACKS_ALL
    enable_idempotence: bool = True
    compression_type: str = "none"
    compression_level: int | None = None
    retries: int = 2_147_483_647
    batch_size: int = 16_384
    linger_ms: int | None = None
    buffer_memory: int = 33_554_432
    max_request_size: int = 1_048_576
    max_block_ms: int = 60_000
    delivery_timeout_ms: int = 120_000
    partitioner: Any = None
    partitioner_ignore_keys: bool = False
    partitioner_adaptive_partitioning_enable: bool = True
    partitioner_rack_aware: bool = False
    client_rack: str = ""
    metadata_max_idle_ms: int = 300_000
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000
    interceptor_classes: tuple[Any, ...] = ()

    @classmethod
    def from_options(cls, options: Mapping[str, object]) -> ProducerConfig:
        """Read a mapping of kafka-python's or Java's names.

        KafkaConfigurationError: an unknown name (it carries the nearest known one), a value of the
        wrong type or out of range, options that contradict each other, or one that this version
        does not have yet.
        """
        return read_options(cls, TABLE, options, _fill_in, _contradictions)

    def produce(self) -> ProduceConfig:
        """Options of batches and their sending."""
        return ProduceConfig(
            acks=self.acks,
            enable_idempotence=self.enable_idempotence,
            codec=self.compression_type,
            compression_level=self.compression_level,
            linger_ms=_linger_ms(self.linger_ms),
            awaited_linger=self.linger_ms is not None,
            batch_size=self.batch_size,
            buffer_memory=self.buffer_memory,
            max_request_size=self.max_request_size,
            delivery_timeout_ms=self.delivery_timeout_ms,
            request_timeout_ms=self.request_timeout_ms,
            retries=self.retries,
            max_in_flight=self.max_in_flight_requests_per_connection,
            retry_backoff_ms=self.retry_backoff_ms,
            retry_backoff_max_ms=self.retry_backoff_max_ms,
            metadata_max_idle_ms=self.metadata_max_idle_ms,
            partitioner_ignore_keys=self.partitioner_ignore_keys,
            partitioner_adaptive=self.partitioner_adaptive_partitioning_enable,
            rack=self.client_rack if self.partitioner_rack_aware else "",
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self.transaction_timeout_ms,
        )

    @property
    def measured(self) -> str:
        """For texts: how `max_request_size` measures a record. Java does, too."""
        return "" if self.compression_type == "none" else " before compression"


def _linger_ms(given: int | None) -> int:
    return LINGER_MS if given is None else given


def _fill_in(values: dict[str, Any]) -> None:
    """Idempotence gives way to options that it cannot be had with, unless it was asked for. The
    delivery timeout has room for an attempt, unless it was given.
    """
    fill_in(values)
    needed = _linger_ms(values.get("linger_ms")) + values.get("request_timeout_ms", 30_000)
    values.setdefault("delivery_timeout_ms", max(120_000, needed))
    acks, retries = values.get("acks", ACKS_ALL), values.get("retries", 1)
    in_flight = values.get("max_in_flight_requests_per_connection", 5)
    gives_way = values.get("transactional_id") is None  # transactions cannot be had without
    if gives_way and (acks != ACKS_ALL or retries == 0 or in_flight > 5):
        values.setdefault("enable_idempotence", False)
    _choose_level(values)


def _choose_level(values: dict[str, Any]) -> None:
    """One level out of Java's three. Its lz4 is the fast one at its default, 9, and else the other
    one, whose level this is.
    """
    given = {name: values.pop(name, None) for name in LEVELS}
    name = f"compression_{values.get('compression_type')}_level"
    level = given.get(name)
    if name == "compression_lz4_level" and level == _JAVA_LZ4_LEVEL:
        level = None
    if level is None:
        return
    if values.setdefault("compression_level", level) != level:
        raise KafkaConfigurationError(
            f"{name}={level} and compression_level={values['compression_level']} are different: "
            "give one",
            option=name,
        )


def _contradictions(
    config: ProducerConfig, given: Mapping[str, object]
) -> Iterator[tuple[str, str]]:
    """(option, what is wrong with it beside the others)."""
    yield from contradictions(config, given)
    try:  # here, and not in the middle of what is sent
        load(config.compression_type)
    except MissingPackageError as missing:
        why = f"needs the package {missing.package}: pip install {missing.package}"
        yield "compression_type", f"compression_type={config.compression_type!r} {why}"
    level = config.compression_level
    if level is not None and config.compression_type == "snappy":
        yield "compression_level", f"compression_level={level}: snappy has no levels"
    if level is not None and config.compression_type == "gzip" and not -1 <= level <= 9:
        yield "compression_level", f"compression_level={level}: gzip has -1 (its default) to 9"
    if config.transactional_id is not None and not config.enable_idempotence:
        why = "enable_idempotence=False: transactional_id needs an idempotent producer"
        yield "enable_idempotence", why
    if config.enable_idempotence:
        asked = "enable_idempotence" if config.transactional_id is None else "transactional_id"
        in_flight = config.max_in_flight_requests_per_connection
        if config.acks != ACKS_ALL:
            yield "acks", f"acks={config.acks}: {asked} needs acks='all'"
        if config.retries == 0:
            yield "retries", f"retries=0: {asked} needs at least one"
        if in_flight > 5:
            name = "max_in_flight_requests_per_connection"
            yield name, f"{name}={in_flight}: {asked} allows at most 5"
    needed = _linger_ms(config.linger_ms) + config.request_timeout_ms
    if config.delivery_timeout_ms < needed:
        why = (
            f"delivery_timeout_ms={config.delivery_timeout_ms} is below linger_ms + "
            f"request_timeout_ms={needed}: not one attempt would be certain to fit"
        )
        yield "delivery_timeout_ms", why
