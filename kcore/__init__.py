"""kcore: an Apache Kafka consumer around a protocol core that does no I/O.

The public classes, found when first asked for (PEP 562), so that importing one room loads no other.
"""

from __future__ import annotations

from importlib import import_module

from kcore.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from kcore.admin.config import AdminConfig as AdminConfig
    from kcore.admin.core import AdminCore as AdminCore
    from kcore.clients.admin.admin import Admin as Admin
    from kcore.clients.admin.async_admin import AsyncAdmin as AsyncAdmin
    from kcore.clients.consumer.async_consumer import AsyncConsumer as AsyncConsumer
    from kcore.clients.consumer.consumer import Consumer as Consumer
    from kcore.clients.consumer.rebalance import (
        ConsumerRebalanceListener as ConsumerRebalanceListener,
    )
    from kcore.clients.consumer.workers import Workers as Workers
    from kcore.clients.interceptors import ConsumerInterceptor as ConsumerInterceptor
    from kcore.clients.interceptors import ProducerInterceptor as ProducerInterceptor
    from kcore.clients.metrics_text import metrics_text as metrics_text
    from kcore.clients.producer.async_producer import AsyncProducer as AsyncProducer
    from kcore.clients.producer.producer import Producer as Producer
    from kcore.clients.share.async_share_consumer import AsyncShareConsumer as AsyncShareConsumer
    from kcore.clients.share.share_consumer import ShareConsumer as ShareConsumer
    from kcore.clients.stand_in import install_as_aiokafka as install_as_aiokafka
    from kcore.clients.stand_in import install_as_confluent_kafka as install_as_confluent_kafka
    from kcore.clients.stand_in import install_as_kafka_python as install_as_kafka_python
    from kcore.consumer.config import ConsumerConfig as ConsumerConfig
    from kcore.consumer.core import ConsumerCore as ConsumerCore
    from kcore.producer.config import ProducerConfig as ProducerConfig
    from kcore.producer.core import ProducerCore as ProducerCore
    from kcore.records import ConsumerRecord as ConsumerRecord
    from kcore.records.arrow import ArrowBatch as ArrowBatch
    from kcore.records.batch import PartitionBatch as PartitionBatch
    from kcore.share.config import ShareConsumerConfig as ShareConsumerConfig
    from kcore.share.core import ShareConsumerCore as ShareConsumerCore
    from kcore.structs import AcknowledgeType as AcknowledgeType
    from kcore.structs import ConsumerGroupMetadata as ConsumerGroupMetadata
    from kcore.structs import MemberState as MemberState
    from kcore.structs import OffsetAndMetadata as OffsetAndMetadata
    from kcore.structs import OffsetAndTimestamp as OffsetAndTimestamp
    from kcore.structs import ProducerRecord as ProducerRecord
    from kcore.structs import SubscriptionPattern as SubscriptionPattern
    from kcore.structs import TopicPartition as TopicPartition

__version__ = "0.1.0"

_HOMES = {
    "AcknowledgeType": "kcore.structs",
    "Admin": "kcore.clients.admin.admin",
    "AdminConfig": "kcore.admin.config",
    "AdminCore": "kcore.admin.core",
    "ArrowBatch": "kcore.records.arrow",
    "AsyncAdmin": "kcore.clients.admin.async_admin",
    "AsyncConsumer": "kcore.clients.consumer.async_consumer",
    "AsyncProducer": "kcore.clients.producer.async_producer",
    "AsyncShareConsumer": "kcore.clients.share.async_share_consumer",
    "Consumer": "kcore.clients.consumer.consumer",
    "ConsumerConfig": "kcore.consumer.config",
    "ConsumerCore": "kcore.consumer.core",
    "ConsumerGroupMetadata": "kcore.structs",
    "ConsumerInterceptor": "kcore.clients.interceptors",
    "ConsumerRebalanceListener": "kcore.clients.consumer.rebalance",
    "ConsumerRecord": "kcore.records",
    "Producer": "kcore.clients.producer.producer",
    "ProducerConfig": "kcore.producer.config",
    "ProducerCore": "kcore.producer.core",
    "ProducerInterceptor": "kcore.clients.interceptors",
    "ProducerRecord": "kcore.structs",
    "MemberState": "kcore.structs",
    "OffsetAndMetadata": "kcore.structs",
    "OffsetAndTimestamp": "kcore.structs",
    "PartitionBatch": "kcore.records.batch",
    "ShareConsumer": "kcore.clients.share.share_consumer",
    "ShareConsumerConfig": "kcore.share.config",
    "ShareConsumerCore": "kcore.share.core",
    "SubscriptionPattern": "kcore.structs",
    "TopicPartition": "kcore.structs",
    "Workers": "kcore.clients.consumer.workers",
    "install_as_aiokafka": "kcore.clients.stand_in",
    "install_as_confluent_kafka": "kcore.clients.stand_in",
    "metrics_text": "kcore.clients.metrics_text",
    "install_as_kafka_python": "kcore.clients.stand_in",
}

__all__ = [
    "AcknowledgeType",
    "Admin",
    "AdminConfig",
    "AdminCore",
    "ArrowBatch",
    "AsyncAdmin",
    "AsyncConsumer",
    "AsyncProducer",
    "AsyncShareConsumer",
    "Consumer",
    "ConsumerConfig",
    "ConsumerCore",
    "ConsumerGroupMetadata",
    "ConsumerInterceptor",
    "ConsumerRebalanceListener",
    "ConsumerRecord",
    "MemberState",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "PartitionBatch",
    "Producer",
    "ProducerConfig",
    "ProducerCore",
    "ProducerInterceptor",
    "ProducerRecord",
    "ShareConsumer",
    "ShareConsumerConfig",
    "ShareConsumerCore",
    "SubscriptionPattern",
    "TopicPartition",
    "Workers",
    "install_as_aiokafka",
    "install_as_confluent_kafka",
    "install_as_kafka_python",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(home)
    except ModuleNotFoundError as missing:
        from kcore.unbuilt import advised  # noqa: PLC0415 - who needs it is in the wrong folder

        raise advised(missing) from None
    value: object = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
