"""Questions on their way: what is tried again, what is not, and until when."""

from uuid import UUID

import pytest
from scripted import CUT, SILENT
from scripted_admin import APIS, CHANGES, VERBS, admin_world

from kcore import errors
from kcore.admin import (
    NewTopic,
)
from kcore.admin.topics import (
    create_topics,
    describe_topics,
    list_topics,
)
from kcore.errors import KafkaTimeoutError, for_code
from kcore.timers import NEVER
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode

UNKNOWN = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID}
CODES = [code for code in ErrorCode if code is not ErrorCode.NONE and code not in UNKNOWN]
PASSING = [
    code for code in CODES if for_code(code).retriable or code is ErrorCode.REBOOTSTRAP_REQUIRED
]
LASTING = [code for code in CODES if code not in PASSING]
# What is said for good, though Kafka calls it retriable: by an election, of a replica's directory.
SAID = {
    (ApiKey.ELECT_LEADERS, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
    (ApiKey.ELECT_LEADERS, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
    (ApiKey.ELECT_LEADERS, ErrorCode.ELECTION_NOT_NEEDED),
    (ApiKey.ALTER_REPLICA_LOG_DIRS, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    (ApiKey.ALTER_REPLICA_LOG_DIRS, ErrorCode.REPLICA_NOT_AVAILABLE),
}


def by_name(api):
    return api.stem


# Versions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api", "version"),
    [(api, v) for api in APIS for v in range(API_TABLE[api][1], API_TABLE[api][2] + 1)],
    ids=lambda value: value.stem if isinstance(value, ApiKey) else str(value),
)
def test_every_version_is_spoken(api, version):
    _, cluster, client = admin_world()
    cluster.apis[api] = (version, version)
    by_ids = api in (ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH) and version == 10
    if by_ids or (api is ApiKey.METADATA and version == 0):  # "all topics" has no word there
        with pytest.raises((errors.UnsupportedVersionError, errors.UsageError)):
            client.run(VERBS[api]())
        return
    client.run(VERBS[api]())
    assert cluster.count(api)


def test_what_a_version_cannot_say_is_refused():
    world, cluster, client = admin_world()

    def refused(api, highest, procedure, words):
        cluster.apis[api] = (cluster.apis[api][0], highest)
        with pytest.raises(errors.UnsupportedVersionError, match=words):
            client.run(procedure)
        assert cluster.count(api) == 0

    for link in [*client.links]:
        world.cut(client, link)
    made = create_topics([NewTopic("a")], validate_only=False, raise_errors=True, wait=False)
    refused(ApiKey.CREATE_TOPICS, 3, made, "before 2.4.*num_partitions")


def test_topics_are_told_by_id_since_kafka_3_1():
    _, cluster, client = admin_world()
    cluster.apis[ApiKey.METADATA] = (cluster.apis[ApiKey.METADATA][0], 11)
    with pytest.raises(errors.UnsupportedVersionError, match=r"by id: .*before 3\.1"):
        client.run(describe_topics([UUID(int=7)]))


# Errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("api", APIS, ids=by_name)
def test_what_passes_is_tried_again(api):
    _, cluster, client = admin_world()
    for code in PASSING:
        cluster.asked.clear()
        said = ErrorCode.REBOOTSTRAP_REQUIRED if api is ApiKey.METADATA else code
        cluster.first(api, said, said)
        if (api, code) not in SAID:
            client.run(VERBS[api]())
            assert cluster.count(api) >= 3, code
            continue
        if code is ErrorCode.ELECTION_NOT_NEEDED:
            client.run(VERBS[api]())
        else:
            with pytest.raises(for_code(code)):
                client.run(VERBS[api]())
        assert cluster.count(api) == 1, code


# What is answered by asking another question, and so is not raised.
ASKED_ANEW = {
    (ApiKey.DESCRIBE_CLUSTER, ErrorCode.UNSUPPORTED_VERSION),
    (ApiKey.DESCRIBE_LOG_DIRS, ErrorCode.BROKER_NOT_AVAILABLE),
    (ApiKey.LIST_GROUPS, ErrorCode.BROKER_NOT_AVAILABLE),
    (ApiKey.LIST_TRANSACTIONS, ErrorCode.BROKER_NOT_AVAILABLE),
}


@pytest.mark.parametrize("api", [api for api in APIS if api is not ApiKey.METADATA], ids=by_name)
def test_what_lasts_is_raised_at_once(api):
    world, cluster, client = admin_world()
    for code in LASTING:
        if (api, code) in ASKED_ANEW:
            continue
        cluster.asked.clear()
        cluster.always(api, code)
        before = world.now
        with pytest.raises(for_code(code)) as caught:
            client.run(VERBS[api]())
        assert world.now - before < 100
        assert caught.value.errno == code
        assert caught.value.failed
        asked = [repr(message) for _, one, message in cluster.asked if one is api]
        assert len(asked) == len(set(zip(cluster.who_was_asked(api), asked, strict=True)))


@pytest.mark.parametrize(
    "api",
    [
        ApiKey.LIST_OFFSETS,
        ApiKey.DELETE_RECORDS,
        ApiKey.DESCRIBE_PRODUCERS,
        ApiKey.WRITE_TXN_MARKERS,
    ],
    ids=by_name,
)
def test_a_partition_that_is_not_there_is_believed_after_three_answers(api):
    world, cluster, client = admin_world()
    cluster.always(api, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        client.run(VERBS[api]())
    assert max(map(cluster.who_was_asked(api).count, (1, 2, 3))) == 3


@pytest.mark.parametrize("procedure", [VERBS[ApiKey.CREATE_TOPICS], VERBS[ApiKey.DELETE_TOPICS]])
def test_who_makes_and_deletes_topics_is_believed_at_once(procedure):
    _, cluster, client = admin_world()
    for api in (ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS):
        cluster.always(api, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        client.run(procedure())
    assert sum(map(cluster.count, (ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS))) == 1


# Links --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mishap",
    [CUT, SILENT, b"\0\0\0\4\0\0\0\0", b"\0\0\0\1x"],
    ids=["cut", "silent", "foreign", "garbled"],
)
@pytest.mark.parametrize("api", APIS, ids=by_name)
def test_an_answer_that_does_not_come_is_asked_for_again(api, mishap):
    _, cluster, client = admin_world(request_timeout_ms=1_000)
    cluster.first(api, mishap, mishap)
    client.run(VERBS[api]())
    assert cluster.count(api) >= 3


@pytest.mark.parametrize("api", APIS, ids=by_name)
def test_every_operation_ends_in_its_time(api):
    world, cluster, client = admin_world(request_timeout_ms=1_000)
    cluster.script[api] = lambda *_: SILENT
    before = world.now
    with pytest.raises(KafkaTimeoutError) as caught:
        client.run(VERBS[api](), 5_500)
    assert 5_400 < world.now - before < 5_700
    assert caught.value.timeout_ms == 5_500
    assert "not done in time" in str(caught.value)
    assert ("done nevertheless" in str(caught.value)) == (api in CHANGES)
    assert client.core.deadline() > world.now
    client.core.close(world.now)
    assert client.core.deadline() == NEVER


@pytest.mark.parametrize("api", APIS, ids=by_name)
def test_nobody_is_there(api):
    world, cluster, client = admin_world()
    cluster.down |= {1, 2, 3}
    inputs = world.inputs
    with pytest.raises(KafkaTimeoutError) as caught:
        client.run(VERBS[api](), 5_000)
    assert world.inputs - inputs < 200
    assert "nevertheless" not in str(caught.value)  # it was never asked


@pytest.mark.parametrize("api", [ApiKey.CREATE_TOPICS, ApiKey.LIST_GROUPS], ids=by_name)
def test_who_did_not_answer_is_named(api):
    _, cluster, client = admin_world(request_timeout_ms=30_000)
    cluster.script[api] = lambda *_: SILENT
    with pytest.raises(KafkaTimeoutError, match="did not answer") as caught:
        client.run(VERBS[api](), 2_000)
    assert cluster.count(api) >= 1
    assert ("may be done nevertheless" in str(caught.value)) == (api in CHANGES)


@pytest.mark.parametrize("api", APIS, ids=by_name)
def test_a_node_dies_and_the_rest_goes_on(api):
    world, cluster, client = admin_world(request_timeout_ms=1_000)
    cluster.script[api] = lambda node, _request: SILENT if node == 1 else None
    procedure = VERBS[api]()
    number = client.begin(procedure)
    world.run(100)
    world.kill_node(1)
    cluster.controller = 2
    cluster.coordinators = {"g": 3, "h": 3}
    cluster.leader_of = lambda partition: 2 + partition % 2
    client.result(number)


def test_no_broker_speaks_it():
    world, cluster, client = admin_world()
    del cluster.apis[ApiKey.OFFSET_DELETE]
    with pytest.raises(errors.UnsupportedVersionError):
        client.run(VERBS[ApiKey.OFFSET_DELETE]())


def test_credentials_that_are_refused_are_said_at_once():
    world, cluster, client = admin_world(
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_plain_username="me",
        sasl_plain_password="secret",
    )
    cluster.always(ApiKey.SASL_HANDSHAKE, ErrorCode.UNSUPPORTED_SASL_MECHANISM)
    before = world.now
    with pytest.raises(errors.AuthenticationFailedError):
        client.run(list_topics())
    assert world.now - before < 1_000


# In doubt -----------------------------------------------------------------------------------------

MISLED = [
    (ApiKey.CREATE_TOPICS, ErrorCode.TOPIC_ALREADY_EXISTS),
    (ApiKey.DELETE_TOPICS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    (ApiKey.CREATE_PARTITIONS, ErrorCode.INVALID_PARTITIONS),
    (ApiKey.DELETE_GROUPS, ErrorCode.GROUP_ID_NOT_FOUND),
    (ApiKey.ALTER_PARTITION_REASSIGNMENTS, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
    (ApiKey.ALTER_USER_SCRAM_CREDENTIALS, ErrorCode.RESOURCE_NOT_FOUND),
    (ApiKey.DELETE_SHARE_GROUP_OFFSETS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    (ApiKey.LEAVE_GROUP, ErrorCode.UNKNOWN_MEMBER_ID),
]


@pytest.mark.parametrize("lost", [CUT, ErrorCode.REQUEST_TIMED_OUT], ids=["cut", "timed out"])
@pytest.mark.parametrize(("api", "code"), MISLED, ids=[api.stem for api, _ in MISLED])
def test_who_is_refused_behind_an_attempt_in_doubt_is_told_so(api, code, lost):
    _, cluster, client = admin_world()
    cluster.first(api, lost, code, code)
    with pytest.raises(for_code(code), match="an earlier attempt of this call"):
        client.run(VERBS[api]())
    _, cluster, client = admin_world()
    cluster.first(api, code, code)
    with pytest.raises(for_code(code)) as caught:
        client.run(VERBS[api]())
    assert "earlier attempt" not in str(caught.value)


def test_a_link_that_ended_before_the_request_went_out_leaves_no_doubt():
    _, cluster, client = admin_world()
    cluster.down |= {1}
    number = client.begin(VERBS[ApiKey.DELETE_GROUPS]())
    client.world.run(500)
    assert cluster.count(ApiKey.DELETE_GROUPS) == 0
    cluster.down.clear()
    cluster.first(ApiKey.DELETE_GROUPS, ErrorCode.NON_EMPTY_GROUP)
    with pytest.raises(errors.NonEmptyGroupError) as caught:
        client.result(number)
    assert "earlier attempt" not in str(caught.value)
