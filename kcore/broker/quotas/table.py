"""What quotas are set for whom (Java: ClientQuotaControlManager, ClientQuotasImage).

An entity is a user, a client id, both, or an address; a name that is None is the default, for those
who have none of their own. Texts are Kafka's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from kcore.broker.addresses import address_of
from kcore.broker.batches import RefusedError
from kcore.limits import MAX_INT32
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
TYPES: Final = (USER, CLIENT_ID, IP)

PRODUCER: Final = "producer_byte_rate"
CONSUMER: Final = "consumer_byte_rate"
REQUESTS: Final = "request_percentage"
MUTATIONS: Final = "controller_mutation_rate"
CONNECTIONS: Final = "connection_creation_rate"

# More than any test has: what clients can make us keep is bounded.
ENTITIES_MAX: Final = 10_000
NAME_LENGTH_MAX: Final = 1_000

_OF_CLIENTS: Final = (PRODUCER, CONSUMER, REQUESTS, MUTATIONS)
_OF_ADDRESSES: Final = (CONNECTIONS,)
# Whole numbers: the largest, and what Java calls their type.
_WHOLE: Final = {
    PRODUCER: (float(2**63), "a LONG"),
    CONSUMER: (float(2**63), "a LONG"),
    CONNECTIONS: (float(MAX_INT32), "an INT"),
}
_FRACTION: Final = 1e-6  # that is overlooked

Entity = tuple[tuple[str, str | None], ...]  # (type, name), by type

# Match types (Java: DescribeClientQuotasRequest).
EXACT: Final = 0
DEFAULT: Final = 1
SPECIFIED: Final = 2


class Limit(NamedTuple):
    """So much a second, by all that have this user and this client id; "": whatever theirs is."""

    user: str
    client_id: str
    bound: float


def entity_of(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """An entity by its parts; of two of one type the last one counts."""
    return tuple(sorted(dict(parts).items()))


class Table:
    """The quotas of a cluster, by entity."""

    def __init__(self) -> None:
        self.entries: dict[Entity, dict[str, float]] = {}
        self._addresses: dict[str | None, float] = {}

    def alter(self, entity: Entity, changes: Mapping[str, float | None]) -> None:
        """Make these an entity's quotas, which have been checked; None: they go."""
        values = dict(self.entries.get(entity, {}))
        for key, value in changes.items():
            if value is None:
                values.pop(key, None)
            else:
                values[key] = float(value)
        if values:
            self.entries[entity] = values
        else:
            self.entries.pop(entity, None)
        if CONNECTIONS in changes:
            self._addresses = {
                None if of[0][1] is None else address_of(of[0][1]): kept[CONNECTIONS]
                for of, kept in self.entries.items()
                if CONNECTIONS in kept
            }

    def check(self, entity: Entity, changes: Mapping[str, float | None]) -> None:
        """RefusedError if an entity cannot be, or cannot have these quotas."""
        keys = _keys_of(entity)
        for key, value in changes.items():
            if value is not None:
                _check_value(key, value, keys)
        if len(self.entries) >= ENTITIES_MAX and entity not in self.entries:
            raise RefusedError(ErrorCode.POLICY_VIOLATION, f"{ENTITIES_MAX} entities are most")

    def limit(self, key: str, user: str, client_id: str) -> Limit | None:
        """What counts for a client, by Kafka's order of precedence; None: there is no limit."""
        for name in (user, None):
            for wanted in (client_id, None):
                bound = self._bound(key, ((CLIENT_ID, wanted), (USER, name)))
                if bound is not None:
                    return Limit(user, client_id, bound)
            bound = self._bound(key, ((USER, name),))
            if bound is not None:
                return Limit(user, "", bound)
        for wanted in (client_id, None):
            bound = self._bound(key, ((CLIENT_ID, wanted),))
            if bound is not None:
                return Limit("", client_id, bound)
        return None

    def _bound(self, key: str, entity: Entity) -> float | None:
        values = self.entries.get(entity)
        bound = None if values is None else values.get(key)
        return None if bound is None or math.isnan(bound) else bound

    def connections_of(self, host: str) -> float | None:
        """How many connections an address may make a second; None: any number."""
        if not self._addresses:
            return None
        bound = self._addresses.get(host)
        return self._addresses.get(None) if bound is None else bound

    def find(
        self, components: Iterable[tuple[str, int, str | None]], *, strict: bool
    ) -> dict[Entity, dict[str, float]]:
        """Those that match all of these (type, match type, name). strict: and have no other types.
        RefusedError: nothing can.
        """
        wanted = _filter(components)
        return {
            entity: values
            for entity, values in self.entries.items()
            if not (strict and len(entity) != len(wanted)) and _matches(dict(entity), wanted)
        }


def _keys_of(entity: Entity) -> tuple[str, ...]:
    """What can be set for it."""
    if not entity:
        raise _invalid("Invalid empty client quota entity")
    for kind, name in entity:
        if kind not in TYPES:
            raise _invalid(f"Unhandled client quota entity type: {kind[:NAME_LENGTH_MAX]}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
        if name is not None and len(name) > NAME_LENGTH_MAX:
            raise _invalid(f"{kind} of more than {NAME_LENGTH_MAX} characters")
    named = dict(entity)
    if IP not in named:
        return _OF_CLIENTS
    if len(named) > 1:
        raise _invalid(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or"
            " ClientId"
        )
    name = named[IP]
    if name is not None and address_of(name) is None:
        raise _invalid(f"{name} is not a valid IP or resolvable host.")
    return _OF_ADDRESSES


def _check_value(key: str, value: float, keys: tuple[str, ...]) -> None:
    if key not in keys:
        raise _invalid(f"Invalid configuration key {key[:NAME_LENGTH_MAX]}")
    if not math.isfinite(value):
        raise _invalid(f"Quota {key} must be a finite number")
    if value <= 0:
        raise _invalid(f"Quota {key} must be greater than 0")
    if key in _WHOLE:
        largest, what = _WHOLE[key]
        if value > largest:
            raise _invalid(f"Proposed value for {key} is too large for {what}.")
        if abs(value - math.floor(value + 0.5)) > _FRACTION:
            raise _invalid(f"{key} cannot be a fractional value.")


class _Wanted(NamedTuple):
    """A name, or any at all."""

    any: bool
    name: str | None


def _filter(components: Iterable[tuple[str, int, str | None]]) -> dict[str, _Wanted]:
    wanted: dict[str, _Wanted] = {}
    for kind, match, name in components:
        if not kind:
            raise _invalid("Invalid empty entity type.")
        if kind in wanted:
            raise _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in TYPES:
            raise RefusedError(
                ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind[:NAME_LENGTH_MAX]}"
            )
        if match == EXACT and name is None:
            raise _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
        if match in {DEFAULT, SPECIFIED} and name is not None:
            which = "DEFAULT" if match == DEFAULT else "SPECIFIED"
            raise _invalid(
                f"Request specified MATCH_TYPE_{which}, but also specified a match string."
            )
        if match not in {EXACT, DEFAULT, SPECIFIED}:
            raise _invalid(f"Unknown match type {match}")
        wanted[kind] = _Wanted(match == SPECIFIED, name)
    if IP in wanted and len(wanted) > 1:
        raise _invalid(
            "Invalid entity filter component combination. IP filter component should not be used"
            " with user or clientId filter component."
        )
    return wanted


def _matches(entity: Mapping[str, str | None], wanted: Mapping[str, _Wanted]) -> bool:
    return all(
        kind in entity and (one.any or entity[kind] == one.name) for kind, one in wanted.items()
    )


def _invalid(why: str) -> RefusedError:
    return RefusedError(ErrorCode.INVALID_REQUEST, why)
