"""Made by tools/generate_wire.py from kcore/wire/schema/69_consumer_group_describe.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class ConsumerGroupDescribeRequest(Message):
    __slots__ = ("group_ids", "include_authorized_operations")

    API_KEY: ClassVar[int] = 69
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("group_ids", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
        ("include_authorized_operations", "bool", 0, 32767, -1, -1, False, -1, False, False),
    )

    def __init__(
        self,
        *,
        group_ids: list[str] = UNSET,
        include_authorized_operations: bool = False,
    ) -> None:
        self.group_ids: list[str] = [] if group_ids is UNSET else group_ids
        self.include_authorized_operations = include_authorized_operations


class ConsumerGroupDescribeResponse(Message):
    __slots__ = ("throttle_time_ms", "groups")

    API_KEY: ClassVar[int] = 69
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("groups", "[]DescribedGroup", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class TopicPartitions(Struct):
        __slots__ = ("topic_id", "topic_name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
            ("topic_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_id: bytes = ZERO_UUID,
            topic_name: str = "",
            partitions: list[int] = UNSET,
        ) -> None:
            self.topic_id = topic_id
            self.topic_name = topic_name
            self.partitions: list[int] = [] if partitions is UNSET else partitions

    class Assignment(Struct):
        __slots__ = ("topic_partitions",)

        FIELDS: ClassVar[Fields] = (
            ("topic_partitions", "[]TopicPartitions", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_partitions: list[ConsumerGroupDescribeResponse.TopicPartitions] = UNSET,
        ) -> None:
            self.topic_partitions: list[ConsumerGroupDescribeResponse.TopicPartitions] = [] if topic_partitions is UNSET else topic_partitions

    class Member(Struct):
        __slots__ = ("member_id", "instance_id", "rack_id", "member_epoch", "client_id", "client_host", "subscribed_topic_names", "subscribed_topic_regex", "assignment", "target_assignment", "member_type")

        FIELDS: ClassVar[Fields] = (
            ("member_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("instance_id", "string", 0, 32767, 0, 32767, None, -1, False, False),
            ("rack_id", "string", 0, 32767, 0, 32767, None, -1, False, False),
            ("member_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("client_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("client_host", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("subscribed_topic_names", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
            ("subscribed_topic_regex", "string", 0, 32767, 0, 32767, None, -1, False, False),
            ("assignment", "Assignment", 0, 32767, -1, -1, ..., -1, False, False),
            ("target_assignment", "Assignment", 0, 32767, -1, -1, ..., -1, False, False),
            ("member_type", "int8", 1, 32767, -1, -1, -1, -1, True, False),
        )

        def __init__(
            self,
            *,
            member_id: str = "",
            instance_id: str | None = None,
            rack_id: str | None = None,
            member_epoch: int = 0,
            client_id: str = "",
            client_host: str = "",
            subscribed_topic_names: list[str] = UNSET,
            subscribed_topic_regex: str | None = None,
            assignment: ConsumerGroupDescribeResponse.Assignment = UNSET,
            target_assignment: ConsumerGroupDescribeResponse.Assignment = UNSET,
            member_type: int = -1,
        ) -> None:
            self.member_id = member_id
            self.instance_id = instance_id
            self.rack_id = rack_id
            self.member_epoch = member_epoch
            self.client_id = client_id
            self.client_host = client_host
            self.subscribed_topic_names: list[str] = [] if subscribed_topic_names is UNSET else subscribed_topic_names
            self.subscribed_topic_regex = subscribed_topic_regex
            self.assignment: ConsumerGroupDescribeResponse.Assignment = ConsumerGroupDescribeResponse.Assignment() if assignment is UNSET else assignment
            self.target_assignment: ConsumerGroupDescribeResponse.Assignment = ConsumerGroupDescribeResponse.Assignment() if target_assignment is UNSET else target_assignment
            self.member_type = member_type

    class DescribedGroup(Struct):
        __slots__ = ("error_code", "error_message", "group_id", "group_state", "group_epoch", "assignment_epoch", "assignor_name", "members", "authorized_operations")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
            ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("group_state", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("group_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("assignment_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("assignor_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("members", "[]Member", 0, 32767, -1, -1, ..., -1, False, False),
            ("authorized_operations", "int32", 0, 32767, -1, -1, -2147483648, -1, False, False),
        )

        def __init__(
            self,
            *,
            error_code: int = 0,
            error_message: str | None = None,
            group_id: str = "",
            group_state: str = "",
            group_epoch: int = 0,
            assignment_epoch: int = 0,
            assignor_name: str = "",
            members: list[ConsumerGroupDescribeResponse.Member] = UNSET,
            authorized_operations: int = -2147483648,
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.group_id = group_id
            self.group_state = group_state
            self.group_epoch = group_epoch
            self.assignment_epoch = assignment_epoch
            self.assignor_name = assignor_name
            self.members: list[ConsumerGroupDescribeResponse.Member] = [] if members is UNSET else members
            self.authorized_operations = authorized_operations

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: list[ConsumerGroupDescribeResponse.DescribedGroup] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups: list[ConsumerGroupDescribeResponse.DescribedGroup] = [] if groups is UNSET else groups
