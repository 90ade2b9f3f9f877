"""Changing the options of a topic or a node: what AlterConfigs and its incremental form share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from kcore.broker import node_options
from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.options import OPTIONS, Option
from kcore.broker.settings import EVERY_NODE, checked_topic
from kcore.broker.telemetry import subscriptions
from kcore.broker.topics import check_name
from kcore.wire.codes import ErrorCode

# Java: ConfigResource.Type.
TOPIC: Final = 2
BROKER: Final = 4
CLIENT_METRICS: Final = 16
GROUP: Final = 32

# Settings of groups: more than there are groups in a cluster for tests, by far.
GROUPS_MAX: Final = 10_000

# Makes new settings of the known ones, of what is known by name.
Change = Callable[[Mapping[str, str], Mapping[str, Option]], dict[str, str]]


def alter(
    call: Call, entries: Sequence[Any], change_of: Callable[[Any], Change], *, dry_run: bool
) -> Iterator[dict[str, Any]]:
    """Alter what each entry of a request names, as `change_of` says; the fields of its result.

    Each succeeds or fails by itself; one that is named twice fails each time.
    """
    times = Counter((entry.resource_type, entry.resource_name) for entry in entries)
    groups_changed = False
    for entry in entries:
        kind, name = entry.resource_type, entry.resource_name
        code, why = ErrorCode.NONE, None
        try:
            if times[kind, name] > 1:
                raise RefusedError(
                    ErrorCode.INVALID_REQUEST, "Each resource must appear at most once."
                )
            _alter(call, kind, name, change_of(entry), dry_run=dry_run)
            groups_changed |= kind == GROUP and not dry_run
        except RefusedError as refused:
            code, why = refused.code, refused.why
        yield {
            "resource_type": kind,
            "resource_name": name,
            "error_code": code,
            "error_message": why,
        }
    cluster = call.node.cluster
    if groups_changed and cluster.replication.store is not None:  # it keeps all of them each time
        cluster.replication.store.groups_changed(cluster.settings.groups)


def _alter(call: Call, kind: int, name: str, change: Change, *, dry_run: bool) -> None:
    """RefusedError if it cannot be."""
    if kind == TOPIC:
        _alter_topic(call, name, change, dry_run=dry_run)
    elif kind == BROKER:
        _alter_node(call, name, change, dry_run=dry_run)
    elif kind == GROUP:
        _alter_group(call, name, change, dry_run=dry_run)
    elif kind == CLIENT_METRICS:
        _alter_client_metrics(call, name, change, dry_run=dry_run)
    else:
        raise RefusedError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")


def _alter_topic(call: Call, name: str, change: Change, *, dry_run: bool) -> None:
    cluster = call.node.cluster
    topic = cluster.topics.get(name)
    own = change({} if topic is None else topic.settings, OPTIONS)
    if not name:
        raise RefusedError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    check_name(name)
    checked_topic(own)
    if topic is None:
        raise RefusedError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
        )
    if not dry_run:
        cluster.topics.configure(topic, own)
        cluster.configured([topic], call.now_ms)


def _alter_node(call: Call, name: str, change: Change, *, dry_run: bool) -> None:
    cluster = call.node.cluster
    if name != EVERY_NODE:
        check_node_id(call, name)
    wanted = change(cluster.settings.nodes.get(name, {}), node_options.OPTIONS)
    cluster.settings.check_node(name, wanted)
    if not dry_run:
        cluster.settings.tell_node(name, wanted)
        cluster.topics.reconfigure()
        cluster.configured(cluster.topics.topics(), call.now_ms)


def _alter_group(call: Call, name: str, change: Change, *, dry_run: bool) -> None:
    cluster = call.node.cluster
    groups = cluster.settings.groups
    if not name:
        raise RefusedError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
    wanted = change(groups.get(name, {}), {})  # nothing can be added to lists: no Kafka can
    cluster.settings.check_group(wanted)
    if len(groups) >= GROUPS_MAX and name not in groups:
        raise RefusedError(ErrorCode.POLICY_VIOLATION, f"options of {GROUPS_MAX} groups are most")
    if dry_run:
        return
    if wanted:
        groups[name] = wanted
    else:
        groups.pop(name, None)


def _alter_client_metrics(call: Call, name: str, change: Change, *, dry_run: bool) -> None:
    cluster = call.node.cluster
    known = cluster.settings.client_metrics
    wanted = change(known.get(name, {}), {})
    subscriptions.check(name, wanted)
    if len(known) >= subscriptions.SUBSCRIPTIONS_MAX and name not in known:
        most = subscriptions.SUBSCRIPTIONS_MAX
        raise RefusedError(ErrorCode.POLICY_VIOLATION, f"{most} subscriptions are the most")
    if dry_run:
        return
    cluster.settings.subscribe(name, wanted)
    if cluster.replication.store is not None:
        cluster.replication.store.client_metrics_changed(known)


def check_node_id(call: Call, name: str) -> None:
    """RefusedError if a broker's options are asked for at another one."""
    here = call.node.node_id
    try:
        node_id = int(name)
    except ValueError:
        raise RefusedError(
            ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name[:1_000]}"
        ) from None
    if node_id != here:
        raise RefusedError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {here} or empty string, but received {node_id}",
        )
