"""One node as the links see it: its address, its link if any, and how its attempts went. And how
all of them do.
"""

from __future__ import annotations

from collections.abc import Iterable

from kcore.connection.backoff import exponential
from kcore.connection.calls import COORDINATOR_KEY_BASE, Answer
from kcore.connection.link import Link
from kcore.connection.pending import Call, Completed
from kcore.errors import AuthenticationFailedError
from kcore.hints import Final
from kcore.structs import Rng
from kcore.values import Value

# A second connection to a node spares waiting, and the first one does without it: its set-up may
# take this long, and if it cannot be made it is not tried again before that: who tries it waits.
SECOND_SETUP_MS: Final = 3_000
SECOND_AWAY_MS: Final = 30_000
SECOND_AWAY_MAX_MS: Final = 600_000


class NodeLink(Value, frozen=False):
    """A place to connect to. `key` is a node id, a bootstrap number (negative), or that of a
    coordinator or of a second connection.
    """

    key: int
    host: str
    port: int
    link: Link | None = None
    greeted: bool = False  # the link has been seen ready
    proven: bool = False  # it has answered a request
    failures: int = 0  # attempts and links that failed since the last answer
    setups: int = 0  # attempts in a row that ran out of the set-up time (KIP-601)
    retry_at: int = 0  # no attempt before this time (ms)
    refusal: AuthenticationFailedError | None = None  # the last attempt's end, if so
    address_index: int = 0  # which of the name's addresses is next
    tried_at: int = -1  # when the last attempt began, -1 never

    @property
    def second(self) -> bool:
        """Whether it is another connection to a node that has one."""
        return self.key > COORDINATOR_KEY_BASE

    def limited(self, setup_ms: int) -> int:
        """How long its set-up may take, of what the options allow."""
        return min(setup_ms, SECOND_SETUP_MS) if self.second else setup_ms

    def leave_alone(self, now_ms: int, rng: Rng) -> None:
        """It cannot be made: for a while, longer each time in a row."""
        wait_ms = exponential(self.failures, SECOND_AWAY_MS, SECOND_AWAY_MAX_MS, rng)
        self.retry_at = now_ms + wait_ms
        self.failures += 1

    @property
    def load(self) -> int:
        """Requests unanswered on its link."""
        return self.link.load if self.link is not None else 0

    @property
    def ready(self) -> bool:
        """Connected and greeted."""
        return self.link is not None and self.link.ready


class Outage(Value, frozen=False):
    """Since when no broker can be reached; None while one can or nothing was tried yet."""

    since: int | None = None
    attempts: int = 0


def first_idle(entries: Iterable[NodeLink | None]) -> NodeLink | None:
    """The first by which something could be asked now, and nothing is."""
    return next((one for one in entries if one is not None and one.ready and not one.load), None)


def best_of(entries: list[NodeLink], now_ms: int, rng: Rng) -> NodeLink | None:
    """See `Links.least_loaded`: of these."""
    count = len(entries)
    if count == 0:
        return None
    start = int(rng.random() * count) % count
    best: NodeLink | None = None
    best_rank: tuple[int, int] | None = None
    for offset in range(count):
        entry = entries[(start + offset) % count]
        if entry.ready:
            rank = (0, entry.load)
        elif entry.link is not None:
            rank = (1, entry.load)
        elif now_ms >= entry.retry_at:
            rank = (2, entry.tried_at)
        else:
            continue
        if best_rank is None or rank < best_rank:
            best, best_rank = entry, rank
    return best


def unsent(completed: Completed, key: int) -> list[tuple[Call, Answer]]:
    """What failed without having been written, of what was asked under this key."""
    return [one for one in completed if one[1].node == key and one[0].version < 0]
