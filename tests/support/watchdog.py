"""The end of a test that nothing else ends.

pytest-timeout strikes the main thread once, by a signal. A test that waits where no signal is
looked for (in another client's C), that catches what is raised (a task of a loop, gevent's hub), or
whose end hangs after it was struck, would hold up the run for good. Some time later a thread of C's
writes down where each thread is, and ends the process. pytest-xdist says whose test that was, fails
it, and goes on with the others in a new process.
"""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Iterator
from typing import Any

import pytest

GRACE_S = 60.0  # for what a test that was struck still has to end
_STDERR = pytest.StashKey[int]()
_LIMIT_S = pytest.StashKey[float]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_STDERR] = os.dup(2)  # before it is captured


def pytest_unconfigure(config: pytest.Config) -> None:
    os.close(config.stash[_STDERR])


def _watch(item: pytest.Item) -> None:
    where = item.config.stash[_STDERR]
    faulthandler.dump_traceback_later(item.stash[_LIMIT_S], exit=True, file=where)


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> None:
    """pytest-timeout begins to count, too; with `--timeout 0` neither does."""
    item.stash[_LIMIT_S] = settings.timeout + GRACE_S
    _watch(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Iterator[None]:
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """A debugger may follow, for which pytest takes this clock back; if none does, a teardown."""
    watched = isinstance(node, pytest.Item) and _LIMIT_S in node.stash
    if watched and not node.config.getoption("usepdb"):
        _watch(node)
