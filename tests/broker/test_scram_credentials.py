"""Users of SCRAM mechanisms, described and altered by clients (KIP-554). Compared with a Kafka in
tests/embedded/test_sasl_differential.py.
"""

import hashlib

import pytest
from broker_world import World

from kcore.broker import BrokerConfig
from kcore.broker.sasl import users as users_module
from kcore.broker.sasl.config import SaslConfig
from kcore.broker.sasl.scram import credential_of
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

Alter, Describe = m.AlterUserScramCredentialsRequest, m.DescribeUserScramCredentialsRequest
HASHES = {1: "sha256", 2: "sha512"}
NAMES = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


@pytest.fixture
def world():
    world = World(config=BrokerConfig(sasl=SaslConfig(users={"alice": "secret"})))
    world.asking = world.client()
    link = world.nodes[1]._links.get(world.asking.number)
    link.sasl = None  # it is not asked who it is
    yield world
    assert not world.faults


def upsert(name="bob", mechanism=1, password="secret", iterations=4_096, salt=b"salt"):
    salted = hashlib.pbkdf2_hmac(HASHES.get(mechanism, "sha1"), password.encode(), salt, iterations)
    return Alter.ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=salted
    )


def delete(name="bob", mechanism=1):
    return Alter.ScramCredentialDeletion(name=name, mechanism=mechanism)


def alter(world, *changes):
    gone = [one for one in changes if isinstance(one, Alter.ScramCredentialDeletion)]
    rest = [one for one in changes if one not in gone]
    answer = world.asking.ask(Alter(deletions=gone, upsertions=rest))
    return {row.user: (ErrorCode(row.error_code).name, row.error_message) for row in answer.results}


def describe(world, *names):
    wanted = [Describe.UserName(name=name) for name in names]
    answer = world.asking.ask(Describe(users=wanted))
    return {
        row.user: row.error_message
        or [(info.mechanism, info.iterations) for info in row.credential_infos]
        for row in answer.results
    }


def test_users_come_change_and_go(world):
    users = world.cluster.users
    assert describe(world) == {"alice": [(1, 4_096), (2, 4_096)]}
    assert alter(world, upsert()) == {"bob": ("NONE", None)}
    assert users.credential("bob", NAMES[1]) == credential_of(NAMES[1], "secret", b"salt", 4_096)
    assert users.credential("bob", NAMES[2]) is None
    assert not users.has_password("bob", "secret")
    assert alter(world, upsert(mechanism=2, iterations=8_192)) == {"bob": ("NONE", None)}
    assert alter(world, upsert(password="other")) == {"bob": ("NONE", None)}
    assert users.credential("bob", NAMES[1]) == credential_of(NAMES[1], "other", b"salt", 4_096)
    assert describe(world, "bob") == {"bob": [(1, 4_096), (2, 8_192)]}
    both = {"bob": ("NONE", None), "alice": ("NONE", None)}
    assert alter(world, delete(), delete("alice")) == both
    assert describe(world) == {"alice": [(2, 4_096)], "bob": [(2, 8_192)]}
    assert users.has_password("alice", "secret")
    assert alter(world, delete(mechanism=2)) == {"bob": ("NONE", None)}
    assert list(describe(world)) == ["alice"]


TWICE = ("DUPLICATE_RESOURCE", "A user credential cannot be altered twice in the same request")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([upsert(""), upsert()], {"": ("UNACCEPTABLE_CREDENTIAL", "Username must not be empty")}),
        ([upsert(mechanism=3)], {"bob": ("UNSUPPORTED_SASL_MECHANISM", "Unknown SCRAM mechanism")}),
        ([upsert(iterations=4_095)], {"bob": ("UNACCEPTABLE_CREDENTIAL", "Too few iterations")}),
        ([upsert(iterations=16_385)], {"bob": ("UNACCEPTABLE_CREDENTIAL", "Too many iterations")}),
        ([delete()], {"bob": ("RESOURCE_NOT_FOUND",
                              "Attempt to delete a user credential that does not exist")}),
        ([delete("a", 0)], {"a": ("UNSUPPORTED_SASL_MECHANISM", "Unknown SCRAM mechanism")}),
        ([upsert("b"), upsert("b", 2)], {"b": TWICE}),
        ([delete("alice"), upsert("alice")], {"alice": TWICE}),
        ([delete("alice"), delete("alice", 2)], {"alice": TWICE}),
        ([upsert("b"), upsert("b", 2), upsert("b")], {"b": TWICE}),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_the_rest_is_done(world, changes, said):
    answer = alter(world, *changes, upsert("other"))
    assert {user: row for user, row in answer.items() if row[0] != "NONE"} == said
    assert describe(world, "other") == {"other": [(1, 4_096)]}
    assert describe(world, "alice") == {"alice": [(1, 4_096), (2, 4_096)]}


def test_who_is_not_there_or_named_twice(world):
    once = "Cannot describe SCRAM credentials for the same user twice in a single request: alice"
    assert describe(world, "alice", "bob", "alice") == {
        "alice": once,
        "bob": "Attempt to describe a user credential that does not exist: bob",
    }
    assert list(world.asking.ask(Describe(users=None)).results[0].user) == list("alice")


def test_there_are_not_endlessly_many(world, monkeypatch):
    monkeypatch.setattr("kcore.broker.apis.alter_user_scram_credentials.USERS_MAX", 2)
    assert alter(world, upsert("b")) == {"b": ("NONE", None)}
    assert alter(world, upsert("c"))["c"][0] == "POLICY_VIOLATION"
    assert alter(world, upsert("b", 2)) == {"b": ("NONE", None)}
    assert users_module.USERS_MAX > 1_000


def test_brokers_that_ask_nobody_keep_users_too():
    """As a Kafka without SASL does: they may be there before the listener is."""
    world = World()
    world.asking = world.client()
    assert describe(world) == {}
    assert alter(world, upsert()) == {"bob": ("NONE", None)}
    assert describe(world) == {"bob": [(1, 4_096)]}
