"""Our producer as the one that stands in needs it: nothing is waited for, neither when it is made
nor when a topic is not known, and who waits for a batch is one for all of its records.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from kcore.clients.producer.farewell import see_off
from kcore.clients.producer.producer import Producer
from kcore.clients.stand_in.confluent.errors import named, raised
from kcore.clients.stand_in.confluent.happenings import Happenings
from kcore.clients.stand_in.confluent.options import Options
from kcore.clients.stand_in.confluent.reader import authenticate_as
from kcore.errors import IllegalArgumentError, KafkaError

if TYPE_CHECKING:
    from kcore.produce.batch import Batch

Headers = list[tuple[str, bytes | None]]


class Writer(Producer):
    """See the module's text."""

    def __init__(self, happenings: Happenings, options: Options, *, connects: bool) -> None:
        self.began_at = time.time()
        try:
            super().__init__(**options)
        except KafkaError as error:
            raise raised(error) from error
        self._farewell.detach()
        self._farewell = see_off(self, self._courier, "")  # nobody closes it, which is usual there
        self._courier._reporter = happenings  # noqa: SLF001 - in its place, and it is one
        happenings.watch(self._core._links.measures)  # noqa: SLF001 - as above
        self.now_ms = self._courier.now_ms
        self.lock = self._courier.lock
        self.intake = self._core.intake
        if connects:
            self._connect_soon()

    def address(self, node: int) -> str:
        """Of a node by the number that metrics have."""
        return str(self._core.address(node))

    def _find_release(self, timeout_ms: int) -> None:
        """Nobody waits for that."""

    def _connect_soon(self) -> None:
        """Look for a broker, so that error_cb hears if there is none, before anything is sent."""
        courier = self._courier
        with courier.lock:
            limit = self._settings.bootstrap_timeout_ms
            courier.forget(self._core.fetch_metadata((), courier.now_ms(), limit))
            self._core.stirred = True
            courier.nudge()

    def check_open(self) -> None:
        """Raise why nothing can be sent now, if that is so. KafkaError."""
        with self.lock:
            self._core.check_open()

    def count_of(self, topic: str) -> int:
        """How many partitions a topic has; 0: nobody knows yet, and it is asked for."""
        courier = self._courier
        with courier.lock:
            found = self._core.partitions_for(topic, courier.now_ms())
            courier.nudge()
        return len(found) if found else 0

    def take(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Headers | None,
        partition: int | None,
        timestamp_ms: int,
    ) -> tuple[Batch, int] | None:
        """Take a record: its batch and its number there; None: not now. KafkaError."""
        courier = self._courier
        if courier.stopped:
            courier.check()
        with courier.lock:
            now_ms = courier.now_ms()
            record = topic, key, value, headers, partition, timestamp_ms
            taken: tuple[Batch, int] | None = self._core.append(*record, now_ms)
            courier.nudge()
        return taken

    def hurry(self) -> None:
        """Send what lingers."""
        courier = self._courier
        with courier.lock:
            courier.forget(self._core.flush(courier.now_ms()))
            courier.nudge()

    def give_up(self) -> None:
        """Fail whatever is not delivered."""
        courier = self._courier
        with courier.lock:
            now_ms = courier.now_ms()
            self._core._sender.fail_everything(PurgedError("purged"), now_ms)  # noqa: SLF001
            self._core.stirred = True
            courier.nudge()

    def let_go(self) -> None:
        """Deliver what there is, then end."""
        self._farewell()

    def authenticate_as(self, username: str, password: str) -> None:
        """On connections that are made from now on."""
        with self.lock:
            authenticate_as(self._core, username, password)


class PurgedError(KafkaError):
    """The program gave the record up."""


def refused(error: KafkaError) -> Any:
    """What `produce` raises for a record that is not taken."""
    if isinstance(error, IllegalArgumentError):
        return named("_UNKNOWN_PARTITION", f"{named('_UNKNOWN_PARTITION').str()}: {error}")
    return None
