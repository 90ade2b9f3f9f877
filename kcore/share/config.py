"""Every option of a share consumer, read once, checked, and handed to the rooms.

Names are those of `Consumer` where both have an option, else Java's with underscores. What Java's
share consumer refuses is refused, with what is there instead: much of it belongs to the group.

Source: ShareConsumerConfig.java, ConsumerConfig.java and CommonClientConfigs.java of Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kcore.limits import MAX_BATCH_BYTES, MAX_FRAME_BYTES, MAX_INT32
from kcore.settings.client import ClientConfig, contradictions, fill_in, read_options
from kcore.settings.deserializers import normal_form
from kcore.share.options import TABLE
from kcore.values import Value

EXPLICIT: Final = "explicit"
RECORD_LIMIT: Final = "record_limit"
FETCH_MAX_BYTES: Final = 52_428_800


class ReadConfig(Value):
    """How records are made of bytes. explicit: the application says what becomes of each."""

    check_crcs: bool = True
    key_deserializer: Callable[..., Any] | None = None
    value_deserializer: Callable[..., Any] | None = None
    max_batch_bytes: int = MAX_BATCH_BYTES
    explicit: bool = False


class ShareGroupConfig(Value):
    """Options of membership and of asking for records. Times are ms.

    one_by_one: record_limit (KIP-1206): no more records than asked for, so one broker is asked at a
    time.
    """

    group_id: str
    client_rack: str | None = None
    max_poll_interval_ms: int = 300_000
    max_poll_records: int = 500
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = FETCH_MAX_BYTES
    fetch_max_wait_ms: int = 500
    one_by_one: bool = False
    request_timeout_ms: int = 30_000
    default_api_timeout_ms: int = 60_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    read: ReadConfig = ReadConfig()


class ShareConsumerConfig(ClientConfig):
    """The options, checked. Make one with `from_options`; what all clients have: ClientConfig.

    share_acknowledgement_mode: "implicit": the next poll or commit accepts what the last poll gave;
        "explicit": the application acknowledges each record.
    share_acquire_mode: "batch_optimized": whole batches are acquired and returned, also if that
        makes more than max_poll_records; "record_limit": no more than that (Kafka 4.2).
    max_batch_bytes: a batch that decompresses to more is a CorruptRecordError.
    default_api_timeout_ms: bounds blocking calls that are given no timeout of their own, and how
        long an acknowledgement is tried again.
    consumer_timeout_ms: how long iteration waits for a record; infinity: for ever.
    """

    client_rack: str = ""
    group_id: str = ""
    key_deserializer: Any = None
    value_deserializer: Any = None
    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = FETCH_MAX_BYTES
    max_batch_bytes: int = MAX_BATCH_BYTES
    check_crcs: bool = True
    max_poll_records: int = 500
    max_poll_interval_ms: int = 300_000
    share_acknowledgement_mode: str = "implicit"
    share_acquire_mode: str = "batch_optimized"
    consumer_timeout_ms: float = float("inf")
    default_api_timeout_ms: int = 60_000

    @classmethod
    def from_options(cls, options: Mapping[str, object]) -> ShareConsumerConfig:
        """Read a mapping of kafka-python's or Java's names.

        KafkaConfigurationError: no group_id, an unknown name (it carries the nearest known one), a
        value of the wrong type or out of range, options that contradict each other, or one that
        share consumers do not have.
        """
        return read_options(cls, TABLE, options, _fill_in, _contradictions)

    @property
    def explicit(self) -> bool:
        """Whether the application acknowledges each record."""
        return self.share_acknowledgement_mode == EXPLICIT

    @property
    def record_limit(self) -> bool:
        """Whether no more records are acquired than are asked for."""
        return self.share_acquire_mode == RECORD_LIMIT

    @property
    def _kept_ms(self) -> int:
        return self.fetch_max_wait_ms

    def group(self) -> ShareGroupConfig:
        """Options of the rooms."""
        return ShareGroupConfig(
            group_id=self.group_id,
            client_rack=self.client_rack or None,
            max_poll_interval_ms=self.max_poll_interval_ms,
            max_poll_records=self.max_poll_records,
            fetch_min_bytes=self.fetch_min_bytes,
            fetch_max_bytes=self.fetch_max_bytes,
            fetch_max_wait_ms=self.fetch_max_wait_ms,
            one_by_one=self.record_limit,
            request_timeout_ms=self.request_timeout_ms,
            default_api_timeout_ms=self.default_api_timeout_ms,
            retry_backoff_ms=self.retry_backoff_ms,
            retry_backoff_max_ms=self.retry_backoff_max_ms,
            read=ReadConfig(
                check_crcs=self.check_crcs,
                key_deserializer=normal_form(self.key_deserializer),
                value_deserializer=normal_form(self.value_deserializer),
                max_batch_bytes=self.max_batch_bytes,
                explicit=self.explicit,
            ),
        )


def _fill_in(values: dict[str, Any]) -> None:
    """Defaults that depend on other options."""
    fill_in(values)
    # An answer is its records, at most one batch above what was asked for, and a frame around.
    fetch_max = values.get("fetch_max_bytes", FETCH_MAX_BYTES)
    frame_max = values.get("receive_message_max_bytes", MAX_FRAME_BYTES)
    values["receive_message_max_bytes"] = max(frame_max, min(2 * fetch_max, MAX_INT32))


def _contradictions(
    config: ShareConsumerConfig, given: Mapping[str, object]
) -> Iterator[tuple[str, str]]:
    """(option, what is wrong with it beside the others)."""
    c = config
    yield from contradictions(config, given)
    if not c.group_id:
        yield "group_id", "group_id: a share consumer needs one, its share group's"
    if c.fetch_max_wait_ms >= c.request_timeout_ms:
        why = f"must be below request_timeout_ms={c.request_timeout_ms}, or quiet fetches time out"
        yield "fetch_max_wait_ms", f"fetch_max_wait_ms={c.fetch_max_wait_ms} {why}"
    if c.fetch_min_bytes > c.fetch_max_bytes:
        why = f"is above fetch_max_bytes={c.fetch_max_bytes}"
        yield "fetch_min_bytes", f"fetch_min_bytes={c.fetch_min_bytes} {why}"
