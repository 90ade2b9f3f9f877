"""Access control lists and SCRAM credentials: values, and what a scripted cluster says of them."""

import pickle

import pytest
from scripted_admin import READS, SHA_256, SHA_512, WRITES, admin_world

from kcore import errors
from kcore.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kcore.admin.acls import create_acls, delete_acls, describe_acls
from kcore.admin.scram import (
    Alteration,
    Salted,
    alter_user_scram_credentials,
    describe_user_scram_credentials,
)
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

# Values -------------------------------------------------------------------------------------------


def test_words_and_numbers_stand_for_enums():
    pattern = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "t", ACLResourcePatternType.PREFIXED)
    assert pattern == ResourcePattern("transactional-id", "t", 4)
    assert ResourcePattern("topic", "t").pattern_type is ACLResourcePatternType.LITERAL
    entry = ACL("User:a", "*", "describe_configs", 3, pattern)
    assert entry.operation is ACLOperation.DESCRIBE_CONFIGS
    assert entry.permission_type is ACLPermissionType.ALLOW
    assert {entry, pickle.loads(pickle.dumps(entry))} == {entry}
    assert ACLFilter() == ACLFilter(None, None, "any", "any", ResourcePatternFilter("any", None, 1))
    assert isinstance(entry, ACLFilter)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ACL("User:a", "*", "any", "allow", ResourcePattern("topic", "t")),
        lambda: ACL("User:a", "*", "read", "any", ResourcePattern("topic", "t")),
        lambda: ACL("User:a", "*", "read", "allow", ResourcePatternFilter("topic", "t")),
        lambda: ACL(None, "*", "read", "allow", ResourcePattern("topic", "t")),
        lambda: ACL("User:a", None, "read", "allow", ResourcePattern("topic", "t")),
        lambda: ACL("User:a", "*", "peek", "allow", ResourcePattern("topic", "t")),
        lambda: ResourcePattern("any", "t"),
        lambda: ResourcePattern("topic", None),
        lambda: ResourcePattern("topic", "t", "match"),
        lambda: UserScramCredentialDeletion("u", "md5"),
        lambda: UserScramCredentialUpsertion("u", ScramMechanism.UNKNOWN, "p"),
    ],
)
def test_what_cannot_be_is_refused(make):
    with pytest.raises(errors.IllegalArgumentError):
        make()


def test_passwords_are_not_shown():
    one = UserScramCredentialUpsertion("u", "scram-sha-256", "s3cret", salt=b"s4lt")
    assert one.mechanism is ScramMechanism.SCRAM_SHA_256
    salted = Salted(4096, b"s4lt", b"h4shed")
    cls = m.AlterUserScramCredentialsRequest
    sent = cls(upsertions=[cls.ScramCredentialUpsertion(name="u", salted_password=b"h4shed")])
    signed_in = m.SaslAuthenticateRequest(auth_bytes=b"\0u\0s3cret")
    for shown in (one, salted, Alteration("u", SHA_256, salted), sent, signed_in):
        text = f"{shown!r} {shown}"
        assert "s3cret" not in text
        assert "h4shed" not in text
    assert "name='u'" in repr(sent)


# Access control lists -----------------------------------------------------------------------------


def test_entries_are_told():
    _, cluster, client = admin_world()
    R = m.DescribeAclsResponse
    rows = [
        R.AclDescription(principal="User:a", host="*", operation=3, permission_type=3),
        R.AclDescription(principal="User:b", host="h", operation=99, permission_type=1),
    ]
    found = R.DescribeAclsResource(resource_type=2, resource_name="t", pattern_type=3, acls=rows)
    strange = R.DescribeAclsResource(
        resource_type=1, resource_name="", pattern_type=2, acls=rows[:1]
    )
    cluster.script[ApiKey.DESCRIBE_ACLS] = lambda *_: R(resources=[found, strange])
    told, error = client.run(describe_acls(ACLFilter("User:a")))
    assert error is errors.NoError
    assert told[0] == READS
    newer = told[1]  # than we are
    assert (newer.principal, newer.host) == ("User:b", "h")
    assert (newer.operation.name, newer.permission_type.name) == ("UNKNOWN", "UNKNOWN")
    assert told[2].resource_pattern.resource_type is ResourceType.UNKNOWN
    (asked,) = [one for _, api, one in cluster.asked if api is ApiKey.DESCRIBE_ACLS]
    assert (asked.principal_filter, asked.host_filter) == ("User:a", None)
    assert (asked.resource_type_filter, asked.pattern_type_filter) == (1, 1)


def test_each_entry_that_is_made_has_its_own_end():
    _, cluster, client = admin_world()
    R = m.CreateAclsResponse
    refused = R.AclCreationResult(error_code=ErrorCode.INVALID_REQUEST, error_message="Nope.")
    cluster.script[ApiKey.CREATE_ACLS] = lambda *_: R(results=[R.AclCreationResult(), refused])
    found = client.run(create_acls([READS, WRITES, READS], raise_errors=False))
    assert found == {"succeeded": [READS, READS], "failed": [errors.InvalidRequestError]}
    with pytest.raises(
        errors.InvalidRequestError, match="of User:a for topic 't': Nope; princ"
    ) as e:
        client.run(create_acls([READS, WRITES], raise_errors=True))
    assert list(e.value.failed) == [WRITES]
    assert list(e.value.done) == [READS]


def test_what_a_filter_could_not_delete_is_its_error():
    _, cluster, client = admin_world()
    R = m.DeleteAclsResponse

    def match(principal, code=0):
        return R.DeleteAclsMatchingAcl(
            error_code=code,
            resource_type=2,
            resource_name="t",
            principal=principal,
            host="*",
            operation=3,
            permission_type=3,
        )

    some = [match("User:a"), match("User:b", ErrorCode.CLUSTER_AUTHORIZATION_FAILED)]
    results = [R.DeleteAclsFilterResult(matching_acls=some), R.DeleteAclsFilterResult()]
    cluster.script[ApiKey.DELETE_ACLS] = lambda *_: R(filter_results=results)
    every = ACLFilter()
    assert client.run(delete_acls([every, READS], raise_errors=False)) == [
        (every, [READS], errors.ClusterAuthorizationFailedError),
        (READS, [], errors.NoError),
    ]
    with pytest.raises(errors.ClusterAuthorizationFailedError, match="of User:b for topic 't'"):
        client.run(delete_acls([every, READS], raise_errors=True))


def test_an_answer_that_is_too_short_is_asked_for_again():
    _, cluster, client = admin_world()
    R = m.CreateAclsResponse
    cluster.first(ApiKey.CREATE_ACLS, R(results=[R.AclCreationResult()]))
    found = client.run(create_acls([READS, WRITES], raise_errors=True))
    assert found["succeeded"] == [READS, WRITES]
    asked = [one for _, api, one in cluster.asked if api is ApiKey.CREATE_ACLS]
    assert [len(one.creations) for one in asked] == [2, 1]


def test_brokers_without_an_authorizer():
    _, cluster, client = admin_world()
    for api, procedure in (
        (ApiKey.DESCRIBE_ACLS, describe_acls(ACLFilter())),
        (ApiKey.CREATE_ACLS, create_acls([READS], raise_errors=True)),
        (ApiKey.DELETE_ACLS, delete_acls([READS], raise_errors=True)),
    ):
        cluster.always(api, ErrorCode.SECURITY_DISABLED)
        with pytest.raises(errors.SecurityDisabledError, match=r"authorizer\.class\.name"):
            client.run(procedure)


@pytest.mark.parametrize("version", [1, 2])
def test_users_are_resources_of_newer_brokers(version):
    user = ACL("User:a", "*", "create_tokens", "allow", ResourcePattern("user", "u"))
    for api, procedure in (
        (ApiKey.DESCRIBE_ACLS, lambda: describe_acls(user)),
        (ApiKey.CREATE_ACLS, lambda: create_acls([user], raise_errors=True)),
        (ApiKey.DELETE_ACLS, lambda: delete_acls([user], raise_errors=True)),
    ):
        _, cluster, client = admin_world()
        cluster.apis[api] = (1, version)
        with pytest.raises(errors.UnsupportedVersionError, match=r"before 3\.3"):
            client.run(procedure())
        assert cluster.count(api) == 0


# SCRAM credentials --------------------------------------------------------------------------------


def test_users_are_described_one_by_one():
    _, cluster, client = admin_world()
    R = m.DescribeUserScramCredentialsResponse
    kind = R.DescribeUserScramCredentialsResult
    info = R.CredentialInfo(mechanism=2, iterations=8192)
    there = kind(user="u", credential_infos=[info])
    missing = kind(user="v", error_code=ErrorCode.RESOURCE_NOT_FOUND, error_message="No such user")
    cluster.script[ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS] = lambda *_: R(results=[there, missing])
    found = client.run(describe_user_scram_credentials(["u", "v", "u"]))
    assert found["u"] == {
        "error": None,
        "credential_infos": [{"mechanism": SHA_512, "iterations": 8192}],
    }
    assert "No such user" in found["v"]["error"]
    assert found["v"]["credential_infos"] == []
    cluster.always(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    for users in (["u"], None):
        with pytest.raises(errors.ClusterAuthorizationFailedError):
            client.run(describe_user_scram_credentials(users))


def test_who_may_not_describe_everybody_is_answered():
    """Kafka 4.3 leaves a question without a list unanswered; an empty one means the same."""
    _, cluster, client = admin_world()
    client.run(describe_user_scram_credentials(None))
    (asked,) = [
        one for _, api, one in cluster.asked if api is ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS
    ]
    assert asked.users == []


def test_who_describes_nobody_does_not_ask_for_everybody():
    _, cluster, client = admin_world()
    assert client.run(describe_user_scram_credentials([])) == {}
    assert cluster.count(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS) == 0


def test_a_user_who_is_altered_twice_is_so_one_after_the_other():
    _, cluster, client = admin_world()
    salted = Salted(4096, b"s", b"p")
    changes = [
        Alteration("u", SHA_256, salted),
        Alteration("u", SHA_512, None),
        Alteration("v", SHA_512, salted),
    ]
    cluster.first(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, None, ErrorCode.UNACCEPTABLE_CREDENTIAL)
    found = client.run(alter_user_scram_credentials(changes, raise_errors=False))
    assert found["v"] is None
    assert "UNACCEPTABLE_CREDENTIAL" in found["u"]
    asked = [one for _, api, one in cluster.asked if api is ApiKey.ALTER_USER_SCRAM_CREDENTIALS]
    assert [([one.name for one in two.deletions], [one.name for one in two.upsertions])
            for two in asked] == [([], ["u", "v"]), (["u"], [])]  # fmt: skip
    assert asked[0].upsertions[0].salted_password == b"p"
    cluster.first(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, ErrorCode.UNACCEPTABLE_CREDENTIAL)
    with pytest.raises(errors.UnacceptableCredentialError) as caught:
        client.run(alter_user_scram_credentials(changes, raise_errors=True))
    assert list(caught.value.failed) == ["u", "v"]
    assert not caught.value.done
