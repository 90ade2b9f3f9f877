"""The quotas of a cluster: the table, who a client is, and what the controller counts (KIP-599)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kcore.broker.batches import RefusedError
from kcore.broker.links import USER as USER_PREFIX
from kcore.broker.quotas.rates import Bucket, Windows
from kcore.broker.quotas.table import MUTATIONS, NAME_LENGTH_MAX, Entity, Limit, Table
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.broker.calls import Call
    from kcore.broker.cluster import Cluster

# Buckets that are remembered; who came first is forgotten first, and may begin anew.
_BUCKETS_MAX: Final = 10_000


class Quotas(Table):
    """Of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        config = cluster.config
        self._cluster = cluster
        self.windows = Windows(config.quota_window_num, 1_000 * config.quota_window_size_seconds)
        self._mutation_windows = Windows(
            config.controller_quota_window_num, 1_000 * config.controller_quota_window_size_seconds
        )
        self._buckets: dict[tuple[str, str], Bucket] = {}

    def set(self, entity: Entity, changes: Mapping[str, float | None]) -> None:
        """Make these an entity's quotas, and have them kept. RefusedError: they cannot be."""
        self.check(entity, changes)
        self.alter(entity, changes)
        if MUTATIONS in changes and changes[MUTATIONS] is None:
            self._buckets.clear()  # who may take everything has everything
        store = self._cluster.replication.store
        if store is not None:
            store.quotas_changed(entity, self.entries.get(entity, {}))

    def limit_of(self, key: str, call: Call) -> Limit | None:
        """What counts for the client of a request."""
        principal = call.link.principal
        if self._cluster.authorizer is not None:
            principal = self._cluster.authorizer.principal_of(call.client_id, principal)
        # Cut, as what is counted is kept by it; longer names can have no quota of their own.
        client_id = call.client_id[:NAME_LENGTH_MAX]
        return self.limit(key, principal.removeprefix(USER_PREFIX), client_id)

    def mutations(self, call: Call, *, strict: bool) -> Mutations:
        """What a request may change of topics. strict: nothing, once the quota is used up."""
        limit = self.limit_of(MUTATIONS, call)
        if limit is None:
            return Mutations(None, 0.0, 0, strict=strict)
        key = limit.user, limit.client_id
        bucket = self._buckets.get(key)
        now_ms = self._cluster.now_ms
        if bucket is None:
            bucket = self._buckets[key] = Bucket(self._mutation_windows, limit.bound, now_ms)
            if len(self._buckets) > _BUCKETS_MAX:
                del self._buckets[next(iter(self._buckets))]
        return Mutations(bucket, limit.bound, now_ms, strict=strict)


class Mutations:
    """What one request changes: a partition that is made or deleted is one."""

    def __init__(self, bucket: Bucket | None, bound: float, now_ms: int, *, strict: bool) -> None:
        self._bucket = bucket
        self._bound = bound
        self._now_ms = now_ms
        self._strict = strict
        self.throttle_ms = 0
        self.unlimited = bucket is None

    def check(self, count: int) -> None:
        """So many more; RefusedError if that has to wait."""
        if self._bucket is None:
            return
        excess_ms = self._bucket.excess_ms(self._bound, self._now_ms)
        if self._strict and excess_ms:
            self.throttle_ms = excess_ms
            raise RefusedError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "")  # a Kafka says no more
        self._bucket.take(count, self._bound, self._now_ms)
        if not self._strict:
            self.throttle_ms = self._bucket.excess_ms(self._bound, self._now_ms)
