"""A request on its way: asked for, perhaps written, not answered."""

from __future__ import annotations

from collections import deque
from itertools import chain

from kcore.connection.calls import Answer, Build, Done, Standing
from kcore.hints import Any
from kcore.wire.apis import ApiKey


class Call:
    """A request on its way: what to ask, who takes the answer, and until when it may wait: so long
    to be written, and as long for its answer from then on (as Java counts it).
    """

    __slots__ = (
        "answered",
        "api",
        "build",
        "correlation_id",
        "done",
        "expires_at",
        "limit_ms",
        "max_version",
        "standing",
        "version",
        "written_at",
    )

    def __init__(
        self,
        api: ApiKey,
        build: Build,
        done: Done,
        now_ms: int,
        limit_ms: int,
        max_version: int | None,
        *,
        answered: bool = True,
        standing: Standing | None = None,
    ) -> None:
        self.answered = answered
        self.api = api
        self.build = build
        self.done = done
        self.expires_at = now_ms + limit_ms
        self.limit_ms = limit_ms
        self.max_version = max_version
        self.standing = standing
        self.version = -1
        self.correlation_id = -1
        self.written_at = 0


Completed = deque[tuple[Call, Answer]]


def never_built(version: int) -> Any:
    """Of a link's own requests, which are written at once."""
    raise AssertionError(version)


def never_done(answer: Answer, now_ms: int) -> None:
    """Of a link's own requests, whose answers go to no room."""
    raise AssertionError(answer, now_ms)


def take_late(calls: deque[Call], now_ms: int) -> list[Call]:
    """Take out those that have waited for as long as they may."""
    late = [call for call in calls if now_ms >= call.expires_at]
    for call in late:
        calls.remove(call)
    return late


def put_off(until_ms: int, *calls: deque[Call]) -> None:
    """None of these is late before that."""
    for call in chain(*calls):
        call.expires_at = max(call.expires_at, until_ms)
