"""What the cores of all clients have in common: the doors to the world, links, metadata, and the
loop that lets every room have its say after an input.

World in: `handle_connected handle_data handle_closed handle_deadline handle_token handle_gssapi`,
`receive_buffer` and `receive_advance`. Out: `next_action`, `next_event`, `deadline`.
docs/BOUNDARY.md is the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kcore.actions import Action
from kcore.cluster.config import LinksConfig
from kcore.cluster.links import Links
from kcore.cluster.lookup import TopicLookup
from kcore.cluster.outbox import Outbox
from kcore.cluster.refresh import RefreshConfig, Refresher
from kcore.cluster.release import release_of
from kcore.cluster.view import Metadata
from kcore.connection.calls import COORDINATORS_APART, ClusterView
from kcore.errors import IllegalStateError
from kcore.events import Closed, Event, HeartbeatAnswered
from kcore.hints import TYPE_CHECKING, Protocol
from kcore.limits import AWAY_MS, MOMENT_MS
from kcore.meters import Group, Reading, by_group
from kcore.structs import Rng
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey

if TYPE_CHECKING:
    from kcore.cluster.kinship import Kinship
    from kcore.connection.calls import Answer
    from kcore.telemetry.payload import OwnMetrics
    from kcore.telemetry.reporter import Reporter

# A room that answers its own failure by asking again at once would go round for ever; a
# well-behaved input takes two.
_ROUNDS_MAX = 64


class Teller(Protocol):
    """Who measures a client."""

    def tell(self, now_ms: int) -> list[Reading]:
        """Everything that is measured."""

    def labels(self) -> dict[str, str]:
        """What is told beside it when it is pushed."""


class ClientCore:
    """See the module's text. A core says in `_turn` what its rooms do, and in `deadline` when.

    unsent: empty if `next_action` has nothing. unread: empty if `next_event` has nothing. idle_ms:
    how long calls have waited for records, told by whoever waits.
    pushes: metrics are pushed to brokers that have subscribed to them. wall_offset_ms: Unix time
    when `now_ms` is 0; None: unknown.
    """

    def __init__(
        self,
        links: LinksConfig,
        refresh: RefreshConfig,
        bootstrap_servers: Iterable[tuple[str, int]],
        rng: Rng,
    ) -> None:
        self._outbox = Outbox()
        emit = self._outbox.emit
        self._links = Links(links, bootstrap_servers, rng, emit)
        self._view = Metadata()
        self._refresher = Refresher(refresh, self._links, self._view, rng, emit)
        self._kinship: Kinship | None = None  # None: nobody has told another one yet
        self._lookup = TopicLookup(refresh, self._links, rng)
        self.unsent = self._links.actions
        self.unread = self._outbox.events
        self.idle_ms = 0
        self._rng = rng
        self._teller: Teller | None = None
        self.pushes = False
        self.wall_offset_ms: int | None = None
        self._reporter: Reporter | None = None
        self._own_metrics: OwnMetrics | None = None
        self._looked_for_telemetry = -1
        self._seen_changes = 0
        self._holding = self._owing = False  # see hold_back; owing: the rooms have missed turns
        self._due = -1  # what `deadline` said, of those that keep it
        self._closing_until: int | None = None
        self._granted = False  # to the close: see Bounded.expired
        self._closed = False

    def _turn(self, now_ms: int) -> None:
        """Ask every room, in a fixed order, whether it has something to do."""
        raise NotImplementedError

    # -- the world ---------------------------------------------------------------------------------

    def use_bootstrap(self, servers: Iterable[tuple[str, int]], now_ms: int) -> None:
        """Begin at these (host, port) in place of bootstrap_servers."""
        self._links.use_bootstrap(servers, now_ms)
        self._settle(now_ms)

    def begin_connecting(self, link: int, now_ms: int) -> None:
        """The driver begins to carry out a Connect: the time it may take counts from here, not from
        when it was asked for. Nothing comes of it. Who drives without a pause need not say so.
        """
        self._links.tell(link, lambda one: one.begin(now_ms), now_ms)

    def handle_connected(self, link: int, now_ms: int) -> None:
        """The driver opened `link`."""
        self._links.handle_connected(link, now_ms)
        self._settle(now_ms)

    def receive_buffer(self, link: int) -> memoryview:
        """Lend the place for the next bytes of `link`; LookupError if the link is not open (any
        more).
        """
        return self._links.receive_buffer(link)

    def receive_advance(self, link: int, size: int, now_ms: int) -> int:
        """End the loan: `size` bytes were written.

        Above 0: how many more have to come before anything can come of them; they are part of a
        frame, and nothing has changed. 0: something may have. Below: there may be actions, and
        nothing else has changed, save for deadlines that are later now and the event of a heartbeat
        that needs no attention.
        """
        events = self._outbox.events
        before = len(events)
        missing = self._links.receive_advance(link, size, now_ms)
        if self._links.completed or self._links.changes != self._seen_changes:
            self._settle(now_ms)
            return 0
        for index in range(before, len(events)):
            if type(events[index]) is not HeartbeatAnswered:
                return 0
        return missing

    def handle_data(self, link: int, data: bytes, now_ms: int) -> None:
        """Bytes of `link` that were received elsewhere."""
        self._links.handle_data(link, data, now_ms)
        self._settle(now_ms)

    def handle_closed(
        self,
        link: int,
        why: str,
        now_ms: int,
        *,
        more_addresses: bool = False,
        untrusted: bool = False,
        by_proxy: bool = False,
    ) -> None:
        """The driver lost `link`, or could not open it; `untrusted`: TLS failed for good;
        `by_proxy`: there is no way through the proxy (both: it refuses who we are).
        """
        self._links.handle_closed(
            link,
            why,
            now_ms,
            more_addresses=more_addresses,
            untrusted=untrusted,
            by_proxy=by_proxy,
        )
        self._settle(now_ms)

    def handle_token(
        self,
        link: int,
        token: str | None,
        now_ms: int,
        *,
        extensions: Mapping[str, str] | None = None,
        why: str = "",
    ) -> None:
        """What FetchToken brought: a token and the extensions beside it (KIP-342), or None and why
        there is none, which is raised as a SaslAuthenticationFailedError. One that comes too late
        is dropped.
        """
        self._links.tell(
            link, lambda one: one.handle_token(token, extensions or {}, why, now_ms), now_ms
        )
        self._settle(now_ms)

    def handle_gssapi(
        self,
        link: int,
        result: bytes | None,
        now_ms: int,
        *,
        context: object = None,
        complete: bool = False,
        why: str = "",
    ) -> None:
        """What CallGssapi brought: a token (of GSS_Init_sec_context, empty if there is none) or a
        message, with the context to give back and whether it is established; or None and what went
        wrong, which is raised as a SaslAuthenticationFailedError. What comes too late is dropped.
        """
        self._links.tell(
            link,
            lambda one: one.handle_gssapi(result, context, complete, why, now_ms),
            now_ms,
        )
        self._settle(now_ms)

    def handle_interrupted(self, now_ms: int) -> None:
        """Something struck the program in the middle of a call of ours or of the driver (Ctrl-C):
        what of the actions was carried out nobody knows. Every link is ended, and what was asked
        there is asked again. So rooms ask first and then note that they wait for an answer: what
        was noted and not asked would be waited for without end, what was asked twice is answered.
        """
        self._let_go()
        self._links.interrupt(now_ms)
        self._run_answers(now_ms)
        self._refresher.recover()
        self._lookup.recover()
        self._recover(now_ms)
        self._settle(now_ms, judges=True)

    def _recover(self, now_ms: int) -> None:
        """All that was asked is answered: whoever still waits for an answer was forgotten."""
        if self._reporter is not None:
            self._reporter.recover(now_ms)

    def hold_back(self, late_ms: int) -> None:
        """A deadline is over, for so long already, and the driver has yet to see what has arrived:
        until the next `handle_deadline` or `go_on`, one of which is to follow, what comes is taken
        and no time is found to be over. Nothing comes of it. Not required.
        """
        self._holding = True
        self._links.late = late_ms >= AWAY_MS

    def go_on(self, now_ms: int) -> None:
        """What has come has put the deadline off: nothing is held back any more."""
        if self._let_go():
            self._settle(now_ms, judges=True)
        self._links.late = False

    def _let_go(self) -> bool:
        """Nothing is held back any more; whether anything was."""
        owing, self._holding, self._owing = self._owing, False, False
        return owing

    def handle_deadline(self, now_ms: int) -> bool | None:
        """Time has passed. False: there may be actions, and nothing else has changed."""
        self._let_go()
        until = self._closing_until
        if until is not None and until <= now_ms and self._links.late and not self._granted:
            self._granted, self._closing_until = True, now_ms + MOMENT_MS
        self._links.handle_deadline(now_ms)
        self._settle(now_ms, judges=True)
        self._links.late = False
        return None

    # -- out ---------------------------------------------------------------------------------------

    def next_action(self) -> Action | None:
        """The next thing for the driver to do."""
        actions = self._links.actions
        return actions.popleft() if actions else None

    def next_event(self) -> Event | None:
        """The next thing for the application to know."""
        events = self._outbox.events
        return events.popleft() if events else None

    def deadline(self) -> int:
        """When `handle_deadline` is due; NEVER if it is not."""
        if self._closed:
            return NEVER
        first = min(self._links.deadline(), self._refresher.deadline(), self._lookup.deadline())
        if self._reporter is not None:
            first = min(first, self._reporter.deadline())
        return first if self._closing_until is None else min(first, self._closing_until)

    # -- metadata ----------------------------------------------------------------------------------

    def fetch_metadata(
        self,
        topics: Iterable[str] | None,
        now_ms: int,
        timeout_ms: int,
        *,
        may_create: bool = False,
    ) -> int:
        """Look up topics (None: all). Result: {topic: partition numbers}; unknown topics are left
        out. may_create: they are made, if the brokers do that (auto.create.topics.enable).
        """
        operation = self._outbox.begin()
        self._lookup.ask(
            None if topics is None else set(topics),
            now_ms,
            lambda result, error: self._outbox.finish(operation, result, error),
            deadline_ms=now_ms + timeout_ms,
            may_create=may_create,
        )
        self._settle(now_ms)
        return operation

    @property
    def cluster(self) -> ClusterView:
        """What is known of topics and leaders."""
        return self._view

    def address(self, node: int) -> str:
        """Of a node by the number that metrics have; empty: it is not known (now)."""
        links = self._links
        return links.address(node) or links.address(node + COORDINATORS_APART)

    @property
    def connected(self) -> bool:
        """Whether any broker is connected and greeted."""
        return self._links.connected

    @property
    def closed(self) -> bool:
        """Whether all is over."""
        return self._closed

    def broker_api_version(self) -> tuple[int, int] | None:
        """The release that the connected brokers are like; None while none is connected."""
        return release_of(self._links.range_of)

    # -- metrics -----------------------------------------------------------------------------------

    def readings(self, now_ms: int) -> list[Reading]:
        """What the client measures of itself."""
        return [] if self._teller is None else self._teller.tell(now_ms)

    def labels(self) -> dict[str, str]:
        """Attributes that the client's metrics are pushed with, of those that KIP-714 names."""
        return {} if self._teller is None else self._teller.labels()

    def metrics(self, now_ms: int) -> dict[str, Group]:
        """`readings` as clients give them, by group."""
        return by_group(self.readings(now_ms))

    def client_instance_id(self, now_ms: int, timeout_ms: int) -> int:
        """The id that brokers know this client's metrics by (KIP-714). An operation.

        Its error: UnsupportedVersionError: they have no plug-in for telemetry; KafkaTimeoutError.
        IllegalStateError: metrics are not pushed.
        """
        if not self.pushes:
            raise IllegalStateError("enable_metrics_push=False: there is no client instance id")
        operation = self._outbox.begin()
        reporter = self._make_reporter(now_ms) if self._reporter is None else self._reporter
        reporter.tell_id(operation, now_ms + timeout_ms)
        self._settle(now_ms)
        return operation

    def register_metric(
        self,
        group: str,
        name: str,
        read: Callable[[], float],
        tags: tuple[tuple[str, str], ...],
    ) -> None:
        """Push a metric of the application's, too (KIP-1076): see `OwnMetrics`."""
        if self._own_metrics is None:
            from kcore.telemetry.payload import OwnMetrics  # noqa: PLC0415 - few clients need it

            self._own_metrics = OwnMetrics()
        self._own_metrics.add(group, name, tags, read)

    def unregister_metric(self, group: str, name: str, tags: tuple[tuple[str, str], ...]) -> None:
        """Undo `register_metric`; harmless if there is no such metric."""
        if self._own_metrics is not None:
            self._own_metrics.remove(group, name, tags)

    def _measured(self, now_ms: int) -> list[Reading]:
        own = [] if self._own_metrics is None else self._own_metrics.tell()
        return self.readings(now_ms) + own

    def _make_reporter(self, now_ms: int) -> Reporter:
        from kcore.telemetry.reporter import Reporter  # noqa: PLC0415 - few brokers ask for it

        outbox = self._outbox
        self._reporter = Reporter(
            self._links,
            self._rng,
            outbox.emit,
            outbox.finish,
            self._measured,
            self.labels,
            now_ms,
            self.wall_offset_ms,
        )
        return self._reporter

    def _report(self, now_ms: int) -> None:
        """Begin to push when a broker turns up that takes telemetry; go on."""
        reporter, changes = self._reporter, self._links.changes
        if reporter is None and changes != self._looked_for_telemetry:
            self._looked_for_telemetry = changes
            api = ApiKey.GET_TELEMETRY_SUBSCRIPTIONS
            if self._links.nodes_known and self._links.node_serving(api) is not None:
                reporter = self._make_reporter(now_ms)
        if reporter is not None and self._closing_until is None:
            reporter.handle_tick(now_ms)

    # -- between inputs ----------------------------------------------------------------------------

    def _settle(self, now_ms: int, *, judges: bool = False) -> None:
        """Run the answers that came, ask every room in turn, and again for what that brought.

        Rooms judge by the time. A verb that comes long behind a deadline must not have them do so:
        answers may be there that nobody has looked at. What it is about waits for the driver, who
        is to call `handle_deadline` at once (judges).
        """
        links = self._links
        completed = links.completed
        self._seen_changes = links.changes
        if self._holding or (not judges and 0 <= self._due <= now_ms - AWAY_MS):
            self._owing = True
            self._run_answers(now_ms)
            return
        for _ in range(_ROUNDS_MAX):
            self._run_answers(now_ms)
            if self._closed:
                return
            self._turn(now_ms)
            if self.pushes:
                self._report(now_ms)
            if not completed:
                return

    def _run_answers(self, now_ms: int) -> None:
        links = self._links
        completed = links.completed
        while completed:
            call, answer = links.current = completed[0]
            completed.popleft()
            if call.api is ApiKey.METADATA:
                answer = self._judged(answer, now_ms)
            call.done(answer, now_ms)
        links.current = None

    def _judged(self, answer: Answer, now_ms: int) -> Answer:
        """The answer to a Metadata request, if it is of our cluster (`Kinship`)."""
        if self._kinship is None:
            links = self._links
            said: str | None = None if answer.body is None else answer.body.cluster_id
            if not said or said == links.cluster_id or not links.rebootstraps:
                return answer
            if links.cluster_id is None:
                links.cluster_id = said
                return answer
            # Few clients ever meet another cluster.
            from kcore.cluster.kinship import Kinship  # noqa: PLC0415

            self._kinship = Kinship(links, self._outbox.emit, self._refresher.forgive)
        return self._kinship.judge(answer, now_ms)

    def _end(self, now_ms: int) -> None:
        """Everything is closed, but for a last push: the last event."""
        reporter, until_ms = self._reporter, self._closing_until
        if reporter is not None and until_ms is not None and not reporter.ended(now_ms, until_ms):
            return
        self._closed = True
        self._links.close(now_ms)
        self._outbox.emit(Closed())
