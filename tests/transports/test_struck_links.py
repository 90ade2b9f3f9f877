"""A signal handler that raises while a link is forgotten, wherever Python looks for one."""

from __future__ import annotations

import os
import time
from contextlib import suppress

import pytest
from leftovers import STRUCK
from strikes import Strike

from kcore.transports import Step

pytestmark = STRUCK

PLACES = 100


def forgotten(make_rig, serve):
    """A rig for each place, with a link whose end was struck there, and the link's number."""
    server = serve()
    for at in range(1, PLACES):
        rig = make_rig()
        number = rig.connect(server)
        strike = Strike(at)
        with suppress(KeyboardInterrupt), strike:
            rig.pump._forget(rig.pump._links[number])
        if strike.left > 0:
            assert at > 3
            return
        yield rig, number
        rig.pump.close()
    raise AssertionError("there is always another place")


@pytest.mark.parametrize("driver", ["gevent"], indirect=True)
def test_no_socket_is_watched_that_is_closed(make_rig, serve):
    """The loop ends the process (libev's assertion) when it is to watch one of these."""
    for rig, number in forgotten(make_rig, serve):
        for fd in rig.pump.transport._watches:
            os.fstat(fd)
        rig.core.disconnect(number)  # as the core does with each, behind a strike
        rig.pump.step(0)
        assert [*rig.pump.transport._watches] == [rig.pump._waker.fd]


def test_the_next_link_is_served_and_nothing_keeps_the_pump_awake(make_rig, serve):
    server = serve()
    for rig, number in forgotten(make_rig, serve):
        rig.core.disconnect(number)
        rig.pump.step(0)
        assert not rig.pump._links
        rig.connect(server)  # by the same number, most likely
        while rig.pump.step(0) is not Step.IDLE:
            pass
        begun = time.monotonic()
        assert rig.pump.step(30) is Step.IDLE
        assert time.monotonic() - begun > 0.02
