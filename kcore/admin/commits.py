"""Offsets that groups have committed: listed, altered, reset, deleted; how far they are behind.

Of share groups only what is the same question for all: resets, and how far they are behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kcore.admin.asking import Ask, Reply, Route, of_all
from kcore.admin.core import Procedure
from kcore.admin.groups import ask_share, describe_groups, is_share, owners_of
from kcore.admin.offsets import ask_offsets, by_topic
from kcore.admin.rows import verdicts
from kcore.admin.shares import LISTING, ask_alter, ask_starts
from kcore.admin.told import Told, offsets_of, reply_of
from kcore.admin.values import OffsetSpec, PartitionLag
from kcore.errors import (
    KafkaError,
    NoError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from kcore.structs import OffsetAndMetadata, TopicPartition
from kcore.tuples import NamedTuple
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest

_GROUPS_SINCE: Final = 8  # OffsetFetch of several groups (KIP-709, Kafka 3.0)
_STABLE_SINCE: Final = 7  # and of what no open transaction may change (KIP-447, Kafka 2.5)
_ALL_SINCE: Final = 2  # and of all that a group has
_NAMES_UNTIL: Final = 9  # OffsetFetch and OffsetCommit go by topic ids behind that
_EPOCH_SINCE: Final = 6  # OffsetCommit with leader epochs
_READ_UNCOMMITTED: Final = 0
_LISTING: Final = "listing the offsets of group"

# Whoever commits without a generation makes the group, if there is none.
_COMMIT_HINT: Final[Mapping[int, str]] = {
    ErrorCode.GROUP_ID_NOT_FOUND: "a group of this id is of another kind; share groups have start "
    "offsets (alter_share_group_offsets)",
}

Offsets = dict[TopicPartition, OffsetAndMetadata]
_Verdicts = dict[TopicPartition, type[KafkaError]]


# Listing ------------------------------------------------------------------------------------------


def _ask_committed(
    specs: Mapping[str, Sequence[TopicPartition] | None], *, require_stable: bool = False
) -> Ask:
    def build(keys: list[str], version: int, _limit_ms: int) -> OffsetFetchRequest:
        cls = OffsetFetchRequest
        if version < _GROUPS_SINCE:
            wanted = specs[keys[0]]
            if wanted is None and version < _ALL_SINCE:
                raise UnsupportedVersionError(
                    f"listing the offsets of group {keys[0]}: this broker cannot list all"
                )
            request = cls(group_id=keys[0], topics=_topics(cls.OffsetFetchRequestTopic, wanted))
        else:
            request = cls(
                groups=[
                    cls.OffsetFetchRequestGroup(
                        group_id=group, topics=_topics(cls.OffsetFetchRequestTopics, specs[group])
                    )
                    for group in keys
                ]
            )
        if version >= _STABLE_SINCE:
            request.require_stable = require_stable
        return request

    return Ask(
        ApiKey.OFFSET_FETCH,
        tuple(specs),
        _LISTING,
        build,
        _read_committed,
        route=Route.COORDINATOR,
        most=lambda version: None if version >= _GROUPS_SINCE else 1,
        max_version=_NAMES_UNTIL,
    )


def _read_committed(body: Any, version: int, keys: list[str]) -> Iterable[Reply]:
    rows = [(keys[0], body)]
    if version >= _GROUPS_SINCE:
        rows = [(row.group_id, row) for row in body.groups]
    for group, row in rows:
        told = Told({}, {}, {})
        for topic in row.topics:
            for part in topic.partitions:
                tp = TopicPartition(topic.name, part.partition_index)
                if part.error_code:
                    told.codes[tp] = part.error_code
                    continue
                told.done[tp] = OffsetAndMetadata(
                    part.committed_offset, part.metadata or "", part.committed_leader_epoch
                )
        yield reply_of(group, row.error_code, None, told)


def _topics(kind: Any, partitions: Sequence[TopicPartition] | None) -> Any:
    if partitions is None:
        return None
    return [
        kind(name=topic, partition_indexes=[tp.partition for tp in tps])
        for topic, tps in by_topic(partitions)
    ]


def list_group_offsets(
    specs: Mapping[str, Sequence[TopicPartition] | None],
    *,
    require_stable: bool = False,
    raise_errors: bool = True,
) -> Procedure[dict[str, Offsets]]:
    """{group: {partition: what is committed}}; None: of all partitions that have anything.

    A partition that was named and has no commit has the offset -1. require_stable: wait until no
    transaction that is open would commit something else. raise_errors: False: partitions that the
    coordinator refuses to tell of are left out.
    """
    (outcome,) = yield [_ask_committed(specs, require_stable=require_stable)]
    return offsets_of(outcome, _LISTING, raise_errors=raise_errors)


def tell_group_offsets(
    group: str, partitions: Sequence[TopicPartition] | None, *, require_stable: bool
) -> Procedure[Told]:
    """What one group has committed, and what of that was refused."""
    (outcome,) = yield [_ask_committed({group: partitions}, require_stable=require_stable)]
    told: Told = outcome.all_done()[group]
    return told


# Altering -----------------------------------------------------------------------------------------


def _ask_commit(group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Ask:
    def build(keys: list[TopicPartition], version: int, _limit_ms: int) -> OffsetCommitRequest:
        cls = OffsetCommitRequest
        topics = []
        for topic, tps in by_topic(keys):
            parts = []
            for tp in tps:
                offset, metadata, epoch = offsets[tp]
                part = cls.OffsetCommitRequestPartition(
                    partition_index=tp.partition,
                    committed_offset=offset,
                    committed_metadata=metadata,
                )
                if version >= _EPOCH_SINCE:
                    part.committed_leader_epoch = epoch
                parts.append(part)
            topics.append(cls.OffsetCommitRequestTopic(name=topic, partitions=parts))
        return cls(group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=topics)

    def read(body: Any, _version: int, _keys: list[TopicPartition]) -> Iterable[Reply]:
        for topic in body.topics:
            for part in topic.partitions:
                yield Reply(TopicPartition(topic.name, part.partition_index), part.error_code)

    return Ask(
        ApiKey.OFFSET_COMMIT,
        tuple(offsets),
        f"altering the offsets of group {group} in",
        build,
        read,
        route=Route.COORDINATOR,
        place=lambda _key: group,
        max_version=_NAMES_UNTIL,
        changes=True,
        hints=_COMMIT_HINT,
    )


def alter_group_offsets(
    group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata], *, raise_errors: bool
) -> Procedure[_Verdicts]:
    """Commit for a group that has no members. {partition: the class of its error, or NoError}."""
    (outcome,) = yield [_ask_commit(group, offsets)]
    return verdicts(outcome, offsets, raise_errors=raise_errors)


# Resetting ----------------------------------------------------------------------------------------


class Target(NamedTuple):
    """Where to reset a partition to: the one that is not None.

    offset: there. timestamp: a time (ms), or the number of an OffsetSpec. shift: so far from what
    is committed.
    """

    offset: int | None = None
    timestamp: int | None = None
    shift: int | None = None


def reset_group_offsets(
    group: str,
    wanted: Mapping[TopicPartition, Target] | Target,
    *,
    raise_errors: bool,
    validate_only: bool = False,
) -> Procedure[dict[TopicPartition, dict[str, Any]]]:
    """{partition: {"error": its class, or NoError, "offset": what was committed}}.

    validate_only: nothing is; "offset" is what would have been.

    wanted: one for all: every partition of which the group has committed anything. Offsets are kept
    between the beginning and the end of the partition; a time behind the last record is the end. A
    shift of what has no commit counts from the beginning. Of a share group all this is about its
    start offsets.
    """
    if not isinstance(wanted, Target) and not wanted:
        return {}
    (share,) = yield [ask_share([group])]  # what else it says of the group, the next ones say too
    shared = group in share.done
    if shared:
        now = ask_starts({group: None})
    else:
        now = _ask_committed({group: None if isinstance(wanted, Target) else tuple(wanted)})
    (told,) = yield [now]
    before = offsets_of(told, LISTING if shared else _LISTING)[group]
    targets: Mapping[TopicPartition, Target]
    targets = dict.fromkeys(before, wanted) if isinstance(wanted, Target) else wanted
    timed = {tp: to.timestamp for tp, to in targets.items() if to.timestamp is not None}
    what = f"resetting group {group}: finding the offset of"
    outcomes = yield [
        ask_offsets(dict.fromkeys(targets, OffsetSpec.EARLIEST), _READ_UNCOMMITTED, what),
        ask_offsets(dict.fromkeys(targets, OffsetSpec.LATEST), _READ_UNCOMMITTED, what),
        ask_offsets(timed, _READ_UNCOMMITTED, what),
    ]
    earliest, latest, found = (outcome.all_done() for outcome in outcomes)
    offsets: dict[TopicPartition, int] = {}
    for tp, to in targets.items():
        low, high = earliest[tp].offset, latest[tp].offset
        if to.timestamp is not None:
            at = found[tp].offset
        elif to.shift is not None:
            was = before[tp][0] if tp in before else -1
            at = max(0, (low if was < 0 else was) + to.shift)
        else:
            assert to.offset is not None
            at = to.offset
        if at < 0 or at > high:
            at = high
        offsets[tp] = max(at, low)
    if validate_only:
        return {tp: {"error": NoError, "offset": offsets[tp]} for tp in targets}
    if shared:
        change = ask_alter(group, offsets)
    else:
        change = _ask_commit(
            group,
            {
                tp: OffsetAndMetadata(at, before[tp].metadata if tp in before else "")
                for tp, at in offsets.items()
            },
        )
    (outcome,) = yield [change]
    errors = verdicts(outcome, targets, raise_errors=raise_errors)
    return {tp: {"error": errors[tp], "offset": offsets[tp]} for tp in targets}


# Deleting -----------------------------------------------------------------------------------------


def delete_group_offsets(
    group: str, partitions: Sequence[TopicPartition], *, raise_errors: bool
) -> Procedure[_Verdicts]:
    """{partition: the class of its error, or NoError}; what is wrong with the group is raised."""

    def build(keys: list[TopicPartition], _version: int, _limit_ms: int) -> OffsetDeleteRequest:
        cls = OffsetDeleteRequest
        return cls(
            group_id=group,
            topics=[
                cls.OffsetDeleteRequestTopic(
                    name=topic,
                    partitions=[
                        cls.OffsetDeleteRequestPartition(partition_index=tp.partition) for tp in tps
                    ],
                )
                for topic, tps in by_topic(keys)
            ],
        )

    def read(body: Any, _version: int, keys: list[TopicPartition]) -> Iterable[Reply]:
        if body.error_code:
            yield from of_all(keys, body.error_code)
            return
        for topic in body.topics:
            for part in topic.partitions:
                yield Reply(TopicPartition(topic.name, part.partition_index), part.error_code)

    ask = Ask(
        ApiKey.OFFSET_DELETE,
        tuple(partitions),
        f"deleting the offsets of group {group} in",
        build,
        read,
        route=Route.COORDINATOR,
        place=lambda _key: group,
        changes=True,
    )
    (outcome,) = yield [ask]
    return verdicts(outcome, partitions, raise_errors=raise_errors)


# Lag ----------------------------------------------------------------------------------------------


def lag(
    group: str, partitions: Sequence[TopicPartition] | None, isolation_level: int
) -> Procedure[dict[TopicPartition, PartitionLag]]:
    """How far a group is behind, in these partitions or in all that it reads or has read. Raises
    what failed, with the lags of the others.
    """
    described = (yield from describe_groups([group], operations=False))[group]
    shared = is_share(described)
    (told,) = yield [ask_starts({group: None}) if shared else _ask_committed({group: None})]
    offsets = offsets_of(told, LISTING if shared else _LISTING)[group]
    owners = owners_of(described)
    named = True
    if partitions is None:
        partitions = sorted({*offsets, *owners})
        named = False
    (ends,) = yield [ask_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST), isolation_level)]
    if not named:  # what is committed may outlive its topic
        for tp, error in [*ends.failed.items()]:
            if isinstance(error, UnknownTopicOrPartitionError):
                del ends.failed[tp]
    found = ends.done
    lags: dict[TopicPartition, PartitionLag] = {}
    for tp in (tp for tp in partitions if tp not in ends.failed):
        offset, end = offsets.get(tp), found.get(tp)
        at = None if offset is None or offset[0] < 0 else offset[0]
        if shared:
            behind = None if offset is None or end is None else offset.lag
        else:
            behind = None if at is None or end is None else max(0, end.offset - at)
        members = owners.get(tp, [])
        only = members[0] if len(members) == 1 else {}
        lags[tp] = PartitionLag(
            at,
            None if end is None else end.offset,
            behind,
            only.get("member_id"),
            only.get("client_id"),
            only.get("client_host"),
            only.get("group_instance_id"),
            tuple(member["member_id"] for member in members),
        )
    if ends.failed:
        error = ends.error()
        error.done = lags
        raise error
    return lags
