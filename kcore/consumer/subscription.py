"""What the application asked for: topics, a pattern, or partitions by hand. The three exclude each
other (rule X1).
"""

from __future__ import annotations

import re

from kcore.connection.calls import ClusterView
from kcore.enums import Enum
from kcore.errors import IllegalArgumentError, IllegalStateError


class Mode(Enum):
    """Who decides which partitions are read."""

    NONE = "nothing is subscribed"
    TOPICS = "topics are subscribed"
    PATTERN = "a pattern is subscribed"
    REMOTE_PATTERN = "a pattern that brokers match is subscribed"
    MANUAL = "partitions are assigned by hand"


class Subscription:
    """The wish, and the topics it comes to now."""

    def __init__(self, *, exclude_internal_topics: bool) -> None:
        self.mode = Mode.NONE
        self.pattern: re.Pattern[str] | None = None
        self.remote_pattern: str | None = None
        self._topics: frozenset[str] = frozenset()
        self._exclude_internal = exclude_internal_topics

    @property
    def automatic(self) -> bool:
        """Whether a group decides."""
        return self.mode in (Mode.TOPICS, Mode.PATTERN, Mode.REMOTE_PATTERN)

    @property
    def topics(self) -> frozenset[str]:
        """The topics subscribed, or matched by the pattern now."""
        return self._topics

    def covers(self, topic: str) -> bool:
        """Whether the topic is inside the wish, also if the view has not shown it yet; of a pattern
        that brokers match they alone know, so that whatever they give is.
        """
        if self.mode is Mode.REMOTE_PATTERN:
            return True
        if self.mode is Mode.PATTERN:
            assert self.pattern is not None
            return self.pattern.match(topic) is not None
        return topic in self._topics

    def subscribe(self, topics: frozenset[str]) -> None:
        """Topics by name."""
        self._enter(Mode.TOPICS)
        self._topics = topics

    def subscribe_pattern(self, pattern: str) -> None:
        """Every topic whose name the regular expression matches from its start.

        Raises IllegalArgumentError if it is none: then nothing has changed.
        """
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise IllegalArgumentError(f"pattern {pattern!r}: {error}") from error
        self._enter(Mode.PATTERN)
        self.pattern = compiled

    def subscribe_remote_pattern(self, pattern: str) -> None:
        """Every topic whose name matches the regular expression (RE2) in the brokers' eyes."""
        self._enter(Mode.REMOTE_PATTERN)
        self.remote_pattern = pattern

    def assign(self) -> None:
        """Partitions by hand."""
        self._enter(Mode.MANUAL)

    def clear(self) -> None:
        """Nothing is wanted any more."""
        self.mode = Mode.NONE
        self.pattern = self.remote_pattern = None
        self._topics = frozenset()

    def match(self, view: ClusterView) -> bool:
        """Take the topics that a pattern matches now; True if they changed."""
        if self.pattern is None:
            return False
        found = frozenset(
            topic
            for topic in view.topics()
            if self.pattern.match(topic)
            and not (self._exclude_internal and view.is_internal(topic))
        )
        changed = found != self._topics
        self._topics = found
        return changed

    def _enter(self, mode: Mode) -> None:
        if self.mode not in (Mode.NONE, mode):
            raise IllegalStateError(
                f"{self.mode.value}: call unsubscribe() before this, "
                "subscribe(topics), subscribe(pattern=) and assign() exclude each other"
            )
        self.mode = mode
