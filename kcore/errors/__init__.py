"""Every error of the package, under the names that users of kafka-python and aiokafka catch.

`base` has the families, `client` what is found on this side, `partitions`, `groups` and `admin`
one class per Kafka error code. `for_code` gives the class of a code.
"""

from __future__ import annotations

from kcore.errors.admin import *
from kcore.errors.base import *
from kcore.errors.base import BrokerResponseError, KafkaError, unknown_code
from kcore.errors.client import *
from kcore.errors.client import ProtocolError
from kcore.errors.groups import *
from kcore.errors.partitions import *

KcoreError = KafkaError
KafkaProtocolError = ProtocolError


def for_code(code: int) -> type[BrokerResponseError]:
    """The class of a Kafka error code; if it is newer than we are, a kind of UnknownBrokerError."""
    return BrokerResponseError.by_code.get(code) or unknown_code(code)
