"""Access control lists and SCRAM credentials on a real Kafka that has an authorizer, by kcore's
admin clients and by kafka-python's; and that they do what they say.
"""

import logging

import kafka as kafka_python
import pages
import pytest
from admins import ADMINS, until
from certificates import missing
from confluent_kafka import admin as confluents
from kafka import admin as their_admin
from leftovers import KAFKA_PYTHON
from secure_kafka import PASSWORD, USER, SecureKafka

import kcore
from kcore import errors
from kcore.admin import (
    ACL,
    ACLFilter,
    ClientQuotaMatch,
    ResourcePattern,
    ResourcePatternFilter,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    *KAFKA_PYTHON,
]

ALL = ACLFilter()
MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")


class GuardedKafka(SecureKafka):
    """Who has not said who he is may do everything; all others what entries allow."""

    def broker_settings(self, index):
        return super().broker_settings(index) | {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }


@pytest.fixture(scope="module")
def guarded():
    with GuardedKafka() as kafka:
        kafka.create_topic("t")
        yield kafka


@pytest.fixture
def theirs(guarded):
    client = kafka_python.KafkaAdminClient(bootstrap_servers=guarded.bootstrap)
    yield client
    client.close()


@pytest.fixture(params=list(ADMINS))
def ours(request, guarded):
    client = ADMINS[request.param](bootstrap_servers=guarded.bootstrap)
    client.delete_acls([ALL], raise_errors=True)
    until(lambda: client.describe_acls(ALL)[0], [])
    yield client
    client.close()


def signed_in(guarded, mechanism="SCRAM-SHA-256", user=USER, password=PASSWORD):
    return kcore.Admin(
        bootstrap_servers=guarded.address("SASL"),
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_plain_username=user,
        sasl_plain_password=password,
        bootstrap_timeout_ms=5_000,
    )


def plain(entries):
    """Entries of either library, in no order."""
    return {
        (
            *(one.principal, one.host, one.operation.name, one.permission_type.name),
            one.resource_pattern.resource_type.name,
            one.resource_pattern.resource_name,
            one.resource_pattern.pattern_type.name,
        )
        for one in entries
    }


def entry(operation="read", principal=f"User:{USER}", permission="allow", pattern=None):
    return ACL(principal, "*", operation, permission, pattern or ResourcePattern("topic", "t"))


def their_filter(one):
    resource = one.resource_pattern
    return their_admin.ACLFilter(
        one.principal,
        one.host,
        their_admin.ACLOperation(one.operation),
        their_admin.ACLPermissionType(one.permission_type),
        their_admin.ResourcePatternFilter(
            their_admin.ResourceType(resource.resource_type),
            resource.resource_name,
            their_admin.ACLResourcePatternType(resource.pattern_type),
        ),
    )


# Access control lists -----------------------------------------------------------------------------

ENTRIES = [
    entry(),
    entry("write", permission="deny"),
    entry("describe", "User:*", pattern=ResourcePattern("topic", "t", "prefixed")),
    entry("read", pattern=ResourcePattern("group", "*")),
    entry("cluster_action", pattern=ResourcePattern("cluster", "kafka-cluster")),
    entry("all", pattern=ResourcePattern("transactional_id", "tx")),
    entry("describe_tokens", pattern=ResourcePattern("user", "u")),
]
FILTERS = [
    ALL,
    ACLFilter(principal="User:*"),
    ACLFilter(operation="read", permission_type="allow"),
    ACLFilter(resource_pattern=ResourcePatternFilter("topic", "tt", "match")),
    ACLFilter(resource_pattern=ResourcePatternFilter("topic", "t", "literal")),
    ACLFilter(resource_pattern=ResourcePatternFilter("topic", "t", "prefixed")),
    ACLFilter(host="127.0.0.1"),
    entry("write", permission="deny"),
]


def test_entries_are_created_found_and_deleted(ours, theirs):
    assert ours.create_acls(ENTRIES) == {"succeeded": ENTRIES, "failed": []}
    assert ours.create_acls(ENTRIES[:1]) == {"succeeded": ENTRIES[:1], "failed": []}
    until(lambda: plain(ours.describe_acls(ALL)[0]), plain(ENTRIES))
    sizes = []
    for one in FILTERS:
        found, error = ours.describe_acls(one)
        assert error is errors.NoError
        assert set(found) <= set(ENTRIES)
        assert plain(found) == plain(theirs.describe_acls(their_filter(one))[0])
        assert plain(ours.describe_acls(their_filter(one))[0]) == plain(found)
        sizes.append(len(found))
    assert sizes == [7, 1, 2, 1, 2, 1, 0, 1]
    gone = ours.delete_acls([FILTERS[1], FILTERS[6]])
    assert gone == [
        (FILTERS[1], [ENTRIES[2]], errors.NoError),
        (FILTERS[6], [], errors.NoError),
    ]
    until(lambda: len(ours.describe_acls(ALL)[0]), len(ENTRIES) - 1)
    ((_, gone, error),) = ours.delete_acls([ALL])
    assert (plain(gone), error) == (plain(ENTRIES) - plain([ENTRIES[2]]), errors.NoError)


def test_entries_of_others_are_taken(ours, theirs):
    def of_kafka_python(principal):
        pattern = their_admin.ResourcePattern(their_admin.ResourceType.TOPIC, "t")
        operation, allow = their_admin.ACLOperation.READ, their_admin.ACLPermissionType.ALLOW
        return their_admin.ACL(principal, "*", operation, allow, pattern)

    of_confluent = confluents.AclBinding(
        confluents.ResourceType.TOPIC,
        "c",
        confluents.ResourcePatternType.LITERAL,
        "User:c",
        "*",
        confluents.AclOperation.WRITE,
        confluents.AclPermissionType.DENY,
    )
    ours.create_acls([of_kafka_python("User:k"), of_confluent], raise_errors=True)
    wanted = [
        entry(principal="User:k"),
        entry("write", "User:c", "deny", ResourcePattern("topic", "c")),
    ]
    until(lambda: plain(ours.describe_acls(ALL)[0]), plain(wanted))
    refused = theirs.create_acls([of_kafka_python("nobody")])["failed"]
    found = ours.create_acls([of_kafka_python("nobody"), of_kafka_python("User:k")])
    assert [kind.__name__ for kind in refused] == ["InvalidRequestError"]
    assert found == {"succeeded": [wanted[0]], "failed": [errors.InvalidRequestError]}
    wrong = entry("alter", pattern=ResourcePattern("cluster", "mine"))
    with pytest.raises(errors.InvalidRequestError, match="kafka-cluster") as caught:
        ours.create_acls([wrong, wanted[0]], raise_errors=True)
    assert list(caught.value.failed) == [wrong]


def test_entries_are_obeyed(ours, guarded):
    def seen():
        with signed_in(guarded) as alice:
            return alice.list_topics()

    assert seen() == []
    allowed = entry("describe")
    ours.create_acls([allowed], raise_errors=True)
    until(seen, ["t"])
    denied = entry("describe", permission="deny", pattern=ResourcePattern("topic", "*"))
    ours.create_acls([denied], raise_errors=True)
    until(seen, [])
    ours.delete_acls([denied], raise_errors=True)
    until(seen, ["t"])
    with signed_in(guarded) as alice:
        for call in (
            lambda: alice.describe_acls(ALL),
            lambda: alice.create_acls([allowed], raise_errors=True),
            lambda: alice.delete_acls([allowed], raise_errors=True),
            lambda: alice.alter_user_scram_credentials(
                [UserScramCredentialDeletion(USER, 1)], raise_errors=True
            ),
            alice.describe_user_scram_credentials,
        ):
            with pytest.raises(errors.ClusterAuthorizationFailedError, match="grant"):
                call()
        assert alice.create_acls([allowed])["failed"] == [errors.ClusterAuthorizationFailedError]


def test_brokers_without_an_authorizer(kafka):
    with kcore.Admin(bootstrap_servers=kafka.bootstrap) as admin:
        with pytest.raises(errors.SecurityDisabledError, match=r"authorizer\.class\.name"):
            admin.describe_acls(ALL)
        assert admin.create_acls([entry()])["failed"] == [errors.SecurityDisabledError]
        assert admin.delete_acls([ALL]) == [(ALL, [], errors.SecurityDisabledError)]


# SCRAM credentials --------------------------------------------------------------------------------


def gets_in(guarded, mechanism, user, password):
    try:
        signed_in(guarded, mechanism, user, password).close()
    except errors.SaslAuthenticationFailedError:
        return False
    return True


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_user_of_ours_gets_in_with_the_last_password(ours, theirs, guarded, mechanism, caplog):
    caplog.set_level(logging.DEBUG)
    user, number = "bob=,", ScramMechanism.of(mechanism)
    first = UserScramCredentialUpsertion(user, mechanism, "first-s3cret")
    assert ours.alter_user_scram_credentials([first]) == {user: None}
    until(lambda: gets_in(guarded, mechanism, user, "first-s3cret"), True)
    assert not gets_in(guarded, mechanism, user, "second-s3cret")
    second = UserScramCredentialUpsertion(user, number, b"second-s3cret", 8192, b"salt" * 6)
    assert ours.alter_user_scram_credentials([second]) == {user: None}
    until(lambda: gets_in(guarded, mechanism, user, "second-s3cret"), True)
    assert not gets_in(guarded, mechanism, user, "first-s3cret")
    found = ours.describe_user_scram_credentials([user])
    assert found == {
        user: {"error": None, "credential_infos": [{"mechanism": number, "iterations": 8192}]}
    }
    assert found == theirs.describe_user_scram_credentials([user])
    assert ours.alter_user_scram_credentials([UserScramCredentialDeletion(user, mechanism)]) == {
        user: None
    }
    until(lambda: gets_in(guarded, mechanism, user, "second-s3cret"), False)
    assert "s3cret" not in caplog.text


def test_users_beside_kafka_python(ours, theirs):
    assert ours.describe_user_scram_credentials() == theirs.describe_user_scram_credentials()
    assert ours.describe_user_scram_credentials()[USER]["error"] is None
    missing, other = (
        client.describe_user_scram_credentials(["nobody"])["nobody"] for client in (ours, theirs)
    )
    assert missing["credential_infos"] == other["credential_infos"] == []
    assert other["error"].rstrip(".") in missing["error"]
    for ask, kind in (
        (lambda kinds: kinds.UserScramCredentialDeletion("nobody", "SCRAM-SHA-256"), "RESOURCE"),
        (
            lambda kinds: kinds.UserScramCredentialUpsertion("x", 1, "p", iterations=100),
            "UNACCEPTABLE",
        ),
        (
            lambda kinds: kinds.UserScramCredentialUpsertion("", 1, "p"),
            None,
        ),
    ):
        (said,) = theirs.alter_user_scram_credentials([ask(their_admin)]).values()
        if kind is None:
            with pytest.raises(errors.IllegalArgumentError):
                ours.alter_user_scram_credentials([ask(kcore.admin)])
            continue
        for kinds in (kcore.admin, their_admin):  # its objects are as good
            (found,) = ours.alter_user_scram_credentials([ask(kinds)]).values()
            assert kind in found
            assert said.rstrip(".") in found


def test_both_mechanisms_of_a_user_in_one_call(ours, guarded):
    both = [UserScramCredentialUpsertion("carol", kind, "c4rol") for kind in MECHANISMS]
    assert ours.alter_user_scram_credentials(both) == {"carol": None}
    for mechanism in MECHANISMS:
        until(lambda of=mechanism: gets_in(guarded, of, "carol", "c4rol"), True)
    gone = [UserScramCredentialDeletion("carol", kind) for kind in MECHANISMS]
    assert ours.alter_user_scram_credentials(gone) == {"carol": None}
    with pytest.raises(errors.ResourceNotFoundError, match="user carol"):
        ours.alter_user_scram_credentials(gone, raise_errors=True)


# Quotas -------------------------------------------------------------------------------------------


def test_quotas_beside_kafkas_own_tool(ours, guarded):
    rate = {"producer_byte_rate": 1024, "request_percentage": 12.5}
    entities = [{"user": "q"}, {"user": "q", "client-id": None}, {"user": None}, {"ip": "10.0.0.1"}]
    changes = [(entity, rate) for entity in entities[:3]]
    changes.append((entities[3], {"connection_creation_rate": 7}))
    wanted = [(entity, errors.NoError) for entity in entities]

    def told(components=None, **how):
        rows = ours.describe_client_quotas(components, **how)
        return [(row["entity"], row["quotas"]) for row in rows]

    assert ours.alter_client_quotas(changes, validate_only=True) == wanted
    assert told() == []
    assert ours.alter_client_quotas(changes) == wanted
    until(lambda: len(told()), 4)
    assert all(change in told() for change in changes)
    whose = ("--entity-type", "users", "--entity-name", "q")
    assert "request_percentage=12.5" in guarded.tool("kafka-configs", "--describe", *whose)
    assert len(told({"user": "q"})) == 2
    assert told({"user": "q"}, strict=True) == [({"user": "q"}, rate)]
    assert told({"user": None}) == [({"user": None}, rate)]
    assert len(told({"user": ClientQuotaMatch.ANY})) == 3  # the default, too
    wrong = ({"user": "q"}, {"nope": 1})
    assert ours.alter_client_quotas([wrong]) == [({"user": "q"}, errors.InvalidRequestError)]
    with pytest.raises(errors.InvalidRequestError, match=r"quotas of user .q.: .*nope"):
        ours.alter_client_quotas([wrong], raise_errors=True)
    gone = [(entity, dict.fromkeys(quotas)) for entity, quotas in changes]
    assert ours.alter_client_quotas(gone) == wanted
    until(told, [])


# The page -----------------------------------------------------------------------------------------


def test_the_examples_of_the_page(guarded):
    access, quotas = pages.python("docs/ADMIN.md")[2:4]
    assert ("create_acls" in access, "alter_client_quotas" in quotas) == (True, True)
    with kcore.Admin(bootstrap_servers=guarded.bootstrap) as admin:
        given = {"admin": admin, "password": "z0e"}
        exec(access.replace('alice"', 'zoe"'), given)
        until(lambda: gets_in(guarded, "SCRAM-SHA-512", "zoe", "z0e"), True)
        exec(quotas.replace('alice"', 'zoe"'), given)
        wanted = [{"entity": {"user": "zoe"}, "quotas": {"consumer_byte_rate": 1 << 20}}]
        until(lambda: admin.describe_client_quotas({"user": "zoe"}), wanted)
        gone = [({"user": "zoe"}, {"consumer_byte_rate": None})]
        admin.alter_client_quotas(gone, raise_errors=True)
