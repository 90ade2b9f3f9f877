"""Producers kept between the tasks of a worker process, one for each set of options."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from kcore import Producer
from kcore.pipeline.options import SinkOptions

KEPT_MAX: Final = 4

_kept: dict[tuple[Any, ...], Producer] = {}
# Those of the parent process are its own to close.
os.register_at_fork(after_in_child=_kept.clear)


@contextmanager
def lend(options: SinkOptions) -> Iterator[Producer]:
    """A producer for one task at a time. One whose task has failed is closed: what it still holds
    would be delivered beside the next attempt.
    """
    key = tuple(sorted((name, str(value)) for name, value in options.client.items()))
    producer = _kept.pop(key, None) or Producer(**options.client)
    try:
        yield producer
    except BaseException:
        producer.close(0)
        raise
    while len(_kept) >= KEPT_MAX:
        oldest = next(iter(_kept))
        _kept.pop(oldest).close()
    _kept[key] = producer
