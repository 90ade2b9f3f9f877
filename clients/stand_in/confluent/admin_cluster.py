"""What clients of all kinds ask of the cluster: an AdminClient, consumers and producers too."""

from __future__ import annotations

import weakref
from threading import Lock
from typing import Any

from kcore.admin.core import Procedure
from kcore.clients.stand_in.confluent import admin_checks as checks
from kcore.clients.stand_in.confluent import admin_describing as describing
from kcore.clients.stand_in.confluent.admin_desk import Desk
from kcore.clients.stand_in.confluent.admin_metadata import (
    ClusterMetadata,
    ask_cluster,
)
from kcore.clients.stand_in.confluent.errors import raised
from kcore.clients.stand_in.confluent.options import Configuration, of_admin
from kcore.errors import KafkaError


class MetadataMethods:
    """What clients of all kinds ask of the cluster, over their `_handle`, which has who asks."""

    def _handle(self) -> Desk:
        """Who asks. RuntimeError: closed."""
        raise NotImplementedError

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> ClusterMetadata:
        """The cluster with all topics, or with one, which is made where brokers make topics that
        are asked for. timeout: s; below 0: an hour. KafkaException.
        """
        procedure = ask_cluster(topic, self._handle().servers)
        found: ClusterMetadata = self._answer(procedure, timeout)
        return found

    def cluster_id(self, timeout: float = -1) -> str | None:
        """The id of the cluster."""
        told = self._answer(describing.describe_cluster(operations=False), timeout)
        found: str | None = told[None].cluster_id
        return found

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Authenticate with these from the next call on, by PLAIN or SCRAM; others have no use for
        them.
        """
        if not isinstance(username, str) or not isinstance(password, str):
            raise TypeError("username and password must be strings")
        self._handle().use_password(username, password)

    def _answer(self, procedure: Procedure[Any], timeout: float) -> Any:
        desk = self._handle()
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
            raise TypeError(f"timeout must be a real number, not {type(timeout).__name__}")
        limit = timeout if 0 <= timeout < checks.TIMEOUT_MAX_S else checks.TIMEOUT_MAX_S
        try:
            return desk.answer(procedure, limit)
        except KafkaError as error:
            raise raised(error) from error


class OwnDesk(MetadataMethods):
    """The same of a consumer or a producer, which has its `_config` and makes who asks when that is
    first needed. `_authenticate` and `_check_open` are the client's.
    """

    _config: Configuration
    _desk: Desk | None = None
    _making = Lock()  # one for all: it is held for a moment, once in a client's life

    def _check_open(self) -> None:
        """RuntimeError: closed."""
        raise NotImplementedError

    def _authenticate(self, username: str, password: str) -> None:
        """Be this user on connections of the client's own."""
        raise NotImplementedError

    def _handle(self) -> Desk:
        with self._making:
            try:
                self._check_open()
            except RuntimeError:
                raise RuntimeError("Handle has been closed") from None
            if self._desk is None:
                self._desk = Desk(of_admin(self._config))
                weakref.finalize(self, self._desk.let_go)  # of one that nobody closes
            return self._desk

    def _close_desk(self) -> None:
        if self._desk is not None:
            self._desk.close()

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Be this user on connections that are made from now on. TypeError."""
        self._check_open()
        self._authenticate(username, password)
        if self._desk is not None:
            super().set_sasl_credentials(username, password)
