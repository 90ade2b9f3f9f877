"""What tests say of telemetry: which metrics clients of an `EmbeddedBroker` are asked for, and what
they have pushed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kcore.broker import RefusedError
from kcore.broker.telemetry import subscriptions
from kcore.embedded.arguments import check
from kcore.errors import UsageError

if TYPE_CHECKING:
    from kcore.broker import Cluster
    from kcore.broker.telemetry.pushed import PushedMetric
    from kcore.transports.serve import Server


class TelemetryVerbs:
    """The part of `EmbeddedBroker` that is about telemetry."""

    def _running(self) -> tuple[Cluster, Server]:
        raise NotImplementedError

    def _flush_now(self) -> None:
        raise NotImplementedError

    def subscribe_metrics(
        self,
        name: str,
        metrics: str | Iterable[str] = subscriptions.EVERYTHING,
        *,
        interval_ms: int = subscriptions.DEFAULT_INTERVAL_MS,
        match: Mapping[str, str] | None = None,
    ) -> None:
        """Ask clients for metrics whose names begin so ("*": all), every `interval_ms` (100 to an
        hour), in place of what that name has asked for before. match: which clients, by regular
        expressions for client_id, client_software_name and the like. UsageError: it cannot be so,
        or these brokers take no telemetry (telemetry=True).
        """
        check("name", name, str, "the name of a subscription")
        cluster, _ = self._running()
        if not cluster.config.client_telemetry:
            raise UsageError("clients are not asked by these brokers: telemetry=True")
        prefixes = [metrics] if isinstance(metrics, str) else [*metrics]
        wishes = [f"{key}={pattern}" for key, pattern in (match or {}).items()]
        options = {
            subscriptions.METRICS: ",".join(prefixes),
            subscriptions.INTERVAL: str(interval_ms),
            subscriptions.MATCH: ",".join(wishes),
        }
        try:
            subscriptions.check(name, options)
        except RefusedError as refused:
            raise UsageError(refused.why) from refused
        self._subscribe(name, options)

    def unsubscribe_metrics(self, name: str) -> None:
        """Do not ask for these any more; harmless if nobody has."""
        self._subscribe(name, {})

    def _subscribe(self, name: str, options: dict[str, str]) -> None:
        cluster, server = self._running()

        def subscribe(_now_ms: int) -> None:
            cluster.settings.subscribe(name, options)
            if cluster.replication.store is not None:
                known = cluster.settings.client_metrics
                cluster.replication.store.client_metrics_changed(known)

        server.call(subscribe)
        self._flush_now()

    def pushed_metrics(self, name: str = "", *, client_id: str | None = None) -> list[PushedMetric]:
        """The numbers that clients have pushed, in the order in which they came: those whose names
        begin so (without "org.apache.kafka." as well), of this client. The oldest pushes go when
        all make 64 MiB.
        """
        cluster, server = self._running()
        pushes = server.call(lambda _now_ms: cluster.pushes.kept())
        prefix = f"org.apache.kafka.{name}"
        return [
            row
            for row in pushes.rows()
            if row.name.startswith((name, prefix)) and client_id in (None, row.client_id)
        ]
