"""What consumers of every kind tell of themselves: none of it waits for anything."""

from __future__ import annotations

from collections.abc import Callable

from kcore.clients import arguments
from kcore.clients.engine import Engine
from kcore.clients.opening import nobody_answered
from kcore.errors import NoBrokersAvailable
from kcore.hints import TYPE_CHECKING, Any, NoReturn, TypeVar
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.events import Event

T = TypeVar("T")


class Looking:
    """The part of a consumer that looks at it. The attributes are its own.

    config: every option by its name; `api_version` is the release found.
    """

    config: dict[str, object]
    _settings: Any
    _engine: Engine

    @property
    def buffered_bytes(self) -> int:
        """Memory of fetched answers that are not wholly handed over (a `Consumer` bounds it by
        `max_buffered_bytes`).
        """
        return int(steady(lambda: self._engine.core.buffered_bytes))

    def health(self) -> dict[TopicPartition, str]:
        """Why records of each assigned partition come or do not, in a few words."""
        return steady(self._engine.core.health)

    def observe(self, observer: Callable[[Event], object] | None) -> None:
        """Have `observer` called with every event of the core (see kcore.events); None: no more.

        It runs in whichever thread drives the consumer, must be quick, and must not call it.
        """
        self._engine.observer = observer

    def __reduce__(self) -> NoReturn:
        kind = type(self).__name__
        raise TypeError(
            f"a {kind} cannot be pickled: it holds connections; pickle its options instead"
        )

    def _note_release(self) -> None:
        release = self._engine.core.broker_api_version()
        if release is not None and self._settings.api_version is None:
            self.config["api_version"] = release

    def _nobody_answered(self, timeout_ms: float) -> NoBrokersAvailable:
        servers, attempts = self._settings.bootstrap_servers, self._engine.reporter.attempts
        return nobody_answered(servers, attempts, timeout_ms)

    def _limit(self, timeout_ms: float | None) -> float:
        return arguments.timeout(timeout_ms, self._settings.default_api_timeout_ms)


def steady(read: Callable[[], T]) -> T:
    """Read a collection of the core's without the lock; again if it changes under our hands."""
    while True:
        try:
            return read()
        except RuntimeError as error:
            if "changed size" not in str(error):
                raise
