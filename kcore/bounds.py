"""Whether options of brokers are what they are annotated with: a text in place of a number would
be found out when it is first compared, by a thread that has no one to tell.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from kcore.errors import KafkaConfigurationError

_PLAIN: Final[dict[str, type | tuple[type, ...]]] = {
    "int": int,
    "float": (int, float),
    "bool": bool,
    "str": str,
}


def check_kinds(config: Any, *kinds: type) -> None:
    """KafkaConfigurationError: a field of a dataclass is of another kind than it is annotated with.
    Looked at are plain kinds, and these.
    """
    known = {**_PLAIN, **{kind.__name__: kind for kind in kinds}}
    for field in fields(config):
        kind, value = known.get(str(field.type)), getattr(config, field.name)
        if kind is None:
            continue
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise KafkaConfigurationError(
                f"{field.name}={value!r} ({type(value).__name__}): has to be {field.type}"
            )
