"""What clients measure, as the text that Prometheus and its like read (format 0.0.4)."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from kcore.clients.measured import Measured
from kcore.meters import Reading

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def metrics_text(*clients: Measured) -> str:
    """The metrics of these clients, to be served as `text/plain; version=0.0.4`.

    `consumer-fetch-manager-metrics` / `records-lag` is
    `kafka_consumer_fetch_manager_records_lag{client_id="...",topic="...",partition="0"}`; names
    that end in `_total` are counters, the others gauges. Clients are told apart by `client_id`;
    where some of a kind share one, all but the first have their number among them as `nth`, too, in
    the order in which they are given. From any thread.
    """
    families: dict[str, list[str]] = {}
    alike: Counter[tuple[str, str]] = Counter()
    for client in clients:
        known: Any = client
        readings, client_id = client.metrics(raw=True), str(known.config["client_id"])
        twins = readings[0].group, client_id
        alike[twins] += 1
        labels: tuple[tuple[str, str], ...] = (("client_id", client_id),)
        if alike[twins] > 1:
            labels += (("nth", str(alike[twins])),)
        for reading in readings:
            for name, value in reading.values.items():
                family = _name(reading.group, name)
                sample = f"{family}{{{_labels(labels, reading)}}} {value!r}"
                families.setdefault(family, []).append(sample)
    lines: list[str] = []
    for family, samples in families.items():
        kind = "counter" if family.endswith("_total") else "gauge"
        lines += (f"# TYPE {family} {kind}", *samples)
    return "".join(f"{line}\n" for line in lines)


def _name(group: str, name: str) -> str:
    return f"kafka_{group.removesuffix('-metrics')}_{name}".replace("-", "_")


def _labels(own: tuple[tuple[str, str], ...], reading: Reading) -> str:
    pairs = (*own, *reading.tags)
    return ",".join(
        f'{key.replace("-", "_")}="{value.translate(_ESCAPES)}"' for key, value in pairs
    )
