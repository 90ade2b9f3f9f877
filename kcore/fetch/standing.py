"""The fetch request that follows an empty answer, as bytes.

A consumer to which nothing comes asks each node twice a second, and is told that there is nothing.
In a session (KIP-227) such an answer, and the request behind it if nothing is wanted that was not
wanted before, are always the same bytes but for two numbers; so neither is taken apart or put
together. What it saves is not computing: after half a second of sleep every line of code and every
object has to be fetched from memory, and the long way is some hundred functions.

What is not exactly so goes the long way: any error, any partition in the answer, a throttle, one
that came too early, a session that ends, anything touched, moved, paused or held meanwhile.
"""

from __future__ import annotations

from kcore.connection.epochs import EpochRequest
from kcore.fetch.config import FETCH_SLACK_MS, FetchConfig
from kcore.fetch.requests import next_empty
from kcore.fetch.session import INITIAL_EPOCH
from kcore.hints import TYPE_CHECKING, Final
from kcore.limits import MAX_INT32
from kcore.wire.frames import encode_response
from kcore.wire.messages import FetchResponse

if TYPE_CHECKING:
    from kcore.fetch.planner import NodePlan, Planner

# Of an answer, behind its length and correlation id.
_ANSWER_BODY_AT: Final = 8


class StandingFetch:
    """`kcore.connection.calls.Standing` for the fetches of one node."""

    __slots__ = (
        "_answer",
        "_config",
        "_early_ms",
        "_made_for",
        "_plan",
        "_planner",
        "_request",
        "timeout_ms",
    )

    def __init__(self, config: FetchConfig, planner: Planner, plan: NodePlan) -> None:
        self.timeout_ms = max(config.request_timeout_ms, config.fetch_max_wait_ms + FETCH_SLACK_MS)
        self._early_ms = config.fetch_max_wait_ms // 2
        self._config = config
        self._planner = planner
        self._plan = plan
        # What the bytes below are good for: session, bytes asked for, version.
        self._made_for = (-1, -1, -1)
        self._answer = b""
        self._request: EpochRequest | None = None

    def again(
        self, frame: memoryview, version: int, correlation_id: int, client_id: str, now_ms: int
    ) -> bytes | None:
        """See Standing."""
        plan, planner = self._plan, self._planner
        session = plan.session
        epoch = session.epoch
        if (
            epoch in (INITIAL_EPOCH, MAX_INT32)
            or plan.changed
            or plan.window.narrow
            or plan.early
            or planner.busy_nodes != plan.shared_with
            or planner.touched
            or planner.starving
            or planner.shelf.held_bytes
            or now_ms - plan.sent_at < self._early_ms
        ):
            return None
        request = self._request
        if request is None or self._made_for != (session.id, plan.reserved, version):
            request = self._request = self._make(version, client_id)
        if frame[4:] != self._answer:
            return None
        session.epoch = epoch + 1
        plan.sent_at = now_ms
        return request.numbered(correlation_id, epoch + 1)

    def _make(self, version: int, client_id: str) -> EpochRequest:
        """The bytes of the answer, and those of the request."""
        plan, config = self._plan, self._config
        session_id = plan.session.id
        self._made_for = (session_id, plan.reserved, version)
        answer = encode_response(FetchResponse(session_id=session_id), version, 0)
        self._answer = answer[_ANSWER_BODY_AT:]
        size = plan.reserved
        return EpochRequest(
            lambda epoch: next_empty(config, session_id, epoch, size), version, client_id
        )
