"""From where an entry is about: an address, all of them, or, since Kafka 4.4, a range (CIDR).

Source of the rules: Java's AclControlManager and CidrUtils, over SubnetUtils of Commons Net, which
takes of IPv4 four numbers of up to three digits. An IPv4 address in IPv6 is none of IPv6 there.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from kcore.broker.authorization.acls import WILDCARD
from kcore.limits import MAX_INT32

RANGES_SINCE: Final = (4, 4)

_IPV4: Final = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})/([0-9]{1,2})")
_PREFIX: Final = re.compile(r"[-+]?\d{1,10}")  # digits of any script, as in Java
_SCOPE: Final = re.compile(r"(%[0-9]{1,10})?")
_KNOWN_MAX: Final = 1_024  # patterns, and addresses in them, of which the answer is kept


@lru_cache(_KNOWN_MAX)
def range_of(pattern: str) -> IPv4Network | IPv6Network:
    """The range that a pattern with a slash stands for; ValueError in words if none."""
    if ":" in pattern:
        return _range6(pattern)
    matched = _IPV4.fullmatch(pattern)
    if matched is None:
        raise ValueError(f"Could not parse [{pattern[:1_000]}]")
    *numbers, bits = map(int, matched.groups())
    for number, highest in (*((one, 255) for one in numbers), (bits, 32)):
        if number > highest:
            raise ValueError(f"Value [{number}] not in range [0,{highest}]")
    return IPv4Network((bytes(numbers), bits), strict=False)


def _range6(pattern: str) -> IPv6Network:
    address, _, prefix = pattern.partition("/")
    said = f"Could not parse [{pattern[:1_000]}]"
    bits = int(prefix) if _PREFIX.fullmatch(prefix) else None
    if bits is None or not -MAX_INT32 - 1 <= bits <= MAX_INT32:
        raise ValueError(f"{said} - invalid prefix length")
    if not 0 <= bits <= 128:
        raise ValueError(f"{said} - prefix length must be between 0 and 128")
    if address.startswith("[") and address.endswith("]"):
        address = address[1:-1]
    plain, percent, scope = address.partition("%")
    try:
        found = IPv6Address(plain)
    except ValueError:
        raise ValueError(f"Could not parse [{address[:1_000]}]") from None
    if not _SCOPE.fullmatch(percent + scope):
        raise ValueError(f"Could not parse [{address[:1_000]}]")
    if found.ipv4_mapped is not None:
        raise ValueError(f"Could not parse [{address[:1_000]}] - not an IPv6 address")
    return IPv6Network((found.packed, bits), strict=False)


def wrong_host(host: str) -> str | None:
    """Why it can be no host of an entry; None if it can."""
    if not host:
        return "Host pattern cannot be null or empty"
    if host == WILDCARD or "/" not in host:
        return None
    try:
        range_of(host)
    except ValueError as error:
        return f"Invalid CIDR notation '{host[:1_000]}': {error}"
    return None


@lru_cache(_KNOWN_MAX)
def is_in_range(host: str, pattern: str) -> bool:
    """Whether an address is within the range that a pattern with a slash stands for."""
    try:
        address = ip_address(host.partition("%")[0])
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return (mapped or address) in range_of(pattern)
    except ValueError:
        return False
