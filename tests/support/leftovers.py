"""What is left to the garbage collector, collected within the test that left it.

kafka-python drops a connection that still has something to send when its client is closed, socket
and all (3.0). Collected later, that is an unraisable warning in whichever test is running by then.
So is what a signal handler struck while it was being made. A module that opens such clients in its
own process, or strikes, has one of these lists as its `pytestmark`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

COLLECTED = pytest.mark.usefixtures("leave_nothing_to_the_next_test")
# Its sockets name a protocol (6); those of kcore do not (0), and one of them that is left is an
# error here too.
KAFKA_PYTHON = [
    pytest.mark.filterwarnings(r"ignore:unclosed <socket\.socket .*proto=6,:ResourceWarning"),
    COLLECTED,
]
# aiokafka leaves transports, tasks and loops; sockets of ours are watched by the modules without.
ALSO_AIOKAFKA = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    COLLECTED,
]
# Nobody has yet what a call was about to return when it was struck: a socket, a generator.
STRUCK = ALSO_AIOKAFKA


@pytest.fixture
def leave_nothing_to_the_next_test() -> Iterator[None]:
    yield
    gc.collect()
