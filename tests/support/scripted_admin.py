"""A scripted cluster that takes what admin clients ask, of every API and version: it agrees to all
of it, unless a test says what goes wrong. See scripted.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

from scripted import Client, ScriptedCluster, World

from kcore.admin.config import AdminConfig
from kcore.admin.core import AdminCore, Procedure
from kcore.broker.refusals import refusal
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode


class AdminCluster(ScriptedCluster):
    """coordinators: {group: node}, 1 of those that are not named. controller: the node's number."""

    def __init__(self, topics: dict[str, int], nodes: int = 3) -> None:
        super().__init__(topics, nodes)
        self.apis = {key: (api.min_version, api.max_version) for key, api in API_TABLE.items()}
        self.coordinators: dict[str, int] = {}
        self.controller = 1

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.removeprefix("_").upper() not in ApiKey.__members__:
            raise AttributeError(name)
        return partial(self._agree, ErrorCode.NONE)

    @staticmethod
    def _agree(code: ErrorCode, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        reply(refusal(request.message, request.api_version, code))

    def _metadata(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        def take(answer: Any) -> None:
            answer.controller_id = self.controller
            answer.brokers = [one for one in answer.brokers if one.node_id not in self.down]
            reply(answer)

        super()._metadata(node, request, take)

    def _find_coordinator(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        R = m.FindCoordinatorResponse
        if request.api_version < 4:
            host, port = self.nodes[self.coordinators.get(request.message.key, 1)]
            number = self.coordinators.get(request.message.key, 1)
            reply(R(node_id=number, host=host, port=port))
            return
        found = []
        for key in request.message.coordinator_keys:
            number = self.coordinators.get(key, 1)
            host, port = self.nodes[number]
            found.append(R.Coordinator(key=key, node_id=number, host=host, port=port))
        reply(R(coordinators=found))

    def _list_offsets(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        self._agree(ErrorCode.NONE, node, request, reply)

    _offset_commit = _offset_fetch = _leave_group = _list_offsets

    def first(self, api: ApiKey, *answers: Any) -> None:
        """The first requests of an API get these: an error code, or what `script` may give."""
        left = list(answers)

        def script(_node: int, request: Any) -> Any:
            answer = left.pop(0) if left else None
            if isinstance(answer, ErrorCode):
                return refusal(request.message, request.api_version, answer)
            return answer

        self.script[api] = script

    def always(self, api: ApiKey, code: ErrorCode) -> None:
        """All requests of an API get this error."""
        self.script[api] = lambda _node, request: refusal(
            request.message, request.api_version, code
        )

    def who_was_asked(self, api: ApiKey) -> list[int]:
        return [node for node, asked, _ in self.asked if asked is api]


class AdminClient(Client):
    """An admin client's core in the world."""

    def __init__(self, world: World, options: dict[str, Any]) -> None:
        self.world = world
        servers = [f"{h}:{p}" for h, p in world.cluster.nodes.values()]
        config = AdminConfig.from_options({"bootstrap_servers": servers, **options})
        self.core: Any = AdminCore(config, random.Random(world.seed), world.now)
        self.links, self.readers, self.slots = {}, {}, {}
        self.events = []
        self.drain()

    def begin(self, procedure: Procedure[Any], timeout_ms: int = 60_000) -> int:
        number: int = self.core.begin(procedure, self.world.now, timeout_ms)
        self.drain()
        return number

    def run(self, procedure: Procedure[Any], timeout_ms: int = 60_000) -> Any:
        """Do it in the world: its result, or its error raised; in its time."""
        until = self.world.now + timeout_ms
        number = self.begin(procedure, timeout_ms)
        try:
            return self.result(number, timeout_ms + 100)
        finally:
            assert self.world.now <= until + 50


def admin_world(
    nodes: int = 3, topics: dict[str, int] | None = None, seed: int = 1, **options: Any
) -> tuple[World, AdminCluster, AdminClient]:
    cluster = AdminCluster({"t": 3} if topics is None else topics, nodes)
    world = World(cluster, seed)
    client = AdminClient(world, options)
    world.clients.append(client)
    return world, cluster, client
