"""Work in many threads at once, switched as often as can be."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

THREADS = 6
SLICE_S = 1e-6
JOIN_S = 60.0


@pytest.fixture
def switch_often() -> Iterator[None]:
    """Threads of builds with a GIL give it up as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SLICE_S)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], Any], threads: int = THREADS) -> list[Any]:
    """Run `work(number)` in threads that begin at the same moment: what each returned."""
    barrier = threading.Barrier(threads)
    results: list[Any] = [None] * threads
    errors: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work(number)
        except BaseException as error:  # noqa: BLE001 - raised below, in the test's own thread
            errors.append(error)

    workers = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(JOIN_S)
        assert not worker.is_alive()
    if errors:
        raise errors[0]
    return results
