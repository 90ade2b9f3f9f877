"""Choosing a driver by name, and what is said when that cannot be."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kcore.errors import UsageError
from kcore.transports import NAMES, SocketOptions, create


@pytest.mark.parametrize("name", NAMES)
def test_every_name_makes_its_driver(name):
    transport = create(name)
    assert transport.name == name
    transport.close()
    transport.close()


def test_an_instance_is_given_back():
    transport = create("blocking")
    assert create(transport) is transport
    with pytest.raises(UsageError, match="instance"):
        create(transport, SocketOptions())


def test_an_unknown_name_is_answered_with_the_choices():
    with pytest.raises(UsageError, match="'epoll': choose one of blocking, selectors, gevent"):
        create("epoll")


def test_a_missing_gevent_is_named_with_its_extra(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "gevent"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "kcore.transports.gevent_driver", raising=False)
    monkeypatch.setitem(sys.modules, "gevent", None)
    with pytest.raises(UsageError, match=r"pip install kcore\[gevent\]"):
        create("gevent")


def test_only_the_chosen_runtime_is_imported():
    code = (
        "import sys, kcore.transports as t; t.create('blocking'); "
        "print([m for m in ('gevent', 'asyncio', 'kcore.transports.selector') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "[]"
