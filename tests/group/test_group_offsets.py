"""Fetching committed offsets: rule C8, scenario C30."""

from __future__ import annotations

import pytest
from group_asks import T10, T11, fetch, manual

from kcore.errors import (
    GroupAuthorizationFailedError,
    KafkaError,
    KafkaTimeoutError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    UnstableOffsetCommitError,
)
from kcore.events import (
    CoordinatorLost,
)
from kcore.structs import OffsetAndMetadata
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E


@pytest.mark.parametrize("version", range(1, 11))
def test_c8_fetch_in_every_version(version: int) -> None:
    world = manual()
    world.network.versions[ApiKey.OFFSET_FETCH] = version
    world.cluster.ids = {"t1": b"1" * 16}
    world.committed = {T10: OffsetAndMetadata(5, "note", 3)}
    outcome = fetch(world)
    world.find()
    body = world.request(ApiKey.OFFSET_FETCH).body
    assert body.require_stable is (version >= 7)
    world.answer(ApiKey.OFFSET_FETCH)
    epoch = 3 if version >= 5 else -1
    assert outcome.result == {T10: OffsetAndMetadata(5, "note", epoch), T11: None}


def test_c8_nothing_asked() -> None:
    world = manual()
    outcome = fetch(world, "")
    world.find()
    assert outcome.result == {}


def test_c30_unstable_is_retried_until_stable() -> None:
    world = manual()
    outcome = fetch(world)
    world.find()
    for _ in range(3):
        world.answer(ApiKey.OFFSET_FETCH, codes={T11: E.UNSTABLE_OFFSET_COMMIT})
        assert not world.open(ApiKey.OFFSET_FETCH)
        assert not outcome.calls
        world.run(1_000)
    world.answer(ApiKey.OFFSET_FETCH)
    assert outcome.result == {T10: None, T11: None}


def test_c30_unstable_until_the_deadline() -> None:
    world = manual()
    outcome = fetch(world, deadline_ms=500)
    world.find()
    world.answer(ApiKey.OFFSET_FETCH, codes={T10: E.UNSTABLE_OFFSET_COMMIT})
    world.run(500)
    assert isinstance(outcome.error, KafkaTimeoutError)
    assert isinstance(outcome.error.__cause__, UnstableOffsetCommitError)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ({T10: E.UNKNOWN_TOPIC_OR_PARTITION}, UnknownTopicOrPartitionError),
        ({T10: E.TOPIC_AUTHORIZATION_FAILED}, TopicAuthorizationFailedError),
    ],
)
def test_c30_fatal_partition_errors(codes: dict, expected: type[KafkaError]) -> None:
    world = manual()
    outcome = fetch(world)
    world.find()
    world.answer(ApiKey.OFFSET_FETCH, codes=codes)
    assert isinstance(outcome.error, expected)


@pytest.mark.parametrize("version", [1, 5, 8])  # v1 says it per partition only
@pytest.mark.parametrize("code", [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE])
def test_c8_moved(code: E, version: int) -> None:
    world = manual()
    world.network.versions[ApiKey.OFFSET_FETCH] = version
    outcome = fetch(world)
    world.find()
    if version == 1:
        world.answer(ApiKey.OFFSET_FETCH, codes={T10: code, T11: code})
    else:
        world.answer(ApiKey.OFFSET_FETCH, code)
    assert world.new_events(CoordinatorLost)
    world.run(121)
    world.find()
    world.run(121)
    world.answer(ApiKey.OFFSET_FETCH)
    assert outcome.result


def test_c8_group_authorization() -> None:
    world = manual()
    outcome = fetch(world)
    world.find()
    world.answer(ApiKey.OFFSET_FETCH, E.GROUP_AUTHORIZATION_FAILED)
    assert isinstance(outcome.error, GroupAuthorizationFailedError)


def test_c8_a_partition_left_out_does_not_pass_for_uncommitted() -> None:
    """That would reset its position."""
    world = manual()
    outcome = fetch(world)
    world.find()
    world.answer(ApiKey.OFFSET_FETCH, omit=[T11])
    assert not outcome.calls
    assert world.new_events(CoordinatorLost)
