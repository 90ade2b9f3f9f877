"""What every suite shares; the parts are modules of tests/support/."""

import gc
import os
import signal

import pytest

from kcore.cli.demo import kafka_node

pytest_plugins = [
    "real_kafka",
    "completeness",
    "side_by_side",
    "brief_reports",
    "longer",
    "watchdog",
    "chromium",
    "loopback",
    "threads",
    "leftovers",
]


def pytest_configure():
    """A shell has what it starts in the background ignore Ctrl-C, and so do the processes that this
    one starts: who tests that it ends something needs it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _take_own_ports()


def _take_own_ports():
    """A port that is free now is looked up for a server that comes a little later, or again: the
    processes of one run look among ports of their own.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    share = len(kafka_node.PORTS) // 8
    first = int(worker) % 8 * share
    kafka_node.PORTS = kafka_node.PORTS[first : first + share]


@pytest.fixture(params=["asyncio", "uvloop", "trio"], scope="module")
def each_loop(request):
    """The name of a loop; brokers that keep what tests did ask for it, too."""
    return request.param


@pytest.fixture
def on_each_loop(each_loop):
    """What `anyloop` stands for."""
    from anyloop import on  # noqa: PLC0415 - trio and uvloop are not loaded for others

    with on(each_loop):
        yield


# All loops drive the same clients: what `make test` asks of others than asyncio's own is their
# life, and what is their own (transports/test_trio_loop.py). The rest is asked of them by
# `make test-long`.
UNDER_OTHERS_TOO = ("test_async_life.py",)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    loops = [(item, _loop_of(item)) for item in items]
    all_have = {(item.path, item.originalname) for item, loop in loops if loop == "asyncio"}
    for item, loop in loops:
        if loop in (None, "asyncio") or item.path.name in UNDER_OTHERS_TOO:
            continue
        if (item.path, item.originalname) in all_have:
            item.add_marker(pytest.mark.slow)


def _loop_of(item):
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return next((one for one in given if one in ("asyncio", "uvloop", "trio")), None)


def pytest_collection():
    """Nearly nothing of what is made by collecting tests is garbage: to look for some takes a fifth
    of it.
    """
    gc.disable()


def pytest_collection_finish():
    """Ten thousand tests are a million objects, all of which would be looked at by each collection
    from here on: 0.3 s for those that tests ask for.
    """
    gc.enable()
    gc.collect()
    gc.freeze()
