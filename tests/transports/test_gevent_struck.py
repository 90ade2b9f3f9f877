"""A signal handler that raises in the hub, where the loop says what a socket is ready for."""

from __future__ import annotations

import socket
from contextlib import suppress

import gevent
import pytest
from leftovers import STRUCK
from strikes import Strike

from kcore.transports import gevent_driver
from kcore.transports.core import READABLE
from kcore.transports.gevent_driver import GeventTransport

pytestmark = STRUCK


class StruckError(Exception):
    """Of a signal handler of the user's."""


@pytest.mark.parametrize("error", [StruckError, KeyboardInterrupt])
@pytest.mark.parametrize("at", range(1, 5))
def test_a_socket_whose_news_was_struck_is_heard_of(monkeypatch, at, error):
    monkeypatch.setattr(gevent_driver, "_LOOK_MS", 20, raising=False)
    transport = GeventTransport()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        fired, struck = transport._fired, []

        def struck_once(*given):
            if struck:
                return fired(*given)
            struck.append(at)
            here = gevent.getcurrent()  # the hub: not who is woken by it
            with Strike(at, error, lambda: gevent.getcurrent() is here):
                return fired(*given)

        monkeypatch.setattr(transport, "_fired", struck_once)
        gevent.get_hub().print_exception = lambda *_: None
        try:
            transport.watch(ours.fileno(), READABLE)
            theirs.send(b"x")
            found = []
            with gevent.Timeout(3):
                while not found:
                    with suppress(KeyboardInterrupt):  # the hub tells the main greenlet
                        found = [*transport.wait(None)]
            assert found == [(ours.fileno(), READABLE)]
            assert struck == [at]
        finally:
            del gevent.get_hub().print_exception
            transport.close()
