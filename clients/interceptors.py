"""What looks at records and commits on their way through a client, and may change records (KIP-42).

Interceptors are called one after the other, in their order; each gets what the one before made of
it. What one raises is logged, and all goes on as if it had not been called (as in Java). Nothing
here is loaded where `interceptor_classes` is not given.

Columns (`poll_arrow`, `poll_batches`, `send_arrow`) and batches that the user made pass by: there
are no records in them to be looked at. The log says so once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any

from kcore.clients.log import Log
from kcore.errors import KafkaConfigurationError
from kcore.structs import OffsetAndMetadata, ProducerRecord, TopicPartition

log = Log("kcore.clients")

Headers = Sequence[tuple[str, bytes | None]]
Records = dict[TopicPartition, list[Any]]
Offsets = Mapping[TopicPartition, OffsetAndMetadata]
_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class Interceptor:
    """What both kinds have in common; a base is not needed, only the methods are."""

    def configure(self, configs: Mapping[str, object]) -> None:
        """The client's options by name, passwords hidden; once, before anything else."""

    def close(self) -> None:
        """The client is closed."""


class ConsumerInterceptor(Interceptor):
    """Java's ConsumerInterceptor. Its methods run in whichever call of the consumer's, and must not
    call it.
    """

    def on_consume(self, records: Records) -> Records:
        """Records ({TopicPartition: [ConsumerRecord]}) on their way to the application: what it is
        to have of them, or in their place. What is left out counts as consumed.
        """
        return records

    def on_commit(self, offsets: Offsets) -> None:
        """These were committed, by the application or by itself."""


class ProducerInterceptor(Interceptor):
    """Java's ProducerInterceptor."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """A record as the application gives it, before serializers and partitioner: what is to be
        sent in its place. Its `headers` are a list of its own. Runs in the caller of `send`.
        """
        return record

    def on_acknowledgement(
        self, metadata: Any, exception: Exception | None, headers: Headers
    ) -> None:
        """A record is delivered, or has failed, also within `send`; before its future says so to
        others. Runs in what drives the producer, and must be quick.

        metadata: as the future has it; of a record that failed topic and partition (-1: not known),
        all else -1. headers: those sent (KIP-512, as of Java 4.1); a method of two parameters is
        not given them.
        """


class Interceptors:
    """Those of one client, made and configured."""

    def __init__(self, given: Iterable[object], configs: Mapping[str, object]) -> None:
        self._all: list[Any] = []
        self._passed: set[str] = set()
        for one in given:
            try:
                self._all.append(one() if isinstance(one, type) else one)
                configure = getattr(self._all[-1], "configure", None)
                if configure is not None:
                    configure(configs)
            except Exception as error:
                self.close()
                raise KafkaConfigurationError(
                    f"interceptor_classes: {_name(one)} cannot be made: {error!r}",
                    option="interceptor_classes",
                ) from error

    def _methods(self, name: str) -> list[Callable[..., Any]]:
        found = [getattr(one, name, None) for one in self._all]
        return [method for method in found if method is not None]

    def pass_by(self, verb: str) -> None:
        """Say, the first time, that they are not called for what this verb carries."""
        if verb not in self._passed:
            self._passed.add(verb)
            log.warning("%s() carries no single records: interceptors are not called for it", verb)

    def close(self) -> None:
        """Close all that can be; once."""
        closing, self._all = self._all, []
        for one in closing:
            close = getattr(one, "close", None)
            if close is not None:
                _try(close)


class ConsumerInterceptors(Interceptors):
    """Those of a consumer."""

    def __init__(self, given: Iterable[object], configs: Mapping[str, object]) -> None:
        super().__init__(given, configs)
        self._consume = self._methods("on_consume")
        self._commit = self._methods("on_commit")

    def on_consume(self, records: Records) -> Records:
        """What the application gets; empty if that is nothing."""
        for consume in self._consume:
            found = _try(consume, records)
            if found is _FAILED:
                continue
            kept = _records_in(found)
            if kept is None:
                log.warning("%s() gave no records, but %r: it is ignored", _name(consume), found)
            else:
                records = kept
        return records

    def on_record(self, record: Any) -> Any:
        """The same of one; None if it is left out."""
        tp = TopicPartition(record.topic, record.partition)
        for kept in self.on_consume({tp: [record]}).values():
            return kept[0]
        return None

    def on_commit(self, offsets: Offsets) -> None:
        """These were committed."""
        if offsets:
            for commit in self._commit:
                _try(commit, offsets)

    def told_first(
        self, callback: Callable[[Any, Any], object] | None
    ) -> Callable[[Any, Any], object]:
        """A callback of a commit (offsets, error) that tells them, then the user's own."""

        def committed(offsets: Any, error: Any) -> object:
            if error is None:
                self.on_commit(offsets)
            return None if callback is None else callback(offsets, error)

        return committed


class ProducerInterceptors(Interceptors):
    """Those of a producer. unknown: makes metadata of what was not delivered."""

    def __init__(
        self,
        given: Iterable[object],
        configs: Mapping[str, object],
        unknown: Callable[[TopicPartition], Any],
    ) -> None:
        super().__init__(given, configs)
        self._send = self._methods("on_send")
        self._acknowledge = [
            (method, _takes_headers(method)) for method in self._methods("on_acknowledgement")
        ]
        self._unknown = unknown

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """What is to be sent."""
        for send in self._send:
            found = _try(send, record)
            if isinstance(found, tuple) and len(found) == len(record):
                record = ProducerRecord(*found)
            elif found is not _FAILED:
                log.warning("%s() gave no record, but %r: it is ignored", _name(send), found)
        return record

    def on_acknowledgement(
        self, metadata: Any, error: Exception | None, headers: Headers | None
    ) -> None:
        """It is delivered, or has failed."""
        kept = tuple(headers or ())
        for acknowledge, takes_headers in self._acknowledge:
            if takes_headers:
                _try(acknowledge, metadata, error, kept)
            else:
                _try(acknowledge, metadata, error)

    def failed(self, tp: TopicPartition, error: Exception, headers: Headers | None) -> None:
        """It was not sent, or not delivered."""
        self.on_acknowledgement(self._unknown(tp), error, headers)

    def not_sent(self, record: ProducerRecord, error: Exception) -> None:
        """`send` raises this."""
        partition = record.partition if type(record.partition) is int else -1
        headers = record.headers if isinstance(record.headers, (list, tuple)) else None
        self.failed(TopicPartition(record.topic, partition), error, headers)


_FAILED = object()


def _records_in(found: object) -> Records | None:
    """What there is of records in what on_consume gave; None: it is of another shape. Lists may be
    generators, which end here, or raise.
    """
    if not isinstance(found, Mapping):
        return None
    try:
        return {tp: kept for tp, some in found.items() if (kept := list(some))}
    except Exception:  # as of what raises at once
        log.exception("what an interceptor gave as records cannot be read")
        return None


def _try(method: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return method(*arguments)
    except Exception:  # whatever it is, records go on
        log.exception("interceptor %s failed", _name(method))
        return _FAILED


def _name(thing: object) -> str:
    return getattr(thing, "__qualname__", None) or type(thing).__qualname__


def _takes_headers(method: Callable[..., Any]) -> bool:
    """Whether it has a third parameter, or any number of them."""
    try:
        parameters = signature(method).parameters.values()
    except (TypeError, ValueError):
        return True
    if any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters):
        return True
    return sum(parameter.kind in _POSITIONAL for parameter in parameters) > 2
