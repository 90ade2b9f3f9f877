"""What is where in `confluent_kafka.admin`, and what of ours it is."""

from __future__ import annotations

from typing import Any, Final

from kcore.clients.stand_in.confluent import (
    admin_metadata,
    admin_results,
    admin_values,
    constants,
    errors,
    structures,
)
from kcore.clients.stand_in.confluent.admin import AdminClient
from kcore.clients.stand_in.modules import Table


def _of(module: Any, names: str) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names.split()}


_ACL: Final = _of(
    admin_values,
    "AclBinding AclBindingFilter AclOperation AclPermissionType ResourcePatternType ResourceType",
)
_CONFIG: Final = _of(admin_values, "AlterConfigOpType ConfigEntry ConfigResource ConfigSource")
_GROUP: Final = _of(
    admin_results,
    "ConsumerGroupDescription ConsumerGroupListing ListConsumerGroupsResult MemberAssignment "
    "MemberDescription",
)
_METADATA: Final = _of(
    admin_metadata,
    "BrokerMetadata ClusterMetadata GroupMember GroupMetadata PartitionMetadata TopicMetadata",
)
_RESOURCE: Final = _of(admin_values, "ResourcePatternType ResourceType")
_SCRAM: Final = _of(
    admin_values,
    "ScramCredentialInfo ScramMechanism UserScramCredentialAlteration "
    "UserScramCredentialDeletion UserScramCredentialUpsertion",
) | _of(admin_results, "UserScramCredentialsDescription")
_OFFSETS: Final = _of(admin_values, "OffsetSpec") | _of(admin_results, "ListOffsetsResultInfo")
_CLUSTER: Final = _of(admin_results, "DescribeClusterResult")
_RECORDS: Final = _of(admin_results, "DeletedRecords")
_TOPIC: Final = _of(admin_results, "TopicDescription")
NEW: Final = _of(admin_values, "NewPartitions NewTopic")
_NUMBERS: Final = {
    name: number
    for name, number in constants.FOR_ADMINS.items()
    if name.startswith(("CONFIG_SOURCE_", "RESOURCE_")) and "PATTERN" not in name
}
_MODEL: Final = {
    f"_{name}": getattr(structures, name)
    for name in (
        "ConsumerGroupState",
        "ConsumerGroupTopicPartitions",
        "ConsumerGroupType",
        "ElectionType",
        "IsolationLevel",
        "TopicCollection",
        "TopicPartition",
    )
}

MODULES: Final[Table] = {
    "confluent_kafka.admin": {
        "AdminClient": AdminClient,
        "KafkaError": errors.KafkaError,
        "KafkaException": errors.KafkaException,
        "OFFSET_INVALID": constants.OFFSET_INVALID,
        **_ACL,
        **_CONFIG,
        **_GROUP,
        **_METADATA,
        **_SCRAM,
        **_OFFSETS,
        **_CLUSTER,
        **_RECORDS,
        **_TOPIC,
        **NEW,
        **_NUMBERS,
        **_MODEL,
    },
    "confluent_kafka.admin._acl": _ACL,
    "confluent_kafka.admin._cluster": _CLUSTER,
    "confluent_kafka.admin._config": _CONFIG,
    "confluent_kafka.admin._group": _GROUP,
    "confluent_kafka.admin._listoffsets": _OFFSETS,
    "confluent_kafka.admin._metadata": _METADATA,
    "confluent_kafka.admin._records": _RECORDS,
    "confluent_kafka.admin._resource": _RESOURCE,
    "confluent_kafka.admin._scram": _SCRAM,
    "confluent_kafka.admin._topic": _TOPIC,
}
