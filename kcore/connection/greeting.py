"""The first question on a link (ApiVersions): what the broker serves, and whether it is the broker
that is meant (KIP-1242), which only brokers since 4.4 can say.
"""

from __future__ import annotations

from kcore.connection.options import LinkOptions
from kcore.errors import DisconnectedError, KafkaError, ProtocolError, Unexpected
from kcore.hints import Final
from kcore.tuples import NamedTuple
from kcore.wire import frames
from kcore.wire.apis import ApiKey
from kcore.wire.messages import ApiVersionsRequest, ApiVersionsResponse

# In which it is asked where nobody in particular is meant; a broker that knows less answers in v0
# with its own range (KIP-511). Not in v4: it says nothing more of what is read here, and Azure
# Event Hubs hangs up.
VERSION: Final = 3
# In which a broker looks at who is meant.
CHECKED_VERSION: Final = 5

UNSUPPORTED_VERSION: Final = 35
_REBOOTSTRAP_REQUIRED: Final = 129


class Meant(NamedTuple):
    """Who is thought to be at an address: a broker of the cluster, by its id."""

    cluster_id: str
    node_id: int


def request(options: LinkOptions, version: int, meant: Meant | None) -> ApiVersionsRequest:
    """Its body. meant: has an effect from CHECKED_VERSION on."""
    message = ApiVersionsRequest()
    if version >= VERSION:
        message.client_software_name = options.software_name
        message.client_software_version = options.software_version
    if meant is not None and version >= CHECKED_VERSION:
        message.cluster_id, message.node_id = meant
    return message


def refusal(where: str, code: int, meant: Meant | None) -> KafkaError:
    """What the error code of an answer comes to."""
    if code == _REBOOTSTRAP_REQUIRED and meant is not None:
        return DisconnectedError(
            f"the broker at {where} is not node {meant.node_id} of the cluster "
            f"{meant.cluster_id!r}: has its address passed to another one?"
        )
    return Unexpected(f"{where} refused ApiVersions with error {code}")


def highest_of(frame: memoryview) -> int:
    """The highest version that a broker has which does not have the one that was asked in; 0 if it
    does not say.
    """
    try:
        # The rest is in v0 whatever was asked (KIP-511); not every peer keeps to that.
        api_keys = frames.decode_response(ApiVersionsResponse, 0, frame).api_keys
    except ProtocolError:
        return 0
    own = [key.max_version for key in api_keys if key.api_key == ApiKey.API_VERSIONS]
    return max([0, *own])


def looks(span: tuple[int, int] | None, options: LinkOptions) -> bool:
    """Whether a broker that serves these versions of ApiVersions looks at who is meant, and may be
    asked to.
    """
    highest = options.highest.get(ApiKey.API_VERSIONS, CHECKED_VERSION)
    return span is not None and min(span[1], highest) >= CHECKED_VERSION
