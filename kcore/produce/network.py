"""What of the links this room uses: `connection.calls.Network`, and when somebody can be asked."""

from __future__ import annotations

from kcore.connection.calls import Network
from kcore.errors import AuthenticationFailedError
from kcore.hints import Protocol


class Links(Network, Protocol):
    """Implemented by kcore.cluster.links."""

    def next_retry_at(self) -> int:
        """When the first node can be asked again; 0: one can be now."""

    def refusal(self, node: int) -> AuthenticationFailedError | None:
        """Why a node does not let us in now, if so."""

    def feature_level(self, name: str) -> int:
        """The finalized level of a feature of the cluster; 0: it has none."""
