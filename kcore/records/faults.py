"""What a reader says of bytes it cannot give: kept as parts, raised as a new error each time.

One error raised again and again would collect tracebacks.
"""

from __future__ import annotations

from kcore.errors import CorruptRecordError, DeserializationError, KafkaError, UnsupportedCodecError
from kcore.hints import TYPE_CHECKING, Any, Final, NoReturn
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.records.record import ConsumerRecord

# In the order of layout.Fault.
RECORD_FAULTS: Final = (
    "",
    "a number runs past the end of its record or is too long",
    "the length of a record disagrees with the bytes there are",
    "the length of a key disagrees with the bytes there are",
    "the length of a value disagrees with the bytes there are",
    "the header count of a record disagrees with its bytes",
    "the length of a record header disagrees with the bytes there are",
    "the fields of a record end before or after the record does",
)

Fault = tuple[type[KafkaError], str, dict[str, Any]]


def corrupt(topic: str, partition: int, what: str, first: int, last: int) -> Fault:
    """A batch at offsets `first` to `last` that is broken."""
    message = (
        f"{topic}-{partition}: the batch at offsets {first} to {last} cannot be read: {what};"
        f" seek to {last + 1} to skip it"
    )
    where = TopicPartition(topic, partition)
    details = {"partition": where, "first_offset": first, "last_offset": last}
    return CorruptRecordError, message, details


def missing_package(
    topic: str, partition: int, codec: str, package: str, first: int, last: int
) -> Fault:
    """A batch whose codec needs a package that is not installed."""
    message = (
        f"{topic}-{partition}: the batch at offsets {first} to {last} is {codec}: reading it takes"
        f" the package {package} (pip install {package}); seek to {last + 1} to skip it"
    )
    where = TopicPartition(topic, partition)
    details = {"codec": codec, "partition": where, "first_offset": first, "last_offset": last}
    return UnsupportedCodecError, message, details


def raise_fault(fault: Fault) -> NoReturn:
    """Raise it, as a new error."""
    error, message, details = fault
    raise error(message, **details)


def deserialization_failed(
    raw: ConsumerRecord, part: str, cause: Exception
) -> DeserializationError:
    """The error of a record whose key or value (`part`) the user's function could not take."""
    return DeserializationError(
        f"{raw.topic}-{raw.partition}: the {part} at offset {raw.offset} cannot be deserialized:"
        f" {type(cause).__name__}: {cause}; seek to {raw.offset + 1} to skip it",
        partition=TopicPartition(raw.topic, raw.partition),
        offset=raw.offset,
        part=part,
        record=raw,
    )
