"""The events of a run as what a picture shows: lanes with spans and marks, bounded in size.

Times are ms of the world. Everything is plain data, in a steady order: the same run gives the same
story. What does not fit is folded, and `Story.folded` says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kcore.sim.ownership import Owned, Ownership
from kcore.sim.plan import Fault
from kcore.sim.trace import EVENTS_MAX, TraceEvent, What
from kcore.sim.words import FAULTS, count, fault_in_words

if TYPE_CHECKING:
    from kcore.sim.run import Outcome

# More than this nobody looks at one by one, and a page of it is slow.
LANES_MAX: Final = 400
GROUPS_MAX: Final = 40
NODES_MAX: Final = 40
MARKS_MAX: Final = 2_000  # of a kind of fault
LANE_MARKS_MAX: Final = 100
LANE_DEALS_MAX: Final = 400
SPANS_MAX: Final = 60_000  # of all members
REASONS_MAX: Final = 200  # for which members rebalance
LINES_MAX: Final = 1_500  # of the list of what happened
CENSUS_MAX: Final = 1_000  # points of the curves of all members
BINS: Final = 240  # of delivered and committed records

# Of the silence after the end, when everybody has left.
_SILENCE_MS: Final = 500

# What a member is in.
OUTSIDE, REBALANCING, STABLE = range(3)


@dataclass(slots=True)
class Lane:
    """One place in a group, and its processes one after the other."""

    name: str
    group: str
    instance: str | None
    # From, to, state, generation, how many partitions, number of the reason to rebalance or -1.
    spans: list[list[int]] = field(default_factory=list)
    zombie: list[list[int]] = field(default_factory=list)  # from, to
    slow: list[list[int]] = field(default_factory=list)
    deals: list[list[Any]] = field(default_factory=list)  # transactions: from, to, fate
    marks: list[list[Any]] = field(default_factory=list)  # at, kind, words
    notable: bool = False  # something happened to it that did not happen to all
    left_out: int = 0  # marks beyond what fits


@dataclass(slots=True)
class Process:
    """A member's process while it is there."""

    lane: Lane
    since_ms: int
    state: int = OUTSIDE
    generation: int = -1
    reason: int = -1  # why it rebalances, see Story.reasons
    paused_ms: int | None = None
    owned: dict[Owned, tuple[int, int]] = field(default_factory=dict)  # since, in which generation
    begun_ms: int | None = None  # its transaction, if one is open


@dataclass(slots=True)
class Generation:
    """One generation of a group."""

    at_ms: int
    number: int
    leader: str = ""
    joined: set[str] = field(default_factory=set)  # names of members
    assigned_ms: int = -1  # when the last of its members had its assignment


@dataclass(slots=True)
class Story:
    """All that a picture needs."""

    end_ms: int
    by_epochs: bool = False  # generations may be epochs of the consumer protocol
    healed_ms: int | None = None
    settled_ms: int | None = None  # when it had settled
    lanes: list[Lane] = field(default_factory=list)
    groups: dict[str, list[Generation]] = field(default_factory=dict)
    nodes: dict[str, dict[str, list[list[int]]]] = field(default_factory=dict)
    faults: dict[str, list[list[Any]]] = field(default_factory=dict)  # at, until, who, words
    reasons: list[str] = field(default_factory=list)
    census: list[list[int]] = field(default_factory=list)  # at, outside, rebalancing, stable, still
    delivered: list[int] = field(default_factory=lambda: [0] * BINS)
    committed: list[int] = field(default_factory=lambda: [0] * BINS)
    ownership: Ownership = field(default_factory=Ownership)
    lines: list[tuple[int, str, str, str]] = field(default_factory=list)  # at, what, who, words
    folded: list[str] = field(default_factory=list)


def story_of(outcome: Outcome) -> Story:
    """What happened in a run."""
    return _Teller(outcome).tell()


class _Teller:
    """Goes through the events once."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._story = Story(_end_of(outcome), by_epochs=outcome.plan.consumer_share > 0)
        self._processes: dict[int, Process] = {}
        self._by_name: dict[str, list[Lane]] = {}
        self._taken: set[int] = set()  # lanes with a process, by id
        self._census = [0, 0, 0, 0]
        self._sure: dict[tuple[str, str], int] = {}  # group, partition -> committed
        self._cut_short: dict[str, int] = {}  # what was left out, and how often
        plan = outcome.plan
        for number in range(1, plan.brokers + 1):
            self._story.nodes[f"node{number}"] = {"down": [], "paused": []}

    def tell(self) -> Story:
        story, events = self._story, self._outcome.events
        steps = {
            What.MEMBER_STARTED: self._started,
            What.MEMBER_ENDED: self._ended,
            What.MEMBER_PAUSED: self._paused,
            What.MEMBER_RESUMED: self._resumed,
            What.SUBSCRIBED: self._subscribed,
            What.REBALANCING: self._rebalancing,
            What.STEPPED_OUT: self._stepped_out,
            What.JOINED: self._joined,
            What.ASSIGNED: self._assigned,
            What.REVOKED: self._revoked,
            What.LOST: self._lost,
            What.GENERATION: self._generation,
            What.DELIVERED: self._delivered,
            What.COMMITTED: self._committed,
            What.ERROR: self._error,
            What.BEGUN: self._begun,
            What.ENDED: self._decided,
            What.FAULT: self._fault,
            What.NODE_DOWN: self._node_down,
            What.NODE_UP: self._node_up,
            What.HEALED: self._healed,
            What.SETTLED: self._settled,
        }
        for event in events:
            steps[event.what](event)
        for process in self._processes.values():
            self._close(process, story.end_ms)
        for spans in story.nodes.values():
            _end_open(spans["down"], story.end_ms)
        self._fold()
        return story

    # Members -------------------------------------------------------------------------------------

    def _started(self, event: TraceEvent) -> None:
        lane = self._free_lane(event)
        lane.instance = event.detail["instance"]
        self._taken.add(id(lane))
        self._processes[event.detail["process"]] = Process(lane, event.at_ms)
        self._count(event.at_ms, OUTSIDE, 1)
        if event.at_ms:
            self._mark(lane, event, "start", "a process starts")

    def _free_lane(self, event: TraceEvent) -> Lane:
        """Where nobody of the name runs; a second process of a name has a lane of its own."""
        lanes = self._by_name.setdefault(event.who, [])
        for lane in lanes:
            if id(lane) not in self._taken:
                return lane
        twin = f" ({len(lanes) + 1})" if lanes else ""
        lane = Lane(event.who + twin, event.detail["group"], None, notable=bool(lanes))
        lanes.append(lane)
        self._story.lanes.append(lane)
        return lane

    def _ended(self, event: TraceEvent) -> None:
        process = self._processes.pop(event.detail["process"])
        how = event.detail["how"]
        self._close(process, event.at_ms)
        self._taken.discard(id(process.lane))
        for span in process.lane.slow:
            span[1] = min(span[1], event.at_ms)
        at_the_end = how == "left" and self._story.settled_ms is not None
        self._mark(process.lane, event, how, how, notable=not at_the_end)
        if not at_the_end:
            self._line(event, how, event.who, "")

    def _close(self, process: Process, at_ms: int) -> None:
        self._span(process, at_ms)
        self._deal(process, at_ms, "open")
        if process.paused_ms is not None:
            process.lane.zombie.append([process.paused_ms, at_ms])
        self._count(at_ms, process.state if process.paused_ms is None else 3, -1)
        self._story.ownership.given_up(process.lane.name, process.owned, at_ms, process.generation)

    def _span(self, process: Process, at_ms: int) -> None:
        if at_ms > process.since_ms:
            owned, reason = len(process.owned), process.reason
            process.lane.spans.append(
                [process.since_ms, at_ms, process.state, process.generation, owned, reason]
            )
        process.since_ms = at_ms

    def _move(self, event: TraceEvent, state: int) -> Process | None:
        """A member is in another state from now on, or has other partitions."""
        process = self._processes.get(event.detail["process"])
        if process is not None:
            self._span(process, event.at_ms)
            if process.paused_ms is None:
                self._count(event.at_ms, process.state, -1)
                self._count(event.at_ms, state, 1)
            process.state = state
        return process

    def _paused(self, event: TraceEvent) -> None:
        process = self._processes[event.detail["process"]]
        process.paused_ms = event.at_ms
        process.lane.notable = True
        self._count(event.at_ms, process.state, -1)
        self._count(event.at_ms, 3, 1)

    def _resumed(self, event: TraceEvent) -> None:
        process = self._processes[event.detail["process"]]
        if process.paused_ms is not None:
            process.lane.zombie.append([process.paused_ms, event.at_ms])
            process.paused_ms = None
            self._count(event.at_ms, 3, -1)
            self._count(event.at_ms, process.state, 1)
        self._line(event, "goes on", event.who, "its process stood still")

    def _subscribed(self, event: TraceEvent) -> None:
        process = self._processes.get(event.detail["process"])
        if process is not None:
            plan = self._outcome.plan
            # Those made later have as many partitions as chance gave them: rows once owned.
            first = {f"t{number}" for number in range(1, plan.topics + 1)}
            topics = [topic for topic in event.detail["topics"] if topic in first]
            self._story.ownership.read(process.lane.group, topics, plan.partitions)

    def _rebalancing(self, event: TraceEvent) -> None:
        process = self._move(event, REBALANCING)
        if process is not None:
            process.reason = self._reason(event.detail["why"])

    def _reason(self, why: str) -> int:
        reasons = self._story.reasons
        if why in reasons:
            return reasons.index(why)
        if not why or len(reasons) == REASONS_MAX:
            return -1
        reasons.append(why)
        return len(reasons) - 1

    def _stepped_out(self, event: TraceEvent) -> None:
        process = self._move(event, OUTSIDE)
        if process is not None:
            process.reason = -1

    def _joined(self, event: TraceEvent) -> None:
        process = self._move(event, REBALANCING)
        number, leads = event.detail["generation"], event.detail["leads"]
        if process is not None:
            process.generation = number
            if leads:
                process.lane.notable = True
                self._mark(process.lane, event, "leads", f"leads generation {number}")
                self._line(
                    event, "leads", event.who, f"generation {number} of {event.detail['group']}"
                )
        generation = self._generation_of(event.detail["group"], number)
        if generation is not None:
            generation.joined.add(event.who)
            if leads:
                generation.leader = event.who

    def _assigned(self, event: TraceEvent) -> None:
        process = self._move(event, STABLE)
        number = event.detail["generation"]
        if process is None:
            return
        lane, own = process.lane, self._story.ownership
        has = {(lane.group, tp.topic, tp.partition) for tp in event.detail["partitions"]}
        own.given_up(lane.name, process.owned, event.at_ms, process.generation, but=has)
        process.generation, process.reason = number, -1
        for owned in sorted(has):
            process.owned.setdefault(owned, (event.at_ms, number))
        generation = self._generation_of(lane.group, number)
        if generation is not None:
            generation.assigned_ms = event.at_ms

    def _revoked(self, event: TraceEvent) -> None:
        self._gone(event, REBALANCING)

    def _lost(self, event: TraceEvent) -> None:
        process = self._gone(event, OUTSIDE)
        if process is not None:
            what = count(len(event.detail["partitions"]), "partition")
            self._mark(process.lane, event, "lost", f"lost {what}", notable=True)
            self._line(event, "lost", event.who, what)

    def _gone(self, event: TraceEvent, state: int) -> Process | None:
        process = self._move(event, state)
        if process is not None:
            lane = process.lane
            gone = {(lane.group, tp.topic, tp.partition) for tp in event.detail["partitions"]}
            self._story.ownership.given_up(
                lane.name,
                process.owned,
                event.at_ms,
                process.generation,
                but=process.owned.keys() - gone,
            )
        return process

    def _begun(self, event: TraceEvent) -> None:
        self._processes[event.detail["process"]].begun_ms = event.at_ms

    def _decided(self, event: TraceEvent) -> None:
        self._deal(self._processes[event.detail["process"]], event.at_ms, event.detail["fate"])

    def _deal(self, process: Process, at_ms: int, fate: str) -> None:
        """A transaction is over, or its process is."""
        begun_ms, process.begun_ms = process.begun_ms, None
        if begun_ms is None:
            return
        if len(process.lane.deals) < LANE_DEALS_MAX:
            process.lane.deals.append([begun_ms, at_ms, fate])
        else:
            process.lane.left_out += 1

    def _error(self, event: TraceEvent) -> None:
        process = self._processes.get(event.detail["process"])
        if process is not None:
            self._mark(process.lane, event, "error", event.detail["error"], notable=True)
        self._line(event, "error", event.who, event.detail["error"])

    def _mark(
        self, lane: Lane, event: TraceEvent, kind: str, words: str, *, notable: bool = False
    ) -> None:
        lane.notable = lane.notable or notable
        if len(lane.marks) < LANE_MARKS_MAX:
            lane.marks.append([event.at_ms, kind, words])
        else:
            lane.left_out += 1

    def _count(self, at_ms: int, column: int, by: int) -> None:
        self._census[column] += by
        census, grid = self._story.census, max(self._story.end_ms // CENSUS_MAX, 1)
        if census and census[-1][0] // grid == at_ms // grid:
            census[-1][1:] = self._census
        else:
            census.append([at_ms, *self._census])

    # Groups and records --------------------------------------------------------------------------

    def _generation(self, event: TraceEvent) -> None:
        generation = Generation(event.at_ms, event.detail["generation"])
        self._story.groups.setdefault(event.who, []).append(generation)
        self._line(event, "generation", event.who, str(generation.number))

    def _generation_of(self, group: str, number: int) -> Generation | None:
        """The newest of that number: a coordinator that is replaced may give it out again."""
        for generation in reversed(self._story.groups.get(group, ())):
            if generation.number == number:
                return generation
        return None

    def _bin(self, at_ms: int) -> int:
        return min(at_ms * BINS // self._story.end_ms, BINS - 1)

    def _delivered(self, event: TraceEvent) -> None:
        records = sum(last - first + 1 for first, last in event.detail["spans"].values())
        self._story.delivered[self._bin(event.at_ms)] += records

    def _committed(self, event: TraceEvent) -> None:
        lanes = self._by_name.get(event.who)
        group = lanes[0].group if lanes else ""
        for name, offset in event.detail["offsets"].items():
            before = self._sure.get((group, name), 0)
            if offset > before:
                self._sure[group, name] = offset
                self._story.committed[self._bin(event.at_ms)] += offset - before

    # Faults --------------------------------------------------------------------------------------

    def _fault(self, event: TraceEvent) -> None:
        kind = event.detail["kind"]
        words = fault_in_words(event.who, event.detail)
        until_ms = min(event.detail.get("until_ms", event.at_ms), self._heals_ms)
        marks = self._story.faults.setdefault(kind, [])
        if len(marks) < MARKS_MAX:
            marks.append([event.at_ms, until_ms, event.who, words])
        else:
            self._cut_short[kind] = self._cut_short.get(kind, 0) + 1
        self._line(event, kind, event.who, words)
        for lane in self._by_name.get(event.who, ())[:1]:
            lane.notable = True
            if kind == Fault.SLOW.value:
                lane.slow.append([event.at_ms, until_ms])
            elif kind not in {Fault.ZOMBIE.value, Fault.CRASH.value, Fault.LEAVE.value}:
                self._mark(lane, event, "fault", f"{kind}: {words}")
        node = self._story.nodes.get(event.who)
        if node is not None and kind in {Fault.NODE_PAUSE.value, Fault.NODE_FENCE.value}:
            node["paused"].append([event.at_ms, until_ms])

    @property
    def _heals_ms(self) -> int:
        return min(self._outcome.plan.duration_ms, self._story.end_ms)

    def _node_down(self, event: TraceEvent) -> None:
        node = self._story.nodes[event.who]
        node["down"].append([event.at_ms, -1])
        for span in node["paused"]:
            span[1] = min(span[1], event.at_ms)
        self._line(event, "down", event.who, "")

    def _node_up(self, event: TraceEvent) -> None:
        _end_open(self._story.nodes[event.who]["down"], event.at_ms)
        self._line(event, "up", event.who, "")

    def _healed(self, event: TraceEvent) -> None:
        self._story.healed_ms = event.at_ms
        self._line(event, "healed", "", "no fault from here on")

    def _settled(self, event: TraceEvent) -> None:
        self._story.settled_ms = event.at_ms
        self._line(event, "settled", "", "all is well, and everybody leaves")

    def _line(self, event: TraceEvent, what: str, who: str, words: str) -> None:
        if len(self._story.lines) < LINES_MAX:
            self._story.lines.append((event.at_ms, what, who, words))
        else:
            self._cut_short["list"] = self._cut_short.get("list", 0) + 1

    # Bounds --------------------------------------------------------------------------------------

    def _fold(self) -> None:
        story, say = self._story, self._story.folded.append
        if len(self._outcome.events) >= EVENTS_MAX:
            say(f"The trace keeps {EVENTS_MAX:,} events; what came after them is not drawn.")
        for kind, left in self._cut_short.items():
            where = "the list of what happened" if kind == "list" else f"the lane of {kind}"
            say(f"{left:,} more in {where} are not shown.")
        self._fold_lanes()
        for name, kept in (("groups", GROUPS_MAX), ("nodes", NODES_MAX)):
            lanes = getattr(story, name)
            if len(lanes) > kept:
                say(f"{len(lanes) - kept:,} more {name} have no lane of their own.")
                for extra in list(lanes)[kept:]:
                    del lanes[extra]
        marks = sum(lane.left_out for lane in story.lanes)
        if marks:
            say(f"{marks:,} marks on lanes of members that have too many are not shown.")
        story.folded += story.ownership.fold()

    def _fold_lanes(self) -> None:
        """Those that something happened to are kept first; then as many as there is room for."""
        story = self._story
        chosen: set[int] = set()
        spans = 0
        for lane in sorted(story.lanes, key=lambda lane: not lane.notable):
            spans += len(lane.spans)
            if len(chosen) == LANES_MAX or (spans > SPANS_MAX and chosen):
                break
            chosen.add(id(lane))
        left = len(story.lanes) - len(chosen)
        story.lanes = [lane for lane in story.lanes if id(lane) in chosen]
        if left:
            story.folded.append(
                f"{left:,} more members have no lane of their own; the curves of all members"
                " have them."
            )


def _end_of(outcome: Outcome) -> int:
    """When the picture ends: what ended well ends with silence, of which a little is enough."""
    end_ms, events = outcome.ended_ms, outcome.events
    if outcome.violation is None and outcome.settled_ms is not None and events:
        end_ms = min(end_ms, events[-1].at_ms + _SILENCE_MS)
    return max(end_ms, 1)


def _end_open(spans: list[list[int]], at_ms: int) -> None:
    for span in spans:
        if span[1] < 0:
            span[1] = at_ms


def data_of(story: Story) -> dict[str, Any]:
    """The story as JSON has it, short: what the page's script draws."""
    places = {lane.name: number for number, lane in enumerate(story.lanes)}
    return {
        "end": story.end_ms,
        "epochs": story.by_epochs,
        "healed": story.healed_ms,
        "settled": story.settled_ms,
        "groups": [
            [
                name,
                [[g.at_ms, g.number, g.leader, len(g.joined), g.assigned_ms] for g in generations],
            ]
            for name, generations in story.groups.items()
        ],
        "nodes": [[name, spans["down"], spans["paused"]] for name, spans in story.nodes.items()],
        "faults": list(_faults(story.faults)),
        "members": [
            [
                *(lane.name, lane.group, lane.instance, int(lane.notable)),
                *(lane.spans, lane.zombie, lane.slow, lane.marks, lane.deals),
            ]
            for lane in story.lanes
        ],
        "reasons": story.reasons,
        "census": story.census,
        "delivered": story.delivered,
        "committed": story.committed,
        "partitions": story.ownership.rows(places),
        "owners": story.ownership.strangers(places),
    }


def _faults(faults: dict[str, list[list[Any]]]) -> Iterable[list[Any]]:
    """Kinds that happened, those that hit the same together."""
    for kind, (hits, words) in FAULTS.items():
        marks = faults.get(kind.value)
        if marks:
            yield [kind.value, hits, words, marks]
