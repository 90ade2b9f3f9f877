"""The records Kafka itself keeps in `__transaction_state`, one a transactional id.

Layout (Kafka: TransactionLog): a key is an int16 of 0, then the key message; a value is an int16
version, then the value message; no value deletes. Version 1, with tagged fields, is written from
`transaction.version` 1 on.
"""

from __future__ import annotations

import struct
from typing import Final

from kcore.coordinator.journal import TRANSACTIONS_TOPIC, Entry, read_entry
from kcore.coordinator.transactions.states import NUMBERS, TransactionState
from kcore.coordinator.transactions.transaction import Transaction
from kcore.errors import CorruptRecordError
from kcore.structs import TopicPartition
from kcore.wire import codec
from kcore.wire.messages import TransactionLogKey, TransactionLogValue

_INT16: Final = struct.Struct(">h")
_KEY_TYPE: Final = 0
_STATES: Final = {number: state for state, number in NUMBERS.items()}


def transaction_entry(transaction: Transaction, version: int) -> Entry:
    """A transactional id as it is from now on; version: of the value, 0 or 1."""
    partitions: dict[str, list[int]] = {}
    for tp in sorted(transaction.partitions):
        partitions.setdefault(tp.topic, []).append(tp.partition)
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=NUMBERS[transaction.state],
        transaction_partitions=None,
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
    )
    if transaction.state is not TransactionState.EMPTY:
        value.transaction_partitions = [
            TransactionLogValue.PartitionsSchema(topic=topic, partition_ids=numbers)
            for topic, numbers in partitions.items()
        ]
    if version >= 1:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.client_transaction_version = transaction.client_version
    data = _INT16.pack(version) + codec.encode(value, version)
    return Entry(_key(transaction.transactional_id), data)


def tombstone(transactional_id: str) -> Entry:
    """The end of a transactional id."""
    return Entry(_key(transactional_id), None)


def read_transaction(entry: Entry) -> tuple[str, Transaction | None] | None:
    """What an entry says of which id (None: it is gone); None for a type that is not known.

    CorruptRecordError if it cannot be read.
    """
    found = read_entry(entry, TRANSACTIONS_TOPIC)
    if found is None:
        return None
    key, value = found
    assert isinstance(key, TransactionLogKey)
    if value is None:
        return key.transactional_id, None
    assert isinstance(value, TransactionLogValue)
    if value.transaction_status not in _STATES:
        raise CorruptRecordError(
            f"a journal entry that cannot be read: {key.transactional_id} is in the state"
            f" {value.transaction_status}"
        )
    return key.transactional_id, _transaction(key.transactional_id, value)


def _transaction(transactional_id: str, value: TransactionLogValue) -> Transaction:
    return Transaction(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        timeout_ms=value.transaction_timeout_ms,
        updated_ms=value.transaction_last_update_timestamp_ms,
        epoch=value.producer_epoch,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        state=_STATES[value.transaction_status],
        partitions=frozenset(
            TopicPartition(topic.topic, number)
            for topic in value.transaction_partitions or ()
            for number in topic.partition_ids
        ),
        started_ms=value.transaction_start_timestamp_ms,
        client_version=value.client_transaction_version,
    )


def _key(transactional_id: str) -> bytes:
    key = TransactionLogKey(transactional_id=transactional_id)
    return _INT16.pack(_KEY_TYPE) + codec.encode(key, 0)
