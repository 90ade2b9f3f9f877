"""Delegation tokens, as a scripted cluster tells of them."""

import pytest
from scripted_admin import admin_world

from kcore import errors
from kcore.admin import DelegationToken
from kcore.admin.tokens import (
    create_delegation_token,
    describe_delegation_token,
    expire_delegation_token,
    renew_delegation_token,
)
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

ALICE, BOB = ("User", "alice"), ("User", "bob")


def asked(cluster, api):
    return [one for _, known, one in cluster.asked if known is api]


@pytest.mark.parametrize(("version", "requester"), [(2, "User:alice"), (3, "User:bob")])
def test_a_token_is_created(version, requester):
    _, cluster, client = admin_world()
    cluster.apis[ApiKey.CREATE_DELEGATION_TOKEN] = (version, version)
    answer = m.CreateDelegationTokenResponse(
        principal_type="User",
        principal_name="alice",
        issue_timestamp_ms=1,
        expiry_timestamp_ms=2,
        max_timestamp_ms=3,
        token_id="t",
        hmac=b"s3cret",
    )
    if version > 2:
        answer.token_requester_principal_type, answer.token_requester_principal_name = BOB
    cluster.script[ApiKey.CREATE_DELEGATION_TOKEN] = lambda *_: answer
    found = client.run(create_delegation_token([BOB], None, 60_000))
    assert found == DelegationToken("t", b"s3cret", "User:alice", requester, ("User:bob",), 1, 2, 3)
    assert found.hmac_as_base64_string == "czNjcmV0"
    (sent,) = asked(cluster, ApiKey.CREATE_DELEGATION_TOKEN)
    (renewer,) = sent.renewers
    assert (renewer.principal_type, renewer.principal_name, sent.max_lifetime_ms) == (*BOB, 60_000)
    if version > 2:
        client.run(create_delegation_token([], ALICE, -1))
        sent = asked(cluster, ApiKey.CREATE_DELEGATION_TOKEN)[-1]
        assert (sent.owner_principal_type, sent.owner_principal_name) == ALICE
    else:
        with pytest.raises(errors.UnsupportedVersionError, match=r"before 3\.3"):
            client.run(create_delegation_token([], ALICE, -1))


def test_what_a_token_is_worth_is_not_shown():
    token = DelegationToken("t", b"s3cret", "User:a", "User:a", (), 1, 2, 3)
    for shown in (
        token,
        m.RenewDelegationTokenRequest(hmac=b"s3cret"),
        m.ExpireDelegationTokenRequest(hmac=b"s3cret"),
        m.CreateDelegationTokenResponse(hmac=b"s3cret"),
        m.DescribeDelegationTokenResponse(
            tokens=[m.DescribeDelegationTokenResponse.DescribedDelegationToken(hmac=b"s3cret")]
        ),
    ):
        assert "s3cret" not in f"{shown!r} {shown}"


def test_tokens_are_renewed_and_expire():
    _, cluster, client = admin_world()
    renewed = m.RenewDelegationTokenResponse(expiry_timestamp_ms=7)
    expired = m.ExpireDelegationTokenResponse(expiry_timestamp_ms=8)
    cluster.script[ApiKey.RENEW_DELEGATION_TOKEN] = lambda *_: renewed
    cluster.script[ApiKey.EXPIRE_DELEGATION_TOKEN] = lambda *_: expired
    assert client.run(renew_delegation_token(b"h", 5)) == 7
    assert client.run(expire_delegation_token(b"h", -1)) == 8
    (sent,) = asked(cluster, ApiKey.RENEW_DELEGATION_TOKEN)
    assert (sent.hmac, sent.renew_period_ms) == (b"h", 5)
    (sent,) = asked(cluster, ApiKey.EXPIRE_DELEGATION_TOKEN)
    assert (sent.hmac, sent.expiry_time_period_ms) == (b"h", -1)


@pytest.mark.parametrize(("version", "requester"), [(1, "User:alice"), (3, "User:bob")])
def test_tokens_are_told(version, requester):
    _, cluster, client = admin_world()
    cluster.apis[ApiKey.DESCRIBE_DELEGATION_TOKEN] = (version, version)
    R = m.DescribeDelegationTokenResponse
    row = R.DescribedDelegationToken(
        principal_type="User",
        principal_name="alice",
        issue_timestamp=1,
        expiry_timestamp=2,
        max_timestamp=3,
        token_id="t",
        hmac=b"h",
        renewers=[R.DescribedDelegationTokenRenewer(principal_type="User", principal_name="c")],
    )
    if version > 2:
        row.token_requester_principal_type, row.token_requester_principal_name = BOB
    cluster.script[ApiKey.DESCRIBE_DELEGATION_TOKEN] = lambda *_: R(tokens=[row])
    wanted = DelegationToken("t", b"h", "User:alice", requester, ("User:c",), 1, 2, 3)
    assert client.run(describe_delegation_token([ALICE])) == [wanted]
    assert client.run(describe_delegation_token(None)) == [wanted]
    some, every = asked(cluster, ApiKey.DESCRIBE_DELEGATION_TOKEN)
    assert [(one.principal_type, one.principal_name) for one in some.owners] == [ALICE]
    assert every.owners is None


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, "secret.key"),
        (ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, "says who it is"),
        (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, "renewers"),
    ],
)
def test_what_to_do_is_said(code, words):
    _, cluster, client = admin_world()
    cluster.always(ApiKey.RENEW_DELEGATION_TOKEN, code)
    with pytest.raises(errors.for_code(code), match=f"renewing a delegation token: .*{words}"):
        client.run(renew_delegation_token(b"h", -1))
