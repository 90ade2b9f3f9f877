"""What every suite shares; the parts are modules of tests/support/."""

import gc
import signal

import pytest

pytest_plugins = [
    "real_kafka",
    "completeness",
    "side_by_side",
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


@pytest.fixture(params=["asyncio", "trio"], scope="module")
def each_loop(request):
    """The name of a loop; brokers that keep what tests did ask for it, too."""
    return request.param


@pytest.fixture
def on_each_loop(each_loop):
    """What `anyloop` stands for."""
    from anyloop import on  # noqa: PLC0415 - trio is not loaded for others

    with on(each_loop):
        yield


# Both loops drive the same clients: what `make test` asks of trio's is their life, and what is its
# own (transports/test_trio_loop.py). The rest is asked of it by `make test-long`.
UNDER_TRIO_TOO = ("test_async_life.py",)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    loops = [(item, item.callspec.params.get("each_loop")) for item in items if _has_loop(item)]
    both = {(item.path, item.originalname) for item, loop in loops if loop == "asyncio"}
    for item, loop in loops:
        also = (item.path, item.originalname) in both and item.path.name not in UNDER_TRIO_TOO
        if loop == "trio" and also:
            item.add_marker(pytest.mark.slow)


def _has_loop(item):
    return hasattr(item, "callspec") and "each_loop" in item.callspec.params


def pytest_collection_finish():
    """Ten thousand tests are a million objects, all of which would be looked at by each collection
    from here on: 0.3 s for those that tests ask for.
    """
    gc.collect()
    gc.freeze()
