"""What a client measures, told and pushed: metrics, those of the application beside them
(KIP-1076), and the id that brokers know them by (KIP-714).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kcore.clients.looking import steady
from kcore.errors import IllegalArgumentError, KafkaTimeoutError
from kcore.hints import TYPE_CHECKING, Any, Literal, overload

if TYPE_CHECKING:
    from kcore.clients.engine import Engine
    from kcore.events import OperationCompleted
    from kcore.meters import Group, Reading

# How long a producer waits for its id, unless told otherwise.
ID_TIMEOUT_MS = 30_000


class Measured:
    """The part of a client that tells what it measures; any thread may ask. docs/METRICS.md lists
    it all.
    """

    def _measuring(self) -> tuple[Any, Callable[[], int]]:
        """The core, and its clock. ForkedError."""
        raise NotImplementedError

    def _steady(self, read: Callable[[], Any]) -> Any:
        """Read while others may change what is read."""
        return steady(read)

    @overload
    def metrics(self, raw: Literal[False] = False) -> dict[str, Group]: ...
    @overload
    def metrics(self, raw: Literal[True]) -> list[Reading]: ...

    def metrics(self, raw: bool = False) -> dict[str, Group] | list[Reading]:
        """What the client measures of itself: numbers by name, by group.

        Groups and names as kafka-python's and Java's, such as "consumer-fetch-manager-metrics",
        "producer-topic-metrics.<topic>", "consumer-node-metrics.node-<id>". Rates are a second's,
        over 30 to 60 s; times are ms, sizes bytes. ForkedError.
        raw: the same as (group, tags, {name: number}): what a group is of is in its tags.
        """
        core, now_ms = self._measuring()
        read: Callable[[int], Any] = core.readings if raw else core.metrics
        found: dict[str, Group] | list[Reading] = self._steady(lambda: read(now_ms()))
        return found

    def register_metric_for_subscription(
        self,
        group: str,
        name: str,
        read: Callable[[], float],
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Push a metric of the application's with the client's (KIP-1076), where a broker has
        subscribed to it: as `org.apache.kafka.<group>.<name>`, with dots for hyphens.

        read: gives the number when it is time; from whichever thread drives the client, so it must
        be quick, and must not call it. A name that ends in "-total" is a sum that only grows. One
        of the same name and tags takes its place. UsageError: there are a thousand.
        """
        if not callable(read):
            raise TypeError(f"read: a function without arguments, not {read!r}")
        self._measuring()[0].register_metric(*_names(group, name), read, _pairs(tags))

    def unregister_metric_from_subscription(
        self, group: str, name: str, tags: Mapping[str, str] | None = None
    ) -> None:
        """Do not push it any more; harmless if it was not."""
        self._measuring()[0].unregister_metric(*_names(group, name), _pairs(tags))


class MeasuredEngine(Measured):
    """A client that has an engine. The attribute is its own."""

    _engine: Engine

    def _measuring(self) -> tuple[Any, Callable[[], int]]:
        engine = self._engine
        engine.guard.check_process()
        return engine.core, engine.pump.now_ms


def told_id(ended: OperationCompleted | None) -> str:
    """What the operation has found. Its error; KafkaTimeoutError: it has not ended."""
    if ended is None:
        raise KafkaTimeoutError("no broker gave a client instance id in time")
    if ended.error is not None:
        raise ended.error
    return str(ended.result)


def _names(group: str, name: str) -> tuple[str, str]:
    for what, value in (("group", group), ("name", name)):
        if not _is_text(value) or not value:
            raise IllegalArgumentError(f"{what}: a text that is not empty, not {value!r:.200}")
    return group, name


def _pairs(tags: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    if tags is not None and not isinstance(tags, Mapping):
        raise TypeError(f"tags must map texts to texts, not {tags!r:.200}")
    pairs = tuple((tags or {}).items())
    if not all(_is_text(part) for pair in pairs for part in pair):
        raise IllegalArgumentError(f"tags: texts by text, not {tags!r:.200}")
    return pairs


def _is_text(value: object) -> bool:
    """What can be written as UTF-8: a push of anything else would fail, each time."""
    return isinstance(value, str) and value == value.encode("utf-8", "replace").decode()
