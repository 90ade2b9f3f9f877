"""One node as the links see it: its address, its link if any, and how its attempts went. And how
all of them do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kcore.connection.backoff import exponential
from kcore.connection.calls import COORDINATOR_KEY_BASE, Answer, node_id_of
from kcore.connection.greeting import Meant
from kcore.connection.link import Link
from kcore.connection.pending import Call, Completed
from kcore.errors import AuthenticationFailedError
from kcore.hints import Final
from kcore.structs import Rng
from kcore.timers import NEVER
from kcore.values import Value
from kcore.wire.apis import ApiKey

# A second connection to a node spares waiting, and the first one does without it: its set-up may
# take this long, and if it cannot be made it is not tried again before that: who tries it waits.
SECOND_SETUP_MS: Final = 3_000
SECOND_AWAY_MS: Final = 30_000
SECOND_AWAY_MAX_MS: Final = 600_000
# A set-up that takes this long is odd; a third of the time that it has (by the options).
_SETUP_SILENT_MS: Final = 3_000


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
    asked_about_at: int = 0  # when others were asked last whether it is still there

    def meant(self, cluster_id: str | None) -> Meant | None:
        """Who is thought to be there, if it is told; None: that is not known."""
        node_id = node_id_of(self.key)
        return None if cluster_id is None or node_id < 0 else Meant(cluster_id, node_id)

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

    def silent_at(self, since: int = 0) -> int:
        """When it is odd that nothing has come of it, and a while since `since` has passed; NEVER
        if it has no link, or nothing to say.
        """
        link = self.link
        if link is None:
            return NEVER
        if link.ready:
            return link.silent_at(since)
        return max(link.begun_at + _SETUP_SILENT_MS, since + _SETUP_SILENT_MS // 3)

    def silent(self, now_ms: int) -> bool:
        """Whether it is odd how long nothing has come."""
        return now_ms >= self.silent_at()

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
        if entry.silent(now_ms):
            rank = (3, entry.load)
        elif entry.ready:
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


def feature_level(entries: Iterable[NodeLink], name: str) -> int:
    """The finalized level of a feature, as the connected ones said it last; 0: nobody did, or it is
    off.
    """
    newest, level = -1, 0
    for entry in entries:
        link = entry.link
        if link is not None and link.ready and link.features_epoch > newest:
            newest, level = link.features_epoch, link.features.get(name, 0)
    return level


def serving(nodes: Mapping[int, NodeLink], api: ApiKey) -> int | None:
    """See `Links.node_serving`: of these."""
    best: tuple[int, bool, int] | None = None
    for key, entry in nodes.items():
        if entry.link is None:
            continue
        if entry.link.ready and entry.link.range_of(api) is not None:
            rank = (entry.load, key != node_id_of(key), key)
            best = rank if best is None else min(best, rank)
    return None if best is None else best[2]


def unsent(completed: Completed, key: int) -> list[tuple[Call, Answer]]:
    """What failed without having been written, of what was asked under this key."""
    return [one for one in completed if one[1].node == key and one[0].version < 0]
