"""What a fork leaves behind: the child lets go of every socket it inherited, at once and in
silence.

Left open, the child's copies would keep connections alive that the parent has closed; shut down,
they would end connections the parent still uses. So they are only closed, before any user code of
the child runs.
"""

from __future__ import annotations

import os
from weakref import WeakSet

from kcore.hints import Protocol


class Forked(Protocol):
    """Something that holds fds a child must not use."""

    def forked(self) -> None:
        """Called in the child, by the only thread there is. Must not raise."""


_holders: WeakSet[Forked] = WeakSet()


def release_in_child(holder: Forked) -> None:
    """Have `holder.forked()` called in every child forked while it is alive."""
    _holders.add(holder)


def _after_fork() -> None:
    for holder in list(_holders):
        holder.forked()
    _holders.clear()


os.register_at_fork(after_in_child=_after_fork)
