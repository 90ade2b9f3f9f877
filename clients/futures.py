"""The parts of kafka-python's Future that its users touch: what all futures have in common, and the
one that commit_async returns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kcore.errors import KafkaError
from kcore.hints import Any, Self

Call = Callable[..., object]


class Outcomes:
    """What a future says of its end. is_done, exception: of the kinds; `_add` has something called
    with the outcome, on success (`wanted`) or on failure.
    """

    __slots__ = ()

    is_done: Any
    exception: Any

    def _add(self, wanted: bool, call: Call) -> None:
        raise NotImplementedError

    def succeeded(self) -> bool:
        """Ended well."""
        return bool(self.is_done) and self.exception is None

    def failed(self) -> bool:
        """Ended with an error."""
        return self.exception is not None

    def retriable(self) -> bool:
        """Ended with an error that may pass."""
        error: KafkaError | None = self.exception
        return error is not None and error.retriable

    def add_callback(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Self:
        """Call `function(*args, value)` on success, at once if that is known already."""
        self._add(True, _bound(function, args, kwargs))
        return self

    def add_errback(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Self:
        """Call `function(*args, exception)` on failure, at once if that is known already."""
        self._add(False, _bound(function, args, kwargs))
        return self

    def add_both(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Self:
        """Both of the above."""
        return self.add_callback(function, *args, **kwargs).add_errback(function, *args, **kwargs)


def _bound(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    return partial(_after, function, args, kwargs) if args or kwargs else function


def _after(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], outcome: object
) -> Any:
    """kafka-python's order: the outcome comes after the arguments given at registration."""
    return function(*args, outcome, **kwargs)


class OperationFuture(Outcomes):
    """Done once the broker has answered; moves on only inside later calls of the consumer.

    is_done: whether it ended. value: its result (of a commit: what was committed).
    exception: why it failed, else None.
    """

    __slots__ = ("_calls", "exception", "is_done", "value")

    def __init__(self) -> None:
        self.is_done = False
        self.value: Any = None
        self.exception: KafkaError | None = None
        self._calls: list[tuple[bool, Call]] = []

    def _add(self, wanted: bool, call: Call) -> None:
        if not self.is_done:
            self._calls.append((wanted, call))
        elif wanted is self.succeeded():
            call(self.value if wanted else self.exception)

    def finish(self, value: Any, error: KafkaError | None) -> list[Callable[[], object]]:
        """End it; returns the calls that are to be made now."""
        self.is_done, self.value, self.exception = True, value, error
        calls, self._calls = self._calls, []
        outcome = value if error is None else error
        return [partial(call, outcome) for wanted, call in calls if wanted is (error is None)]
