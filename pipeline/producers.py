"""Producers kept between the tasks of a worker process, one for each set of options."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from kcore import Producer
from kcore.pipeline.options import SinkOptions

KEPT_MAX: Final = 4

_kept: dict[tuple[Any, ...], tuple[int, Producer]] = {}


@contextmanager
def lend(options: SinkOptions) -> Iterator[Producer]:
    """A producer for one task at a time. One whose task has failed is closed: what it still holds
    would be delivered beside the next attempt.
    """
    key = tuple(sorted((name, str(value)) for name, value in options.client.items()))
    pid, producer = _kept.pop(key, (0, None))
    if producer is None or pid != os.getpid():  # the parent's connections are not ours
        producer = Producer(**options.client)
    try:
        yield producer
    except BaseException:
        producer.close(0)
        raise
    while len(_kept) >= KEPT_MAX:
        oldest = next(iter(_kept))
        _kept.pop(oldest)[1].close()
    _kept[key] = (os.getpid(), producer)
