"""Made by tools/generate_wire.py from kcore/wire/schema/60_describe_cluster.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class DescribeClusterRequest(Message):
    __slots__ = ("include_cluster_authorized_operations", "endpoint_type", "include_fenced_brokers")

    API_KEY: ClassVar[int] = 60
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("include_cluster_authorized_operations", "bool", 0, 32767, -1, -1, False, -1, False, False),
        ("endpoint_type", "int8", 1, 32767, -1, -1, 1, -1, False, False),
        ("include_fenced_brokers", "bool", 2, 32767, -1, -1, False, -1, False, False),
    )

    def __init__(
        self,
        *,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
    ) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers


class DescribeClusterResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "endpoint_type", "cluster_id", "controller_id", "brokers", "cluster_authorized_operations")

    API_KEY: ClassVar[int] = 60
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("endpoint_type", "int8", 1, 32767, -1, -1, 1, -1, False, False),
        ("cluster_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("controller_id", "int32", 0, 32767, -1, -1, -1, -1, False, False),
        ("brokers", "[]DescribeClusterBroker", 0, 32767, -1, -1, ..., -1, False, False),
        ("cluster_authorized_operations", "int32", 0, 32767, -1, -1, -2147483648, -1, False, False),
    )

    class DescribeClusterBroker(Struct):
        __slots__ = ("broker_id", "host", "port", "rack", "is_fenced")

        FIELDS: ClassVar[Fields] = (
            ("broker_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("host", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("port", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("rack", "string", 0, 32767, 0, 32767, None, -1, False, False),
            ("is_fenced", "bool", 2, 32767, -1, -1, False, -1, False, False),
        )

        def __init__(
            self,
            *,
            broker_id: int = 0,
            host: str = "",
            port: int = 0,
            rack: str | None = None,
            is_fenced: bool = False,
        ) -> None:
            self.broker_id = broker_id
            self.host = host
            self.port = port
            self.rack = rack
            self.is_fenced = is_fenced

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: list[DescribeClusterResponse.DescribeClusterBroker] = UNSET,
        cluster_authorized_operations: int = -2147483648,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.endpoint_type = endpoint_type
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers: list[DescribeClusterResponse.DescribeClusterBroker] = [] if brokers is UNSET else brokers
        self.cluster_authorized_operations = cluster_authorized_operations
