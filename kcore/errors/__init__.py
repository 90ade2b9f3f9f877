"""Every error of the package, under the names that users of kafka-python and aiokafka catch.

`base` has the families, `client` and `rare` what is found on this side, `partitions`, `groups` and
`admin` one class per Kafka error code, but for those that consumers themselves name, which are in
`everyday`. `for_code` gives the class of a code.

A class of errors takes longer to make than any other, and most of these hundred and more no program
ever meets: together a twelfth of a consumer's start. So a module of them but `base`, `client` and
`everyday` is loaded when the first of its classes is asked for, by name (PEP 562) or by code.
"""

from __future__ import annotations

from importlib import import_module

from kcore.errors.base import *
from kcore.errors.base import BrokerResponseError as BrokerResponseError
from kcore.errors.base import KafkaError as KafkaError
from kcore.errors.base import unknown_code
from kcore.errors.client import *
from kcore.errors.client import ProtocolError as ProtocolError
from kcore.errors.everyday import *
from kcore.hints import TYPE_CHECKING

KcoreError = KafkaError
KafkaProtocolError = ProtocolError

# Those that are not loaded yet; the likeliest first.
_WITH_CODES = ("partitions", "groups", "admin")
_REST = ("rare", *_WITH_CODES)


def for_code(code: int) -> type[BrokerResponseError]:
    """The class of a Kafka error code; if it is newer than we are, a kind of UnknownBrokerError."""
    by_code = BrokerResponseError.by_code
    for module in _WITH_CODES:
        if code in by_code:
            break
        _load(module)
    return by_code.get(code) or unknown_code(code)


def _load(module: str) -> None:
    found = vars(import_module(f"{__name__}.{module}"))
    globals().update({name: one for name, one in found.items() if not name.startswith("_")})


if TYPE_CHECKING:
    from kcore.errors.admin import *
    from kcore.errors.groups import *
    from kcore.errors.partitions import *
    from kcore.errors.rare import *
else:

    def __getattr__(name: str) -> object:
        """A class that nobody has asked for yet; also `__all__`, so that a star gives all."""
        for module in _REST:
            _load(module)
            if name in globals():
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        for module in _REST:
            _load(module)
        return sorted(globals())
