"""What an EmbeddedBroker is not made with: it says so when it is made, and names what is wrong."""

import pytest

from kcore.broker import BrokerConfig, LogConfig
from kcore.broker.crowd import CrowdLimits
from kcore.coordinator import CoordinatorConfig
from kcore.coordinator.transactions import TransactionConfig
from kcore.embedded import EmbeddedBroker
from kcore.errors import KafkaConfigurationError, UsageError

WRONG = {
    "nodes": [None, {}, "", "1", 0, -1, True, 1.0, float("nan"), 10**30],
    "host": [None, {}, 0, b"h"],
    "port": [None, {}, "", -1, 10**30, float("nan")],
    "advertised_host": [{}, 0, b"h", ""],
    "config": [{}, [], 0, "", {"log.retention.ms": 1}],
    "seed": [{}, [], "", float("nan")],
    "in_memory": [None, {}, 0, ""],
    "directory": [{}, [], 0, -1, float("nan")],
    "authorizer": [None, {}, 0, "", "User:admin", ("User:admin",)],
    "flush": [None, {}, [], 0, -1, "", "sometimes", True, float("nan")],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_a_wrong_argument_is_named(name, value):
    with pytest.raises(UsageError, match=rf"^{name}="):
        EmbeddedBroker(**{name: value})


CONFIGS = [
    (BrokerConfig, {"release": "3.7"}, r"release='3.7'"),
    (BrokerConfig, {"release": (3,)}, r"release=\(3,\)"),
    (BrokerConfig, {"release": [3, 7]}, r"release=\[3, 7\]"),
    (BrokerConfig, {"release": (3, "7")}, r"release=\(3, '7'\)"),
    (BrokerConfig, {"num_partitions": "4"}, r"num_partitions='4' \(str\)"),
    (BrokerConfig, {"num_partitions": True}, "num_partitions=True"),
    (BrokerConfig, {"auto_create_topics": "false"}, "auto_create_topics='false'"),
    (BrokerConfig, {"cluster_id": 7}, "cluster_id=7"),
    (BrokerConfig, {"log": {"retention.ms": "1"}}, "log="),
    (BrokerConfig, {"crowd": None}, "crowd=None"),
    (BrokerConfig, {"coordinator": 3}, "coordinator=3"),
    (CoordinatorConfig, {"group_consumer_heartbeat_interval_ms": "1"}, "heartbeat_interval_ms='1'"),
    (CoordinatorConfig, {"group_initial_rebalance_delay_ms": 0.5}, "rebalance_delay_ms=0.5"),
    (TransactionConfig, {"transaction_max_timeout_ms": None}, "transaction_max_timeout_ms=None"),
    (CrowdLimits, {"max_connections": "5"}, "max_connections='5'"),
]


@pytest.mark.parametrize(("kind", "options", "said"), CONFIGS)
def test_a_wrong_option_is_named(kind, options, said):
    with pytest.raises(KafkaConfigurationError, match=said):
        kind(**options)


LOGS = [
    ({"retention_ms": "60000"}, r"retention_ms='60000' \(str\)"),
    ({"max_message_bytes": None}, "max_message_bytes=None"),
    ({"unclean_leader_election_enable": 1}, "unclean_leader_election_enable=1"),
    ({"min_cleanable_dirty_ratio": "0.5"}, "min_cleanable_dirty_ratio='0.5'"),
    ({"min_cleanable_dirty_ratio": 2}, "min.cleanable.dirty.ratio"),
    ({"retention_ms": -5}, "-5 for configuration retention.ms"),
    ({"min_insync_replicas": 0}, "0 for configuration min.insync.replicas"),
    ({"segment_bytes": 0}, "0 for configuration segment.bytes"),
    ({"compression_type": "gz"}, "gz for configuration compression.type"),
    ({"compression_gzip_level": 0}, "0 for configuration compression.gzip.level"),
    ({"cleanup_policy": ("compacted",)}, "compacted for configuration cleanup.policy"),
]


@pytest.mark.parametrize(("options", "said"), LOGS)
def test_a_default_of_topics_that_no_topic_could_have_is_named(options, said):
    with pytest.raises(KafkaConfigurationError, match=said):
        BrokerConfig(log=LogConfig(**options))


def test_what_defaults_of_topics_may_be():
    BrokerConfig(log=LogConfig(cleanup_policy=("compact", "delete"), min_cleanable_dirty_ratio=1))
    BrokerConfig(log=LogConfig(cleanup_policy="compact", segment_bytes=1, retention_ms=-1))
