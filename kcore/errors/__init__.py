"""Every error of the package, under the names that users of kafka-python and aiokafka catch.

`base` has the families, `client` what is found on this side, `partitions`, `groups` and `admin`
one class per Kafka error code, but for those that consumers themselves name, which are in
`everyday`. `for_code` gives the class of a code.

A class of errors takes longer to make than any other, and most of these hundred and more no program
ever meets: together a twelfth of a consumer's start. So all but the everyday ones are made when the
first of them is asked for: all by a name (PEP 562), by a code those of its module.
"""

from __future__ import annotations

from importlib import import_module

from kcore.errors.base import *
from kcore.errors.base import BrokerResponseError, KafkaError, unknown_code
from kcore.errors.client import *
from kcore.errors.client import ProtocolError
from kcore.errors.everyday import *
from kcore.hints import TYPE_CHECKING

KcoreError = KafkaError
KafkaProtocolError = ProtocolError

_REST = ("partitions", "groups", "admin")  # what a consumer may meet first


def for_code(code: int) -> type[BrokerResponseError]:
    """The class of a Kafka error code; if it is newer than we are, a kind of UnknownBrokerError."""
    by_code = BrokerResponseError.by_code
    for name in _REST:
        if code in by_code:
            break
        import_module(f"{__name__}.{name}")
    return by_code.get(code) or unknown_code(code)


def _load_rest() -> None:
    for name in _REST:
        found = vars(import_module(f"{__name__}.{name}"))
        globals().update({name: one for name, one in found.items() if not name.startswith("_")})


if TYPE_CHECKING:
    from kcore.errors.admin import *
    from kcore.errors.groups import *
    from kcore.errors.partitions import *
else:

    def __getattr__(name: str) -> object:
        """A class that nobody has asked for yet; also `__all__`, so that a star gives all."""
        _load_rest()
        if name not in globals():
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return globals()[name]

    def __dir__() -> list[str]:
        _load_rest()
        return sorted(globals())
