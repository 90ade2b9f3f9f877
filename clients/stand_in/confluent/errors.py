"""KafkaError and KafkaException as confluent-kafka has them, and what of them ours are.

Codes and their names: librdkafka's `rd_kafka_resp_err_t` (rdkafka.h, 2.16), which for brokers'
errors are Kafka's own codes. What a code is called in words is made of its name.
"""

from __future__ import annotations

from operator import index
from typing import Any, Final

from kcore import errors
from kcore.wire.codes import RETRIABLE, ErrorCode

_FIRST_LOCAL: Final = -199
_LOCAL: Final = (
    "_BAD_MSG _BAD_COMPRESSION _DESTROY _FAIL _TRANSPORT _CRIT_SYS_RESOURCE _RESOLVE "
    "_MSG_TIMED_OUT _PARTITION_EOF _UNKNOWN_PARTITION _FS _UNKNOWN_TOPIC _ALL_BROKERS_DOWN "
    "_INVALID_ARG _TIMED_OUT _QUEUE_FULL _ISR_INSUFF _NODE_UPDATE _SSL _WAIT_COORD _UNKNOWN_GROUP "
    "_IN_PROGRESS _PREV_IN_PROGRESS _EXISTING_SUBSCRIPTION _ASSIGN_PARTITIONS _REVOKE_PARTITIONS "
    "_CONFLICT _STATE _UNKNOWN_PROTOCOL _NOT_IMPLEMENTED _AUTHENTICATION _NO_OFFSET _OUTDATED "
    "_TIMED_OUT_QUEUE _UNSUPPORTED_FEATURE _WAIT_CACHE _INTR _KEY_SERIALIZATION "
    "_VALUE_SERIALIZATION _KEY_DESERIALIZATION _VALUE_DESERIALIZATION _PARTIAL _READ_ONLY _NOENT "
    "_UNDERFLOW _INVALID_TYPE _RETRY _PURGE_QUEUE _PURGE_INFLIGHT _FATAL _INCONSISTENT "
    "_GAPLESS_GUARANTEE _MAX_POLL_EXCEEDED _UNKNOWN_BROKER _NOT_CONFIGURED _FENCED _APPLICATION "
    "_ASSIGNMENT_LOST _NOOP _AUTO_OFFSET_RESET _LOG_TRUNCATION _INVALID_DIFFERENT_RECORD "
    "_DESTROY_BROKER"
)
_OTHERWISE: Final = {  # Kafka's name: librdkafka's
    "UNKNOWN_SERVER_ERROR": "UNKNOWN",
    "NONE": "NO_ERROR",
    "CORRUPT_MESSAGE": "INVALID_MSG",
    "UNKNOWN_TOPIC_OR_PARTITION": "UNKNOWN_TOPIC_OR_PART",
    "INVALID_FETCH_SIZE": "INVALID_MSG_SIZE",
    "NOT_LEADER_OR_FOLLOWER": "NOT_LEADER_FOR_PARTITION",
    "MESSAGE_TOO_LARGE": "MSG_SIZE_TOO_LARGE",
    "STALE_CONTROLLER_EPOCH": "STALE_CTRL_EPOCH",
    "INVALID_TOPIC_EXCEPTION": "TOPIC_EXCEPTION",
}
NAMES: Final[dict[int, str]] = {
    **{_FIRST_LOCAL + at: name for at, name in enumerate(_LOCAL.split())},
    **{int(code): _OTHERWISE.get(code.name, code.name) for code in ErrorCode},
}
CODES: Final[dict[str, int]] = {name: code for code, name in NAMES.items()}
_IN_WORDS: Final = {
    "NO_ERROR": "Success",
    "UNKNOWN": "Unknown broker error",
    "_ALL_BROKERS_DOWN": "Local: All broker connections are down",
    "_INVALID_ARG": "Local: Invalid argument or configuration",
    "_NO_OFFSET": "Local: No offset stored",
    "_PARTITION_EOF": "Broker: No more messages",
    "_PURGE_INFLIGHT": "Local: Purged in flight",
    "_PURGE_QUEUE": "Local: Purged in queue",
    "_STATE": "Local: Erroneous state",
    "_TRANSPORT": "Local: Broker transport failure",
}
_WORDS: Final = {"ARG": "argument", "CTRL": "controller", "MSG": "message", "PART": "partition"}


def words_of(code: int) -> str:
    """What a code is called in words."""
    name = NAMES.get(code)
    if name is None:
        return f"Err-{code}?"
    if name in _IN_WORDS:
        return _IN_WORDS[name]
    whose = "Local" if name.startswith("_") else "Broker"
    words = " ".join(_WORDS.get(word, word.lower()) for word in name.strip("_").split("_"))
    return f"{whose}: {words.capitalize()}"


class KafkaError(Exception):
    """An error or an event, by its code: one of this class's constants.

    error: the code. reason: what happened, in words (default: the code's own). fatal: the client is
    done for. retriable: the same again can succeed. txn_requires_abort: so that the transaction has
    to be aborted. Compared by code, with others of its kind and with numbers; always true.
    """

    __slots__ = ("_code", "_fatal", "_reason", "_requires_abort", "_retriable")

    def __init__(
        self,
        error: int,
        reason: str | None = None,
        fatal: bool = False,
        retriable: bool = False,
        txn_requires_abort: bool = False,
    ) -> None:
        super().__init__()
        self._code = index(error)
        self._reason = reason
        self._fatal = bool(fatal)
        self._retriable = bool(retriable)
        self._requires_abort = bool(txn_requires_abort)

    def code(self) -> int:
        """The code."""
        return self._code

    def name(self) -> str:
        """The name of the code's constant."""
        return NAMES.get(self._code) or f"ERR_{self._code}?"

    def str(self) -> str:
        """What happened, in words."""
        return words_of(self._code) if self._reason is None else self._reason

    def fatal(self) -> bool:
        """Whether the client is done for."""
        return self._fatal

    def retriable(self) -> bool:
        """Whether the same again can succeed."""
        return self._retriable

    def txn_requires_abort(self) -> bool:
        """Whether the transaction has to be aborted."""
        return self._requires_abort

    def __str__(self) -> Any:  # `str` is a method in here
        fatal = "FATAL," if self._fatal else ""
        return f'KafkaError{{{fatal}code={self.name()},val={self._code},str="{self.str()}"}}'

    __repr__ = __str__

    def __reduce__(self) -> tuple[Any, ...]:
        flags = (self._fatal, self._retriable, self._requires_abort)
        return KafkaError, (self._code, self._reason, *flags)

    def __hash__(self) -> int:
        return hash(self._code)

    def __eq__(self, other: object) -> bool:
        code = _code_of(other)
        return code is not None and self._code == code

    def __lt__(self, other: object) -> bool:
        code = _code_of(other)
        return NotImplemented if code is None else self._code < code

    def __le__(self, other: object) -> bool:
        code = _code_of(other)
        return NotImplemented if code is None else self._code <= code

    def __gt__(self, other: object) -> bool:
        code = _code_of(other)
        return NotImplemented if code is None else self._code > code

    def __ge__(self, other: object) -> bool:
        code = _code_of(other)
        return NotImplemented if code is None else self._code >= code


def _code_of(other: object) -> int | None:
    if isinstance(other, KafkaError):
        return other._code  # noqa: SLF001 - one of its own kind
    return other if isinstance(other, int) else None


for _name, _code in CODES.items():
    setattr(KafkaError, _name, _code)


class KafkaException(Exception):  # noqa: N818 - its name there
    """What is raised: its first argument is the KafkaError."""


class IllegalStateException(RuntimeError):  # noqa: N818 - its name there
    """A call that the client's state does not allow."""


class ConcurrentModificationException(RuntimeError):  # noqa: N818 - its name there
    """Two threads use one consumer at once."""


def words(name: str) -> str:
    """What a code is called in words, by its name."""
    return words_of(CODES[name])


def named(name: str, why: str | None = None, **flags: bool) -> KafkaError:
    """The error of a code's name."""
    return KafkaError(CODES[name], why, **flags)


def failure(name: str, why: str | None = None, **flags: bool) -> KafkaException:
    """The exception of it."""
    return KafkaException(named(name, why, **flags))


_LOCAL_CODES: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (errors.NoBrokersAvailable, "_TRANSPORT"),
    (errors.SslAuthenticationError, "_SSL"),
    (errors.AuthenticationFailedError, "_AUTHENTICATION"),
    (errors.KafkaConnectionError, "_TRANSPORT"),
    (errors.KafkaTimeoutError, "_TIMED_OUT"),
    (errors.DeserializationError, "_VALUE_DESERIALIZATION"),
    (errors.UnsupportedCodecError, "_NOT_IMPLEMENTED"),
    (errors.ProtocolError, "_BAD_MSG"),
    (errors.NoOffsetForPartitionError, "_AUTO_OFFSET_RESET"),
    (errors.LogTruncationError, "_LOG_TRUNCATION"),
    (errors.RecordTooLargeError, "MSG_SIZE_TOO_LARGE"),
    (errors.CommitFailedError, "ILLEGAL_GENERATION"),
    (errors.TransactionAbortedError, "_PURGE_QUEUE"),
    (errors.NoGroupIdError, "_UNKNOWN_GROUP"),
    (errors.ConcurrentUseError, "_CONFLICT"),
    (errors.IllegalStateError, "_STATE"),
    (errors.UsageError, "_INVALID_ARG"),
    (ValueError, "_INVALID_ARG"),
)


def code_of(error: BaseException) -> int:
    """The code that confluent's client has for an error of ours."""
    if isinstance(error, errors.RetriableCommitFailedError) and error.__cause__ is not None:
        return code_of(error.__cause__)
    if isinstance(error, errors.BrokerResponseError) and error.errno in NAMES:
        return error.errno
    for kind, name in _LOCAL_CODES:
        if isinstance(error, kind):
            return CODES[name]
    return CODES["_FAIL"]


def told(error: BaseException, **flags: bool) -> KafkaError:
    """An error of ours (or of a serializer) as a KafkaError."""
    code = code_of(error)
    flags.setdefault("retriable", bool(getattr(error, "retriable", code in RETRIABLE)))
    said = str(error)
    return KafkaError(code, f"{words_of(code)}: {said}" if said else None, **flags)


def raised(error: BaseException, **flags: bool) -> KafkaException:
    """The exception of it."""
    return KafkaException(told(error, **flags))
