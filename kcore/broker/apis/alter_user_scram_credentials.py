"""AlterUserScramCredentials v0: users of SCRAM mechanisms come, go, change passwords (KIP-554)."""

from __future__ import annotations

from typing import Any, Final

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.sasl.users import ITERATIONS_MAX, ITERATIONS_MIN, USERS_MAX, Users
from kcore.wire.codes import ErrorCode
from kcore.wire.mechanisms import SCRAM_SHA_256, SCRAM_SHA_512
from kcore.wire.messages import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)

Result = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult

# Java: ScramMechanism.
NUMBERS: Final = {1: SCRAM_SHA_256, 2: SCRAM_SHA_512}


def handle(
    call: Call, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    """Each user by himself; one who is named twice is not altered at all."""
    users = call.node.cluster.users
    wanted: dict[str, Any] = {}
    refused: dict[str, RefusedError] = {}
    changes: list[Any] = [*request.deletions, *request.upsertions]
    for change in changes:
        if change.name in refused:
            continue
        try:
            if wanted.pop(change.name, None) is not None:
                raise RefusedError(
                    ErrorCode.DUPLICATE_RESOURCE,
                    "A user credential cannot be altered twice in the same request",
                )
            _check(users, change)
        except RefusedError as error:
            refused[change.name] = error
        else:
            wanted[change.name] = change
    for change in wanted.values():
        _alter(users, change)
    results = [Result(user=name, error_message=None) for name in wanted]
    results += [
        Result(user=name, error_code=error.code, error_message=error.why)
        for name, error in refused.items()
    ]
    return AlterUserScramCredentialsResponse(results=results)


def _check(users: Users, change: Any) -> None:
    """RefusedError if it cannot be."""
    unacceptable = ErrorCode.UNACCEPTABLE_CREDENTIAL
    if not change.name:
        raise RefusedError(unacceptable, "Username must not be empty")
    if change.mechanism not in NUMBERS:
        raise RefusedError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    known = users.iterations(change.name)
    if isinstance(change, AlterUserScramCredentialsRequest.ScramCredentialDeletion):
        if NUMBERS[change.mechanism] not in known:
            raise RefusedError(
                ErrorCode.RESOURCE_NOT_FOUND,
                "Attempt to delete a user credential that does not exist",
            )
        return
    if change.iterations < ITERATIONS_MIN:
        raise RefusedError(unacceptable, "Too few iterations")
    if change.iterations > ITERATIONS_MAX:
        raise RefusedError(unacceptable, "Too many iterations")
    if not known and len(users.with_credentials()) >= USERS_MAX:
        raise RefusedError(ErrorCode.POLICY_VIOLATION, f"{USERS_MAX} users are the most")


def _alter(users: Users, change: Any) -> None:
    mechanism = NUMBERS[change.mechanism]
    if isinstance(change, AlterUserScramCredentialsRequest.ScramCredentialDeletion):
        users.remove_credential(change.name, mechanism)
        return
    from kcore.broker.sasl.scram import credential_of_salted  # noqa: PLC0415 - OpenSSL

    credential = credential_of_salted(
        mechanism, bytes(change.salted_password), bytes(change.salt), change.iterations
    )
    users.set_credential(change.name, mechanism, credential)
