"""What an `Admin` does about transactions: who has which, and what to do if one hangs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcore.admin import FencedProducer, TransactionDescription, TransactionListing
from kcore.clients.admin import transaction_requests as requests


class TransactionMethods:
    """Over `_run`, which is what `Admin` waits by."""

    def _run(self, procedure: Any, timeout_ms: float | None) -> Any:
        raise NotImplementedError

    def list_transactions(
        self,
        broker_ids: Iterable[int] | None = None,
        producer_id_filters: Iterable[int] | None = None,
        state_filters: Iterable[Any] | None = None,
        duration_filter_ms: int | None = None,
        transactional_id_pattern: str | None = None,
        timeout_ms: float | None = None,
    ) -> dict[int, list[TransactionListing]]:
        """{broker: [TransactionListing]}: the transactional ids that brokers coordinate, or those
        of them that pass every filter: producers, states (TransactionState or names), open for
        longer (Kafka 3.8), a pattern of whole ids (Kafka 4.1).

        If a broker does not answer, `done` of the error is what the others have told.
        """
        procedure = requests.list_transactions(
            broker_ids,
            producer_id_filters,
            state_filters,
            duration_filter_ms,
            transactional_id_pattern,
        )
        found: dict[int, list[TransactionListing]] = self._run(procedure, timeout_ms)
        return found

    def describe_transactions(
        self, transactional_ids: Iterable[str], timeout_ms: float | None = None
    ) -> dict[str, TransactionDescription]:
        """{transactional id: TransactionDescription}, as its coordinator knows it.

        TransactionalIdNotFoundError: no coordinator knows one of them.
        """
        found: dict[str, TransactionDescription] = self._run(
            requests.describe_transactions(transactional_ids), timeout_ms
        )
        return found

    def abort_transaction(self, spec: Any, timeout_ms: float | None = None) -> None:
        """Have the leader of a partition abort what a producer has open there, behind the back of
        its coordinator: an AbortTransactionSpec, such as `find_hanging_transactions` gives. What a
        coordinator knows is ended by `fence_producers`.

        InvalidTxnStateError: the producer has none open there.
        """
        self._run(requests.abort_transaction(spec), timeout_ms)

    def fence_producers(
        self, transactional_ids: Iterable[str], timeout_ms: float | None = None
    ) -> dict[str, FencedProducer]:
        """Shut out whoever produces under these ids, and abort their transactions: {transactional
        id: FencedProducer}, the id and epoch below which producers are refused. An id that nobody
        has used is made by it.
        """
        found: dict[str, FencedProducer] = self._run(
            requests.fence_producers(transactional_ids), timeout_ms
        )
        return found

    def force_terminate_transaction(
        self, transactional_id: str, timeout_ms: float | None = None
    ) -> None:
        """Abort what is open under a transactional id, whatever its timeout, and shut out whoever
        produces under it: Java's name for `fence_producers` of one.
        """
        self._run(requests.fence_producers([transactional_id]), timeout_ms)

    def find_hanging_transactions(
        self,
        broker_ids: Iterable[int] | None = None,
        max_transaction_timeout_ms: int = 900_000,
        topic_partitions: Any = None,
        timeout_ms: float | None = None,
    ) -> list[dict[str, Any]]:
        """A row for each partition that a transaction is open in which nobody has written to for
        longer than that, and which no coordinator is going to end: docs/ADMIN.md. Its "spec" is for
        `abort_transaction`.

        broker_ids: replicas of these brokers alone; None: leaders. topic_partitions: {topic:
        numbers}, partitions, or topics; None: all.
        """
        procedure = requests.find_hanging_transactions(
            broker_ids, max_transaction_timeout_ms, topic_partitions
        )
        found: list[dict[str, Any]] = self._run(procedure, timeout_ms)
        return found
