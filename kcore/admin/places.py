"""Where questions go: the nodes behind controller, brokers, groups and partitions, looked up for
one operation.

Nothing is kept from one operation to the next: an administrator asks now and then, mostly behind a
change, and what was true before it is what leads astray. Within one, each place is looked up once,
and again when its node is gone or says that it is not its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcore.admin.asking import Ask, Asking, Reply, Route
from kcore.admin.controllers import ACTIVE, ask_controllers
from kcore.cluster.links import Links
from kcore.cluster.refresh import RefreshConfig, metadata_request
from kcore.connection.backoff import exponential
from kcore.errors import KafkaError
from kcore.structs import Node, Rng, TopicPartition
from kcore.timers import NEVER, Bounded
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import FindCoordinatorRequest

# FindCoordinator's types of keys, of those who are looked for by it.
_KINDS = {Route.COORDINATOR: 0, Route.TRANSACTIONS: 1}
_BATCH_VERSION = 4  # keys are asked in a list from here on (KIP-699)
_MAX_PORT = 65_535

_Place = tuple[Route, Any]


class Places:
    """See the module's text. network: all links. timeout_ms: what the operation was given; limit:
    until when that is. controllers: they are asked, and not brokers. abandoned: nobody waits for
    the operation, and answers that still come are passed over. stirred: one has come that it has
    yet to look at.
    """

    def __init__(
        self,
        network: Links,
        config: RefreshConfig,
        rng: Rng,
        deadline_ms: int,
        timeout_ms: float,
        *,
        controllers: bool = False,
    ) -> None:
        self.network = network
        self.controllers = controllers
        self.timeout_ms = timeout_ms
        self.abandoned = False
        self.stirred = True
        self._config = config
        self._rng = rng
        self.limit = Bounded(deadline_ms)
        self._nodes: dict[_Place, int] = {}
        self._wanted: dict[_Place, None] = {}
        self._sought: dict[_Place, Asking] = {}
        self._refused: dict[_Place, KafkaError] = {}

    def backoff(self, attempts: int) -> int:
        """How long to wait (ms) after so many attempts that failed."""
        config = self._config
        return exponential(
            attempts, config.retry_backoff_ms, config.retry_backoff_max_ms, self._rng
        )

    # -- what questions want to know ---------------------------------------------------------------

    def find(self, route: Route, what: Any) -> int | None:
        """The key of the node to ask; None: it is being looked up."""
        place = _place(route, what)
        node = self._nodes.get(place)
        if node is None and place not in self._sought:
            self._wanted[place] = None
        return node

    def is_sought(self, route: Route, what: Any) -> bool:
        """Whether it is being looked up."""
        place = _place(route, what)
        return place in self._sought or place in self._wanted

    def take_refusal(self, route: Route, what: Any) -> KafkaError | None:
        """Why it cannot be found, once: the next question looks again."""
        return self._refused.pop(_place(route, what), None)

    def why(self, route: Route, what: Any) -> KafkaError | None:
        """Why it was not found until now, if that is known."""
        place = _place(route, what)
        asking = self._sought.get(place)
        return self._refused.get(place) if asking is None else asking.why(place[1])

    def forget(self, route: Route, what: Any) -> None:
        """It is to be looked up anew."""
        self._nodes.pop(_place(route, what), None)

    def learn(self, api: ApiKey, body: Any, now_ms: int) -> None:
        """Take what an answer says of brokers, whoever asked for what."""
        if api is ApiKey.DESCRIBE_CLUSTER and self.controllers:
            self._take(body, now_ms)
        if api is not ApiKey.METADATA:
            return
        if body.error_code == ErrorCode.REBOOTSTRAP_REQUIRED:
            self.network.set_nodes([], now_ms)  # only the bootstrap is left (KIP-1102)
        self._take(body, now_ms)

    def _take(self, body: Any, now_ms: int) -> None:
        nodes = [
            Node(_number(broker), broker.host, broker.port, broker.rack)
            for broker in body.brokers
            if _is_usable(broker)
        ]
        if nodes:
            self.network.set_nodes(nodes, now_ms)
            self.network.release_bootstrap(now_ms)
            known = {node.node_id for node in nodes}
            for place in [place for place in self._nodes if place[0] is Route.BROKER]:
                del self._nodes[place]
            self._nodes |= {(Route.BROKER, node_id): node_id for node_id in known}
            if body.controller_id in known:
                self._nodes[Route.CONTROLLER, None] = body.controller_id

    # -- looking up --------------------------------------------------------------------------------

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        if self._wanted:
            return 0
        return min((asking.deadline() for asking in self._sought.values()), default=NEVER)

    def is_stranded(self) -> bool:
        """Whether something is looked up, and nobody can be asked now."""
        return any(asking.stranded for asking in self._sought.values())

    def handle_tick(self, now_ms: int) -> bool:
        """Look up what is wanted; True: something was found, or cannot be."""
        wanted, self._wanted = self._wanted, {}
        for route in dict.fromkeys(route for route, _ in wanted):
            places = [place for place in wanted if place[0] is route]
            lookup = ask_controllers if self.controllers else _lookup
            asking = Asking(lookup(route, [what for _, what in places]), self)
            self._sought |= dict.fromkeys(places, asking)
        found = False
        for asking in dict.fromkeys(self._sought.values()):
            asking.handle_tick(now_ms)
            found |= self._note(asking)
        return found

    def _note(self, asking: Asking) -> bool:
        """Take what was found, or cannot be, whatever else the question still looks for."""
        done, failed = asking.outcome.done, asking.outcome.failed
        mine = [place for place, by in self._sought.items() if by is asking]
        ended = [place for place in mine if place[1] in done or place[1] in failed]
        for place in ended:
            del self._sought[place]
            route, what = place
            if what in failed:
                self._refused[place] = failed[what]
                continue
            found = done[what]
            if route in _KINDS:
                found = self.network.add_coordinator(*found)
            self._nodes[place] = found
        return bool(ended)


def _place(route: Route, what: Any) -> _Place:
    if route is Route.CONTROLLER or what is ACTIVE:
        return Route.CONTROLLER, None
    return route, what


def _number(broker: Any) -> int:
    number: int = broker.broker_id if hasattr(broker, "broker_id") else broker.node_id
    return number


def _is_usable(broker: Any) -> bool:
    return bool(_number(broker) >= 0 and broker.host and 0 < broker.port <= _MAX_PORT)


def ask_coordinators(keys: list[str], kind: int) -> Ask:
    """Who coordinates these groups, or transactional ids (kind 1)? Values: id, host, port."""

    def build(keys: list[str], version: int, _limit_ms: int) -> FindCoordinatorRequest:
        if version >= _BATCH_VERSION:
            return FindCoordinatorRequest(key_type=kind, coordinator_keys=keys)
        return FindCoordinatorRequest(key=keys[0], key_type=kind)

    return Ask(
        ApiKey.FIND_COORDINATOR,
        tuple(keys),
        f"finding the coordinator of {'transactional id' if kind else 'group'}",
        build,
        _read_find,
        most=lambda version: None if version >= _BATCH_VERSION else 1,
    )


def ask_leaders(partitions: Iterable[TopicPartition]) -> Ask:
    """Who leads these partitions? Values: numbers of nodes. UnknownTopicOrPartitionError."""
    keys = tuple(partitions)
    return Ask(ApiKey.METADATA, keys, "finding the leader of", _build_leaders, _read_leaders)


def _lookup(route: Route, keys: list[Any]) -> Ask:
    if route in _KINDS:
        return ask_coordinators(keys, _KINDS[route])
    if route is Route.LEADER:
        return ask_leaders(keys)
    what = "finding broker" if route is Route.BROKER else "finding the controller"
    read = _read_brokers if route is Route.BROKER else _read_controller
    name = str if route is Route.BROKER else _nameless
    return Ask(ApiKey.METADATA, tuple(keys), what, _build_brokers, read, name=name)


def _nameless(_key: Any) -> str:
    return "of the cluster"


def _read_find(body: Any, version: int, groups: list[str]) -> Iterable[Reply]:
    rows = [(groups[0], body)]
    if version >= _BATCH_VERSION:
        rows = [(row.key, row) for row in body.coordinators]
    for group, row in rows:
        if row.error_code:
            yield Reply(group, row.error_code, words=row.error_message)
        elif _is_usable(row):
            yield Reply(group, 0, (row.node_id, row.host, row.port))


def _build_leaders(keys: list[TopicPartition], version: int, _limit_ms: int) -> Any:
    return metadata_request({tp.topic for tp in keys}, version, allow_auto_create=False)


def _read_leaders(body: Any, _version: int, keys: list[TopicPartition]) -> Iterable[Reply]:
    codes = {topic.name: topic.error_code for topic in body.topics}
    counts = {topic.name: len(topic.partitions) for topic in body.topics}
    leaders = {
        (topic.name, part.partition_index): part.leader_id
        for topic in body.topics
        for part in topic.partitions
    }
    known = {broker.node_id for broker in body.brokers}
    for tp in keys:
        code = body.error_code or codes.get(tp.topic, 0)
        leader = leaders.get(tp)
        if code:
            yield Reply(tp, code)
        elif leader is None:
            count = counts.get(tp.topic, 0)
            words = f"{tp.topic} has partitions 0 to {count - 1}" if count else None
            yield Reply(tp, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, words=words)
        elif leader not in known:
            yield Reply(tp, ErrorCode.LEADER_NOT_AVAILABLE, words="no leader is elected")
        else:
            yield Reply(tp, 0, leader)


def _build_brokers(_keys: list[Any], version: int, _limit_ms: int) -> Any:
    return metadata_request(set(), version, allow_auto_create=False)


def _read_brokers(body: Any, _version: int, keys: list[int]) -> Iterable[Reply]:
    known = sorted(broker.node_id for broker in body.brokers)
    for node_id in keys:
        if body.error_code:
            yield Reply(node_id, body.error_code)
        elif node_id in known:
            yield Reply(node_id, 0, node_id)
        elif known:
            words = f"the cluster has brokers {', '.join(map(str, known))}"
            yield Reply(node_id, ErrorCode.BROKER_NOT_AVAILABLE, words=words)


def _read_controller(body: Any, _version: int, _keys: list[None]) -> Iterable[Reply]:
    known = {broker.node_id for broker in body.brokers}
    if body.error_code:
        yield Reply(None, body.error_code)
    elif body.controller_id in known:
        yield Reply(None, 0, body.controller_id)
    else:
        yield Reply(None, ErrorCode.NOT_CONTROLLER, words="the cluster names none now")
