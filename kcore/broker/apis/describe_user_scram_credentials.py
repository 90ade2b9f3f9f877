"""DescribeUserScramCredentials v0: who has which (KIP-554). Keys and salts are not told."""

from __future__ import annotations

from collections import Counter

from kcore.broker.apis.alter_user_scram_credentials import NUMBERS
from kcore.broker.calls import Call
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

Result = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
Info = DescribeUserScramCredentialsResponse.CredentialInfo


def handle(
    call: Call, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    """Those that are named; all users if there are none."""
    users = call.node.cluster.users
    times = Counter(entry.name for entry in request.users or ())
    if not times:
        times.update(users.with_credentials())
    response = DescribeUserScramCredentialsResponse()
    for name, count in times.items():
        result = Result(user=name)
        found = users.iterations(name)
        if count > 1:
            result.error_code = ErrorCode.DUPLICATE_RESOURCE
            result.error_message = (
                "Cannot describe SCRAM credentials for the same user twice in a single request: "
                + name
            )
        elif not found:
            result.error_code = ErrorCode.RESOURCE_NOT_FOUND
            result.error_message = (
                f"Attempt to describe a user credential that does not exist: {name}"
            )
        else:
            result.credential_infos = [
                Info(mechanism=number, iterations=found[mechanism])
                for number, mechanism in NUMBERS.items()
                if mechanism in found
            ]
        response.results.append(result)
    return response
