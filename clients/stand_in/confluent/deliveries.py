"""What delivery reports are given, and of what."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kcore import errors as ours
from kcore.clients.stand_in.confluent.errors import KafkaError, named, told
from kcore.clients.stand_in.confluent.messages import Message
from kcore.clients.stand_in.confluent.writer import PurgedError

if TYPE_CHECKING:
    from kcore.produce.batch import Batch

Callback = Callable[[Any, Message], object]

# topic, partition, key, value, headers, timestamp (ms), callback, when (s), bytes
Unsent = tuple[str, int, Any, Any, Any, int, Any, float, int]


def why_failed(error: BaseException, batch: Batch) -> KafkaError:
    """What a delivery report has of an error of ours."""
    if isinstance(error, PurgedError):
        return named("_PURGE_INFLIGHT" if batch.attempts else "_PURGE_QUEUE")
    if isinstance(error, ours.KafkaTimeoutError):
        return named("_MSG_TIMED_OUT", f"Local: Message timed out: {error}")
    return told(error)


def timed_out(topic: str) -> KafkaError:
    """Of a message whose topic was not known in time."""
    return named("_MSG_TIMED_OUT", f"Local: Message timed out: {topic} was not known in time")
