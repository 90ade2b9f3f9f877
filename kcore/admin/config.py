"""Every option of an admin client, read once and checked.

Names are kafka-python's; Java's dotted names are understood as well. Defaults are Java's where the
two differ: reconnect_backoff_max_ms is 1000 (kafka-python: 30000), and a call takes at most
default_api_timeout_ms, 60000 (kafka-python: request_timeout_ms).

Source: AdminClientConfig.java of Kafka 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kcore.admin.options import TABLE
from kcore.settings.addresses import format_server
from kcore.settings.client import ClientConfig, contradictions, fill_in, read_options


class AdminConfig(ClientConfig):
    """The options, checked. Make one with `from_options`; what all clients have: ClientConfig.

    bootstrap_controllers: controllers of the quorum that are asked in place of brokers (KIP-919,
        Kafka 3.7); `bootstrap_servers` are the same then. Calls that are about what brokers know
        raise UnsupportedEndpointTypeError.
    default_api_timeout_ms: how long a call may take that is given no `timeout_ms`.
    enable_metrics_push: as Java's, False unless told otherwise: most admin clients are gone before
        anybody would have heard of them.
    """

    enable_metrics_push: bool = False
    bootstrap_controllers: tuple[tuple[str, int], ...] | None = None
    default_api_timeout_ms: int = 60_000

    @classmethod
    def from_options(cls, options: Mapping[str, object]) -> AdminConfig:
        """Read a mapping of kafka-python's or Java's names.

        KafkaConfigurationError: an unknown name (it carries the nearest known one), a value of the
        wrong type or out of range, options that contradict each other, or one that this version
        does not have yet.
        """
        return read_options(cls, TABLE, options, _fill_in, _contradictions)

    def as_mapping(self) -> dict[str, object]:
        """See ClientConfig."""
        mapping = super().as_mapping()
        if self.bootstrap_controllers is not None:
            mapping["bootstrap_controllers"] = [
                format_server(host, port) for host, port in self.bootstrap_controllers
            ]
        return mapping


def _fill_in(values: dict[str, Any]) -> None:
    fill_in(values)
    controllers = values.get("bootstrap_controllers")
    if controllers is not None:
        values.setdefault("bootstrap_servers", controllers)


def _contradictions(config: AdminConfig, given: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    yield from contradictions(config, given)
    if config.bootstrap_controllers is not None and "bootstrap_servers" in given:
        why = "give bootstrap_servers or bootstrap_controllers: it is either that are asked"
        yield "bootstrap_controllers", why
