"""Numbers for verbs that end later, and the bounded queue of events they end in."""

from __future__ import annotations

from collections import deque

from kcore import limits
from kcore.errors import KafkaError
from kcore.events import Event, OperationCompleted
from kcore.hints import Any


class Outbox:
    """Events for the application. News is dropped, oldest first, when nobody takes it; answers to
    verbs never are.
    """

    def __init__(self) -> None:
        self.events: deque[Event] = deque()
        self._operations = 0

    def emit(self, event: Event) -> None:
        """Queue an event."""
        events = self.events
        events.append(event)
        if len(events) > limits.MAX_UNREAD_EVENTS:
            self._drop_news()

    def begin(self) -> int:
        """A new operation number."""
        self._operations += 1
        return self._operations

    def finish(self, operation: int, result: Any, error: KafkaError | None) -> None:
        """End an operation."""
        self.emit(OperationCompleted(operation, result, error))

    def _drop_news(self) -> None:
        for index, event in enumerate(self.events):
            if event.news:
                del self.events[index]
                return
