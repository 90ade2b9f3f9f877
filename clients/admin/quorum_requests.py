"""What admin clients are asked for about the quorum of controllers: arguments checked and made into
procedures, as in `requests.py`.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final
from uuid import UUID

from kcore.admin import RaftVoterEndpoint, quorum
from kcore.admin.core import Procedure
from kcore.clients.admin import arguments as args
from kcore.errors import IllegalArgumentError

_MAX_PORT: Final = 65_535
_BASE64_LENGTH: Final = 22  # of 16 bytes, without padding


def add_raft_voter(
    voter_id: object, directory_id: object, endpoints: object, cluster_id: object
) -> Procedure[None]:
    """Endpoints: RaftVoterEndpoint, or what has its fields or is a tuple of them."""
    return quorum.add_raft_voter(
        _node(voter_id, "voter_id"),
        _directory(directory_id),
        [_endpoint(one) for one in args.some(endpoints, "endpoints")],
        _cluster(cluster_id),
    )


def remove_raft_voter(
    voter_id: object, directory_id: object, cluster_id: object
) -> Procedure[None]:
    """A voter by its number and its directory."""
    return quorum.remove_raft_voter(
        _node(voter_id, "voter_id"), _directory(directory_id), _cluster(cluster_id)
    )


def unregister_broker(broker_id: object) -> Procedure[None]:
    """A broker by its number."""
    return quorum.unregister_broker(_node(broker_id, "broker_id"))


def unregister_controller(controller_id: object) -> Procedure[None]:
    """A controller by its number."""
    return quorum.unregister_controller(_node(controller_id, "controller_id"))


def _node(value: object, what: str) -> int:
    return args.count(value, what, 0)


def _cluster(value: object) -> str | None:
    return None if value is None else args.name(value, "cluster_id")


def _directory(value: object) -> UUID:
    """A UUID, or its text: as Kafka's tools write it (base64), or with hyphens."""
    if isinstance(value, UUID):
        return value
    text = args.string(value, "voter_directory_id")
    try:
        if len(text) == _BASE64_LENGTH:
            return UUID(bytes=base64.b64decode(text + "==", altchars=b"-_", validate=True))
        return UUID(text)
    except (ValueError, binascii.Error):
        raise IllegalArgumentError(
            "voter_directory_id: a UUID, or its text as meta.properties and "
            f"kafka-metadata-quorum have it, not {value!r}"
        ) from None


def _endpoint(value: Any) -> RaftVoterEndpoint:
    try:
        fields = value if isinstance(value, tuple) else (value.name, value.host, value.port)
        name, host, port = fields
    except (AttributeError, ValueError):
        raise TypeError(
            f"an endpoint is a RaftVoterEndpoint (name, host, port), not {value!r}"
        ) from None
    name = args.name(name, "an endpoint's name")
    if name != name.upper():
        raise IllegalArgumentError(
            f"an endpoint's name is that of a listener, in capitals: {name.upper()!r}, not {name!r}"
        )
    return RaftVoterEndpoint(
        name,
        args.name(host, "an endpoint's host"),
        args.count(port, "an endpoint's port", 1, _MAX_PORT),
    )
