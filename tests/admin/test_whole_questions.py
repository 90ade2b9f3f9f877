"""Answers that have one error for all that was asked: it is raised, whatever else is a result."""

import pytest
from scripted_admin import T0, admin_world

from kcore import errors
from kcore.admin import UpdateFeatureType
from kcore.admin.commits import delete_group_offsets
from kcore.admin.features import FeatureUpdate, update_features
from kcore.admin.reassignments import alter_partition_reassignments
from kcore.admin.scram import describe_user_scram_credentials
from kcore.admin.shares import delete_share_group_offsets
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

QUIET = {"raise_errors": False}
OF_PART = ErrorCode.INVALID_REQUEST  # of what was asked for
OF_ALL = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def features(error):
    row = m.UpdateFeaturesResponse.UpdatableFeatureResult
    return {"results": [row(feature="a", error_code=error)]}


def reassignments(error):
    R = m.AlterPartitionReassignmentsResponse
    part = R.ReassignablePartitionResponse(partition_index=0, error_code=error)
    return {"responses": [R.ReassignableTopicResponse(name="t", partitions=[part])]}


def starts(error):
    row = m.DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic
    return {"responses": [row(topic_name="t", error_code=error)]}


def offsets(error):
    R = m.OffsetDeleteResponse
    part = R.OffsetDeleteResponsePartition(partition_index=0, error_code=error)
    return {"topics": [R.OffsetDeleteResponseTopic(name="t", partitions=[part])]}


def credentials(error):
    row = m.DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
    return {"results": [row(user="u", error_code=error)]}


# Of each API: what asks it, its answer, the parts of one, and what is tried again.
WHOLE = {
    ApiKey.UPDATE_FEATURES: (
        lambda: update_features(
            {"a": FeatureUpdate(1, UpdateFeatureType.UPGRADE)}, validate_only=False, **QUIET
        ),
        m.UpdateFeaturesResponse,
        features,
        ErrorCode.NOT_CONTROLLER,
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (
        lambda: alter_partition_reassignments({T0: [1]}, change_factor=True, **QUIET),
        m.AlterPartitionReassignmentsResponse,
        reassignments,
        ErrorCode.NOT_CONTROLLER,
    ),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: (
        lambda: delete_share_group_offsets("g", ["t"], **QUIET),
        m.DeleteShareGroupOffsetsResponse,
        starts,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ),
    ApiKey.OFFSET_DELETE: (
        lambda: delete_group_offsets("g", [T0], **QUIET),
        m.OffsetDeleteResponse,
        offsets,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (
        lambda: describe_user_scram_credentials(["u"]),
        m.DescribeUserScramCredentialsResponse,
        credentials,
        ErrorCode.REQUEST_TIMED_OUT,
    ),
}


def asked(api, *answers):
    _, cluster, client = admin_world()
    if api is ApiKey.UPDATE_FEATURES:
        cluster.apis[api] = (0, 1)  # there are no parts in newer answers
    cluster.first(api, *answers)
    result = client.run(WHOLE[api][0]())
    assert cluster.count(api) == len(answers)
    return result


@pytest.mark.parametrize("api", WHOLE, ids=lambda api: api.stem)
def test_what_is_wrong_with_a_part_is_a_result_also_behind_a_refusal_that_has_passed(api):
    _, answer, parts, passing = WHOLE[api]
    found = asked(api, answer(**parts(OF_PART)))
    assert "INVALID_REQUEST" in str(found) or "InvalidRequestError" in str(found)
    assert asked(api, answer(error_code=passing), answer(**parts(OF_PART))) == found


@pytest.mark.parametrize("api", WHOLE, ids=lambda api: api.stem)
def test_what_is_wrong_with_all_of_it_is_raised(api):
    _, answer, _, passing = WHOLE[api]
    with pytest.raises(errors.ClusterAuthorizationFailedError):
        asked(api, answer(error_code=passing), answer(error_code=OF_ALL))
