"""What admin clients are given about access, and refuse before anything is sent."""

import asyncio
import base64

import pytest

import kcore
from kcore.admin import (
    ACL,
    ACLFilter,
    ResourcePattern,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kcore.clients.admin import security_requests as requests

ALLOWED = ACL("User:a", "*", "read", "allow", ResourcePattern("topic", "t"))
Gone, Password = UserScramCredentialDeletion, UserScramCredentialUpsertion
NOWHERE = {"bootstrap_servers": "127.0.0.1:1", "api_version": (4, 0)}

BAD = [
    ("create_delegation_token", ("User:a",), TypeError),
    ("create_delegation_token", (["a"],), ValueError),
    ("create_delegation_token", (["User:"],), ValueError),
    ("create_delegation_token", ([7],), TypeError),
    ("create_delegation_token", ([], ":a"), ValueError),
    ("create_delegation_token", ([], None, -2), ValueError),
    ("renew_delegation_token", ("s3cret",), TypeError),
    ("renew_delegation_token", (b"h", -2), ValueError),
    ("expire_delegation_token", (None,), TypeError),
    ("expire_delegation_token", (b"h", "1"), TypeError),
    ("describe_delegation_token", ("User:a",), TypeError),
    ("describe_delegation_token", ([b"User:a"],), TypeError),
    ("describe_acls", (None,), TypeError),
    ("describe_acls", (ACLFilter(operation="unknown"),), ValueError),
    ("describe_acls", (ACLFilter(principal=7),), TypeError),
    ("create_acls", ([ACLFilter()],), ValueError),
    ("create_acls", (ALLOWED,), TypeError),
    ("create_acls", (["User:a"],), TypeError),
    ("delete_acls", (ACLFilter(),), TypeError),
    ("delete_acls", ([ResourcePattern("topic", "t")],), TypeError),
    ("describe_user_scram_credentials", ("u",), TypeError),
    ("describe_user_scram_credentials", ([None],), TypeError),
    ("describe_user_scram_credentials", ([""],), ValueError),
    ("describe_client_quotas", (["user"],), TypeError),
    ("describe_client_quotas", ({"users": "u"},), ValueError),
    ("describe_client_quotas", ({"user": 7},), TypeError),
    ("alter_client_quotas", ([{"user": "u"}],), TypeError),
    ("alter_client_quotas", ([({}, {"q": 1})],), ValueError),
    ("alter_client_quotas", ([({"user": "u"}, {})],), ValueError),
    ("alter_client_quotas", ([({"user": "u"}, {"q": "1"})],), TypeError),
    ("alter_client_quotas", ([({"user": "u"}, {"q": float("inf")})],), ValueError),
    ("alter_client_quotas", ([({"user": "u"}, {"q": 10**400})],), ValueError),
    ("alter_client_quotas", ([({"user": "u"}, {"q": 1})] * 2,), ValueError),
    ("alter_user_scram_credentials", (["u"],), TypeError),
    ("alter_user_scram_credentials", ([Gone("u", 1), Gone("u", "SCRAM-SHA-256")],), ValueError),
    ("alter_user_scram_credentials", ([Gone("", 1)],), ValueError),
    ("alter_user_scram_credentials", ([Password("u", 1, "")],), ValueError),
    ("alter_user_scram_credentials", ([Password("u", 1, None)],), TypeError),
    ("alter_user_scram_credentials", ([Password("u", 1, "p", 0)],), ValueError),
    ("alter_user_scram_credentials", ([Password("u", 1, "p", 4096, "salt")],), TypeError),
]


@pytest.mark.parametrize(("method", "args", "kind"), BAD, ids=[str(at) for at in range(len(BAD))])
def test_wrong_arguments_are_refused_before_anything_is_asked(method, args, kind):
    with kcore.Admin(**NOWHERE) as admin, pytest.raises(kind):
        getattr(admin, method)(*args)
    with pytest.raises(kind):  # it is not started
        asyncio.run(getattr(kcore.AsyncAdmin(**NOWHERE), method)(*args))


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("create_acls", {"succeeded": [], "failed": []}),
        ("delete_acls", []),
        ("describe_user_scram_credentials", {}),
        ("alter_user_scram_credentials", {}),
        ("alter_client_quotas", []),
    ],
)
def test_who_asks_for_nothing_is_given_nothing(method, result):
    with kcore.Admin(**NOWHERE) as admin:
        assert getattr(admin, method)([]) == result


@pytest.mark.parametrize("password", ["pencil", b"pencil"], ids=["text", "bytes"])
def test_passwords_are_salted_as_in_the_example_of_the_standard(password):
    """RFC 7677, section 3: the user "user" with the password "pencil"."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    one = Password("user", "SCRAM-SHA-256", password, 4096, salt)
    (asked,) = next(requests.alter_user_scram_credentials([one], raise_errors=True))
    (sent,) = asked.build(["user"], 0, 1_000).upsertions
    assert (sent.name, sent.mechanism, sent.iterations, sent.salt) == ("user", 1, 4096, salt)
    assert base64.b64encode(sent.salted_password) == b"xKSVEDI6tPlSysH6mUQZOeeOp01r6B3fcJbodRPcYV0="


def test_salts_are_random_and_long_enough():
    def salt():
        one = Password("u", ScramMechanism.SCRAM_SHA_512, "p")
        (asked,) = next(requests.alter_user_scram_credentials([one], raise_errors=True))
        (sent,) = asked.build(["u"], 0, 1_000).upsertions
        assert len(sent.salted_password) == 64
        return bytes(sent.salt)

    one, other = salt(), salt()
    assert len(one) >= 16
    assert one != other
