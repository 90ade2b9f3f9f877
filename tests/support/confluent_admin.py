"""One story of an administrator, told by confluent-kafka's AdminClient or by what stands in for it:
calls of every kind, and what came of each, field by field.

What no two runs have in common (ids, ports, the texts of errors) is left out.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from enum import Enum
from itertools import chain
from types import SimpleNamespace
from typing import Any

import confluent_kafka
import confluent_kafka.admin

import kcore
from kcore.clients.stand_in.confluent.names import MODULES

CLASSES = {
    "theirs": SimpleNamespace(**vars(confluent_kafka) | vars(confluent_kafka.admin)),
    "ours": SimpleNamespace(**MODULES["confluent_kafka"], **{
        name: value for name, value in MODULES["confluent_kafka.admin"].items()
        if name not in MODULES["confluent_kafka"]
    }),
}  # fmt: skip
_CALL_S = 20
_OF_ONE_RUN = {"topic_id", "port", "cluster_id", "orig_broker_id", "orig_broker_name"}


# librdkafka's names for what a broker calls unknown, by where it has looked.
_UNKNOWN = dict.fromkeys(
    ("_NOENT", "_UNKNOWN_PARTITION", "_UNKNOWN_TOPIC"), "UNKNOWN_TOPIC_OR_PART"
)


class Story:
    """topic, group: whose names nobody else uses. told: what came of each call."""

    def __init__(self, classes: Any, bootstrap: str, topic: str, group: str) -> None:
        self.ck = classes
        self.admin = classes.AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self.topic, self.group = topic, group
        self.told: list[tuple[str, Any]] = []

    def note(self, what: str, call: Callable[[], Any]) -> None:
        self.told.append((what, self._outcome(call)))

    def until(self, count: int, what: Callable[[], Any]) -> None:
        """Brokers hear of a change a little behind the controller."""
        until = time.monotonic() + _CALL_S
        while (found := len(what())) != count:
            if time.monotonic() >= until:
                raise TimeoutError(f"there are {found}, not {count}")
            time.sleep(0.02)

    def until_partitions(self, count: int) -> None:
        self.until(
            count,
            lambda: (
                self.admin.list_topics(self.topic, timeout=_CALL_S).topics[self.topic].partitions
            ),
        )

    def _outcome(self, call: Callable[[], Any]) -> Any:
        try:
            return self._plain(call())
        except self.ck.KafkaException as error:
            name = error.args[0].name()
            return "KafkaException", _UNKNOWN.get(name, name)
        except Exception as error:  # noqa: BLE001 - of any kind: that is what is compared
            return type(error).__name__

    def _plain(self, value: Any) -> Any:
        """Of names and numbers alone."""
        if isinstance(value, Future):
            return self._outcome(lambda: value.result(_CALL_S))
        if isinstance(value, Enum):
            return f"{type(value).__name__}.{value.name}"
        if isinstance(value, self.ck.KafkaError):
            return "KafkaError", value.name()
        if isinstance(value, self.ck.TopicPartition):
            at = value.topic, value.partition, value.offset, value.metadata, value.leader_epoch
            return "TopicPartition", *at, self._plain(value.error)
        if isinstance(value, Mapping):
            rows = [(self._plain(key), self._plain(one)) for key, one in value.items()]
            return sorted(rows, key=str)
        if isinstance(value, (list, tuple)):
            return [self._plain(one) for one in value]
        if hasattr(value, "__dict__"):
            fields = {
                name: self._plain(one)
                for name, one in vars(value).items()
                if name not in _OF_ONE_RUN
            }
            return type(value).__name__, fields
        return value


def tell(story: Story) -> None:
    """All but access."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for part in (topics, configurations, offsets, groups, cluster):
            for what, call in part(story):
                story.note(f"{part.__name__}: {what}", call)


Calls = Iterator[tuple[str, Callable[[], Any]]]


def topics(story: Story) -> Calls:
    ck, admin, topic = story.ck, story.admin, story.topic
    new = ck.NewTopic
    yield "try", lambda: admin.create_topics([new(topic, 3, 1)], validate_only=True)
    yield "try what cannot be", lambda: admin.create_topics([new("a/b", 3, 1)], validate_only=True)
    yield (
        "make",
        lambda: admin.create_topics([
            new(topic, 3, config={"retention.ms": 100000}),
            new(f"{topic}-x", 2, replication_factor=1),
            new(f"{topic}-placed", 2, replica_assignment=[[1], [1]]),
        ]),
    )  # fmt: skip
    yield "make again", lambda: admin.create_topics([new(topic, 3, 1), new(f"{topic}-y", 1, 1)])
    yield "too many replicas", lambda: admin.create_topics([new(f"{topic}-z", 1, 9)])
    yield (
        "bad option",
        lambda: admin.create_topics([new(f"{topic}-z", 1, 1, config={"no.such": "1"})]),
    )
    yield "twice", lambda: admin.create_topics([new(topic, 1, 1), new(topic, 1, 1)])
    yield "grow", lambda: admin.create_partitions([ck.NewPartitions(topic, 4)])
    yield "until it is seen", lambda: story.until_partitions(4)
    yield "shrink", lambda: admin.create_partitions([ck.NewPartitions(topic, 1)])
    yield (
        "grow what is not there",
        lambda: admin.create_partitions([ck.NewPartitions(f"{topic}-no", 4)]),
    )
    names = [topic, f"{topic}-no"]
    yield "describe", lambda: admin.describe_topics(ck.TopicCollection(names))
    yield "describe none", lambda: admin.describe_topics(ck.TopicCollection([]))
    yield "describe twice", lambda: admin.describe_topics(ck.TopicCollection([topic, topic]))
    yield "list one", lambda: admin.list_topics(topic, timeout=_CALL_S).topics
    yield "list", lambda: admin.list_topics(timeout=_CALL_S).topics[topic]
    yield "delete", lambda: admin.delete_topics([f"{topic}-x", f"{topic}-y", f"{topic}-no"])
    yield "delete twice", lambda: admin.delete_topics([topic, topic])
    for given in (None, [], ["t"], "t", [new("", 1, 1)], [new("t", 0)], [new("t", 1, 1, [[1]])]):
        yield f"make {given}", lambda given=given: admin.create_topics(given)
    for given in (None, [], [None], "t"):
        yield f"delete {given}", lambda given=given: admin.delete_topics(given)
    for given in (None, [topic], ck.TopicCollection([3]), ck.TopicCollection([""])):
        yield "describe what is none", lambda given=given: admin.describe_topics(given)
    yield "no such option", lambda: admin.create_topics([new("t", 1, 1)], sooner=True)
    yield "no time", lambda: admin.create_topics([new("t", 1, 1)], request_timeout=-1)
    yield "no number", lambda: admin.create_topics([new("t", 1, 1)], request_timeout="1")
    yield "no truth", lambda: admin.create_topics([new("t", 1, 1)], validate_only="yes")


def configurations(story: Story) -> Calls:
    ck, admin, topic = story.ck, story.admin, story.topic

    def of(**options: Any) -> Any:
        return ck.ConfigResource("topic", topic, **options)

    def change(name: str, value: str | None, how: str) -> Any:
        op = ck.AlterConfigOpType[how]
        entry = ck.ConfigEntry(name, value, incremental_operation=op)
        return admin.incremental_alter_configs([of(incremental_configs=[entry])])

    def some(found: Mapping[Any, Future[Any]]) -> Any:
        (future,) = found.values()
        entries = future.result(_CALL_S)
        names = ("retention.ms", "cleanup.policy", "max.message.bytes", "segment.bytes")
        return [entries[name] for name in names]

    yield "describe", lambda: some(admin.describe_configs([of()]))
    yield "set", lambda: change("max.message.bytes", "2000000", "SET")
    yield "append", lambda: change("cleanup.policy", "compact", "APPEND")
    yield "what is not there", lambda: change("no.such", "1", "SET")
    yield "what cannot be", lambda: change("max.message.bytes", "many", "SET")
    yield "describe what was set", lambda: some(admin.describe_configs([of()]))
    yield "take away", lambda: change("cleanup.policy", "delete", "SUBTRACT")
    yield "unset", lambda: change("max.message.bytes", None, "DELETE")
    yield "replace", lambda: admin.alter_configs([of(set_config={"segment.bytes": 5000000})])
    yield "describe what is left", lambda: some(admin.describe_configs([of()]))
    yield (
        "replace by what cannot be",
        lambda: admin.alter_configs([of(set_config={"segment.bytes": "few"})]),
    )
    yield (
        "of what is not there",
        lambda: admin.describe_configs([ck.ConfigResource("topic", f"{topic}-no")]),
    )
    yield "of no broker", lambda: admin.describe_configs([ck.ConfigResource("broker", "x")])
    both = [ck.ConfigResource("broker", "1"), ck.ConfigResource("broker", "2")]
    yield "of two brokers", lambda: admin.describe_configs(both)
    for given in (None, [], ["t"], [None], "t"):
        yield f"describe {given}", lambda given=given: admin.describe_configs(given)
        yield f"replace {given}", lambda given=given: admin.alter_configs(given)
        yield f"change {given}", lambda given=given: admin.incremental_alter_configs(given)
    yield "no entries", lambda: admin.incremental_alter_configs([of()])
    yield "no such type", lambda: ck.ConfigResource("nothing", "x")
    yield "no name", lambda: ck.ConfigResource("topic", None)


def offsets(story: Story) -> Calls:
    ck, admin, topic = story.ck, story.admin, story.topic
    tp = ck.TopicPartition
    spec = ck.OffsetSpec
    specs = (spec.earliest(), spec.latest(), spec.max_timestamp(), spec.for_timestamp(1))
    for one in specs:
        yield (
            f"list {type(one).__name__}",
            lambda one=one: admin.list_offsets({tp(topic, 0): one, tp(topic, 1): one}),
        )
    yield (
        "list committed",
        lambda: admin.list_offsets(
            {tp(topic, 0): spec.latest()}, isolation_level=ck.IsolationLevel.READ_COMMITTED
        ),
    )
    yield "list of no topic", lambda: admin.list_offsets({tp(f"{topic}-no", 0): spec.latest()})
    yield (
        "delete",
        lambda: admin.delete_records([tp(topic, 0, 1), tp(topic, 1, 99), tp(topic, 2, -1)]),
    )
    yield "delete of no topic", lambda: admin.delete_records([tp(f"{topic}-no", 0, 1)])
    yield "delete twice", lambda: admin.delete_records([tp(topic, 0, 1), tp(topic, 0, 1)])
    yield "list behind that", lambda: admin.list_offsets({tp(topic, 0): spec.earliest()})
    for given in (None, {}, {"t": spec.latest()}, {tp("t", 0): 1}, {tp("", 0): spec.latest()}):
        yield f"list {given and [*given]}", lambda given=given: admin.list_offsets(given)
    for given in (None, ["t"], [tp("t")]):
        yield f"delete {given}", lambda given=given: admin.delete_records(given)
    kind = story.ck.ElectionType.PREFERRED
    yield "elect", lambda: admin.elect_leaders(kind, [tp(topic, 0), tp(f"{topic}-no", 0)])
    yield "elect all", lambda: admin.elect_leaders(kind)
    yield "elect none", lambda: admin.elect_leaders("preferred", [tp(topic, 0)])


def groups(story: Story) -> Calls:
    ck, admin, topic, group = story.ck, story.admin, story.topic, story.group
    tp, of = ck.TopicPartition, ck.ConsumerGroupTopicPartitions
    given = [tp(topic, 0, 1, "note"), tp(topic, 1, 2, leader_epoch=0), tp(f"{topic}-no", 0, 0)]
    yield "alter", lambda: admin.alter_consumer_group_offsets([of(group, given)])
    yield "offsets", lambda: admin.list_consumer_group_offsets([of(group)])
    named = [tp(topic, 1), tp(topic, 0), tp(topic, 2)]
    yield "some offsets", lambda: admin.list_consumer_group_offsets([of(group, named)])
    yield (
        "stable offsets",
        lambda: admin.list_consumer_group_offsets([of(group, named)], require_stable=True),
    )
    yield "offsets of none", lambda: admin.list_consumer_group_offsets([of(f"{group}-no")])

    def own(**options: Any) -> Any:
        found = admin.list_consumer_groups(**options).result(_CALL_S)
        return [one for one in found.valid if one.group_id == group], found.errors

    yield "list", own
    state, kind = ck.ConsumerGroupState, ck.ConsumerGroupType
    yield "list some", lambda: own(states={state.EMPTY}, types={kind.CLASSIC})
    yield "list others", lambda: own(states={state.STABLE})
    yield "list no set", lambda: admin.list_consumer_groups(states=[state.STABLE])
    yield "list no state", lambda: admin.list_consumer_groups(states={"stable"})
    yield "describe", lambda: admin.describe_consumer_groups([group, f"{group}-no"])
    yield (
        "describe more",
        lambda: admin.describe_consumer_groups([group], include_authorized_operations=True),
    )
    yield "old list", lambda: admin.list_groups(group, timeout=_CALL_S)
    yield "old list of none", lambda: admin.list_groups(f"{group}-no", timeout=_CALL_S)
    yield "delete", lambda: admin.delete_consumer_groups([group, f"{group}-no"])
    for given in (None, [], "g", [None]):
        yield f"describe {given}", lambda given=given: admin.describe_consumer_groups(given)
        yield f"delete {given}", lambda given=given: admin.delete_consumer_groups(given)
        yield f"offsets {given}", lambda given=given: admin.list_consumer_group_offsets(given)
        yield f"alter {given}", lambda given=given: admin.alter_consumer_group_offsets(given)
    for given in (of(""), of("g", []), of("g", [tp("t", -1)]), of("g", [tp("t", 0, 5)]), of(None)):
        yield "wrong offsets", lambda given=given: admin.list_consumer_group_offsets([given])
    yield "no offset", lambda: admin.alter_consumer_group_offsets([of("g", [tp("t", 0)])])


def cluster(story: Story) -> Calls:
    admin, topic = story.admin, story.topic
    yield "describe", admin.describe_cluster
    yield "and operations", lambda: admin.describe_cluster(include_authorized_operations=True)
    yield "id", lambda: admin.cluster_id() == admin.list_topics(topic).cluster_id
    yield "brokers", lambda: admin.list_topics(topic, timeout=_CALL_S).brokers
    yield "poll", lambda: admin.poll(0)
    yield "length", lambda: len(admin)
    yield "delete", lambda: admin.delete_topics([topic, f"{topic}-placed"])


def members(story: Story) -> None:
    """Of a group that has members, whom nothing of this disturbs."""
    for what, call in _attended(story):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            story.note(what, call)


def attended(bootstrap: str, topic: str, group: str, protocol: str) -> list[list[tuple[str, Any]]]:
    """What both tell of a group while a consumer reads the topic in it: theirs, ours."""
    stories = [Story(classes, bootstrap, topic, group) for classes in CLASSES.values()]
    with kcore.Consumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        group_protocol=protocol,
        client_id="c",
        group_instance_id="i",
    ) as consumer:
        while not consumer.assignment():
            consumer.poll(timeout_ms=50)
        for story in stories:
            members(story)
    return [story.told for story in stories]


def _attended(story: Story) -> Calls:
    ck, admin, topic, group = story.ck, story.admin, story.topic, story.group
    kinds = ck.ConsumerGroupType
    yield (
        "describe",
        lambda: admin.describe_consumer_groups([group], include_authorized_operations=True),
    )

    def own() -> Any:
        found = admin.list_consumer_groups(types={kinds.CLASSIC, kinds.CONSUMER}).result(_CALL_S)
        return [one for one in found.valid if one.group_id == group], found.errors

    yield "list", own
    yield "list others", lambda: admin.list_consumer_groups(types={kinds.UNKNOWN})
    yield (
        "list what is unknown",
        lambda: admin.list_consumer_groups(states={ck.ConsumerGroupState.UNKNOWN}),
    )
    yield "old list", lambda: admin.list_groups(group)
    yield "delete", lambda: admin.delete_consumer_groups([group])
    given = ck.ConsumerGroupTopicPartitions(group, [ck.TopicPartition(topic, 0, 1)])
    yield "alter", lambda: admin.alter_consumer_group_offsets([given])


def access(story: Story) -> None:
    """ACLs, and SCRAM credentials: of a broker that has an authorizer."""
    for what, call in chain(_bindings(story), _passwords(story)):  # none before the one before
        story.note(what, call)


def _bindings(story: Story) -> Calls:
    ck, admin, topic = story.ck, story.admin, story.topic
    read = ("User:a", "*", "read", "allow")
    one = ck.AclBinding("topic", topic, "literal", *read)
    two = ck.AclBinding("group", topic, "prefixed", "User:b", "1.2.3.4", "all", "deny")
    bad = ck.AclBinding("topic", topic, "literal", "b", "*", "read", "allow")
    some = ck.AclBindingFilter("any", topic, "any", None, None, "any", "any")
    topics_only = ck.AclBindingFilter("topic", topic, "match", None, None, "any", "any")
    yield "create", lambda: admin.create_acls([one, two])
    yield "create with a bad one", lambda: admin.create_acls([one, bad])
    yield "twice", lambda: admin.create_acls([one, one])
    story.until(2, lambda: admin.describe_acls(some).result(_CALL_S))
    yield "describe", lambda: sorted(admin.describe_acls(some).result(_CALL_S))
    yield "describe some", lambda: admin.describe_acls(topics_only)
    yield "delete some", lambda: admin.delete_acls([topics_only])
    story.until(1, lambda: admin.describe_acls(some).result(_CALL_S))
    yield "delete all", lambda: admin.delete_acls([some])
    story.until(0, lambda: admin.describe_acls(some).result(_CALL_S))
    yield "describe none", lambda: admin.describe_acls(some)
    yield "create of filters", lambda: ck.AclBinding("any", topic, "literal", *read)
    yield "create of nothing", lambda: ck.AclBinding("topic", None, "literal", *read)
    for given in (None, [], [None], ["t"], "t"):
        yield f"create {given}", lambda given=given: admin.create_acls(given)
        yield f"delete {given}", lambda given=given: admin.delete_acls(given)
    yield "describe an entry", lambda: admin.describe_acls(one)


def _passwords(story: Story) -> Calls:
    ck, admin, user = story.ck, story.admin, story.group
    info, kinds = ck.ScramCredentialInfo, ck.ScramMechanism
    upsert, delete = ck.UserScramCredentialUpsertion, ck.UserScramCredentialDeletion
    small, large = info(kinds.SCRAM_SHA_256, 4096), info(kinds.SCRAM_SHA_512, 8192)
    yield "nobody", lambda: admin.describe_user_scram_credentials([user])
    yield "set", lambda: admin.alter_user_scram_credentials([upsert(user, small, b"p", b"salt")])
    yield "set another", lambda: admin.alter_user_scram_credentials([upsert(user, large, b"p")])
    yield (
        "too few",
        lambda: admin.alter_user_scram_credentials(
            [upsert(user, info(kinds.SCRAM_SHA_256, 1), b"p")]
        ),
    )

    def infos() -> Any:
        found = admin.describe_user_scram_credentials().result(_CALL_S)
        return found[user].scram_credential_infos if user in found else ()

    story.until(2, infos)
    both = [user, f"{user}-no"]
    yield "describe", lambda: admin.describe_user_scram_credentials(both)
    yield "twice", lambda: admin.describe_user_scram_credentials([user, user])
    yield "all", lambda: admin.describe_user_scram_credentials().result(_CALL_S)[user]
    left = 2
    for kind in (kinds.SCRAM_SHA_256, kinds.SCRAM_SHA_512, kinds.SCRAM_SHA_256):
        story.until(left, infos)
        left = max(left - 1, 0)
        yield (
            f"delete {kind.name}",
            lambda kind=kind: admin.alter_user_scram_credentials([delete(user, kind)]),
        )
    for given in (None, [], [None], [upsert("", small, b"p")], [upsert("u", small, "p")]):
        yield (
            f"alter {given and given[:0]}",
            (lambda given=given: admin.alter_user_scram_credentials(given)),
        )
    for given in (1, [None], [""]):
        yield f"describe {given}", lambda given=given: admin.describe_user_scram_credentials(given)
