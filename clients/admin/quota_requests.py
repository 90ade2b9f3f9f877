"""What admin clients are asked for about quotas: arguments checked and made into procedures, as in
`requests.py`.
"""

from __future__ import annotations

import math
from typing import Any, Final

from kcore.admin import ClientQuotaMatch, quotas
from kcore.admin.core import Procedure
from kcore.clients.admin import arguments as args
from kcore.errors import IllegalArgumentError, KafkaError

_TYPES: Final = ("user", "client-id", "ip")


def describe_client_quotas(components: object, *, strict: bool) -> Procedure[list[dict[str, Any]]]:
    """{entity type: name, None for the default, or ClientQuotaMatch.ANY}; None: everything."""
    what = "components must map entity types to names"
    given = {} if components is None else args.mapped(components, what)
    wanted = [_component(_type(kind), name) for kind, name in given.items()]
    return quotas.describe_client_quotas(wanted, strict=strict)


def _component(kind: str, name: object) -> quotas.QuotaComponent:
    if name is ClientQuotaMatch.ANY:
        return quotas.QuotaComponent(kind, ClientQuotaMatch.ANY, None)
    text = _name(kind, name)
    match = ClientQuotaMatch.DEFAULT if text is None else ClientQuotaMatch.EXACT
    return quotas.QuotaComponent(kind, match, text)


def alter_client_quotas(
    values: object, *, validate_only: bool, raise_errors: bool
) -> Procedure[list[tuple[dict[str, str | None], type[KafkaError]]]]:
    """[(entity, {quota: number a second, or None})]."""
    given = [_alteration(one) for one in args.listed(values, "alterations")]
    if len({one.entity for one in given}) < len(given):
        raise IllegalArgumentError("alterations: an entity is given twice")
    return quotas.alter_client_quotas(given, validate_only=validate_only, raise_errors=raise_errors)


def _alteration(one: object) -> quotas.QuotaAlteration:
    if not isinstance(one, tuple) or len(one) != 2:
        raise TypeError(f"alterations must be (entity, quotas), not {one!r}")
    entity = args.mapped(one[0], "an entity must map entity types to names")
    given = args.mapped(one[1], "quotas must map their names to numbers")
    if not entity or not given:
        raise IllegalArgumentError(f"an alteration has an entity and quotas: {one!r}")
    key = quotas.key_of((_type(kind), _name(kind, name)) for kind, name in entity.items())
    what = "the name of a quota"
    return quotas.QuotaAlteration(
        key, {args.string(name, what): _number(name, value) for name, value in given.items()}
    )


def _type(value: object) -> str:
    if value not in _TYPES:
        raise IllegalArgumentError(f"an entity type is one of {', '.join(_TYPES)}, not {value!r}")
    return str(value)


def _name(kind: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"the name of a {kind} must be a string, or None, not {value!r}")
    return value


def _number(name: object, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, or None, not {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise IllegalArgumentError(f"{name} must be finite, not {value!r}")
    return number
