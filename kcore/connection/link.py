"""One link: set-up, correlation ids, requests in flight in order, their deadlines, and the frames
coming back.

Kafka answers the requests of one connection in the order they were sent, so the answer's
correlation id must be that of the oldest request in flight; anything else means that the two sides
disagree, and the link ends. But for answers to what has none (Produce with acks=0), as Azure Event
Hubs sends them: those are dropped. A link answers every call it took exactly once: with a body, or
with the reason it ended. It gives its answers to `completed` and its bytes to `actions`; both are
shared with the owner of all links, who runs the answers' functions after the input.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from kcore import limits
from kcore.actions import Action, CallGssapi, Disconnect, FetchToken, Send, SendParts
from kcore.connection import greeting
from kcore.connection.calls import ANSWERED, Answer, Standing
from kcore.connection.endings import CLOSED_EARLY, at_proxy, of_peer, overdue
from kcore.connection.measures import LinkMeasures
from kcore.connection.options import LinkOptions
from kcore.connection.pending import Call, Completed, never_built, never_done, put_off, take_late
from kcore.connection.states import TRANSITIONS, LinkInput, LinkState
from kcore.errors import (
    AuthenticationFailedError,
    AuthenticationMethodNotSupported,
    DisconnectedError,
    KafkaError,
    ProtocolError,
    RequestTimedOutError,
    SaslAuthenticationFailedError,
    SslAuthenticationError,
    Unexpected,
    UnsupportedVersionError,
    UsageError,
)
from kcore.hints import TYPE_CHECKING, Any
from kcore.timers import NEVER
from kcore.wire import frames
from kcore.wire.apis import API_TABLE, ApiKey, negotiate
from kcore.wire.messages import ApiVersionsResponse, Message

if TYPE_CHECKING:
    from kcore.connection.authentication import Authentication, Step

# Asked for in every turn: a name of this module is found in a tenth of the time.
_READY, _RENEWING, _ENDED = LinkState.READY, LinkState.RENEWING, LinkState.ENDED


class Link:
    """See the module's text. Times are monotonic ms; number: the boundary's for the link."""

    __slots__ = (
        "_actions",
        "_authentication",
        "_completed",
        "_correlation_id",
        "_expires_at",
        "_first_id",
        "_granted_id",
        "_in_flight",
        "_meant",
        "_muted_until",
        "_options",
        "_ranges",
        "_reader",
        "_setup_ms",
        "_silent_id",
        "_waiting",
        "_wanted",
        "answered",
        "begun_at",
        "error",
        "features",
        "features_epoch",
        "host",
        "last_used_at",
        "measures",
        "node",
        "number",
        "port",
        "state",
    )

    def __init__(
        self,
        number: int,
        node: int,
        address: tuple[str, int],
        options: LinkOptions,
        setup_deadline_ms: int,
        now_ms: int,
        completed: Completed,
        actions: deque[Action],
        authentication: Authentication | None = None,
        meant: greeting.Meant | None = None,
    ) -> None:
        self.number = number
        self.node = node
        self.host, self.port = address
        self.state = LinkState.CONNECTING
        self.answered = False  # a request of a room, not only the greeting
        self.error: KafkaError | None = None
        self.begun_at = self.last_used_at = now_ms
        self.measures: LinkMeasures | None = None
        self._options = options
        self._completed = completed
        self._actions = actions
        self._authentication = authentication
        self._meant = meant  # None: whoever is there
        self._reader = frames.FrameReader(options.max_frame_bytes)
        self._in_flight: deque[Call] = deque()
        self._waiting: deque[Call] = deque()
        self._ranges: dict[int, tuple[int, int]] = {}
        self.features: dict[str, int] = {}  # finalized levels (KIP-584), of this epoch
        self.features_epoch = -1  # nothing was said of them
        self._correlation_id = 0
        self._first_id = 0  # of the first request after the greeting
        self._granted_id = -1  # of the oldest request when a moment was granted
        self._silent_id = 0  # of the last request that has no answer
        self._muted_until = 0
        self._expires_at = setup_deadline_ms  # of the whole set-up
        self._setup_ms = setup_deadline_ms - now_ms
        self._wanted: tuple[type[FetchToken | CallGssapi], int, int] | None = None  # see _want

    # -- state -------------------------------------------------------------------------------------

    def _move(self, what: LinkInput) -> bool:
        """The one place that writes the state; False if the input means nothing now."""
        to = TRANSITIONS[self.state].get(what)
        if to is None:
            return False
        self.state = to
        return True

    @property
    def load(self) -> int:
        """Requests written or waiting here, unanswered."""
        return len(self._in_flight) + len(self._waiting)

    @property
    def ready(self) -> bool:
        """Set up: requests go out at once, or in a moment while the session is renewed."""
        return self.state is _READY or self.state is _RENEWING

    @property
    def ended(self) -> bool:
        """Over; `error` says why."""
        return self.state is _ENDED

    def version_of(self, api: ApiKey, max_version: int | None) -> int:
        """The version to speak for `api`; UnsupportedVersionError if there is none in common."""
        span = self._ranges.get(api)
        if span is None:
            from kcore.wire.releases import not_served  # noqa: PLC0415 - few ask for such

            raise UnsupportedVersionError(not_served(f"{self.host}:{self.port}", api))
        highest = self._options.highest.get(api)
        if highest is None:
            return negotiate(api, span[0], span[1], max_version)
        if highest < 0:
            why = f"brokers of the release that api_version states do not serve {api.name}"
            raise UnsupportedVersionError(why)
        cap = highest if max_version is None else min(highest, max_version)
        return negotiate(api, span[0], span[1], cap)

    def range_of(self, api: int) -> tuple[int, int] | None:
        """What the broker said it serves of an API."""
        return self._ranges.get(api)

    def deadline(self) -> int:
        """When `handle_deadline` is due; NEVER if nothing can expire."""
        first = self._expires_at
        for call in self._in_flight:
            first = min(first, call.expires_at)
        for call in self._waiting:
            first = min(first, call.expires_at)
        if self._waiting and self.state is LinkState.READY and self._muted_until:
            first = min(first, self._muted_until)
        return first

    def silent_at(self, since: int = 0) -> int:
        """When it is odd that nothing has come: a tenth of the time that the oldest request may
        take has passed since it was written (and since the broker could keep it no longer, or read
        nothing, as it had muted us), and a thirtieth since `since`. NEVER: nothing is asked.
        """
        if not self._in_flight:
            return NEVER
        oldest = self._in_flight[0]
        tenth_ms = (oldest.expires_at - oldest.written_at) // 10
        read_at = max(oldest.written_at, self._muted_until)
        return max(read_at + tenth_ms + self._options.kept_ms, since + tenth_ms // 3 + 1)

    # -- requests ----------------------------------------------------------------------------------

    def send(self, call: Call, now_ms: int) -> None:
        """Take a call: written now if the link is ready and free, else as soon as it is."""
        self._waiting.append(call)
        self._flush(now_ms)

    def take_waiting(self) -> list[Call]:
        """Give back the calls that were never written; the caller now owes their answers."""
        waiting = list(self._waiting)
        self._waiting.clear()
        return waiting

    def _flush(self, now_ms: int) -> None:
        if self.state is not _READY or now_ms < self._muted_until:
            return
        self._muted_until = 0
        authentication = self._authentication
        if authentication is not None and self._waiting and now_ms >= authentication.renew_at:
            self._renew(authentication, now_ms)
            return
        while self._waiting and len(self._in_flight) < self._options.max_in_flight:
            call = self._waiting[0]
            try:
                call.version = self.version_of(call.api, call.max_version)
                # The time that a link took to get ready is not its broker's: see Call.
                call.expires_at = now_ms + call.limit_ms
                self._write(call, call.build(call.version), now_ms)
            except (UnsupportedVersionError, UsageError) as error:  # not to be written: no answer
                self._completed.append((call, Answer(None, error, -1, self.node)))
            self._waiting.popleft()  # behind it: see Links.interrupt

    def _write(self, call: Call, message: Any, now_ms: int) -> None:
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        call.correlation_id = self._correlation_id
        if type(message) is bytearray:
            frames.renumber_request(message, self._correlation_id)
            parts: list[Any] = [message]
        else:
            parts = frames.encode_request_parts(
                message, call.version, self._correlation_id, self._options.client_id
            )
        if call.answered:
            self._in_flight.append(call)
        else:
            self._silent_id = self._correlation_id
            self._completed.append((call, Answer(None, None, call.version, self.node)))
        self.last_used_at = call.written_at = now_ms
        if self.measures is not None:
            self.measures.wrote(self.node, sum(map(len, parts)), now_ms)
        if len(parts) == 1:
            self._actions.append(Send(self.number, bytes(parts[0])))
        else:
            self._actions.append(SendParts(self.number, parts))

    # -- the world ---------------------------------------------------------------------------------

    def begin(self, now_ms: int) -> None:
        """The driver begins to connect: what has passed since it was to is nobody's time."""
        passed_ms = now_ms - self.begun_at
        if self.state is LinkState.CONNECTING and passed_ms > 0:
            self.begun_at = self.last_used_at = now_ms
            self._expires_at += passed_ms
            for call in self._waiting:
                call.expires_at += passed_ms

    def _note_progress(self, now_ms: int) -> None:
        """The peer did its part. Late, if the driver was away: what comes next has its own time."""
        if now_ms >= self._expires_at:
            self._expires_at = now_ms + self._setup_ms
            put_off(self._expires_at, self._waiting)

    def handle_connected(self, now_ms: int) -> None:
        """The socket is open: greet."""
        if self._move(LinkInput.CONNECTED):
            self._note_progress(now_ms)
            # Before it knows who we are, a broker does not look at who is meant.
            if self._meant is not None and self._authentication is None:
                self._greet(greeting.CHECKED_VERSION, now_ms)
                return
            highest = self._options.highest.get(ApiKey.API_VERSIONS, greeting.VERSION)
            self._greet(min(highest, greeting.VERSION), now_ms)

    def receive_buffer(self) -> memoryview:
        """Where the next bytes belong: the rest of the open frame, or a scratch."""
        return self._reader.buffer()

    def receive_advance(self, size: int, now_ms: int) -> int:
        """`size` bytes were put into the buffer lent last. How many more it takes for anything to
        come of them; 0 if something may have, -1 if that is only that standing questions were asked
        again.
        """
        try:
            arrived = self._reader.advance(size)
            if not arrived:
                return self._reader.missing_bytes
            return 0 if self._take(arrived, now_ms) else -1
        except (ProtocolError, AuthenticationFailedError) as error:
            self._fail(error)
        return 0

    def handle_data(self, data: bytes, now_ms: int) -> None:
        """Bytes that arrived elsewhere."""
        try:
            self._take(self._reader.feed(data), now_ms)
        except (ProtocolError, AuthenticationFailedError) as error:
            self._fail(error)

    def handle_closed(self, why: str, *, untrusted: bool = False, by_proxy: bool = False) -> None:
        """The driver could not open or keep the socket; `untrusted`: TLS failed for good;
        `by_proxy`: there is no way through the proxy (both: it refuses who we are).
        """
        where = f"{self.host}:{self.port}"
        if by_proxy:
            text, via = f"could not connect to {where}{self._through}: {why}", self._options.via
            failure = at_proxy(text, via, self.host, self.port, untrusted=untrusted)
            self._end(LinkInput.REJECTED if untrusted else LinkInput.CLOSED, failure, told=True)
            return
        if untrusted:
            error = SslAuthenticationError(f"TLS with {where} failed: {why}")
            self._end(LinkInput.REJECTED, error, told=True)
            return
        verb = "could not connect to" if self.state is LinkState.CONNECTING else "lost"
        hint = CLOSED_EARLY.get(self.state, "")
        if self.ready and self._in_flight and self._in_flight[0].correlation_id == self._first_id:
            hint = " instead of its first answer (does the listener want SASL?)"
        text = f"{verb} {where}{self._through}: {why}{hint}"
        self._end(LinkInput.CLOSED, DisconnectedError(text), told=True)

    @property
    def _through(self) -> str:
        return f" through {self._options.via}" if self._options.via else ""

    def close(self, error: KafkaError) -> None:
        """End the link for a reason of our own."""
        self._end(LinkInput.CLOSED, error)

    def handle_deadline(self, now_ms: int, *, late: bool = False) -> None:
        """What is due: the set-up, requests in flight (ends the link) or waiting, the throttle.
        late: the driver was away, perhaps since it wrote what has no answer: a moment is left to
        that, once.
        """
        if self.state is LinkState.ENDED:
            return
        oldest = self._in_flight[0].correlation_id if self._in_flight else 0
        if late and oldest > self._granted_id:
            self._granted_id = oldest
            until = now_ms + limits.MOMENT_MS + self._options.kept_ms
            self._expires_at = max(self._expires_at, until)
            put_off(until, self._in_flight, self._waiting)
        where = f"{self.host}:{self.port}"
        if now_ms >= self._expires_at:
            text = overdue(self.state, self._wanted and self._wanted[0], where, self._through)
            self._end(LinkInput.EXPIRED, RequestTimedOutError(text))
            return
        over = next((call for call in self._in_flight if now_ms >= call.expires_at), None)
        if over is not None:  # answers come in order, so no later one can come either
            text = f"{where} did not answer {over.api.name} in time"
            self._end(LinkInput.EXPIRED, RequestTimedOutError(text))
            return
        for call in take_late(self._waiting, now_ms):
            text = f"{call.api.name} could not be sent to {where} in time"
            self._completed.append((call, Answer(None, RequestTimedOutError(text), -1, self.node)))
        self._flush(now_ms)

    # -- answers -----------------------------------------------------------------------------------

    def _take(self, arrived: list[memoryview], now_ms: int) -> bool:
        """Whether there was any news in it."""
        news = False
        for frame in arrived:
            if self.state is _ENDED:
                return True
            self.last_used_at = now_ms
            correlation_id = frames.correlation_id(frame)
            if not self._in_flight or self._in_flight[0].correlation_id != correlation_id:
                oldest = self._in_flight[0].correlation_id if self._in_flight else NEVER
                if 0 < correlation_id < oldest and correlation_id <= self._silent_id:
                    continue
                raise Unexpected(
                    f"{self.host}:{self.port} sent an answer that nobody asked for "
                    f"(correlation id {correlation_id})"
                )
            call = self._in_flight[0]
            if call.standing is not None and self._ask_again(call, call.standing, frame, now_ms):
                continue
            news = True
            if call.done is never_done:
                self._take_own(call, frame, now_ms)
                continue
            body = frames.decode_response(API_TABLE[call.api].response, call.version, frame)
            self.answered = True
            self._completed.append((call, Answer(body, None, call.version, self.node)))
            self._in_flight.popleft()
            throttle_ms = getattr(body, "throttle_time_ms", 0)
            if self.measures is not None:
                self.measures.answered(self.node, call, len(frame), throttle_ms, now_ms)
            if throttle_ms > 0:
                self._hold_back(throttle_ms, now_ms)
            if self._waiting:
                self._flush(now_ms)
        return news

    def _hold_back(self, throttle_ms: int, now_ms: int) -> None:
        """The broker expects us to wait (KIP-219); no later answer takes anything of that back."""
        until = now_ms + min(throttle_ms, limits.MAX_THROTTLE_MS)
        self._muted_until = max(self._muted_until, until)

    def _ask_again(self, call: Call, standing: Standing, frame: memoryview, now_ms: int) -> bool:
        """Follow an answer that tells nothing by the same question, if any; False if it has to be
        read.

        So nothing but time is between the two, and nobody above is told: a consumer to which
        nothing comes does little else.
        """
        if self._waiting or self._completed or now_ms < self._muted_until or not self.answered:
            return False
        authentication = self._authentication
        if authentication is not None and now_ms >= authentication.renew_at:
            return False
        correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        data = standing.again(frame, call.version, correlation_id, self._options.client_id, now_ms)
        if data is None:
            return False
        if self.measures is not None:
            self.measures.repeated(self.node, call, len(frame), len(data), now_ms)
        if data is ANSWERED:
            self._in_flight.popleft()
            return True
        self._correlation_id = call.correlation_id = correlation_id
        call.written_at, call.expires_at = now_ms, now_ms + standing.timeout_ms
        self._in_flight.rotate(-1)
        self._actions.append(Send(self.number, data))
        return True

    # -- greeting and authentication ---------------------------------------------------------------

    def _write_own(self, message: Any, version: int, expires_at: int, now_ms: int) -> None:
        """A request of the link itself: its answer goes to no room."""
        call = Call(ApiKey(message.API_KEY), never_built, never_done, 0, expires_at, None)
        call.version = version
        self._write(call, message, now_ms)

    def _take_own(self, call: Call, frame: memoryview, now_ms: int) -> None:
        self._note_progress(now_ms)
        if call.api is ApiKey.API_VERSIONS:
            self._take_greeting(call, frame, now_ms)
            return
        authentication = self._authentication
        assert authentication is not None
        body: Any = frames.decode_response(API_TABLE[call.api].response, call.version, frame)
        self._in_flight.popleft()
        step: Step | None
        if call.api is ApiKey.SASL_HANDSHAKE:
            step = authentication.take_handshake(body)
        else:
            step = authentication.take_answer(body, call.version, now_ms)
        if step is not None:
            self._go_on(step, call.expires_at, now_ms)
            return
        span = self._ranges.get(ApiKey.API_VERSIONS)
        asks = self._meant is not None and greeting.looks(span, self._options)
        if asks and self.state is LinkState.AUTHENTICATING:
            self._greet(greeting.CHECKED_VERSION, now_ms)
            return
        self._open(LinkInput.AUTHENTICATED, now_ms)

    def _open(self, what: LinkInput, now_ms: int) -> None:
        """All is done that comes before requests."""
        self._move(what)
        self._expires_at = NEVER
        self._flush(now_ms)

    def _go_on(self, step: Step, expires_at: int, now_ms: int) -> None:
        """The next message of the exchange, or what it has to be worked out by."""
        if not isinstance(step, Message):
            action = CallGssapi(self.number, self.host, step.call, step.data, step.context)
            self._want(action, expires_at, now_ms)
            return
        self._write_own(step, self.version_of(ApiKey.SASL_AUTHENTICATE, None), expires_at, now_ms)

    def _want(self, action: FetchToken | CallGssapi, expires_at: int, now_ms: int) -> None:
        """Have the driver find something out; it comes by `handle_token` or `handle_gssapi`."""
        self._wanted = type(action), now_ms, expires_at  # what, since when, until when
        self._expires_at = min(self._expires_at, expires_at)
        self._actions.append(action)

    def _had(self, kind: type[FetchToken | CallGssapi], now_ms: int) -> int | None:
        """Something was found out: until when the exchange has to be over. None: nobody waits."""
        if self._wanted is None or self._wanted[0] is not kind or self.ended:
            return None
        (_, asked_at, expires_at), self._wanted = self._wanted, None
        if self.state is LinkState.RENEWING:
            self._expires_at = NEVER
        else:  # what it took to find it out is not the broker's time
            self._expires_at += now_ms - asked_at
        return expires_at

    def _authenticate(self, authentication: Authentication, expires_at: int, now_ms: int) -> None:
        """Begin the SASL exchange."""
        handshake = self._ranges.get(ApiKey.SASL_HANDSHAKE, (0, 0))
        if handshake[1] < 1 or ApiKey.SASL_AUTHENTICATE not in self._ranges:
            raise AuthenticationMethodNotSupported(
                f"{self.host}:{self.port} does not serve SaslAuthenticate (brokers since 1.0 do)"
            )
        self._move(LinkInput.CHALLENGED)
        if authentication.needs_token:
            self._want(FetchToken(self.number), expires_at, now_ms)
            return
        self._write_own(authentication.begin(), 1, expires_at, now_ms)

    def handle_token(
        self, token: str | None, extensions: Mapping[str, str], why: str, now_ms: int
    ) -> None:
        """The token that was asked for; None and why there is none."""
        authentication, expires_at = self._authentication, self._had(FetchToken, now_ms)
        if authentication is None or expires_at is None:
            return
        if token is None:
            self._fail(SaslAuthenticationFailedError(f"no token to authenticate with: {why}"))
            return
        authentication.give(token, extensions)
        self._write_own(authentication.begin(), 1, expires_at, now_ms)

    def handle_gssapi(
        self, result: bytes | None, context: object, complete: bool, why: str, now_ms: int
    ) -> None:
        """What came of the call that was asked for; None and what went wrong."""
        authentication, expires_at = self._authentication, self._had(CallGssapi, now_ms)
        if authentication is None or expires_at is None:
            return
        try:
            if result is None:
                raise SaslAuthenticationFailedError(why)
            step = authentication.take_result(result, context, complete=complete)
            self._go_on(step, expires_at, now_ms)
        except AuthenticationFailedError as error:
            self._fail(error)

    def _renew(self, authentication: Authentication, now_ms: int) -> None:
        """Prove once more who we are, before the broker stops listening (KIP-368).

        Begun when there is something to send, as Java does, so that an idle link stays idle. The
        answer comes behind those of the requests in flight, one of which may be a JoinGroup that
        waits for minutes.
        """
        last = max((call.expires_at for call in self._in_flight), default=now_ms)
        expires_at = max(last, now_ms) + self._options.request_timeout_ms
        self._authenticate(authentication, expires_at, now_ms)

    def _greet(self, version: int, now_ms: int) -> None:
        message = greeting.request(self._options, version, self._meant)
        self._write_own(message, version, NEVER, now_ms)

    def _take_greeting(self, call: Call, frame: memoryview, now_ms: int) -> None:
        # The header of this answer is always v0: four bytes of correlation id, then the error code.
        if len(frame) >= 6 and int.from_bytes(frame[4:6], "big") == greeting.UNSUPPORTED_VERSION:
            self._in_flight.popleft()
            self._greet_lower(call.version, frame, now_ms)
            return
        body = frames.decode_response(ApiVersionsResponse, call.version, frame)
        self._in_flight.popleft()
        if body.error_code != 0:
            where = f"{self.host}:{self.port}"
            self.close(greeting.refusal(where, body.error_code, self._meant))
            return
        self._ranges = {key.api_key: (key.min_version, key.max_version) for key in body.api_keys}
        self.features = {one.name: one.max_version_level for one in body.finalized_features}
        self.features_epoch = body.finalized_features_epoch
        self._first_id = self._correlation_id + 1
        self._hold_back(body.throttle_time_ms, now_ms)
        if self._authentication is None:
            self._open(LinkInput.GREETED, now_ms)
        elif self.state is LinkState.AUTHENTICATING:
            self._open(LinkInput.AUTHENTICATED, now_ms)
        else:
            self._authenticate(self._authentication, NEVER, now_ms)

    def _greet_lower(self, asked: int, frame: memoryview, now_ms: int) -> None:
        """Ask again with a version the broker has; v0 if it does not say which those are."""
        if asked == 0 or not self._move(LinkInput.REFUSED):
            raise Unexpected(f"{self.host}:{self.port} serves no version of ApiVersions")
        self._greet(min(greeting.highest_of(frame), asked - 1), now_ms)

    # -- the end -----------------------------------------------------------------------------------

    def _fail(self, error: ProtocolError | AuthenticationFailedError) -> None:
        """The peer sent what ends the link."""
        self._end(*of_peer(error, self.node, f"{self.host}:{self.port}"))

    def _end(self, what: LinkInput, error: KafkaError, *, told: bool = False) -> None:
        if not self._move(what) and not (self._in_flight or self._waiting):
            return
        self.error = error
        self._expires_at = NEVER
        self._wanted = None
        if not told:
            unanswered = len(self._in_flight) if what is LinkInput.CLOSED else 0
            self._actions.append(Disconnect(self.number, unanswered))
        for call in (*self._in_flight, *self._waiting):
            if call.done is not never_done:
                self._completed.append((call, Answer(None, error, call.version, self.node)))
        self._in_flight.clear()
        self._waiting.clear()
