"""What has a configuration (KIP-1142): listed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from kcore.admin.asking import Ask, Reply
from kcore.admin.core import Procedure
from kcore.admin.security import known
from kcore.admin.values import ConfigResourceType
from kcore.errors import UnsupportedVersionError
from kcore.wire.apis import ApiKey
from kcore.wire.messages import ListConfigResourcesRequest

_TYPES_SINCE: Final = 1  # before (KIP-714, Kafka 3.7) there are those of client metrics alone


def list_config_resources(
    types: Sequence[ConfigResourceType],
) -> Procedure[dict[str, list[str]]]:
    """kafka-python's {type: [name]} of these types, or of all that the broker lists."""

    def build(_keys: list[None], version: int, _limit_ms: int) -> ListConfigResourcesRequest:
        if version >= _TYPES_SINCE:
            return ListConfigResourcesRequest(resource_types=[int(one) for one in types])
        if set(types) != {ConfigResourceType.CLIENT_METRICS}:
            raise UnsupportedVersionError(
                "listing resources: this broker (before 4.1) lists those of the type "
                "CLIENT_METRICS alone"
            )
        return ListConfigResourcesRequest()

    def read(body: Any, _version: int, _keys: list[None]) -> Iterable[Reply]:
        found: dict[str, list[str]] = {}
        for row in body.config_resources:
            kind = known(ConfigResourceType, row.resource_type).name.lower()
            found.setdefault(kind, []).append(row.resource_name)
        yield Reply(None, body.error_code, found)

    ask = Ask(ApiKey.LIST_CONFIG_RESOURCES, (None,), "listing", build, read, name=_name)
    (outcome,) = yield [ask]
    found: dict[str, list[str]] = outcome.all_done()[None]
    return found


def _name(_key: None) -> str:
    return "what has a configuration"
