"""The log: a line when an outage begins, one when it ends, a summary now and then between them.

Everything that can repeat is counted and said at most every SUMMARY_MS, so that no outage floods a
log (logger "kcore.consumer").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kcore.clients.log import Log
from kcore.events import (
    Closed,
    ClusterReachable,
    ClusterUnreachable,
    CoordinatorFound,
    CoordinatorLost,
    Event,
    GroupJoined,
    GroupLeft,
    LinkClosed,
    LinkOpened,
    MetricsPushed,
    OffsetReset,
    OffsetsCommitted,
    OtherClusterMet,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RebalanceStarted,
    TopicRecreated,
    TopicsMissing,
)
from kcore.structs import TopicPartition

SUMMARY_MS = 30_000
_FAILURES_SAID = 5  # in a row: no blip
_PLACES_MAX = 1_000
_NAMES_MAX = 10  # partitions spelled out in one line

# Kept over clients: see `Log._logger`.
_LOGS = {kind: Log(f"kcore.{kind}") for kind in ("consumer", "producer", "admin")}


class Reporter:
    """Turns events into log lines; also remembers why each address could not be reached.

    kind: of client, "consumer", "producer" or "admin": its logger is `kcore.` and that.
    """

    def __init__(self, name: str, kind: str = "consumer") -> None:
        self.attempts: dict[str, str] = {}  # "host:port" -> the last reason
        self._name = name
        self._log = _LOGS[kind]
        self._why = ""  # what was assigned is about to go
        self._outage = False
        self._failures = 0
        self._said_at: dict[str, int] = {}
        self._unreached: dict[tuple[str, int], int] = {}  # failures in a row

    def report(self, event: Event, now_ms: int) -> None:
        """Take one event."""
        match event:
            case LinkOpened() | LinkClosed():
                self._link(event, now_ms)
            case ClusterUnreachable():
                self._outage, self._failures = True, 0
                self._said_at["outage"] = now_ms
                self._log.warning("%s: no broker can be reached: %s", self._name, event.error)
            case ClusterReachable():
                self._outage = False
                self.attempts.clear()
                self._log.warning(
                    "%s: a broker answers again after %.1f s and %d attempts",
                    self._name,
                    event.outage_ms / 1000,
                    event.attempts,
                )
            case OffsetsCommitted() | TopicsMissing() | MetricsPushed() | OtherClusterMet():
                self._now_and_then(event, now_ms)
            case Closed():
                for error in event.errors:
                    self._log.warning("%s: while closing: %s", self._name, error)
            case _:
                self._group(event)

    def _now_and_then(
        self, event: OffsetsCommitted | TopicsMissing | MetricsPushed | OtherClusterMet, now_ms: int
    ) -> None:
        match event:
            case OffsetsCommitted() if event.error is not None and event.operation is None:
                if self._due("auto commit", now_ms):
                    self._log.warning("%s: auto commit failed: %s", self._name, event.error)
            case TopicsMissing() if event.topics:
                if self._due("topics", now_ms):
                    names = _some(sorted(event.topics))
                    self._log.warning("%s: the cluster does not have %s (now)", self._name, names)
            case MetricsPushed() if event.error is not None:
                if self._due("telemetry", now_ms):
                    self._log.warning("%s: metrics were not pushed: %s", self._name, event.error)
            case OtherClusterMet() if self._due("cluster", now_ms):
                self._log.warning(
                    "%s: node %d at %s belongs to the cluster %r, not to %r, and is not believed: "
                    "has its address passed to another broker?",
                    self._name,
                    event.node_id,
                    event.address,
                    event.cluster_id,
                    event.expected,
                )

    def _link(self, event: LinkOpened | LinkClosed, now_ms: int) -> None:
        if isinstance(event, LinkOpened):
            self._unreached.pop((event.host, event.port), None)
            return
        where = f"{event.host}:{event.port}"
        if where in self.attempts or len(self.attempts) < _NAMES_MAX:
            self.attempts[where] = str(event.error)
        if not self._outage:
            self._log.debug("%s: connection to %s ended: %s", self._name, where, event.error)
            self._not_reached(event, now_ms)
            return
        self._failures += 1
        if self._due("outage", now_ms):
            self._log.warning(
                "%s: still no broker, %d attempts failed since the last word; %s: %s",
                self._name,
                self._failures,
                where,
                event.error,
            )
            self._failures = 0

    def _not_reached(self, event: LinkClosed, now_ms: int) -> None:
        """One broker of several, or one that says it is where nobody finds it: the commonest fault
        of all, and nothing else would tell of it.
        """
        if event.opened or event.node_id < 0:
            return
        place = event.host, event.port
        if place not in self._unreached and len(self._unreached) >= _PLACES_MAX:
            return
        failures = self._unreached[place] = self._unreached.get(place, 0) + 1
        if failures >= _FAILURES_SAID and self._due(f"node {event.node_id}", now_ms):
            self._log.warning(
                "%s: node %d cannot be reached at %s:%d, where the cluster says it is, while "
                "others can: %s; is it down, or its advertised.listeners of no use from here?",
                self._name,
                event.node_id,
                event.host,
                event.port,
                event.error,
            )

    def _group(self, event: Event) -> None:
        match event:
            case GroupJoined():
                self._log.info(
                    "%s: joined generation %d as %s (%s%s)",
                    self._name,
                    event.generation,
                    event.member_id,
                    event.protocol,
                    f", leader of {event.members}" if event.is_leader else "",
                )
            case PartitionsAssigned():
                self._why = ""
                self._log.info("%s: assigned %s", self._name, _list(event.added))
            case PartitionsRevoked():
                self._log.info("%s: giving up %s", self._name, _list(event.partitions))
            case PartitionsLost():
                why = f": {self._why}" if self._why else ""
                self._log.warning("%s: lost %s%s", self._name, _list(event.partitions), why)
            case GroupLeft():
                self._why = event.reason
                self._log.info("%s: left the group: %s", self._name, event.reason)
            case RebalanceStarted():
                self._why = event.reason
                self._log.info("%s: joining: %s", self._name, event.reason)
            case CoordinatorFound():
                self._log.info("%s: coordinator is node %d", self._name, event.node_id)
            case CoordinatorLost():
                self._log.debug("%s: looking for the coordinator: %s", self._name, event.reason)
            case _:
                self._position(event)

    def _position(self, event: Event) -> None:
        match event:
            case TopicRecreated():
                self._log.warning(
                    "%s: %s was read up to %d when its topic was deleted and made anew; "
                    "reading begins anew",
                    self._name,
                    _list([event.partition]),
                    event.offset,
                )
            case OffsetReset():
                self._reset(event)

    def _reset(self, event: OffsetReset) -> None:
        name, place = self._name, _list([event.partition])
        if event.before is None:
            self._log.info("%s: %s starts at %d (%s)", name, place, event.offset, event.strategy)
        elif event.strategy == "truncated":
            self._log.warning(
                "%s: %s goes on at %d: its log was cut off there, and %d had been reached",
                name,
                place,
                event.offset,
                event.before,
            )
        else:
            self._log.warning(
                "%s: %s goes on at %d (%s): its log does not hold %d (any more)",
                name,
                place,
                event.offset,
                event.strategy,
                event.before,
            )

    def _due(self, subject: str, now_ms: int) -> bool:
        said_at = self._said_at.get(subject)
        if said_at is not None and now_ms - said_at < SUMMARY_MS:
            return False
        self._said_at[subject] = now_ms
        return True


def _list(partitions: Iterable[TopicPartition]) -> str:
    return _some([f"{tp.topic}-{tp.partition}" for tp in partitions])


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES_MAX} more" if len(names) > _NAMES_MAX else ""
    return (", ".join(names[:_NAMES_MAX]) or "nothing") + more
