"""Which address a connection goes to: names are looked up, and what was found is remembered while
the core walks through it (KIP-302).

Addresses of the family by which a broker was reached last come first: where packets of the other
one are swallowed on the way, finding that out costs a set-up timeout, and each link would pay it.

With a proxy it is one of the proxy's addresses that is connected to, first of all that by which a
way was had last: what one link has found out, at the price of its set-up timeout maybe, all others
need not. Where names are not the proxy's to look up it is asked for one of the broker's addresses:
then the core walks through the pairs, of each of the broker's all of the proxy's.
"""

from __future__ import annotations

from collections.abc import Sequence

from kcore.actions import Connect
from kcore.hints import TYPE_CHECKING, Final
from kcore.transports.core import Address, Transport
from kcore.transports.sockets import ProxyFaultError, describe
from kcore.tuples import NamedTuple

if TYPE_CHECKING:
    from kcore.settings.proxies import Proxy

# Names whose addresses are remembered while the core walks through them.
NAMES_MAX: Final = 1024

_Name = tuple[str, int]


class Route(NamedTuple):
    """address: what to connect to. beyond: what to ask the proxy there for, if it is one. more: the
    core may ask for another one.
    """

    address: Address
    beyond: _Name | None
    more: bool


class _Walk(NamedTuple):
    """gates: what can be connected to. ends: what is asked for there."""

    gates: Sequence[Address]
    ends: Sequence[_Name | None] = (None,)


class Routes:
    """See the module's text."""

    def __init__(self, transport: Transport, proxy: Proxy | None) -> None:
        self._transport = transport
        self._proxy = proxy
        self._walks: dict[_Name, _Walk] = {}
        # By link number: those that have the proxy's addresses, and wait for the broker's.
        self._begun: dict[int, Sequence[Address]] = {}
        self._open: Address | None = None  # by which a way was had last
        self._family: int | None = None  # by which a broker was reached last

    def find(self, connect: Connect) -> Route | None:
        """Names are looked up anew for the first route, and remembered for the rest of the walk.

        None: the transport does not know yet. OSError, ValueError: there is none.
        """
        name, index = (connect.host, connect.port), connect.address_index
        walk = self._walks.get(name) if index else None
        tried_all = walk is not None and index >= len(walk.gates) * len(walk.ends)
        if walk is None or tried_all:  # it may have moved
            walk = self._begin(connect.link, name)
            if walk is None:
                return None
            if len(self._walks) >= NAMES_MAX:
                self._walks.clear()
            self._walks[name] = walk
        count = len(walk.gates) * len(walk.ends)
        end, gate = divmod(index % count, len(walk.gates))
        return Route(walk.gates[gate], walk.ends[end], index + 1 < count)

    def note_open(self, gate: Address) -> None:
        """A way was had by this address of the proxy."""
        self._open = gate

    def note_reached(self, family: int) -> None:
        """A connection was made without a proxy."""
        self._family = family

    def forget(self, link: int) -> None:
        """It does not wait any more."""
        self._begun.pop(link, None)

    def _begin(self, link: int, name: _Name) -> _Walk | None:
        resolve = self._transport.resolve
        proxy = self._proxy
        if proxy is None:
            found = resolve(*name)
            if found is None:
                return None
            return _Walk(sorted(found, key=lambda at: at.family != self._family))
        gates = self._begun.pop(link, None) or self._find_gates(proxy)
        if gates is None:
            return None
        gates = sorted(gates, key=lambda gate: gate != self._open)
        if proxy.looks_up:
            return _Walk(gates, [name])
        found = resolve(*name)
        if found is None:
            self._begun[link] = gates
            return None
        return _Walk(gates, [at.sockaddr[:2] for at in found])

    def _find_gates(self, proxy: Proxy) -> Sequence[Address] | None:
        try:
            return self._transport.resolve(proxy.host, proxy.port)
        except (OSError, ValueError) as error:
            why = f"the proxy's name was not found: {describe(error)}"
            raise ProxyFaultError(why) from error
