"""Requests that wait for their answer: each is answered exactly once, or its connection is gone.

A handler gets a `Ticket` and either answers it or parks it where the answer will be found later.
The desk knows every ticket that is open, so that a closed connection is an input like any other:
what the request asked for goes on (a member that is gone is found out by its session), and only the
answer is dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from kcore.errors import IllegalStateError
from kcore.wire.message import Message


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: `token` finds the request again, `link` is its connection; both the owner's own.

    client_id and client_host name the member in member ids and DescribeGroups. sees: which topics
    who asks may know of; None: all. may_create: which topics he may create; None: all.
    """

    token: Hashable
    link: Hashable = None
    client_id: str = ""
    client_host: str = ""
    sees: Callable[[str], bool] | None = None
    may_create: Callable[[str], bool] | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to the request that was handed in with this token."""

    token: Hashable
    message: Message


class Ticket:
    """The right to answer one request, once."""

    __slots__ = ("_desk", "caller", "version")

    def __init__(self, desk: Desk, caller: Caller, version: int) -> None:
        self._desk = desk
        self.caller = caller
        self.version = version

    def answer(self, message: Message) -> None:
        """Give the answer out; IllegalStateError if there was one already."""
        self._desk.answer(self, message)


class Desk:
    """Takes requests in and gives answers out, in the order in which they are found."""

    __slots__ = ("_dropped", "_open", "_replies")

    def __init__(self) -> None:
        self._open: dict[Hashable, dict[Ticket, None]] = {}
        self._dropped: set[Ticket] = set()
        self._replies: deque[Reply] = deque()

    def take(self, caller: Caller, version: int) -> Ticket:
        """A request has come."""
        ticket = Ticket(self, caller, version)
        self._open.setdefault(caller.link, {})[ticket] = None
        return ticket

    def answer(self, ticket: Ticket, message: Message) -> None:
        """`ticket.answer`."""
        if ticket in self._dropped:
            self._dropped.remove(ticket)
            return
        waiting = self._open.get(ticket.caller.link, {})
        if ticket not in waiting:
            raise IllegalStateError(f"{ticket.caller.token!r} was answered already: {message!r}")
        del waiting[ticket]
        if not waiting:
            del self._open[ticket.caller.link]
        self._replies.append(Reply(ticket.caller.token, message))

    def close(self, link: Hashable) -> None:
        """The connection is gone: its open requests will be answered to nobody."""
        self._dropped.update(self._open.pop(link, ()))

    def next_reply(self) -> Reply | None:
        """The next answer; None if there is none."""
        return self._replies.popleft() if self._replies else None

    @property
    def waiting(self) -> int:
        """How many requests have no answer yet and a connection to give it to."""
        return sum(map(len, self._open.values()))
