"""What commit_async returns: the parts of kafka-python's Future that its users touch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kcore.errors import KafkaError


class OperationFuture:
    """Done once the broker has answered; moves on only inside later calls of the consumer.

    is_done: whether it ended. value: its result (of a commit: what was committed).
    exception: why it failed, else None.
    """

    __slots__ = ("_callbacks", "_errbacks", "exception", "is_done", "value")

    def __init__(self) -> None:
        self.is_done = False
        self.value: Any = None
        self.exception: KafkaError | None = None
        self._callbacks: list[Callable[[Any], object]] = []
        self._errbacks: list[Callable[[KafkaError], object]] = []

    def succeeded(self) -> bool:
        """Ended well."""
        return self.is_done and self.exception is None

    def failed(self) -> bool:
        """Ended with an error."""
        return self.exception is not None

    def retriable(self) -> bool:
        """Ended with an error that may pass."""
        return self.exception is not None and self.exception.retriable

    def add_callback(
        self, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> OperationFuture:
        """Call `function(*args, value)` on success, at once if that is known already."""
        if self.succeeded():
            function(*args, self.value, **kwargs)
        elif not self.is_done:
            self._callbacks.append(partial(_after, function, args, kwargs))
        return self

    def add_errback(
        self, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> OperationFuture:
        """Call `function(*args, exception)` on failure, at once if that is known already."""
        if self.exception is not None:
            function(*args, self.exception, **kwargs)
        elif not self.is_done:
            self._errbacks.append(partial(_after, function, args, kwargs))
        return self

    def add_both(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> OperationFuture:
        """Both of the above."""
        return self.add_callback(function, *args, **kwargs).add_errback(function, *args, **kwargs)

    def finish(self, value: Any, error: KafkaError | None) -> list[Callable[[], object]]:
        """End it; returns the calls that are to be made now."""
        self.is_done, self.value, self.exception = True, value, error
        callbacks, errbacks = self._callbacks, self._errbacks
        self._callbacks, self._errbacks = [], []
        if error is not None:
            return [partial(function, error) for function in errbacks]
        return [partial(function, value) for function in callbacks]


def _after(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], outcome: object
) -> Any:
    """kafka-python's order: the outcome comes after the arguments given at registration."""
    return function(*args, outcome, **kwargs)
