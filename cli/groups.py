"""`kcore groups` and `kcore lag`: the groups of a cluster, who is in them, and how far behind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kcore.cli.endings import DONE, REFUSED, Attempts, RefusalError, printable
from kcore.cli.places import patience
from kcore.cli.tables import Cell, Page, Rows, table
from kcore.errors import KafkaError
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple

if TYPE_CHECKING:
    from kcore import Admin, AsyncAdmin
    from kcore.admin import PartitionLag

_NOTHING = "-"
_SHARE = "share"
_STREAMS = "streams"
_DEAD = "Dead"  # the state of a group that is not there


@dataclass(frozen=True)
class GroupsOptions:
    """What was asked for. groups: none: all, listed. where: they are to be reset to; topics: only
    there. as_json: tables are printed so. settings: of Admin.
    """

    bootstrap: str
    groups: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    where: str | None = None
    topics: tuple[str, ...] = ()
    as_json: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class LagOptions:
    """What was asked for. topics: none: all that the group reads. most: what a partition may be
    behind; None: whatever it is. as_json: tables are printed so.
    """

    bootstrap: str
    groups: tuple[str, ...]
    topics: tuple[str, ...] = ()
    most: int | None = None
    as_json: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)


def open_admin(
    verb: str, bootstrap: str, settings: Mapping[str, object], *, of_controllers: bool = False
) -> Admin:
    """An admin client that knows a broker, or a controller. verb: who it says that it is."""
    from kcore import Admin  # noqa: PLC0415 (it loads the compiled core: not for --help)

    where = "bootstrap_controllers" if of_controllers else "bootstrap_servers"
    return Admin(**_first(verb, bootstrap, settings, where=where))


def _first(
    verb: str, bootstrap: str, settings: Mapping[str, object], where: str = "bootstrap_servers"
) -> dict[str, Any]:
    """The options of an admin client: those that all verbs give, and the user's."""
    return {where: bootstrap.split(","), "client_id": f"kcore-{verb}", **settings}


# Groups -----------------------------------------------------------------------------------------


def groups(options: GroupsOptions) -> int:
    """Print a table of all groups, or one of the members of each that is named. KafkaError,
    RefusalError, when all that is known is printed: of others it is not.
    """
    page = Page(as_json=options.as_json)
    with open_admin("groups", options.bootstrap, options.settings) as admin:
        if options.groups:
            _show(admin, options.groups, page)
        else:
            _list(admin, options, page)
    return DONE


def _show(admin: Admin, groups: Sequence[str], page: Page) -> None:
    attempts = Attempts()
    described: Mapping[str, Any]
    try:
        described = admin.describe_groups(groups)
    except KafkaError as error:
        described = error.done
        attempts.note(error)
    rows = [described[name] for name in dict.fromkeys(groups) if name in described]
    for row in rows:
        with attempts.one():
            _check(row)
    known = [row for row in rows if row["error"] is None]
    if page.as_json:
        page.tell(map(_told, known))
    elif known:
        page.show(*(part for row in known for part in _described(row)))
    attempts.check()


def delete(options: GroupsOptions) -> int:
    """Delete the groups that are named. RefusalError, when all were tried: one could not be."""
    with open_admin("groups", options.bootstrap, options.settings) as admin:
        admin.delete_groups(options.groups, raise_errors=True)
    return DONE


def _list(admin: Admin, options: GroupsOptions, page: Page) -> None:
    """Also what the others say, if a broker does not answer. Its error is raised behind that."""
    try:
        rows = admin.list_groups(
            states_filter=options.states or None, types_filter=options.types or None
        )
    except KafkaError as error:
        known = [row for rows in error.done.values() for row in rows]
        if known:
            page.show(_listed(known))
        raise
    page.show(_listed(rows))


def _listed(rows: Iterable[Mapping[str, Any]]) -> Rows:
    found = table("group", "type", "protocol", "state")
    for row in sorted(rows, key=lambda row: str(row["group_id"])):
        words = (row["group_type"], row["protocol_type"], row["group_state"])
        found.add_row(row["group_id"], *(word or None for word in words))
    return found


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    """The same of a group as `_described`, for programs."""
    return {
        "group": row["group_id"],
        "type": row["group_type"],
        "state": row["group_state"],
        "assignor": row["protocol_data"] or None,
        "members": [
            {
                "member": member["member_id"],
                "client": member["client_id"],
                "host": member["client_host"],
                "instance": member["group_instance_id"],
                **_assigned(member["member_assignment"]),
            }
            for member in row["members"]
        ],
    }


def _assigned(assignment: Any) -> dict[str, Any]:
    if not isinstance(assignment, dict):  # of another protocol: bytes that only it understands
        return {"partitions": None}
    if "active_tasks" in assignment:
        roles = ("active", "standby", "warmup")
        return {
            f"{role}_tasks": {
                str(part): sorted(numbers) for part, numbers in assignment[f"{role}_tasks"].items()
            }
            for role in roles
        }
    return {
        "partitions": {
            part["topic"]: sorted(part["partitions"])
            for part in sorted(assignment["assigned_partitions"], key=lambda part: part["topic"])
        }
    }


def _described(row: Mapping[str, Any]) -> Iterable[str | Rows]:
    assignor = f", {row['protocol_data']}" if row["protocol_data"] else ""
    count = len(row["members"])
    yield (
        f"{row['group_id']}: {row['group_state']}, {row['group_type']}{assignor}, "
        f"{count or 'no'} member{'s' * (count != 1)}"
    )
    streams = row["group_type"] == _STREAMS
    if streams:
        yield _topology(row)
    if count:
        held = "tasks" if streams else "partitions"
        members = table("member", "client", "host", "instance", held)
        for member in sorted(row["members"], key=lambda member: str(member["client_id"])):
            has = member["member_assignment"]
            members.add_row(
                member["member_id"],
                member["client_id"],
                member["client_host"],
                member["group_instance_id"],
                _tasks(has) if streams else _partitions(has),
            )
        yield members


def _topology(row: Mapping[str, Any]) -> Rows:
    """What each part of an application does: its tasks are numbered by partitions of its inputs."""
    found = table("part", "reads", "writes", "keeps")
    for part in row["topology"]:
        inputs = [*part["source_topics"], *_named(part["repartition_source_topics"])]
        outputs, kept = part["repartition_sink_topics"], _named(part["state_changelog_topics"])
        found.add_row(part["subtopology_id"], inputs, outputs, kept)
    return found


def _named(topics: Iterable[Mapping[str, Any]]) -> list[str]:
    return [str(topic["name"]) for topic in topics]


def _tasks(assignment: Mapping[str, Any]) -> str:
    """`part 0: 0-3; part 1: 2; standby 1: 0-1`."""
    said = [
        f"{word} {part}: {ranges(numbers)}"
        for word, role in (("part", "active"), ("standby", "standby"), ("warm-up", "warmup"))
        for part, numbers in sorted(assignment[f"{role}_tasks"].items())
    ]
    return "; ".join(said) or _NOTHING


def _partitions(assignment: Any) -> str:
    """`orders 0-3,7; other 1`; groups of other protocols have bytes that only they understand."""
    if not isinstance(assignment, dict):
        return f"{len(assignment)} bytes" if assignment else _NOTHING
    parts = sorted(assignment["assigned_partitions"], key=lambda part: str(part["topic"]))
    said = "; ".join(f"{part['topic']} {ranges(part['partitions'])}" for part in parts)
    return said or _NOTHING


def ranges(numbers: Iterable[int]) -> str:
    """`0-3,7` of 0, 1, 2, 3 and 7."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in spans)


def _check(row: Mapping[str, Any]) -> None:
    if row["error"] is not None:
        raise RefusalError(printable(str(row["error"])))


# Resetting --------------------------------------------------------------------------------------


def reset(options: GroupsOptions, *, execute: bool) -> int:
    """Print where each group is and where it goes on, and have it go on there if `execute`. One
    that is not there yet begins in the topics that are named. KafkaError, RefusalError, when all
    were tried: one could not be.
    """
    page, attempts = Page(as_json=options.as_json), Attempts()
    with open_admin("groups", options.bootstrap, options.settings) as admin:
        specs: Any = _spec(str(options.where))
        if options.topics:
            specs = dict.fromkeys(_all_of(admin, options), specs)
        for name in dict.fromkeys(options.groups):
            with attempts.one():
                new = bool(options.topics)
                page.show(*_reset(admin, name, specs, new=new, execute=execute))
    attempts.check()
    return DONE


def _reset(
    admin: Admin, name: str, specs: Any, *, new: bool, execute: bool
) -> Iterable[str | Rows]:
    """new: it need not be there yet."""
    described = admin.describe_groups([name])[name]
    new = new and described["group_state"] == _DEAD
    if not new:
        _check(described)
    before = _offsets(admin, described)
    found = admin.reset_group_offsets(name, specs, raise_errors=True, validate_only=not execute)
    if not found:
        why = "has committed nothing: --topic says for what it is reset"
        raise RefusalError(f"group {name!r} {why}")
    of = {"group": name, "done": execute}
    rows = table("topic", right=("partition", _column(described), "reset to"), of=of)
    for tp, row in sorted(found.items()):
        was = before[tp] if before.get(tp, -1) >= 0 else None
        rows.add_row(tp.topic, tp.partition, was, row["offset"])
    said = "reset" if execute else "nothing is reset without --execute"
    return f"{name}: {said}{', a new group' * new}", rows


def _offsets(admin: Admin, row: Mapping[str, Any]) -> dict[TopicPartition, int]:
    """Where a described group is; -1: nowhere yet."""
    name = row["group_id"]
    if row["group_type"] == _SHARE:
        return {tp: at[0] for tp, at in admin.list_share_group_offsets([name])[name].items()}
    return {tp: at[0] for tp, at in admin.list_group_offsets([name])[name].items()}


def _column(row: Mapping[str, Any]) -> str:
    """What those offsets are called."""
    return "start" if row["group_type"] == _SHARE else "committed"


def _spec(text: str) -> object:
    from kcore.admin import OffsetDuration, OffsetShift, OffsetTimestamp  # noqa: PLC0415

    if text[0] in "+-":
        return OffsetShift(int(text))
    if text[0] == "@":
        return OffsetTimestamp(int(text[1:]))
    if text.isdecimal():
        return int(text)
    _, is_duration, duration = text.partition(":")
    return OffsetDuration(duration) if is_duration else text


def _all_of(admin: Admin, options: GroupsOptions) -> Iterable[TopicPartition]:
    from kcore.admin.topics import partitions_of  # noqa: PLC0415

    for topic, numbers in partitions_of(admin.describe_topics(options.topics)).items():
        for number in numbers:
            yield TopicPartition(topic, number)


# Lag --------------------------------------------------------------------------------------------


class _Answer(NamedTuple):
    """What is known of a group, and what is wrong with the rest. row: as it is described."""

    row: Mapping[str, Any] = MappingProxyType({})
    lags: Mapping[TopicPartition, PartitionLag] = MappingProxyType({})
    error: Exception | None = None


def lag(options: LagOptions) -> int:
    """Print how far each group is behind. Status REFUSED if a partition is further than it may.
    KafkaError, RefusalError, when all that is known is printed: of others it is not.
    """
    return asyncio.run(_lag(options, Page(as_json=options.as_json)))


async def _lag(options: LagOptions, page: Page) -> int:
    from kcore import AsyncAdmin  # noqa: PLC0415 (as `Admin` above)

    late, attempts = False, Attempts()
    named = {name: value for name, value in options.settings.items() if name != "transport"}
    limit = patience(options.settings)
    async with AsyncAdmin(**_first("lag", options.bootstrap, named)) as admin:
        # All at once: what one group has to wait for (a leader, its coordinator) delays no other.
        answers = {
            name: asyncio.create_task(_answer(admin, name, limit))
            for name in dict.fromkeys(options.groups)
        }
        for name, answer in answers.items():
            row, known, error = await answer
            if error is not None:  # of partitions; who was not described is named already
                attempts.note(error, name if row and len(answers) > 1 else "")
                if not known:
                    continue
            with attempts.one():
                found = _chosen(name, known, options.topics)
                page.show(*_lags(row, found))
                late |= options.most is not None and any(
                    _is_late(one, options.most) for one in found.values()
                )
    attempts.check()
    return REFUSED if late else DONE


async def _answer(admin: AsyncAdmin, group: str, timeout_ms: int | None) -> _Answer:
    row: Mapping[str, Any] = {}
    try:
        row = (await admin.describe_groups([group], timeout_ms=timeout_ms))[group]
        _check(row)
        return _Answer(row, await admin.lag(group, timeout_ms=timeout_ms))
    except KafkaError as error:
        return _Answer(row, error.done if row else {}, error)
    except RefusalError as error:
        return _Answer(error=error)


def _readers(one: PartitionLag) -> Cell:
    who = f"{one.client_id} at {one.client_host}" if one.member_id else _NOTHING
    if len(one.members) > 1:  # of a share group
        who = f"{len(one.members)} members"
    return Cell(who, list(one.members))


def _is_late(one: PartitionLag, most: int) -> bool:
    """What has nothing to commit yet, as nothing was ever written there, is not."""
    return one.end != 0 if one.lag is None else one.lag > most


def _chosen(
    name: str, found: Mapping[TopicPartition, PartitionLag], topics: Sequence[str]
) -> dict[TopicPartition, PartitionLag]:
    for topic in topics:
        if not any(tp.topic == topic for tp in found):
            raise RefusalError(f"group {name!r} reads nothing of topic {topic!r}")
    return {tp: one for tp, one in sorted(found.items()) if not topics or tp.topic in topics}


def _lags(
    row: Mapping[str, Any], found: Mapping[TopicPartition, PartitionLag]
) -> Iterable[str | Rows]:
    name, column = row["group_id"], _column(row)
    what = "commit" if column == "committed" else "start offset"
    behind = sum(one.lag or 0 for one in found.values())
    unknown = sum(one.committed is None for one in found.values())
    untold = sum(None not in one[:2] and one.lag is None for one in found.values())
    text = f"{name}: {behind} behind in {len(found)} partition{'s' * (len(found) != 1)}"
    text += f", {unknown} of them without a {what}" if unknown else ""
    yield text + (f", {untold} of them with a lag that is not told" if untold else "")
    if found:
        rows = table("topic", right=("partition", column, "end", "lag"), of={"group": name})
        rows.add_column("member", overflow="fold")
        for tp, one in found.items():
            rows.add_row(tp.topic, tp.partition, *one[:3], _readers(one))
        yield rows
