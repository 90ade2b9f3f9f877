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


_ANSWERS: dict[ApiKey, Callable[[Any, ErrorCode], Any]] = {
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _starts,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _altered_starts,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _deleted_starts,
}


def answer_to(request: Any, version: int, code: ErrorCode) -> Any:
    """The answer that says this code of all that the request is about."""
    make = _ANSWERS.get(ApiKey(request.API_KEY))
    return refusal(request, version, code) if make is None else make(request, code)
