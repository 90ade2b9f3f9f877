"""Who operates the cluster: an admin client, asked for one thing after another.

What it has asked is given up with its connection, so that nothing of it comes behind what it was
told of its end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kcore.admin.config import AdminConfig
from kcore.admin.core import AdminCore
from kcore.errors import KafkaError
from kcore.events import Closed, Event, OperationCompleted
from kcore.sim.clock import Clock
from kcore.sim.peers import Peer
from kcore.sim.violations import Rule, ViolationError

if TYPE_CHECKING:
    from kcore.admin.core import Procedure
    from kcore.sim.chance import Chance
    from kcore.sim.stage import Stage

OPERATOR: Final = "operator"

# How long an operation may take, and what comes on top of that by any clock.
OPERATION_MS: Final = 8_000
_SLACK_MS: Final = 500

# What it does when it has the result, or the error.
Then = Callable[[Any, KafkaError | None], None]


class Operator(Peer):
    """An admin client, and somebody who waits for what it says."""

    core: AdminCore

    def __init__(self, stage: Stage, bootstrap: tuple[str, ...], chance: Chance) -> None:
        super().__init__(stage, OPERATOR, Clock())
        options = {
            "bootstrap_servers": list(bootstrap),
            "client_id": OPERATOR,
            "request_timeout_ms": stage.plan.request_timeout_ms,
            "default_api_timeout_ms": OPERATION_MS,
        }
        self.core = AdminCore(AdminConfig.from_options(options), chance, self.local_ms)
        self._waiting: dict[int, Then] = {}
        self._closing = False

    def ask(self, procedure: Procedure[Any], then: Then) -> None:
        """Have something done."""
        number = self.core.begin(procedure, self.local_ms, OPERATION_MS)
        self._waiting[number] = then
        self.stage.at(self.stage.now() + OPERATION_MS + _SLACK_MS, self._judge_over, number)
        self.drain()

    def _judge_over(self, number: int) -> None:
        if number in self._waiting:
            raise ViolationError(
                Rule.OPERATED, f"{self.name} waits for operation {number} for {OPERATION_MS} ms"
            )

    def follow(self, event: Event) -> None:
        """An operation is over."""
        if isinstance(event, OperationCompleted):
            then = self._waiting.pop(event.operation)
            self.stage.trace.note(self.name, "is told", event.error or "that it is done")
            if not self._closing:
                then(event.result, event.error)
        elif isinstance(event, Closed):
            self.ended = True
        else:
            self.stage.trace.note(self.name, type(event).__name__)

    def close(self) -> None:
        """Nothing more is to be done."""
        self._closing = True
        self.core.close(self.local_ms)
        self.drain()
