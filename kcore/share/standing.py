"""The ShareFetch that follows an empty answer, as bytes.

See `kcore.fetch.standing`, which does the same for consumers: a share consumer to which nothing
comes is told so twice a second by each node. In its session such an answer is always the same but
for its correlation id, and the request behind it but for that and the epoch.

What is not exactly so goes the long way: any error, any partition in the answer, a throttle, one
that came too early, anything to acknowledge, other partitions, an application that does not wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kcore.connection.epochs import EpochRequest
from kcore.fetch.config import FETCH_SLACK_MS
from kcore.share.config import ShareGroupConfig
from kcore.share.node import ShareNode
from kcore.share.requests import fetch_request
from kcore.wire.frames import encode_response
from kcore.wire.messages import ShareFetchResponse

if TYPE_CHECKING:
    from kcore.share.answers import Answers

# Of an answer, behind its length and correlation id.
_ANSWER_BODY_AT: Final = 8


class StandingShareFetch:
    """`kcore.connection.calls.Standing` for what one node is asked.

    same(node): nothing is to be asked, or told, that was not with the request that is answered.
    """

    __slots__ = (
        "_answer",
        "_answers",
        "_config",
        "_early_ms",
        "_made_for",
        "_member_id",
        "_node",
        "_request",
        "_same",
        "timeout_ms",
    )

    def __init__(
        self,
        config: ShareGroupConfig,
        member_id: str,
        answers: Answers,
        node: ShareNode,
        same: Callable[[ShareNode], bool],
    ) -> None:
        # A broker may keep it for so long, and what rides on it is lost with it.
        self.timeout_ms = max(config.request_timeout_ms, config.fetch_max_wait_ms + FETCH_SLACK_MS)
        self._early_ms = config.fetch_max_wait_ms // 2
        self._config = config
        self._member_id = member_id
        self._answers = answers
        self._node = node
        self._same = same
        # What the bytes below are good for: how long locks last, and the version.
        self._made_for: tuple[int | None, int] = (-1, -1)
        self._answer = b""
        self._request: EpochRequest | None = None

    def again(
        self, frame: memoryview, version: int, correlation_id: int, client_id: str, now_ms: int
    ) -> bytes | None:
        """See Standing."""
        node = self._node
        session = node.session
        if (
            not session.open
            or node.failures
            or now_ms - node.asked_at < self._early_ms
            or not self._same(node)
        ):
            return None
        request = self._request
        lock_ms = self._answers.lock_timeout_ms
        if request is None or self._made_for != (lock_ms, version):
            self._made_for = (lock_ms, version)
            request = self._request = self._make(lock_ms, version, client_id)
        if frame[4:] != self._answer:
            return None
        session.answered()
        node.asked_at = now_ms
        return request.numbered(correlation_id, session.epoch)

    def _make(self, lock_ms: int | None, version: int, client_id: str) -> EpochRequest:
        """The bytes of the answer, and those of the request."""
        body = ShareFetchResponse(acquisition_lock_timeout_ms=lock_ms or 0)
        self._answer = encode_response(body, version, 0)[_ANSWER_BODY_AT:]
        config, member_id = self._config, self._member_id
        return EpochRequest(
            lambda epoch: fetch_request(config, member_id, epoch, {}, (), (), version),
            version,
            client_id,
        )
