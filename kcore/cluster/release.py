"""Which Kafka release a broker is like, told from the API versions it serves (kafka-python's
`config["api_version"]`).

A broker does not say its release. Each row is the oldest release that serves the API up to that
version; rows run from the newest release down and the first that fits is the answer.
"""

from __future__ import annotations

from collections.abc import Callable

from kcore.wire.apis import ApiKey

_SIGNS: tuple[tuple[tuple[int, int], ApiKey, int], ...] = (
    ((4, 4), ApiKey.TXN_OFFSET_COMMIT, 6),
    ((4, 3), ApiKey.DESCRIBE_LOG_DIRS, 5),
    ((4, 2), ApiKey.OFFSET_COMMIT, 10),
    ((4, 1), ApiKey.FETCH, 18),
    ((4, 0), ApiKey.LIST_OFFSETS, 10),
    ((3, 9), ApiKey.LIST_OFFSETS, 9),
    ((3, 7), ApiKey.FETCH, 16),
    ((3, 5), ApiKey.FETCH, 15),
    ((3, 0), ApiKey.LIST_OFFSETS, 7),
    ((2, 8), ApiKey.METADATA, 11),
    ((2, 4), ApiKey.JOIN_GROUP, 6),
    ((2, 1), ApiKey.FETCH, 10),
)


def release_of(range_of: Callable[[int], tuple[int, int] | None]) -> tuple[int, int] | None:
    """The newest release whose sign fits; (1, 0) for older ones, None if nothing is known of the
    broker.
    """
    known = False
    for release, api, version in _SIGNS:
        span = range_of(api)
        known = known or span is not None
        if span is not None and span[1] >= version:
            return release
    return (1, 0) if known else None
