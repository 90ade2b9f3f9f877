"""`AdminCore`: the sans-IO admin client. It composes links and questions, and holds no rule of its
own.

World in and out: `kcore.cluster.client.ClientCore`, docs/BOUNDARY.md. Application in: `begin`, with
one of the procedures of the modules beside this one; `cancel`; `close`. An operation ends in
OperationCompleted.

A procedure is a generator: it yields questions that may be asked side by side, gets how they ended,
and returns the operation's result, or raises its error.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from kcore.admin.asking import Ask, Asking, Outcome
from kcore.admin.config import AdminConfig
from kcore.admin.controllers import find_controller, for_controllers
from kcore.admin.measures import AdminMeasures
from kcore.admin.places import Places
from kcore.cluster.client import ClientCore
from kcore.errors import DisconnectedError, IllegalStateError, KafkaError
from kcore.structs import Rng
from kcore.timers import NEVER

CLOSED = "the admin client is closed"

# Steps of a procedure in one turn: what has no end goes on in the next.
_ROUNDS_MAX = 64

T = TypeVar("T")
Procedure = Generator[list[Ask], list[Outcome], T]


class _Operation:
    """A procedure on its way. over: it has ended, with `result` or `error`."""

    def __init__(self, procedure: Procedure[Any], places: Places) -> None:
        self.over = False
        self.result: Any = None
        self.error: KafkaError | None = None
        self._procedure = procedure
        self._places = places
        self._askings: list[Asking] = []
        self._begun = False
        self._due_at = 0
        self._stranded = False

    def is_due(self, now_ms: int) -> bool:
        """Whether `handle_tick` has something to do: no answer to another operation is any of its
        business, but where it is brokers that are missing.
        """
        return self._places.stirred or self._stranded or now_ms >= self._due_at

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        return self._next() if self._stranded else self._due_at

    def _next(self) -> int:
        first = min((asking.deadline() for asking in self._askings), default=NEVER)
        return min(first, self._places.deadline())

    def abandon(self) -> None:
        """Nobody waits for it, and it may be in the middle of anything."""
        self._places.abandoned = True

    def handle_tick(self, now_ms: int) -> None:
        """Go on as far as that is possible now."""
        places = self._places
        places.stirred = False
        places.limit.expired(now_ms, away=places.network.late)
        self._step(now_ms)
        if not self.over:
            self._stranded = places.is_stranded() or any(one.stranded for one in self._askings)
            self._due_at = self._next()

    def _step(self, now_ms: int) -> None:
        if not self._begun:
            self._begun = True
            self._go_on(None)
        for _ in range(_ROUNDS_MAX):
            for asking in self._askings:
                asking.handle_tick(now_ms)
            found = self._places.handle_tick(now_ms)
            if all(asking.over for asking in self._askings) and not self.over:
                self._go_on([asking.outcome for asking in self._askings])
                found = True
            if self.over or not found:
                return

    def _go_on(self, outcomes: list[Outcome] | None) -> None:
        try:
            asks = self._procedure.send(outcomes)  # type: ignore[arg-type]
        except StopIteration as end:
            self.over, self.result = True, end.value
        except KafkaError as error:
            self.over, self.error = True, error
        else:
            self._ask(asks, outcomes or [])

    def _ask(self, asks: list[Ask], outcomes: list[Outcome]) -> None:
        places = self._places
        if places.controllers:
            try:
                asks = [for_controllers(ask) for ask in asks]
            except KafkaError as error:
                self._procedure.close()
                # Where it was to stand in for what has failed, that is the reason.
                failed = [next(iter(one.failed.values())) for one in outcomes if one.failed]
                self.over, self.error = True, failed[0] if failed else error
                return
        self._askings = []
        for ask in asks:
            before = [asking.outcome for asking in self._askings]
            self._askings.append(Asking(ask, places, before))


class AdminCore(ClientCore):
    """See the module's text. `now_ms` is a monotonic clock of the caller's; it never runs back.

    wall_ms: Unix time, when it is `now_ms`; metrics that are pushed have no times without it.
    of_controllers: they are asked in place of brokers.
    """

    def __init__(
        self, config: AdminConfig, rng: Rng, now_ms: int, *, wall_ms: int | None = None
    ) -> None:
        super().__init__(config.links(), config.refresh(), config.bootstrap_servers, rng)
        self.of_controllers = config.bootstrap_controllers is not None
        self.pushes = config.enable_metrics_push
        self.wall_offset_ms = None if wall_ms is None else wall_ms - now_ms
        measures = self._teller = AdminMeasures(now_ms)
        self._links.measures = measures.links
        self.config = config
        self._rng = rng
        self._operations: dict[int, _Operation] = {}
        self._settle(now_ms)

    # -- time --------------------------------------------------------------------------------------

    def deadline(self) -> int:
        """When `handle_deadline` is due; NEVER if it is not."""
        self._due = first = self._first_due()  # for `_settle`; what is struck may change it
        return first

    def _first_due(self) -> int:
        if self._closed:
            return NEVER
        # Nobody reads what a refresh of metadata brings: operations look up what they need.
        first = min(self._links.deadline(), self._lookup.deadline())
        for operation in self._operations.values():
            first = min(first, operation.deadline())
        if self._reporter is not None:
            first = min(first, self._reporter.deadline())
        return first if self._closing_until is None else min(first, self._closing_until)

    def _turn(self, now_ms: int) -> None:
        self._due = -1
        self._lookup.handle_tick(now_ms)
        due = [one for one in self._operations.items() if one[1].is_due(now_ms)]
        for number, operation in due:
            operation.handle_tick(now_ms)
            if operation.over:
                del self._operations[number]
                self._outbox.finish(number, operation.result, operation.error)
        if self._closing_until is not None:
            self._end(now_ms)

    def handle_interrupted(self, now_ms: int) -> None:
        """As all cores. Whoever waited for an operation is who was struck: nothing is asked again,
        and what was asked may be carried out.
        """
        self._fail_all(DisconnectedError("interrupted"))
        super().handle_interrupted(now_ms)

    # -- operations --------------------------------------------------------------------------------

    def begin(self, procedure: Procedure[Any], now_ms: int, timeout_ms: int) -> int:
        """Begin an operation; it ends within `timeout_ms`. IllegalStateError: closed."""
        if self._closed or self._closing_until is not None:
            raise IllegalStateError(CLOSED)
        number = self._outbox.begin()
        places = Places(
            self._links,
            self.config.refresh(),
            self._rng,
            now_ms + timeout_ms,
            timeout_ms,
            controllers=self.of_controllers,
        )
        self._operations[number] = _Operation(procedure, places)
        self._settle(now_ms)
        return number

    def find_anybody(self, now_ms: int, timeout_ms: int) -> int:
        """Begin the operation of who wants to know whether anybody answers."""
        if self.of_controllers:
            return self.begin(find_controller(), now_ms, timeout_ms)
        return self.fetch_metadata((), now_ms, timeout_ms)

    def cancel(self, operation: int) -> None:
        """Ask nothing more for an operation, and do not tell of its end. What was asked already is
        carried out, or not.
        """
        found = self._operations.pop(operation, None)
        if found is not None:
            found.abandon()

    def close(self, now_ms: int, timeout_ms: int = 0) -> None:
        """Give up what is under way, push metrics for the last time if that is wanted, end all
        links; ends in Closed, within `timeout_ms`.
        """
        if self._closed:
            return
        self._fail_all(IllegalStateError(CLOSED))
        self._closing_until = now_ms + timeout_ms
        self._settle(now_ms)

    def _fail_all(self, error: KafkaError) -> None:
        operations, self._operations = self._operations, {}
        for number, operation in operations.items():
            operation.abandon()
            self._outbox.finish(number, None, error)
