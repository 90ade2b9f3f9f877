"""What a client has of its user's: closed with it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

from kcore.hints import Any


def close_all(serializers: Iterable[Any], interceptors: Any) -> None:
    """Close those that can be, each whatever the others raise, and then raise that."""
    with ExitStack() as stack:
        if interceptors is not None:
            stack.callback(interceptors.close)
        for one in reversed([*serializers]):
            close = getattr(one, "close", None)
            if callable(close):
                stack.callback(close)
