"""What a run is to be: drawn from its seed, printed, and overruled by who wants something else.

Swarm style: not every run has every fault. A seed draws which kinds there are and how often each
happens, so that thousands of runs differ in what they put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any, Final

from kcore.sim.chance import Chance, Source
from kcore.tuples import NamedTuple


class Fault(Enum):
    """What can go wrong, or change; under the words of the command line."""

    CUT = "cut"  # a connection is reset, both sides are told
    HALF_OPEN = "half-open"  # nothing passes any more, and at most one side is told
    SPLIT = "split"  # nothing passes between two machines for a while, TCP keeps it
    REFUSE = "refuse"  # connects are refused for a while
    STALL = "stall"  # one connection is slow for a while
    NODE_CRASH = "node-crash"  # a node is gone, and comes back
    NODE_PAUSE = "node-pause"  # a node stands still, and comes back
    NODE_SPLIT = "node-split"  # two nodes do not reach each other for a while
    LAG = "lag"  # a node gets what others write late
    LEADER_MOVE = "leader-move"  # another node leads a partition
    COORDINATOR_MOVE = "coordinator-move"  # another node keeps the groups of a journal
    REFUSAL = "refusal"  # a node answers a request with an error
    LATE_ANSWER = "late-answer"  # a node serves a request late
    ZOMBIE = "zombie"  # a member's process stands still, and comes back
    SLOW = "slow"  # a member does not poll for longer than it may
    CRASH = "crash"  # a member is gone, and another one may come
    LEAVE = "leave"  # a member closes
    JOIN = "join"  # a member comes
    RESTART = "restart"  # a static member comes back under its name
    RESUBSCRIBE = "resubscribe"  # a member subscribes to other topics
    REJOIN = "rejoin"  # a member asks for a rebalance
    HOLD = "hold"  # a member pauses partitions, and resumes them
    GROW = "grow"  # a topic gets partitions
    TOPIC = "topic"  # a topic is made that members wait for
    TRIM = "trim"  # the oldest records of a partition are deleted
    UPGRADE = "upgrade"  # a member is started anew with the next assignors of a rolling upgrade
    THROTTLE = "throttle"  # a member may read, or ask, only so much a second for a while
    LOST_ANSWER = "lost-answer"  # what is asked is done, and the answer never comes
    REMAKE = "remake"  # a topic is deleted, and made anew under its name after a while
    ONE_WAY = "one-way"  # what goes one way is lost, or late, and the rest passes
    FEATURE = "feature"  # the cluster begins to use another transaction.version
    DOWNGRADE = "downgrade"  # it is without group.version, or share.version, for a while
    AUDIT = "audit"  # an admin client looks at a group, and at what it has committed
    RETUNE = "retune"  # an option of a group is set
    EVICT = "evict"  # an admin client removes a member from its group
    RESET = "reset"  # a group is stopped, and its offsets are altered or deleted, or it is
    MIGRATE = "migrate"  # a member is started anew, of the other protocol in groups of both
    NODE_FENCE = "node-fence"  # a node stands still, is put out by the others, and comes back


_OF_SEVERAL_NODES: Final = {
    Fault.NODE_SPLIT,
    Fault.LAG,
    Fault.LEADER_MOVE,
    Fault.COORDINATOR_MOVE,
    Fault.NODE_FENCE,
}

# Kinds that came later have draws of their own, so that seeds stay what they were.
LATER: Final = (Fault.LOST_ANSWER, Fault.THROTTLE)
_LATER: Final = {
    *LATER,
    Fault.UPGRADE,
    Fault.REMAKE,
    Fault.ONE_WAY,
    Fault.FEATURE,
    Fault.DOWNGRADE,
    Fault.AUDIT,
    Fault.RETUNE,
    Fault.EVICT,
    Fault.RESET,
    Fault.MIGRATE,
    Fault.NODE_FENCE,
}
# Those that an admin client is asked for.
OPERATED: Final = {Fault.AUDIT, Fault.RETUNE, Fault.EVICT, Fault.RESET}
# From eager to cooperative (KIP-429): who has one list understands who has the next.
UPGRADE: Final = (("range",), ("cooperative-sticky", "range"), ("cooperative-sticky",))
# A coordinator that has loaded a group knows one assignor of each member: it would refuse the last.
_LOADING: Final = {Fault.NODE_CRASH, Fault.COORDINATOR_MOVE}
_LATER_STREAM: Final = 0x1A7E
_REMADE_STREAM: Final = 0x4E3
_ONE_WAY_STREAM: Final = 0x1D1

# Mean time between two of a kind, in ms: from rare to relentless.
_MEANS_MS: Final = (1_500, 4_000, 10_000, 25_000)

# Where clocks begin: machines have been up for very different times.
CLOCKS_BEGIN_MS: Final = (0, 5_000, 86_400_000, 4_000_000_000)

# How far a node's time of day is off.
_SKEWS_MS: Final = (0, -150, 40, 60_000, -3_600_000)

# Brokers that know static members (KIP-345), and those that know the consumer protocol.
_STATIC_SINCE: Final = (2, 3)
CONSUMER_SINCE: Final = (4, 0)

# Kafka's default.
_ASSIGNMENT_INTERVAL_MS: Final = 1_000

# What comes on top of timeouts: backoffs, looks at metadata, records that are still to be read.
_SLACK_MS: Final = 12_000

# What share groups do not know: static members, rebalances, partitions that are paused, assignors.
# And quotas: who is above one is not told what was acquired for him, nor what was refused (as by a
# Kafka), so that nobody can count.
NOT_OF_SHARES: Final = {
    Fault.RESTART,
    Fault.REJOIN,
    Fault.HOLD,
    Fault.UPGRADE,
    Fault.THROTTLE,
    Fault.FEATURE,
    Fault.EVICT,
    Fault.RESET,
    Fault.MIGRATE,
}
_SHARE_STREAM: Final = 0x5A4E

# Where records are counted: they are not deleted, nor read by some only.
NOT_OF_EXACT: Final = {
    Fault.RESUBSCRIBE,
    Fault.HOLD,
    Fault.TOPIC,
    Fault.TRIM,
    Fault.UPGRADE,
    Fault.RESET,
}
_EXACT_STREAM: Final = 0xE05
# Brokers that know of transactions what is asked of them here (KIP-360, KIP-447).
_EXACT_RELEASES: Final = ((4, 4), (4, 4), (4, 4), (3, 3))

# From this transaction.version on each transaction has an epoch of its own (KIP-890).
EPOCHS_SINCE: Final = 2

# Where options of groups are set: locks may last so many times as long, and records be delivered
# so many times more often.
RETUNED_LOCKS: Final = 2
RETUNED_DELIVERIES: Final = 2

# What a record takes where nothing goes wrong: its topic is looked up, its leader is connected to,
# it is sent, and one trip is for what was sent before it.
_DELIVERY_TRIPS: Final = 4

# An answer that is late on purpose is no later than this.
LATE_ANSWER_MAX_MS: Final = 3_000


class NodeTime(NamedTuple):
    """A node's clock: where it began, what it gains in ppm, how far its time of day is off."""

    offset_ms: int
    drift_ppm: int
    skew_ms: int


@dataclass(frozen=True, slots=True)
class Plan:
    """One run; times in ms, `faults` are the mean times between two of a kind.

    partitions: of each topic to begin with. groups: that share the members. duration_ms: how long
    faults last. settle_ms: how long it may take until everything is well after that; None:
    `settle_within_ms`.
    """

    seed: int
    members: int = 3
    brokers: int = 1
    topics: int = 1
    partitions: int = 3
    groups: int = 1
    topics_each: int | None = None  # that a member reads of them; None: all
    duration_ms: int = 20_000
    settle_ms: int | None = None
    faults: dict[Fault, int] = field(default_factory=dict)
    latency_ms: tuple[int, int] = (0, 3)
    split_share: float = 0.0  # of what is sent, that which arrives in pieces
    drift_ppm: int = 0  # of members' clocks, at most
    node_times: tuple[NodeTime, ...] = ()  # of coordinators' clocks, a node each; others': common
    append_every_ms: int = 500
    append_until_ms: int | None = None  # None: as long as faults last
    records_per_append: int = 3
    codecs: tuple[str, ...] = ("none",)
    partition_fetch_bytes: int = 1_048_576
    fetch_min_bytes: int = 1
    fetch_sessions: bool = True
    static_share: float = 0.0
    consumer_share: float = 0.0  # of members that speak the consumer protocol (KIP-848)
    auto_commit_share: float = 0.5
    await_share: float = 0.0  # of members that acknowledge each step of a rebalance
    assignors: tuple[tuple[str, ...], ...] = (("range", "roundrobin"),)
    remote_assignors: tuple[str | None, ...] = (None,)  # of the consumer protocol
    pattern_share: float = 0.0
    session_timeout_ms: int = 6_000
    heartbeat_interval_ms: int = 1_500
    max_poll_interval_ms: int = 12_000
    request_timeout_ms: int = 4_000
    metadata_max_age_ms: int = 5_000
    fetch_max_wait_ms: int = 2_000
    poll_every_ms: tuple[int, int] = (100, 900)
    rebalance_delay_ms: int = 0
    release: tuple[int, int] = (4, 4)
    racks: tuple[str, ...] = ()  # of nodes in turn, and of members; who can reads in its own
    close_share: float = 0.0  # of closes that say whether they leave the group (KIP-1092)
    share: bool = False  # share groups (KIP-932), and what is theirs alone:
    lock_ms: int = 5_000  # how long a record is locked for who was given it
    delivery_limit: int = 5
    explicit_share: float = 0.5  # of members that acknowledge record by record
    one_by_one_share: float = 0.0  # of those that are given no more than they ask for (KIP-1206)
    renews: bool = True  # who acknowledges record by record renews locks, too (KIP-1222)
    exact: bool = False  # producers, and exactly-once; what is theirs alone:
    transaction_timeout_ms: int = 10_000
    transaction_version: int = 2  # of the feature of that name (KIP-890)
    transactional_share: float = 0.7  # of writers; the others are idempotent only
    abort_share: float = 0.2  # of transactions that their applications abort
    delivery_slack_ms: int = 20_000  # of the delivery timeout, beyond one request's

    @property
    def longest_lock_ms(self) -> int:
        """How long a record is locked at most, whatever is set."""
        return self.lock_ms * (RETUNED_LOCKS if Fault.RETUNE in self.faults else 1)

    @property
    def highest_delivery_limit(self) -> int:
        """How often a record may be delivered at most, whatever is set."""
        return self.delivery_limit + (RETUNED_DELIVERIES if Fault.RETUNE in self.faults else 0)

    @property
    def delivery_timeout_ms(self) -> int:
        """How long a record may take: no less than it does on links as slow as these. Else each
        would fail, and with it each transaction, as at any Kafka.
        """
        trips_ms = _DELIVERY_TRIPS * 2 * self.latency_ms[1]
        return max(self.request_timeout_ms + self.delivery_slack_ms, trips_ms)

    @property
    def has_epochs(self) -> bool:
        """Whether each transaction has an epoch of its own, all the time."""
        return self.transaction_version >= EPOCHS_SINCE and Fault.FEATURE not in self.faults

    @property
    def assignment_interval_ms(self) -> int:
        """How soon one target follows another (KIP-1263). That goes by the time of day: where those
        of the nodes differ, a group that moves would stand until the other clock has caught up.
        """
        skews = {time.skew_ms for time in self.node_times}
        return 0 if len(skews) > 1 else _ASSIGNMENT_INTERVAL_MS

    @property
    def settle_within_ms(self) -> int:
        """How long it may take until everything is well: members that are gone are found out by
        their sessions, whoever does not join by the rebalance timeout, dead links by requests, and
        what they had by its locks, or the timeout of its transaction.
        """
        if self.settle_ms is not None:
            return self.settle_ms
        sessions_ms = 2 * self.session_timeout_ms + self.rebalance_delay_ms
        if self.share:
            sessions_ms += 3 * self.longest_lock_ms
        if self.exact:  # one that nobody ends is ended by its timeout, and others wait for that
            sessions_ms += 2 * self.transaction_timeout_ms
        return self.max_poll_interval_ms + sessions_ms + 2 * self.request_timeout_ms + _SLACK_MS

    def lines(self) -> list[str]:
        """The plan in words, a few to a line."""
        rates = ", ".join(f"{kind.value} every {ms} ms" for kind, ms in self.faults.items())
        rest = [
            f"{one.name}={getattr(self, one.name)!r}"
            for one in fields(self)
            if one.name not in {"seed", "faults"}
        ]
        rows = [rest[at : at + 5] for at in range(0, len(rest), 5)]
        return [f"faults: {rates or 'none'}", *(", ".join(row) for row in rows)]


def draw(chance: Chance, seed: int) -> Plan:
    """The plan of a seed: small and busy, a second or less of work."""
    plan = _draw_later(draw_first(chance, seed), chance.beside(seed ^ _LATER_STREAM))
    drawn = plan.faults
    for kind, stream in ((Fault.REMAKE, _REMADE_STREAM), (Fault.ONE_WAY, _ONE_WAY_STREAM)):
        own = chance.beside(seed ^ stream)
        if drawn and own.happens(0.15):
            plan = replace(plan, faults=plan.faults | {kind: own.one_of(_MEANS_MS)})
    return plan


def draw_first(chance: Chance, seed: int) -> Plan:
    """What has been drawn from the beginning: seeds that found something go on to say the same."""
    brokers = chance.one_of((1, 1, 2, 3, 3))
    lists: list[tuple[str, ...]] = [("range",), ("roundrobin",), ("sticky",)]
    lists += [("cooperative-sticky",)] * 2 + [("range", "sticky"), ("sticky", "range")]
    lists += [("range", "roundrobin"), ("roundrobin", "range")]
    session_ms = chance.one_of((6_000, 6_000, 10_000))
    partition_fetch_bytes = chance.one_of((150, 1_048_576))
    slow_network = chance.happens(0.3)
    release = chance.one_of(((4, 4), (4, 4), (4, 4), (3, 3), (2, 1)))
    static_share = chance.one_of((0.0, 0.0, 0.5, 1.0))
    return Plan(
        seed=seed,
        members=chance.between(1, 5),
        brokers=brokers,
        topics=chance.one_of((1, 1, 2, 3)),
        partitions=chance.between(1, 6),
        duration_ms=chance.one_of((8_000, 15_000, 25_000)),
        faults=_draw_faults(chance, brokers),
        latency_ms=(1, chance.between(20, 120)) if slow_network else (0, chance.between(1, 8)),
        split_share=chance.one_of((0.0, 0.05, 0.3)),
        drift_ppm=chance.one_of((0, 200, 20_000)),
        append_every_ms=chance.between(200, 1_500),
        records_per_append=chance.between(1, 8),
        codecs=chance.one_of((("none",), ("gzip", "snappy", "lz4"))),
        partition_fetch_bytes=partition_fetch_bytes,
        fetch_min_bytes=min(chance.one_of((1, 1, 300)), partition_fetch_bytes),
        fetch_sessions=chance.happens(0.7),
        static_share=static_share if release >= _STATIC_SINCE else 0.0,
        auto_commit_share=chance.one_of((0.0, 0.5, 1.0)),
        await_share=chance.one_of((0.0, 0.5, 1.0)),
        assignors=_draw_assignors(chance, lists),
        pattern_share=chance.one_of((0.0, 0.0, 0.5)),
        session_timeout_ms=session_ms,
        heartbeat_interval_ms=chance.one_of((500, 1_500, session_ms // 3)),
        max_poll_interval_ms=chance.one_of((5_000, 12_000, 20_000)),
        request_timeout_ms=chance.one_of((3_000, 6_000)),
        fetch_max_wait_ms=chance.one_of((500, 2_000)),
        rebalance_delay_ms=chance.one_of((0, 0, 1_000)),
        release=release,
        node_times=_draw_node_times(chance, brokers),
        consumer_share=_draw_consumer_share(chance, release),
        remote_assignors=chance.one_of(((None,), ("uniform",), ("range",), (None, "uniform"))),
    )


def _draw_later(plan: Plan, chance: Chance) -> Plan:
    """What came later has a stream of its own."""
    kinds = [kind for kind in LATER if chance.happens(0.15)] if plan.faults else []
    if chance.happens(0.1):
        plan = upgrading(plan, chance.one_of(_MEANS_MS))
    racks: tuple[str, ...] = ()
    if plan.brokers > 1 and chance.happens(0.3):
        racks = chance.one_of((("a", "b"), ("a", "b", "c")))
    return replace(
        plan,
        faults=plan.faults | {kind: chance.one_of(_MEANS_MS) for kind in kinds},
        racks=racks,
        close_share=chance.one_of((0.0, 0.0, 0.5)),
    )


def shared(plan: Plan, source: Source | Callable[[int], Any]) -> Plan:
    """The same with share groups. What is theirs alone has a stream of its own."""
    chance = Chance(source, plan.seed ^ _SHARE_STREAM)
    one_by_one_share = chance.one_of((0.0, 0.0, 0.5, 1.0))
    if one_by_one_share:  # who asks one node after the other waits for each that has nothing
        plan = replace(
            plan, fetch_min_bytes=1, fetch_max_wait_ms=500, partition_fetch_bytes=1_048_576
        )
    return replace(
        plan,
        share=True,
        release=(4, 4),
        consumer_share=0.0,
        static_share=0.0,
        close_share=0.0,
        await_share=0.0,
        pattern_share=0.0,
        groups=chance.one_of((1, 1, 1, 2)),
        faults={kind: ms for kind, ms in plan.faults.items() if kind not in NOT_OF_SHARES},
        lock_ms=chance.one_of((1_500, 4_000, 10_000)),
        delivery_limit=chance.one_of((2, 3, 5, 5, 10)),
        explicit_share=chance.one_of((0.0, 0.5, 1.0)),
        one_by_one_share=one_by_one_share,
        renews=chance.happens(0.5),
    )


def exact(plan: Plan, source: Source | Callable[[int], Any]) -> Plan:
    """The same with producers. What is theirs alone has a stream of its own."""
    chance = Chance(source, plan.seed ^ _EXACT_STREAM)
    release = chance.one_of(_EXACT_RELEASES)
    faults = {kind: ms for kind, ms in plan.faults.items() if kind not in NOT_OF_EXACT}
    for kind in LATER:
        if plan.faults and chance.happens(0.4):
            faults[kind] = chance.one_of(_MEANS_MS)
    plan = replace(
        plan,
        exact=True,
        release=release,
        members=chance.between(3, 8),
        topics=chance.one_of((1, 1, 2)),
        partitions=chance.between(1, 4),
        faults=faults,
        append_until_ms=0,  # by nobody else
        # A coordinator whose time of day is behind would end what is open by as much later.
        node_times=tuple(time._replace(skew_ms=0) for time in plan.node_times),
        partition_fetch_bytes=max(plan.partition_fetch_bytes, 2_000),
        close_share=0.0,
        consumer_share=chance.one_of((0.0, 1.0)) if release >= CONSUMER_SINCE else 0.0,
        static_share=chance.one_of((0.0, 0.0, 0.5)),
        await_share=0.0,
        pattern_share=0.0,
        auto_commit_share=0.0,
        transaction_timeout_ms=chance.one_of((3_000, 6_000, 15_000)),
        transaction_version=chance.one_of((2, 2, 1, 0)) if release >= CONSUMER_SINCE else 0,
        transactional_share=chance.one_of((0.5, 1.0)),
        abort_share=chance.one_of((0.0, 0.2, 0.5)),
        delivery_slack_ms=chance.one_of((200, 5_000, 60_000)),
    )
    if not plan.transaction_version:  # see faults.py
        faults.pop(Fault.REMAKE, None)
    return plan


def upgrading(plan: Plan, mean_ms: int) -> Plan:
    """The same with classic members that go from eager to cooperative, one by one."""
    faults = {kind: ms for kind, ms in plan.faults.items() if kind not in _LOADING}
    return replace(
        plan,
        faults=faults | {Fault.UPGRADE: mean_ms},
        assignors=UPGRADE[:1],
        consumer_share=0.0,
        static_share=0.0,
    )


def _draw_faults(chance: Chance, brokers: int) -> dict[Fault, int]:
    share = chance.one_of((0.0, 0.15, 0.3, 0.3, 0.5, 0.8))
    kinds = chance.some_of([kind for kind in Fault if kind not in _LATER], share)
    if brokers == 1:
        kinds = [kind for kind in kinds if kind not in _OF_SEVERAL_NODES]
    return {kind: chance.one_of(_MEANS_MS) for kind in kinds}


def _draw_node_times(chance: Chance, brokers: int) -> tuple[NodeTime, ...]:
    """In half of the runs nodes have clocks like those of well-kept machines, or worse ones."""
    if chance.happens(0.5):
        return ()
    drift_ppm = chance.one_of((50, 20_000))
    return tuple(
        NodeTime(
            chance.one_of(CLOCKS_BEGIN_MS),
            chance.between(-drift_ppm, drift_ppm),
            chance.one_of(_SKEWS_MS),
        )
        for _ in range(brokers)
    )


def _draw_consumer_share(chance: Chance, release: tuple[int, int]) -> float:
    """Of the runs whose brokers know it a third have the consumer protocol, a sixth both."""
    share = chance.one_of((0.0, 0.0, 0.0, 1.0, 1.0, 0.5))
    return share if release >= CONSUMER_SINCE else 0.0


def _draw_assignors(chance: Chance, lists: list[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """One list for all, or two, either of which has what the other likes best: a coordinator that
    has loaded a group knows no more of its members than the assignor it uses.
    """
    first = chance.one_of(lists)
    alike = [other for other in lists if other[0] in first and first[0] in other]
    return (first,) if chance.happens(0.6) else (first, chance.one_of(alike))


def overruled(plan: Plan, **given: Any) -> Plan:
    """The plan with what somebody asked for in place of what was drawn; None: as drawn."""
    return replace(plan, **{name: value for name, value in given.items() if value is not None})


def unknown_to(plan: Plan) -> set[Fault]:
    """Kinds that mean nothing in such a run."""
    if plan.exact:
        return NOT_OF_EXACT
    if plan.share:
        return NOT_OF_SHARES
    return {Fault.FEATURE, *(_LOADING if Fault.UPGRADE in plan.faults else (Fault.UPGRADE,))}


def faults_of(
    words: Iterable[str], drawn: Plan, source: Source | Callable[[int], Any], seed: int
) -> dict[Fault, int]:
    """Kinds by their words; `none` and `all` are understood. ValueError for another word.

    How often is as drawn; of kinds that were not drawn, it is drawn now.
    """
    chance = Chance(source, seed)
    kinds: list[Fault] = []
    for word in words:
        if word == "all":
            kinds += [kind for kind in Fault if kind not in unknown_to(drawn)]
        elif word != "none":
            kinds.append(Fault(word))
    return {kind: drawn.faults.get(kind) or chance.one_of(_MEANS_MS) for kind in kinds}
