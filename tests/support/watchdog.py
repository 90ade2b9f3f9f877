"""The end of a test that nothing else ends.

pytest-timeout strikes the main thread once, by a signal. A test that waits where no signal is
looked for (in another client's C), that catches what is raised (a task of a loop, gevent's hub), or
whose end hangs after it was struck, would hold up the run for good. Some time later a thread of C's
writes down where each thread is, and ends the process. pytest-xdist says whose test that was, fails
it, and goes on with the others in a new process.

That thread is started and waited for by whoever sets its clock: 3 ms where others want the core,
for each of twenty thousand tests. So the clock of a test is that of the ones before it, as long as
that is not much earlier.
"""

from __future__ import annotations

import faulthandler
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

GRACE_S = 60.0  # for what a test that was struck still has to end
_STDERR = pytest.StashKey[int]()
_LIMIT_S = pytest.StashKey[float]()
_ENDS_AT = pytest.StashKey[float]()  # of the clock that is set; none is, without


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_STDERR] = os.dup(2)  # before it is captured


def pytest_unconfigure(config: pytest.Config) -> None:
    os.close(config.stash[_STDERR])


def _watch(item: pytest.Item) -> None:
    stash = item.config.stash
    faulthandler.dump_traceback_later(item.stash[_LIMIT_S], exit=True, file=stash[_STDERR])
    stash[_ENDS_AT] = time.monotonic() + item.stash[_LIMIT_S]


def _look_away(config: pytest.Config) -> None:
    faulthandler.cancel_dump_traceback_later()
    config.stash[_ENDS_AT] = 0.0


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> None:
    """pytest-timeout begins to count, too; with `--timeout 0` neither does."""
    item.stash[_LIMIT_S] = limit_s = settings.timeout + GRACE_S
    earlier_s = time.monotonic() + limit_s - item.config.stash.get(_ENDS_AT, 0.0)
    if not 0 <= earlier_s <= GRACE_S / 4:
        _watch(item)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if _LIMIT_S not in item.stash:
        _look_away(item.config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    try:
        return (yield)
    finally:
        if nextitem is None:
            _look_away(item.config)


@pytest.hookimpl(trylast=True)
def pytest_enter_pdb(config: pytest.Config) -> None:
    _look_away(config)


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """A debugger may follow, for which pytest takes this clock back; if none does, a teardown."""
    _look_away(node.config)
    watched = isinstance(node, pytest.Item) and _LIMIT_S in node.stash
    if watched and not node.config.getoption("usepdb"):
        _watch(node)
