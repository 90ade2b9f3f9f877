"""confluent-kafka's AdminClient: calls that return futures, over AsyncAdmin in a thread."""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from kcore.admin.cluster import ask_metadata
from kcore.admin.core import Procedure
from kcore.clients.stand_in.confluent import admin_checks as checks
from kcore.clients.stand_in.confluent import admin_describing as describing
from kcore.clients.stand_in.confluent import admin_questions as questions
from kcore.clients.stand_in.confluent.admin_cluster import MetadataMethods
from kcore.clients.stand_in.confluent.admin_desk import Desk
from kcore.clients.stand_in.confluent.admin_metadata import GroupMetadata
from kcore.clients.stand_in.confluent.admin_values import (
    AclBinding,
    AclBindingFilter,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
    UserScramCredentialAlteration,
)
from kcore.clients.stand_in.confluent.errors import KafkaError, failure, raised
from kcore.clients.stand_in.confluent.happenings import Happenings
from kcore.clients.stand_in.confluent.options import Configuration, of_admin
from kcore.clients.stand_in.confluent.statistics import of_admin_client
from kcore.clients.stand_in.confluent.structures import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    IsolationLevel,
    TopicCollection,
    TopicPartition,
)
from kcore.connection.measures import LinkMeasures
from kcore.errors import KafkaConfigurationError
from kcore.errors import KafkaError as OurError
from kcore.events import Event
from kcore.transports import monotonic_ms, monotonic_s

Futures = dict[Any, "Future[Any]"]

_CLOSED: Final = "AdminClient has been closed"


class AdminClient(MetadataMethods):
    """Sees to topics, configurations, access and groups. conf: a mapping of librdkafka's names.

    Calls check what they are given (TypeError, ValueError) and return futures, one for each thing
    they are about, that end in a result or in a KafkaException. request_timeout: until then (s;
    default: socket.timeout.ms). operation_timeout: what brokers are told to take (s).

    KafkaException: of conf. RuntimeError, of each call: closed.
    """

    _desk: Desk | None = None

    def __init__(self, conf: Mapping[str, Any], **kwargs: Any) -> None:
        given = Configuration((conf,), kwargs)
        self._timeout_s = given.get("socket.timeout.ms", 60_000) / 1000
        self._heard = _Heard(given)
        listen = partial(_pass_on, weakref.ref(self._heard))
        try:
            self._desk = Desk(of_admin(given), listen, partial(_watch, weakref.ref(self._heard)))
        except KafkaConfigurationError as error:
            raise raised(error) from error
        weakref.finalize(self, self._desk.let_go)
        self._config, self._began_at = given, time.time()
        self._heard.serve_for(self)
        if self._heard.tells_anything:  # theirs connects before it is asked anything
            self._desk.ask(_reach(), self._timeout_s, lambda _result, _error: None)

    # Life ---------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        desk, self._desk = self._desk, None
        if desk is not None:
            desk.close()

    def __len__(self) -> int:
        return 0 if self._desk is None else len(self._desk)

    def poll(self, timeout: float) -> int:
        """Call error_cb, throttle_cb, stats_cb and the logger for what has come up, or comes up
        within the time (s; below 0: none, as there); how often.
        """
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
            raise TypeError(f"timeout must be a real number, not {type(timeout).__name__}")
        self._open()
        heard, until = self._heard, monotonic_s() + timeout
        while True:
            heard.news.clear()
            served = heard.serve(monotonic_ms())
            left = until - monotonic_s()
            if served or left <= 0:
                return served
            heard.news.wait(min(left, heard.due_in(monotonic_ms()) / 1000))

    def see(self, event: Event) -> None:
        """What our client says; not for programs."""

    def statistics(self) -> str:
        """What stats_cb is given."""
        return of_admin_client(self._open(), self._config, self._began_at)

    def _open(self) -> Desk:
        if self._desk is None:
            raise RuntimeError(_CLOSED)
        return self._desk

    def _handle(self) -> Desk:
        if self._desk is None:
            raise RuntimeError("Handle has been closed")
        return self._desk

    # Asking -------------------------------------------------------------------------------------

    def _ask(
        self, keys: Iterable[Any], procedure: Procedure[dict[Any, Any]], request_timeout: Any
    ) -> Futures:
        """{key: its future}, of a procedure that gives {key: value, or error}."""
        desk = self._open()
        limit = checks.timeout(request_timeout, "request_timeout", self._timeout_s)
        futures: Futures = {key: Future() for key in keys}
        for future in futures.values():
            future.set_running_or_notify_cancel()  # which nobody can take back

        def done(answers: dict[Any, Any] | None, error: BaseException | None) -> None:
            for key, future in futures.items():
                value = error if answers is None else answers.get(key)
                if not isinstance(value, BaseException):
                    future.set_result(value)
                elif desk.closed:
                    future.set_exception(failure("_DESTROY"))
                else:
                    future.set_exception(raised(value))

        try:
            desk.ask(procedure, limit, done)
        except OurError as error:
            raise raised(error) from error
        return futures

    def _ask_one(self, procedure: Procedure[dict[None, Any]], limit: Any) -> Future[Any]:
        return self._ask([None], procedure, limit)[None]

    def _refused(self, keys: Iterable[Any], words: str, code: str = "_INVALID_ARG") -> Futures:
        """What theirs finds out as late as that."""
        self._open()
        futures: Futures = {key: Future() for key in keys}
        for future in futures.values():
            future.set_running_or_notify_cancel()
            future.set_exception(failure(code, words))
        return futures

    # Topics -------------------------------------------------------------------------------------

    def create_topics(
        self,
        new_topics: list[NewTopic],
        *,
        validate_only: bool = False,
        request_timeout: float | None = None,
        operation_timeout: float | None = None,
    ) -> Futures:
        """Make topics. {topic: a future of None}. validate_only: nothing is made."""
        names = [one.topic for one in new_topics]
        only = checks.flag(validate_only, "validate_only")
        limit = _operation(operation_timeout)
        checks.objects(new_topics, NewTopic)
        self._open()
        checks.new_topics(new_topics)
        if checks.has_twice(names):
            return self._refused(names, "Duplicate topics not allowed", "INVALID_REQUEST")
        procedure = questions.create_topics(new_topics, validate_only=only)
        return self._ask(names, questions.within(procedure, limit), request_timeout)

    def delete_topics(
        self,
        topics: list[str],
        *,
        request_timeout: float | None = None,
        operation_timeout: float | None = None,
    ) -> Futures:
        """Delete topics. {topic: a future of None}."""
        limit = _operation(operation_timeout)
        checks.texts(topics, "topic strings")
        if checks.has_twice(topics):
            return self._refused(topics, "Duplicate topics not allowed", "INVALID_REQUEST")
        procedure = questions.delete_topics(topics)
        return self._ask(topics, questions.within(procedure, limit), request_timeout)

    def create_partitions(
        self,
        new_partitions: list[NewPartitions],
        *,
        validate_only: bool = False,
        request_timeout: float | None = None,
        operation_timeout: float | None = None,
    ) -> Futures:
        """Add partitions, up to new totals. {topic: a future of None}."""
        names = [one.topic for one in new_partitions]
        only = checks.flag(validate_only, "validate_only")
        limit = _operation(operation_timeout)
        checks.objects(new_partitions, NewPartitions)
        self._open()
        checks.new_partitions(new_partitions)
        if checks.has_twice(names):
            return self._refused(names, "Duplicate topics not allowed")
        procedure = questions.create_partitions(new_partitions, validate_only=only)
        return self._ask(names, questions.within(procedure, limit), request_timeout)

    def describe_topics(
        self,
        topics: TopicCollection,
        *,
        include_authorized_operations: bool = False,
        request_timeout: float | None = None,
    ) -> Futures:
        """{topic: a future of its TopicDescription}."""
        allowed = checks.flag(include_authorized_operations, "include_authorized_operations")
        names = checks.topic_names(topics)
        if checks.has_twice(names):
            return self._refused(names, "Duplicate topics not allowed")
        procedure = describing.describe_topics(names, operations=allowed)
        return self._ask(names, procedure, request_timeout)

    def delete_records(
        self,
        topic_partition_offsets: list[TopicPartition],
        *,
        request_timeout: float | None = None,
        operation_timeout: float | None = None,
    ) -> Futures:
        """Delete what is below the offsets of these partitions (OFFSET_END: all there is).
        {partition: a future of its DeletedRecords}.
        """
        limit = _operation(operation_timeout)
        given = checks.partitions(topic_partition_offsets, "Request", "request")
        if checks.has_twice(given):
            return self._refused(given, "Duplicate partitions not allowed")
        procedure = questions.within(questions.delete_records(given), limit)
        return self._ask(given, procedure, request_timeout)

    def list_offsets(
        self,
        topic_partition_offsets: dict[TopicPartition, OffsetSpec],
        *,
        isolation_level: IsolationLevel | None = None,
        request_timeout: float | None = None,
    ) -> Futures:
        """{partition: a future of its ListOffsetsResultInfo}."""
        given = checks.specs(topic_partition_offsets)
        level = checks.isolation(isolation_level)
        return self._ask(given, questions.list_offsets(given, level), request_timeout)

    def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: list[TopicPartition] | None = None,
        *,
        request_timeout: float | None = None,
        operation_timeout: float | None = None,
    ) -> Future[Any]:
        """Elect the leaders of these partitions, or (None) of all that need it. A future of
        {partition: None, or its KafkaError}.
        """
        limit = _operation(operation_timeout)
        checks.election(election_type, partitions)
        if checks.has_twice(partitions or ()):
            return self._refused([None], "Duplicate partitions specified")[None]
        procedure = questions.within(
            questions.elect_leaders(election_type.value, partitions), limit
        )
        return self._ask_one(_whole(procedure), request_timeout)

    # Configurations -----------------------------------------------------------------------------

    def describe_configs(
        self,
        resources: list[ConfigResource],
        *,
        request_timeout: float | None = None,
        broker: int | None = None,  # noqa: ARG002 - theirs; any will do
    ) -> Futures:
        """{resource: a future of {name: ConfigEntry}}."""
        refusal = self._refusal(checks.resources(resources))
        if refusal is not None:
            return refusal
        return self._ask(resources, questions.describe_configs(resources), request_timeout)

    def alter_configs(
        self,
        resources: list[ConfigResource],
        *,
        validate_only: bool = False,
        request_timeout: float | None = None,
        broker: int | None = None,  # noqa: ARG002 - theirs; any will do
    ) -> Futures:
        """Have resources be configured as their `set_config` says, and all else that was set be
        reset. {resource: a future of None}. Deprecated: incremental_alter_configs.
        """
        warnings.warn(
            "alter_configs has been deprecated. Use incremental_alter_configs instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        only = checks.flag(validate_only, "validate_only")
        refusal = self._refusal(checks.resources(resources))
        if refusal is not None:
            return refusal
        procedure = questions.alter_configs(resources, validate_only=only)
        return self._ask(resources, procedure, request_timeout)

    def incremental_alter_configs(
        self,
        resources: list[ConfigResource],
        *,
        validate_only: bool = False,
        request_timeout: float | None = None,
        broker: int | None = None,  # noqa: ARG002 - theirs; any will do
    ) -> Futures:
        """Do what the `incremental_configs` of resources say. {resource: a future of None}."""
        only = checks.flag(validate_only, "validate_only")
        checks.resources_to_change(resources)
        self._open()
        checks.changes(resources)
        for one in resources:
            if checks.has_twice(entry.name for entry in one.incremental_configs):
                return self._refused(resources, f"Duplicate entries of {one.name} not allowed")
        refusal = self._refusal(resources)
        if refusal is not None:
            return refusal
        procedure = questions.incremental_alter_configs(resources, validate_only=only)
        return self._ask(resources, procedure, request_timeout)

    def _refusal(self, resources: list[ConfigResource]) -> Futures | None:
        self._open()
        brokers = [one.name for one in resources if one.restype is ResourceType.BROKER]
        for one in resources:
            if one.restype not in questions.KINDS:
                return self._refused(resources, f"{one!r} has no configuration")
        for name in brokers:
            if not name.isdecimal():
                words = f"Expected an int32 broker_id for ConfigResource(type=BROKER, name={name})"
                return self._refused(resources, words)
        if len(brokers) > 1:
            words = "Only one ConfigResource of type BROKER is allowed per call"
            return self._refused(resources, words, "_CONFLICT")
        if checks.has_twice(resources):
            return self._refused(resources, "Duplicate resources not allowed")
        return None

    # Access -------------------------------------------------------------------------------------

    def create_acls(
        self, acls: list[AclBinding], *, request_timeout: float | None = None
    ) -> Futures:
        """{binding: a future of None}."""
        checks.bindings(acls, AclBinding, "ACL bindings")
        self._open()
        return self._ask(acls, questions.create_acls(acls), request_timeout)

    def describe_acls(
        self, acl_binding_filter: AclBindingFilter, *, request_timeout: float | None = None
    ) -> Future[Any]:
        """A future of the bindings that match."""
        if not isinstance(acl_binding_filter, AclBindingFilter):
            raise TypeError("Expected an AclBindingFilter object")
        return self._ask_one(questions.describe_acls(acl_binding_filter), request_timeout)

    def delete_acls(
        self, acl_binding_filters: list[AclBindingFilter], *, request_timeout: float | None = None
    ) -> Futures:
        """{filter: a future of the bindings that are gone}."""
        checks.bindings(acl_binding_filters, AclBindingFilter, "ACL binding filters")
        procedure = questions.delete_acls(acl_binding_filters)
        return self._ask(acl_binding_filters, procedure, request_timeout)

    def describe_user_scram_credentials(
        self, users: list[str] | None = None, *, request_timeout: float | None = None
    ) -> Any:
        """{user: a future of a UserScramCredentialsDescription}; of all (None) one future of all
        of these by user.
        """
        checks.users(users)
        procedure = questions.describe_user_scram_credentials(users)
        if users is None:
            return self._ask_one(_whole(procedure), request_timeout)
        if checks.has_twice(users):
            return self._refused(users, "Duplicate users aren't allowed in the same request")
        return self._ask(users, procedure, request_timeout)

    def alter_user_scram_credentials(
        self,
        alterations: list[UserScramCredentialAlteration],
        *,
        request_timeout: float | None = None,
    ) -> Futures:
        """Set or delete passwords. {user: a future of None}."""
        users = [one.user for one in checks.alterations(alterations)]
        procedure = questions.alter_user_scram_credentials(alterations)
        return self._ask(users, procedure, request_timeout)

    # The cluster and its groups -----------------------------------------------------------------

    def describe_cluster(
        self,
        *,
        include_authorized_operations: bool = False,
        request_timeout: float | None = None,
    ) -> Future[Any]:
        """A future of a DescribeClusterResult."""
        allowed = checks.flag(include_authorized_operations, "include_authorized_operations")
        return self._ask_one(describing.describe_cluster(operations=allowed), request_timeout)

    def list_groups(self, group: str | None = None, timeout: float = -1) -> list[GroupMetadata]:
        """Groups with their members, or one. Deprecated: list_consumer_groups,
        describe_consumer_groups.
        """
        warnings.warn(
            "list_groups() is deprecated, use list_consumer_groups() and "
            "describe_consumer_groups() instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self._answer(describing.list_groups(group), timeout)  # type: ignore[no-any-return]

    def list_consumer_groups(
        self,
        *,
        states: set[ConsumerGroupState] | None = None,
        types: set[ConsumerGroupType] | None = None,
        request_timeout: float | None = None,
    ) -> Future[Any]:
        """A future of a ListConsumerGroupsResult: groups in these states, of these types."""
        given = checks.members(states, ConsumerGroupState, "states")
        kinds = checks.group_types(types)
        return self._ask_one(describing.list_consumer_groups(given, kinds), request_timeout)

    def describe_consumer_groups(
        self,
        group_ids: list[str],
        *,
        include_authorized_operations: bool = False,
        request_timeout: float | None = None,
    ) -> Futures:
        """{group: a future of its ConsumerGroupDescription}."""
        allowed = checks.flag(include_authorized_operations, "include_authorized_operations")
        checks.texts(group_ids, "group ids")
        if checks.has_twice(group_ids):
            return self._refused(group_ids, "Duplicate groups not allowed")
        procedure = describing.describe_consumer_groups(group_ids, operations=allowed)
        return self._ask(group_ids, procedure, request_timeout)

    def delete_consumer_groups(
        self, group_ids: list[str], *, request_timeout: float | None = None
    ) -> Futures:
        """{group: a future of None}."""
        checks.texts(group_ids, "group ids")
        if checks.has_twice(group_ids):
            return self._refused(group_ids, "Duplicate groups not allowed")
        return self._ask(group_ids, questions.delete_groups(group_ids), request_timeout)

    def list_consumer_group_offsets(
        self,
        list_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions],
        *,
        require_stable: bool = False,
        request_timeout: float | None = None,
    ) -> Futures:
        """What a group has committed, of these partitions or (None) of all.
        {group: a future of its ConsumerGroupTopicPartitions}.
        """
        one = checks.group_partitions(list_consumer_group_offsets_request, to_alter=False)
        stable = checks.flag(require_stable, "require_stable")
        procedure = questions.list_group_offsets(one, require_stable=stable)
        return self._ask([one.group_id], procedure, request_timeout)

    def alter_consumer_group_offsets(
        self,
        alter_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions],
        *,
        request_timeout: float | None = None,
    ) -> Futures:
        """Commit for a group that has no members. {group: a future of a
        ConsumerGroupTopicPartitions, with what was wrong with each partition}.
        """
        one = checks.group_partitions(alter_consumer_group_offsets_request, to_alter=True)
        return self._ask([one.group_id], questions.alter_group_offsets(one), request_timeout)


def _operation(value: Any) -> float | None:
    return None if value is None else checks.timeout(value, "operation_timeout", 0)


def _whole(procedure: Procedure[dict[Any, Any]]) -> Procedure[dict[None, Any]]:
    """The answers as one."""
    found = yield from procedure
    return {None: found}


def _reach() -> Procedure[None]:
    """Any broker."""
    yield [ask_metadata()]


class _Heard(Happenings):
    """What `poll` waits for. news: something is to be called."""

    def __init__(self, conf: Configuration) -> None:
        super().__init__(str(conf.get("client.id", "rdkafka")), conf)
        self._interval_ms = int(conf.get("statistics.interval.ms", 0))  # `poll` counts it anyway
        self.news = threading.Event()
        self.due_in(monotonic_ms())

    @property
    def tells_anything(self) -> bool:
        """Whether somebody is to hear of what nobody has asked for."""
        return self.tells_errors or bool(self._interval_ms)

    def watch(self, measures: LinkMeasures) -> None:
        """See Happenings."""
        if self._throttle_cb is not None:
            measures.throttled = partial(_pass_throttle, weakref.ref(self))

    def hear_throttle(self, key: int, throttle_ms: int) -> None:
        """A broker has answered, in the desk's thread."""
        self._throttled(key, throttle_ms)
        self.news.set()

    def tell(self, error: KafkaError) -> None:
        """See Happenings."""
        super().tell(error)
        self.news.set()


def _pass_on(heard: weakref.ref[_Heard], event: Event, now_ms: int) -> None:
    """The thread holds neither the callbacks nor what they belong to."""
    found = heard()
    if found is not None:
        found.report(event, now_ms)


def _watch(heard: weakref.ref[_Heard], measures: LinkMeasures) -> None:
    found = heard()
    if found is not None:
        found.watch(measures)


def _pass_throttle(heard: weakref.ref[_Heard], key: int, throttle_ms: int) -> None:
    found = heard()
    if found is not None:
        found.hear_throttle(key, throttle_ms)
