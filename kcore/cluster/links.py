"""The links to all nodes: who is connected, who is in backoff, whom to ask. Implements
`connection.calls.Network`.

Rules:
* A node that failed is left alone until its backoff ends; a name's other addresses are tried at
  once first.
* Bootstrap addresses stay usable for ever: when no known broker can be asked, they are (KIP-899,
  without forgetting what is known of the cluster).
* A coordinator has an entry of its own under COORDINATOR_KEY_BASE - node id; it is never the least
  loaded node.
* So has a node's second connection. What would go by that goes by the first if it cannot be made
  (a broker lets in only so many), and nobody is told.
* A node that refuses our credentials or certificate fails what is asked of it with that error, and
  the application is told (ErrorRaised); it is still tried again after its backoff, because a broker
  may learn of a user late.
* Answers are collected in `completed`, never run inside `send`: the owner runs them afterwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from kcore.actions import Action, Connect
from kcore.cluster.config import LinksConfig
from kcore.cluster.nodes import (
    NodeLink,
    Outage,
    best_of,
    feature_level,
    first_idle,
    serving,
    unsent,
)
from kcore.connection.backoff import exponential
from kcore.connection.calls import (
    COORDINATOR_KEY_BASE,
    Answer,
    Build,
    Done,
    Reach,
    Standing,
    StruckError,
    keys_of,
    node_id_of,
)
from kcore.connection.greeting import looks
from kcore.connection.link import Link
from kcore.connection.pending import Call, Completed
from kcore.connection.states import LinkState
from kcore.errors import (
    AuthenticationFailedError,
    DisconnectedError,
    KafkaError,
    UnsupportedVersionError,
)
from kcore.events import (
    ClusterReachable,
    ClusterUnreachable,
    ErrorRaised,
    Event,
    LinkClosed,
    LinkOpened,
)
from kcore.hints import TYPE_CHECKING
from kcore.structs import Node, Rng
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey

if TYPE_CHECKING:
    from kcore.connection.authentication import Authentication
    from kcore.connection.measures import LinkMeasures


class Links:
    """See the module's text."""

    def __init__(
        self,
        config: LinksConfig,
        bootstrap: Iterable[tuple[str, int]],
        rng: Rng,
        emit: Callable[[Event], None],
    ) -> None:
        self.actions: deque[Action] = deque()
        self.completed: Completed = deque()
        self.current: tuple[Call, Answer] | None = None  # of those, the one that is being run
        self.sends = 0  # counts what was asked for
        # Counts what is a reason to refresh metadata: links that failed (M3), or have gone silent.
        self.alarms = 0
        # Counts every link that was greeted or ended: the rooms may have something to do.
        self.changes = 0
        self.measures: LinkMeasures | None = None  # of who measures
        self.late = False  # the driver was away when something was due
        self.cluster_id: str | None = None  # of the cluster that is meant, once it is known
        self._config = config
        self._credentials = config.credentials
        self._rng = rng
        self._emit = emit
        self._nodes: dict[int, NodeLink] = {}
        self._by_number: dict[int, NodeLink] = {}
        self._numbers = 0
        self._outage = Outage()
        self._checked = False  # brokers there look at whom we mean (KIP-1242)
        self._closed = False
        self._bootstrap: list[NodeLink] = []
        self.use_bootstrap(bootstrap, 0)

    def authenticate_as(self, username: str, password: str) -> None:
        """Be this user on connections that are made from now on, if users have passwords there."""
        if self._credentials is not None:
            self._credentials = self._credentials.of(username, password)

    # -- nodes -------------------------------------------------------------------------------------

    def use_bootstrap(self, bootstrap: Iterable[tuple[str, int]], now_ms: int) -> None:
        """Begin at these addresses in place of others; what was asked there already is told so."""
        for entry in self._bootstrap:
            self._end(entry, DisconnectedError("the bootstrap servers are others now"), now_ms)
            del self._nodes[entry.key]
        self._bootstrap = [
            NodeLink(-1 - index, host, port) for index, (host, port) in enumerate(bootstrap)
        ]
        self._nodes |= {entry.key: entry for entry in self._bootstrap}

    def set_nodes(self, nodes: Iterable[Node], now_ms: int) -> None:
        """Take an answer's brokers: new ones appear, moved ones reconnect, gone ones end."""
        wanted = {node.node_id: node for node in nodes}
        for key in [key for key in self._nodes if key >= 0 and node_id_of(key) not in wanted]:
            error = DisconnectedError(f"node {node_id_of(key)} left the cluster")
            self._end(self._nodes.pop(key), error, now_ms)
        for node in wanted.values():
            self._place(node.node_id, node.host, node.port, now_ms)
            for key in keys_of(node.node_id)[1:]:
                if key in self._nodes:
                    self._place(key, node.host, node.port, now_ms)

    def _place(self, key: int, host: str, port: int, now_ms: int) -> None:
        entry = self._nodes.get(key)
        if entry is None:
            self._nodes[key] = NodeLink(key, host, port)
        elif (entry.host, entry.port) != (host, port):
            self._end(
                entry, DisconnectedError(f"node {node_id_of(key)} moved to {host}:{port}"), now_ms
            )
            self._nodes[key] = NodeLink(key, host, port)

    def add_coordinator(self, node_id: int, host: str, port: int) -> int:
        """A connection of its own for the coordinator; the key to ask it under."""
        key = COORDINATOR_KEY_BASE - node_id
        # FindCoordinator is newer news than metadata; an address that differs replaces the entry.
        entry = self._nodes.get(key)
        if entry is None or (entry.host, entry.port) != (host, port):
            self._place(key, host, port, 0 if entry is None else entry.tried_at)
        return key

    def second(self, node_id: int) -> int:
        """See `connection.calls.Network`."""
        key, first = keys_of(node_id)[2], self._nodes[node_id]
        self._nodes.setdefault(key, NodeLink(key, first.host, first.port))
        return key

    def release_bootstrap(self, now_ms: int) -> None:
        """Close bootstrap links that nothing waits on, once real nodes are known; and those of
        which nothing comes: what waits there can be asked of the others.
        """
        over = any(entry.ready for key, entry in self._nodes.items() if key >= 0)
        for entry in self._bootstrap:
            if entry.link is not None and ((over and not entry.load) or entry.silent(now_ms)):
                self._end(entry, DisconnectedError("bootstrap is over"), now_ms)

    # -- what the rooms above ask ------------------------------------------------------------------

    def send(
        self,
        node: int,
        api: ApiKey,
        build: Build,
        done: Done,
        now_ms: int,
        *,
        timeout_ms: int | None = None,
        max_version: int | None = None,
        answered: bool = True,
        standing: Standing | None = None,
    ) -> None:
        """Ask `node`; see `connection.calls.Network`."""
        self.sends += 1
        limit = self._config.link.request_timeout_ms if timeout_ms is None else timeout_ms
        call = Call(
            api, build, done, now_ms, limit, max_version, answered=answered, standing=standing
        )
        entry = self._nodes.get(node)
        if entry is None or self._closed:
            why = f"node {node_id_of(node)} is not known (any more)"
            if self._closed:
                why = "the client is closed"
            self.completed.append((call, Answer(None, DisconnectedError(why), -1, node)))
            return
        if entry.link is None:
            if now_ms < entry.retry_at:
                error = entry.refusal or DisconnectedError(
                    f"{entry.host}:{entry.port} failed lately and is not tried before its "
                    "backoff ends"
                )
                self.completed.append((call, Answer(None, error, -1, node)))
                return
            self._connect(entry, now_ms)
        self._send_on(entry, call, now_ms)

    def _send_on(self, entry: NodeLink, call: Call, now_ms: int) -> None:
        assert entry.link is not None
        entry.link.send(call, now_ms)

    def reach(self, node: int, now_ms: int) -> Reach:
        """Whether a request to `node` can go out."""
        entry = self._nodes.get(node)
        if entry is None:
            return Reach.UNKNOWN
        if entry.link is not None:
            return Reach.READY if entry.link.ready else Reach.CONNECTING
        return Reach.IDLE if now_ms >= entry.retry_at else Reach.BACKOFF

    def address(self, node: int) -> str:
        """Its host:port, as the cluster or the bootstrap says; empty: it is not known (now)."""
        entry = self._nodes.get(node)
        return "" if entry is None else f"{entry.host}:{entry.port}"

    def refusal(self, node: int) -> AuthenticationFailedError | None:
        """Why the node does not let us in now, if so."""
        return None if (entry := self._nodes.get(node)) is None else entry.refusal

    def silent(self, node: int, now_ms: int) -> bool:
        """Whether it is odd how long nothing has come of what the node was asked."""
        entry = self._nodes.get(node)
        return entry is not None and entry.silent(now_ms)

    def retry_at(self, node: int) -> int:
        """When a node in BACKOFF may be tried again."""
        entry = self._nodes.get(node)
        return 0 if entry is None else entry.retry_at

    def version_of(self, node: int, api: ApiKey, max_version: int | None = None) -> int | None:
        """The version `send` would use, None while that is not known."""
        entry = self._nodes.get(node)
        if entry is None or entry.link is None or not entry.link.ready:
            return None
        try:
            return entry.link.version_of(api, max_version)
        except UnsupportedVersionError:
            return None

    @property
    def request_timeout_ms(self) -> int:
        """How long an answer may take."""
        return self._config.link.request_timeout_ms

    def in_flight(self, node: int) -> int:
        """Requests unanswered at `node`."""
        entry = self._nodes.get(node)
        return 0 if entry is None else entry.load

    def drop(
        self, node: int, now_ms: int, fault: KafkaError | None = None, away_ms: int = 0
    ) -> None:
        """Close the node's link: requests fail. fault: its own. away_ms: it is not tried then."""
        entry = self._nodes.get(node)
        if entry is not None:
            if entry.link is not None:
                given_up = DisconnectedError(f"node {node_id_of(node)} was given up")
                entry.link.close(fault or given_up)
                self._forget(entry, now_ms, failed=fault is not None)
            entry.retry_at = max(entry.retry_at, now_ms + away_ms)

    @property
    def rebootstraps(self) -> bool:
        """Whether the bootstrap is asked again when no known broker can be."""
        return self._config.rebootstrap

    def least_loaded(self, now_ms: int) -> int | None:
        """M7: ready and idle, else ready with the fewest requests, else connecting, else
        connectable.

        Real nodes come first; bootstrap addresses when there is none, or none of them can be asked
        now.
        """
        real = self._real()
        best = best_of(real, now_ms, self._rng)
        if (best is None or (not best.ready and best.failures)) and (
            self._config.rebootstrap or not real
        ):
            # Every node worth asking failed lately: the bootstrap addresses are as good a chance.
            second = best_of(self._bootstrap, now_ms, self._rng)
            if best is None or (
                second is not None
                and not second.silent(now_ms)
                and (second.ready or second.tried_at < best.tried_at)
            ):
                best = second
        return None if best is None else best.key

    def beside(self, node: int, now_ms: int, *, opens: bool = False) -> int:
        """Another connection to the node, if something is unanswered by this one: a broker that
        keeps a fetch looks at nothing behind it. One that is there and idle; opens: or its second.
        """
        if not self.in_flight(node):
            return node
        other = first_idle(self._nodes.get(key) for key in keys_of(node)[1:])
        if other is None and opens and node >= 0:
            other = self._nodes[self.second(node)]
        return node if other is None or now_ms < other.retry_at else other.key

    def range_of(self, api: int) -> tuple[int, int] | None:
        """What any connected broker says it serves of an API."""
        for entry in self._nodes.values():
            if entry.link is not None and entry.link.ready:
                return entry.link.range_of(api)
        return None

    @property
    def nodes_known(self) -> bool:
        """Whether any node but the bootstrap is known."""
        return bool(self._real())

    def node_serving(self, api: ApiKey) -> int | None:
        """A connected node that serves an API, by its connection with the fewest requests (it may
        be one to a coordinator, and while no node is known one to the bootstrap). None: there is
        none now.
        """
        if self._config.link.highest.get(api, 0) < 0:
            return None
        known = self.nodes_known
        return serving({k: e for k, e in self._nodes.items() if k >= 0 or not known}, api)

    def feature_level(self, name: str) -> int:
        """See `nodes.feature_level`: of every connected broker."""
        return feature_level(self._nodes.values(), name)

    def next_retry_at(self) -> int:
        """When the first of the nodes that may be asked anything can be tried; 0: now."""
        # Each turn of a driver asks, and nearly always one is there.
        for key, entry in self._nodes.items():
            if entry.link is not None and 0 <= key == node_id_of(key):
                return 0
        entries = self._candidates()
        if self._config.rebootstrap and entries is not self._bootstrap:
            entries += self._bootstrap
        return min(entry.retry_at if entry.link is None else 0 for entry in entries)

    @property
    def connected(self) -> bool:
        """Whether any link is greeted."""
        return any(entry.ready for entry in self._nodes.values())

    # -- the world ---------------------------------------------------------------------------------

    def _connect(self, entry: NodeLink, now_ms: int) -> None:
        self._numbers += 1
        config = self._config
        setup_ms = exponential(
            entry.setups, config.setup_timeout_ms, config.setup_timeout_max_ms, self._rng
        )
        entry.link = Link(
            self._numbers,
            entry.key,
            (entry.host, entry.port),
            config.link,
            now_ms + entry.limited(setup_ms),
            now_ms,
            self.completed,
            self.actions,
            self._authentication(),
            entry.meant(self.cluster_id if self._checked else None),
        )
        entry.link.measures = self.measures
        entry.tried_at = now_ms
        self._by_number[self._numbers] = entry
        self.actions.append(Connect(self._numbers, entry.host, entry.port, entry.address_index))

    def _authentication(self) -> Authentication | None:
        if self._credentials is None:
            return None
        from kcore.connection.authentication import Authentication  # noqa: PLC0415 - for SASL only

        return Authentication(self._credentials, self._rng)

    def tell(self, link: int, tell: Callable[[Link], None], now_ms: int) -> None:
        """Tell a link what the driver did or found out for it, if it is still there."""
        entry = self._by_number.get(link)
        if entry is not None and entry.link is not None:
            tell(entry.link)
            self._look(entry, now_ms)

    def handle_connected(self, link: int, now_ms: int) -> None:
        """The driver opened a link."""
        self.tell(link, lambda one: one.handle_connected(now_ms), now_ms)

    def receive_buffer(self, link: int) -> memoryview:
        """Lend the place for the next bytes of a link; LookupError if it is not ours (any more)."""
        entry = self._by_number[link]
        assert entry.link is not None
        return entry.link.receive_buffer()

    def receive_advance(self, link: int, size: int, now_ms: int) -> int:
        """End the loan with `size` bytes written; how many are missing for anything to come of
        them, below 0 if only actions have.
        """
        entry = self._by_number.get(link)
        if entry is None or entry.link is None:
            return 0
        missing = entry.link.receive_advance(size, now_ms)
        if not missing and (not entry.proven or entry.link.ended):
            self._look(entry, now_ms)
        return missing

    def handle_data(self, link: int, data: bytes, now_ms: int) -> None:
        """Bytes of a link that were received elsewhere."""
        self.tell(link, lambda one: one.handle_data(data, now_ms), now_ms)

    def handle_closed(
        self,
        link: int,
        why: str,
        now_ms: int,
        *,
        more_addresses: bool,
        untrusted: bool = False,
        by_proxy: bool = False,
    ) -> None:
        """The driver lost a link or could not open it; see `ClusterClient.handle_closed`."""
        entry = self._by_number.get(link)
        if entry is None or entry.link is None:
            return
        if entry.greeted or untrusted or not more_addresses:
            if entry.greeted or (entry.link.state is LinkState.CONNECTING and not untrusted):
                entry.address_index = -1  # before the first, for which the name is looked up
            entry.link.handle_closed(why, untrusted=untrusted, by_proxy=by_proxy)
            self._look(entry, now_ms)
            return
        # Another address of the same name: tried at once, and what waits goes along.
        waiting = entry.link.take_waiting()
        entry.link.handle_closed(why, by_proxy=by_proxy)
        self._by_number.pop(link)
        entry.link = None
        entry.address_index += 1
        self._connect(entry, now_ms)
        for call in waiting:
            self._send_on(entry, call, now_ms)

    def interrupt(self, now_ms: int) -> None:
        """End every link; they are made again when they are needed. Whoever was just being answered
        is told so, too. A call is put where it belongs next before it is taken from where it was:
        one that was struck in between is in both places, and is answered once.
        """
        if self.current is not None:
            call, answer = self.current
            error = StruckError("interrupted")
            self.completed.appendleft((call, Answer(None, error, -1, answer.node)))
        for entry in list(self._nodes.values()):
            self._end(entry, StruckError("interrupted"), now_ms)
        answers: dict[Call, Answer] = {}
        for call, answer in self.completed:
            answers.setdefault(call, answer)
        self.completed.clear()
        self.completed.extend(answers.items())

    def handle_deadline(self, now_ms: int) -> None:
        """Fire what is due on the links; close the idle ones."""
        idle_ms = self._config.connections_max_idle_ms
        for entry in list(self._nodes.values()):
            link = entry.link
            if link is None:
                continue
            if now_ms >= entry.silent_at(entry.asked_about_at):
                self._doubt(entry, now_ms)
            if now_ms >= link.deadline():
                connecting = not link.ready
                link.handle_deadline(now_ms, late=self.late)
                entry.setups += link.ended and connecting
                self._look(entry, now_ms)
            elif link.load == 0 and now_ms >= link.last_used_at + idle_ms:
                self._end(entry, DisconnectedError("idle for too long"), now_ms)

    def deadline(self) -> int:
        """When `handle_deadline` is due."""
        first = NEVER
        for entry in self._nodes.values():
            link = entry.link
            if link is not None:
                first = min(first, link.deadline())
                if link.load == 0:
                    first = min(first, link.last_used_at + self._config.connections_max_idle_ms)
                else:
                    first = min(first, entry.silent_at(entry.asked_about_at))
        return first

    def close(self, now_ms: int) -> None:
        """End every link; what is asked later fails."""
        self._closed = True
        for entry in list(self._nodes.values()):
            self._end(entry, DisconnectedError("the client is closed"), now_ms)

    # -- how it goes -------------------------------------------------------------------------------

    def _look(self, entry: NodeLink, now_ms: int) -> None:
        """Note what became of the entry's link after an input."""
        link, config = entry.link, self._config
        assert link is not None
        if link.ended:
            entry.address_index += entry.address_index < 0 or not entry.greeted  # others may greet
            self._forget(entry, now_ms, failed=True)
            return
        if link.ready and not entry.greeted:
            entry.greeted = True
            entry.refusal = None
            span = link.range_of(ApiKey.API_VERSIONS)
            self._checked |= config.check and looks(span, config.link)
            self.changes += 1
            if self.measures is not None:
                self.measures.opened(now_ms)
            self._emit(LinkOpened(node_id_of(entry.key), entry.host, entry.port))
        if link.answered and not entry.proven:
            # Only now is it a broker that works: one that greets and then talks nonsense stays in
            # backoff, and an outage that it is part of goes on.
            entry.proven = True
            entry.failures = entry.setups = entry.retry_at = 0
            outage, self._outage = self._outage, Outage()
            if outage.since is not None:
                self._emit(ClusterReachable(now_ms - outage.since, outage.attempts))

    def _doubt(self, entry: NodeLink, now_ms: int) -> None:
        """A broker that stands still keeps its connections, and whoever asked it waits for as long
        as a request may take. The others put it out of the cluster sooner (`set_nodes` ends its
        links then): have them asked, if there are any.
        """
        entry.asked_about_at = now_ms
        other = self.least_loaded(now_ms)
        if other is not None and not self.silent(other, now_ms):
            self.alarms += 1

    def _end(self, entry: NodeLink, error: KafkaError, now_ms: int) -> None:
        """Close an entry's link for a reason of our own: no failure of the node."""
        if entry.link is not None:
            entry.link.close(error)
            self._forget(entry, now_ms, failed=False)

    def _forget(self, entry: NodeLink, now_ms: int, *, failed: bool) -> None:
        link = entry.link
        assert link is not None
        self._by_number.pop(link.number, None)
        opened = entry.greeted or not failed
        if entry.greeted and self.measures is not None:
            self.measures.closed(now_ms)
        entry.link = None
        entry.greeted = entry.proven = False
        self.changes += 1
        if not opened and entry.second and self._do_without(entry, now_ms):
            return
        error = link.error or DisconnectedError("closed")
        self._emit(LinkClosed(node_id_of(entry.key), entry.host, entry.port, error, opened))
        if not failed:
            return
        self.alarms += 1
        entry.refusal = error if isinstance(error, AuthenticationFailedError) else None
        if entry.refusal is not None:
            self._emit(ErrorRaised(error))
        config = self._config
        entry.retry_at = now_ms + exponential(
            entry.failures, config.reconnect_backoff_ms, config.reconnect_backoff_max_ms, self._rng
        )
        entry.failures += 1
        self._note_failure(error, now_ms)

    def _do_without(self, entry: NodeLink, now_ms: int) -> bool:
        """A second connection cannot be made: the first one, if that is there, does for a while."""
        first = self._nodes.get(node_id_of(entry.key))
        if first is None or not first.ready:
            return False
        entry.leave_alone(now_ms, self._rng)
        for taken in unsent(self.completed, entry.key):
            self._send_on(first, taken[0], now_ms)
            self.completed.remove(taken)  # behind it: see `interrupt`
        return True

    def _note_failure(self, error: KafkaError, now_ms: int) -> None:
        outage = self._outage
        outage.attempts += 1
        if outage.since is not None or self.connected:
            return
        if all(entry.failures for entry in self._candidates()):
            outage.since = now_ms
            self._emit(ClusterUnreachable(error))

    def _real(self) -> list[NodeLink]:
        """The brokers of the cluster: neither bootstrap addresses nor coordinators."""
        return [one for key, one in self._nodes.items() if 0 <= key == node_id_of(key)]

    def _candidates(self) -> list[NodeLink]:
        """The nodes that would have to fail before the cluster counts as gone."""
        return self._real() or self._bootstrap
