"""Every message class, loaded at first use (PEP 562).

Made by tools/generate_wire.py; do not edit.
"""

from importlib import import_module

from kcore.hints import TYPE_CHECKING
from kcore.wire.message import ZERO_UUID, Message, Struct

if TYPE_CHECKING:
    from kcore.wire.messages.add_offsets_to_txn import (
        AddOffsetsToTxnRequest,
        AddOffsetsToTxnResponse,
    )
    from kcore.wire.messages.add_partitions_to_txn import (
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnResponse,
    )
    from kcore.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
    from kcore.wire.messages.alter_client_quotas import (
        AlterClientQuotasRequest,
        AlterClientQuotasResponse,
    )
    from kcore.wire.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
    from kcore.wire.messages.alter_partition_reassignments import (
        AlterPartitionReassignmentsRequest,
        AlterPartitionReassignmentsResponse,
    )
    from kcore.wire.messages.alter_replica_log_dirs import (
        AlterReplicaLogDirsRequest,
        AlterReplicaLogDirsResponse,
    )
    from kcore.wire.messages.alter_share_group_offsets import (
        AlterShareGroupOffsetsRequest,
        AlterShareGroupOffsetsResponse,
    )
    from kcore.wire.messages.alter_user_scram_credentials import (
        AlterUserScramCredentialsRequest,
        AlterUserScramCredentialsResponse,
    )
    from kcore.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
    from kcore.wire.messages.consumer_group_describe import (
        ConsumerGroupDescribeRequest,
        ConsumerGroupDescribeResponse,
    )
    from kcore.wire.messages.consumer_group_heartbeat import (
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupHeartbeatResponse,
    )
    from kcore.wire.messages.consumer_protocol import (
        ConsumerProtocolAssignment,
        ConsumerProtocolSubscription,
    )
    from kcore.wire.messages.create_acls import CreateAclsRequest, CreateAclsResponse
    from kcore.wire.messages.create_delegation_token import (
        CreateDelegationTokenRequest,
        CreateDelegationTokenResponse,
    )
    from kcore.wire.messages.create_partitions import (
        CreatePartitionsRequest,
        CreatePartitionsResponse,
    )
    from kcore.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
    from kcore.wire.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
    from kcore.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
    from kcore.wire.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
    from kcore.wire.messages.delete_share_group_offsets import (
        DeleteShareGroupOffsetsRequest,
        DeleteShareGroupOffsetsResponse,
    )
    from kcore.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
    from kcore.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
    from kcore.wire.messages.describe_client_quotas import (
        DescribeClientQuotasRequest,
        DescribeClientQuotasResponse,
    )
    from kcore.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
    from kcore.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
    from kcore.wire.messages.describe_delegation_token import (
        DescribeDelegationTokenRequest,
        DescribeDelegationTokenResponse,
    )
    from kcore.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
    from kcore.wire.messages.describe_log_dirs import (
        DescribeLogDirsRequest,
        DescribeLogDirsResponse,
    )
    from kcore.wire.messages.describe_producers import (
        DescribeProducersRequest,
        DescribeProducersResponse,
    )
    from kcore.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
    from kcore.wire.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsRequest,
        DescribeShareGroupOffsetsResponse,
    )
    from kcore.wire.messages.describe_topic_partitions import (
        DescribeTopicPartitionsRequest,
        DescribeTopicPartitionsResponse,
    )
    from kcore.wire.messages.describe_transactions import (
        DescribeTransactionsRequest,
        DescribeTransactionsResponse,
    )
    from kcore.wire.messages.describe_user_scram_credentials import (
        DescribeUserScramCredentialsRequest,
        DescribeUserScramCredentialsResponse,
    )
    from kcore.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
    from kcore.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
    from kcore.wire.messages.expire_delegation_token import (
        ExpireDelegationTokenRequest,
        ExpireDelegationTokenResponse,
    )
    from kcore.wire.messages.fetch import FetchRequest, FetchResponse
    from kcore.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
    from kcore.wire.messages.get_telemetry_subscriptions import (
        GetTelemetrySubscriptionsRequest,
        GetTelemetrySubscriptionsResponse,
    )
    from kcore.wire.messages.group_records import (
        ConsumerGroupCurrentMemberAssignmentKey,
        ConsumerGroupCurrentMemberAssignmentValue,
        ConsumerGroupMemberMetadataKey,
        ConsumerGroupMemberMetadataValue,
        ConsumerGroupMetadataKey,
        ConsumerGroupMetadataValue,
        ConsumerGroupPartitionMetadataKey,
        ConsumerGroupRegularExpressionKey,
        ConsumerGroupRegularExpressionValue,
        ConsumerGroupTargetAssignmentMemberKey,
        ConsumerGroupTargetAssignmentMemberValue,
        ConsumerGroupTargetAssignmentMetadataKey,
        ConsumerGroupTargetAssignmentMetadataValue,
        GroupMetadataKey,
        GroupMetadataValue,
        OffsetCommitKey,
        OffsetCommitValue,
    )
    from kcore.wire.messages.header import RequestHeader, ResponseHeader
    from kcore.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
    from kcore.wire.messages.incremental_alter_configs import (
        IncrementalAlterConfigsRequest,
        IncrementalAlterConfigsResponse,
    )
    from kcore.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
    from kcore.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
    from kcore.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
    from kcore.wire.messages.list_config_resources import (
        ListConfigResourcesRequest,
        ListConfigResourcesResponse,
    )
    from kcore.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
    from kcore.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
    from kcore.wire.messages.list_partition_reassignments import (
        ListPartitionReassignmentsRequest,
        ListPartitionReassignmentsResponse,
    )
    from kcore.wire.messages.list_transactions import (
        ListTransactionsRequest,
        ListTransactionsResponse,
    )
    from kcore.wire.messages.metadata import MetadataRequest, MetadataResponse
    from kcore.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
    from kcore.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
    from kcore.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
    from kcore.wire.messages.offset_for_leader_epoch import (
        OffsetForLeaderEpochRequest,
        OffsetForLeaderEpochResponse,
    )
    from kcore.wire.messages.produce import ProduceRequest, ProduceResponse
    from kcore.wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
    from kcore.wire.messages.remove_raft_voter import (
        RemoveRaftVoterRequest,
        RemoveRaftVoterResponse,
    )
    from kcore.wire.messages.renew_delegation_token import (
        RenewDelegationTokenRequest,
        RenewDelegationTokenResponse,
    )
    from kcore.wire.messages.sasl_authenticate import (
        SaslAuthenticateRequest,
        SaslAuthenticateResponse,
    )
    from kcore.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
    from kcore.wire.messages.share_acknowledge import (
        ShareAcknowledgeRequest,
        ShareAcknowledgeResponse,
    )
    from kcore.wire.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
    from kcore.wire.messages.share_group_describe import (
        ShareGroupDescribeRequest,
        ShareGroupDescribeResponse,
    )
    from kcore.wire.messages.share_group_heartbeat import (
        ShareGroupHeartbeatRequest,
        ShareGroupHeartbeatResponse,
    )
    from kcore.wire.messages.share_group_records import (
        ShareGroupCurrentMemberAssignmentKey,
        ShareGroupCurrentMemberAssignmentValue,
        ShareGroupMemberMetadataKey,
        ShareGroupMemberMetadataValue,
        ShareGroupMetadataKey,
        ShareGroupMetadataValue,
        ShareGroupStatePartitionMetadataKey,
        ShareGroupStatePartitionMetadataValue,
        ShareGroupTargetAssignmentMemberKey,
        ShareGroupTargetAssignmentMemberValue,
        ShareGroupTargetAssignmentMetadataKey,
        ShareGroupTargetAssignmentMetadataValue,
    )
    from kcore.wire.messages.share_records import (
        ShareSnapshotKey,
        ShareSnapshotValue,
        ShareUpdateKey,
        ShareUpdateValue,
    )
    from kcore.wire.messages.streams_group_describe import (
        StreamsGroupDescribeRequest,
        StreamsGroupDescribeResponse,
    )
    from kcore.wire.messages.streams_group_heartbeat import (
        StreamsGroupHeartbeatRequest,
        StreamsGroupHeartbeatResponse,
    )
    from kcore.wire.messages.streams_group_records import (
        StreamsGroupCurrentMemberAssignmentKey,
        StreamsGroupCurrentMemberAssignmentValue,
        StreamsGroupMemberMetadataKey,
        StreamsGroupMemberMetadataValue,
        StreamsGroupMetadataKey,
        StreamsGroupMetadataValue,
        StreamsGroupTargetAssignmentMemberKey,
        StreamsGroupTargetAssignmentMemberValue,
        StreamsGroupTargetAssignmentMetadataKey,
        StreamsGroupTargetAssignmentMetadataValue,
        StreamsGroupTopologyKey,
        StreamsGroupTopologyValue,
    )
    from kcore.wire.messages.streams_group_topology_description_update import (
        StreamsGroupTopologyDescriptionUpdateRequest,
        StreamsGroupTopologyDescriptionUpdateResponse,
    )
    from kcore.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
    from kcore.wire.messages.transaction_records import TransactionLogKey, TransactionLogValue
    from kcore.wire.messages.txn_offset_commit import (
        TxnOffsetCommitRequest,
        TxnOffsetCommitResponse,
    )
    from kcore.wire.messages.unregister_broker import (
        UnregisterBrokerRequest,
        UnregisterBrokerResponse,
    )
    from kcore.wire.messages.unregister_controller import (
        UnregisterControllerRequest,
        UnregisterControllerResponse,
    )
    from kcore.wire.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
    from kcore.wire.messages.write_txn_markers import (
        WriteTxnMarkersRequest,
        WriteTxnMarkersResponse,
    )

__all__ = [
    "ZERO_UUID",
    "AddOffsetsToTxnRequest",
    "AddOffsetsToTxnResponse",
    "AddPartitionsToTxnRequest",
    "AddPartitionsToTxnResponse",
    "AddRaftVoterRequest",
    "AddRaftVoterResponse",
    "AlterClientQuotasRequest",
    "AlterClientQuotasResponse",
    "AlterConfigsRequest",
    "AlterConfigsResponse",
    "AlterPartitionReassignmentsRequest",
    "AlterPartitionReassignmentsResponse",
    "AlterReplicaLogDirsRequest",
    "AlterReplicaLogDirsResponse",
    "AlterShareGroupOffsetsRequest",
    "AlterShareGroupOffsetsResponse",
    "AlterUserScramCredentialsRequest",
    "AlterUserScramCredentialsResponse",
    "ApiVersionsRequest",
    "ApiVersionsResponse",
    "ConsumerGroupCurrentMemberAssignmentKey",
    "ConsumerGroupCurrentMemberAssignmentValue",
    "ConsumerGroupDescribeRequest",
    "ConsumerGroupDescribeResponse",
    "ConsumerGroupHeartbeatRequest",
    "ConsumerGroupHeartbeatResponse",
    "ConsumerGroupMemberMetadataKey",
    "ConsumerGroupMemberMetadataValue",
    "ConsumerGroupMetadataKey",
    "ConsumerGroupMetadataValue",
    "ConsumerGroupPartitionMetadataKey",
    "ConsumerGroupRegularExpressionKey",
    "ConsumerGroupRegularExpressionValue",
    "ConsumerGroupTargetAssignmentMemberKey",
    "ConsumerGroupTargetAssignmentMemberValue",
    "ConsumerGroupTargetAssignmentMetadataKey",
    "ConsumerGroupTargetAssignmentMetadataValue",
    "ConsumerProtocolAssignment",
    "ConsumerProtocolSubscription",
    "CreateAclsRequest",
    "CreateAclsResponse",
    "CreateDelegationTokenRequest",
    "CreateDelegationTokenResponse",
    "CreatePartitionsRequest",
    "CreatePartitionsResponse",
    "CreateTopicsRequest",
    "CreateTopicsResponse",
    "DeleteAclsRequest",
    "DeleteAclsResponse",
    "DeleteGroupsRequest",
    "DeleteGroupsResponse",
    "DeleteRecordsRequest",
    "DeleteRecordsResponse",
    "DeleteShareGroupOffsetsRequest",
    "DeleteShareGroupOffsetsResponse",
    "DeleteTopicsRequest",
    "DeleteTopicsResponse",
    "DescribeAclsRequest",
    "DescribeAclsResponse",
    "DescribeClientQuotasRequest",
    "DescribeClientQuotasResponse",
    "DescribeClusterRequest",
    "DescribeClusterResponse",
    "DescribeConfigsRequest",
    "DescribeConfigsResponse",
    "DescribeDelegationTokenRequest",
    "DescribeDelegationTokenResponse",
    "DescribeGroupsRequest",
    "DescribeGroupsResponse",
    "DescribeLogDirsRequest",
    "DescribeLogDirsResponse",
    "DescribeProducersRequest",
    "DescribeProducersResponse",
    "DescribeQuorumRequest",
    "DescribeQuorumResponse",
    "DescribeShareGroupOffsetsRequest",
    "DescribeShareGroupOffsetsResponse",
    "DescribeTopicPartitionsRequest",
    "DescribeTopicPartitionsResponse",
    "DescribeTransactionsRequest",
    "DescribeTransactionsResponse",
    "DescribeUserScramCredentialsRequest",
    "DescribeUserScramCredentialsResponse",
    "ElectLeadersRequest",
    "ElectLeadersResponse",
    "EndTxnRequest",
    "EndTxnResponse",
    "ExpireDelegationTokenRequest",
    "ExpireDelegationTokenResponse",
    "FetchRequest",
    "FetchResponse",
    "FindCoordinatorRequest",
    "FindCoordinatorResponse",
    "GetTelemetrySubscriptionsRequest",
    "GetTelemetrySubscriptionsResponse",
    "GroupMetadataKey",
    "GroupMetadataValue",
    "HeartbeatRequest",
    "HeartbeatResponse",
    "IncrementalAlterConfigsRequest",
    "IncrementalAlterConfigsResponse",
    "InitProducerIdRequest",
    "InitProducerIdResponse",
    "JoinGroupRequest",
    "JoinGroupResponse",
    "LeaveGroupRequest",
    "LeaveGroupResponse",
    "ListConfigResourcesRequest",
    "ListConfigResourcesResponse",
    "ListGroupsRequest",
    "ListGroupsResponse",
    "ListOffsetsRequest",
    "ListOffsetsResponse",
    "ListPartitionReassignmentsRequest",
    "ListPartitionReassignmentsResponse",
    "ListTransactionsRequest",
    "ListTransactionsResponse",
    "Message",
    "MetadataRequest",
    "MetadataResponse",
    "OffsetCommitKey",
    "OffsetCommitRequest",
    "OffsetCommitResponse",
    "OffsetCommitValue",
    "OffsetDeleteRequest",
    "OffsetDeleteResponse",
    "OffsetFetchRequest",
    "OffsetFetchResponse",
    "OffsetForLeaderEpochRequest",
    "OffsetForLeaderEpochResponse",
    "ProduceRequest",
    "ProduceResponse",
    "PushTelemetryRequest",
    "PushTelemetryResponse",
    "RemoveRaftVoterRequest",
    "RemoveRaftVoterResponse",
    "RenewDelegationTokenRequest",
    "RenewDelegationTokenResponse",
    "RequestHeader",
    "ResponseHeader",
    "SaslAuthenticateRequest",
    "SaslAuthenticateResponse",
    "SaslHandshakeRequest",
    "SaslHandshakeResponse",
    "ShareAcknowledgeRequest",
    "ShareAcknowledgeResponse",
    "ShareFetchRequest",
    "ShareFetchResponse",
    "ShareGroupCurrentMemberAssignmentKey",
    "ShareGroupCurrentMemberAssignmentValue",
    "ShareGroupDescribeRequest",
    "ShareGroupDescribeResponse",
    "ShareGroupHeartbeatRequest",
    "ShareGroupHeartbeatResponse",
    "ShareGroupMemberMetadataKey",
    "ShareGroupMemberMetadataValue",
    "ShareGroupMetadataKey",
    "ShareGroupMetadataValue",
    "ShareGroupStatePartitionMetadataKey",
    "ShareGroupStatePartitionMetadataValue",
    "ShareGroupTargetAssignmentMemberKey",
    "ShareGroupTargetAssignmentMemberValue",
    "ShareGroupTargetAssignmentMetadataKey",
    "ShareGroupTargetAssignmentMetadataValue",
    "ShareSnapshotKey",
    "ShareSnapshotValue",
    "ShareUpdateKey",
    "ShareUpdateValue",
    "StreamsGroupCurrentMemberAssignmentKey",
    "StreamsGroupCurrentMemberAssignmentValue",
    "StreamsGroupDescribeRequest",
    "StreamsGroupDescribeResponse",
    "StreamsGroupHeartbeatRequest",
    "StreamsGroupHeartbeatResponse",
    "StreamsGroupMemberMetadataKey",
    "StreamsGroupMemberMetadataValue",
    "StreamsGroupMetadataKey",
    "StreamsGroupMetadataValue",
    "StreamsGroupTargetAssignmentMemberKey",
    "StreamsGroupTargetAssignmentMemberValue",
    "StreamsGroupTargetAssignmentMetadataKey",
    "StreamsGroupTargetAssignmentMetadataValue",
    "StreamsGroupTopologyDescriptionUpdateRequest",
    "StreamsGroupTopologyDescriptionUpdateResponse",
    "StreamsGroupTopologyKey",
    "StreamsGroupTopologyValue",
    "Struct",
    "SyncGroupRequest",
    "SyncGroupResponse",
    "TransactionLogKey",
    "TransactionLogValue",
    "TxnOffsetCommitRequest",
    "TxnOffsetCommitResponse",
    "UnregisterBrokerRequest",
    "UnregisterBrokerResponse",
    "UnregisterControllerRequest",
    "UnregisterControllerResponse",
    "UpdateFeaturesRequest",
    "UpdateFeaturesResponse",
    "WriteTxnMarkersRequest",
    "WriteTxnMarkersResponse",
]

_HOMES = {
    "AddOffsetsToTxnRequest": "add_offsets_to_txn",
    "AddOffsetsToTxnResponse": "add_offsets_to_txn",
    "AddPartitionsToTxnRequest": "add_partitions_to_txn",
    "AddPartitionsToTxnResponse": "add_partitions_to_txn",
    "AddRaftVoterRequest": "add_raft_voter",
    "AddRaftVoterResponse": "add_raft_voter",
    "AlterClientQuotasRequest": "alter_client_quotas",
    "AlterClientQuotasResponse": "alter_client_quotas",
    "AlterConfigsRequest": "alter_configs",
    "AlterConfigsResponse": "alter_configs",
    "AlterPartitionReassignmentsRequest": "alter_partition_reassignments",
    "AlterPartitionReassignmentsResponse": "alter_partition_reassignments",
    "AlterReplicaLogDirsRequest": "alter_replica_log_dirs",
    "AlterReplicaLogDirsResponse": "alter_replica_log_dirs",
    "AlterShareGroupOffsetsRequest": "alter_share_group_offsets",
    "AlterShareGroupOffsetsResponse": "alter_share_group_offsets",
    "AlterUserScramCredentialsRequest": "alter_user_scram_credentials",
    "AlterUserScramCredentialsResponse": "alter_user_scram_credentials",
    "ApiVersionsRequest": "api_versions",
    "ApiVersionsResponse": "api_versions",
    "ConsumerGroupCurrentMemberAssignmentKey": "group_records",
    "ConsumerGroupCurrentMemberAssignmentValue": "group_records",
    "ConsumerGroupDescribeRequest": "consumer_group_describe",
    "ConsumerGroupDescribeResponse": "consumer_group_describe",
    "ConsumerGroupHeartbeatRequest": "consumer_group_heartbeat",
    "ConsumerGroupHeartbeatResponse": "consumer_group_heartbeat",
    "ConsumerGroupMemberMetadataKey": "group_records",
    "ConsumerGroupMemberMetadataValue": "group_records",
    "ConsumerGroupMetadataKey": "group_records",
    "ConsumerGroupMetadataValue": "group_records",
    "ConsumerGroupPartitionMetadataKey": "group_records",
    "ConsumerGroupRegularExpressionKey": "group_records",
    "ConsumerGroupRegularExpressionValue": "group_records",
    "ConsumerGroupTargetAssignmentMemberKey": "group_records",
    "ConsumerGroupTargetAssignmentMemberValue": "group_records",
    "ConsumerGroupTargetAssignmentMetadataKey": "group_records",
    "ConsumerGroupTargetAssignmentMetadataValue": "group_records",
    "ConsumerProtocolAssignment": "consumer_protocol",
    "ConsumerProtocolSubscription": "consumer_protocol",
    "CreateAclsRequest": "create_acls",
    "CreateAclsResponse": "create_acls",
    "CreateDelegationTokenRequest": "create_delegation_token",
    "CreateDelegationTokenResponse": "create_delegation_token",
    "CreatePartitionsRequest": "create_partitions",
    "CreatePartitionsResponse": "create_partitions",
    "CreateTopicsRequest": "create_topics",
    "CreateTopicsResponse": "create_topics",
    "DeleteAclsRequest": "delete_acls",
    "DeleteAclsResponse": "delete_acls",
    "DeleteGroupsRequest": "delete_groups",
    "DeleteGroupsResponse": "delete_groups",
    "DeleteRecordsRequest": "delete_records",
    "DeleteRecordsResponse": "delete_records",
    "DeleteShareGroupOffsetsRequest": "delete_share_group_offsets",
    "DeleteShareGroupOffsetsResponse": "delete_share_group_offsets",
    "DeleteTopicsRequest": "delete_topics",
    "DeleteTopicsResponse": "delete_topics",
    "DescribeAclsRequest": "describe_acls",
    "DescribeAclsResponse": "describe_acls",
    "DescribeClientQuotasRequest": "describe_client_quotas",
    "DescribeClientQuotasResponse": "describe_client_quotas",
    "DescribeClusterRequest": "describe_cluster",
    "DescribeClusterResponse": "describe_cluster",
    "DescribeConfigsRequest": "describe_configs",
    "DescribeConfigsResponse": "describe_configs",
    "DescribeDelegationTokenRequest": "describe_delegation_token",
    "DescribeDelegationTokenResponse": "describe_delegation_token",
    "DescribeGroupsRequest": "describe_groups",
    "DescribeGroupsResponse": "describe_groups",
    "DescribeLogDirsRequest": "describe_log_dirs",
    "DescribeLogDirsResponse": "describe_log_dirs",
    "DescribeProducersRequest": "describe_producers",
    "DescribeProducersResponse": "describe_producers",
    "DescribeQuorumRequest": "describe_quorum",
    "DescribeQuorumResponse": "describe_quorum",
    "DescribeShareGroupOffsetsRequest": "describe_share_group_offsets",
    "DescribeShareGroupOffsetsResponse": "describe_share_group_offsets",
    "DescribeTopicPartitionsRequest": "describe_topic_partitions",
    "DescribeTopicPartitionsResponse": "describe_topic_partitions",
    "DescribeTransactionsRequest": "describe_transactions",
    "DescribeTransactionsResponse": "describe_transactions",
    "DescribeUserScramCredentialsRequest": "describe_user_scram_credentials",
    "DescribeUserScramCredentialsResponse": "describe_user_scram_credentials",
    "ElectLeadersRequest": "elect_leaders",
    "ElectLeadersResponse": "elect_leaders",
    "EndTxnRequest": "end_txn",
    "EndTxnResponse": "end_txn",
    "ExpireDelegationTokenRequest": "expire_delegation_token",
    "ExpireDelegationTokenResponse": "expire_delegation_token",
    "FetchRequest": "fetch",
    "FetchResponse": "fetch",
    "FindCoordinatorRequest": "find_coordinator",
    "FindCoordinatorResponse": "find_coordinator",
    "GetTelemetrySubscriptionsRequest": "get_telemetry_subscriptions",
    "GetTelemetrySubscriptionsResponse": "get_telemetry_subscriptions",
    "GroupMetadataKey": "group_records",
    "GroupMetadataValue": "group_records",
    "HeartbeatRequest": "heartbeat",
    "HeartbeatResponse": "heartbeat",
    "IncrementalAlterConfigsRequest": "incremental_alter_configs",
    "IncrementalAlterConfigsResponse": "incremental_alter_configs",
    "InitProducerIdRequest": "init_producer_id",
    "InitProducerIdResponse": "init_producer_id",
    "JoinGroupRequest": "join_group",
    "JoinGroupResponse": "join_group",
    "LeaveGroupRequest": "leave_group",
    "LeaveGroupResponse": "leave_group",
    "ListConfigResourcesRequest": "list_config_resources",
    "ListConfigResourcesResponse": "list_config_resources",
    "ListGroupsRequest": "list_groups",
    "ListGroupsResponse": "list_groups",
    "ListOffsetsRequest": "list_offsets",
    "ListOffsetsResponse": "list_offsets",
    "ListPartitionReassignmentsRequest": "list_partition_reassignments",
    "ListPartitionReassignmentsResponse": "list_partition_reassignments",
    "ListTransactionsRequest": "list_transactions",
    "ListTransactionsResponse": "list_transactions",
    "MetadataRequest": "metadata",
    "MetadataResponse": "metadata",
    "OffsetCommitKey": "group_records",
    "OffsetCommitRequest": "offset_commit",
    "OffsetCommitResponse": "offset_commit",
    "OffsetCommitValue": "group_records",
    "OffsetDeleteRequest": "offset_delete",
    "OffsetDeleteResponse": "offset_delete",
    "OffsetFetchRequest": "offset_fetch",
    "OffsetFetchResponse": "offset_fetch",
    "OffsetForLeaderEpochRequest": "offset_for_leader_epoch",
    "OffsetForLeaderEpochResponse": "offset_for_leader_epoch",
    "ProduceRequest": "produce",
    "ProduceResponse": "produce",
    "PushTelemetryRequest": "push_telemetry",
    "PushTelemetryResponse": "push_telemetry",
    "RemoveRaftVoterRequest": "remove_raft_voter",
    "RemoveRaftVoterResponse": "remove_raft_voter",
    "RenewDelegationTokenRequest": "renew_delegation_token",
    "RenewDelegationTokenResponse": "renew_delegation_token",
    "RequestHeader": "header",
    "ResponseHeader": "header",
    "SaslAuthenticateRequest": "sasl_authenticate",
    "SaslAuthenticateResponse": "sasl_authenticate",
    "SaslHandshakeRequest": "sasl_handshake",
    "SaslHandshakeResponse": "sasl_handshake",
    "ShareAcknowledgeRequest": "share_acknowledge",
    "ShareAcknowledgeResponse": "share_acknowledge",
    "ShareFetchRequest": "share_fetch",
    "ShareFetchResponse": "share_fetch",
    "ShareGroupCurrentMemberAssignmentKey": "share_group_records",
    "ShareGroupCurrentMemberAssignmentValue": "share_group_records",
    "ShareGroupDescribeRequest": "share_group_describe",
    "ShareGroupDescribeResponse": "share_group_describe",
    "ShareGroupHeartbeatRequest": "share_group_heartbeat",
    "ShareGroupHeartbeatResponse": "share_group_heartbeat",
    "ShareGroupMemberMetadataKey": "share_group_records",
    "ShareGroupMemberMetadataValue": "share_group_records",
    "ShareGroupMetadataKey": "share_group_records",
    "ShareGroupMetadataValue": "share_group_records",
    "ShareGroupStatePartitionMetadataKey": "share_group_records",
    "ShareGroupStatePartitionMetadataValue": "share_group_records",
    "ShareGroupTargetAssignmentMemberKey": "share_group_records",
    "ShareGroupTargetAssignmentMemberValue": "share_group_records",
    "ShareGroupTargetAssignmentMetadataKey": "share_group_records",
    "ShareGroupTargetAssignmentMetadataValue": "share_group_records",
    "ShareSnapshotKey": "share_records",
    "ShareSnapshotValue": "share_records",
    "ShareUpdateKey": "share_records",
    "ShareUpdateValue": "share_records",
    "StreamsGroupCurrentMemberAssignmentKey": "streams_group_records",
    "StreamsGroupCurrentMemberAssignmentValue": "streams_group_records",
    "StreamsGroupDescribeRequest": "streams_group_describe",
    "StreamsGroupDescribeResponse": "streams_group_describe",
    "StreamsGroupHeartbeatRequest": "streams_group_heartbeat",
    "StreamsGroupHeartbeatResponse": "streams_group_heartbeat",
    "StreamsGroupMemberMetadataKey": "streams_group_records",
    "StreamsGroupMemberMetadataValue": "streams_group_records",
    "StreamsGroupMetadataKey": "streams_group_records",
    "StreamsGroupMetadataValue": "streams_group_records",
    "StreamsGroupTargetAssignmentMemberKey": "streams_group_records",
    "StreamsGroupTargetAssignmentMemberValue": "streams_group_records",
    "StreamsGroupTargetAssignmentMetadataKey": "streams_group_records",
    "StreamsGroupTargetAssignmentMetadataValue": "streams_group_records",
    "StreamsGroupTopologyDescriptionUpdateRequest": "streams_group_topology_description_update",
    "StreamsGroupTopologyDescriptionUpdateResponse": "streams_group_topology_description_update",
    "StreamsGroupTopologyKey": "streams_group_records",
    "StreamsGroupTopologyValue": "streams_group_records",
    "SyncGroupRequest": "sync_group",
    "SyncGroupResponse": "sync_group",
    "TransactionLogKey": "transaction_records",
    "TransactionLogValue": "transaction_records",
    "TxnOffsetCommitRequest": "txn_offset_commit",
    "TxnOffsetCommitResponse": "txn_offset_commit",
    "UnregisterBrokerRequest": "unregister_broker",
    "UnregisterBrokerResponse": "unregister_broker",
    "UnregisterControllerRequest": "unregister_controller",
    "UnregisterControllerResponse": "unregister_controller",
    "UpdateFeaturesRequest": "update_features",
    "UpdateFeaturesResponse": "update_features",
    "WriteTxnMarkersRequest": "write_txn_markers",
    "WriteTxnMarkersResponse": "write_txn_markers",
}


if not TYPE_CHECKING:

    def __getattr__(name):
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{home}"), name)
        globals()[name] = value
        return value
