"""The two sides the pump stands between: a `Core` that decides, and a `Transport` that knows one
runtime.

A core does no I/O. Inputs go in by `handle_*` and the receive buffer, wishes come out of
`next_action()`, and `deadline()` says when silence itself is an input. docs/BOUNDARY.md is the
contract in prose. A transport opens sockets and waits for their readiness. It knows nothing of
Kafka, links or cores.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from kcore.actions import Action
from kcore.enums import Enum
from kcore.hints import Final, Protocol
from kcore.tuples import NamedTuple

# Readiness bits: the values of poll(2), so that a poll driver hands on what the kernel said. Any
# other bit (error, hang-up) means that both reading and writing will return at once with the
# reason.
READABLE: Final = 0x001
WRITABLE: Final = 0x004


class Step(Enum):
    """What ended a step of the pump."""

    FED = "fed"  # the core took at least one input
    IDLE = "idle"  # the timeout ended, or a stale wake-up passed; nothing was fed
    WOKEN = "woken"  # `wakeup()` was called (inputs may have been fed as well)


class Core(Protocol):
    """The half of a core that its driver touches (ConsumerCore has it). Times are monotonic ms."""

    def begin_connecting(self, link: int, now_ms: int) -> None:
        """A Connect is about to be carried out. No input: actions may be left, and none come."""

    def handle_connected(self, link: int, now_ms: int) -> None:
        """The connection asked for stands."""

    def handle_closed(
        self,
        link: int,
        why: str,
        now_ms: int,
        *,
        more_addresses: bool = False,
        untrusted: bool = False,
        by_proxy: bool = False,
    ) -> None:
        """The connection ended or could not be made; `why` is for people. `untrusted`: TLS failed
        in a way that trying again will not cure, such as a certificate of an unknown authority.
        `by_proxy`: the fault is the proxy's, or it says whose; with `untrusted`, it does not take
        who we are.
        """

    def handle_token(
        self,
        link: int,
        token: str | None,
        now_ms: int,
        *,
        extensions: Mapping[str, str] | None = None,
        why: str = "",
    ) -> None:
        """What was asked for by FetchToken; None, and why there is none, for people."""

    def handle_gssapi(
        self,
        link: int,
        result: bytes | None,
        now_ms: int,
        *,
        context: object = None,
        complete: bool = False,
        why: str = "",
    ) -> None:
        """What was asked for by CallGssapi; None, and what went wrong, for people."""

    def handle_deadline(self, now_ms: int) -> bool | None:
        """The time `deadline()` named has come. Harmless when it has not.

        False: there may be actions, but nothing has come that anybody waits for.
        """

    def hold_back(self, late_ms: int) -> None:
        """A deadline is over, for so long already, and what has arrived comes first: nothing is
        judged by the time before the next `handle_deadline` or `go_on`, one of which follows. No
        input.
        """

    def go_on(self, now_ms: int) -> None:
        """What has arrived has put the deadline off: nothing is held back any more."""

    def receive_buffer(self, link: int) -> memoryview:
        """Writable room for the next bytes of the link, never empty. LookupError: the link is not
        known.
        """

    def receive_advance(self, link: int, n: int, now_ms: int) -> int | None:
        """The first `n` bytes of the buffer lent are filled; the loan ends.

        A core may say how many more bytes of the link have to come before anything can come of
        them: then nothing has changed, and a driver that is lent exactly those may fill the buffer
        in as many pieces as they come in before it says so. 0 or None: something may have. Below 0:
        there may be actions, but nothing has come that anybody waits for, and no deadline is
        sooner.
        """

    def next_action(self) -> Action | None:
        """The next thing to do; None when there is nothing."""

    def deadline(self) -> int:
        """When `handle_deadline` is to be called; `kcore.timers.NEVER` if silence means nothing
        now.
        """


class Address(NamedTuple):
    """One answer of the resolver: what `socket(family)` and `connect(sockaddr)` take."""

    family: int
    sockaddr: tuple[str, int] | tuple[str, int, int, int]


class Transport(Protocol):
    """One runtime's sockets and readiness. Not thread-safe: whoever drives the pump holds its lock.

    io_flags: flags for every recv and send, so that neither ever blocks.
    """

    name: str
    io_flags: int

    def resolve(self, host: str, port: int) -> Sequence[Address] | None:
        """The addresses of a name, in the resolver's order, at least one. May wait. OSError,
        ValueError.

        None: a transport that may not wait has begun to find out. It is asked again in each step of
        the pump, and has one made when it knows.
        """

    def connect(self, address: Address) -> socket.socket:
        """A new socket on its way to `address`: it becomes writable when that is decided.
        OSError.
        """

    def established(self, sock: socket.socket, host: str, /) -> socket.socket:
        """The connection stands: the socket to go on with (what is said to a proxy, and TLS, are
        the pump's).
        """

    def watch(self, fd: int, events: int) -> None:
        """Report READABLE and/or WRITABLE of `fd` from now on; called again, changes which."""

    def unwatch(self, fd: int) -> None:
        """Stop. Called before `fd` is closed; readiness not yet handed out is dropped."""

    # look() -> None, of those whose `wait` tells only what others have found: find what is ready
    # now; the next `wait` has it.

    def wait(self, timeout_ms: int | None) -> Sequence[tuple[int, int]]:
        """Up to `timeout_ms` (None: for ever) until something watched is ready: (fd, bits). May be
        empty early.
        """

    def close(self) -> None:
        """Free everything held. Idempotent."""

    def abandon(self) -> None:
        """In the child of a fork: free this process's copies, without a word to anything shared
        with the parent.
        """


def monotonic_ms() -> int:
    """The clock of the pump: ms of CLOCK_MONOTONIC. Read so that what stops `time.monotonic` for a
    test (freezegun does) stops no timeout of ours: everybody would wait without end.
    """
    return _clock_ns() // 1_000_000


def monotonic_s() -> float:
    """The same clock in seconds."""
    return _clock_ns() / 1_000_000_000


def _make_clock() -> Callable[[], int]:
    read: Callable[[int], int] | None = getattr(time, "clock_gettime_ns", None)
    if read is None:  # not everywhere
        return time.monotonic_ns
    return partial(read, time.CLOCK_MONOTONIC)


_clock_ns = _make_clock()
