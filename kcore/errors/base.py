"""The root of every error, the families users catch, and what a broker's error code carries.

Base relations follow kafka-python's and aiokafka's where an `except` line could rely on them:
KafkaError is a RuntimeError as in aiokafka, what can be retried is a RetriableError, what a
metadata refresh may cure is an InvalidMetadataError. Facts about an error are attributes, given to
the constructor by keyword; the message says what happened, where, and how to go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from types import MappingProxyType

from kcore.hints import Any, ClassVar


class Refresh(Enum):
    """What to look up again before the failed request is tried once more."""

    NONE = "none"
    METADATA = "metadata"
    COORDINATOR = "coordinator"


class KafkaError(RuntimeError):
    """The base of all errors of this package.

    retriable: the same call can succeed later without anything being changed.
    refresh: what the client looks up again before it tries.
    failed: of a call about several things (topics, groups, partitions) some of which have failed:
    their errors. done: what was done, by thing.

    Keyword arguments become attributes; each must be declared by the class.
    """

    retriable: bool = False
    refresh: Refresh = Refresh.NONE
    invalid_metadata: bool = False  # kafka-python's word for refresh == METADATA
    failed: Mapping[Any, KafkaError] = MappingProxyType({})
    done: Mapping[Any, Any] = MappingProxyType({})

    def __init__(self, *args: object, **details: object) -> None:
        super().__init__(*args)
        for name, value in details.items():
            if not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} has no attribute {name!r}")
            setattr(self, name, value)


class RetriableError(KafkaError):
    """The same call can succeed later."""

    retriable = True


class InvalidMetadataError(RetriableError):
    """What is known of topics and leaders is out of date; a refresh is asked for."""

    refresh = Refresh.METADATA
    invalid_metadata = True


class UsageError(KafkaError):
    """The caller broke the contract: a bug in the program, not in the cluster."""


class AuthenticationFailedError(KafkaError):
    """The broker refused to say who we are (aiokafka's name for all ways of failing at it)."""


class BrokerResponseError(KafkaError):
    """A broker answered with an error code.

    errno: the code. name: its name on the wire. description: what it means, one sentence.
    """

    errno: int = -1
    name: str = "UNKNOWN_SERVER_ERROR"
    message: str = "UNKNOWN_SERVER_ERROR"  # the name once more, as in kafka-python
    description: str = ""

    by_code: ClassVar[dict[int, type[BrokerResponseError]]] = {}

    def __init_subclass__(
        cls, *, code: int | None = None, name: str = "", refresh: Refresh | None = None
    ) -> None:
        super().__init_subclass__()
        if code is None:  # a family or a special case of a class that has a code
            return
        cls.errno = code
        cls.name = cls.message = name
        cls.description = (cls.__doc__ or "").partition("\n")[0]
        if refresh is not None:
            cls.refresh = refresh
        BrokerResponseError.by_code[code] = cls

    def __str__(self) -> str:
        return f"[{self.errno} {self.name}] {super().__str__() or self.description}"


class CoordinatorMovedError(RetriableError, BrokerResponseError):
    """The coordinator has to be looked up again."""

    refresh = Refresh.COORDINATOR


class AuthorizationError(BrokerResponseError):
    """The principal lacks a right; nothing changes until someone grants it."""


class UnknownBrokerError(BrokerResponseError):
    """A code newer than this package; `errno` is the code.

    Each code has a subclass of its own (see `for_code`), so `errno` is class data here, too.
    """

    description = "the broker answered with an error code that this version does not know"

    def __reduce__(self) -> tuple[object, ...]:
        return _restore_unknown, (self.errno, self.args, self.__dict__)


@lru_cache(maxsize=64)  # bounds what a peer can make us hold
def unknown_code(code: int) -> type[UnknownBrokerError]:
    """The kind of UnknownBrokerError that carries `code`."""
    name = f"UNKNOWN_ERROR_CODE_{code}"
    return type(
        "UnknownBrokerError", (UnknownBrokerError,), {"errno": code, "name": name, "message": name}
    )


def _restore_unknown(
    code: int, args: tuple[object, ...], details: dict[str, object]
) -> UnknownBrokerError:
    return unknown_code(code)(*args, **details)
