"""One request on its way through a node: what a handler gets, and how it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcore.coordinator import Caller
from kcore.wire.message import Message

if TYPE_CHECKING:
    from kcore.broker.authorization.acls import Operation, Resource
    from kcore.broker.links import ClientLink
    from kcore.broker.node import Node
    from kcore.broker.parts import Parts
    from kcore.wire.frames import DecodedRequest

# A handler's result: it will answer later (`call.answer`), or the client wants no answer.
PARKED: Final = "parked"
UNANSWERED: Final = "unanswered"


class Call:
    """One request. A handler returns its answer, PARKED or UNANSWERED."""

    __slots__ = (
        "client_id",
        "correlation_id",
        "key",
        "link",
        "lost",
        "node",
        "now_ms",
        "parts",
        "version",
    )

    # Whether there is an authorizer to be asked.
    guarded = False

    def __init__(self, node: Node, link: ClientLink, request: DecodedRequest, now_ms: int) -> None:
        self.node = node
        self.link = link
        self.key = request.api_key
        self.version = request.api_version
        self.correlation_id = request.correlation_id
        self.client_id = request.client_id or ""
        self.now_ms = now_ms  # when it came
        self.parts: Parts | None = None  # of which a test has something else answered
        self.lost = False  # whether a test has its answer get lost

    def answer(self, message: Message) -> None:
        """Answer a parked request."""
        self.node.answer(self, message)

    def allows(self, _operation: Operation, _resource: Resource, _name: str) -> bool:
        """Whether who asks may do something; without an authorizer everybody may."""
        return True

    def caller(self) -> Caller:
        """Whom the coordinator is to answer."""
        return Caller(self, self.link.number, self.client_id, f"/{self.link.host}")
