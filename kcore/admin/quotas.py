"""Quotas of clients (KIP-546): described, altered.

An entity is whom a quota is for: {"user": "alice", "client-id": None}, None being the default, for
those who have none of their own. Types are "user", "client-id" and "ip".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcore.admin.asking import Ask, Reply, Route
from kcore.admin.core import Procedure
from kcore.admin.rows import verdict
from kcore.admin.values import ClientQuotaMatch
from kcore.errors import KafkaError
from kcore.tuples import NamedTuple
from kcore.wire.apis import ApiKey
from kcore.wire.messages import AlterClientQuotasRequest, DescribeClientQuotasRequest

Entity = tuple[tuple[str, str | None], ...]  # (type, name), by type


class QuotaAlteration(NamedTuple):
    """Of an entity these quotas become so many a second; None: they go."""

    entity: Entity
    quotas: Mapping[str, float | None]


class QuotaComponent(NamedTuple):
    """What entities are to be found: of this type, by a match."""

    entity_type: str
    match: ClientQuotaMatch
    name: str | None


def key_of(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """An entity by its types, in order."""
    return tuple(sorted(parts, key=lambda part: (part[0], part[1] or "")))


def _name(key: Entity | None) -> str:
    if key is None:
        return "them"
    return ", ".join(f"{kind} {'(default)' if name is None else repr(name)}" for kind, name in key)


def describe_client_quotas(
    components: Sequence[QuotaComponent], *, strict: bool
) -> Procedure[list[dict[str, Any]]]:
    """[{"entity": {type: name}, "quotas": {key: number}}] of entities that match all of these.
    strict: and have no other types.
    """

    def build(_keys: list[None], _version: int, _limit_ms: int) -> DescribeClientQuotasRequest:
        cls = DescribeClientQuotasRequest
        return cls(
            components=[
                cls.ComponentData(entity_type=one.entity_type, match_type=one.match, match=one.name)
                for one in components
            ],
            strict=strict,
        )

    def read(body: Any, _version: int, _keys: list[None]) -> Iterable[Reply]:
        found = [
            {
                "entity": {part.entity_type: part.entity_name for part in entry.entity},
                "quotas": {value.key: value.value for value in entry.values},
            }
            for entry in body.entries or ()
        ]
        yield Reply(None, body.error_code, found, body.error_message)

    ask = Ask(
        ApiKey.DESCRIBE_CLIENT_QUOTAS,
        (None,),
        "describing the quotas of clients: looking for",
        build,
        read,
        name=_name,
    )
    (outcome,) = yield [ask]
    found: list[dict[str, Any]] = outcome.all_done()[None]
    return found


def alter_client_quotas(
    alterations: Sequence[QuotaAlteration], *, validate_only: bool, raise_errors: bool
) -> Procedure[list[tuple[dict[str, str | None], type[KafkaError]]]]:
    """[(entity, the class of its error, or NoError)]."""
    wanted = {one.entity: one.quotas for one in alterations}

    def build(keys: list[Entity], _version: int, _limit_ms: int) -> AlterClientQuotasRequest:
        cls = AlterClientQuotasRequest
        return cls(
            entries=[
                cls.EntryData(
                    entity=[
                        cls.EntityData(entity_type=kind, entity_name=name) for kind, name in key
                    ],
                    ops=[
                        cls.OpData(key=name, value=value or 0.0, remove=value is None)
                        for name, value in wanted[key].items()
                    ],
                )
                for key in keys
            ],
            validate_only=validate_only,
        )

    def read(body: Any, _version: int, _keys: list[Entity]) -> Iterable[Reply]:
        for entry in body.entries:
            yield Reply(
                key_of((part.entity_type, part.entity_name) for part in entry.entity),
                entry.error_code,
                words=entry.error_message,
            )

    ask = Ask(
        ApiKey.ALTER_CLIENT_QUOTAS,
        tuple(wanted),
        "altering the quotas of",
        build,
        read,
        route=Route.CONTROLLER,
        changes=not validate_only,
        name=_name,
    )
    (outcome,) = yield [ask]
    outcome.check(raise_errors=raise_errors)
    return [(dict(key), verdict(outcome.failed.get(key))) for key in wanted]
