"""What brokers speak: their API versions, and which Kafka that is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcore import __version__
from kcore.admin.asking import Ask, Reply, Route
from kcore.admin.core import Procedure
from kcore.admin.values import BrokerVersionData
from kcore.cluster.release import release_of
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.messages import ApiVersionsRequest

_NAMED_SINCE = 3  # with the client's software (KIP-511)


def api_versions(broker_id: int | None) -> Procedure[BrokerVersionData]:
    """Of this broker, or (None) of any."""

    def build(_keys: list[Any], version: int, _limit_ms: int) -> ApiVersionsRequest:
        if version < _NAMED_SINCE:
            return ApiVersionsRequest()
        return ApiVersionsRequest(client_software_name="kcore", client_software_version=__version__)

    def read(body: Any, _version: int, keys: list[Any]) -> Iterable[Reply]:
        found = {_known(row.api_key): (row.min_version, row.max_version) for row in body.api_keys}
        yield Reply(keys[0], body.error_code, found)

    ask = Ask(
        ApiKey.API_VERSIONS,
        (broker_id,),
        "asking for the API versions of",
        build,
        read,
        route=Route.ANY if broker_id is None else Route.BROKER,
        name=lambda key: "any broker" if key is None else f"broker {key}",
    )
    (outcome,) = yield [ask]
    versions: dict[int, tuple[int, int]] = outcome.all_done()[broker_id]
    return BrokerVersionData(release_of(versions.get), versions)


def _known(number: int) -> int:
    """As one of ours, if it is one: those of brokers among themselves are plain numbers."""
    known = API_TABLE.get(number)  # type: ignore[call-overload]
    return number if known is None else known.key
