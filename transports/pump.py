"""The one drain loop: it obeys a core's actions and feeds it what the sockets say.

Rules:
* One input, drain the actions to empty, next input. What goes wrong while an action is obeyed (a
  refused connection, a broken pipe) becomes an input of its own, fed when the actions are drained.
* A connection stands when it has its way through the proxy, if there is one, and TLS its handshake;
  the core's set-up timeout covers it all.
* Whatever a socket or the resolver does, `step` does not raise: it ends as `handle_closed` of that
  link.
* Data comes before deadlines: an answer that has arrived is not timed out because the application
  was away, wherever that was struck. So a deadline is acted on when the sockets were looked at
  behind the reading of the clock that says it is over, and what they had is fed with the core's
  own judgement held back until then (`Core.hold_back`).
* A link gets at most `reads_per_step` reads in a step, so a busy one starves neither others nor
  deadlines.
* An exception that is not the socket's (Ctrl-C most of all) may strike anywhere between the kernel
  and the core. The link being served then has an unknown number of bytes behind it, so it is closed
  and the core is told in the next step.
"""

from __future__ import annotations

import socket
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from kcore.actions import Action, CallGssapi, Connect, Disconnect, FetchToken, Send, SendParts
from kcore.errors import ForkedError, IllegalStateError
from kcore.hints import TYPE_CHECKING, Final, cast
from kcore.limits import AWAY_MS
from kcore.timers import NEVER
from kcore.transports.core import (
    READABLE,
    WRITABLE,
    Core,
    Step,
    Transport,
    monotonic_ms,
)
from kcore.transports.forking import release_in_child
from kcore.transports.inputs import Ending
from kcore.transports.lingering import HARMLESS
from kcore.transports.pumped import Out, PumpedLink
from kcore.transports.routes import Routes
from kcore.transports.sockets import (
    ProxyFaultError,
    UntrustedError,
    connect_fault,
    describe,
    unreached,
)
from kcore.transports.waker import Waker

if TYPE_CHECKING:
    import ssl

    from kcore.settings.proxies import Proxy
    from kcore.transports.renewal import RenewedContext
    from kcore.transports.sasl import Found, SaslSource
    from kcore.transports.tls import TlsSocket

# A read fills at most what the kernel has buffered (some MB); after this many the others have their
# turn.
READS_PER_STEP: Final = 8
# poll(2) takes an int of ms; a wait cut short by this is only one more turn of the loop.
WAIT_MS_MAX: Final = 0x3FFF_FFFF
# So often the sockets are looked at before a deadline that is over, while one has more than its
# share: what has arrived in a long absence, and no more than that where a peer never ends.
LOOKS_MAX: Final = 32

_NOT_WRITABLE: Final = ~WRITABLE
_NOT_READABLE: Final = ~READABLE


class Pump:
    """Drives one core over one transport. It has no lock: one thread (or greenlet) at a time, save
    for `wakeup`.

    tls: what every connection is encrypted with; None: nothing. sasl: what OAUTHBEARER and GSSAPI
    need of their driver. proxy: what every connection goes through; None: none does.
    reads_per_step: of one link, before the others have their turn.
    looked_at: what the clock said when the sockets were looked at last.
    Events are left in the core for the application: pop `core.next_event()` after each step.
    """

    def __init__(
        self,
        core: Core,
        transport: Transport,
        clock: Callable[[], int] = monotonic_ms,
        *,
        tls: ssl.SSLContext | RenewedContext | None = None,
        sasl: SaslSource | None = None,
        proxy: Proxy | None = None,
        reads_per_step: int = READS_PER_STEP,
    ) -> None:
        self.core = core
        self._sasl = sasl
        self.transport = transport
        self.now_ms = clock
        self._links: dict[int, PumpedLink] = {}  # by link number
        self._by_fd: dict[int, PumpedLink] = {}
        self._inputs: deque[Ending | Found] = deque()
        self._unread: dict[int, PumpedLink] = {}  # by number: read on, whatever the kernel says
        self._tls = tls
        self._proxy = proxy
        self._routes = Routes(transport, proxy)
        # By link number: those whose addresses are not there yet, and what is to be sent.
        self._resolving: dict[int, tuple[Connect, Out]] = {}
        self._io_flags = transport.io_flags
        self._reads_per_step = reads_per_step
        self._round = 0
        self._cut_short = False  # a link had more than its share in this round
        self.looked_at = self._fed_at = clock()
        self._waker = Waker()
        self._woken = False  # `wakeup` was called, and the step that it ends goes on
        self._refusal: type[ForkedError | IllegalStateError] | None = None
        transport.watch(self._waker.fd, READABLE)
        release_in_child(self)

    # The door ---------------------------------------------------------------------------------

    def step(self, timeout_ms: int | None = None) -> Step:
        """Obey the core, wait at most `timeout_ms` (None: as long as the core allows), feed it what
        came, obey again.

        Returns after the first round in which anything was fed, or when the timeout ends, or when
        woken. ForkedError in the child of a fork, IllegalStateError after `close`.
        """
        if self._refusal is not None:
            self._refuse()
        core = self.core
        now = self.now_ms()
        until = NEVER if timeout_ms is None else now + max(timeout_ms, 0)
        self._obey()
        deadline = core.deadline()
        fed = self._take_up(deadline, now)
        if fed or deadline <= now:
            deadline = core.deadline()
        while True:
            self.looked_at = now
            ready = self.transport.wait(0 if fed else self._patience(min(deadline, until), now))
            now = self.now_ms()
            if late := deadline <= now:
                core.hold_back(now - deadline)
            fed |= self._serve_ready(ready, now)
            if late:
                fed |= self._look_first(now)
                deadline = core.deadline()
            if self._woken:
                self._woken = False
                return Step.WOKEN
            if fed:
                return Step.FED
            if now >= until:
                return Step.IDLE

    def _take_up(self, deadline: int, now: int) -> bool:
        """What is there before any wait; True if the core was fed."""
        if late := deadline <= now:
            self.core.hold_back(now - deadline)
        if self._resolving:
            self._connect_resolved()
        fed = bool(self._inputs) and self._feed_inputs()
        if late:
            fed |= self._look_first(now)
        return fed

    def _patience(self, first: int, now: int) -> int | None:
        """How long the transport may wait for something, if the first thing is due then."""
        if self._unread or self._woken:
            return 0
        return None if first == NEVER else min(max(first - now, 0), WAIT_MS_MAX)

    def _look_first(self, now: int) -> bool:
        """A deadline is over: what has arrived comes before it; True if the core was fed."""
        fed, core = False, self.core
        look: Callable[[], None] | None = getattr(self.transport, "look", None)
        for _ in range(LOOKS_MAX):
            if look is not None:
                look()
            self.looked_at = now
            fed |= self._serve_ready(self.transport.wait(0), now)
            if self._fed_at > now:
                now = self._fed_at  # it took its time: there may be more by now
            elif not self._cut_short:
                break
        if core.deadline() <= now:  # what was fed may have moved it
            fed |= core.handle_deadline(now) is not False
        else:
            core.go_on(now)
        self._obey()
        return fed

    @property
    def away(self) -> bool:
        """Whether nobody has looked at the sockets for a while."""
        return self.now_ms() - self.looked_at >= AWAY_MS

    def caught_up(self) -> int:
        """The time, for what judges by it: behind a look at the sockets, if that was long ago."""
        for _ in range(2):  # a second time if struck again behind the first
            now = self.now_ms()
            if now - self.looked_at < AWAY_MS:
                break
            self.step(0)
        return now

    @property
    def restless(self) -> bool:
        """Whether the next step has something to do that no socket and no deadline will bring."""
        return bool(self._unread or self._inputs)

    def drain(self) -> None:
        """Obey the core and return at once: no wait, nothing is read. For what a verb has made due.

        Refused as `step` is.
        """
        if self._refusal is not None:
            self._refuse()
        action = self.core.next_action()
        if action is not None:
            self._obey(action)

    def wakeup(self) -> None:
        """End the wait of the current step, or of the next one, at once. From any thread or signal
        handler.
        """
        if self._refusal is ForkedError:
            self._refuse()
        self._waker.wake()

    def close(self) -> None:
        """Close every socket and the transport, without asking the core. Idempotent; free of effect
        after a fork.
        """
        if self._refusal is None:
            self._refusal = IllegalStateError
            self._release()

    def forked(self) -> None:
        """In the child of a fork: let go of the inherited fds, and refuse all use from here on."""
        if self._refusal is None:
            self._refusal = ForkedError
            self.transport.abandon()  # first: it must not be told of fds one by one
            self._close_fds()

    def __del__(self, _is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if getattr(self, "_refusal", ForkedError) is None:
            self._refusal = IllegalStateError
            try:
                self._release()
            except Exception:
                # Modules that are needed for it may be gone by then, and fds go with the process.
                if not _is_ending():
                    raise

    def _refuse(self) -> None:
        if self._refusal is ForkedError:
            raise ForkedError(
                "made before a fork: its sockets belong to the parent process; "
                "make a new one in the child"
            )
        raise IllegalStateError("closed")

    def _release(self) -> None:
        for fd in [*self._by_fd, self._waker.fd]:
            self.transport.unwatch(fd)
        if self._sasl is not None:
            self._sasl.close()  # first: its threads wake us by an fd that is not to be another's
        self._close_fds()
        self.transport.close()

    def _close_fds(self) -> None:
        for link in self._links.values():
            _close(link.sock)
        self._links.clear()
        self._by_fd.clear()
        self._unread.clear()
        self._resolving.clear()
        self._inputs.clear()
        self._waker.close()

    # What the core wants ----------------------------------------------------------------------

    def _obey(self, first: Action | None = None) -> None:
        """Carry out actions until there are none; `first` was taken from the core already."""
        next_action = self.core.next_action
        action = next_action() if first is None else first
        while action is not None:
            try:
                if isinstance(action, Send):
                    self._send(action)
                elif isinstance(action, Connect):
                    self._connect(action)
                elif isinstance(action, Disconnect):
                    self._disconnect(action)
                else:
                    self._ask(action)
            except BaseException:
                self._give_up(action)
                raise
            action = next_action()

    def _give_up(self, action: Action) -> None:
        """An exception struck while `action` was obeyed: nobody knows how far, so the link is
        ended.
        """
        self._resolving.pop(action.link, None)
        self._routes.forget(action.link)
        link = self._links.get(action.link)
        if link is not None:
            self._drop(link, "interrupted")
        elif not isinstance(action, Disconnect):
            self._inputs.append(Ending(action.link, "interrupted"))

    def _ask(self, action: FetchToken | CallGssapi) -> None:
        if self._sasl is None:
            from kcore.transports.sasl import failed  # noqa: PLC0415 - most never get here

            self._inputs.append(failed(action, "this pump was given no source of it"))
        else:
            self._sasl.ask(action, self._inputs.append, self._waker.wake)

    def _connect(self, action: Connect, out: Out | None = None) -> None:
        """Begin; out: what was to be sent while the addresses were not known."""
        more, tunnel = False, None
        if out is None:
            self.core.begin_connecting(action.link, self.now_ms())
        try:
            route = self._routes.find(action)
            if route is None:
                self._resolving[action.link] = action, deque() if out is None else out
                return
            more = route.more
            if self._proxy is not None and route.beyond is not None:
                from kcore.transports.tunnel import Tunnel  # noqa: PLC0415 - few need it

                tunnel = Tunnel(self._proxy, route.address, *route.beyond)
            sock = self.transport.connect(route.address)
        except (OSError, ValueError, OverflowError) as error:
            why, by_proxy = describe(error), isinstance(error, ProxyFaultError)
            if tunnel is not None:
                why, by_proxy = unreached(why), True
            self._inputs.append(Ending(action.link, why, more, by_proxy=by_proxy))
            return
        link = PumpedLink(action, sock, more, self._round)
        link.tunnel = tunnel
        if out is not None:
            link.out = out
        self._links[link.number] = self._by_fd[link.fd] = link
        self.transport.watch(link.fd, WRITABLE)

    def _connect_resolved(self) -> None:
        """Try again where the transport did not know the addresses yet."""
        for action, out in [*self._resolving.values()]:
            del self._resolving[action.link]
            self._connect(action, out)

    def _disconnect(self, action: Disconnect) -> None:
        link = self._links.get(action.link)
        if link is not None:
            self._forget(link, lingers=action.unanswered > HARMLESS)
        elif self._resolving.pop(action.link, None) is not None:
            self._routes.forget(action.link)

    def _send(self, action: Send) -> None:
        link = self._links.get(action.link)
        data = action.parts if isinstance(action, SendParts) else (action.data,)
        if link is None:
            if action.link in self._resolving:
                self._resolving[action.link][1].extend(data)
            return  # or it ended a moment ago; the core has been told or is about to be
        idle = link.connected and not link.out
        link.out.extend(data)
        if idle and not self._write(link):
            self.transport.watch(link.fd, READABLE | WRITABLE)

    def _write(self, link: PumpedLink) -> bool:
        """`PumpedLink.write`; what else goes wrong ends the link."""
        try:
            return link.write(self._io_flags)
        except (OSError, ValueError) as error:
            self._fail(link, error)
            return True

    # What the sockets say ---------------------------------------------------------------------

    def _serve_ready(self, ready: Sequence[tuple[int, int]], now: int) -> bool:
        """A round of all there is; True if the core was fed."""
        self._round += 1
        self._cut_short = False
        fed = bool(ready or self._unread) and self._serve_all(ready, now)
        return (bool(self._inputs) and self._feed_inputs()) or fed

    def _serve_all(self, ready: Sequence[tuple[int, int]], now: int) -> bool:
        """Act on what is ready, and on decrypted bytes at hand; True if the core was fed."""
        fed = False
        for fd, events in ready:
            link = self._by_fd.get(fd)
            if link is not None:
                fed |= self._serve(link, events, now)
            elif fd == self._waker.fd:
                self._woken |= self._waker.take()
        if self._unread:
            served = {fd for fd, _ in ready}
            for link in [*self._unread.values()]:
                if link.fd not in served and link.number in self._unread:
                    fed |= self._serve(link, READABLE, now)
        return fed

    def _serve(self, link: PumpedLink, events: int, now: int) -> bool:
        """Act on the readiness of one link; True if the core was fed."""
        # A link opened in this round has taken over the number of an fd that was closed in it: the
        # news is not about it.
        if link.since == self._round:
            return False
        try:
            if not link.connected:
                return self._establish(link, now)
            if events & _NOT_READABLE:
                self._flush(link)
            if events & _NOT_WRITABLE:
                return self._receive(link, now)
        except BaseException:
            if link.number in self._links:
                self._drop(link, "interrupted")
            raise
        return False

    def _establish(self, link: PumpedLink, now: int) -> bool:
        """Something came of the attempt: go on, and tell the core when it is decided."""
        try:
            if not link.dialled and not self._reach(link):
                return False  # fed with the other inputs of this round
            if link.tunnel is not None:
                if not link.tunnel.advance(link.raw, self._io_flags):
                    interest = READABLE | WRITABLE if link.tunnel.unsent else READABLE
                    self.transport.watch(link.fd, interest)
                    return False  # the proxy's turn
                self._routes.note_open(link.tunnel.gate)
                link.sock = link.tunnel.way
                if self._tls is None and link.sock is not link.raw:
                    link.tls = cast("TlsSocket", link.sock)
                link.tunnel = None
            if self._tls is not None and link.tls is None:
                # Most never get here, and `ssl` takes a twentieth of a consumer's start.
                from kcore.transports.tls import TlsSocket  # noqa: PLC0415

                link.sock = link.tls = TlsSocket(link.sock, self._tls, link.host, self._io_flags)
            link.connected = link.tls is None or link.tls.handshake()
        except (OSError, ValueError) as error:
            self._fail(link, error)
            return False
        self.transport.watch(link.fd, READABLE | WRITABLE if link.unsent else READABLE)
        if not link.connected:
            return False  # the peer's turn in the handshake
        if link.tls is not None:
            self._unread[link.number] = link  # its first words may have come with the handshake
        self.core.handle_connected(link.number, now)
        self._obey()
        return True

    def _reach(self, link: PumpedLink) -> bool:
        """The attempt to connect is decided: whether it is made."""
        fault = connect_fault(link.raw)
        if fault is None:
            link.sock = link.raw = self.transport.established(link.raw, link.host)
            link.dialled = True
            if link.tunnel is None:
                self._routes.note_reached(link.raw.family)
        elif link.tunnel is None:
            self._drop(link, fault)
        else:
            self._fail(link, ProxyFaultError(unreached(fault)))
        return link.dialled

    def _flush(self, link: PumpedLink) -> None:
        """The socket is writable: write on, and wait for no more of that if it was all."""
        if self._write(link) and link.number in self._links:
            self.transport.watch(link.fd, READABLE)

    def _receive(self, link: PumpedLink, now: int) -> bool:
        """Read into the core's own buffer until the socket has no more, or the link's share is used
        up.
        """
        fed = False
        for _ in range(self._reads_per_step):
            if link.number not in self._links:
                break  # the core, or a failed write, ended it
            room = link.rest
            if room is None:
                try:
                    room = self.core.receive_buffer(link.number)
                except LookupError:
                    self._forget(link)
                    break
            count = self._read(link, room)
            filled = count == len(room)
            if link.rest is not None and not filled:
                link.rest = room[count:]
                link.poured += count
                break
            del room  # the loan ends: the core may resize what is behind it
            if count and self._advance(link, count, now):
                fed = True
            if not filled:
                break  # the kernel had no more; should it have by now, the next wait says so
        else:
            self._cut_short = True
        if link.tls is not None and link.number in self._links:
            self._note_unread(link, link.tls)
        return fed

    def _read(self, link: PumpedLink, room: memoryview) -> int:
        """Bytes that were there; 0: none, or the link has ended."""
        try:
            count = link.sock.recv_into(room, 0, self._io_flags)
        except (BlockingIOError, InterruptedError):
            return 0
        except (OSError, ValueError) as error:
            self._fail(link, error)
            return 0
        if not count:
            self._drop(link, link.fault or "closed by the peer")
        return count

    def _advance(self, link: PumpedLink, count: int, now: int) -> bool:
        """Tell the core of these and of what was poured before; True if anything came of them."""
        core, count = self.core, count + link.poured
        link.rest = None
        link.poured = 0
        missing = core.receive_advance(link.number, count, now)
        if missing is None or missing <= 0:
            self._obey()
            return not missing
        if link.tls is None:
            room = core.receive_buffer(link.number)
            if len(room) == missing:
                link.rest = room
        return False

    def _note_unread(self, link: PumpedLink, tls: TlsSocket) -> None:
        """What the kernel cannot know: bytes already decrypted, and ciphertext of TLS's own."""
        if tls.unread:
            self._unread[link.number] = link
        else:
            self._unread.pop(link.number, None)
        if tls.unsent:
            self.transport.watch(link.fd, READABLE | WRITABLE)

    def _feed_inputs(self) -> bool:
        """Tell the core of closures, tokens and results found meanwhile; those found by this wait
        for the next step.
        """
        count = len(self._inputs)
        now = self._fed_at = self.now_ms()  # what was asked for may have taken its time
        for _ in range(count):
            self._inputs.popleft().tell(self.core, now)
            self._obey()
        return count > 0

    def _fail(self, link: PumpedLink, error: Exception) -> None:
        """The socket raised."""
        untrusted = isinstance(error, UntrustedError)
        by_proxy = isinstance(error, ProxyFaultError)
        self._drop(link, describe(error), untrusted=untrusted, by_proxy=by_proxy)

    def _drop(self, link: PumpedLink, why: str, **more: bool) -> None:
        """The socket ended by itself: forget it, and tell the core when its actions are drained."""
        self._forget(link)
        self._inputs.append(Ending(link.number, why, link.more and not link.connected, **more))

    def _forget(self, link: PumpedLink, *, lingers: bool = False) -> None:
        if link.number in self._links:
            # In this order: a signal handler may raise between any two, and what is known still is
            # forgotten anew, while a socket that nobody knows closes itself, watched or not.
            self.transport.unwatch(link.fd)
            self._by_fd.pop(link.fd, None)
            self._unread.pop(link.number, None)
            del self._links[link.number]
            if not (lingers and link.linger()):
                _close(link.sock)


def _close(sock: socket.socket | TlsSocket) -> None:
    with suppress(OSError):  # a reset that was pending: the fd is free all the same
        sock.close()
