"""The numbers that confluent-kafka names in `cimpl`: librdkafka's (rdkafka.h, 2.16)."""

from __future__ import annotations

from typing import Final

OFFSET_BEGINNING: Final = -2
OFFSET_END: Final = -1
OFFSET_STORED: Final = -1000
OFFSET_INVALID: Final = -1001
TIMESTAMP_NOT_AVAILABLE: Final = 0
TIMESTAMP_CREATE_TIME: Final = 1
TIMESTAMP_LOG_APPEND_TIME: Final = 2
PARTITION_UNASSIGNED: Final = -1

LIBRDKAFKA: Final = ("2.16.0", 0x021000FF)  # whose ways these are
VERSION: Final = "2.16.1"  # of confluent-kafka


def _counted(prefix: str, first: int, names: str) -> dict[str, int]:
    return {f"{prefix}_{name}": first + at for at, name in enumerate(names.split())}


FOR_ADMINS: Final[dict[str, int]] = {
    **_counted(
        "ACL_OPERATION",
        0,
        "UNKNOWN ANY ALL READ WRITE CREATE DELETE ALTER DESCRIBE CLUSTER_ACTION DESCRIBE_CONFIGS "
        "ALTER_CONFIGS IDEMPOTENT_WRITE",
    ),
    **_counted("ACL_PERMISSION_TYPE", 0, "UNKNOWN ANY DENY ALLOW"),
    **_counted("ALTER_CONFIG_OP_TYPE", 0, "SET DELETE APPEND SUBTRACT"),
    **_counted(
        "CONFIG_SOURCE",
        0,
        "UNKNOWN_CONFIG DYNAMIC_TOPIC_CONFIG DYNAMIC_BROKER_CONFIG DYNAMIC_DEFAULT_BROKER_CONFIG "
        "STATIC_BROKER_CONFIG DEFAULT_CONFIG",
    ),
    "CONFIG_SOURCE_GROUP_CONFIG": 8,
    **_counted(
        "CONSUMER_GROUP_STATE",
        0,
        "UNKNOWN PREPARING_REBALANCE COMPLETING_REBALANCE STABLE DEAD EMPTY",
    ),
    **_counted("CONSUMER_GROUP_TYPE", 0, "UNKNOWN CONSUMER CLASSIC"),
    **_counted("ELECTION_TYPE", 0, "PREFERRED UNCLEAN"),
    **_counted("ISOLATION_LEVEL", 0, "READ_UNCOMMITTED READ_COMMITTED"),
    **_counted("OFFSET_SPEC", -3, "MAX_TIMESTAMP EARLIEST LATEST"),
    **_counted("RESOURCE", 0, "UNKNOWN ANY TOPIC GROUP BROKER TRANSACTIONAL_ID"),
    **_counted("RESOURCE_PATTERN", 0, "UNKNOWN ANY MATCH LITERAL PREFIXED"),
    **_counted("SCRAM_MECHANISM", 0, "UNKNOWN SHA_256 SHA_512"),
    **_counted("SHARE_ACKNOWLEDGE_TYPE", 1, "ACCEPT RELEASE REJECT"),
}
