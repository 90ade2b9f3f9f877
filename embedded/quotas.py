"""What tests say of quotas: how much clients may do a second at an `EmbeddedBroker`."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, TypedDict, Unpack

from kcore.broker import RefusedError
from kcore.embedded.arguments import check
from kcore.errors import UsageError

if TYPE_CHECKING:
    from kcore.broker import Cluster
    from kcore.broker.quotas.table import Entity
    from kcore.transports.serve import Server


class Rates(TypedDict, total=False):
    """So much a second; None: as much as one likes."""

    producer_byte_rate: float | None
    consumer_byte_rate: float | None
    request_percentage: float | None
    controller_mutation_rate: float | None
    connection_creation_rate: float | None


class QuotaVerbs:
    """The part of `EmbeddedBroker` that is about quotas."""

    def _running(self) -> tuple[Cluster, Server]:
        raise NotImplementedError

    def _flush_now(self) -> None:
        raise NotImplementedError

    def throttle(
        self,
        *,
        client_id: str | None = None,
        user: str | None = None,
        host: str | None = None,
        **rates: Unpack[Rates],
    ) -> None:
        """Let these do no more than that a second: clients of that `client_id`, a user ("alice"),
        both, or an address; "" stands for each that has no quota of its own, and so does naming
        nobody for every `client_id`. Who is above a rate is answered with `throttle_time_ms`, and
        not served for so long. A rate of None counts no more; others stay. UsageError.
        """
        if client_id is None and user is None and host is None:
            client_id = ""
        entity = _entity(client_id, user, host)
        if not rates:
            raise UsageError("no rate is given, such as producer_byte_rate=1000")
        changes: dict[str, float | None] = {}
        for key, value in rates.items():
            if key not in Rates.__annotations__:
                known = ", ".join(Rates.__annotations__)
                raise UsageError(f"{key!r} is no rate: these are {known}")
            check(key, value, (int, float, NoneType), "a number a second")
            if isinstance(value, bool):
                raise UsageError(f"{key}={value} is not a number a second")
            try:
                changes[key] = float(value) if isinstance(value, (int, float)) else None
            except OverflowError:
                raise UsageError(f"{key} is more than a number of 64 bits holds") from None
        cluster, server = self._running()

        try:
            server.call(lambda _now_ms: cluster.with_quotas().set(entity, changes))
        except RefusedError as refused:
            raise UsageError(refused.why) from refused
        self._flush_now()

    def unthrottle(
        self, *, client_id: str | None = None, user: str | None = None, host: str | None = None
    ) -> None:
        """Take all quotas from these, named as in `throttle`; from everybody, if nobody is named.
        Who has to wait already waits to the end of it.
        """
        everybody = client_id is None and user is None and host is None
        entity = _entity(client_id, user, host)
        cluster, server = self._running()

        def take_away(_now_ms: int) -> None:
            quotas = cluster.with_quotas()
            for one, values in list(quotas.entries.items()):
                if everybody or one == entity:
                    quotas.set(one, dict.fromkeys(values))

        server.call(take_away)
        self._flush_now()

    def quotas(self) -> list[dict[str, dict[str, float] | dict[str, str | None]]]:
        """What is set, as `kcore.Admin.describe_client_quotas` has it: [{"entity": {"client-id":
        "billing"}, "quotas": {"producer_byte_rate": 1000.0}}]; a name of None is the default.
        """
        cluster, server = self._running()

        def told(_now_ms: int) -> list[dict[str, dict[str, float] | dict[str, str | None]]]:
            entries = {} if cluster.quotas is None else cluster.quotas.entries
            return [
                {"entity": dict(entity), "quotas": dict(values)}
                for entity, values in entries.items()
            ]

        return server.call(told)


def _entity(client_id: str | None, user: str | None, host: str | None) -> Entity:
    named = (("client-id", client_id), ("ip", host), ("user", user))
    for kind, name in named:
        check(kind.replace("-", "_"), name, (str, NoneType), "a name")
    return tuple((kind, name or None) for kind, name in named if name is not None)
