"""Classes of errors that are made when they are asked for are there however that is done."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kcore import errors

WAYS = {
    "by name": "from kcore.errors import StaleControllerEpochError as found",
    "as an attribute": "import kcore.errors; found = kcore.errors.StaleControllerEpochError",
    "by code": "from kcore.errors import for_code; found = for_code(11)",
    "by a star": "from kcore.errors import *; found = StaleControllerEpochError",
    "by dir": (
        "import kcore.errors; assert 'StaleControllerEpochError' in dir(kcore.errors); "
        "found = vars(kcore.errors)['StaleControllerEpochError']"
    ),
    "by pickle": (
        "import pickle; found = type(pickle.loads("
        "b'ckcore.errors.admin\\nStaleControllerEpochError\\n(tR.'))"
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_finds_them_in_a_new_process(way: str) -> None:
    program = f"""{WAYS[way]}
import kcore.errors
assert found is kcore.errors.for_code(11), found
assert issubclass(found, kcore.errors.KafkaError)
assert kcore.errors.for_code(9_999).errno == 9_999
assert sorted(kcore.errors.BrokerResponseError.by_code) == list(range(-1, 137))
"""
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)


def test_what_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchError"):
        _ = errors.NoSuchError


def test_a_rare_name_does_not_load_those_of_brokers() -> None:
    program = """
import sys
from kcore.errors import ProducerClosed, for_code
assert "kcore.errors.rare" in sys.modules
assert for_code(3).__name__ == "UnknownTopicOrPartitionError"  # of `partitions`
from kcore.errors import UnknownTopicOrPartitionError as found
assert found is for_code(3)
assert not {"kcore.errors.groups", "kcore.errors.admin"} & {*sys.modules}
assert for_code(9_999).errno == 9_999
"""
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)
