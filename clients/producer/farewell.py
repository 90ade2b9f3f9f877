"""What becomes of a producer that nobody closes: what was sent is still delivered, and its courier
ends.

Dropped while the program runs, it closes itself on the side: a ResourceWarning says so. At the end
of the program, whose daemon threads end with it, up to EXIT_S seconds are waited for all of them
together (kafka-python: one second each).
"""

from __future__ import annotations

import atexit
import time
import warnings
import weakref
from functools import partial
from typing import TYPE_CHECKING

from kcore.clients.log import Log
from kcore.errors import KafkaError

if TYPE_CHECKING:
    from kcore.clients.producer.courier import Courier

    Farewell = weakref.finalize[[Courier, str], object]

EXIT_S = 1.0

log = Log("kcore.producer")

_open: weakref.WeakSet[Courier] = weakref.WeakSet()


def see_off(
    producer: object, courier: Courier, name: str
) -> weakref.finalize[[Courier, str], object]:
    """Have the courier end when the producer is dropped, or the program ends; `detach` the answer
    once it is closed. name: "": to drop it is as good as to close it, and nothing is said.
    """
    _open.add(courier)
    farewell = weakref.finalize(producer, _dropped, courier, name)
    farewell.atexit = False
    return farewell


def _dropped(courier: Courier, name: str) -> None:
    # In whichever thread collects garbage, with whatever locks it holds: only told, never waited.
    if not courier.over:
        courier.abandon()
        if name:
            warnings.warn(
                f"producer {name} was dropped without close(): what it was sent is delivered "
                "on the side",
                ResourceWarning,
                stacklevel=2,
            )


def _at_exit() -> None:
    until = time.monotonic() + EXIT_S
    left = [courier for courier in _open if not courier.over]
    for courier in left:
        courier.abandon()
    for courier in left:
        try:
            ended = courier.wait(partial(_is_over, courier), max(0.0, until - time.monotonic()))
        except KafkaError:
            continue  # it has failed, and has said so
        if not ended and courier.core.held_bytes:
            log.warning(
                "the program ends with %d bytes of records that were not delivered: "
                "close() the producer",
                courier.core.held_bytes,
            )


def _is_over(courier: Courier) -> bool:
    return courier.over


atexit.register(_at_exit)
