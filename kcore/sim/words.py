"""A plan, its faults and a run's verdicts in words, for people who see a run for the first time."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from kcore.sim.plan import OPERATED, Fault, Plan
from kcore.sim.violations import Rule

if TYPE_CHECKING:
    from kcore.sim.run import Outcome

# What each kind of fault hits, and what it does to it.
FAULTS: Final[dict[Fault, tuple[str, str]]] = {
    Fault.NODE_CRASH: ("nodes", "a node is gone, and comes back"),
    Fault.NODE_PAUSE: ("nodes", "a node stands still, and goes on"),
    Fault.NODE_FENCE: ("nodes", "a node stands still, is put out by the others, and comes back"),
    Fault.NODE_SPLIT: ("nodes", "two nodes do not reach each other for a while"),
    Fault.LAG: ("nodes", "a node gets what others write late"),
    Fault.LEADER_MOVE: ("nodes", "another node leads a partition"),
    Fault.COORDINATOR_MOVE: ("nodes", "another node keeps the groups of a journal"),
    Fault.REFUSAL: ("nodes", "a node answers a request with an error"),
    Fault.LATE_ANSWER: ("nodes", "a node serves a request late"),
    Fault.LOST_ANSWER: ("nodes", "a node does what it is asked, and its answer is lost"),
    Fault.FEATURE: ("nodes", "the cluster begins to use another transaction.version"),
    Fault.DOWNGRADE: (
        "nodes",
        "the cluster is without group.version, or share.version, for a while",
    ),
    Fault.CUT: ("connections", "a connection is reset, both sides are told"),
    Fault.HALF_OPEN: ("connections", "nothing passes any more, and at most one side is told"),
    Fault.SPLIT: ("connections", "nothing passes between a member and a node for a while"),
    Fault.REFUSE: ("connections", "connects are refused for a while"),
    Fault.STALL: ("connections", "one connection is slow for a while"),
    Fault.ONE_WAY: ("connections", "what goes one way is lost, or late, and the rest passes"),
    Fault.ZOMBIE: ("members", "a member's process stands still, and comes back"),
    Fault.SLOW: ("members", "a member does not poll for longer than it may"),
    Fault.UPGRADE: ("members", "a member is started anew with the next assignors of an upgrade"),
    Fault.MIGRATE: (
        "members",
        "a member is started anew, of the other protocol in groups of both",
    ),
    Fault.THROTTLE: ("members", "a member may read, or ask, only so much a second for a while"),
    Fault.CRASH: ("members", "a member is gone without a word"),
    Fault.LEAVE: ("members", "a member closes"),
    Fault.JOIN: ("members", "a member comes"),
    Fault.RESTART: ("members", "a static member comes back under its name"),
    Fault.RESUBSCRIBE: ("members", "a member subscribes to other topics"),
    Fault.REJOIN: ("members", "a member asks for a rebalance"),
    Fault.HOLD: ("members", "a member pauses partitions, and resumes them"),
    Fault.AUDIT: ("groups", "an admin client looks at a group, and at what it has committed"),
    Fault.RETUNE: ("groups", "an option of a group is set"),
    Fault.EVICT: ("groups", "an admin client removes a member from its group"),
    Fault.RESET: (
        "groups",
        "a group is stopped, and its offsets are altered or deleted, or it is itself",
    ),
    Fault.GROW: ("topics", "a topic gets more partitions"),
    Fault.TOPIC: ("topics", "a topic is made that members wait for"),
    Fault.TRIM: ("topics", "the oldest records of a partition are deleted"),
    Fault.REMAKE: ("topics", "a topic is deleted, and made anew under its name after a while"),
}


# How details of a fault are said that need no more than that.
_SAID: Final[dict[str, Callable[[Any], str]]] = {
    "start_offset": lambda value: f"up to offset {value}",
    "times": lambda value: f"{value} times",
    "journal": lambda value: f"journal {value}",
    "partitions": lambda value: f"then of {count(value, 'partition')}",
}


class Verdict(Enum):
    """What a run says of a rule."""

    HELD = "held"
    BROKEN = "broken"
    NOT_REACHED = "not reached"  # it is judged at the end, and the run ended before


# Rules about the end of a run, which one that breaks another rule never sees.
_JUDGED_LAST: Final = {Rule.SETTLES, Rule.DELIVERED}


# Rules of one kind of groups only.
_OF_SHARES: Final = {
    Rule.HELD_ONCE,
    Rule.DONE_ONCE,
    Rule.COUNTED,
    Rule.HANDED,
    Rule.SAID,
}
_OF_PRODUCERS: Final = {
    Rule.WRITTEN_ONCE,
    Rule.IN_ORDER,
    Rule.ALL_OR_NOTHING,
    Rule.READ_COMMITTED,
    Rule.MOVED_ONCE,
    Rule.FENCED,
}
_OF_MEMBERS: Final = {Rule.STAYS, Rule.LEAVES, Rule.PROGRESS, Rule.DELIVERED}
_OF_CONSUMERS: Final = {
    Rule.OWNED_ONCE,
    Rule.COMMIT_BEHIND,
    Rule.COMMIT_FENCED,
    Rule.COMMIT_OWN,
    Rule.COMMIT_FORWARD,
    Rule.HANDED_ON,
    Rule.GIVES_UP,
    Rule.HANDLED,
    Rule.STICKY,
    Rule.ROUNDS,
}


def verdicts(outcome: Outcome) -> list[tuple[Rule, Verdict]]:
    """What came of each rule that the run is judged by."""
    others = _unjudged(outcome.plan)
    broken = outcome.violation.rule if outcome.violation is not None else None
    return [
        (
            rule,
            Verdict.BROKEN
            if rule is broken
            else Verdict.NOT_REACHED
            if broken is not None and rule in _JUDGED_LAST
            else Verdict.HELD,
        )
        for rule in Rule
        if rule not in others
    ]


def _unjudged(plan: Plan) -> set[Rule]:
    """Rules of other kinds of runs."""
    if plan.exact:
        others = _OF_SHARES | _OF_CONSUMERS | _OF_MEMBERS
    else:
        others = _OF_PRODUCERS | (_OF_CONSUMERS if plan.share else _OF_SHARES)
    if not OPERATED & plan.faults.keys():
        others |= {Rule.OPERATED}
    if Fault.THROTTLE not in plan.faults:
        others |= {Rule.THROTTLED}
    return others if plan.close_share else others | {Rule.REMAINS}


def plan_in_words(plan: Plan) -> list[str]:
    """What the run is, in sentences; the rates of faults aside."""
    release = ".".join(map(str, plan.release))
    groups = f" of {plan.groups} groups" if plan.groups > 1 else ""
    topics = f"{count(plan.topics, 'topic')} of {count(plan.partitions, 'partition')}"
    first = (
        f"{count(plan.members, 'member')}{groups} read {topics} to begin with, from"
        f" {count(plan.brokers, 'broker')} of release {release}."
    )
    phases = (
        f"Faults go on for {seconds(plan.duration_ms)}, then all of them heal and everything has"
        f" to settle within {seconds(plan.settle_within_ms)}."
        if plan.faults
        else f"Nothing goes wrong for {seconds(plan.duration_ms)}; then everything has to settle"
        f" within {seconds(plan.settle_within_ms)}."
    )
    return [first, phases, _network(plan), _members(plan), _timeouts(plan)]


def _network(plan: Plan) -> str:
    low, high = plan.latency_ms
    pieces = f", {share(plan.split_share)} of it in pieces" if plan.split_share else ""
    drift = f" Members' clocks drift by up to {plan.drift_ppm:,} ppm." if plan.drift_ppm else ""
    worst_ppm = max((abs(time.drift_ppm) for time in plan.node_times), default=0)
    nodes = f" Nodes' clocks differ, and drift by up to {worst_ppm:,} ppm." if worst_ppm else ""
    return (
        f"What is sent arrives after {low} to {high} ms{pieces}.{drift}{nodes} About every"
        f" {seconds(plan.append_every_ms)} up to {count(plan.records_per_append, 'record')} are"
        " written."
    )


def _members(plan: Plan) -> str:
    if plan.share:
        return _sharing(plan)
    if plan.exact:
        return _producing(plan)
    return _reading(plan)


def _reading(plan: Plan) -> str:
    lists = [", ".join(names) for names in plan.assignors] if plan.consumer_share < 1 else []
    if plan.consumer_share:
        lists += [name or "as the broker likes" for name in plan.remote_assignors]
    rest = [f"{share(plan.static_share)} of members are static"] if plan.static_share else []
    if plan.consumer_share:
        rest.append(f"{share(plan.consumer_share)} speak the consumer protocol")
    if plan.auto_commit_share:
        rest.append(f"{share(plan.auto_commit_share)} commit automatically")
    if plan.pattern_share:
        rest.append(f"{share(plan.pattern_share)} subscribe by pattern")
    if plan.racks:
        rest.append(f"racks are {', '.join(plan.racks)}")
    if plan.close_share:
        rest.append(f"{share(plan.close_share)} of closes say whether they leave the group")
    if plan.await_share:
        rest.append(f"{share(plan.await_share)} acknowledge each step of a rebalance")
    habits = f" {', '.join(rest)}.".capitalize() if rest else ""
    return f"Assignors: {' or '.join(lists)}.{habits}"


def _sharing(plan: Plan) -> str:
    explicit = (
        f"{share(plan.explicit_share)} of members acknowledge record by record"
        + (", and renew locks." if plan.renews else ".")
        if plan.explicit_share
        else "Members accept records by asking for more."
    )
    few = plan.one_by_one_share
    exact = f" {share(few)} are given no more than they ask for." if few else ""
    return (
        f"They share records, each of which is locked for {seconds(plan.lock_ms)} and delivered"
        f" {plan.delivery_limit} times at most. {explicit}{exact}"
    )


def _producing(plan: Plan) -> str:
    return (
        "Two in five write, two make a record of each that they read, one reads all."
        f" {share(plan.transactional_share)} of writers have transactions, of which"
        f" {share(plan.abort_share)} are aborted; the others are idempotent only. Transactions end"
        f" after {seconds(plan.transaction_timeout_ms)} at the latest; transaction.version is"
        f" {plan.transaction_version}. {_reading(plan)}"
    )


def _timeouts(plan: Plan) -> str:
    return (
        f"Session timeout {seconds(plan.session_timeout_ms)}, heartbeat every"
        f" {seconds(plan.heartbeat_interval_ms)}, at most {seconds(plan.max_poll_interval_ms)}"
        f" between polls, requests time out after {seconds(plan.request_timeout_ms)}."
    )


def rates_in_words(plan: Plan) -> list[tuple[str, str, str]]:
    """Each kind of fault of the plan: its word, about how often, what it is."""
    return [
        (kind.value, f"every {seconds(mean_ms)}", FAULTS[kind][1])
        for kind, mean_ms in plan.faults.items()
    ]


def fault_in_words(who: str, detail: dict[str, Any]) -> str:
    """Whom one fault hit, and how."""
    words = [who]
    for name, value in detail.items():
        if name == "kind":
            continue
        if name == "until_ms":
            words.append(f"until {seconds(value)}")
        elif name == "told":
            told = {True: "its peers are told", False: "nobody is told"}
            words.append(told.get(value, f"told: {value}"))
        elif name == "twin":
            words.append("the old process only stands still" if value else "")
        elif name in {"lag_ms", "delay_ms"}:
            words.append(f"by {seconds(value)}")
        elif name in _SAID:
            words.append(_SAID[name](value))
        else:
            words.append(str(value))
    return ", ".join(word for word in words if word)


def count(number: int, noun: str) -> str:
    """'1 member', '2,000 members'."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def seconds(ms: int) -> str:
    """A time or a duration as people say it."""
    return f"{ms:,} ms" if ms < 1_000 else f"{ms / 1_000:,.3f}".rstrip("0").rstrip(".") + " s"


def share(part: float) -> str:
    """A share of one as per cent."""
    return f"{part * 100:g} %"
