"""Answers to any request that an admin client makes: what it asked for, and one error code all over
it. What the broker's own refusals do not know yet is spelled out here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kcore.broker.refusals import refusal
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode


def _starts(request: Any, code: ErrorCode) -> Any:
    R = m.DescribeShareGroupOffsetsResponse
    return R(
        groups=[
            R.DescribeShareGroupOffsetsResponseGroup(
                group_id=group.group_id,
                error_code=code,
                topics=[
                    R.DescribeShareGroupOffsetsResponseTopic(
                        topic_name=topic.topic_name,
                        partitions=[
                            R.DescribeShareGroupOffsetsResponsePartition(
                                partition_index=number, start_offset=number, lag=2 * number
                            )
                            for number in topic.partitions
                        ],
                    )
                    for topic in group.topics or ()
                ],
            )
            for group in request.groups
        ]
    )


def _altered_starts(request: Any, code: ErrorCode) -> Any:
    R = m.AlterShareGroupOffsetsResponse
    return R(
        responses=[
            R.AlterShareGroupOffsetsResponseTopic(
                topic_name=topic.topic_name,
                partitions=[
                    R.AlterShareGroupOffsetsResponsePartition(
                        partition_index=part.partition_index, error_code=code
                    )
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _deleted_starts(request: Any, code: ErrorCode) -> Any:
    R = m.DeleteShareGroupOffsetsResponse
    kind = R.DeleteShareGroupOffsetsResponseTopic
    return R(responses=[kind(topic_name=one.topic_name, error_code=code) for one in request.topics])


def _created_acls(request: Any, code: ErrorCode) -> Any:
    R = m.CreateAclsResponse
    return R(results=[R.AclCreationResult(error_code=code) for _ in request.creations])


def _deleted_acls(request: Any, code: ErrorCode) -> Any:
    R = m.DeleteAclsResponse
    return R(filter_results=[R.DeleteAclsFilterResult(error_code=code) for _ in request.filters])


def _credentials(request: Any, code: ErrorCode) -> Any:
    R = m.DescribeUserScramCredentialsResponse
    info = R.CredentialInfo(mechanism=1, iterations=4096)
    kind = R.DescribeUserScramCredentialsResult
    return R(
        error_code=code,
        results=[kind(user=one.name, credential_infos=[info]) for one in request.users or ()],
    )


def _altered_credentials(request: Any, code: ErrorCode) -> Any:
    R = m.AlterUserScramCredentialsResponse
    kind = R.AlterUserScramCredentialsResult
    users = [one.name for one in (*request.deletions, *request.upsertions)]
    return R(results=[kind(user=user, error_code=code) for user in users])


def _reassigned(request: Any, code: ErrorCode) -> Any:
    R = m.AlterPartitionReassignmentsResponse
    part = R.ReassignablePartitionResponse
    return R(
        responses=[
            R.ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    part(partition_index=one.partition_index, error_code=code)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _updated(request: Any, code: ErrorCode) -> Any:
    R = m.UpdateFeaturesResponse
    kind = R.UpdatableFeatureResult
    return R(
        error_code=code,
        results=[kind(feature=one.feature, error_code=code) for one in request.feature_updates],
    )


def _altered_quotas(request: Any, code: ErrorCode) -> Any:
    R = m.AlterClientQuotasResponse
    return R(
        entries=[
            R.EntryData(
                error_code=code,
                entity=[
                    R.EntityData(entity_type=part.entity_type, entity_name=part.entity_name)
                    for part in entry.entity
                ],
            )
            for entry in request.entries
        ]
    )


def _moved(request: Any, code: ErrorCode) -> Any:
    R = m.AlterReplicaLogDirsResponse
    part = R.AlterReplicaLogDirPartitionResult
    return R(
        results=[
            R.AlterReplicaLogDirTopicResult(
                topic_name=topic.name,
                partitions=[part(partition_index=one, error_code=code) for one in topic.partitions],
            )
            for directory in request.dirs
            for topic in directory.topics
        ]
    )


_ANSWERS: dict[ApiKey, Callable[[Any, ErrorCode], Any]] = {
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _starts,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _altered_starts,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _deleted_starts,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _reassigned,
    ApiKey.UPDATE_FEATURES: _updated,
    ApiKey.ALTER_CLIENT_QUOTAS: _altered_quotas,
    ApiKey.ALTER_REPLICA_LOG_DIRS: _moved,
    ApiKey.CREATE_ACLS: _created_acls,
    ApiKey.DELETE_ACLS: _deleted_acls,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _credentials,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _altered_credentials,
}


def answer_to(request: Any, version: int, code: ErrorCode) -> Any:
    """The answer that says this code of all that the request is about."""
    make = _ANSWERS.get(ApiKey(request.API_KEY))
    return refusal(request, version, code) if make is None else make(request, code)
