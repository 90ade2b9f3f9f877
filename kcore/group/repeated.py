"""A request that a member makes again and again, and whose answer is always the same: heartbeats,
and commits of what was committed before.

Neither is put together or taken apart then: the request is the bytes of the last one but for its
correlation id, and the answer is compared with one that was read and found good. As with
`kcore.fetch.standing` it is not computing that this saves, but fetching code and objects from
memory after seconds of sleep. An answer that differs in a single bit is read.
"""

from __future__ import annotations

from collections.abc import Callable

from kcore.connection.calls import ANSWERED, Build, Message
from kcore.hints import Final
from kcore.wire.frames import encode_request

# Of an answer's frame: behind its correlation id.
_ANSWER_AT: Final = 4

Taken = Callable[[int], bool]


class Repeated:
    """`kcore.connection.calls.Standing` for one such request at a time.

    busy: it was sent, and neither taken nor read since.
    """

    __slots__ = (
        "_client_id",
        "_frame",
        "_known",
        "_made_for",
        "_make",
        "_seen",
        "_taken",
        "_version",
        "busy",
        "timeout_ms",
    )

    def __init__(self) -> None:
        self.busy = False
        self.timeout_ms = 0  # nothing follows its answers
        self._made_for: object = None
        self._version = -1
        self._client_id = ""
        self._frame = bytearray()
        self._seen: bytes | None = None  # the last answer, while nobody has judged it
        self._known: bytes | None = None  # one that says that all is well

    def ask(self, made_for: object, make: Build, taken: Taken) -> Build:
        """What to send: what `make(version)` gives, or once it is known the frame of it.

        made_for: all that it depends on beside the version. taken(now_ms): the answer is the known
        good one; False if it has to be read nevertheless. It must send nothing.
        """
        self.busy = True
        self._seen = None
        if made_for != self._made_for:
            self._made_for = made_for
            self._version = -1
        self._make, self._taken = make, taken
        return self._build

    def _build(self, version: int) -> Message:
        if version != self._version:
            self._version = version
            self._known = None
            self._frame = bytearray()
        if self._known is None:
            return self._make(version)
        if not self._frame:
            request = encode_request(self._make(version), version, 0, self._client_id)
            self._frame = bytearray(request)
        return self._frame

    def again(
        self, frame: memoryview, version: int, correlation_id: int, client_id: str, now_ms: int
    ) -> bytes | None:
        """See Standing."""
        del version, correlation_id
        answer, known = frame[_ANSWER_AT:], self._known
        if known is not None and answer == known and self._taken(now_ms):
            self.busy = False
            return ANSWERED
        self._client_id = client_id
        self._seen = bytes(answer)
        return None

    def read(self, *, good: bool) -> None:
        """The answer was read, or none came. good: it says that all is well, and nothing else."""
        self.busy = False
        if good and self._seen is not None:
            self._known = self._seen
        self._seen = None
