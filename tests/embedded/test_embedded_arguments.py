"""What an EmbeddedBroker is not made with: it says so when it is made, and names what is wrong."""

import pytest

from kcore.embedded import EmbeddedBroker
from kcore.errors import UsageError

WRONG = {
    "nodes": [None, {}, "", "1", 0, -1, True, 1.0, float("nan"), 10**30],
    "host": [None, {}, 0, b"h"],
    "port": [None, {}, "", -1, 10**30, float("nan")],
    "advertised_host": [{}, 0, b"h", ""],
    "config": [{}, [], 0, "", {"log.retention.ms": 1}],
    "seed": [{}, [], "", float("nan")],
    "in_memory": [None, {}, 0, ""],
    "directory": [{}, [], 0, -1, float("nan")],
    "authorizer": [None, {}, 0, "", "User:admin", ("User:admin",)],
    "flush": [None, {}, [], 0, -1, "", "sometimes", True, float("nan")],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_a_wrong_argument_is_named(name, value):
    with pytest.raises(UsageError, match=rf"^{name}="):
        EmbeddedBroker(**{name: value})
