"""How soon a broker is up: measured and said, not judged (machines differ)."""

import statistics
import time

import pytest

from kcore.embedded import EmbeddedBroker

ROUNDS = 20


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("in_memory", [False, True], ids=["ports", "memory"])
def test_how_soon_it_is_up(nodes, in_memory, record_property):
    took_ms = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        with EmbeddedBroker(nodes, in_memory=in_memory) as broker:
            took_ms.append((time.perf_counter() - began) * 1_000)
            assert len(broker.addresses) == nodes
    median_ms = statistics.median(took_ms)
    record_property("median_ms", median_ms)
    print(f"{nodes} nodes are up after {median_ms:.1f} ms (median of {ROUNDS})")
