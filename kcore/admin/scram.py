"""SCRAM credentials of users (KIP-554): described, altered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kcore.admin.asking import Ask, Outcome, Reply, Route, of_all, plain_name
from kcore.admin.core import Procedure
from kcore.admin.security import ScramMechanism, known
from kcore.tuples import NamedTuple
from kcore.wire.apis import ApiKey
from kcore.wire.messages import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
)


class Salted(NamedTuple):
    """What brokers keep of a password, and nobody is to see in a log."""

    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return f"Salted(iterations={self.iterations})"


class Alteration(NamedTuple):
    """Of what a user has by a mechanism. salted: None: it goes."""

    user: str
    mechanism: ScramMechanism
    salted: Salted | None


# Describing ---------------------------------------------------------------------------------------


def describe_user_scram_credentials(
    users: Sequence[str] | None, *, raise_errors: bool = False
) -> Procedure[dict[str, dict[str, Any]]]:
    """kafka-python's {user: {"error": text or None, "credential_infos": [...]}}. None: all users.

    What is wrong with the whole question is raised.
    """
    if users is None:
        (every,) = yield [_ask_all()]
        return {row.user: _row(row) for row in every.all_done()[None]}

    def build(keys: list[str], _v: int, _limit_ms: int) -> DescribeUserScramCredentialsRequest:
        kind = DescribeUserScramCredentialsRequest.UserName
        return DescribeUserScramCredentialsRequest(users=[kind(name=user) for user in keys])

    def read(body: Any, _version: int, keys: list[str]) -> Iterable[Reply]:
        if body.error_code:
            yield from of_all(keys, body.error_code, body.error_message)
            return
        for row in body.results:
            yield Reply(row.user, row.error_code, row, row.error_message)

    ask = Ask(
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        tuple(dict.fromkeys(users)),  # none at all would be the question for all
        "describing the SCRAM credentials of user",
        build,
        read,
    )
    (outcome,) = yield [ask]
    outcome.check(raise_errors=raise_errors)
    return {
        user: _row(outcome.done[user]) if user in outcome.done else _refused(outcome, user)
        for user in ask.keys
    }


def _ask_all() -> Ask:
    def read(body: Any, _version: int, _keys: list[None]) -> Iterable[Reply]:
        yield Reply(None, body.error_code, body.results, body.error_message)

    # An empty list and none at all mean the same, but Kafka 4.3 never answers who asks with none
    # and may not.
    return Ask(
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        (None,),
        "describing the SCRAM credentials of",
        lambda _keys, _version, _limit_ms: DescribeUserScramCredentialsRequest(users=[]),
        read,
        name=lambda _key: "all users",
    )


def _row(row: Any) -> dict[str, Any]:
    return {
        "error": row.error_message if row.error_code else None,
        "credential_infos": [
            {"mechanism": known(ScramMechanism, info.mechanism), "iterations": info.iterations}
            for info in row.credential_infos
        ],
    }


def _refused(outcome: Outcome, user: str) -> dict[str, Any]:
    return {"error": str(outcome.failed[user]), "credential_infos": []}


# Altering -----------------------------------------------------------------------------------------


def alter_user_scram_credentials(
    alterations: Sequence[Alteration], *, raise_errors: bool
) -> Procedure[dict[str, str | None]]:
    """kafka-python's {user: text of what went wrong, or None}.

    A user who is altered twice is so one after the other: brokers take that for a repetition.
    """
    left = list(alterations)
    whole = Outcome(plain_name)
    while left:
        turn: dict[str, Alteration] = {}
        for one in left:
            turn.setdefault(one.user, one)
        left = [one for one in left if turn[one.user] is not one]
        (outcome,) = yield [_ask_alter(turn)]
        whole.done |= outcome.done
        whole.failed = outcome.failed | whole.failed
    for user in whole.failed:
        whole.done.pop(user, None)
    whole.check(raise_errors=raise_errors)
    users = dict.fromkeys(one.user for one in alterations)
    return {user: str(whole.failed[user]) if user in whole.failed else None for user in users}


def _ask_alter(turn: dict[str, Alteration]) -> Ask:
    def build(keys: list[str], _v: int, _limit_ms: int) -> AlterUserScramCredentialsRequest:
        cls = AlterUserScramCredentialsRequest
        request = cls()
        for one in (turn[user] for user in keys):
            if one.salted is None:
                gone = cls.ScramCredentialDeletion(name=one.user, mechanism=one.mechanism)
                request.deletions.append(gone)
            else:
                request.upsertions.append(
                    cls.ScramCredentialUpsertion(
                        name=one.user,
                        mechanism=one.mechanism,
                        iterations=one.salted.iterations,
                        salt=one.salted.salt,
                        salted_password=one.salted.salted_password,
                    )
                )
        return request

    def read(body: Any, _version: int, _keys: list[str]) -> Iterable[Reply]:
        for row in body.results:
            yield Reply(row.user, row.error_code, words=row.error_message)

    return Ask(
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        tuple(turn),
        "altering the SCRAM credentials of user",
        build,
        read,
        route=Route.CONTROLLER,
        changes=True,
    )
